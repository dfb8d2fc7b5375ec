//! What the provider says of a person, and what of it counts here: an e-mail of a domain that is ours
//! to the letter, and roles by the configuration's rules.

use domain::access::Role;
use serde_json::Value;

use super::{fault::Fault, token::Claims};
use crate::config::{OidcSettings, RoleRule};

const MAX_EMAIL: usize = 320;
const MAX_NAME: usize = 200;

/// The claims that a sign-in reads.
const READ: [&str; 2] = ["email", "email_verified"];

/// Whether claims are missing that another place may have.
pub(super) fn is_whole(claims: &Claims, settings: &OidcSettings) -> bool {
    let verified = settings.domains.is_empty() || claims.contains_key(READ[1]);
    claims.contains_key(READ[0]) && verified && value(claims, &settings.roles_claim).is_some()
}

/// Adds what the ID token does not say. A word on the e-mail counts for the address that it stands
/// beside, so it is not taken for another one.
pub(super) fn complete(claims: &mut Claims, mut more: Claims) {
    let [email, verified] = READ;
    if claims.contains_key(email) && claims.get(email) != more.get(email) {
        more.remove(verified);
    }
    // When somebody proved who they are is the signed token's word alone.
    more.remove("auth_time");
    for (name, value) in more {
        claims.entry(name).or_insert(value);
    }
}

/// The person's e-mail in lower case, once it may come in.
pub(super) fn email(claims: &Claims, settings: &OidcSettings) -> Result<String, Fault> {
    let address = claims.get("email").and_then(Value::as_str).unwrap_or_default();
    let readable = address.len() <= MAX_EMAIL && address.chars().all(|c| c.is_ascii_graphic());
    let (name, domain) = address.rsplit_once('@').unwrap_or_default();
    if !readable || name.is_empty() || domain.is_empty() {
        return Err(Fault::Person("has no e-mail address"));
    }
    if !settings.domains.is_empty() {
        let domain = domain.to_ascii_lowercase();
        if !settings.domains.contains(&domain) {
            return Err(Fault::Person("has an e-mail address of another domain"));
        }
        if claims.get("email_verified") != Some(&Value::Bool(true)) {
            return Err(Fault::Person("has an e-mail address that is not verified"));
        }
    }
    Ok(address.to_ascii_lowercase())
}

/// The person's name, or the e-mail where the provider says none.
pub(super) fn name(claims: &Claims, email: &str) -> String {
    let said = ["name", "preferred_username"].into_iter().find_map(|claim| {
        let text: String =
            claims.get(claim)?.as_str()?.chars().filter(|c| !c.is_control()).collect();
        let text = text.trim().chars().take(MAX_NAME).collect::<String>();
        (!text.is_empty()).then_some(text)
    });
    said.unwrap_or_else(|| email.to_owned())
}

/// The roles that the claim grants, in the order of the rules.
pub(super) fn roles(claims: &Claims, settings: &OidcSettings) -> Vec<(String, Role)> {
    let holds = |rule: &RoleRule| match value(claims, &settings.roles_claim) {
        Some(Value::String(one)) => *one == rule.value,
        Some(Value::Array(many)) => many.iter().any(|one| one.as_str() == Some(&rule.value)),
        _ => false,
    };
    let granted = settings.roles.iter().filter(|rule| holds(rule));
    granted.map(|rule| (rule.tenant.clone(), rule.role)).collect()
}

/// A claim by its name, or by a JSON pointer such as `/realm_access/roles`.
fn value<'a>(claims: &'a Claims, name: &str) -> Option<&'a Value> {
    match name.strip_prefix('/') {
        None => claims.get(name),
        Some(path) => {
            let (first, rest) = path.split_once('/').unwrap_or((path, ""));
            let first = claims.get(&first.replace("~1", "/").replace("~0", "~"))?;
            if rest.is_empty() { Some(first) } else { first.pointer(&format!("/{rest}")) }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config::Secret;

    fn settings(domains: &[&str], claim: &str) -> OidcSettings {
        let rule = |value: &str, tenant: &str, role| RoleRule {
            value: value.into(),
            tenant: tenant.into(),
            role,
        };
        OidcSettings {
            issuer: "https://id.example".into(),
            client_id: "onceover".into(),
            client_secret: Secret::new(String::new()),
            name: "Example".into(),
            scopes: vec![],
            domains: domains.iter().map(|domain| (*domain).to_owned()).collect(),
            roles_claim: claim.into(),
            roles: vec![
                rule("leads", "acme", Role::Approver),
                rule("payments", "acme", Role::Operator),
                rule("payments", "globex", Role::Viewer),
            ],
            max_age_min: 0,
        }
    }

    fn claims(value: Value) -> Claims {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_domain_is_ours_to_the_letter_and_verified() {
        let settings = settings(&["corp.com"], "groups");
        let of = |address: &str, verified: Value| {
            email(&claims(json!({"email": address, "email_verified": verified})), &settings)
        };
        assert_eq!(of("Ann@Corp.com", json!(true)).unwrap(), "ann@corp.com");
        for address in [
            "a@corp.com.evil.com",
            "a@evilcorp.com",
            "a@sub.corp.com",
            "a@corp.com@evil.com",
            "a@corp.com.",
            "a@xn--crp-5qa.com",
            "corp.com",
            "@corp.com",
            "a b@corp.com",
            "a@c\u{043e}rp.com",
            "",
        ] {
            assert!(of(address, json!(true)).is_err(), "{address}");
        }
        for verified in [json!(false), json!("true"), json!(1), json!(null)] {
            assert!(of("a@corp.com", verified.clone()).is_err(), "{verified}");
        }
        assert!(email(&claims(json!({"email": "a@corp.com"})), &settings).is_err());
    }

    #[test]
    fn a_word_on_one_address_does_not_count_for_another() {
        let settings = settings(&["corp.com"], "groups");
        let mut mixed = claims(json!({"email": "a@corp.com"}));
        complete(&mut mixed, claims(json!({"email": "b@corp.com", "email_verified": true})));
        assert!(email(&mixed, &settings).is_err());
        let mut same = claims(json!({"email": "a@corp.com"}));
        complete(&mut same, claims(json!({"email": "a@corp.com", "email_verified": true})));
        assert!(email(&same, &settings).is_ok());
    }

    #[test]
    fn roles_follow_from_the_claim_by_the_rules_alone() {
        let of = |claim: &str, said: Value| roles(&claims(said), &settings(&[], claim));
        let operator = [("acme".to_owned(), Role::Operator), ("globex".to_owned(), Role::Viewer)];
        assert_eq!(of("groups", json!({"groups": ["payments", 7, "other"]})), operator);
        assert_eq!(of("groups", json!({"groups": "payments"})), operator);
        let both = of("groups", json!({"groups": ["payments", "leads"]}));
        assert_eq!(both[0], ("acme".to_owned(), Role::Approver), "the first rule for a tenant");
        let nested = json!({"realm_access": {"roles": ["payments"]}});
        assert_eq!(of("/realm_access/roles", nested), operator);
        assert_eq!(of("https://acme/roles", json!({"https://acme/roles": "payments"})), operator);
        for nothing in [json!({}), json!({"groups": {}}), json!({"groups": ["PAYMENTS"]})] {
            assert!(of("groups", nothing).is_empty());
        }
    }
}
