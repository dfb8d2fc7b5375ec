//! Providers that take mail by SMTP, which honours no key: what was sent is never sent again on a
//! guess.
//!
//! Guards the one line that counts: until the first byte of the message leaves, nothing can have been
//! sent, so a lost connection is `NotDone` and a 5xx `Rejected`; from then on whatever is not a 2xx
//! to the message is `Ambiguous`, a 5xx included (D10, D43). Beyond this machine mail travels by TLS
//! or not at all.

use std::time::Duration;

use domain::reconciliation::ProviderAnswer;
use lettre::{
    Address,
    transport::smtp::{
        Error as SmtpError,
        commands::{Data, Mail as MailCommand, Rcpt},
        extension::{MailBodyParameter, MailParameter},
        response::{Response, Severity},
    },
};
use reqwest::Url;
use serde_json::json;
use tokio::time::timeout;

use super::{
    Call, CallResult, Question,
    http::HttpProvider,
    mail::{self, Mail},
};
use crate::{
    error::EngineError,
    operations::FinishOutcome,
    settings::ProviderEndpoint,
    smtp::{Server, address},
    store::answer::StoredAnswer,
};

/// How long the goodbye may take; the mail is delivered by then.
const QUIT_LIMIT: Duration = Duration::from_secs(1);

/// One mail server.
pub(crate) struct SmtpProvider {
    server: Server,
    from: Address,
    recipients: Option<String>,
    lookup: Option<HttpProvider>,
}

/// Why a mail was not sent, before anything of it was.
enum Refused {
    /// The server's definite no to this mail.
    Mail(SmtpError),
    /// Anything else; the next attempt may fare better.
    Transient,
}

impl SmtpProvider {
    pub(crate) fn new(
        client: reqwest::Client,
        endpoint: &ProviderEndpoint,
    ) -> Result<Self, EngineError> {
        let fault = |why: &str| EngineError::Provider(endpoint.name.clone(), why.to_owned());
        let url = Url::parse(&endpoint.url).map_err(|error| fault(&error.to_string()))?;
        let server = Server::at(&url).map_err(fault)?;
        let (mut from, mut recipients) = (None, None);
        for (name, value) in url.query_pairs() {
            match name.as_ref() {
                "from" => from = address(&value),
                "recipients" => recipients = Some(value.into_owned()),
                other => return Err(fault(&format!("the address takes no {other}"))),
            }
        }
        let from = from.ok_or_else(|| fault("the address needs ?from=name@example.com"))?;
        if recipients.as_deref().is_some_and(|at| address(&format!("x@{at}")).is_none()) {
            return Err(fault("recipients is a domain such as example.com"));
        }
        let lookup = match &endpoint.lookup_url {
            None => None,
            Some(lookup) => {
                let (name, url) = (endpoint.name.clone(), lookup.clone());
                Some(HttpProvider::new(client, &ProviderEndpoint { name, url, lookup_url: None })?)
            }
        };
        Ok(Self { server, from, recipients, lookup })
    }

    /// Sends the mail of a payload, once.
    pub(crate) async fn call(&self, call: &Call<'_>) -> CallResult {
        let recipients = self.recipients.as_deref();
        let mail = match mail::write(call.provider_key, call.payload, &self.from, recipients) {
            Ok(mail) => mail,
            Err(why) => return rejected("mail_invalid", &why),
        };
        let mut begun = false;
        // Boxed: its state would make every worker's step as large.
        match timeout(call.deadline, Box::pin(self.send(&mail, &mut begun))).await {
            Ok(Ok(reply)) if is_taken(&reply) => done(&mail, &reply),
            _ if begun => CallResult::of(FinishOutcome::Ambiguous),
            Ok(Err(Refused::Mail(error))) => rejected("mail_rejected", &error.to_string()),
            _ => CallResult::of(FinishOutcome::NotDone),
        }
    }

    /// Asks what became of a mail, where the provider has a lookup beside SMTP.
    pub(crate) async fn ask(&self, question: &Question<'_>) -> ProviderAnswer {
        match &self.lookup {
            Some(lookup) => lookup.ask(question).await,
            None => ProviderAnswer::NoLookup,
        }
    }

