//! `onceover report`: what can be done with a report of an incident away from any server.

use std::{fs, path::Path};

use super::Failure;
use crate::{
    cli::Report,
    report::{Unaltered, verify},
};

/// The largest file that is read, in bytes; no report comes near it.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// Runs the command; needs neither configuration nor database.
///
/// # Errors
/// A sentence, where the file is altered, is no report, or cannot be read.
pub fn run(command: Report) -> Result<(), Failure> {
    let Report::Verify { file } = command;
    let bytes = read(&file)?;
    let Unaltered { content_hash, file_hash } =
        verify(&bytes).map_err(|altered| Failure::new(format!("{}: {altered}", file.display())))?;
    println!("{}: unaltered", file.display());
    if let Some(content_hash) = content_hash {
        println!("content hash {content_hash}");
    }
    println!("file hash {file_hash}");
    println!(
        "Whoever can write a file can write a hash: compare them with the entry export_report in the audit log."
    );
    Ok(())
}

fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let failed = |error: std::io::Error| Failure::new(format!("{}: {error}", file.display()));
    let size = fs::metadata(file).map_err(failed)?.len();
    if size > MAX_BYTES {
        return Err(Failure::new(format!("{}: too large to be a report", file.display())));
    }
    fs::read(file).map_err(failed)
}
