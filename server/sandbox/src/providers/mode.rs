//! What a provider can do instead of the usual: the fault modes by name.

/// What a provider does instead of the usual.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Apply and answer 201. As a rule in front it shields from later ones.
    Normal,
    /// Apply, then reset the TCP connection: no byte of a reply.
    ApplyDrop,
    /// Apply, answer 500.
    Apply500,
    /// Answer 500, apply nothing.
    Fail500,
    /// Answer 429 with `Retry-After: 1`, apply nothing.
    Throttle,
    /// Apply after `ms`, even when the caller has left, then answer.
    Slow {
        /// Delay before the effect, milliseconds.
        ms: u64,
    },
    /// Apply, never answer; the connection stays open until the caller closes it.
    Hang,
    /// Answer 402 with this error code, apply nothing.
    Reject {
        /// For example `card_declined`.
        code: String,
    },
    /// Apply, answer 200 with a body that is not JSON.
    Garbage,
    /// Apply, answer JSON whose `note` holds an escaped U+0000.
    Nul,
    /// Apply, answer 5 MiB of valid JSON.
    Huge,
    /// Apply truly, answer with another amount (another target where no money moves).
    WrongAmount,
    /// Forget idempotency keys: every call is a new effect.
    NoKeys,
    /// Remember idempotency keys for `ms` only.
    KeyTtl {
        /// Time since the effect, milliseconds.
        ms: u64,
    },
    /// Lookups say "not found" until `ms` after the effect.
    LookupLag {
        /// Time since the effect, milliseconds.
        ms: u64,
    },
    /// Lookups answer 501 `lookup_unsupported`.
    NoLookup,
    /// Lookups answer 500.
    Lookup500,
    /// Lookups name another amount or target.
    LookupWrongAmount,
}

/// Which part of a provider's behaviour a mode replaces. A request meets at
/// most one rule of each family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Effect,
    Keys,
    KeyTtl,
    Lookup,
}

impl Mode {
    pub(crate) fn family(&self) -> Family {
        match self {
            Self::NoKeys => Family::Keys,
            Self::KeyTtl { .. } => Family::KeyTtl,
            Self::LookupLag { .. } | Self::NoLookup | Self::Lookup500 | Self::LookupWrongAmount => {
                Family::Lookup
            }
            _ => Family::Effect,
        }
    }

    /// Name, `ms` and `code` of the JSON form.
    pub(super) fn parts(&self) -> (&'static str, Option<u64>, Option<String>) {
        match self {
            Self::Normal => ("normal", None, None),
            Self::ApplyDrop => ("apply_drop", None, None),
            Self::Apply500 => ("apply_500", None, None),
            Self::Fail500 => ("fail_500", None, None),
            Self::Throttle => ("throttle", None, None),
            Self::Slow { ms } => ("slow", Some(*ms), None),
            Self::Hang => ("hang", None, None),
            Self::Reject { code } => ("reject", None, Some(code.clone())),
            Self::Garbage => ("garbage", None, None),
            Self::Nul => ("nul", None, None),
            Self::Huge => ("huge", None, None),
            Self::WrongAmount => ("wrong_amount", None, None),
            Self::NoKeys => ("no_keys", None, None),
            Self::KeyTtl { ms } => ("key_ttl", Some(*ms), None),
            Self::LookupLag { ms } => ("lookup_lag", Some(*ms), None),
            Self::NoLookup => ("no_lookup", None, None),
            Self::Lookup500 => ("lookup_500", None, None),
            Self::LookupWrongAmount => ("lookup_wrong_amount", None, None),
        }
    }

    /// The inverse of [`Self::parts`]; refuses what the mode does not take.
    pub(super) fn parse(name: &str, ms: Option<u64>, code: Option<&str>) -> Result<Self, String> {
        let need_ms = || ms.ok_or_else(|| format!("mode {name} needs ms"));
        let mode = match name {
            "normal" => Self::Normal,
            "apply_drop" => Self::ApplyDrop,
            "apply_500" => Self::Apply500,
            "fail_500" => Self::Fail500,
            "throttle" => Self::Throttle,
            "slow" => Self::Slow { ms: need_ms()? },
            "hang" => Self::Hang,
            "reject" => Self::Reject { code: code.unwrap_or("card_declined").to_owned() },
            "garbage" => Self::Garbage,
            "nul" => Self::Nul,
            "huge" => Self::Huge,
            "wrong_amount" => Self::WrongAmount,
            "no_keys" => Self::NoKeys,
            "key_ttl" => Self::KeyTtl { ms: need_ms()? },
            "lookup_lag" => Self::LookupLag { ms: need_ms()? },
            "no_lookup" => Self::NoLookup,
            "lookup_500" => Self::Lookup500,
            "lookup_wrong_amount" => Self::LookupWrongAmount,
            other => return Err(format!("unknown mode {other:?}")),
        };
        let (_, takes_ms, takes_code) = mode.parts();
        if ms.is_some() && takes_ms.is_none() {
            return Err(format!("mode {name} takes no ms"));
        }
        if code.is_some() && takes_code.is_none() {
            return Err(format!("mode {name} takes no code"));
        }
        Ok(mode)
    }
}
