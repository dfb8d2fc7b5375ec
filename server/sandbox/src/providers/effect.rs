//! One effect: what was asked, what was done, and how it is told.
//!
//! The ledger line and the answer are both made from the same record, so a
//! stored answer is byte for byte the first one.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::draft;
use crate::{EffectKind, Provider, clock};

/// Names that belong to the provider; a payload field of the same name is dropped.
const OWN_NAMES: [&str; 14] = [
    "amount_minor",
    "at",
    "at_ms",
    "count",
    "created",
    "currency",
    "error",
    "found",
    "id",
    "idempotency_key",
    "key",
    "kind",
    "provider",
    "reference",
];

/// Payload fields a rule's `reference` can name.
const NAME_FIELDS: [&str; 4] = ["invoice_id", "campaign_id", "recipient_id", "document_id"];

/// A request that has passed the provider's checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub kind: EffectKind,
    pub key: String,
    /// The merchant's own reference.
    pub reference: Option<String>,
    pub amount_minor: Option<i64>,
    pub currency: Option<String>,
    /// The other payload fields.
    pub fields: Map<String, Value>,
}

impl Request {
    /// Checks a body as a provider would, before anything is done or remembered.
    pub(crate) fn parse(kind: EffectKind, key: &str, body: Value) -> Result<Self, String> {
        let Value::Object(mut fields) = body else {
            return Err("the body must be a JSON object".into());
        };
        let text = |fields: &mut Map<String, Value>, name: &str| match fields.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(format!("{name} must be a string")),
        };
        let reference = text(&mut fields, "reference")?;
        let currency = text(&mut fields, "currency")?;
        let amount_minor = match fields.remove("amount_minor") {
            None | Some(Value::Null) => None,
            Some(value) => match value.as_i64() {
                Some(amount) if amount > 0 => Some(amount),
                _ => return Err("amount_minor must be a positive integer of minor units".into()),
            },
        };
        if kind.moves_money() {
            let is_code =
                |code: &str| code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_uppercase());
            if amount_minor.is_none() {
                return Err("amount_minor is missing".into());
            }
            if !currency.as_deref().is_some_and(is_code) {
                return Err("currency must be a three-letter code".into());
            }
        } else if let Some(missing) =
            kind.target_fields().iter().find(|name| fields.get(**name).is_none_or(Value::is_null))
        {
            return Err(format!("{missing} is missing"));
        }
        fields.retain(|name, _| !OWN_NAMES.contains(&name.as_str()));
        Ok(Self { kind, key: key.to_owned(), reference, amount_minor, currency, fields })
    }

    /// The names a rule may match.
    pub(crate) fn names(&self) -> Vec<String> {
        names(self.reference.as_deref(), &self.fields)
    }

    /// Whether `other` asks for the same effect: amount, currency and target.
    /// Fields beside them may differ, as between two clients of one merchant.
    pub(crate) fn asks_the_same_as(&self, other: &Self) -> bool {
        let target = |request: &Self, name: &str| request.fields.get(name).map(plain);
        self.amount_minor == other.amount_minor
            && self.currency == other.currency
            && self
                .kind
                .target_fields()
                .iter()
                .all(|name| target(self, name) == target(other, name))
    }
}

/// An effect that happened: one line of a ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Effect {
    /// The provider's id, such as `ch_…`.
    pub id: String,
    pub request: Request,
    /// When, by the provider's clock, Unix milliseconds.
    pub at_ms: i64,
}

impl Effect {
    /// Gives `request` an id from the seed, its key and its place in the ledger.
    pub(crate) fn new(seed: u64, place: usize, at_ms: i64, request: Request) -> Self {
        // A draft asked for again is the same draft, and not a second effect: its place counts the
        // calls, not the texts.
        let place = if request.kind == EffectKind::Draft {
            draft::prompt(&request)
        } else {
            place.to_string()
        };
        let digest = Sha256::new()
            .chain_update(seed.to_be_bytes())
            .chain_update(request.kind.name())
            .chain_update(place)
            .chain_update("/")
            .chain_update(&request.key)
            .finalize();
        let (head, _) = digest.split_at(12);
        Self { id: format!("{}{}", request.kind.id_prefix(), hex::encode(head)), request, at_ms }
    }

    /// The names a rule may match.
    pub(crate) fn names(&self) -> Vec<String> {
        self.request.names()
    }