    /// From the connection to the reply; `begun` turns true before the first byte of the message.
    async fn send(&self, mail: &Mail, begun: &mut bool) -> Result<Response, Refused> {
        // What fails before MAIL is about the server or the way there, not about this mail.
        let mut connection = self.server.connect(self.from.domain()).await.map_err(|error| {
            tracing::debug!(%error, host = self.server.host, "no mail server");
            Refused::Transient
        })?;
        let parameters = if mail.bytes.is_ascii() {
            Vec::new()
        } else {
            vec![MailParameter::Body(MailBodyParameter::EightBitMime)]
        };
        let sender = MailCommand::new(Some(self.from.clone()), parameters);
        connection.command(sender).await.map_err(refused)?;
        connection.command(Rcpt::new(mail.to.clone(), Vec::new())).await.map_err(refused)?;
        let go = connection.command(Data).await.map_err(refused)?;
        if !go.has_code(354) {
            return Err(Refused::Transient);
        }
        *begun = true;
        let reply = connection.message(&mail.bytes).await.map_err(refused)?;
        let _ = timeout(QUIT_LIMIT, connection.quit()).await;
        Ok(reply)
    }
}

fn refused(error: SmtpError) -> Refused {
    if error.is_permanent() { Refused::Mail(error) } else { Refused::Transient }
}

/// Whether a reply to the message takes it on.
fn is_taken(reply: &Response) -> bool {
    reply.code().severity == Severity::PositiveCompletion
}

/// The server took the mail on: what it calls it, or else its Message-ID, is the reference.
fn done(mail: &Mail, reply: &Response) -> CallResult {
    let queued = reply.message().find_map(queue_id);
    let reference = queued.unwrap_or(&mail.message_id).to_owned();
    let said: Vec<_> = reply.message().collect();
    let body = json!({
        "id": reference, "status": "sent", "message_id": mail.message_id, "reply": said.join("\n"),
    });
    CallResult {
        external_reference: Some(reference),
        response: Some(answer(200, &body)),
        ..CallResult::of(FinishOutcome::Done)
    }
}

/// The id in *queued as ID*, as most servers word it.
fn queue_id(line: &str) -> Option<&str> {
    let (_, id) = line.rsplit_once("queued as ")?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    ((1..=128).contains(&id.len()) && id.chars().all(is_plain)).then_some(id)
}

fn rejected(code: &str, why: &str) -> CallResult {
    let body = json!({"error": {"code": code, "message": why}});
    CallResult { response: Some(answer(422, &body)), ..CallResult::of(FinishOutcome::Rejected) }
}

fn answer(status: u16, body: &serde_json::Value) -> StoredAnswer {
    StoredAnswer {
        status,
        content_type: "application/json".into(),
        body: body.to_string().into_bytes(),
        cut: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smtp::Security;

    fn provider(url: &str) -> Result<SmtpProvider, EngineError> {
        let endpoint = ProviderEndpoint { name: "mail".into(), url: url.into(), lookup_url: None };
        SmtpProvider::new(super::super::http::client().unwrap(), &endpoint)
    }

    #[test]
    fn mail_leaves_the_machine_by_tls_or_not_at_all() {
        for (url, security, port) in [
            ("smtp://127.0.0.1:2525?from=a@b.test", Security::Loopback, 2525),
            ("smtp://[::1]?from=a@b.test", Security::Loopback, 25),
            ("smtp://localhost?from=a@b.test", Security::Loopback, 25),
            ("smtp://mail.example.com:587?from=a@b.test", Security::StartTls, 587),
            ("smtp://127.0.0.1.example.com?from=a@b.test", Security::StartTls, 25),
            ("smtps://mail.example.com?from=a@b.test", Security::Implicit, 465),
        ] {
            let provider = provider(url).unwrap();
            let server = provider.server;
            assert_eq!((server.security, server.port), (security, port), "{url}");
        }
    }

    #[test]
    fn an_address_that_says_too_little_or_too_much_stops_the_start() {
        for url in [
            "smtp://mail.example.com",
            "smtp://mail.example.com?from=nobody",
            "smtp://mail.example.com?from=a@b.test&to=c@d.test",
            "smtp://mail.example.com?from=a@b.test&recipients=a%20b",
            "smtp://user:secret@mail.example.com?from=a@b.test",
            "smtp:?from=a@b.test",
        ] {
            let error = provider(url).err().map(|error| error.to_string());
            assert!(
                error.as_ref().is_some_and(|text| !text.contains("secret")),
                "{url}: {error:?}"
            );
        }
    }

    #[test]
    fn a_queue_id_is_taken_where_it_is_plainly_one() {
        assert_eq!(queue_id("2.0.0 Ok: queued as msg_0a1B"), Some("msg_0a1B"));
        for line in ["2.0.0 Ok", "queued as ", "queued as a b", "queued as a\u{0}"] {
            assert_eq!(queue_id(line), None, "{line:?}");
        }
    }
}
