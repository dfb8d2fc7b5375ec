//! `serve`, `work` and `migrate`: the program as it runs in production.

use std::net::{SocketAddr, TcpListener};

use engine::{Engine, EngineError};
use leptos::config::LeptosOptions;
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::watch,
};

use super::{Failure, durable};
use crate::{
    auth::{oidc::Oidc, password::Passwords},
    background,
    config::Config,
    listener::{self, Certificate},
    live::Live,
    refusal::chain,
    router::{AppState, router},
    security::limiter::Limiter,
    shutdown::{self, stopped},
};

/// `onceover serve`.
///
/// # Errors
/// [`Failure`] where the database or the address cannot be had.
pub async fn serve(config: &Config, workers: bool) -> Result<(), Failure> {
    let stop = shutdown::on_signal()
        .map_err(|error| Failure::doing("cannot listen for signals", &error))?;
    // Before anything is started: files that cannot serve should cost nothing.
    let certificate = config.tls.as_ref().map(Certificate::open).transpose();
    let certificate = certificate.map_err(Failure::new)?;
    let engine = connected(config).await?;
    let listener = bind(config.addr)?;
    let bound = listener.local_addr().map_err(|error| Failure::doing("cannot listen", &error))?;
    println!("ready: {}", config.public_url(bound));
    if let Some(certificate) = certificate.clone() {
        let hang_up = signal(SignalKind::hangup())
            .map_err(|error| Failure::doing("cannot listen for signals", &error))?;
        tokio::spawn(certificate.follow(hang_up, stop.clone()));
    }
    serve_on(config, engine, (listener, certificate), workers, stop).await
}

/// Serves on a listener that [`bind`] gave until the stop, by TLS where there is a certificate, with or without
/// background work.
///
/// # Errors
/// [`Failure`] where the listener fails for good.
pub async fn serve_on(
    config: &Config,
    engine: Engine,
    (listener, certificate): (TcpListener, Option<Certificate>),
    workers: bool,
    stop: watch::Receiver<bool>,
) -> Result<(), Failure> {
    let bound = listener.local_addr().map_err(|error| Failure::doing("cannot listen", &error))?;
    let state = state(config, engine.clone(), bound)?;
    // Before the first page is read, so that none misses what changes after it.
    engine.listen();
    let (live, mut stopping) = (state.live.clone(), stop.clone());
    tokio::spawn(async move {
        stopped(&mut stopping).await;
        live.end();
    });
    let work = workers.then(|| tokio::spawn(background::run(engine, stop.clone(), config.drain)));
    if let Err(sentence) = listener::raise_file_limit(config.bounds) {
        tracing::warn!("{sentence}");
    }
    let served = listener::serve(listener, router(state), config.bounds, certificate, stop).await;
    if let Some(work) = work
        && let Err(error) = work.await
    {
        tracing::error!(%error, "background work ended early");
    }
    served.map_err(|error| Failure::doing("the listener failed", &error))
}

/// What handlers share, for a console that listens on `bound`.
///
/// # Errors
/// [`Failure`] where the site's options cannot be read, or the identity provider has no client.
pub fn state(config: &Config, engine: Engine, bound: SocketAddr) -> Result<AppState, Failure> {
    let limiter = Limiter::new(&config.limits);
    Ok(AppState {
        limiter,
        trusted_hops: config.trusted_hops,
        engine,
        leptos: site(config)?,
        passwords: Passwords::new(),
        site: config.site(bound),
        oidc: provider(config, bound)?,
        live: Live::default(),
        body_patience: config.bounds.body,
    })
}

/// The identity provider, which has not been asked anything yet.
fn provider(config: &Config, bound: SocketAddr) -> Result<Option<Oidc>, Failure> {
    let Some(settings) = &config.oidc else { return Ok(None) };
    let oidc = Oidc::new(settings.clone(), &config.public_url(bound)).map_err(Failure::new)?;
    Ok(Some(oidc))
}

/// Where the built site lies. Leptos' own variables win, for `cargo leptos` sets them; else the
/// site is looked for beside the program, as the build leaves it.
fn site(config: &Config) -> Result<LeptosOptions, Failure> {
    let mut options = leptos::config::get_configuration(None)
        .map_err(|error| Failure::doing("the site's options cannot be read", &error))?
        .leptos_options;
    let beside =
        std::env::current_exe().ok().and_then(|program| Some(program.parent()?.to_owned()));
    if let Some(root) = &config.site_root {
        options.site_root = root.to_string_lossy().into();
    } else if std::env::var_os("LEPTOS_SITE_ROOT").is_none()
        && let Some(root) =
            beside.as_ref().map(|folder| folder.join("../site")).filter(|root| root.is_dir())
    {
        options.site_root = root.to_string_lossy().into();
    }
    if std::env::var_os("LEPTOS_HASH_FILES").is_none() {
        options.hash_files =
            beside.is_some_and(|folder| folder.join(&*options.hash_file).is_file());
    }
    Ok(options)
}

/// `onceover work`.
///
/// # Errors
/// [`Failure`] where the database cannot be reached.
pub async fn work(config: &Config) -> Result<(), Failure> {
    let stop = shutdown::on_signal()
        .map_err(|error| Failure::doing("cannot listen for signals", &error))?;
    let engine = connected(config).await?;
    println!("working: {}", config.worker_name);
    background::run(engine, stop, config.drain).await;
    Ok(())
}

/// `onceover migrate`.
///
/// # Errors
/// [`Failure`] naming the migration that failed.
pub async fn migrate(config: &Config) -> Result<(), Failure> {
    config.database()?;
    if let Some(url) = &config.migrate_url {
        Engine::migrate(url.expose()).await?;
        println!("the database is up to date");
    }
    Ok(())
}

async fn connected(config: &Config) -> Result<Engine, Failure> {
    let settings = config.engine()?;
    Engine::check_migrated(&settings.database_url).await.map_err(|error| match error {
        EngineError::Pooled(_) => error.into(),
        error => Failure::new(format!(
            "the database cannot be used; has `onceover migrate` run? {}",
            chain(&error)
        )),
    })?;
    durable::refuse(&settings.database_url).await?;
    Ok(Engine::connect(settings).await?)
}

/// Takes the console's address.
///
/// # Errors
/// [`Failure`] naming the address and, where that is why, that it is taken.
pub fn bind(addr: SocketAddr) -> Result<TcpListener, Failure> {
    listener::bind(addr).map_err(|error| {
        if error.kind() == std::io::ErrorKind::AddrInUse {
            Failure::new(format!(
                "{addr} is taken by another program; stop it, or choose another address with ONCEOVER_ADDR"
            ))
        } else {
            Failure::doing(&format!("cannot listen on {addr}"), &error)
        }
    })
}
