//! Delivery by mail: what a person must know of an event, with the link to it, to those whom the event
//! names and to those whom the configuration does.
//!
//! Guards against a payload in a mailbox: of an event only the facts of the three notices are written,
//! never what a service told. The `Message-ID` is made of the event's id, the same at each delivery, so
//! that a repeat is one mail to whoever looks at it.

use domain::money::Money;
use lettre::{
    Address, Message,
    message::{
        Mailbox, SinglePart,
        header::{HeaderName, HeaderValue},
    },
    transport::smtp::{
        Error as SmtpError,
        client::AsyncSmtpConnection,
        commands::{Data, Mail as MailCommand, Rcpt},
        extension::{MailBodyParameter, MailParameter},
    },
};
use reqwest::Url;
use serde_json::Value;
use tokio::time::timeout;

use super::{
    envelope::Envelope,
    publish::{DEADLINE, Delivery, PublishResult, Publisher, words},
};
use crate::{
    settings::Destination,
    smtp::{Server, address as mail_address},
    store::incident::OPENED_BY_PERSON,
};

const EVENT: HeaderName = HeaderName::new_from_ascii_str("Onceover-Event");
const TOPIC: HeaderName = HeaderName::new_from_ascii_str("Onceover-Topic");
/// The topic whose payload names who is told.
const NAMES_ITS_READERS: &str = "approval.requested";
/// The reply that asks for the rest of the recipients in a transaction of their own.
const TOO_MANY_RECIPIENTS: u16 = 452;

/// One mail server with a sender and those who are told whatever happens.
pub(super) struct MailPublisher {
    server: Server,
    from: Address,
    to: Vec<Address>,
}

/// Why a delivery ended without having been taken.
enum Fault {
    /// Nobody takes this mail.
    Refused(String),
    /// The server, or the way there.
    Down(String),
}

impl MailPublisher {
    pub(super) fn new(destination: &Destination, url: &Url) -> Result<Self, String> {
        let server = Server::at(url)?;
        let (mut from, mut to) = (None, Vec::new());
        for (name, value) in url.query_pairs() {
            let address = mail_address(&value);
            match name.as_ref() {
                "from" => from = address,
                "to" => to.push(address.ok_or("to is an address such as name@example.com")?),
                other => return Err(format!("its address takes no {other}")),
            }
        }
        let from = from.ok_or("its address needs ?from=name@example.com")?;
        let named = !destination.topics.is_empty()
            && destination.topics.iter().all(|topic| topic == NAMES_ITS_READERS);
        if to.is_empty() && !named {
            return Err(format!(
                "its address needs &to=name@example.com: of all events only {NAMES_ITS_READERS} names \
                 who is told"
            ));
        }
        Ok(Self { server, from, to })
    }

    async fn send(&self, envelope: &Envelope) -> PublishResult {
        let notice = Notice::of(envelope);
        let mut readers = self.to.clone();
        readers.extend(notice.readers.iter().filter_map(|email| mail_address(email)));
        readers.sort_by_key(ToString::to_string);
        readers.dedup();
        if readers.is_empty() {
            return PublishResult::Refused("it names nobody who could be told".into());
        }
        let bytes = match self.write(envelope, &notice, &readers) {
            Ok(bytes) => bytes,
            Err(why) => return PublishResult::Refused(words(&format!("it makes no mail: {why}"))),
        };
        match timeout(DEADLINE, Box::pin(self.hand_over(&readers, &bytes))).await {
            Ok(Ok(())) => PublishResult::Published,
            Ok(Err(Fault::Refused(why))) => PublishResult::Refused(words(&why)),
            // Whether it arrived or not: it will be sent again under the same id.
            Ok(Err(Fault::Down(why))) => PublishResult::TransportDown(words(&why)),
            Err(_) => PublishResult::TransportDown("no answer in time".into()),
        }
    }

    fn write(
        &self,
        envelope: &Envelope,
        notice: &Notice,
        readers: &[Address],
    ) -> Result<Vec<u8>, lettre::error::Error> {
        let mut message = Message::builder()
            .message_id(Some(format!("<{}@{}>", envelope.id, self.from.domain())))
            .from(Mailbox::new(None, self.from.clone()))
            .subject(notice.subject.clone())
            .raw_header(HeaderValue::new(EVENT, envelope.id.to_string()))
            .raw_header(HeaderValue::new(TOPIC, envelope.topic.clone()));
        for reader in readers {
            message = message.to(Mailbox::new(None, reader.clone()));
        }
        Ok(message.singlepart(SinglePart::plain(notice.text.clone()))?.formatted())
    }

