//! Reading one command line (RFC 5321, 4.1).
//!
//! Refuses what it does not know by the reply that the standard gives for it, and never guesses at
//! an address: what is not plainly `<local@domain>` is none.

/// A command, or the reply to a line that is none.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Command {
    Hello { extended: bool },
    Mail { size: Option<usize> },
    Rcpt { address: String },
    Data,
    Reset,
    Noop,
    Verify,
    Quit,
}

type Refused = &'static str;

impl Command {
    /// Reads a line without its end.
    pub(super) fn parse(line: &[u8]) -> Result<Self, Refused> {
        let line = std::str::from_utf8(line)
            .ok()
            .filter(|line| line.bytes().all(|byte| (b' '..=b'~').contains(&byte)))
            .ok_or("500 5.5.2 a command is printable ASCII")?;
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let rest = rest.trim();
        match verb.to_ascii_uppercase().as_str() {
            "EHLO" | "HELO" if rest.is_empty() => Err("501 5.5.4 a name is missing"),
            "EHLO" => Ok(Self::Hello { extended: true }),
            "HELO" => Ok(Self::Hello { extended: false }),
            "MAIL" => mail(rest),
            "RCPT" => rcpt(rest),
            "DATA" if rest.is_empty() => Ok(Self::Data),
            "RSET" if rest.is_empty() => Ok(Self::Reset),
            "QUIT" if rest.is_empty() => Ok(Self::Quit),
            "DATA" | "RSET" | "QUIT" => Err("501 5.5.4 this command takes nothing"),
            "NOOP" => Ok(Self::Noop),
            "VRFY" => Ok(Self::Verify),
            "EXPN" | "HELP" | "TURN" | "AUTH" | "STARTTLS" | "BDAT" => {
                Err("502 5.5.1 this command is not offered")
            }
            _ => Err("500 5.5.2 not a command"),
        }
    }
}

fn mail(rest: &str) -> Result<Command, Refused> {
    let (path, parameters) = path(rest, "FROM:")?;
    // The empty path is a bounce's.
    if !path.is_empty() {
        address(path)?;
    }
    let mut size = None;
    for parameter in parameters.split_ascii_whitespace() {
        match parameter.to_ascii_uppercase().split_once('=') {
            Some(("SIZE", octets)) => {
                size = Some(octets.parse().map_err(|_| "501 5.5.4 SIZE is a number")?);
            }
            Some(("BODY", "7BIT" | "8BITMIME")) => {}
            _ => return Err("555 5.5.4 this parameter is not known"),
        }
    }
    Ok(Command::Mail { size })
}

fn rcpt(rest: &str) -> Result<Command, Refused> {
    let (path, parameters) = path(rest, "TO:")?;
    if !parameters.trim().is_empty() {
        return Err("555 5.5.4 this parameter is not known");
    }
    Ok(Command::Rcpt { address: address(path)?.to_owned() })
}

/// The path between angle brackets, and what follows.
fn path<'a>(rest: &'a str, keyword: &str) -> Result<(&'a str, &'a str), Refused> {
    let head = rest.get(..keyword.len()).unwrap_or_default();
    if !head.eq_ignore_ascii_case(keyword) {
        return Err("501 5.5.4 MAIL FROM:<address> or RCPT TO:<address> is expected");
    }
    let rest = rest.get(keyword.len()..).unwrap_or_default().trim_start();
    rest.strip_prefix('<')
        .and_then(|rest| rest.split_once('>'))
        .ok_or("501 5.1.3 the address stands between < and >")
}

/// Accepts dot-atoms on both sides of one `@`, as all addresses in here are.
fn address(path: &str) -> Result<&str, Refused> {
    let is_atom = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~.".contains(&byte))
    };
    match path.split_once('@') {
        Some((local, domain)) if path.len() <= 254 && is_atom(local) && is_atom(domain) => Ok(path),
        _ => Err("501 5.1.3 this address is not supported"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_in_any_case_and_refused_by_name() {
        let parse = |line: &str| Command::parse(line.as_bytes());
        assert_eq!(parse("ehlo me"), Ok(Command::Hello { extended: true }));
        assert_eq!(
            parse("MAIL FROM:<a@b.test> SIZE=12 BODY=8BITMIME"),
            Ok(Command::Mail { size: Some(12) })
        );
        assert_eq!(parse("mail from:<>"), Ok(Command::Mail { size: None }));
        assert_eq!(parse("RCPT TO:<r@b.test>"), Ok(Command::Rcpt { address: "r@b.test".into() }));
        for (line, code) in [
            ("", "500"),
            ("EHLO", "501"),
            ("MAIL a@b", "501"),
            ("MAIL FROM:<a@b> SMTPUTF8", "555"),
            ("MAIL FROM:<a@b> SIZE=x", "501"),
            ("RCPT TO:<a@b@c>", "501"),
            ("RCPT TO:<\"a b\"@c>", "501"),
            ("RCPT TO:<a>", "501"),
            ("DATA now", "501"),
            ("BDAT 5 LAST", "502"),
            ("TEAPOT", "500"),
            ("NOOP \u{e9}", "500"),
        ] {
            assert!(parse(line).is_err_and(|reply| reply.starts_with(code)), "{line}");
        }
    }
}
