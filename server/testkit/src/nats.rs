//! A NATS server of a test's own.

use std::{
    io::{BufRead as _, BufReader},
    net::{Ipv4Addr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use crate::eventually;

/// Ends the server when its standard input closes: also where the test itself was killed.
const SCRIPT: &str = r#"
"$@" </dev/null >/dev/null 2>&1 &
server=$!
cat >/dev/null
kill -9 "$server"
wait "$server"
"#;

/// A real broker with `JetStream` on a free port of this machine, its files in a folder of its own.
/// Killed, and its files removed, with this value.
#[derive(Debug)]
pub struct NatsServer {
    port: u16,
    folder: PathBuf,
    process: Option<Child>,
}

impl NatsServer {
    /// Starts one.
    ///
    /// # Panics
    /// With a sentence where no `nats-server` is in `PATH`, or it does not start.
    pub async fn start() -> Self {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .and_then(|listener| listener.local_addr())
            .expect("this machine has a free port")
            .port();
        let name = format!("onceover-nats-{}", hex::encode(rand::random::<[u8; 8]>()));
        let mut server = Self { port, folder: std::env::temp_dir().join(name), process: None };
        server.restart().await;
        server
    }

    /// Its address.
    #[must_use]
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Kills it; what it had stored stays for [`NatsServer::restart`].
    ///
    /// # Panics
    /// Where it cannot be waited for.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            drop(process.stdin.take());
            process.wait().expect("the server's end can be waited for");
        }
    }

    /// Starts it again at the same address, with what it had stored.
    ///
    /// # Panics
    /// As [`NatsServer::start`].
    pub async fn restart(&mut self) {
        self.kill();
        std::fs::create_dir_all(&self.folder).expect("the temporary folder can be written");
        let process = Command::new("/bin/sh")
            .args(["-c", SCRIPT, "nats"])
            .arg(program())
            .args(["-a", "127.0.0.1", "-p", &self.port.to_string(), "-js", "-sd"])
            .arg(&self.folder)
            .stdin(Stdio::piped())
            // The shell says that its child was killed, which it is each time.
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell can be started");
        self.process = Some(process);
        let port = self.port;
        eventually("the NATS server greets", Duration::from_secs(20), async || greets(port)).await;
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            drop(process.stdin.take());
            let _ = process.wait();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Whether it says `INFO`, as a NATS server does to each client.
fn greets(port: u16) -> bool {
    let Ok(stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else {
        return false;
    };
    if stream.set_read_timeout(Some(Duration::from_secs(1))).is_err() {
        return false;
    }
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).is_ok() && line.starts_with("INFO")
}

/// Debian keeps servers where only root's `PATH` looks.
fn program() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/usr/local/sbin", "/usr/local/bin"].map(PathBuf::from))
        .map(|folder| folder.join("nats-server"))
        .find(|program| Path::is_file(program))
        .expect(
            "no nats-server in PATH: `ci/setup.sh test` installs it (Debian: apt-get install \
             nats-server; macOS: brew install nats-server)",
        )
}
