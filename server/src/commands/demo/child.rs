//! The fake providers as a child process: its ledger must outlive whatever happens to the engine.

use std::{path::Path, process::Stdio, time::Duration};

use sandbox::client::{ConsumerControl, ProviderControl};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    process::{Child, ChildStdin, Command},
    time::timeout,
};

use crate::commands::Failure;

/// How long the child may take to read its ledgers.
const START_LIMIT: Duration = Duration::from_secs(30);
/// How long it may take to end.
const STOP_LIMIT: Duration = Duration::from_secs(5);

/// The running child. It ends with its standard input, so it cannot outlive this process.
pub(super) struct Providers {
    child: Child,
    input: ChildStdin,
    url: String,
    smtp_url: String,
    consumer: ConsumerControl,
}

impl Providers {
    /// Starts the child and waits until it answers. Its webhooks are signed with the first secret,
    /// the events that it takes with the second.
    pub(super) async fn start(
        data: &Path,
        seed: u64,
        webhook: &str,
        secrets: [&str; 2],
    ) -> Result<Self, Failure> {
        let program = std::env::current_exe()
            .map_err(|error| Failure::doing("cannot find this program", &error))?;
        let mut child = Command::new(program)
            .args(["sandbox", "--with-parent", "--webhook", webhook])
            .args(["--seed", &seed.to_string()])
            .args(["--consumer-listen", "127.0.0.1:0"])
            .arg("--data")
            .arg(data)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // Ctrl-C at a terminal reaches the whole group; the services must be gone first, or
            // their calls would end unknown.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| Failure::doing("the fake providers do not start", &error))?;
        let mut input = child.stdin.take().expect("standard input is piped");
        let output = child.stdout.take().expect("standard output is piped");
        let ready = async {
            let [webhooks, events] = secrets;
            input.write_all(format!("{webhooks}\n{events}\n").as_bytes()).await?;
            BufReader::new(output).lines().next_line().await
        };
        let line = match timeout(START_LIMIT, ready).await {
            Ok(Ok(line)) => line,
            Ok(Err(error)) => {
                return Err(Failure::doing("the fake providers do not answer", &error));
            }
            Err(_) => {
                return Err(Failure::new("the fake providers did not start within 30 seconds"));
            }
        };
        match line.as_deref().and_then(|line| line.strip_prefix("sandbox ready: ")) {
            Some(url) => {
                let (smtp_url, consumer) = others_of(url).await?;
                Ok(Self { child, input, url: url.to_owned(), smtp_url, consumer })
            }
            None => Err(Failure::new(
                "the fake providers ended at once; `onceover sandbox` on its own says why",
            )),
        }
    }

    /// Where they answer.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Where they take mail.
    pub(super) fn smtp_url(&self) -> &str {
        &self.smtp_url
    }

    /// The consumer of events beside them.
    pub(super) const fn consumer(&self) -> &ConsumerControl {
        &self.consumer
    }

    /// Ends the child, by force where it does not end by itself.
    pub(super) async fn stop(self) {
        let Self { mut child, input, .. } = self;
        drop(input);
        if timeout(STOP_LIMIT, child.wait()).await.is_err() {
            tracing::warn!("the fake providers are ended by force");
            if let Err(error) = child.kill().await {
                tracing::error!(%error, "the fake providers could not be ended");
            }
        }
    }
}

/// Where else the child listens: for mail, and for events.
async fn others_of(url: &str) -> Result<(String, ConsumerControl), Failure> {
    const WHAT: &str = "the fake providers do not say where they take mail and events";
    let control = ProviderControl::new(url).map_err(|error| Failure::doing(WHAT, &error))?;
    let smtp = control.smtp_url().await.map_err(|error| Failure::doing(WHAT, &error))?;
    let consumer = control.consumer_url().await.map_err(|error| Failure::doing(WHAT, &error))?;
    let consumer = ConsumerControl::new(&consumer.ok_or_else(|| Failure::new(WHAT))?)
        .map_err(|error| Failure::doing(WHAT, &error))?;
    Ok((smtp, consumer))
}
