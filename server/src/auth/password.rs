//! Hashing of passwords: Argon2id with 19 MiB, two passes, one lane (T14).
//!
//! Guards against two attacks on the sign-in form: many tries at once (each costs 19 MiB and tens
//! of milliseconds, so few run at a time, off the threads that serve requests) and telling known
//! accounts from unknown ones by time (an unknown one is checked against a dummy, T15).

use std::sync::Arc;

use argon2::{
    Argon2,
    password_hash::{PasswordHasher as _, PasswordVerifier as _, phc::PasswordHash},
};
use rand::distr::{Alphanumeric, SampleString as _};
use tokio::sync::Semaphore;

/// Hashes computed at a time.
const PARALLEL: usize = 2;
/// The shortest password that an account may get, in characters.
pub const MIN_CHARS: usize = 12;
/// The longest password that is hashed, in bytes.
pub const MAX_BYTES: usize = 1_024;

/// Computes and checks password hashes.
#[derive(Debug, Clone)]
pub struct Passwords {
    turns: Arc<Semaphore>,
    dummy: Arc<str>,
}

/// A password that an account may not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WeakPassword {
    /// Below [`MIN_CHARS`].
    #[error("the password is too short: {MIN_CHARS} characters at least")]
    Short,
    /// Over [`MAX_BYTES`].
    #[error("the password is too long: {MAX_BYTES} bytes at most")]
    Long,
}

/// Checks a new password's length; nothing else makes a password better.
///
/// # Errors
/// [`WeakPassword`].
pub fn check_strength(password: &str) -> Result<(), WeakPassword> {
    if password.len() > MAX_BYTES {
        return Err(WeakPassword::Long);
    }
    if password.chars().count() < MIN_CHARS {
        return Err(WeakPassword::Short);
    }
    Ok(())
}

/// A password of 24 letters and digits.
#[must_use]
pub fn random_password() -> String {
    Alphanumeric.sample_string(&mut rand::rng(), 24)
}

impl Passwords {
    /// Prepares the dummy; blocks for one hash.
    #[must_use]
    pub fn new() -> Self {
        let dummy = hash_now(&random_password());
        Self { turns: Arc::new(Semaphore::new(PARALLEL)), dummy: dummy.into() }
    }

    /// The PHC string of a new password.
    pub async fn hash(&self, password: &str) -> String {
        let password = password.to_owned();
        self.in_turn(move || hash_now(&password)).await
    }

    /// Whether the password fits. `None` stands for an account that does not exist: never fits,
    /// takes as long.
    pub async fn verify(&self, password: &str, stored: Option<&str>) -> bool {
        let known = stored.is_some();
        let stored = stored.unwrap_or(&self.dummy).to_owned();
        let password = password.to_owned();
        let fits = self.in_turn(move || fits_now(&password, &stored)).await;
        fits && known
    }

    async fn in_turn<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        let turn =
            Arc::clone(&self.turns).acquire_owned().await.expect("the semaphore is never closed");
        tokio::task::spawn_blocking(move || {
            let done = work();
            drop(turn);
            done
        })
        .await
        .expect("hashing does not panic")
    }
}

impl Default for Passwords {
    fn default() -> Self {
        Self::new()
    }
}

fn hash_now(password: &str) -> String {
    // The crate's defaults are the parameters named above; a test holds them.
    Argon2::default()
        .hash_password(password.as_bytes())
        .expect("the parameters are fixed and the system has random numbers")
        .to_string()
}

fn fits_now(password: &str, stored: &str) -> bool {
    if password.len() > MAX_BYTES {
        return false;
    }
    PasswordHash::new(stored)
        .is_ok_and(|hash| Argon2::default().verify_password(password.as_bytes(), &hash).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_password_fits_its_own_hash_alone() {
        let passwords = Passwords::new();
        let stored = passwords.hash("correct horse battery").await;
        assert!(stored.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{stored}");
        assert!(passwords.verify("correct horse battery", Some(&stored)).await);
        assert!(!passwords.verify("Correct horse battery", Some(&stored)).await);
        assert!(!passwords.verify("correct horse battery", None).await);
        assert!(!passwords.verify("correct horse battery", Some("not a hash")).await);
    }

    #[test]
    fn weak_passwords_are_named() {
        assert_eq!(check_strength("elevenchars"), Err(WeakPassword::Short));
        assert_eq!(check_strength(&"x".repeat(MAX_BYTES + 1)), Err(WeakPassword::Long));
        assert_eq!(check_strength(&random_password()), Ok(()));
    }
}
