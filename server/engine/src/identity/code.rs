//! Codes of a second factor: the authenticator's by time (RFC 6238) and recovery codes, each taken once.
//! Its secret is sealed at rest, bound to its person.
//!
//! Guards against a database read that is as good as everybody's authenticator (T13), and against a code
//! that is used again by whoever looked over a shoulder.

use domain::ids::StaffId;
use hmac::{Hmac, KeyInit as _, Mac as _};
use rand::Rng as _;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use sha2::Sha256;
use sqlx::PgConnection;
use totp_rs::{Builder, Totp};

use super::secret_hash;
use crate::{Engine, error::EngineError, settings::Settings, store::factor};

/// Bytes of a new secret: 160 bits, as RFC 4226 asks for.
const SECRET_BYTES: usize = 20;
/// Digits of a code.
const DIGITS: usize = 6;
/// Recovery codes that a person gets.
const RECOVERY_CODES: usize = 10;
/// What recovery codes are made of: no two of them look alike. 32, so that a byte picks evenly.
const LETTERS: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyz023456789";

/// A secret that nobody knows yet.
pub(super) fn new_secret() -> [u8; SECRET_BYTES] {
    let mut secret = [0_u8; SECRET_BYTES];
    rand::rng().fill_bytes(&mut secret);
    secret
}

/// The authenticator of a secret.
pub(super) fn totp(secret: Vec<u8>, email: &str) -> Result<Totp, EngineError> {
    // The separator between issuer and account is no part of either.
    Builder::new()
        .with_secret(secret)
        .with_issuer(Some("Onceover"))
        .with_account_name(email.replace(':', " "))
        .build()
        .map_err(|_| EngineError::Unreadable("the secret of a second factor".into()))
}

fn key(settings: &Settings) -> LessSafeKey {
    let master = settings.factor_secret.as_ref().unwrap_or(&settings.search_secret);
    let mut mac = Hmac::<Sha256>::new_from_slice(master).expect("HMAC takes a key of any length");
    mac.update(b"onceover second factor");
    let key = UnboundKey::new(&CHACHA20_POLY1305, &mac.finalize().into_bytes()[..]);
    LessSafeKey::new(key.expect("SHA-256 has as many bytes as the cipher's key"))
}

/// Seals a secret for its person.
pub(super) fn seal(settings: &Settings, staff: StaffId, secret: &[u8]) -> Vec<u8> {
    let mut nonce = [0_u8; NONCE_LEN];
    rand::rng().fill_bytes(&mut nonce);
    let mut sealed = secret.to_vec();
    key(settings)
        .seal_in_place_append_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(staff.uuid().as_bytes()),
            &mut sealed,
        )
        .expect("a secret is shorter than the cipher's limit");
    [nonce.as_slice(), &sealed].concat()
}

/// Opens what was sealed for that person.
pub(super) fn open(
    settings: &Settings,
    staff: StaffId,
    sealed: &[u8],
) -> Result<Vec<u8>, EngineError> {
    let unreadable = || {
        EngineError::Unreadable("a second factor that was sealed under another secret".to_owned())
    };
    let (nonce, rest) = sealed.split_at_checked(NONCE_LEN).ok_or_else(unreadable)?;
    let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| unreadable())?;
    let mut rest = rest.to_vec();
    let secret = key(settings)
        .open_in_place(nonce, Aad::from(staff.uuid().as_bytes()), &mut rest)
        .map_err(|_| unreadable())?;
    Ok(secret.to_vec())
}

/// A code as it is compared: people write it in groups.
fn plain(code: &str) -> String {
    code.chars().filter(|c| !c.is_whitespace() && *c != '-').flat_map(char::to_lowercase).collect()
}

fn is_of_authenticator(code: &str) -> bool {
    code.len() == DIGITS && code.bytes().all(|b| b.is_ascii_digit())
}

/// New recovery codes as they are shown once, each 80 bits.
pub(super) fn new_recovery_codes() -> Vec<String> {
    let mut rng = rand::rng();
    (0..RECOVERY_CODES)
        .map(|_| {
            let mut bytes = [0_u8; 16];
            rng.fill_bytes(&mut bytes);
            let letters: Vec<u8> =
                bytes.iter().map(|byte| LETTERS[usize::from(byte % 32)]).collect();
            let groups: Vec<_> = letters.chunks(4).map(String::from_utf8_lossy).collect();
            groups.join("-")
        })
        .collect()
}

/// What is stored of a recovery code: long and random, it needs no slow hash.
pub(super) fn recovery_hash(code: &str) -> Vec<u8> {
    secret_hash(&plain(code))
}

/// Which codes are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// The authenticator's and recovery codes.
    Any,
    /// The authenticator's alone: programs send them.
    Authenticator,
}

impl Engine {
    /// Takes a person's code, once; `false` where it does not fit or was taken before. The tries are
    /// counted by whoever calls.
    pub(super) async fn take_code(
        &self,
        db: &mut PgConnection,
        staff: StaffId,
        code: &str,
        taken: Taken,
    ) -> Result<bool, EngineError> {
        let code = plain(code);
        if is_of_authenticator(&code) {
            let Some(known) = factor::read(db, staff, true).await? else { return Ok(false) };
            let Some(step) = self.step_of(staff, &known, &code)? else { return Ok(false) };
            return factor::take_step(db, staff, step).await;
        }
        if taken == Taken::Authenticator || code.is_empty() {
            return Ok(false);
        }
        factor::take_recovery_code(db, staff, &secret_hash(&code)).await
    }

    /// The step that a code belongs to, by the database's clock and one step to either side.
    pub(super) fn step_of(
        &self,
        staff: StaffId,
        known: &factor::Factor,
        code: &str,
    ) -> Result<Option<i64>, EngineError> {
        let secret = open(&self.settings, staff, &known.sealed)?;
        let now = u64::try_from(known.now_s).unwrap_or_default();
        let step = totp(secret, "")?.check(&plain(code), now);
        Ok(step.and_then(|step| i64::try_from(step).ok()))
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_recovery_code_is_long_and_known_again_however_it_is_written() {
        let codes = new_recovery_codes();
        assert_eq!(codes.len(), RECOVERY_CODES);
        for code in &codes {
            assert_eq!(code.len(), 19, "{code}");
            let typed = format!(" {} ", code.replace('-', " ").to_uppercase());
            assert_eq!(recovery_hash(code), recovery_hash(&typed));
        }
    }

    #[test]
    fn the_authenticator_is_that_of_the_standard() {
        // RFC 6238, appendix B, cut to six digits.
        let totp = totp(b"12345678901234567890".to_vec(), "ada@acme.test").unwrap();
        assert_eq!(totp.generate(1_111_111_109).to_string(), "081804");
        assert_eq!(totp.check("081804", 1_111_111_109 + 30), Some(1_111_111_109 / 30));
        assert_eq!(totp.check("081804", 1_111_111_109 + 90), None);
        let link = totp.to_url().unwrap();
        assert!(link.starts_with("otpauth://totp/Onceover:ada%40acme.test?secret="), "{link}");
    }

    #[test]
    fn letters_of_recovery_codes_are_picked_evenly() {
        let mut letters = LETTERS.to_vec();
        letters.sort_unstable();
        letters.dedup();
        assert_eq!(letters.len(), 32);
        assert!(!is_of_authenticator(&plain(&Uuid::nil().to_string())));
    }
}
