//! The mail provider by SMTP, byte by byte: one accepted message is one mail in the ledger.

use std::time::Duration;

use sandbox::{
    EffectKind,
    providers::{Config, Mode, Modes, Rule, SmtpLimits},
};
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
    time::timeout,
};

use crate::support::{DEADLINE, Folder, Running, eventually};

/// A client that says exactly what it is told to.
struct Client(BufReader<TcpStream>);

impl Client {
    async fn connect(sandbox: &Running) -> Self {
        let url = sandbox.control.smtp_url().await.expect("an address");
        let address = url.strip_prefix("smtp://").expect("an SMTP address");
        let mut client = Self(BufReader::new(TcpStream::connect(address).await.expect("connects")));
        assert!(client.reply().await.starts_with("220 "));
        client
    }

    async fn send(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).await.expect("sends");
    }

    /// The last line of the next reply.
    async fn reply(&mut self) -> String {
        loop {
            let mut line = String::new();
            let read = timeout(DEADLINE, self.0.read_line(&mut line)).await.expect("a reply");
            read.expect("readable");
            if line.as_bytes().get(3) != Some(&b'-') {
                return line.trim_end().to_owned();
            }
        }
    }

    async fn say(&mut self, line: &str) -> String {
        self.send(format!("{line}\r\n").as_bytes()).await;
        self.reply().await
    }

    /// Up to the server's leave to send the message.
    async fn until_data(&mut self, recipient: &str) {
        assert!(self.say("EHLO test").await.starts_with("250 "));
        assert!(self.say("MAIL FROM:<campaigns@acme.test>").await.starts_with("250 "));
        assert!(self.say(&format!("RCPT TO:<{recipient}@x.test>")).await.starts_with("250 "));
        assert!(self.say("DATA").await.starts_with("354 "));
    }

    /// Nothing but the end comes.
    async fn is_ended(&mut self) -> bool {
        let mut rest = Vec::new();
        timeout(DEADLINE, self.0.read_to_end(&mut rest)).await.is_ok() && rest.is_empty()
    }
}

fn mail(key: &str, recipient: &str, text: &str) -> String {
    format!(
        "From: campaigns@acme.test\r\nTo: {recipient}@x.test\r\nMessage-ID: <{key}@acme.test>\r\n\
         Onceover-Campaign: =?utf-8?b?w6l0w6k=?=\r\nOnceover-Recipient: {recipient}\r\n\
         Subject: News\r\n\r\n{text}\r\n.\r\n"
    )
}

async fn mode(sandbox: &Running, rule: Rule) {
    sandbox.rules(&Modes::one(EffectKind::Mail.provider(), rule)).await;
}

#[tokio::test]
async fn one_message_is_one_mail_and_the_same_again_is_a_second() {
    let folder = Folder::new();
    let sandbox = Running::start(&folder).await;
    let mut client = Client::connect(&sandbox).await;
    for mails in 1..=2 {
        client.until_data("rcp-1").await;
        client.send(mail("op-1", "rcp-1", "Hello.").as_bytes()).await;
        let reply = client.reply().await;
        let id = reply.strip_prefix("250 2.0.0 Ok: queued as ").expect("taken").to_owned();
        let lines = sandbox.ledger("key", "op-1").await;
        assert_eq!(lines.len(), mails, "SMTP honours no key, and the ledger tells");
        assert_eq!(lines.last().expect("a line")["id"], json!(id));
    }
    assert!(client.say("QUIT").await.starts_with("221 "));
    assert!(client.is_ended().await);
    let line = sandbox.ledger("campaign_id", "été").await.remove(0);
    for (name, value) in [
        ("kind", json!("mail")),
        ("recipient_id", json!("rcp-1")),
        ("to", json!("rcp-1@x.test")),
        ("subject", json!("News")),
        ("message_id", json!("<op-1@acme.test>")),
        ("via", json!("smtp")),
    ] {
        assert_eq!(line[name], value, "{name}");
    }
    // What came by SMTP is looked up by HTTP.
    assert_eq!(sandbox.get("/mail/messages?key=op-1").await.1["count"], json!(2));
    sandbox.stop().await;
}

#[tokio::test]
async fn a_dot_at_the_start_of_a_line_is_text_when_it_is_stuffed() {
    let folder = Folder::new();
    let sandbox = Running::start(&folder).await;
    let mut client = Client::connect(&sandbox).await;
    client.until_data("rcp-1").await;
    let stuffed = mail("op-1", "rcp-1", "before\r\n..\r\n..hidden\r\nafter");
    client.send(stuffed.as_bytes()).await;
    assert!(client.reply().await.starts_with("250 "));
    let bytes = sandbox.ledger("key", "op-1").await.remove(0)["bytes"].clone();
    // The end's `.` CRLF and the two stuffed dots are no part of the message.
    assert_eq!(bytes, json!(stuffed.len() - 3 - 2));
    sandbox.stop().await;
}

