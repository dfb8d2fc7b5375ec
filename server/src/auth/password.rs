//! Hashing of passwords: Argon2id with 19 MiB, two passes, one lane (T14).
//!
//! Guards against two attacks on the sign-in form: many tries at once (each costs 19 MiB and tens
//! of milliseconds, so few run at a time, off the threads that serve requests) and telling known
//! accounts from unknown ones by time (an unknown one is checked against a dummy, T15).
//!
//! They run on threads of their own, each with one memory for all its hashes: an allocator may keep for
//! each thread what that thread gave back, and on the runtime's pool 19 MiB and more stayed with every
//! thread that ever hashed.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use argon2::{
    Algorithm, Argon2, Block, Params, Version,
    password_hash::{
        PasswordVerifier as _,
        phc::{Output, ParamsString, PasswordHash, Salt},
    },
};
use rand::distr::{Alphanumeric, SampleString as _};
use tokio::sync::{Semaphore, oneshot};

/// Hashes computed at a time.
const PARALLEL: usize = 2;
/// So long a thread without work keeps the memory of its last hash.
const KEPT: Duration = Duration::from_secs(10);
/// The shortest password that an account may get, in characters.
pub const MIN_CHARS: usize = 12;
/// The longest password that is hashed, in bytes.
pub const MAX_BYTES: usize = 1_024;

type Job = Box<dyn FnOnce(&mut Memory) + Send>;

/// Computes and checks password hashes.
#[derive(Debug, Clone)]
pub struct Passwords {
    turns: Arc<Semaphore>,
    jobs: mpsc::Sender<Job>,
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
        let dummy = hash_now(&random_password(), &mut Memory::default());
        Self { turns: Arc::new(Semaphore::new(PARALLEL)), jobs: threads(), dummy: dummy.into() }
    }

    /// The PHC string of a new password.
    pub async fn hash(&self, password: &str) -> String {
        let password = password.to_owned();
        self.in_turn(move |memory| hash_now(&password, memory)).await
    }

    /// Whether the password fits. `None` stands for an account that does not exist: never fits,
    /// takes as long.
    pub async fn verify(&self, password: &str, stored: Option<&str>) -> bool {
        let known = stored.is_some();
        let stored = stored.unwrap_or(&self.dummy).to_owned();
        let password = password.to_owned();
        let fits = self.in_turn(move |memory| fits_now(&password, &stored, memory)).await;
        fits && known
    }

    async fn in_turn<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Memory) -> T + Send + 'static,
    ) -> T {
        // Who gives up while waiting costs no hash.
        let turn =
            Arc::clone(&self.turns).acquire_owned().await.expect("the semaphore is never closed");
        let (done, answer) = oneshot::channel();
        let job = move |memory: &mut Memory| {
            let _ = done.send(work(memory));
            drop(turn);
        };
        self.jobs.send(Box::new(job)).expect("its threads live as long as it does");
        answer.await.expect("hashing does not panic")
    }
}

impl Default for Passwords {
    fn default() -> Self {
        Self::new()
    }
}

