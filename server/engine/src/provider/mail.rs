//! From a payload to a mail: whom it goes to, what it says, and the id that it can be told by.
//!
//! Guards against a payload that writes headers or commands of its own. Addresses are plain
//! `local@domain` in ASCII or refused; every other value is encoded as its header or body asks, line
//! breaks included.

use domain::json::Json;
use lettre::{
    Address, Message,
    message::{
        Mailbox, SinglePart,
        header::{HeaderName, HeaderValue},
    },
};

use crate::smtp::address;

const CAMPAIGN: HeaderName = HeaderName::new_from_ascii_str("Onceover-Campaign");
const RECIPIENT: HeaderName = HeaderName::new_from_ascii_str("Onceover-Recipient");

/// A mail, ready to be sent.
#[derive(Debug)]
pub(super) struct Mail {
    pub(super) to: Address,
    pub(super) message_id: String,
    pub(super) bytes: Vec<u8>,
}

/// Writes the mail of a payload, or says why there can be none: nothing has been sent then.
///
/// `recipients` is the domain of those whom the payload names by `recipient_id` alone. The
/// `Message-ID` is made of the provider key: the same in every attempt (D15).
pub(super) fn write(
    provider_key: &str,
    payload: &[u8],
    from: &Address,
    recipients: Option<&str>,
) -> Result<Mail, String> {
    let payload =
        Json::parse(payload).map_err(|error| format!("the payload is no JSON: {error}"))?;
    let text = |name: &str| match payload.pointer(&format!("/{name}")) {
        None | Some(Json::Null) => Ok(None),
        Some(value) => value
            .scalar_text()
            .map(Some)
            .ok_or_else(|| format!("{name} is neither text nor number")),
    };
    let campaign = text("campaign_id")?.ok_or("campaign_id is missing")?;
    let recipient = text("recipient_id")?.ok_or("recipient_id is missing")?;
    let to = match (text("to")?, recipients) {
        (Some(to), _) => address(to).ok_or("to is no plain address such as name@example.com")?,
        (None, Some(domain)) => address(&format!("{recipient}@{domain}"))
            .ok_or("recipient_id makes no address, and the payload names no other in to")?,
        (None, None) => return Err("to is missing".into()),
    };
    let message_id = format!("<{provider_key}@{}>", from.domain());
    let subject = text("subject")?.map_or_else(|| format!("Campaign {campaign}"), str::to_owned);
    let body = text("text")?
        .map_or_else(|| format!("This is a message of the campaign {campaign}."), str::to_owned);
    let message = Message::builder()
        .message_id(Some(message_id.clone()))
        .from(Mailbox::new(None, from.clone()))
        .to(Mailbox::new(None, to.clone()))
        .subject(subject)
        .raw_header(HeaderValue::new(CAMPAIGN, campaign.to_owned()))
        .raw_header(HeaderValue::new(RECIPIENT, recipient.to_owned()))
        .singlepart(SinglePart::plain(body))
        .map_err(|error| format!("it makes no mail: {error}"))?;
    Ok(Mail { to, message_id, bytes: message.formatted() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mail(payload: &str) -> Result<String, String> {
        let from = address("campaigns@acme.test").unwrap();
        write("op-1", payload.as_bytes(), &from, Some("people.test"))
            .map(|mail| String::from_utf8(mail.bytes).unwrap())
    }

    /// The names of the headers that a server would read.
    fn headers(mail: &str) -> Vec<&str> {
        let (head, _) = mail.split_once("\r\n\r\n").unwrap();
        let mut names: Vec<_> = head
            .split("\r\n")
            .filter(|line| !line.starts_with([' ', '\t']))
            .map(|line| line.split(':').next().unwrap())
            .collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn a_payload_says_what_it_may_and_the_id_is_the_operations() {
        let text = mail(r#"{"campaign_id":"spring","recipient_id":"rcp-1"}"#).unwrap();
        for line in [
            "Message-ID: <op-1@acme.test>\r\n",
            "From: campaigns@acme.test\r\n",
            "To: rcp-1@people.test\r\n",
            "Onceover-Campaign: spring\r\n",
            "Subject: Campaign spring\r\n",
        ] {
            assert!(text.contains(line), "{line:?} in {text}");
        }
        let named = r#"{"campaign_id":7,"recipient_id":"r 1","to":"a.b@x.test","subject":"\u00e9","text":"Hi"}"#;
        let text = mail(named).unwrap();
        assert!(text.contains("To: a.b@x.test\r\n") && text.contains("\r\n\r\nHi"), "{text}");
    }

    #[test]
    fn no_field_of_a_payload_writes_a_header_or_ends_the_message() {
        let usual = mail(r#"{"campaign_id":"c","recipient_id":"r"}"#).unwrap();
        for evil in [
            r"x\r\nBcc: evil@x.test",
            r"x\nBcc: evil@x.test",
            r"x\rBcc: evil@x.test",
            r"x\r\n\r\nbody",
            r"x\r\n.\r\nMAIL FROM:<evil@x.test>",
            r"=?utf-8?b?DQpCY2M6IGV2aWw=?=\r\nBcc: a",
        ] {
            for field in ["campaign_id", "subject", "text"] {
                let mut members = vec![r#""recipient_id":"r""#.to_owned()];
                if field != "campaign_id" {
                    members.push(r#""campaign_id":"c""#.into());
                }
                members.push(format!(r#""{field}":"{evil}""#));
                let text = mail(&format!("{{{}}}", members.join(","))).unwrap();
                assert_eq!(headers(&text), headers(&usual), "{field}: {text}");
                let (head, _) = text.split_once("\r\n\r\n").unwrap();
                assert!(!head.replace("\r\n", "").contains(['\r', '\n']), "{field}: {text}");
            }
            for field in ["recipient_id", "to"] {
                let payload = if field == "to" {
                    format!(r#"{{"campaign_id":"c","recipient_id":"r","to":"a@b.test{evil}"}}"#)
                } else {
                    format!(r#"{{"campaign_id":"c","recipient_id":"{evil}"}}"#)
                };
                assert!(mail(&payload).is_err(), "{field}: {evil}");
            }
        }
        // Named otherwise, a recipient's id is a header's text like any other.
        let evil = r#"{"campaign_id":"c","recipient_id":"x\r\nBcc: e@x.test","to":"a@b.test"}"#;
        assert_eq!(headers(&mail(evil).unwrap()), headers(&usual));
    }

    #[test]
    fn what_makes_no_mail_is_said_by_name() {
        for (payload, word) in [
            ("[]", "campaign_id"),
            (r#"{"recipient_id":"r"}"#, "campaign_id"),
            (r#"{"campaign_id":"c"}"#, "recipient_id"),
            (r#"{"campaign_id":"c","recipient_id":"a b"}"#, "recipient_id"),
            (r#"{"campaign_id":"c","recipient_id":"r","to":"A <a@b.test>"}"#, "to"),
            (r#"{"campaign_id":"c","recipient_id":"r","to":"\"a b\"@b.test"}"#, "to"),
            (r#"{"campaign_id":"c","recipient_id":"r","to":"\u00e9@b.test"}"#, "to"),
            (r#"{"campaign_id":"c","recipient_id":"r","subject":{}}"#, "subject"),
        ] {
            assert!(mail(payload).is_err_and(|why| why.contains(word)), "{payload}");
        }
        let from = address("a@b.test").unwrap();
        let unnamed = br#"{"campaign_id":"c","recipient_id":"r"}"#;
        assert!(write("op-1", unnamed, &from, None).is_err_and(|why| why.contains("to")));
    }
}
