//! The certificate: readable, with its key, for the host that people open, and for how long.

use crate::{
    config::Config,
    listener::{Certificate, SOON},
};

/// A sentence about the certificate, or its fault; nothing where a proxy ends TLS.
pub(super) fn look(config: &Config) -> Option<Result<String, String>> {
    let files = config.tls.as_ref()?;
    let shown = files.certificate.display();
    Some(Certificate::open(files).map_err(|fault| fault.to_string()).and_then(|certificate| {
        let host = config.site_host();
        if !certificate.names(&host) {
            return Err(format!("the certificate in {shown} is not made for {host}"));
        }
        match certificate.days_left().map_err(|fault| fault.to_string())? {
            days if days < 0 => Err(format!("the certificate in {shown} has ended")),
            days if days < SOON => {
                Ok(format!("warning: the certificate in {shown} ends in {days} days"))
            }
            days => Ok(format!("the certificate in {shown} is good for {days} days")),
        }
    }))
}
