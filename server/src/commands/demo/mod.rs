//! `demo`: everything on this machine, with sample data, by one command.
//!
//! A private PostgreSQL, the fake providers as a process of their own, console and workers in this
//! process, and two sample services per tenant. Whatever way it ends, nothing of it stays behind
//! but the data in its folder, from which the next start goes on.

mod accounts;
mod child;
mod definitions;
mod first_page;
mod kept;
mod kinds;

use std::{
    io::{self, Write as _},
    net::TcpListener,
    time::Duration,
};

use cluster::{Cluster, Options};
use engine::{Destination, Engine, identity::Admin};
use sandbox::{
    client::{Api, ConsumerControl, Desk, ProviderControl},
    services, story,
};
use tokio::sync::watch;

use super::{Failure, block_on, serve};
use crate::{
    config::{Config, Secret},
    refusal::chain,
    shutdown, telemetry,
};
use child::Providers;
use kept::Kept;

/// Pause between two steps of one sample service: low enough to read along.
const TRAFFIC_EVERY: Duration = Duration::from_secs(5);

/// Refusals after which an event of the demo is dead: few, so that a person sees one.
const EVENT_ATTEMPTS: i32 = 2;

/// `onceover demo`.
///
/// # Errors
/// [`Failure`] where the address is taken, or a part does not start.
pub fn run(config: &Config) -> Result<(), Failure> {
    if config.tls.is_some() {
        let why = "ONCEOVER_TLS_CERTIFICATE is for `onceover serve`; the demo speaks plain http on this machine";
        return Err(Failure::new(why));
    }
    std::fs::create_dir_all(&config.data).map_err(|error| {
        Failure::doing(&format!("cannot make {}", config.data.display()), &error)
    })?;
    let log = config.data.join("onceover.log");
    telemetry::start_in_file(&config.log, &log)
        .map_err(|error| Failure::doing(&format!("cannot write {}", log.display()), &error))?;
    // Before anything is started: a taken port should cost nothing.
    let listener = serve::bind(config.addr)?;

    let mut config = config.clone();
    let cluster = match config.database_url {
        Some(_) => None,
        None => Some(private_database(&mut config)?),
    };
    let done = block_on(on(config, listener));
    let stopped = cluster.map_or(Ok(()), Cluster::stop);
    done?;
    stopped.map_err(|error| Failure::doing("the private PostgreSQL did not stop", &error))
}

fn private_database(config: &mut Config) -> Result<Cluster, Failure> {
    let cluster = Cluster::start(&config.data.join("postgres"), Options::default())
        .map_err(|error| Failure::doing("no private PostgreSQL", &error))?;
    for note in cluster.notes() {
        println!("note: {note}");
    }
    config.database_url = Some(Secret::new(cluster.url("postgres")));
    config.migrate_url.clone_from(&config.database_url);
    Ok(cluster)
}

