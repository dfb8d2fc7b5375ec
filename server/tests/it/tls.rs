//! TLS of the program's own: what it starts on, what it shows, and how that is renewed.

use std::{fs, io, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use axum::{Router, routing::get};
use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, ServerName},
};
use server::listener::{Certificate, TlsFiles};
use testkit::{TestDatabase, eventually};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::{
    command_line::{onceover, refuses},
    faults::processes::Process,
    support::WEBHOOK_SECRET,
    wire::{LIMIT, Served, bounds, one_answer, rest},
};

const HOST: &str = "127.0.0.1";
const ASK: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";

/// A certificate and its key in a folder that goes with them.
struct Files {
    folder: PathBuf,
    paths: TlsFiles,
}

impl Files {
    fn new() -> Self {
        let name = format!("onceover-tls-{}", hex::encode(rand::random::<[u8; 6]>()));
        let folder = std::env::temp_dir().join(name);
        fs::create_dir(&folder).unwrap();
        let paths = TlsFiles { certificate: folder.join("shown.pem"), key: folder.join("key.pem") };
        Self { folder, paths }
    }

    /// Writes a new certificate for a host, good until the end of a year; returns what trusts it.
    fn renew(&self, host: &str, until: i32) -> CertificateDer<'static> {
        let mut parts = CertificateParams::new(vec![host.to_owned()]).unwrap();
        parts.not_after = date_time_ymd(until, 12, 31);
        let key = KeyPair::generate().unwrap();
        let certificate = parts.self_signed(&key).unwrap();
        fs::write(&self.paths.certificate, certificate.pem()).unwrap();
        fs::write(&self.paths.key, key.serialize_pem()).unwrap();
        certificate.der().clone()
    }

    fn settings(&self) -> [(&'static str, &str); 2] {
        [
            ("ONCEOVER_TLS_CERTIFICATE", self.paths.certificate.to_str().unwrap()),
            ("ONCEOVER_TLS_KEY", self.paths.key.to_str().unwrap()),
        ]
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A connection of a client that trusts one certificate.
async fn connect(
    addr: SocketAddr,
    trusted: &CertificateDer<'static>,
) -> io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(addr).await?;
    let host = ServerName::try_from(HOST).unwrap();
    TlsConnector::from(Arc::new(config)).connect(host, stream).await
}

async fn hello(stream: &mut TlsStream<TcpStream>) -> bool {
    stream.write_all(ASK).await.is_ok() && one_answer(stream).await.ends_with("hello")
}

fn router() -> Router {
    Router::new().route("/", get(|| async { "hello" }))
}

#[tokio::test]
async fn a_renewed_certificate_is_shown_and_open_connections_go_on() {
    let files = Files::new();
    let first = files.renew(HOST, 2100);
    let certificate = Certificate::open(&files.paths).unwrap();
    let served = Served::with(router(), bounds(), Some(certificate.clone()));
    let mut open = connect(served.addr, &first).await.unwrap();
    assert!(hello(&mut open).await);
    assert_eq!(certificate.reload(), Ok(false), "nothing has changed");

    let second = files.renew(HOST, 2100);
    assert_eq!(certificate.reload(), Ok(true));
    assert!(hello(&mut open).await, "an open connection goes on");
    assert!(hello(&mut connect(served.addr, &second).await.unwrap()).await);
    assert!(connect(served.addr, &first).await.is_err(), "the old one is shown no more");

    fs::write(&files.paths.certificate, "half a fi").unwrap();
    let fault = certificate.reload().unwrap_err().to_string();
    assert!(fault.contains("shown.pem holds no certificate") && !fault.contains("half"), "{fault}");
    assert!(hello(&mut connect(served.addr, &second).await.unwrap()).await, "the good one stays");
    drop(open);
    served.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_handshake_has_no_more_time_than_a_header() {
    let files = Files::new();
    files.renew(HOST, 2100);
    let certificate = Certificate::open(&files.paths).unwrap();
    let served = Served::with(router(), bounds(), Some(certificate));
    for beginning in [&b""[..], &[0x16, 0x03, 0x01, 0x02, 0x00, 0x01]] {
        let begun = tokio::time::Instant::now();
        let mut stream = served.connect().await;
        stream.write_all(beginning).await.unwrap();
        assert_eq!(rest(&mut stream).await, "");
        assert!(begun.elapsed() < Duration::from_secs(11), "{:?}", begun.elapsed());
    }
}

#[tokio::test]
async fn plain_http_gets_nothing() {
    let files = Files::new();
    files.renew(HOST, 2100);
    let certificate = Certificate::open(&files.paths).unwrap();
    let served = Served::with(router(), bounds(), Some(certificate));
    let mut stream = served.connect().await;
    stream.write_all(ASK).await.unwrap();
    assert!(!rest(&mut stream).await.contains("HTTP/1.1"));
}

#[test]
fn files_that_cannot_serve_stop_the_start_and_are_not_quoted() {
    let (files, others) = (Files::new(), Files::new());
    files.renew(HOST, 2100);
    others.renew(HOST, 2100);
    let [certificate, key] = files.settings();
    let start = |certificate: &str, key: &str| {
        let settings = [("ONCEOVER_TLS_CERTIFICATE", certificate), ("ONCEOVER_TLS_KEY", key)];
        onceover(&["serve"], &settings, "")
    };
    refuses(&onceover(&["serve"], &[certificate], ""), "ONCEOVER_TLS_KEY is not set");
    refuses(&start("/no/such/file.pem", key.1), "/no/such/file.pem cannot be read");
    refuses(&start(certificate.1, "/no/such/key.pem"), "/no/such/key.pem cannot be read");
    let garbage = files.folder.join("garbage.pem");
    let shown = garbage.to_str().unwrap();
    for (content, as_certificate, as_key) in [
        ("a-very-private-text", "holds no certificate as PEM", "holds no private key as PEM"),
        (
            "-----BEGIN CERTIFICATE-----\na-very-private-text\n-----END CERTIFICATE-----\n",
            "is no PEM",
            "holds no private key as PEM",
        ),
        (
            "-----BEGIN PRIVATE KEY-----\nYS12ZXJ5LXByaXZhdGUtdGV4dA==\n-----END PRIVATE KEY-----\n",
            "holds no certificate as PEM",
            "holds a private key that cannot be used",
        ),
    ] {
        fs::write(&garbage, content).unwrap();
        for (output, words) in
            [(start(shown, key.1), as_certificate), (start(certificate.1, shown), as_key)]
        {
            refuses(&output, &format!("garbage.pem {words}"));
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!told.contains("private-text") && !told.contains("YS12"), "{told}");
        }
    }
    let other_key = others.settings()[1].1.to_owned();
    refuses(&start(certificate.1, &other_key), "is not the key of the certificate in");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_speaks_tls_reads_again_at_sighup_and_the_doctor_looks() {
    let database = TestDatabase::create().await;
    let url = database.url();
    let files = Files::new();
    let first = files.renew(HOST, 2100);
    let mut environment = vec![
        ("DATABASE_URL", url.as_str()),
        ("ONCEOVER_SEARCH_SECRET", WEBHOOK_SECRET),
        ("ONCEOVER_ADDR", "127.0.0.1:0"),
    ];
    environment.extend(files.settings());
    let (server, ready) = Process::start(&["serve", "--no-workers"], &environment, "ready: ");
    let place = ready.strip_prefix("https://").unwrap();
    let addr: SocketAddr = place.parse().unwrap();
    let ask = format!("GET /sign-in HTTP/1.1\r\nHost: {place}\r\nAccept: text/html\r\n\r\n");
    let mut open = connect(addr, &first).await.unwrap();
    open.write_all(ask.as_bytes()).await.unwrap();
    let page = one_answer(&mut open).await;
    assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
    assert!(page.to_lowercase().contains("strict-transport-security: "), "{page}");

    let second = files.renew(HOST, 2100);
    server.hang_up();
    eventually("the new certificate is shown", LIMIT, async || {
        connect(addr, &second).await.is_ok()
    })
    .await;
    open.write_all(ask.replace("/sign-in", "/health/live").as_bytes()).await.unwrap();
    let mut some = [0; 12];
    // What was left of the page comes first; that the connection lives is enough.
    open.read_exact(&mut some).await.unwrap();
    assert_eq!(server.stop(), Some(0));

    let doctor = || onceover(&["doctor"], &environment, "");
    // What it says of the database is not this test's.
    let told = String::from_utf8_lossy(&doctor().stdout).into_owned();
    assert!(told.contains("shown.pem is good for"), "{told}");
    files.renew(HOST, 2020);
    refuses(&doctor(), "shown.pem has ended");
    files.renew("elsewhere.example", 2100);
    refuses(&doctor(), "is not made for 127.0.0.1");
    fs::write(&files.paths.key, "no key").unwrap();
    refuses(&doctor(), "key.pem holds no private key");
}
