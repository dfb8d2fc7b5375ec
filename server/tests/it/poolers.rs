//! A real pgbouncer before the database: every command refuses it with a sentence that says what it
//! does and what to do, and nothing is done.

use std::{
    fs,
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use testkit::{Proxy, TestDatabase, eventually};
use url::Url;

use crate::{
    command_line::{onceover, refuses},
    figures::say,
    support::WEBHOOK_SECRET,
};

const REFUSES: &str = "refuses the settings of a session";
const DROPS: &str = "drops the settings of a session, its role among them";
const SHARES: &str = "gives one session to several connections";

/// A running pgbouncer; killed with this value.
struct Pooler {
    process: Child,
    folder: PathBuf,
    url: String,
    _proxy: Proxy,
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Debian keeps servers where only root's `PATH` looks.
fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/usr/local/sbin".into()])
        .map(|folder| folder.join("pgbouncer"))
        .find(|program| program.is_file())
}

impl Pooler {
    /// Before the server of a database, in a mode, passing over some settings of sessions.
    async fn start(program: &PathBuf, database: &str, mode: &str, ignores: &str) -> Self {
        // A proxy of this process between: the server may be reached by a socket of another user's.
        let (proxy, to) = Proxy::before_database(database).await;
        let to = Url::parse(&to).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let folder = std::env::temp_dir()
            .join(format!("onceover-pooler-{}", hex::encode(rand::random::<[u8; 6]>())));
        fs::create_dir(&folder).unwrap();
        let password = to.password().map(|word| format!(" password={word}")).unwrap_or_default();
        let settings = format!(
            "[databases]\n* = host={} port={} user={}{password}\n\
             [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
             auth_type = any\npool_mode = {mode}\nignore_startup_parameters = {ignores}\n",
            to.host_str().unwrap(),
            to.port().unwrap_or(5432),
            to.username(),
        );
        let file = folder.join("pgbouncer.ini");
        fs::write(&file, settings).unwrap();
        let mut command = Command::new(program);
        // It does not run as root, and gives itself up to somebody who may read its file.
        if rustix::process::geteuid().is_root() {
            fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
            command.args(["-u", "nobody"]);
        }
        let process = command
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut url = to;
        url.set_host(Some("127.0.0.1")).unwrap();
        url.set_port(Some(port)).unwrap();
        let pooler = Self { process, folder, url: url.into(), _proxy: proxy };
        eventually("the pooler listens", Duration::from_secs(20), async || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        })
        .await;
        pooler
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_command_refuses_a_pooler_before_the_database() {
    let Some(program) = program() else {
        say("poolers: NOT RUN: pgbouncer is not installed (Debian: apt-get install pgbouncer)");
        return;
    };
    let database = TestDatabase::create().await;
    let both = "extra_float_digits, options";
    for (mode, ignores, words, commands) in [
        ("transaction", "", REFUSES, &["doctor", "migrate", "work", "serve"][..]),
        ("transaction", "extra_float_digits", SHARES, &["doctor", "migrate", "work", "serve"]),
        ("transaction", both, SHARES, &["doctor", "migrate", "work", "serve"]),
        ("statement", both, SHARES, &["doctor", "migrate", "work", "serve"]),
        // A migration needs a session, and this is one; what runs needs its role, too.
        ("session", "extra_float_digits", REFUSES, &["doctor", "work", "serve"]),
        ("session", both, DROPS, &["doctor", "work", "serve"]),
    ] {
        let pooler = Pooler::start(&program, &database.url(), mode, ignores).await;
        for command in commands {
            let url = pooler.url.clone();
            let output = tokio::task::spawn_blocking(move || {
                let environment = [
                    ("DATABASE_URL", url.as_str()),
                    ("ONCEOVER_SEARCH_SECRET", WEBHOOK_SECRET),
                    ("ONCEOVER_ADDR", "127.0.0.1:0"),
                ];
                onceover(&[command], &environment, "")
            })
            .await
            .unwrap();
            println!("{command}, {mode}, passing over {ignores:?}");
            refuses(&output, words);
            refuses(&output, "Connect to PostgreSQL itself");
        }
    }
}