/// Everything that runs while the database does.
async fn on(mut config: Config, listener: TcpListener) -> Result<(), Failure> {
    let mut stop = shutdown::on_signal()
        .map_err(|error| Failure::doing("cannot listen for signals", &error))?;
    let bound = listener.local_addr().map_err(|error| Failure::doing("cannot listen", &error))?;
    let url = config.public_url(bound);

    let mut kept = Kept::open(&config.data)?;
    let password = config.demo_password.clone().unwrap_or_else(|| kept.password());
    config.search_secret =
        Some(config.search_secret.take().unwrap_or_else(|| kept.search_secret()));
    let webhook_secret = kept.webhook_secret();
    let webhook = format!("{url}/api/v1/webhooks/{}/{}", story::MARKED_TENANT, kinds::PAYMENTS);
    let providers = Providers::start(
        &config.data.join("sandbox"),
        config.demo_seed,
        &webhook,
        [webhook_secret.expose(), kept.event_secret().expose()],
    )
    .await?;
    config.providers = kinds::endpoints(providers.url(), providers.smtp_url());
    config.webhook_secrets = vec![(kinds::PAYMENTS.to_owned(), webhook_secret)];
    // Last: what somebody configured beside it takes its topics first.
    config.destinations.push(notices(providers.smtp_url()));
    config.destinations.push(consumer(providers.consumer(), &kept));
    config.limits.event_attempts = config.limits.event_attempts.min(EVENT_ATTEMPTS);

    let owner = config.migrate_url.clone().unwrap_or_else(|| Secret::new(String::new()));
    Engine::migrate(owner.expose()).await?;
    let mut settings = config.engine()?;
    settings.workflows.extend(definitions::all());
    settings.console_url = Some(url.clone());
    let engine = Engine::connect(settings).await?;
    let mut admin = Admin::connect(owner.expose()).await?;
    let tokens = accounts::prepare(&mut admin, &engine, &mut kept, &password).await?;
    drop(admin);

    // The services stop before the console that they call, and the console before the providers.
    let (quit, server_stop) = watch::channel(false);
    let console = tokio::spawn({
        let (config, engine) = (config.clone(), engine.clone());
        async move { serve::serve_on(&config, engine, (listener, None), true, server_stop).await }
    });
    first_page::opens(bound).await?;
    let demo = kept::Demo {
        url: url.clone(),
        database_url: config.database()?.expose().to_owned(),
        password: password.expose().to_owned(),
        staff_tokens: tokens.staff,
        service_tokens: tokens.services,
        sandbox_url: providers.url().to_owned(),
    };
    kept.write_demo(&demo)?;

    tokio::select! {
        told = tell_story(&config, &demo, providers.consumer(), &mut kept) => {
            if let Err(error) = told {
                tracing::error!(error, "the story was not told to its end; the next start goes on with it");
                println!("note: not all sample data is there: {error}");
            }
        }
        () = shutdown::stopped(&mut stop) => {}
    }
    let services = tokio::spawn(traffic(config.clone(), demo.clone(), stop.clone()));
    if !*stop.borrow() {
        accounts::print(&demo, &config.data);
        println!("ready: {url}");
    }
    shutdown::stopped(&mut stop).await;
    // Whoever read along may be gone.
    let _ = writeln!(io::stdout(), "stopping");

    if let Err(error) = services.await {
        tracing::error!(%error, "the sample services ended early");
    }
    quit.send_replace(true);
    let served = console.await.map_err(|error| Failure::doing("the console ended early", &error));
    providers.stop().await;
    served?
}

/// Mail to those who may approve, as a destination of requests for a second person.
fn notices(smtp: &str) -> Destination {
    Destination {
        name: "approvers".to_owned(),
        url: format!("{smtp}?from=onceover@{}.test", story::MARKED_TENANT),
        topics: vec!["approval.requested".to_owned()],
        secret: None,
        allow_private: true,
        tenant: Some(story::MARKED_TENANT.to_owned()),
    }
}

/// The consumer in the sandbox as a destination of every event.
fn consumer(control: &ConsumerControl, kept: &Kept) -> Destination {
    Destination {
        name: "bookkeeping".to_owned(),
        url: control.events_url(),
        topics: Vec::new(),
        secret: Some(kept.event_secret().expose().to_owned()),
        allow_private: true,
        tenant: None,
    }
}

/// The sample services; their troubles never end the demo.
async fn traffic(config: Config, demo: kept::Demo, stop: watch::Receiver<bool>) {
    if !config.demo_traffic {
        return;
    }
    let mut services = services::Config::new(
        demo.url,
        demo.sandbox_url,
        demo.service_tokens,
        config.demo_seed,
        config.data.join("services"),
    );
    services.every = TRAFFIC_EVERY;
    if let Err(error) = services::run(services, stop).await {
        tracing::error!(error = chain(&error), "the sample services did not start");
    }
}

/// One of every kind of trouble, once: what the first page shows.
async fn tell_story(
    config: &Config,
    demo: &kept::Demo,
    consumer: &ConsumerControl,
    kept: &mut Kept,
) -> Result<(), String> {
    if kept.story_told() {
        return Ok(());
    }
    let api = Api::new(&demo.url, demo.service_tokens.clone());
    let desk = Desk::new(&demo.url, demo.staff_tokens.clone());
    let providers = ProviderControl::new(&demo.sandbox_url);
    let cast = story::Cast {
        api: api.map_err(|error| chain(&error))?,
        desk: desk.map_err(|error| chain(&error))?,
        providers: providers.map_err(|error| chain(&error))?,
        consumer: consumer.clone(),
    };
    let report = story::tell(&cast, config.demo_seed).await.map_err(|error| chain(&error))?;
    for surprise in &report.surprises {
        tracing::warn!(surprise, "the story went otherwise than planned");
    }
    kept.set_story_told().map_err(|failure| failure.sentences().join(" "))
}