#[tokio::test]
async fn a_lone_line_feed_ends_no_message_and_smuggles_none_in() {
    let folder = Folder::new();
    let sandbox = Running::start(&folder).await;
    for end in ["\n.\n", "\n.\r\n", "\r.\r", "\r\n.\n"] {
        let mut client = Client::connect(&sandbox).await;
        client.until_data("rcp-1").await;
        let smuggled =
            format!("a{end}MAIL FROM:<evil@x.test>\r\nRCPT TO:<rcp-2@x.test>\r\nDATA\r\nb");
        client.send(mail("op-1", "rcp-1", &smuggled).as_bytes()).await;
        assert!(client.reply().await.starts_with("554 "), "{end:?}");
    }
    let mut client = Client::connect(&sandbox).await;
    client.until_data("rcp-1").await;
    let long = "x".repeat(2_000 - 1 - "X: ".len()) + ".\r\n";
    client.send(format!("X: {long}{}", mail("op-1", "rcp-1", "a")).as_bytes()).await;
    assert!(client.reply().await.starts_with("554 "), "a line too long ends nothing either");
    assert!(sandbox.control.ledger(&[]).await.expect("the ledger").is_empty());
    sandbox.stop().await;
}

#[tokio::test]
async fn nothing_may_be_sent_ahead_of_a_reply() {
    let folder = Folder::new();
    let sandbox = Running::start(&folder).await;
    let mut client = Client::connect(&sandbox).await;
    client.send(b"EHLO test\r\nMAIL FROM:<a@b.test>\r\n").await;
    assert!(client.reply().await.starts_with("503 "));
    assert!(client.is_ended().await);
    let mut client = Client::connect(&sandbox).await;
    client.until_data("rcp-1").await;
    client.send(format!("{}QUIT\r\n", mail("op-1", "rcp-1", "a")).as_bytes()).await;
    assert!(client.reply().await.starts_with("503 "));
    assert!(sandbox.control.ledger(&[]).await.expect("the ledger").is_empty());
    sandbox.stop().await;
}

#[tokio::test]
async fn commands_out_of_order_are_refused_and_do_nothing() {
    let folder = Folder::new();
    let sandbox = Running::start(&folder).await;
    let mut client = Client::connect(&sandbox).await;
    for (line, code) in [
        ("MAIL FROM:<a@b.test>", "503"),
        ("HELO test", "250"),
        ("RCPT TO:<a@b.test>", "503"),
        ("DATA", "503"),
        ("MAIL FROM:<a@b.test> SIZE=99999999", "552"),
        ("MAIL FROM:<>", "250"),
        ("MAIL FROM:<a@b.test>", "503"),
        ("DATA", "503"),
        ("RCPT TO:<a@b.test>", "250"),
        ("RCPT TO:<c@b.test>", "452"),
        ("RSET", "250"),
        ("DATA", "503"),
        ("VRFY a", "252"),
        ("NOOP", "250"),
        ("STARTTLS", "502"),
        ("TEAPOT", "500"),
    ] {
        let reply = client.say(line).await;
        assert!(reply.starts_with(code), "{line}: {reply}");
    }
    client.until_data("rcp-1").await;
    client.send(b"Subject: no names\r\n\r\n.\r\n").await;
    assert!(client.reply().await.starts_with("554 "));
    assert!(sandbox.control.ledger(&[]).await.expect("the ledger").is_empty());
    sandbox.stop().await;
}

#[tokio::test]
async fn a_message_beyond_the_limit_and_a_silent_client_are_turned_away() {
    let folder = Folder::new();
    let sandbox = Running::with(Config {
        smtp: SmtpLimits { idle: Duration::from_millis(300), message: 2_000 },
        ..Config::new(folder.path().into(), 7)
    })
    .await;
    let mut client = Client::connect(&sandbox).await;
    client.until_data("rcp-1").await;
    client.send(mail("op-1", "rcp-1", &"line\r\n".repeat(400)).as_bytes()).await;
    assert!(client.reply().await.starts_with("554 "), "the size alone is known after the fact");
    assert!(client.reply().await.starts_with("421 "), "and then it waited for a command");
    let mut client = Client::connect(&sandbox).await;
    client.until_data("rcp-1").await;
    client.send(b"Subject: begun and").await;
    assert!(client.reply().await.starts_with("421 "));
    assert!(client.is_ended().await);
    assert!(sandbox.control.ledger(&[]).await.expect("the ledger").is_empty());
    sandbox.stop().await;
}

#[tokio::test]
async fn a_client_that_leaves_in_mid_message_sent_nothing() {
    let folder = Folder::new();
    let sandbox = Running::start(&folder).await;
    let mut client = Client::connect(&sandbox).await;
    client.until_data("rcp-1").await;
    let whole = mail("op-1", "rcp-1", "a");
    client.send(whole.trim_end_matches(".\r\n").as_bytes()).await;
    drop(client);
    let mut next = Client::connect(&sandbox).await;
    assert!(next.say("NOOP").await.starts_with("250 "));
    assert!(sandbox.control.ledger(&[]).await.expect("the ledger").is_empty());
    sandbox.stop().await;
}

