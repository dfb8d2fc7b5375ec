//! JSON as it was sent: numbers keep their text, names keep their order.
//!
//! Guards against the two ways a payload changes unseen: a number that passes through a float
//! (`9007199254740993` becomes `…992`), and a duplicate name of which one parser takes the first
//! and another the last. Refuses what RFC 8785 cannot canonicalise: duplicate names, lone
//! surrogates, U+0000 (D22).

mod parse;

use std::{fmt, fmt::Write as _};

/// How deep objects and arrays may nest in anything that is read here: the reader recurses, so
/// this bounds its stack. What a server takes may be configured up to it.
pub const MAX_DEPTH: usize = 128;

/// A JSON value that lost nothing of what was sent but white space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number's own text, such as `1.10`.
    Number(String),
    /// A string, unescaped.
    String(String),
    /// Values in order.
    Array(Vec<Json>),
    /// Members in the order sent; names are unique.
    Object(Vec<(String, Json)>),
}

/// Why a text is refused, and at which member.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at {}", if pointer.is_empty() { "the top level" } else { pointer })]
pub struct JsonError {
    /// RFC 6901 pointer of the value being read.
    pub pointer: String,
    /// What is wrong with it.
    pub reason: JsonFault,
}

/// The kinds of fault that a payload is refused for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonFault {
    /// Not JSON.
    Syntax,
    /// Bytes that are not UTF-8.
    Encoding,
    /// The same name twice in one object.
    DuplicateName,
    /// Half of a surrogate pair.
    LoneSurrogate,
    /// U+0000, which no text column can hold.
    NulCharacter,
    /// More levels than this limit.
    TooDeep(usize),
    /// An exponent outside what any number needs.
    NumberRange,
}

impl fmt::Display for JsonFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self {
            Self::Syntax => "not valid JSON",
            Self::Encoding => "not valid UTF-8",
            Self::DuplicateName => "the same name appears twice",
            Self::LoneSurrogate => "half of a surrogate pair",
            Self::NulCharacter => "the character U+0000",
            Self::TooDeep(limit) => return write!(f, "nested deeper than {limit} levels"),
            Self::NumberRange => "a number whose exponent is out of range",
        };
        f.write_str(words)
    }
}

impl Json {
    /// Reads one JSON text of at most [`MAX_DEPTH`] levels: whatever was taken before can be read
    /// back, however the limit has been configured since.
    ///
    /// # Errors
    /// The first fault, with the pointer of the member where it stands.
    pub fn parse(bytes: &[u8]) -> Result<Self, JsonError> {
        Self::parse_within(bytes, MAX_DEPTH)
    }

    /// Reads one JSON text of at most `depth` levels.
    ///
    /// # Errors
    /// As [`Json::parse`].
    pub fn parse_within(bytes: &[u8], depth: usize) -> Result<Self, JsonError> {
        parse::read(bytes, depth.min(MAX_DEPTH))
    }

    /// The value at an RFC 6901 pointer.
    #[must_use]
    pub fn pointer(&self, pointer: &str) -> Option<&Self> {
        if pointer.is_empty() {
            return Some(self);
        }
        pointer.strip_prefix('/')?.split('/').try_fold(self, |value, token| {
            let token = token.replace("~1", "/").replace("~0", "~");
            match value {
                Self::Object(members) => {
                    members.iter().find(|(name, _)| *name == token).map(|(_, value)| value)
                }
                Self::Array(items) => token.parse::<usize>().ok().and_then(|i| items.get(i)),
                _ => None,
            }
        })
    }

    /// Replaces what stands at a pointer; says whether something stood there.
    pub fn replace(&mut self, pointer: &str, with: Self) -> bool {
        let Some(path) = pointer.strip_prefix('/') else {
            return false;
        };
        let mut value = self;
        for token in path.split('/') {
            let token = token.replace("~1", "/").replace("~0", "~");
            let next = match value {
                Self::Object(members) => {
                    members.iter_mut().find(|(name, _)| *name == token).map(|(_, value)| value)
                }
                Self::Array(items) => token.parse::<usize>().ok().and_then(|i| items.get_mut(i)),
                _ => None,
            };
            let Some(next) = next else { return false };
            value = next;
        }
        *value = with;
        true
    }

