//! How much a process takes and keeps: each limit with the bounds that it may be set within.
//!
//! The bounds guard against a limit that turns a promise round: a key that no column holds, a
//! session that ends between two clicks or never, a body that fills the memory. A test reads them
//! from docs/configuration.md and tries each.

use domain::{
    idempotency::MAX_KEY_CHARS,
    json::MAX_DEPTH,
    listing::{MAX_EXPORT, MAX_FILTER_CHARS, MAX_PAGE, MAX_SPAN_DAYS},
};
use engine::{Limits, store::artifact::MAX_ARTIFACT_BYTES};

use super::{ConfigError, source::Source};

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// Reads the limits; what is not set keeps its default.
pub(super) fn read(source: &mut Source) -> Result<Limits, ConfigError> {
    let default = Limits::default();
    Ok(Limits {
        key_chars: source.between(
            "ONCEOVER_MAX_KEY_CHARS",
            default.key_chars,
            64,
            MAX_KEY_CHARS,
        )?,
        payload_bytes: source.between(
            "ONCEOVER_MAX_PAYLOAD_BYTES",
            default.payload_bytes,
            KIB,
            MIB,
        )?,
        payload_depth: source.between(
            "ONCEOVER_MAX_PAYLOAD_DEPTH",
            default.payload_depth,
            4,
            MAX_DEPTH,
        )?,
        answer_bytes: source.between(
            "ONCEOVER_MAX_ANSWER_BYTES",
            default.answer_bytes,
            KIB,
            8 * MIB,
        )?,
        form_bytes: source.between("ONCEOVER_MAX_FORM_BYTES", default.form_bytes, 16 * KIB, MIB)?,
        api_body_bytes: source.between(
            "ONCEOVER_MAX_API_BODY_BYTES",
            default.api_body_bytes,
            16 * KIB,
            16 * MIB,
        )?,
        finish_body_bytes: source.between(
            "ONCEOVER_MAX_FINISH_BODY_BYTES",
            default.finish_body_bytes,
            16 * KIB,
            32 * MIB,
        )?,
        artifact_bytes: source.between(
            "ONCEOVER_MAX_ARTIFACT_BYTES",
            default.artifact_bytes,
            KIB,
            MAX_ARTIFACT_BYTES,
        )?,
        evidence_bytes: source.between(
            "ONCEOVER_MAX_EVIDENCE_BYTES",
            default.evidence_bytes,
            KIB,
            16 * MIB,
        )?,
        checkpoint_body_bytes: source.between(
            "ONCEOVER_MAX_CHECKPOINT_BODY_BYTES",
            default.checkpoint_body_bytes,
            16 * KIB,
            32 * MIB,
        )?,
        event_attempts: source.between(
            "ONCEOVER_MAX_EVENT_ATTEMPTS",
            default.event_attempts,
            1,
            100,
        )?,
        page_rows: source.between("ONCEOVER_MAX_PAGE_ROWS", default.page_rows, 10, MAX_PAGE)?,
        bulk_rows: source.between("ONCEOVER_MAX_BULK_ROWS", default.bulk_rows, 100, 100_000)?,
        bulk_start_hours: source.between(
            "ONCEOVER_BULK_START_HOURS",
            default.bulk_start_hours,
            1,
            30 * 24,
        )?,
        list_days: source.between("ONCEOVER_MAX_LIST_DAYS", default.list_days, 7, MAX_SPAN_DAYS)?,
        filter_chars: source.between(
            "ONCEOVER_MAX_FILTER_CHARS",
            default.filter_chars,
            64,
            MAX_FILTER_CHARS,
        )?,
        // The listener has 1,024 places at least; pages need some of them too.
        streams: source.between("ONCEOVER_MAX_STREAMS", default.streams, 1, 900)?,
        session_streams: source.between(
            "ONCEOVER_MAX_SESSION_STREAMS",
            default.session_streams,
            1,
            100,
        )?,
        export_rows: source.between(
            "ONCEOVER_MAX_EXPORT_ROWS",
            default.export_rows,
            100,
            MAX_EXPORT,
        )?,
        account_tries: source.between("ONCEOVER_SIGN_IN_TRIES", default.account_tries, 3, 20)?,
        address_tries: source.between(
            "ONCEOVER_SIGN_IN_TRIES_OF_ADDRESS",
            default.address_tries,
            10,
            1_000_000,
        )?,
        token_calls: source.between(
            "ONCEOVER_MAX_TOKEN_CALLS",
            default.token_calls,
            60,
            10_000_000,
        )?,
        account_calls: source.between(
            "ONCEOVER_MAX_ACCOUNT_CALLS",
            default.account_calls,
            60,
            10_000_000,
        )?,
        address_calls: source.between(
            "ONCEOVER_MAX_ADDRESS_CALLS",
            default.address_calls,
            60,
            10_000_000,
        )?,
        // Requests are noted to the minute, so a shorter idle time would end a session in use.
        session_idle_min: source.between(
            "ONCEOVER_SESSION_IDLE_MINUTES",
            default.session_idle_min,
            5,
            8 * 60,
        )?,
        session_absolute_min: source.between(
            "ONCEOVER_SESSION_ABSOLUTE_MINUTES",
            default.session_absolute_min,
            15,
            24 * 60,
        )?,
        step_up_s: source.between("ONCEOVER_STEP_UP_SECONDS", default.step_up_s, 30, 3_600)?,
    })
}
