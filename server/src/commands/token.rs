//! `token`: bearer tokens for the JSON API, shown once.

use super::{Failure, administer};
use crate::{cli::Token, config::Config};

/// `onceover token …`.
///
/// # Errors
/// [`Failure`] for an unknown tenant, person, kind or token.
pub async fn run(config: &Config, command: Token) -> Result<(), Failure> {
    let mut admin = administer(config).await?;
    match command {
        Token::Add { tenant, name, kinds, staff, expires_in } => {
            let token = match staff {
                Some(email) => admin.add_staff_token(&email, &tenant, &name, expires_in).await?,
                None => admin.add_service_token(&tenant, &name, &kinds, expires_in).await?,
            };
            println!("{token}");
            eprintln!("This is the only time that the token is shown.");
        }
        Token::Revoke { tenant, name } => {
            admin.revoke_token(&tenant, &name).await?;
            println!("{name} of {tenant} is revoked");
        }
    }
    Ok(())
}
