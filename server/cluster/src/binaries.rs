//! Finds the PostgreSQL server binaries. Distributions keep them off the `PATH`,
//! so a machine that has them often looks as if it had not.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::ClusterError;

/// The oldest major version the migrations are written for.
pub(crate) const OLDEST: u32 = 15;

/// A folder with `postgres` and `initdb` of one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Binaries {
    folder: PathBuf,
    major: u32,
}

impl Binaries {
    /// Looks in every known place.
    ///
    /// `wanted` is the major version that existing data was written by; without it
    /// the first place with a version of 15 or newer wins, `PATH` before the
    /// folders of distributions.
    pub(crate) fn find(wanted: Option<u32>) -> Result<Self, String> {
        let mut too_old = Vec::new();
        for folder in candidates() {
            let Some(found) = Self::inspect(&folder) else {
                continue;
            };
            match wanted {
                Some(major) if found.major == major => return Ok(found),
                None if found.major >= OLDEST => return Ok(found),
                _ => too_old.push(format!("{} in {}", found.major, found.folder.display())),
            }
        }
        too_old.dedup();
        Err(if too_old.is_empty() {
            String::new()
        } else {
            format!(" (found {})", too_old.join(", "))
        })
    }

    /// As [`Binaries::find`], with the error that names what to install.
    pub(crate) fn find_for(pgdata: &Path, wanted: Option<u32>) -> Result<Self, ClusterError> {
        Self::find(wanted).map_err(|found| match wanted {
            Some(wanted) => ClusterError::OtherVersion { pgdata: pgdata.to_owned(), wanted },
            None => ClusterError::NoServer { found },
        })
    }

    /// The server.
    pub(crate) fn postgres(&self) -> PathBuf {
        self.folder.join("postgres")
    }

    /// The program that prepares a data folder.
    pub(crate) fn initdb(&self) -> PathBuf {
        self.folder.join("initdb")
    }

    fn inspect(folder: &Path) -> Option<Self> {
        // Through links, because the server looks for its own files beside the real one.
        let real = fs::canonicalize(folder.join("postgres")).ok()?;
        let folder = real.parent()?.to_owned();
        if !folder.join("initdb").is_file() {
            return None;
        }
        let answer = Command::new(&real).arg("--version").output().ok()?;
        let major = major_of(&String::from_utf8_lossy(&answer.stdout))?;
        Some(Self { folder, major })
    }
}

/// The major version in `postgres (PostgreSQL) 15.18 (Debian …)`, `17beta1`, `18devel`.
fn major_of(line: &str) -> Option<u32> {
    let number = line.split_once("(PostgreSQL) ")?.1;
    let digits: String = number.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

fn candidates() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = std::env::var_os("PATH")
        .map(|path| std::env::split_paths(&path).collect())
        .unwrap_or_default();
    if let Ok(answer) = Command::new("pg_config").arg("--bindir").output() {
        folders.push(PathBuf::from(String::from_utf8_lossy(&answer.stdout).trim().to_owned()));
    }
    for (parent, name, rest) in [
        ("/usr/lib/postgresql", "", "bin"),
        ("/usr/lib64/pgsql", "", ""),
        ("/usr", "pgsql-", "bin"),
        ("/opt/homebrew/opt", "postgresql", "bin"),
        ("/usr/local/opt", "postgresql", "bin"),
        ("/home/linuxbrew/.linuxbrew/opt", "postgresql", "bin"),
        ("/opt/local/lib", "postgresql", "bin"),
        ("/Applications/Postgres.app/Contents/Versions", "", "bin"),
    ] {
        folders.extend(newest_first(Path::new(parent), name).map(|folder| folder.join(rest)));
    }
    folders.retain(|folder| folder.is_absolute());
    folders
}

/// The subfolders whose name begins with `prefix`, the highest version first.
fn newest_first(parent: &Path, prefix: &str) -> impl Iterator<Item = PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = fs::read_dir(parent)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter_map(|path| {
            let name = path.file_name().and_then(OsStr::to_str)?;
            let rest = name.strip_prefix(prefix)?;
            let digits: String = rest
                .chars()
                .skip_while(|c| !c.is_ascii_digit())
                .take_while(char::is_ascii_digit)
                .collect();
            Some((digits.parse().unwrap_or(0), path))
        })
        .collect();
    found.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
    found.into_iter().map(|(_, path)| path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_major_version_of_every_spelling() {
        for (line, major) in [
            ("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n", 15),
            ("postgres (PostgreSQL) 17beta1\n", 17),
            ("postgres (PostgreSQL) 19devel\n", 19),
        ] {
            assert_eq!(major_of(line), Some(major));
        }
        assert_eq!(major_of("command not found"), None);
    }

    #[test]
    fn finds_a_server_here_and_refuses_a_version_that_does_not_exist() {
        assert!(Binaries::find(None).expect("a server is installed").major >= OLDEST);
        assert!(Binaries::find(Some(3)).is_err());
    }
}