#[tokio::test]
async fn each_trouble_replies_as_its_mode_says_and_the_ledger_knows_better() {
    for (rule, reply, mails) in [
        (Mode::ApplyDrop, None, 1),
        (Mode::Apply500, Some("451 "), 1),
        (Mode::Fail500, Some("554 "), 0),
        (Mode::Slow { ms: 200 }, Some("250 "), 1),
        (Mode::Garbage, Some("that "), 1),
        (Mode::Nul, Some("250 "), 1),
        (Mode::Huge, Some("250 "), 1),
    ] {
        let folder = Folder::new();
        let sandbox = Running::start(&folder).await;
        mode(&sandbox, Rule::once(rule.clone())).await;
        let mut client = Client::connect(&sandbox).await;
        client.until_data("rcp-1").await;
        client.send(mail("op-1", "rcp-1", "a").as_bytes()).await;
        match reply {
            Some(reply) => assert!(client.reply().await.starts_with(reply), "{rule:?}"),
            None => {
                let read = timeout(DEADLINE, client.0.read_u8()).await.expect("an end");
                let error = read.expect_err("a reset");
                assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
            }
        }
        assert_eq!(sandbox.ledger("key", "op-1").await.len(), mails, "{rule:?}");
        sandbox.stop().await;
    }
}

#[tokio::test]
async fn a_refusal_comes_before_the_message_and_for_whom_the_rule_names() {
    let folder = Folder::new();
    let sandbox = Running::start(&folder).await;
    let reject = Mode::Reject { code: "mailbox_unavailable\r\n250 Ok".into() };
    mode(&sandbox, Rule::always(reject).for_reference(EffectKind::Mail, "rcp-bad")).await;
    let busy = Rule::once(Mode::Throttle).for_reference(EffectKind::Mail, "rcp-busy");
    sandbox.control.add(EffectKind::Mail.provider(), busy).await.expect("taken");
    let mut client = Client::connect(&sandbox).await;
    client.say("EHLO test").await;
    client.say("MAIL FROM:<a@b.test>").await;
    let refused = client.say("RCPT TO:<rcp-bad@x.test>").await;
    assert_eq!(refused, "550 5.1.1 mailbox_unavailable250 Ok; nothing was done", "one line");
    assert!(client.say("RCPT TO:<rcp-busy@x.test>").await.starts_with("450 "));
    assert!(client.say("RCPT TO:<rcp-busy@x.test>").await.starts_with("250 "), "once");
    // A rule that names the campaign is met when the campaign is known.
    let busy = Rule::once(Mode::Throttle).for_reference(EffectKind::Mail, "été");
    sandbox.control.add(EffectKind::Mail.provider(), busy).await.expect("taken");
    assert!(client.say("DATA").await.starts_with("354 "));
    client.send(mail("op-1", "rcp-busy", "a").as_bytes()).await;
    assert!(client.reply().await.starts_with("452 "));
    assert!(sandbox.control.ledger(&[]).await.expect("the ledger").is_empty());
    sandbox.stop().await;
}

#[tokio::test]
async fn a_mail_is_delivered_although_its_client_has_hung_up() {
    let folder = Folder::new();
    let sandbox = Running::start(&folder).await;
    mode(&sandbox, Rule::once(Mode::Slow { ms: 300 })).await;
    let mut client = Client::connect(&sandbox).await;
    client.until_data("rcp-1").await;
    client.send(mail("op-1", "rcp-1", "a").as_bytes()).await;
    drop(client);
    eventually("the mail after the client left", async || {
        (sandbox.ledger("key", "op-1").await.len() == 1).then_some(())
    })
    .await;
    // A client left without an answer keeps nobody from stopping.
    mode(&sandbox, Rule::once(Mode::Hang)).await;
    let mut client = Client::connect(&sandbox).await;
    client.until_data("rcp-2").await;
    client.send(mail("op-2", "rcp-2", "a").as_bytes()).await;
    eventually("the second mail", async || {
        (sandbox.ledger("key", "op-2").await.len() == 1).then_some(())
    })
    .await;
    sandbox.stop().await;
    assert!(client.is_ended().await);
}

#[tokio::test]
async fn mail_is_taken_on_loopback_only() {
    let folder = Folder::new();
    let open = Config {
        smtp_listen: "0.0.0.0:0".parse().expect("an address"),
        ..Config::new(folder.path().into(), 7)
    };
    let bound = sandbox::providers::Providers::bind(open).await;
    assert!(matches!(bound, Err(sandbox::providers::Error::NotLoopback(_))));
}