    /// One message to all; a server that takes fewer at a time gets it again for the rest.
    async fn hand_over(&self, readers: &[Address], bytes: &[u8]) -> Result<(), Fault> {
        let mut connection = self.server.connect(self.from.domain()).await.map_err(down)?;
        let mut rest = readers.to_vec();
        let mut taken = false;
        let mut refused = String::new();
        while !rest.is_empty() {
            let next = self.transaction(&mut connection, &rest, bytes, &mut refused).await?;
            taken |= next.taken;
            rest = next.rest;
        }
        let _ = connection.quit().await;
        if taken { Ok(()) } else { Err(Fault::Refused(refused)) }
    }

    async fn transaction(
        &self,
        connection: &mut AsyncSmtpConnection,
        readers: &[Address],
        bytes: &[u8],
        refused: &mut String,
    ) -> Result<Transaction, Fault> {
        let parameters = if bytes.is_ascii() {
            Vec::new()
        } else {
            vec![MailParameter::Body(MailBodyParameter::EightBitMime)]
        };
        let sender = MailCommand::new(Some(self.from.clone()), parameters);
        connection.command(sender).await.map_err(down)?;
        let mut rest = Vec::new();
        let mut accepted = 0;
        for reader in readers {
            match connection.command(Rcpt::new(reader.clone(), Vec::new())).await {
                Ok(_) => accepted += 1,
                Err(error) if error.is_permanent() => *refused = error.to_string(),
                Err(error) if accepted > 0 && says(&error) == Some(TOO_MANY_RECIPIENTS) => {
                    rest.push(reader.clone());
                }
                Err(error) => return Err(down(error)),
            }
        }
        if accepted == 0 {
            return Ok(Transaction { taken: false, rest });
        }
        connection.command(Data).await.map_err(down)?;
        match connection.message(bytes).await {
            Ok(_) => Ok(Transaction { taken: true, rest }),
            Err(error) if error.is_permanent() => Err(Fault::Refused(error.to_string())),
            Err(error) => Err(down(error)),
        }
    }
}

/// What came of one transaction.
struct Transaction {
    taken: bool,
    rest: Vec<Address>,
}

