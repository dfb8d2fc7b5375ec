//! The command line: what `onceover` can be told.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use domain::{access::Role, token::TokenVerb};

/// Effects that must happen once: engine, JSON API and console.
#[derive(Debug, Parser)]
#[command(name = "onceover", version, about)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// A command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve the console and the JSON API, and run background work.
    Serve {
        /// Leave background work to `onceover work`.
        #[arg(long)]
        no_workers: bool,
    },
    /// Run background work alone.
    Work,
    /// Bring the database to this build's schema.
    Migrate,
    /// People who sign in.
    #[command(subcommand)]
    Staff(Staff),
    /// Tokens of services and people for the JSON API.
    #[command(subcommand)]
    Token(Token),
    /// Reports of incidents.
    #[command(subcommand)]
    Report(Report),
    /// The audit log's chain.
    #[command(subcommand)]
    Audit(Audit),
    /// Check configuration, database and providers; a sentence per fault.
    Doctor,
    /// Run the fake providers alone.
    Sandbox(Sandbox),
    /// Run everything on this machine with sample data.
    Demo,
}

/// `onceover staff`.
#[derive(Debug, Subcommand)]
pub enum Staff {
    /// Add a person, or give one a role in another tenant; the password is read from standard input.
    Add {
        /// The email address that the person signs in with.
        email: String,
        /// The person's name.
        #[arg(long)]
        name: String,
        /// The tenant's short name; made where it does not exist.
        #[arg(long)]
        tenant: String,
        /// viewer, operator, approver, tenant-admin or auditor.
        #[arg(long)]
        role: Role,
    },
    /// Change a person's role in a tenant.
    Role {
        /// The email address.
        email: String,
        /// The tenant's short name.
        #[arg(long)]
        tenant: String,
        /// The new role.
        #[arg(long)]
        role: Role,
    },
    /// Lock a person out; sessions end at once.
    Disable {
        /// The email address.
        email: String,
    },
    /// Tie a person to a subject of the identity provider; from then on the provider says what they may
    /// do.
    Link {
        /// The email address.
        email: String,
        /// What the provider calls the person for good (the claim `sub`).
        #[arg(long)]
        subject: String,
    },
    /// Set a new password, read from standard input; sessions end at once.
    Reset {
        /// The email address.
        email: String,
    },
}

/// `onceover token`.
#[derive(Debug, Subcommand)]
pub enum Token {
    /// Make a token and print it, once.
    Add {
        /// The tenant's short name.
        #[arg(long)]
        tenant: String,
        /// What the token is called in lists and in the audit log.
        #[arg(long)]
        name: String,
        /// Operation kinds that a service's token covers; all where none is named.
        #[arg(long, value_delimiter = ',', conflicts_with = "staff")]
        kinds: Vec<String>,
        /// Make a person's token instead of a service's: the person's email.
        #[arg(long, value_name = "EMAIL")]
        staff: Option<String>,
        /// What the token may be used for: reserve, report, claim, inbox, workflows and read for a
        /// service's, read and decide for a person's; everything where none is named.
        #[arg(long, value_delimiter = ',')]
        verbs: Vec<TokenVerb>,
        /// Days until it expires; a service's may last until it is revoked.
        #[arg(long, value_name = "DAYS")]
        expires_in: Option<i32>,
    },
    /// List the tokens of a tenant, those that work first; never their texts.
    List {
        /// The tenant's short name.
        #[arg(long)]
        tenant: String,
    },
    /// Make a token useless at once.
    Revoke {
        /// The tenant's short name.
        #[arg(long)]
        tenant: String,
        /// What the token is called.
        #[arg(long)]
        name: String,
    },
}

/// `onceover report`.
#[derive(Debug, Subcommand)]
pub enum Report {
    /// Say whether a report is as it was written; exit 1 where it is not.
    Verify {
        /// The file: Markdown, JSON or CSV.
        file: PathBuf,
    },
}

/// `onceover audit`.
#[derive(Debug, Subcommand)]
pub enum Audit {
    /// Say whether every entry is as it was written; exit 1 where one is not.
    Verify {
        /// One tenant's short name; all of them where none is given.
        #[arg(long)]
        tenant: Option<String>,
        /// A file of heads that were kept outside, as `anchor` writes it: what was rewritten together
        /// with its chain is seen too.
        #[arg(long, value_name = "FILE")]
        against: Option<PathBuf>,
    },
    /// Take the heads of all chains to the configured places now.
    Anchor,
}

/// `onceover sandbox`.
#[derive(Debug, clap::Args)]
pub struct Sandbox {
    /// Where to listen; loopback only, port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:0")]
    pub listen: std::net::SocketAddr,
    /// Where to take mail by SMTP; loopback only, port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:0")]
    pub smtp_listen: std::net::SocketAddr,
    /// Where the ledgers are kept.
    #[arg(long, default_value = ".data/sandbox")]
    pub data: PathBuf,
    /// Makes ids and generated texts.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Where signed webhooks go; the secret is read from standard input.
    #[arg(long, value_name = "URL")]
    pub webhook: Option<String>,
    /// Where to take the engine's events; loopback only, port 0 takes a free one. They are signed
    /// with a secret that is read from standard input, after the webhooks'. Not set: they are not
    /// taken.
    #[arg(long, value_name = "ADDRESS")]
    pub consumer_listen: Option<std::net::SocketAddr>,
    /// Stop when standard input ends, so that no sandbox outlives the program that started it.
    #[arg(long)]
    pub with_parent: bool,
}
