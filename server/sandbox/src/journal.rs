//! Append-only files of one JSON object per line: what the sandbox's ledgers are kept in.
//!
//! A line is synced before anyone is answered. A torn last line was never answered
//! for, so opening cuts it off; a broken line anywhere else stops the start, for
//! then the oracle is not one.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};

/// Why a ledger cannot be opened or written.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// A file cannot be read or written.
    #[error("ledger file {path}")]
    File {
        /// Which one.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Another process holds the folder.
    #[error("the ledger folder {0} belongs to a running sandbox")]
    InUse(PathBuf),
    /// A complete line is not a ledger line.
    #[error("line {line} of {path} is not a ledger line")]
    Broken {
        /// Which file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
    },
}

/// Makes the folder and holds it for as long as the returned file lives.
pub(crate) fn take_folder(dir: &Path) -> Result<File, LedgerError> {
    std::fs::create_dir_all(dir)
        .map_err(|source| LedgerError::File { path: dir.into(), source })?;
    let path = dir.join("lock");
    let lock = File::create(&path).map_err(|source| LedgerError::File { path, source })?;
    lock.try_lock().map_err(|_| LedgerError::InUse(dir.into()))?;
    Ok(lock)
}

/// One file, at its end.
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    len: u64,
}

impl Journal {
    /// Opens or creates the file and reads its lines back by `parse`.
    pub(crate) fn open<T>(
        path: &Path,
        parse: impl Fn(Map<String, Value>) -> Option<T>,
    ) -> Result<(Self, Vec<T>), LedgerError> {
        let fail = |source| LedgerError::File { path: path.into(), source };
        let mut file =
            OpenOptions::new().read(true).append(true).create(true).open(path).map_err(fail)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(fail)?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        if whole < bytes.len() {
            tracing::warn!(path = %path.display(), "cut off a torn last line");
            file.set_len(whole as u64).map_err(fail)?;
            file.sync_data().map_err(fail)?;
            bytes.truncate(whole);
        }
        file.seek(SeekFrom::End(0)).map_err(fail)?;
        let mut read = Vec::new();
        for (index, line) in
            bytes.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty())
        {
            let parsed = serde_json::from_slice(line).ok().and_then(&parse);
            read.push(
                parsed.ok_or_else(|| LedgerError::Broken { path: path.into(), line: index + 1 })?,
            );
        }
        Ok((Self { path: path.into(), file, len: bytes.len() as u64 }, read))
    }

    /// Writes a line and waits for the disk.
    pub(crate) fn append(&mut self, line: Map<String, Value>) -> Result<(), LedgerError> {
        let mut line = Value::Object(line).to_string().into_bytes();
        line.push(b'\n');
        let written = self.file.write_all(&line).and_then(|()| self.file.sync_data());
        if let Err(source) = written {
            // A half line must not be completed by the next one.
            if let Err(error) = self.file.set_len(self.len) {
                tracing::error!(path = %self.path.display(), %error, "a torn ledger line could not be cut off");
            }
            return Err(LedgerError::File { path: self.path.clone(), source });
        }
        self.len += line.len() as u64;
        Ok(())
    }
}
