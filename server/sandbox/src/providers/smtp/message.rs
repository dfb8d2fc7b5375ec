//! Reading a message: headers unfolded, encoded words decoded, and the request made of them.
//!
//! Guards the oracle: a message is one ledger line, and that line says what the headers truly held,
//! so that a header smuggled in through a payload would show.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::json;

use crate::{EffectKind, providers::effect::Request};

/// The request that a message is, or the sentence of a refusal.
pub(super) fn request(message: &[u8], to: &str) -> Result<Request, &'static str> {
    let headers = headers(message)?;
    let once = |name: &str, missing: &'static str| {
        let mut found = headers.iter().filter(|(own, _)| own.eq_ignore_ascii_case(name));
        match (found.next(), found.next()) {
            (Some((_, value)), None) => Ok(decode(value)),
            _ => Err(missing),
        }
    };
    let message_id = once("message-id", "there must be one Message-ID")?;
    let key = message_id
        .strip_prefix('<')
        .and_then(|rest| rest.split_once('@'))
        .map(|(key, _)| key)
        .filter(|key| !key.is_empty() && key.len() <= 512)
        .ok_or("the Message-ID is <key@domain>")?
        .to_owned();
    // A notice of an event: to each of its readers one mail, whatever else is mailed to them.
    let (campaign, recipient) = match once("onceover-event", "there is no Onceover-Event") {
        Ok(event) => {
            let topic = once("onceover-topic", "there must be one Onceover-Topic")?;
            (format!("{topic}/{event}"), to.to_owned())
        }
        Err(_) => (
            once("onceover-campaign", "there must be one Onceover-Campaign")?,
            once("onceover-recipient", "there must be one Onceover-Recipient")?,
        ),
    };
    let subject = once("subject", "there must be one Subject")?;
    let names: Vec<&str> = headers.iter().map(|(name, _)| name.as_str()).collect();
    let body = json!({
        "campaign_id": campaign, "recipient_id": recipient, "to": to, "subject": subject,
        "message_id": message_id, "headers": names, "bytes": message.len(), "via": "smtp",
    });
    Request::parse(EffectKind::Mail, &key, body).map_err(|_| "the headers make no mail")
}

/// What a rule may name of a recipient before the message is read.
pub(super) fn names(address: &str) -> Vec<String> {
    let local = address.split('@').next().unwrap_or_default();
    vec![local.to_owned(), address.to_owned()]
}

/// Names and values as they came, unfolded.
fn headers(message: &[u8]) -> Result<Vec<(String, String)>, &'static str> {
    let end = message.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(message.len());
    let head = std::str::from_utf8(message.get(..end).unwrap_or_default())
        .map_err(|_| "the headers are not text")?;
    let mut headers: Vec<(String, String)> = Vec::new();
    for line in head.split("\r\n").take_while(|line| !line.is_empty()) {
        if line.starts_with([' ', '\t']) {
            let (_, value) = headers.last_mut().ok_or("the message begins in mid-header")?;
            value.push_str(line);
        } else {
            let (name, value) = line.split_once(':').ok_or("a header has no colon")?;
            headers.push((name.to_owned(), value.trim_start().to_owned()));
        }
    }
    Ok(headers)
}

/// Decodes the encoded words of a header (RFC 2047); white space between two of them is theirs.
fn decode(value: &str) -> String {
    let mut decoded = String::new();
    let mut bytes: Vec<u8> = Vec::new();
    let mut after_word = false;
    let mut rest = value.trim();
    while !rest.is_empty() {
        let (gap, word_on) = rest.split_at(rest.len() - rest.trim_start().len());
        let (word, next) = word_on.split_at(word_on.find([' ', '\t']).unwrap_or(word_on.len()));
        match encoded_word(word) {
            Some(part) => {
                if !after_word {
                    decoded.push_str(gap);
                }
                // A character may be split between two words.
                bytes.extend(part);
                after_word = true;
            }
            None => {
                decoded.push_str(&String::from_utf8_lossy(&bytes));
                bytes.clear();
                decoded.push_str(gap);
                decoded.push_str(word);
                after_word = false;
            }
        }
        rest = next;
    }
    decoded.push_str(&String::from_utf8_lossy(&bytes));
    decoded
}

fn encoded_word(word: &str) -> Option<Vec<u8>> {
    let mut parts = word.strip_prefix("=?")?.strip_suffix("?=")?.split('?');
    let (charset, encoding, text) = (parts.next()?, parts.next()?, parts.next()?);
    let known = charset.eq_ignore_ascii_case("utf-8") || charset.eq_ignore_ascii_case("us-ascii");
    if !known || parts.next().is_some() {
        return None;
    }
    match encoding {
        "B" | "b" => STANDARD.decode(text).ok(),
        "Q" | "q" => quoted(text),
        _ => None,
    }
}

fn quoted(text: &str) -> Option<Vec<u8>> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::new();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'_' => b' ',
            b'=' => {
                let digits = [bytes.next()?, bytes.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    Some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_words_are_read_over_folds_and_split_characters() {
        assert_eq!(decode("plain words"), "plain words");
        assert_eq!(decode("=?utf-8?b?w6k=?= =?UTF-8?Q?t=C3=A9_2?="), "ét\u{e9} 2");
        assert_eq!(decode("=?utf-8?b?ww==?= =?utf-8?b?qQ==?= x"), "é x");
        assert_eq!(decode("=?koi8-r?b?ww==?="), "=?koi8-r?b?ww==?=");
    }

    #[test]
    fn a_notice_is_one_mail_to_each_of_its_readers() {
        let notice = "Message-ID: <ev-1@x>\r\nOnceover-Event: ev-1\r\nOnceover-Topic: approval.requested\r\nSubject: s\r\n\r\nbody";
        let read = |to: &str| request(notice.as_bytes(), to).expect("a mail");
        let (ann, ben) = (read("ann@x.test"), read("ben@x.test"));
        assert_eq!(ann.fields["campaign_id"], json!("approval.requested/ev-1"));
        assert_eq!((&ann.fields["recipient_id"], ann.key.as_str()), (&json!("ann@x.test"), "ev-1"));
        assert_ne!(ann.fields["recipient_id"], ben.fields["recipient_id"]);
    }

    #[test]
    fn a_message_without_its_names_is_refused_by_name() {
        let whole = "Message-ID: <op-1@x>\r\nOnceover-Campaign: c\r\nOnceover-Recipient: r\r\nSubject: s\r\n";
        let read = |text: &str| request(text.as_bytes(), "r@x.test");
        let good = read(&format!("{whole}\r\nbody")).expect("a mail");
        assert_eq!((good.key.as_str(), &good.fields["subject"]), ("op-1", &json!("s")));
        for name in ["Message-ID", "Onceover-Campaign", "Onceover-Recipient", "Subject"] {
            let without = whole.replacen(name, "X-Other", 1);
            assert!(read(&without).is_err_and(|why| why.contains(name)), "{name}");
            let twice = format!("{whole}{name}: <again@x>\r\n");
            assert!(read(&twice).is_err_and(|why| why.contains(name)), "{name} twice");
        }
        assert!(read("no colon\r\n\r\n").is_err());
    }
}
