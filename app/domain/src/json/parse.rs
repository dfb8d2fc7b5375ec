//! Reading JSON text strictly: the first fault ends it, with the pointer of the member.

use super::{Json, JsonError, JsonFault, escape_token};

/// Reads one text of at most `depth` levels.
pub(super) fn read(bytes: &[u8], depth: usize) -> Result<Json, JsonError> {
    let text = std::str::from_utf8(bytes)
        .map_err(|_| JsonError { pointer: String::new(), reason: JsonFault::Encoding })?;
    let mut parser = Parser { text, at: 0, path: Vec::new(), depth };
    parser.space();
    let value = parser.value()?;
    parser.space();
    if parser.at == text.len() { Ok(value) } else { Err(parser.fault(JsonFault::Syntax)) }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    path: Vec<String>,
    depth: usize,
}

impl Parser<'_> {
    fn fault(&self, reason: JsonFault) -> JsonError {
        let mut pointer = String::new();
        for token in &self.path {
            pointer.push('/');
            pointer.push_str(&escape_token(token));
        }
        JsonError { pointer, reason }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> Result<(), JsonError> {
        if self.peek() == Some(byte) {
            self.at += 1;
            Ok(())
        } else {
            Err(self.fault(JsonFault::Syntax))
        }
    }

    fn value(&mut self) -> Result<Json, JsonError> {
        match self.peek() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'"') => self.string().map(Json::String),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'n') => self.word("null", Json::Null),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => Err(self.fault(JsonFault::Syntax)),
        }
    }

    fn nested(
        &mut self,
        read: fn(&mut Self) -> Result<Json, JsonError>,
    ) -> Result<Json, JsonError> {
        if self.path.len() >= self.depth {
            return Err(self.fault(JsonFault::TooDeep(self.depth)));
        }
        self.at += 1;
        self.space();
        read(self)
    }

    fn word(&mut self, word: &str, value: Json) -> Result<Json, JsonError> {
        if self.text[self.at..].starts_with(word) {
            self.at += word.len();
            Ok(value)
        } else {
            Err(self.fault(JsonFault::Syntax))
        }
    }

    fn object(&mut self) -> Result<Json, JsonError> {
        let mut members: Vec<(String, Json)> = Vec::new();
        let mut names = std::collections::HashSet::new();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Json::Object(members));
        }
        loop {
            let name = self.string()?;
            self.path.push(name.clone());
            if !names.insert(name.clone()) {
                return Err(self.fault(JsonFault::DuplicateName));
            }
            self.space();
            self.eat(b':')?;
            self.space();
            let value = self.value()?;
            self.path.pop();
            members.push((name, value));
            self.space();
            if self.peek() == Some(b'}') {
                self.at += 1;
                return Ok(Json::Object(members));
            }
            self.eat(b',')?;
            self.space();
        }
    }

    fn array(&mut self) -> Result<Json, JsonError> {
        let mut items = Vec::new();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Json::Array(items));
        }
        loop {
            self.path.push(items.len().to_string());
            items.push(self.value()?);
            self.path.pop();
            self.space();
            if self.peek() == Some(b']') {
                self.at += 1;
                return Ok(Json::Array(items));
            }
            self.eat(b',')?;
            self.space();
        }
    }

    fn string(&mut self) -> Result<String, JsonError> {
        self.eat(b'"')?;
        let mut out = String::new();
        loop {
            let start = self.at;
            while self.peek().is_some_and(|b| b >= b' ' && b != b'"' && b != b'\\') {
                self.at += 1;
            }
            out.push_str(&self.text[start..self.at]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    self.at += 1;
                    out.push(self.escape()?);
                }
                Some(0) => return Err(self.fault(JsonFault::NulCharacter)),
                _ => return Err(self.fault(JsonFault::Syntax)),
            }
        }
    }

    fn escape(&mut self) -> Result<char, JsonError> {
        let byte = self.peek().ok_or_else(|| self.fault(JsonFault::Syntax))?;
        self.at += 1;
        Ok(match byte {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode(),
            _ => return Err(self.fault(JsonFault::Syntax)),
        })
    }

    fn unicode(&mut self) -> Result<char, JsonError> {
        let first = self.hex4()?;
        let code = match first {
            0 => return Err(self.fault(JsonFault::NulCharacter)),
            0xd800..0xdc00 => {
                if !self.text[self.at..].starts_with("\\u") {
                    return Err(self.fault(JsonFault::LoneSurrogate));
                }
                self.at += 2;
                let second = self.hex4()?;
                if !(0xdc00..0xe000).contains(&second) {
                    return Err(self.fault(JsonFault::LoneSurrogate));
                }
                0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
            }
            code => code,
        };
        char::from_u32(code).ok_or_else(|| self.fault(JsonFault::LoneSurrogate))
    }

    fn hex4(&mut self) -> Result<u32, JsonError> {
        let digits = self
            .text
            .get(self.at..self.at + 4)
            .filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))
            .ok_or_else(|| self.fault(JsonFault::Syntax))?;
        self.at += 4;
        u32::from_str_radix(digits, 16).map_err(|_| self.fault(JsonFault::Syntax))
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at > start { Ok(()) } else { Err(self.fault(JsonFault::Syntax)) }
    }

    fn number(&mut self) -> Result<Json, JsonError> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            let exponent = self.at;
            self.digits()?;
            if self.text[exponent..self.at].trim_start_matches('0').len() > 9 {
                return Err(self.fault(JsonFault::NumberRange));
            }
        }
        Ok(Json::Number(self.text[start..self.at].to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(sent: &str) -> Json {
        Json::parse(sent.as_bytes()).unwrap_or_else(|error| panic!("{sent}: {error}"))
    }

    fn fault(sent: &str) -> (String, JsonFault) {
        let error = Json::parse(sent.as_bytes()).expect_err(sent);
        (error.pointer, error.reason)
    }

    #[test]
    fn every_escape_means_one_character_whatever_its_spelling() {
        for (sent, read) in [
            (r#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
            (r#""a\u0041\u00e9\u00E9b""#, "aAééb"),
            (r#""\ud800\udc00\ud83d\ude00\udbff\udfff.""#, "\u{10000}\u{1f600}\u{10ffff}."),
            ("\"a\u{7f}é\u{1f600}\"", "a\u{7f}é\u{1f600}"),
        ] {
            assert_eq!(text(sent), Json::String(read.into()), "{sent}");
        }
        for sent in [r#""\x""#, r#""\u12g4""#, r#""\u+123""#, r#""\u12""#, r#""\"#] {
            assert_eq!(fault(sent), (String::new(), JsonFault::Syntax), "{sent}");
        }
        for sent in [r#""\ud800""#, r#""\ud800\n""#, r#""\ud800\ud800""#, r#""\ud800\u0041""#] {
            assert_eq!(fault(sent).1, JsonFault::LoneSurrogate, "{sent}");
        }
    }

    #[test]
    fn a_value_is_read_whole_with_space_wherever_it_may_stand() {
        let number = |text: &str| Json::Number(text.into());
        let read = text(" { \"a\" : [ true , false , null , [ ] , { } ] ,\r\n\t\"b\" : 0 } ");
        let list = vec![
            Json::Bool(true),
            Json::Bool(false),
            Json::Null,
            Json::Array(vec![]),
            Json::Object(vec![]),
        ];
        let members = vec![("a".into(), Json::Array(list)), ("b".into(), number("0"))];
        assert_eq!(read, Json::Object(members));
        assert_eq!(text("[[],[1],[]]"), text(" [ [ ] , [ 1 ] , [ ] ] "));
        for sent in
            ["[] ]", "[1 2]", "{\"a\" 1}", "{\"a\":1 \"b\":2}", "{\"a\":1,}", "tru", "{a:1}"]
        {
            assert_eq!(fault(sent).1, JsonFault::Syntax, "{sent}");
        }
        assert_eq!(fault(r#"{"a":[0,[1,x]]}"#), ("/a/1/1".into(), JsonFault::Syntax));
    }

    #[test]
    fn a_number_is_taken_as_written_up_to_nine_digits_of_exponent() {
        for sent in
            ["0", "-0", "-12.050", "1e5", "1E+05", "10e-05", "1.5e-999999999", "1e0000000000009"]
        {
            assert_eq!(text(sent), Json::Number(sent.into()));
        }
        for sent in ["-", "00", "-01", ".5", "1.e5", "1e", "1e+", "1e5.5", "0x1", "--1"] {
            assert_eq!(fault(sent).1, JsonFault::Syntax, "{sent}");
        }
        for sent in ["1e1000000000", "1e-1000000000"] {
            assert_eq!(fault(sent).1, JsonFault::NumberRange, "{sent}");
        }
    }
}