    /// A string's text, or a number's as it was sent.
    #[must_use]
    pub fn scalar_text(&self) -> Option<&str> {
        match self {
            Self::String(text) | Self::Number(text) => Some(text),
            _ => None,
        }
    }

    /// The text with two spaces of indentation, numbers as they were sent.
    #[must_use]
    pub fn pretty(&self) -> String {
        let mut out = String::new();
        self.write_pretty(&mut out, 0);
        out
    }

    /// Every leaf with its pointer, in the order sent. An empty object or array is a leaf.
    #[must_use]
    pub fn leaves(&self) -> Vec<(String, String)> {
        let mut out = Vec::new();
        self.collect_leaves(String::new(), &mut out);
        out
    }

    fn collect_leaves(&self, path: String, out: &mut Vec<(String, String)>) {
        match self {
            Self::Object(members) if !members.is_empty() => {
                for (name, value) in members {
                    value.collect_leaves(format!("{path}/{}", escape_token(name)), out);
                }
            }
            Self::Array(items) if !items.is_empty() => {
                for (index, value) in items.iter().enumerate() {
                    value.collect_leaves(format!("{path}/{index}"), out);
                }
            }
            leaf => out.push((path, leaf.pretty())),
        }
    }

    fn write_pretty(&self, out: &mut String, depth: usize) {
        let indent = |out: &mut String, depth: usize| {
            out.push('\n');
            out.extend(std::iter::repeat_n("  ", depth));
        };
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Number(text) => out.push_str(text),
            Self::String(text) => write_string(out, text),
            Self::Array(items) if items.is_empty() => out.push_str("[]"),
            Self::Object(members) if members.is_empty() => out.push_str("{}"),
            Self::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    indent(out, depth + 1);
                    item.write_pretty(out, depth + 1);
                }
                indent(out, depth);
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (index, (name, value)) in members.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    indent(out, depth + 1);
                    write_string(out, name);
                    out.push_str(": ");
                    value.write_pretty(out, depth + 1);
                }
                indent(out, depth);
                out.push('}');
            }
        }
    }
}