    /// The ledger line: payload fields flat, the provider's own names on top.
    pub(crate) fn line(&self) -> Map<String, Value> {
        let mut line = self.common();
        let kind = self.request.kind;
        line.insert("provider".into(), kind.provider().name().into());
        line.insert("kind".into(), kind.name().into());
        line.insert("key".into(), self.request.key.clone().into());
        line.insert("at".into(), clock::rfc3339(self.at_ms).into());
        line.insert("at_ms".into(), self.at_ms.into());
        line
    }

    /// The inverse of [`Self::line`].
    pub(crate) fn from_line(mut line: Map<String, Value>) -> Option<Self> {
        let text = |line: &mut Map<String, Value>, name: &str| match line.remove(name) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        let effect = Self {
            id: text(&mut line, "id")?,
            at_ms: line.get("at_ms")?.as_i64()?,
            request: Request {
                kind: EffectKind::from_name(&text(&mut line, "kind")?)?,
                key: text(&mut line, "key")?,
                reference: text(&mut line, "reference"),
                amount_minor: line.get("amount_minor").and_then(Value::as_i64),
                currency: text(&mut line, "currency"),
                fields: Map::new(),
            },
        };
        line.retain(|name, _| !OWN_NAMES.contains(&name.as_str()));
        Some(Self { request: Request { fields: line, ..effect.request }, ..effect })
    }

    /// The answer to the request that made it, and to every repeat.
    pub(crate) fn answer(&self) -> Map<String, Value> {
        let mut answer = self.common();
        answer.insert("status".into(), "succeeded".into());
        answer.insert("idempotency_key".into(), self.request.key.clone().into());
        // The same prompt, the same answer: what a model says does not hang on when it is asked.
        if self.request.kind != EffectKind::Draft {
            answer.insert("created".into(), self.at_ms.div_euclid(1_000).into());
        }
        answer
    }

    /// The answer with another amount or, where no money moves, another target:
    /// what an answer to somebody else's request looks like.
    pub(crate) fn wrong_answer(&self) -> Map<String, Value> {
        let mut answer = self.answer();
        if let Some(amount) = self.request.amount_minor {
            answer.insert("amount_minor".into(), amount.saturating_add(100).into());
        } else if let Some(target) = self.request.kind.target_fields().last() {
            answer.insert((*target).into(), "somebody-else".into());
        }
        answer
    }

    /// Whether the ledger query term `name=value` meets this effect; none: no such term.
    pub(crate) fn meets(&self, name: &str, value: &str) -> Option<bool> {
        let field =
            |name: &str| self.request.fields.get(name).is_some_and(|own| plain(own) == value);
        Some(match name {
            // A caller may leave the merchant's reference out: the invoice is one all the same.
            "reference" => {
                self.id == value
                    || self.request.reference.as_deref() == Some(value)
                    || self.is(Provider::Payments) && field("invoice_id")
            }
            "key" => self.request.key == value,
            "kind" => self.request.kind.name() == value,
            "provider" => self.request.kind.provider().name() == value,
            "invoice_id" => {
                field(name)
                    || self.request.reference.as_deref() == Some(value)
                        && self.is(Provider::Payments)
            }
            "campaign_id"
            | "recipient_id"
            | "document_id"
            | "version"
            | "publication_reference"
            | "draft_id"
            | "prompt_sha256" => field(name),
            _ => return None,
        })
    }

    /// Whether it is about this document.
    pub(crate) fn names_document(&self, document: &str) -> bool {
        self.request.fields.get("document_id").is_some_and(|own| plain(own) == document)
    }

    /// Whether it takes this publication back.
    pub(crate) fn withdraws(&self, published: &Self) -> bool {
        self.request
            .fields
            .get("publication_reference")
            .is_some_and(|own| plain(own) == published.id)
    }

    fn is(&self, provider: Provider) -> bool {
        self.request.kind.provider() == provider
    }

    fn common(&self) -> Map<String, Value> {
        let mut map = self.request.fields.clone();
        map.insert("id".into(), self.id.clone().into());
        map.insert("reference".into(), self.request.reference.clone().into());
        map.insert("amount_minor".into(), self.request.amount_minor.into());
        map.insert("currency".into(), self.request.currency.clone().into());
        map
    }
}

/// A JSON string without quotes; any other value as its JSON text.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn names(reference: Option<&str>, fields: &Map<String, Value>) -> Vec<String> {
    let own = NAME_FIELDS.iter().filter_map(|name| fields.get(*name)).map(plain);
    reference.map(str::to_owned).into_iter().chain(own).collect()
}