/// Threads that do what they are sent, until nobody can send any more.
fn threads() -> mpsc::Sender<Job> {
    let (jobs, sent) = mpsc::channel::<Job>();
    let sent = Arc::new(Mutex::new(sent));
    for _ in 0..PARALLEL {
        let sent = Arc::clone(&sent);
        let next = move || sent.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(KEPT);
        let work = move || {
            let mut memory = Memory::default();
            loop {
                match next() {
                    // A thread that ended would close the sign-in for good; who waits is told by the lost answer.
                    Ok(job) => drop(catch_unwind(AssertUnwindSafe(|| job(&mut memory)))),
                    Err(RecvTimeoutError::Timeout) => memory = Memory::default(),
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        };
        thread::Builder::new()
            .name("passwords".into())
            .spawn(work)
            .expect("the system starts a thread");
    }
    jobs
}

/// What a hash is computed in, for one after the other.
#[derive(Default)]
struct Memory(Vec<Block>);

impl Memory {
    /// By the crate's defaults, which are the parameters named above; a test holds them.
    fn output(&mut self, password: &str, salt: &[u8]) -> Option<Output> {
        self.0.resize(Params::DEFAULT.block_count(), Block::default());
        let mut bytes = [0; Params::DEFAULT_OUTPUT_LEN];
        let argon2 = Argon2::default();
        argon2
            .hash_password_into_with_memory(password.as_bytes(), salt, &mut bytes, &mut self.0)
            .ok()?;
        Output::new(&bytes).ok()
    }
}

fn hash_now(password: &str, memory: &mut Memory) -> String {
    let salt = Salt::generate();
    let hash = PasswordHash {
        algorithm: Algorithm::default().ident(),
        version: Some(Version::default().into()),
        params: ParamsString::try_from(&Params::DEFAULT).expect("the defaults can be written"),
        hash: Some(memory.output(password, &salt).expect("the parameters and the salt are fixed")),
        salt: Some(salt),
    };
    hash.to_string()
}

fn fits_now(password: &str, stored: &str, memory: &mut Memory) -> bool {
    if password.len() > MAX_BYTES {
        return false;
    }
    let Ok(stored) = PasswordHash::new(stored) else { return false };
    // An account that was brought along may have been hashed otherwise; that is rare and has no memory kept.
    if !is_ours(&stored) {
        return Argon2::default().verify_password(password.as_bytes(), &stored).is_ok();
    }
    let output = stored.salt.as_ref().and_then(|salt| memory.output(password, salt));
    // Compared in constant time, by the type.
    output.is_some() && output == stored.hash
}

/// Whether a hash has the parameters of [`Memory::output`].
fn is_ours(stored: &PasswordHash) -> bool {
    stored.algorithm == Algorithm::default().ident()
        && stored.version == Some(Version::default().into())
        && ParamsString::try_from(&Params::DEFAULT).is_ok_and(|ours| ours == stored.params)
        && stored.hash.as_ref().is_some_and(|hash| hash.len() == Params::DEFAULT_OUTPUT_LEN)
}

#[cfg(test)]
mod tests {
    use argon2::password_hash::PasswordHasher as _;

    use super::*;

    #[tokio::test]
    async fn a_password_fits_its_own_hash_alone() {
        let passwords = Passwords::new();
        let stored = passwords.hash("correct horse battery").await;
        assert!(stored.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{stored}");
        assert!(is_ours(&PasswordHash::new(&stored).unwrap()));
        // The library alone says the same of it.
        assert!(Argon2::default().verify_password(b"correct horse battery", &*stored).is_ok());
        assert!(passwords.verify("correct horse battery", Some(&stored)).await);
        assert!(!passwords.verify("Correct horse battery", Some(&stored)).await);
        assert!(!passwords.verify("correct horse battery", None).await);
        assert!(!passwords.verify("correct horse battery", Some("not a hash")).await);
    }

    #[tokio::test]
    async fn a_hash_with_other_parameters_is_checked_by_them() {
        let light = Argon2::from(Params::new(8, 1, 1, None).unwrap());
        let stored = light.hash_password(b"correct horse battery").unwrap().to_string();
        assert!(!is_ours(&PasswordHash::new(&stored).unwrap()));
        let passwords = Passwords::new();
        assert!(passwords.verify("correct horse battery", Some(&stored)).await);
        assert!(!passwords.verify("Correct horse battery", Some(&stored)).await);
    }

    #[tokio::test]
    async fn a_hash_that_panics_takes_no_thread_with_it() {
        let passwords = Passwords::new();
        for _ in 0..=PARALLEL {
            let lost = passwords.clone();
            let task = async move { lost.in_turn(|_| panic!("on purpose")).await };
            assert!(tokio::spawn(task).await.is_err());
        }
        assert!(!passwords.verify("correct horse battery", None).await);
    }

    #[test]
    fn weak_passwords_are_named() {
        assert_eq!(check_strength("elevenchars"), Err(WeakPassword::Short));
        assert_eq!(check_strength(&"x".repeat(MAX_BYTES + 1)), Err(WeakPassword::Long));
        assert_eq!(check_strength(&random_password()), Ok(()));
    }
}
