//! TLS of its own: a certificate and its key from two files, read again when they change.
//!
//! Guards against a start on files that cannot serve, a renewal that needs a restart, and a broken
//! renewal that takes the console down: what was good before stays until the next is good as well.
//! Sentences name files, never what is in them.

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rustls::{
    ServerConfig,
    client::verify_server_name,
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject as _},
    server::{ClientHello, ParsedCertificate, ResolvesServerCert},
    sign::CertifiedKey,
};
use tokio::{
    net::TcpStream,
    signal::unix::Signal,
    sync::watch,
    time::{MissedTickBehavior, interval},
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use x509_cert::der::Decode as _;

use crate::shutdown::stopped;

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(30);
/// Days before its end from which a certificate is warned of.
pub const SOON: i64 = 14;
const DAY: i64 = 24 * 60 * 60;

/// Where certificate and key lie, both as PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, followed by those that lead from it to its authority.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// Why the files cannot serve: a sentence that names them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CertificateFault(String);

/// The certificate that is shown from now on; clones share it.
#[derive(Clone)]
pub struct Certificate {
    files: TlsFiles,
    current: Arc<Current>,
    acceptor: TlsAcceptor,
}

#[derive(Debug)]
struct Current(RwLock<Arc<CertifiedKey>>);

impl Current {
    fn get(&self) -> Arc<CertifiedKey> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.get())
    }
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificate").field("files", &self.files).finish_non_exhaustive()
    }
}

impl Certificate {
    /// Reads both files.
    ///
    /// # Errors
    /// [`CertificateFault`] where they cannot be read, are no PEM, or do not belong together.
    pub fn open(files: &TlsFiles) -> Result<Self, CertificateFault> {
        let provider = Arc::new(ring::default_provider());
        let key = read(files, &provider)?;
        let current = Arc::new(Current(RwLock::new(Arc::new(key))));
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| CertificateFault(format!("TLS cannot be set up: {error}")))?
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(&current) as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { files: files.clone(), current, acceptor: TlsAcceptor::from(Arc::new(config)) })
    }

    pub(super) async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        self.acceptor.accept(stream).await
    }

    /// Reads the files again; says whether they have changed. Open connections go on as they are.
    ///
    /// # Errors
    /// As [`Self::open`]; what was shown before is shown on.
    pub fn reload(&self) -> Result<bool, CertificateFault> {
        let key = read(&self.files, &ring::default_provider())?;
        if self.current.get().cert == key.cert {
            return Ok(false);
        }
        *self.current.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(key);
        Ok(true)
    }

    /// Days until it ends; negative once it has.
    ///
    /// # Errors
    /// [`CertificateFault`] where it does not say.
    pub fn days_left(&self) -> Result<i64, CertificateFault> {
        let unreadable =
            || fault(&self.files.certificate, "holds a certificate that cannot be read");
        let current = self.current.get();
        let first = current.end_entity_cert().map_err(|_| unreadable())?;
        let parsed = x509_cert::Certificate::from_der(first).map_err(|_| unreadable())?;
        let end = parsed.tbs_certificate().validity().not_after.to_unix_duration().as_secs();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let left = i64::try_from(end).unwrap_or(i64::MAX) - i64::try_from(now).unwrap_or(i64::MAX);
        Ok(left.div_euclid(DAY))
    }

    /// Whether it is made for a host.
    #[must_use]
    pub fn names(&self, host: &str) -> bool {
        let current = self.current.get();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let (Ok(first), Ok(host)) = (current.end_entity_cert(), ServerName::try_from(host)) else {
            return false;
        };
        ParsedCertificate::try_from(first)
            .is_ok_and(|parsed| verify_server_name(&parsed, &host).is_ok())
    }

    /// Reads the files again at SIGHUP, and where they have changed by themselves.
    pub async fn follow(self, mut hang_up: Signal, mut stop: watch::Receiver<bool>) {
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        self.tell();
        loop {
            tokio::select! {
                _ = look.tick() => {}
                _ = hang_up.recv() => {}
                () = stopped(&mut stop) => return,
            }
            match self.reload() {
                Ok(false) => {}
                Ok(true) => {
                    tracing::info!("the certificate has been read again");
                    self.tell();
                }
                Err(fault) => {
                    tracing::error!(%fault, "the certificate was not renewed; the one before is shown on");
                }
            }
        }
    }

    fn tell(&self) {
        match self.days_left() {
            Ok(days) if days < SOON => tracing::warn!(days, "the certificate ends soon"),
            Ok(days) => tracing::info!(days, "the certificate's days left"),
            Err(fault) => tracing::warn!(%fault, "the certificate's end is unknown"),
        }
    }
}

fn fault(file: &Path, what: &str) -> CertificateFault {
    CertificateFault(format!("{} {what}", file.display()))
}

fn bytes(file: &Path) -> Result<Vec<u8>, CertificateFault> {
    std::fs::read(file).map_err(|error| fault(file, &format!("cannot be read: {error}")))
}

/// The errors of the libraries are left out: some quote the line that they stumble over.
fn read(files: &TlsFiles, provider: &CryptoProvider) -> Result<CertifiedKey, CertificateFault> {
    let (certificate, key) = (&files.certificate, &files.key);
    let chain = CertificateDer::pem_slice_iter(&bytes(certificate)?)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|_| fault(certificate, "is no PEM"))?;
    if chain.is_empty() {
        return Err(fault(certificate, "holds no certificate as PEM"));
    }
    let private = PrivateKeyDer::from_pem_slice(&bytes(key)?)
        .map_err(|_| fault(key, "holds no private key as PEM"))?;
    CertifiedKey::from_der(chain, private, provider).map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => {
            fault(key, &format!("is not the key of the certificate in {}", certificate.display()))
        }
        rustls::Error::InvalidCertificate(_) => {
            fault(certificate, "holds a certificate that cannot be used")
        }
        _ => fault(key, "holds a private key that cannot be used"),
    })
}
