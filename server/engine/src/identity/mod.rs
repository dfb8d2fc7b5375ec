//! Who somebody is: sign-in, sessions, tokens and the administration of people. The only place
//! that makes a caller.

mod account;
mod admin;
mod admin_tokens;
mod code;
mod password_record;
mod preferences;
mod provider_record;
mod session;
mod standing;
mod step_up;
mod token;

pub use account::NewFactor;
pub use admin::{Admin, NewStaff};
pub use admin_tokens::AddToken;
pub use password_record::{NewSession, SIGN_IN_WINDOW_S, SignInAttempt};
pub use step_up::{FactorAsked, Proof, StepUpAttempt};

pub use crate::store::session_list::Origin;
pub use provider_record::{Arrival, Departure, ProvenPerson, Subject};

pub(crate) use standing::standing;
pub(crate) use token::new_token;

use base64::Engine as _;
use rand::Rng as _;
use sha2::{Digest as _, Sha256};

/// A new secret of 256 bits, as it is shown once or put in a cookie.
fn new_secret() -> String {
    let mut bytes = [0_u8; 32];
    rand::rng().fill_bytes(&mut bytes);
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes)
}

/// What is stored of a secret (T13).
fn secret_hash(secret: &str) -> Vec<u8> {
    Sha256::digest(secret.as_bytes()).to_vec()
}
