//! `staff`: people, without the console; the first one cannot be added any other way.

use std::io::{BufRead as _, IsTerminal as _};

use engine::identity::NewStaff;

use super::{Failure, administer};
use crate::{
    auth::password::{self, Passwords},
    cli::Staff,
    config::Config,
};

/// `onceover staff …`.
///
/// # Errors
/// [`Failure`] for an unknown person or tenant, or a weak password.
pub async fn run(config: &Config, command: Staff) -> Result<(), Failure> {
    match command {
        Staff::Add { email, name, tenant, role } => {
            let password_hash = read_password().await?;
            let mut admin = administer(config).await?;
            admin.ensure_tenant(&tenant, &tenant).await?;
            let new = NewStaff {
                email: &email,
                name: &name,
                password_hash: &password_hash,
                tenant_slug: &tenant,
                role,
            };
            admin.add_staff(&new).await?;
            println!("{email} can sign in");
        }
        Staff::Role { email, tenant, role } => {
            administer(config).await?.set_role(&email, &tenant, role).await?;
            println!("{email} is {role} of {tenant}");
        }
        Staff::Disable { email } => {
            administer(config).await?.disable_staff(&email).await?;
            println!("{email} is locked out");
        }
        Staff::Link { email, subject } => {
            let settings = config.oidc.as_ref().ok_or_else(|| {
                Failure::new("there is no identity provider: ONCEOVER_OIDC_ISSUER is not set")
            })?;
            let mut admin = administer(config).await?;
            admin.link_identity(&email, &settings.issuer, &subject).await?;
            println!("{email} is {subject} of {}", settings.issuer);
        }
        Staff::Reset { email } => {
            let password_hash = read_password().await?;
            administer(config).await?.reset_password(&email, &password_hash).await?;
            println!("{email} has a new password");
        }
    }
    Ok(())
}

/// The hash of the password on the first line of standard input: never an argument, which every
/// process of the machine can read.
async fn read_password() -> Result<String, Failure> {
    if std::io::stdin().is_terminal() {
        eprintln!("Password (it is shown as you type; pipe it in to avoid that):");
    }
    let mut line = String::new();
    std::io::stdin()
        .lock()
        .read_line(&mut line)
        .map_err(|error| Failure::doing("cannot read the password from standard input", &error))?;
    let password = line.trim_end_matches(['\n', '\r']);
    password::check_strength(password).map_err(Failure::new)?;
    Ok(Passwords::new().hash(password).await)
}
