//! One SMTP session: commands in their order, a message, a delivery under the rules in force.
//!
//! Guards the order that SMTP asks for, and that nothing is sent ahead of a reply.

use std::{io, sync::Arc};

use tokio::net::TcpStream;

use super::{
    SmtpLimits,
    command::Command,
    message,
    wire::{Line, Read, Wire},
};
use crate::{
    EffectKind,
    providers::{
        effect::Request,
        handlers::Shared,
        ledger::Applied,
        mode::Mode,
        table::{EffectPlan, Subject},
    },
};

/// The longest command line with CRLF (RFC 5321, 4.5.3.1).
const COMMAND_LINE: usize = 512;
/// Commands that are none before the session is ended.
const MAX_MISTAKES: u32 = 20;

/// A client's connection.
pub(super) struct Session {
    wire: Wire,
    shared: Arc<Shared>,
    limits: SmtpLimits,
    greeted: bool,
    sender: bool,
    recipient: Option<String>,
}

/// What comes after a command.
enum Next {
    Go,
    End,
}

impl Session {
    pub(super) fn new(stream: TcpStream, shared: Arc<Shared>, limits: SmtpLimits) -> Self {
        let wire = Wire::new(stream, limits);
        Self { wire, shared, limits, greeted: false, sender: false, recipient: None }
    }