/// Writes a string with the escapes of RFC 8785 and no others.
pub(crate) fn write_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            c if c < ' ' => {
                write!(out, "\\u{:04x}", c as u32).expect("writing to a String cannot fail");
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

fn escape_token(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> (String, JsonFault) {
        let error = Json::parse(text.as_bytes()).expect_err(text);
        (error.pointer, error.reason)
    }

    #[test]
    fn numbers_keep_their_text() {
        let value = Json::parse(br#"{"a": 9007199254740993, "b": 1.10, "c": -0.0e+2}"#).unwrap();
        let leaves = value.leaves();
        assert_eq!(leaves[0].1, "9007199254740993");
        assert_eq!(leaves[1].1, "1.10");
        assert_eq!(leaves[2].1, "-0.0e+2");
    }

    #[test]
    fn refuses_what_two_parsers_read_differently_and_names_the_member() {
        assert_eq!(fault(r#"{"a":{"b":1,"b":2}}"#), ("/a/b".into(), JsonFault::DuplicateName));
        assert_eq!(fault(r#"{"a":{"b":1,"\u0062":2}}"#), ("/a/b".into(), JsonFault::DuplicateName));
        assert_eq!(fault(r#"{"x":["\ud800"]}"#), ("/x/0".into(), JsonFault::LoneSurrogate));
        assert_eq!(fault(r#"{"x":"\udc00\ud800"}"#), ("/x".into(), JsonFault::LoneSurrogate));
        assert_eq!(fault(r#"{"x":"\u0000"}"#), ("/x".into(), JsonFault::NulCharacter));
        assert_eq!(fault("{\"x\":\"\0\"}"), ("/x".into(), JsonFault::NulCharacter));
        assert_eq!(fault(r#"{"x":1e9999999999}"#), ("/x".into(), JsonFault::NumberRange));
        for text in ["", "{", "[1,]", "01", "1.", "+1", "nul", "{\"a\"}", "\"a", "1 2", "\"\u{1}\""]
        {
            assert_eq!(fault(text).1, JsonFault::Syntax, "{text}");
        }
    }

    #[test]
    fn depth_is_bounded_by_the_limit_and_by_the_stack() {
        let nest = |n: usize| format!("{}1{}", "[".repeat(n), "]".repeat(n));
        let within = |n, depth| Json::parse_within(nest(n).as_bytes(), depth);
        for depth in [16, 64, MAX_DEPTH] {
            assert!(within(depth, depth).is_ok());
            let error = within(depth + 1, depth).unwrap_err();
            assert_eq!(error.reason, JsonFault::TooDeep(depth));
            assert!(error.to_string().contains(&format!("deeper than {depth} levels")));
        }
        assert!(within(MAX_DEPTH + 1, usize::MAX).is_err());
        assert_eq!(fault(&"[".repeat(1_000_000)).1, JsonFault::TooDeep(MAX_DEPTH));
    }

    #[test]
    fn pointers_find_and_replace() {
        let mut value = Json::parse(br#"{"a/b":{"~":[1,"x"]}}"#).unwrap();
        assert_eq!(value.pointer("/a~1b/~0/1"), Some(&Json::String("x".into())));
        assert!(value.replace("/a~1b/~0/0", Json::Null));
        assert!(!value.replace("/none", Json::Null));
        assert_eq!(value.pointer("/a~1b/~0/0"), Some(&Json::Null));
    }

    #[test]
    fn a_payload_is_shown_indented_as_it_was_sent() {
        let text = r#"{"b":[1.10,[],{},["x",null]],"a":{"c":true,"d":false},"e":{}}"#;
        let value = Json::parse(text.as_bytes()).unwrap();
        let shown = r#"{
  "b": [
    1.10,
    [],
    {},
    [
      "x",
      null
    ]
  ],
  "a": {
    "c": true,
    "d": false
  },
  "e": {}
}"#;
        assert_eq!(value.pretty(), shown);
        assert_eq!(Json::parse(shown.as_bytes()), Ok(value), "it says the same");
    }

    #[test]
    fn a_leaf_is_what_holds_nothing_more_and_stands_in_the_order_sent() {
        let value = Json::parse(br#"{"b":[1,["x"],[]],"a/~":{"c":{}},"n":null}"#).unwrap();
        let leaves = value.leaves();
        let leaves: Vec<_> = leaves.iter().map(|(at, text)| (at.as_str(), text.as_str())).collect();
        let expected = [
            ("/b/0", "1"),
            ("/b/1/0", "\"x\""),
            ("/b/2", "[]"),
            ("/a~1~0/c", "{}"),
            ("/n", "null"),
        ];
        assert_eq!(leaves, expected);
        assert_eq!(Json::Object(vec![]).leaves(), [(String::new(), "{}".to_owned())]);
    }

    #[test]
    fn only_a_text_or_a_number_is_a_scalar_and_it_is_told_as_sent() {
        for (text, scalar) in [
            ("1.10", Some("1.10")),
            (r#""INV-1""#, Some("INV-1")),
            (r#""""#, Some("")),
            ("true", None),
            ("null", None),
            ("[1]", None),
            (r#"{"a":1}"#, None),
        ] {
            assert_eq!(Json::parse(text.as_bytes()).unwrap().scalar_text(), scalar, "{text}");
        }
    }

    #[test]
    fn strings_carry_the_escapes_of_rfc_8785_and_no_others() {
        let text = "\" \\ \u{8}\t\n\u{c}\r \u{1}\u{b}\u{1f} / \u{7f} é \u{1f600}";
        let written = Json::String(text.into()).pretty();
        assert_eq!(
            written,
            "\"\\\" \\\\ \\b\\t\\n\\f\\r \\u0001\\u000b\\u001f / \u{7f} é \u{1f600}\""
        );
        assert_eq!(Json::parse(written.as_bytes()), Ok(Json::String(text.into())));
    }
}
