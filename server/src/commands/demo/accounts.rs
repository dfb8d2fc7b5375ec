//! The demo's tenants, people and tokens: made where they are missing, kept where they are there. People's
//! tokens are made anew at a start that finds them older than an hour, so that they move money (T12).

use std::{collections::BTreeMap, path::Path};

use chrono::TimeDelta;
use domain::access::Role;
use engine::{
    Caller, Engine, RequestOrigin,
    identity::{Admin, NewStaff},
};

use super::{
    kept::{Demo, Kept},
    kinds,
};
use crate::{auth::password::Passwords, commands::Failure, config::Secret};

const TENANTS: [(&str, &str); 2] = [("acme", "Acme Billing"), ("globex", "Globex")];

struct Account {
    email: &'static str,
    name: &'static str,
    tenant: &'static str,
    role: Role,
}

const fn account(
    email: &'static str,
    name: &'static str,
    tenant: &'static str,
    role: Role,
) -> Account {
    Account { email, name, tenant, role }
}

const ACCOUNTS: [Account; 7] = [
    account("viewer@acme.test", "Vera Viewer", "acme", Role::Viewer),
    account("operator@acme.test", "Olga Operator", "acme", Role::Operator),
    account("approver@acme.test", "Ada Approver", "acme", Role::Approver),
    account("second@acme.test", "Sol Second", "acme", Role::Approver),
    account("admin@acme.test", "Tara Admin", "acme", Role::TenantAdmin),
    account("auditor@acme.test", "Aldo Auditor", "acme", Role::Auditor),
    account("operator@globex.test", "Gus Operator", "globex", Role::Operator),
];

/// Tokens that work now.
pub(super) struct Tokens {
    pub(super) staff: BTreeMap<String, String>,
    pub(super) services: BTreeMap<String, String>,
}

/// Makes what is missing.
pub(super) async fn prepare(
    admin: &mut Admin,
    engine: &Engine,
    kept: &mut Kept,
    password: &Secret,
) -> Result<Tokens, Failure> {
    for (slug, name) in TENANTS {
        let tenant = admin.ensure_tenant(slug, name).await?;
        for kind in kinds::all() {
            admin.put_kind(tenant, &kind).await?;
        }
    }
    let password_hash = Passwords::new().hash(password.expose()).await;
    let changed = !kept.is_password(password);
    for account in ACCOUNTS {
        admin
            .add_staff(&NewStaff {
                email: account.email,
                name: account.name,
                password_hash: &password_hash,
                tenant_slug: account.tenant,
                role: account.role,
            })
            .await?;
        if changed {
            admin.reset_password(account.email, &password_hash).await?;
        }
    }
    kept.set_password(password)?;
    tokens(admin, engine, kept).await
}

async fn tokens(admin: &mut Admin, engine: &Engine, kept: &Kept) -> Result<Tokens, Failure> {
    let known = kept.demo();
    // Names are never used twice, so a lost file costs new tokens and no more.
    let run = hex::encode(rand::random::<[u8; 4]>());
    let mut staff = BTreeMap::new();
    for account in ACCOUNTS {
        let old = known.as_ref().and_then(|demo| demo.staff_tokens.get(account.email));
        let token = match still_fresh(engine, old).await? {
            Some(token) => token,
            None => {
                let name = format!("demo {} {run}", account.email);
                admin.add_staff_token(account.email, account.tenant, &name, None).await?
            }
        };
        staff.insert(account.email.to_owned(), token);
    }
    let mut services = BTreeMap::new();
    for (tenant, _) in TENANTS {
        let old = known.as_ref().and_then(|demo| demo.service_tokens.get(tenant));
        let token = match still_good(engine, old).await? {
            Some(token) => token,
            None => {
                admin
                    .add_service_token(tenant, &format!("sample services {run}"), &[], None)
                    .await?
            }
        };
        services.insert(tenant.to_owned(), token);
    }
    Ok(Tokens { staff, services })
}

/// The kept token of a person, where it still moves money for as long as a day's work begins with: the
/// rest of what a token made under step-up is good for.
async fn still_fresh(engine: &Engine, token: Option<&String>) -> Result<Option<String>, Failure> {
    let Some(token) = token else { return Ok(None) };
    Ok(match engine.caller_by_bearer(token, RequestOrigin::here("demo")).await? {
        Some(Caller::Staff(by)) if by.factor_lasts() > Some(TimeDelta::hours(7)) => {
            Some(token.clone())
        }
        _ => None,
    })
}

/// The kept token, where this database knows it.
async fn still_good(engine: &Engine, token: Option<&String>) -> Result<Option<String>, Failure> {
    let Some(token) = token else { return Ok(None) };
    Ok(engine.caller_by_bearer(token, RequestOrigin::here("demo")).await?.map(|_| token.clone()))
}

/// Tells how to get in.
pub(super) fn print(demo: &Demo, data: &Path) {
    println!("\nsign-in accounts, one password for all: {}", demo.password);
    for account in ACCOUNTS {
        println!("  {:<22} {} of {}", account.email, account.role, account.tenant);
    }
    println!("\ntokens for {}/api/v1 (kept in {}):", demo.url, data.join("demo.json").display());
    for (name, token) in demo.staff_tokens.iter().chain(&demo.service_tokens) {
        println!("  {name:<22} {token}");
    }
    println!(
        "\nfake providers: {}   log: {}",
        demo.sandbox_url,
        data.join("onceover.log").display()
    );
    println!("Ctrl-C stops all of it; the next start goes on from the data it left.\n");
}