    /// Serves the client to its end.
    pub(super) async fn run(mut self) -> io::Result<()> {
        self.wire
            .reply("220 sandbox.onceover.test ESMTP: mail goes into the ledger, not out")
            .await?;
        let mut mistakes = 0;
        loop {
            let line = match self.wire.line(COMMAND_LINE).await {
                Ok(Line::Good(line)) => line,
                Ok(Line::End) => return Ok(()),
                Ok(Line::Bad { .. }) => {
                    let why = "500 5.5.2 a line ends in CRLF and is short; goodbye";
                    return self.wire.reply(why).await;
                }
                Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                    return self.wire.reply("421 4.4.2 waited too long for a command").await;
                }
                Err(error) => return Err(error),
            };
            if self.wire.is_ahead() {
                return self
                    .wire
                    .reply("503 5.5.1 no pipelining: wait for each reply; goodbye")
                    .await;
            }
            let command = Command::parse(&line);
            mistakes += u32::from(command.is_err());
            if mistakes > MAX_MISTAKES {
                return self.wire.reply("421 4.7.0 too many mistakes; goodbye").await;
            }
            let next = match command {
                Ok(command) => self.obey(command).await?,
                Err(refusal) => {
                    self.wire.reply(refusal).await?;
                    Next::Go
                }
            };
            if matches!(next, Next::End) {
                return Ok(());
            }
        }
    }

    async fn obey(&mut self, command: Command) -> io::Result<Next> {
        let reply = match command {
            Command::Hello { extended } => {
                self.reset();
                self.greeted = true;
                let size = self.limits.message;
                if extended {
                    format!(
                        "250-sandbox.onceover.test\r\n250-SIZE {size}\r\n250-8BITMIME\r\n250 ENHANCEDSTATUSCODES"
                    )
                } else {
                    "250 sandbox.onceover.test".to_owned()
                }
            }
            Command::Mail { .. } if !self.greeted => "503 5.5.1 EHLO comes first".into(),
            Command::Mail { .. } if self.sender => "503 5.5.1 a message is begun".into(),
            Command::Mail { size } if size.is_some_and(|size| size > self.limits.message) => {
                "552 5.3.4 larger than SIZE".into()
            }
            Command::Mail { .. } => {
                self.sender = true;
                "250 2.1.0 Ok".into()
            }
            Command::Rcpt { .. } if !self.sender => "503 5.5.1 MAIL comes first".into(),
            Command::Rcpt { .. } if self.recipient.is_some() => {
                "452 4.5.3 one recipient a message".into()
            }
            Command::Rcpt { address } => self.recipient(address)?,
            Command::Data => match self.recipient.take() {
                None => "503 5.5.1 RCPT comes first".into(),
                Some(to) => return self.data(&to).await,
            },
            Command::Reset => {
                self.reset();
                "250 2.0.0 Ok".into()
            }
            Command::Noop => "250 2.0.0 Ok".into(),
            Command::Verify => "252 2.1.5 send it and see".into(),
            Command::Quit => {
                self.wire.reply("221 2.0.0 goodbye").await?;
                self.wire.close().await?;
                return Ok(Next::End);
            }
        };
        self.wire.reply(&reply).await?;
        Ok(Next::Go)
    }

    /// Takes the recipient, unless a rule refuses it here, before any of the message is sent.
    fn recipient(&mut self, address: String) -> io::Result<String> {
        let names = message::names(&address);
        let subject = Subject { kind: EffectKind::Mail, key: "", names: &names };
        Ok(match self.shared.modes().refusal(&subject)? {
            Some(Mode::Throttle) => "450 4.7.1 busy; nothing was done, try again later".into(),
            Some(Mode::Reject { code }) => format!("550 5.1.1 {}; nothing was done", plain(&code)),
            _ => {
                self.recipient = Some(address);
                "250 2.1.5 Ok".into()
            }
        })
    }

    async fn data(&mut self, to: &str) -> io::Result<Next> {
        self.sender = false;
        self.wire.reply("354 end with CRLF.CRLF").await?;
        let read = match self.wire.message().await {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                self.wire
                    .reply("421 4.4.2 waited too long for the message; nothing was done")
                    .await?;
                return Ok(Next::End);
            }
            Err(error) => return Err(error),
        };
        if self.wire.is_ahead() {
            self.wire.reply("503 5.5.1 no pipelining: nothing was done; goodbye").await?;
            return Ok(Next::End);
        }
        let request = match read {
            Read::Whole(bytes) => message::request(&bytes, to),
            Read::TooLarge => Err("it is larger than SIZE"),
            Read::Malformed => Err("its lines end in CRLF and have 1,000 bytes at most"),
        };
        match request {
            Ok(request) => self.deliver(request).await,
            Err(why) => {
                self.wire.reply(&format!("554 5.6.0 {why}; nothing was done")).await?;
                Ok(Next::Go)
            }
        }
    }

    /// Delivers under the rules in force. In a task of its own: a client who hangs up undoes nothing.
    async fn deliver(&mut self, request: Request) -> io::Result<Next> {
        let names = request.names();
        let subject = Subject { kind: EffectKind::Mail, key: &request.key, names: &names };
        let plan = self.shared.modes().for_effect(&subject)?;
        self.shared.note(EffectKind::Mail, &request.key, names);
        let refusal = match &plan.mode {
            Mode::Fail500 => Some("554 5.3.0 something went wrong".to_owned()),
            Mode::Throttle => Some("452 4.3.1 busy; nothing was done".to_owned()),
            Mode::Reject { code } => Some(format!("554 5.7.1 {}; nothing was done", plain(code))),
            _ => None,
        };
        if let Some(refusal) = refusal {
            self.wire.reply(&refusal).await?;
            return Ok(Next::Go);
        }
        let mode = plan.mode.clone();
        // SMTP honours no key: each message is a new effect.
        let plan = EffectPlan { honours_keys: false, ..plan };
        let applied = tokio::spawn(Arc::clone(&self.shared).apply(request, plan)).await;
        let effect = match applied {
            Ok(Ok(Applied::New(effect) | Applied::Stored(effect))) => effect,
            failed => {
                tracing::error!(failed = failed.is_err(), "a mail cannot be kept in the ledger");
                self.wire.reply("451 4.3.0 something went wrong").await?;
                return Ok(Next::Go);
            }
        };
        let queued = format!("250 2.0.0 Ok: queued as {}", effect.id);
        match mode {
            Mode::ApplyDrop => {
                // Closing sends RST instead of FIN: the client sees a reset.
                self.wire.cut()?;
                return Ok(Next::End);
            }
            Mode::Hang => {
                self.wait_for_the_end().await;
                return Ok(Next::End);
            }
            Mode::Apply500 => self.wire.reply("451 4.3.0 something went wrong").await?,
            Mode::Garbage => self.wire.reply("that went well, I think").await?,
            Mode::Nul => self.wire.reply(&format!("{queued}\0")).await?,
            Mode::Huge => {
                let lines = "250-and so on, and so on, and so on\r\n".repeat(30_000);
                self.wire.reply(&format!("{lines}{queued}")).await?;
            }
            _ => self.wire.reply(&queued).await?,
        }
        Ok(Next::Go)
    }

    fn reset(&mut self) {
        self.sender = false;
        self.recipient = None;
    }

    async fn wait_for_the_end(&mut self) {
        let mut stop = self.shared.stopped();
        tokio::select! {
            () = self.wire.until_closed() => {}
            _ = stop.wait_for(|stopped| *stopped) => {}
        }
    }
}

/// A word of a rule as a reply can carry it.
fn plain(code: &str) -> String {
    code.chars().filter(|c| c.is_ascii_graphic() || *c == ' ').take(200).collect()
}
