//! A mail server and the connection to it, for effects that are mails and for events that are told by
//! mail alike. Beyond this machine mail travels by TLS or not at all.

use std::time::Duration;

use lettre::{
    Address,
    transport::smtp::{
        Error as SmtpError,
        client::{AsyncSmtpConnection, TlsParameters},
        extension::ClientId,
    },
};
use reqwest::Url;

/// How long a connection may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(3);

/// How the connection is kept from others' eyes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Security {
    /// Not at all: it does not leave the machine.
    Loopback,
    /// STARTTLS, or no mail.
    StartTls,
    /// TLS from the first byte.
    Implicit,
}

/// One mail server.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) security: Security,
}

impl Server {
    /// The server that an address names, or what is wrong with the address.
    pub(crate) fn at(url: &Url) -> Result<Self, &'static str> {
        let host = url.host_str().ok_or("the address names no host")?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err("mail is sent without signing in; take the name out of the address");
        }
        let security = security(url.scheme(), host);
        let port = url.port().unwrap_or(if security == Security::Implicit { 465 } else { 25 });
        // IPv6 addresses stand in brackets in an address and nowhere else.
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        Ok(Self { host, port, security })
    }

    /// A connection that has said who calls: the sender's domain.
    pub(crate) async fn connect(&self, domain: &str) -> Result<AsyncSmtpConnection, SmtpError> {
        let tls = match self.security {
            Security::Loopback => None,
            Security::StartTls | Security::Implicit => Some(TlsParameters::new(self.host.clone())?),
        };
        let hello = ClientId::Domain(domain.to_owned());
        let server = (self.host.as_str(), self.port);
        let implicit = tls.clone().filter(|_| self.security == Security::Implicit);
        let mut connection = AsyncSmtpConnection::connect_tokio1(
            server,
            Some(CONNECT_LIMIT),
            &hello,
            implicit,
            None,
        )
        .await?;
        if let (Security::StartTls, Some(tls)) = (self.security, tls) {
            connection.starttls(tls, &hello).await?;
        }
        Ok(connection)
    }
}

/// An address of two dot-atoms. Quoted local parts and addresses beyond ASCII are legal elsewhere;
/// servers disagree about them, and one that reads more into an address reads a command.
pub(crate) fn address(text: &str) -> Option<Address> {
    let plain = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~.".contains(&byte))
    };
    let (local, domain) = text.split_once('@')?;
    if plain(local) && plain(domain) { Address::new(local, domain).ok() } else { None }
}

fn security(scheme: &str, host: &str) -> Security {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let is_loopback =
        bare == "localhost" || bare.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
    match scheme {
        "smtps" => Security::Implicit,
        _ if is_loopback => Security::Loopback,
        _ => Security::StartTls,
    }
}
