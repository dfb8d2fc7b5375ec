//! A deterministic local stand-in for a model: the same prompt gives the same text, without a network,
//! and each call is counted, so that a test can tell whether it was asked again (I13).

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::{Answering, Model, ModelAnswer, Prompt, Written};
use crate::store::answer::StoredAnswer;

const SUBJECTS: [&str; 3] = ["A word from us", "What changes next month", "News in short"];
const TEXTS: [&str; 3] = [
    "The figures of this quarter are in order.",
    "The change reaches you without any step of yours.",
    "The second edition corrects the table on page four.",
];

/// The stand-in.
#[derive(Debug, Default)]
pub struct StandIn {
    calls: AtomicU64,
}

impl StandIn {
    /// How often it was asked.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }
}

impl Model for StandIn {
    fn ask<'a>(&'a self, prompt: Prompt<'a>) -> Answering<'a> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        let digest = Sha256::digest(prompt.input);
        let pick = |words: &[&str; 3], byte: usize| {
            words[usize::from(digest[byte]) % words.len()].to_owned()
        };
        // The id counts, as a model's does: an answer that was asked for again would show.
        let id = format!("text_{call}_{}", hex::encode(&digest[..6]));
        let body = json!({
            "id": id,
            "subject": pick(&SUBJECTS, 0),
            "text": pick(&TEXTS, 1),
        });
        let answer = StoredAnswer {
            status: 200,
            content_type: "application/json".into(),
            body: body.to_string().into_bytes(),
            cut: false,
        };
        let written = ModelAnswer::Written(Written { id, answer, astray: false });
        Box::pin(std::future::ready(written))
    }
}
