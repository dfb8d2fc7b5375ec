//! How far a sample service has come, kept over restarts.

use std::{io, path::PathBuf};

/// The number of the next step, in a file of its own.
pub(super) struct Progress {
    path: PathBuf,
    next: u64,
}

impl Progress {
    /// Reads where the last run stopped; a missing file means the beginning.
    pub(super) fn open(path: PathBuf) -> io::Result<Self> {
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        let next = match std::fs::read_to_string(&path) {
            Ok(text) => text
                .trim()
                .parse()
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error),
        };
        Ok(Self { path, next })
    }

    /// The number of the step to do.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Notes the step as done. A note that cannot be kept costs a repeated step
    /// after a restart, so it stops nothing.
    pub(super) fn done(&mut self) {
        self.next += 1;
        let written = self.path.with_extension("tmp");
        let kept = std::fs::write(&written, self.next.to_string())
            .and_then(|()| std::fs::rename(&written, &self.path));
        if let Err(error) = kept {
            tracing::warn!(path = %self.path.display(), %error, "the progress is not kept");
        }
    }
}
