//! Reading a request's body field by field, so that every fault names its field.
//!
//! Values stay the bytes that were sent until a field asks for its type: a payload must reach the
//! engine with its own numbers, duplicate names and broken escapes, which the engine refuses and
//! a parser here would hide (D22). The outer object is held to the same strictness: a name twice,
//! or a name that the call does not have, is refused.

use axum::http::HeaderMap;
use domain::{ids::EvidenceId, problem::Code};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::members::members;
use crate::refusal::Refused;

/// The members of a JSON object that have not been taken yet.
#[derive(Debug)]
pub struct Fields<'a> {
    /// Where the object stands in the body: empty, or such as `response.`.
    place: String,
    members: Vec<(String, &'a RawValue)>,
}

/// What a field may hold, with the words that say so to whoever sent something else.
pub trait Expected: DeserializeOwned {
    /// Continues "the field must be …".
    const WORDS: &'static str;
}

macro_rules! expected {
    ($($kind:ty = $words:literal;)*) => {
        $(impl Expected for $kind { const WORDS: &'static str = $words; })*
    };
}

expected! {
    String = "a text";
    bool = "true or false";
    i64 = "a whole number of at most 64 bits, without quotes";
    u64 = "a whole number, 0 or more, without quotes";
    u16 = "a whole number between 0 and 65535, without quotes";
    Uuid = "an id, such as 0199b2c4-7d1e-7c3a-9f51-0242ac120002";
    Vec<String> = "an array of texts";
    Vec<EvidenceId> = "an array of ids";
}

/// The refusal of a body that cannot be read at all.
fn unread(detail: impl Into<String>) -> Refused {
    Refused::code(Code::RequestInvalid).detail(detail)
}

/// The refusal of a field in a body that can be read.
#[must_use]
pub fn unfit(name: &str, words: &str) -> Refused {
    Refused::code(Code::Unprocessable).field(name).detail(format!("{name} {words}."))
}

/// The refusal of an absent field.
#[must_use]
pub fn missing(name: &str) -> Refused {
    unfit(name, "is missing")
}

impl<'a> Fields<'a> {
    /// Splits a body into its members.
    ///
    /// # Errors
    /// `request_invalid` for what is no JSON object, or names a member twice;
    /// `unsupported_media_type` for another content type.
    pub fn parse(headers: &HeaderMap, body: &'a [u8]) -> Result<Self, Refused> {
        let kind =
            headers.get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        if !kind.eq_ignore_ascii_case("application/json") {
            return Err(Refused::code(Code::UnsupportedMediaType)
                .detail("The body must be application/json."));
        }
        Self::of_body(body)
    }

    fn of_body(body: &'a [u8]) -> Result<Self, Refused> {
        let text = std::str::from_utf8(body).map_err(|_| unread("The body is not UTF-8."))?;
        let value: &RawValue = serde_json::from_str(text).map_err(|error| {
            unread(format!(
                "The body is not JSON (line {}, column {}).",
                error.line(),
                error.column()
            ))
        })?;
        let members = members(value).map_err(|words| unread(format!("The body {words}.")))?;
        Ok(Self { place: String::new(), members })
    }

    /// A member that is an object itself; `name` is its whole name.
    fn nested(name: &str, value: &'a RawValue) -> Result<Self, Refused> {
        let members = members(value).map_err(|words| unfit(name, &words))?;
        Ok(Self { place: format!("{name}."), members })
    }

    /// The whole name of a member.
    fn name(&self, name: &str) -> String {
        format!("{}{name}", self.place)
    }

    /// The bytes of a member, as sent.
    pub fn raw(&mut self, name: &str) -> Option<&'a RawValue> {
        let at = self.members.iter().position(|(known, _)| known == name)?;
        Some(self.members.swap_remove(at).1)
    }

    /// The same where `null` counts as absent.
    fn given(&mut self, name: &str) -> Option<&'a RawValue> {
        self.raw(name).filter(|value| value.get() != "null")
    }

    /// A member that may be absent.
    ///
    /// # Errors
    /// `unprocessable` with the field, where its type does not fit.
    pub fn optional<T: Expected>(&mut self, name: &str) -> Result<Option<T>, Refused> {
        let Some(value) = self.given(name) else { return Ok(None) };
        serde_json::from_str(value.get())
            .map(Some)
            .map_err(|_| unfit(&self.name(name), &format!("must be {}", T::WORDS)))
    }

    /// A text that may be absent; refuses U+0000, which no column can hold.
    ///
    /// # Errors
    /// `unprocessable` with the field.
    pub fn text(&mut self, name: &str) -> Result<Option<String>, Refused> {
        let text: Option<String> = self.optional(name)?;
        if text.as_ref().is_some_and(|text| text.contains('\0')) {
            return Err(unfit(&self.name(name), "holds U+0000"));
        }
        Ok(text)
    }

    /// A member that must be there.
    ///
    /// # Errors
    /// `unprocessable` with the field.
    pub fn required<T: Expected>(&mut self, name: &str) -> Result<T, Refused> {
        self.optional(name)?.ok_or_else(|| self.missing(name))
    }

    /// A text that must be there.
    ///
    /// # Errors
    /// `unprocessable` with the field.
    pub fn required_text(&mut self, name: &str) -> Result<String, Refused> {
        self.text(name)?.ok_or_else(|| self.missing(name))
    }

    /// The refusal of a member that is absent here.
    #[must_use]
    pub fn missing(&self, name: &str) -> Refused {
        missing(&self.name(name))
    }

    /// An array of objects.
    ///
    /// # Errors
    /// `unprocessable` with the field.
    pub fn objects(&mut self, name: &str) -> Result<Vec<Fields<'a>>, Refused> {
        let Some(value) = self.given(name) else { return Ok(Vec::new()) };
        let name = self.name(name);
        let items: Vec<&'a RawValue> = serde_json::from_str(value.get())
            .map_err(|_| unfit(&name, "must be an array of objects"))?;
        let nested = |(index, item)| Self::nested(&format!("{name}[{index}]"), item);
        items.into_iter().enumerate().map(nested).collect()
    }

    /// An object.
    ///
    /// # Errors
    /// `unprocessable` with the field.
    pub fn object(&mut self, name: &str) -> Result<Option<Fields<'a>>, Refused> {
        let Some(value) = self.given(name) else { return Ok(None) };
        Self::nested(&self.name(name), value).map(Some)
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// `unprocessable` naming a member that the call does not have.
    pub fn finish(self) -> Result<(), Refused> {
        match self.members.first() {
            None => Ok(()),
            Some((name, _)) => Err(unfit(&self.name(name), "is no field of this call")),
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse as _;

    use super::{super::members::MAX_MEMBERS, *};

    fn fields(text: &str) -> Fields<'_> {
        Fields::of_body(text.as_bytes()).unwrap()
    }

    fn status(refused: Refused) -> u16 {
        refused.into_response().status().as_u16()
    }

    #[test]
    fn a_payload_comes_through_as_it_was_sent() {
        let payload = r#"{ "n":9007199254740993, "a":1.10, "a":2, "s":"\ud800", "z":"\u0000" }"#;
        let body = format!(r#"{{"payload":{payload},"key":"k"}}"#);
        let mut fields = fields(&body);
        assert_eq!(fields.raw("payload").unwrap().get(), payload);
        assert_eq!(fields.text("key").unwrap().as_deref(), Some("k"));
        fields.finish().unwrap();
    }

    #[test]
    fn a_body_that_is_no_object_with_each_name_once_is_a_400() {
        let many: Vec<String> = (0..=MAX_MEMBERS).map(|n| format!("\"{n}\":1")).collect();
        let many = format!("{{{}}}", many.join(","));
        for body in [
            r#"{"a":1,"a":2}"#,
            r#"{"a":1,"\u0061":2}"#,
            r#"{"\ud800":1}"#,
            "[1]",
            "\"text\"",
            "",
            "{",
            r#"{"a":1}x"#,
            &many,
        ] {
            assert_eq!(status(Fields::of_body(body.as_bytes()).unwrap_err()), 400, "{body}");
        }
    }

    #[test]
    fn a_field_at_fault_is_a_422() {
        for body in [
            r#"{"amount_minor":12.5}"#,
            r#"{"amount_minor":"12"}"#,
            r#"{"amount_minor":9223372036854775808}"#,
            r#"{"amount_minor":[]}"#,
        ] {
            assert_eq!(status(fields(body).required::<i64>("amount_minor").unwrap_err()), 422);
        }
        assert_eq!(status(fields("{}").required::<i64>("version").unwrap_err()), 422);
        assert_eq!(status(fields(r#"{"amount_minr":1}"#).finish().unwrap_err()), 422);
        for text in [r#"{"reason":"a\u0000b"}"#, r#"{"reason":"\ud800"}"#, r#"{"reason":1}"#] {
            assert_eq!(status(fields(text).text("reason").unwrap_err()), 422, "{text}");
        }
        for text in [r#"{"response":[]}"#, r#"{"response":{"a":1,"a":2}}"#] {
            assert_eq!(status(fields(text).object("response").unwrap_err()), 422, "{text}");
        }
        assert_eq!(fields(r#"{"version":null}"#).optional::<i64>("version").unwrap(), None);
    }

    #[test]
    fn a_nested_field_is_named_by_its_place() {
        let body = r#"{"response":{"status":"x"},"events":[{"topic":"t"},{"topic":1}]}"#;
        let mut fields = fields(body);
        let mut response = fields.object("response").unwrap().unwrap();
        let refused = format!("{:?}", response.optional::<u16>("status").unwrap_err());
        assert!(refused.contains("response.status must be a whole number"), "{refused}");
        let mut events = fields.objects("events").unwrap();
        let refused = format!("{:?}", events[1].required_text("topic").unwrap_err());
        assert!(refused.contains("events[1].topic must be a text"), "{refused}");
        let refused = format!("{:?}", events[0].required_text("aggregate").unwrap_err());
        assert!(refused.contains("events[0].aggregate is missing"), "{refused}");
    }
}
