//! The provider's public keys (RFC 7517), and signatures by them (RFC 7515). RS256, PS256 and ES256 are
//! taken; `none` and the HS family never, so a public key is never mistaken for a shared secret.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{rsa::PublicKeyComponents, signature};
use serde::Deserialize;

/// Keys that are read of one set.
const MAX_KEYS: usize = 64;

/// A set of keys.
#[derive(Debug, Default)]
pub(super) struct Keys(Vec<Key>);

#[derive(Debug)]
struct Key {
    id: Option<String>,
    algorithm: Option<String>,
    material: Material,
}

#[derive(Debug)]
enum Material {
    Rsa(PublicKeyComponents<Vec<u8>>),
    /// An uncompressed point of P-256.
    P256(Vec<u8>),
}

/// Why a signature does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unsigned {
    /// No key of the set is meant; a newer set may have it.
    UnknownKey,
    /// The key is there, and the signature is not by it.
    Wrong,
}

/// The algorithms that are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Algorithm {
    /// RSA PKCS#1 v1.5 with SHA-256.
    Rs256,
    /// RSA PSS with SHA-256.
    Ps256,
    /// ECDSA on P-256 with SHA-256.
    Es256,
}

impl Algorithm {
    /// The algorithm of that name, if it is taken.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "RS256" => Some(Self::Rs256),
            "PS256" => Some(Self::Ps256),
            "ES256" => Some(Self::Es256),
            _ => None,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Ps256 => "PS256",
            Self::Es256 => "ES256",
        }
    }
}

#[derive(Deserialize)]
struct Set {
    keys: Vec<serde_json::Value>,
}

#[derive(Deserialize)]
struct Written {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl Keys {
    /// Reads a set; keys of other kinds and for other ends are left out.
    pub(super) fn read(document: &[u8]) -> Option<Self> {
        let set: Set = serde_json::from_slice(document).ok()?;
        let keys = set.keys.into_iter().take(MAX_KEYS);
        Some(Self(keys.filter_map(|key| Key::read(serde_json::from_value(key).ok()?)).collect()))
    }

    /// Whether any key can be used.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Checks a signature by the key that is meant: the one of that id, or the only one that fits where
    /// the token names none.
    pub(super) fn verify(
        &self,
        algorithm: Algorithm,
        id: Option<&str>,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), Unsigned> {
        let mut meant = self
            .0
            .iter()
            .filter(|key| key.fits(algorithm) && id.is_none_or(|id| key.id.as_deref() == Some(id)));
        match (meant.next(), meant.next()) {
            (Some(key), None) if key.signed(algorithm, message, signature) => Ok(()),
            (Some(_), _) => Err(Unsigned::Wrong),
            (None, _) => Err(Unsigned::UnknownKey),
        }
    }
}

impl Key {
    fn read(written: Written) -> Option<Self> {
        if written.purpose.is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        let bytes = |text: Option<String>| URL_SAFE_NO_PAD.decode(text?).ok();
        let material = match written.kty.as_str() {
            "RSA" => Material::Rsa(PublicKeyComponents {
                n: without_zeros(bytes(written.n)?),
                e: without_zeros(bytes(written.e)?),
            }),
            "EC" if written.crv.as_deref() == Some("P-256") => {
                let (x, y) = (bytes(written.x)?, bytes(written.y)?);
                if x.len() != 32 || y.len() != 32 {
                    return None;
                }
                Material::P256([&[4], x.as_slice(), y.as_slice()].concat())
            }
            _ => return None,
        };
        Some(Self { id: written.kid, algorithm: written.alg, material })
    }

    fn fits(&self, algorithm: Algorithm) -> bool {
        let same = self.algorithm.as_deref().is_none_or(|named| named == algorithm.name());
        same && match self.material {
            Material::Rsa(_) => matches!(algorithm, Algorithm::Rs256 | Algorithm::Ps256),
            Material::P256(_) => algorithm == Algorithm::Es256,
        }
    }

    fn signed(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        match &self.material {
            Material::Rsa(key) => {
                let parameters = match algorithm {
                    Algorithm::Ps256 => &signature::RSA_PSS_2048_8192_SHA256,
                    _ => &signature::RSA_PKCS1_2048_8192_SHA256,
                };
                key.verify(parameters, message, signature).is_ok()
            }
            Material::P256(point) => {
                signature::UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, point)
                    .verify(message, signature)
                    .is_ok()
            }
        }
    }
}

/// ring refuses numbers that begin with zeros, which some providers write.
fn without_zeros(number: Vec<u8>) -> Vec<u8> {
    number.into_iter().skip_while(|byte| *byte == 0).collect()
}
