//! The identity provider that people may sign in with, and what its word is worth here (T16).

use domain::access::Role;
use url::Url;

use super::{ConfigError, Secret, checks, source::Source};

/// The key without which there is no provider.
const ISSUER: &str = "ONCEOVER_OIDC_ISSUER";
const CLIENT_ID: &str = "ONCEOVER_OIDC_CLIENT_ID";
const CLIENT_SECRET: &str = "ONCEOVER_OIDC_CLIENT_SECRET";
const NAME: &str = "ONCEOVER_OIDC_NAME";
const SCOPES: &str = "ONCEOVER_OIDC_SCOPES";
const DOMAINS: &str = "ONCEOVER_OIDC_DOMAINS";
const ROLES: &str = "ONCEOVER_OIDC_ROLES";
const ROLES_CLAIM: &str = "ONCEOVER_OIDC_ROLES_CLAIM";
const MAX_AGE: &str = "ONCEOVER_OIDC_MAX_AGE_MINUTES";

/// An identity provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OidcSettings {
    /// Its name, compared letter by letter.
    pub issuer: String,
    /// What it calls this console.
    pub client_id: String,
    /// By which this console proves itself to it.
    pub client_secret: Secret,
    /// What the sign-in page calls it.
    pub name: String,
    /// What is asked for, `openid` among it.
    pub scopes: Vec<String>,
    /// Domains of e-mail addresses that may come in, in lower case; none: any.
    pub domains: Vec<String>,
    /// The claim that roles follow from.
    pub roles_claim: String,
    /// What it grants; the first rule for a tenant that fits counts.
    pub roles: Vec<RoleRule>,
    /// How long ago somebody may have proven to the provider who they are; 0: as long as it likes.
    pub max_age_min: u32,
}

/// A value of the roles' claim and what it grants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleRule {
    /// The value, such as a group's name.
    pub value: String,
    /// The tenant's short name.
    pub tenant: String,
    /// The role there.
    pub role: Role,
}

/// Reads the provider; `None` where none is named.
pub(super) fn read(source: &mut Source) -> Result<Option<OidcSettings>, ConfigError> {
    let issuer = source.text(ISSUER)?;
    let client_id = source.text(CLIENT_ID)?;
    let client_secret = source.secret(CLIENT_SECRET)?;
    let name = source.text(NAME)?;
    let scopes = source.list(SCOPES)?;
    let domains = source.list(DOMAINS)?;
    let roles = source.list(ROLES)?;
    let roles_claim = source.text(ROLES_CLAIM)?;
    let max_age_min = source.between(MAX_AGE, 0, 0, 1_440)?;
    let Some(issuer) = issuer else {
        let set = [
            (CLIENT_ID, client_id.is_some()),
            (CLIENT_SECRET, client_secret.is_some()),
            (NAME, name.is_some()),
            (SCOPES, !scopes.is_empty()),
            (DOMAINS, !domains.is_empty()),
            (ROLES, !roles.is_empty()),
            (ROLES_CLAIM, roles_claim.is_some()),
            (MAX_AGE, max_age_min > 0),
        ];
        return match set.iter().find(|(_, set)| *set) {
            Some((key, _)) => Err(ConfigError::new(key, format!("is set, but {ISSUER} is not"))),
            None => Ok(None),
        };
    };
    let host = issuer_host(&issuer)?;
    let missing = |key: &str| ConfigError::new(key, format!("is not set, but {ISSUER} is"));
    let client_secret = client_secret.ok_or_else(|| missing(CLIENT_SECRET))?;
    checks::strong(CLIENT_SECRET, client_secret.expose())?;
    if roles.is_empty() {
        return Err(missing(ROLES));
    }
    Ok(Some(OidcSettings {
        client_id: client_id.ok_or_else(|| missing(CLIENT_ID))?,
        client_secret,
        name: name.unwrap_or(host),
        scopes: all_scopes(scopes),
        domains: domains.iter().map(|domain| bare_domain(domain)).collect::<Result<_, _>>()?,
        roles_claim: roles_claim.unwrap_or_else(|| "groups".to_owned()),
        roles: roles.iter().map(|rule| role_rule(rule)).collect::<Result<_, _>>()?,
        max_age_min,
        issuer,
    }))
}

/// The issuer's host, once it is one that can be trusted: https, or http that stays on this machine.
fn issuer_host(issuer: &str) -> Result<String, ConfigError> {
    let wrong = || ConfigError::new(ISSUER, "is an https address without query and fragment");
    let url = Url::parse(issuer).map_err(|_| wrong())?;
    let host = url.host_str().ok_or_else(wrong)?;
    let trusted = url.scheme() == "https" || url.scheme() == "http" && checks::is_loopback(host);
    let bare = url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    if trusted && bare { Ok(host.to_owned()) } else { Err(wrong()) }
}

fn all_scopes(named: Vec<String>) -> Vec<String> {
    if named.is_empty() {
        return ["openid", "email", "profile"].map(str::to_owned).to_vec();
    }
    let rest = named.into_iter().filter(|scope| scope != "openid");
    std::iter::once("openid".to_owned()).chain(rest).collect()
}

fn bare_domain(domain: &str) -> Result<String, ConfigError> {
    let fits = domain.split('.').all(|label| {
        !label.is_empty() && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    });
    if fits {
        Ok(domain.to_ascii_lowercase())
    } else {
        Err(ConfigError::new(DOMAINS, "is a list of whole domains such as example.com"))
    }
}

fn role_rule(rule: &str) -> Result<RoleRule, ConfigError> {
    let wrong = || {
        ConfigError::new(ROLES, "is a list of value=tenant:role, such as payments=acme:operator")
    };
    let (value, right) = rule.rsplit_once('=').ok_or_else(wrong)?;
    let (tenant, role) = right.split_once(':').ok_or_else(wrong)?;
    let (value, tenant, role) = (value.trim(), tenant.trim(), role.trim());
    if value.is_empty() || tenant.is_empty() {
        return Err(wrong());
    }
    let role = role.parse().map_err(|_| {
        ConfigError::new(
            ROLES,
            "names a role that is none of viewer, operator, approver, tenant-admin, auditor",
        )
    })?;
    Ok(RoleRule { value: value.to_owned(), tenant: tenant.to_owned(), role })
}
