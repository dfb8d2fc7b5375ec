//! Connections: their bounds, and TLS of the program's own.

use std::{path::PathBuf, time::Duration};

use super::{ConfigError, source::Source};
use crate::listener::{Bounds, TlsFiles};

/// Connections from one address where clients reach this program by themselves. Elsewhere all come
/// from one: the proxy's.
const DIRECT: usize = 256;

/// Reads the bounds; what is not set keeps its default.
pub(super) fn bounds(
    source: &mut Source,
    direct: bool,
    drain: Duration,
) -> Result<Bounds, ConfigError> {
    let connections = source.between("ONCEOVER_MAX_CONNECTIONS", 2_048, 1_024, 65_535)?;
    let each = if direct { DIRECT } else { connections };
    Ok(Bounds {
        connections,
        address_connections: source.between("ONCEOVER_MAX_ADDRESS_CONNECTIONS", each, 8, 65_535)?,
        header: Duration::from_secs(source.between("ONCEOVER_HEADER_SECONDS", 10, 1, 60)?),
        header_bytes: source.between("ONCEOVER_MAX_HEADER_BYTES", 65_536, 8_192, 262_144)?,
        body: Duration::from_secs(source.between("ONCEOVER_BODY_SECONDS", 15, 1, 300)?),
        idle: Duration::from_secs(source.between("ONCEOVER_IDLE_SECONDS", 60, 5, 3_600)?),
        drain,
    })
}

/// Where certificate and key lie: both, or neither.
pub(super) fn tls(source: &mut Source) -> Result<Option<TlsFiles>, ConfigError> {
    const CERTIFICATE: &str = "ONCEOVER_TLS_CERTIFICATE";
    const KEY: &str = "ONCEOVER_TLS_KEY";
    match (source.text(CERTIFICATE)?, source.text(KEY)?) {
        (Some(certificate), Some(key)) => {
            Ok(Some(TlsFiles { certificate: PathBuf::from(certificate), key: PathBuf::from(key) }))
        }
        (None, None) => Ok(None),
        (Some(_), None) => Err(ConfigError::new(KEY, format!("is not set, but {CERTIFICATE} is"))),
        (None, Some(_)) => Err(ConfigError::new(CERTIFICATE, format!("is not set, but {KEY} is"))),
    }
}