impl Publisher for MailPublisher {
    fn publish<'a>(&'a self, envelope: &'a Envelope) -> Delivery<'a> {
        Box::pin(self.send(envelope))
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it maps an error that nothing else keeps")]
fn down(error: SmtpError) -> Fault {
    Fault::Down(error.to_string())
}

fn says(error: &SmtpError) -> Option<u16> {
    error.status().map(u16::from)
}

/// What a person is told.
struct Notice {
    subject: String,
    text: String,
    readers: Vec<String>,
}

impl Notice {
    fn of(envelope: &Envelope) -> Self {
        let document: Value = serde_json::from_slice(&envelope.body).unwrap_or_default();
        let data = &document["data"];
        let text = |name: &str| data[name].as_str().unwrap_or_default();
        let (subject, mut lines) = match envelope.topic.as_str() {
            NAMES_ITS_READERS => (
                format!("A second person is asked for: {}", what(data)),
                vec![
                    format!("{} asks for: {}.", text("requested_by"), what(data)),
                    text("why").to_owned(),
                    amount(data),
                    format!("It expires {}.", text("expires_at")),
                    format!("Who may approve it: {}.", names(data).join(", ")),
                    "Nothing has been done yet.".to_owned(),
                ],
            ),
            "needs_manual" => (
                format!("A person is needed: {} {}", text("operation"), text("key")),
                vec![
                    format!(
                        "It is not known whether {} {} took effect, and no machine can find out.",
                        text("operation"),
                        text("key")
                    ),
                    amount(data),
                    "Do not send it again: look first.".to_owned(),
                ],
            ),
            "incident.opened" => (
                match text("cause") {
                    OPENED_BY_PERSON => "A person opened an incident".to_owned(),
                    cause => format!("An incident was opened: {}", cause.replace('_', " ")),
                },
                vec![text("summary").to_owned()],
            ),
            other => (format!("Onceover: {other}"), vec![format!("Event {other}.")]),
        };
        lines.retain(|line| !line.is_empty());
        if let Some(link) = &envelope.link {
            lines.push(format!("\n{link}"));
        }
        lines.push(format!("\nTenant {}, event {}", tenant(&document), envelope.id));
        Self { subject: words(&subject), text: lines.join("\n"), readers: emails(data) }
    }
}

fn tenant(document: &Value) -> &str {
    document["source"].as_str().unwrap_or_default().trim_start_matches("/onceover/")
}

/// What is asked for, in words.
fn what(data: &Value) -> String {
    let text = |name: &str| data[name].as_str().unwrap_or_default();
    let verb = text("verb").replace('_', " ");
    format!("{verb} {} {}", text("target_operation"), text("target_key"))
}

fn amount(data: &Value) -> String {
    match (&data["amount_minor"], data["currency"].as_str()) {
        (Value::Number(minor), Some(currency)) => match minor.as_i64() {
            Some(amount_minor) => {
                let amount = Money { amount_minor, currency: currency.to_owned() };
                format!("Amount at stake: {amount}.")
            }
            None => format!("Amount at stake: {minor} of the smallest unit of {currency}."),
        },
        _ => String::new(),
    }
}

fn of_readers(data: &Value, member: &str) -> Vec<String> {
    let readers = data["may_approve"].as_array().map(Vec::as_slice).unwrap_or_default();
    readers.iter().filter_map(|reader| Some(reader[member].as_str()?.to_owned())).collect()
}

fn names(data: &Value) -> Vec<String> {
    of_readers(data, "name")
}

fn emails(data: &Value) -> Vec<String> {
    of_readers(data, "email")
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use domain::ids::EventId;
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    fn destination(topics: &[&str]) -> Destination {
        Destination {
            name: "notices".into(),
            url: String::new(),
            topics: topics.iter().map(|topic| (*topic).to_owned()).collect(),
            secret: None,
            allow_private: false,
            tenant: None,
        }
    }

    fn publisher(url: &str, topics: &[&str]) -> Result<MailPublisher, String> {
        MailPublisher::new(&destination(topics), &Url::parse(url).unwrap())
    }

    fn envelope(topic: &str, data: &Value) -> Envelope {
        let body = json!({
            "source": "/onceover/acme", "data": data,
        });
        Envelope {
            id: EventId::new(Uuid::from_u128(7)),
            topic: topic.into(),
            sent_at: DateTime::UNIX_EPOCH,
            body: body.to_string().into_bytes(),
            link: Some("https://console.example/approvals/7".into()),
        }
    }

    #[test]
    fn whoever_is_not_named_by_the_event_is_named_by_the_address() {
        let mail = "smtp://127.0.0.1:25?from=onceover@acme.test";
        assert!(publisher(mail, &["approval.requested"]).is_ok());
        assert!(publisher(mail, &["approval.requested", "needs_manual"]).is_err());
        assert!(publisher(mail, &[]).is_err());
        assert!(publisher(&format!("{mail}&to=ops@acme.test"), &[]).is_ok());
        for wrong in
            ["smtp://h?to=a@b.test", "smtp://h?from=a@b.test&to=x", "smtp://u:p@h?from=a@b.test"]
        {
            assert!(publisher(wrong, &["approval.requested"]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_notice_says_who_asks_for_what_and_where_and_nothing_of_a_payload() {
        let data = json!({
            "verb": "confirm", "target_operation": "invoice.charge", "target_key": "INV-1\r\nBcc: x@y.test",
            "amount_minor": 12_900, "currency": "EUR", "why": "It says of money that it did not move.",
            "requested_by": "ann@acme.test", "expires_at": "2026-11-30T10:00:00Z",
            "may_approve": [{ "name": "Ben", "email": "ben@acme.test" }], "secret": "4111111111111111",
        });
        let envelope = envelope("approval.requested", &data);
        let notice = Notice::of(&envelope);
        assert_eq!(notice.readers, ["ben@acme.test"]);
        let publisher = publisher("smtp://h?from=a@b.test", &["approval.requested"]).unwrap();
        let readers = [mail_address("ben@acme.test").unwrap()];
        let mail = publisher.write(&envelope, &notice, &readers).unwrap();
        let mail = String::from_utf8(mail).unwrap();
        assert!(!mail.contains("4111"), "{mail}");
        assert!(
            mail.contains("Message-ID: <00000000-0000-0000-0000-000000000007@b.test>"),
            "{mail}"
        );
        let (head, body) = mail.split_once("\r\n\r\n").unwrap();
        assert!(!head.contains("\r\nBcc"), "{head}");
        assert!(body.contains("ann@acme.test asks for: confirm invoice.charge"), "{body}");
        assert!(body.contains("https://console.example/approvals/7"), "{body}");
        assert!(body.contains("Amount at stake: 129.00 EUR."), "nobody counts cents: {body}");
    }

    #[test]
    fn of_any_other_event_nothing_but_its_name_is_told() {
        let notice = Notice::of(&envelope("invoice.paid", &json!({ "card": "4111111111111111" })));
        assert!(!notice.text.contains("4111") && notice.text.contains("invoice.paid"));
        assert!(notice.readers.is_empty());
    }
}
