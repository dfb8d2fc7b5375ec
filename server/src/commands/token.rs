//! `token`: bearer tokens for the JSON API, shown once.

use chrono::{DateTime, SecondsFormat, Utc};
use domain::{token::TokenVerb, view::TokenView};
use engine::identity::AddToken;

use super::{Failure, administer};
use crate::{cli::Token, config::Config};

/// `onceover token …`.
///
/// # Errors
/// [`Failure`] for an unknown tenant, person, kind or token.
pub async fn run(config: &Config, command: Token) -> Result<(), Failure> {
    let mut admin = administer(config).await?;
    match command {
        Token::Add { tenant, name, kinds, staff, verbs, expires_in } => {
            let new = AddToken {
                tenant_slug: &tenant,
                name: &name,
                staff: staff.as_deref(),
                kinds: &kinds,
                verbs: &verbs,
                expires_in_days: expires_in,
            };
            println!("{}", admin.add_token(&new).await?);
            eprintln!("This is the only time that the token is shown.");
        }
        Token::List { tenant } => {
            for token in admin.tokens(&tenant).await? {
                println!("{}", line(&token));
            }
        }
        Token::Revoke { tenant, name } => {
            admin.revoke_token(&tenant, &name).await?;
            println!("{name} of {tenant} is revoked");
        }
    }
    Ok(())
}

/// State, name, whose, verbs, kinds, end and last use, between tabs.
fn line(token: &TokenView) -> String {
    let verbs: Vec<_> = token.verbs.iter().copied().map(TokenVerb::as_str).collect();
    let all = |words: String| if words.is_empty() { "all".to_owned() } else { words };
    [
        token.state.as_str().to_owned(),
        token.name.clone(),
        token.person.clone().unwrap_or_else(|| "service".to_owned()),
        all(verbs.join(",")),
        all(token.kinds.join(",")),
        format!("expires {}", instant(token.expires_at)),
        format!("last used {}", instant(token.last_used_at)),
    ]
    .join("\t")
}

fn instant(at: Option<DateTime<Utc>>) -> String {
    at.map_or_else(|| "never".to_owned(), |at| at.to_rfc3339_opts(SecondsFormat::Secs, true))
}
