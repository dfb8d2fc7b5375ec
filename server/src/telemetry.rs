//! The log: one JSON object a line, so that no value can forge a line (T34).

use std::{fs::File, io, path::Path};

use tracing_subscriber::{EnvFilter, fmt::writer::BoxMakeWriter};

/// Starts the log on standard error, with filter directives such as `info`.
///
/// # Panics
/// Where a log was started before.
pub fn start(directives: &str) {
    begin(directives, BoxMakeWriter::new(io::stderr));
}

/// Starts the log in a file, which begins anew.
///
/// # Errors
/// Where the file cannot be written.
///
/// # Panics
/// As [`start`].
pub fn start_in_file(directives: &str, path: &Path) -> io::Result<()> {
    let file = File::create(path)?;
    begin(directives, BoxMakeWriter::new(std::sync::Mutex::new(file)));
    Ok(())
}

fn begin(directives: &str, writer: BoxMakeWriter) {
    // A connection is rolled back whenever it returns to its pool, which PostgreSQL remarks upon.
    let filter = EnvFilter::try_new(format!("sqlx::postgres::notice=error,{directives}"))
        .unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_current_span(true)
        .with_span_list(false)
        .with_env_filter(filter)
        .with_writer(writer)
        .init();
}
