//! The provider's description of itself (OIDC Discovery; RFC 9207 for one member).

use serde::Deserialize;
use url::Url;

use super::fault::Fault;
use crate::config::is_loopback;

/// Where the provider answers, and how.
#[derive(Debug)]
pub(super) struct Metadata {
    /// Where people prove who they are.
    pub(super) authorization: Url,
    /// Where a code becomes tokens.
    pub(super) token: Url,
    /// Where its public keys stand.
    pub(super) keys: Url,
    /// Where claims stand that the ID token does not carry.
    pub(super) userinfo: Option<Url>,
    /// Whether this console proves itself by the header; else within the form.
    pub(super) basic: bool,
    /// Whether every answer names its issuer.
    pub(super) names_issuer: bool,
}

#[derive(Deserialize)]
struct Written {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    userinfo_endpoint: Option<String>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    code_challenge_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

/// Where an issuer describes itself.
pub(super) fn address(issuer: &str) -> String {
    format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'))
}

impl Metadata {
    /// Reads the description that stands at an issuer's address; it must be that issuer's own.
    pub(super) fn read(document: &[u8], issuer: &str) -> Result<Self, Fault> {
        let wrong = |what: &str| Fault::Unavailable(format!("its description {what}"));
        let written: Written =
            serde_json::from_slice(document).map_err(|_| wrong("cannot be read"))?;
        if written.issuer != issuer {
            return Err(wrong("is another issuer's"));
        }
        let plain = Url::parse(issuer).is_ok_and(|url| url.scheme() == "http");
        let place = |text: &str| {
            let url = Url::parse(text).ok().filter(|url| is_safe(url, plain));
            url.ok_or_else(|| wrong("names a place that is not https"))
        };
        let challenges = written.code_challenge_methods_supported;
        if challenges.is_some_and(|known| !known.iter().any(|method| method == "S256")) {
            return Err(wrong("offers no PKCE by S256"));
        }
        let methods = written.token_endpoint_auth_methods_supported;
        let takes = |wanted: &str| {
            methods.as_ref().is_some_and(|known| known.iter().any(|method| method == wanted))
        };
        let basic = methods.is_none() || takes("client_secret_basic");
        if !basic && !takes("client_secret_post") {
            return Err(wrong("takes no client secret"));
        }
        Ok(Self {
            authorization: place(&written.authorization_endpoint)?,
            token: place(&written.token_endpoint)?,
            keys: place(&written.jwks_uri)?,
            userinfo: written.userinfo_endpoint.as_deref().map(place).transpose()?,
            basic,
            names_issuer: written.authorization_response_iss_parameter_supported,
        })
    }
}

/// Https; or plain http on this machine, where the issuer itself is.
fn is_safe(url: &Url, plain: bool) -> bool {
    url.scheme() == "https"
        || plain && url.scheme() == "http" && url.host_str().is_some_and(is_loopback)
}
