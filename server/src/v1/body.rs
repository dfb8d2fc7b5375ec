//! Reading a request's body field by field, so that every fault names its field.
//!
//! Values stay the bytes that were sent until a field asks for its type: a payload must reach the
//! engine with its own numbers, duplicate names and broken escapes, which the engine refuses and
//! a parser here would hide (D22). The outer object is held to the same strictness: a name twice,
//! or a name that the call does not have, is refused.

use std::fmt;

use axum::http::HeaderMap;
use domain::problem::Code;
use serde::{
    Deserialize,
    de::{DeserializeOwned, Deserializer, MapAccess, Visitor},
};
use serde_json::value::RawValue;

use crate::refusal::Refused;

/// The members of a JSON object that have not been taken yet.
#[derive(Debug)]
pub struct Fields<'a>(Vec<(String, &'a RawValue)>);

fn invalid(detail: impl Into<String>) -> Refused {
    Refused::code(Code::RequestInvalid).detail(detail)
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
        Self::of_object(body)
    }

    fn of_object(body: &'a [u8]) -> Result<Self, Refused> {
        let text = std::str::from_utf8(body).map_err(|_| invalid("The body is not UTF-8."))?;
        let Members(members) = serde_json::from_str(text).map_err(|error| {
            invalid(format!(
                "The body is not a JSON object with each name once (line {}, column {}).",
                error.line(),
                error.column()
            ))
        })?;
        Ok(Self(members))
    }

    /// The bytes of a member, as sent.
    pub fn raw(&mut self, name: &str) -> Option<&'a RawValue> {
        let at = self.0.iter().position(|(known, _)| known == name)?;
        Some(self.0.swap_remove(at).1)
    }

    /// The same where `null` counts as absent.
    fn given(&mut self, name: &str) -> Option<&'a RawValue> {
        self.raw(name).filter(|value| value.get() != "null")
    }

    /// A member that may be absent.
    ///
    /// # Errors
    /// `request_invalid` with the field, where its type does not fit.
    pub fn optional<T: DeserializeOwned>(&mut self, name: &str) -> Result<Option<T>, Refused> {
        let Some(value) = self.given(name) else { return Ok(None) };
        serde_json::from_str(value.get())
            .map(Some)
            .map_err(|error| invalid(format!("{name}: {}.", without_place(&error))).field(name))
    }

    /// A text that may be absent; refuses U+0000, which no column can hold.
    ///
    /// # Errors
    /// `request_invalid` with the field.
    pub fn text(&mut self, name: &str) -> Result<Option<String>, Refused> {
        let text: Option<String> = self.optional(name)?;
        if text.as_ref().is_some_and(|text| text.contains('\0')) {
            return Err(invalid(format!("{name} holds U+0000.")).field(name));
        }
        Ok(text)
    }

    /// A member that must be there.
    ///
    /// # Errors
    /// `request_invalid` with the field.
    pub fn required<T: DeserializeOwned>(&mut self, name: &str) -> Result<T, Refused> {
        self.optional(name)?.ok_or_else(|| missing(name))
    }

    /// An array of objects.
    ///
    /// # Errors
    /// `request_invalid` with the field.
    pub fn objects(&mut self, name: &str) -> Result<Vec<Fields<'a>>, Refused> {
        let Some(value) = self.given(name) else { return Ok(Vec::new()) };
        let items: Vec<&'a RawValue> = serde_json::from_str(value.get())
            .map_err(|_| invalid(format!("{name} must be an array.")).field(name))?;
        items
            .into_iter()
            .map(|item| {
                Self::of_object(item.get().as_bytes()).map_err(|refused| refused.field(name))
            })
            .collect()
    }

    /// An object.
    ///
    /// # Errors
    /// `request_invalid` with the field.
    pub fn object(&mut self, name: &str) -> Result<Option<Fields<'a>>, Refused> {
        let Some(value) = self.given(name) else { return Ok(None) };
        Self::of_object(value.get().as_bytes()).map(Some).map_err(|refused| refused.field(name))
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// `request_invalid` naming a member that the call does not have.
    pub fn finish(self) -> Result<(), Refused> {
        match self.0.first() {
            None => Ok(()),
            Some((name, _)) => Err(invalid(format!("This call has no field {name}.")).field(name)),
        }
    }
}

/// The refusal of an absent member.
#[must_use]
pub fn missing(name: &str) -> Refused {
    invalid(format!("{name} is missing.")).field(name)
}

fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;

        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members: Vec<(String, &'de RawValue)> = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, &'de RawValue>()? {
                    if members.iter().any(|(known, _)| *known == name) || members.len() >= 64 {
                        return Err(serde::de::Error::custom("a name twice"));
                    }
                    members.push((name, value));
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Collect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(text: &str) -> Fields<'_> {
        Fields::of_object(text.as_bytes()).unwrap()
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
    fn the_outer_object_names_each_field_once_and_none_of_its_own() {
        for body in [r#"{"a":1,"a":2}"#, r#"{"a":1,"\u0061":2}"#, "[1]", "", "{", r#"{"a":1}x"#] {
            assert!(Fields::of_object(body.as_bytes()).is_err(), "{body}");
        }
        let text = r#"{"amount_minr":1}"#;
        assert!(fields(text).finish().is_err());
    }

    #[test]
    fn a_wrong_type_is_refused_with_its_field() {
        for (name, body) in [
            ("amount_minor", r#"{"amount_minor":12.5}"#),
            ("amount_minor", r#"{"amount_minor":"12"}"#),
            ("amount_minor", r#"{"amount_minor":9223372036854775808}"#),
        ] {
            assert!(fields(body).optional::<i64>(name).is_err(), "{body}");
        }
        assert!(fields(r#"{"reason":"a\u0000b"}"#).text("reason").is_err());
        assert!(fields(r#"{"reason":"\ud800"}"#).text("reason").is_err());
        assert_eq!(fields(r#"{"version":null}"#).optional::<i64>("version").unwrap(), None);
    }
}
