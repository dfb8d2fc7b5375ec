//! `sandbox`: the fake providers as a process of their own, so that their ledger outlives a crash
//! of the engine and can be held against it.

use sandbox::{
    consumer,
    providers::{self, Config, WebhookTarget},
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader, Stdin},
    sync::watch,
};

use super::Failure;
use crate::{cli::Sandbox, shutdown};

/// `onceover sandbox`.
///
/// # Errors
/// [`Failure`] where the address is not loopback or taken, or the ledgers cannot be read.
pub async fn run(options: Sandbox) -> Result<(), Failure> {
    let stop = shutdown::on_signal()
        .map_err(|error| Failure::doing("cannot listen for signals", &error))?;
    let mut input = BufReader::new(tokio::io::stdin());
    let mut config = Config::new(options.data.clone(), options.seed);
    config.listen = options.listen;
    config.smtp_listen = options.smtp_listen;
    if let Some(url) = options.webhook {
        let secret = secret_line(&mut input, "webhook").await?;
        config.webhook = Some(WebhookTarget { url, secret });
    }
    if let Some(listen) = options.consumer_listen {
        let secret = secret_line(&mut input, "consumer's").await?;
        let folder = options.data.join("consumer");
        config.consumer =
            Some(consumer::Config { listen, ..consumer::Config::new(folder, secret) });
    }
    let parent = options.with_parent.then_some(input);
    providers::serve(config, ended(stop, parent))
        .await
        .map_err(|error| Failure::doing("the sandbox ended", &error))
}

async fn secret_line(input: &mut BufReader<Stdin>, whose: &str) -> Result<String, Failure> {
    let mut secret = String::new();
    input.read_line(&mut secret).await.map_err(|error| {
        Failure::doing(&format!("cannot read the {whose} secret from standard input"), &error)
    })?;
    let secret = secret.trim_end().to_owned();
    if secret.is_empty() {
        return Err(Failure::new(format!("the {whose} secret is expected on standard input")));
    }
    Ok(secret)
}

/// Waits for the stop or, where one was promised, for the end of standard input.
async fn ended(mut stop: watch::Receiver<bool>, parent: Option<BufReader<Stdin>>) {
    let gone = async {
        match parent {
            Some(mut input) => {
                let mut rest = Vec::new();
                // An error on the pipe means the same as its end.
                let _ = input.read_to_end(&mut rest).await;
            }
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = shutdown::stopped(&mut stop) => {}
        () = gone => {}
    }
}
