//! Where a cluster lives: its folder, who else may use it, its socket's folder.
//!
//! Refuses to turn a folder with other content into a database, to share one
//! between two programs, and to trust a folder that somebody else prepared.
//!
//! ```text
//! <folder>/            0700, owned by the user that runs the server
//!   owner.lock         locked by the program that runs the cluster; holds its pid
//!   password           of the superuser role, for TCP
//!   port               the port of the last run
//!   server.log
//!   pgdata/            the PostgreSQL data folder
//!   socket/            the Unix socket, where the path is short enough
//! ```

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::account::Account;
use crate::error::{ClusterError, IoContext};

/// A socket's whole path must fit `sockaddr_un`: 104 bytes on macOS, 108 on Linux.
const SOCKET_PATH_LIMIT: usize = 100;
/// What PostgreSQL adds to the socket's folder, with the longest port.
const SOCKET_NAME: usize = "/.s.PGSQL.65535.lock".len();

/// A cluster's folder, held by this process until it is dropped.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    socket: PathBuf,
    throwaway: bool,
    account: Account,
    /// Keeps the advisory file lock.
    _lock: File,
}

impl Folder {
    /// Takes `data_dir` itself, or with `throwaway` a new folder inside it.
    ///
    /// Returns also the sentences a person should read when another place had to be
    /// chosen.
    pub(crate) fn open(
        data_dir: &Path,
        throwaway: bool,
    ) -> Result<(Self, Vec<String>), ClusterError> {
        let mut notes = Vec::new();
        let (path, account) =
            if throwaway { place_throwaway(data_dir)? } else { place_kept(data_dir, &mut notes)? };
        refuse_foreign_content(&path)?;
        private_folder(&path, &account)?;
        let lock = lock(&path)?;
        let socket = socket_folder(&path, &account)?;
        if account.is_other() && !throwaway {
            notes.push(format!(
                "PostgreSQL refuses root, so it runs as {} and owns {}.",
                account.name(),
                path.display()
            ));
        }
        let folder = Self { path, socket, throwaway, account, _lock: lock };
        Ok((folder, notes))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn pgdata(&self) -> PathBuf {
        self.path.join("pgdata")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.path.join("server.log")
    }

    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    pub(crate) fn account(&self) -> &Account {
        &self.account
    }

    pub(crate) fn throwaway(&self) -> bool {
        self.throwaway
    }

    /// The password of the superuser role: made once, kept with the data.
    pub(crate) fn password(&self) -> Result<(String, PathBuf), ClusterError> {
        let path = self.path.join("password");
        if let Ok(kept) = fs::read_to_string(&path)
            && kept.trim().len() == 64
        {
            return Ok((kept.trim().to_owned(), path));
        }
        let made = hex::encode(rand::random::<[u8; 32]>());
        write_private(&path, &made).doing("write", &path)?;
        // initdb reads it as the user that owns the data.
        self.account.own(&path).doing("give away", &path)?;
        Ok((made, path))
    }

    /// The port of the last run.
    pub(crate) fn last_port(&self) -> Option<u16> {
        let text = fs::read_to_string(self.path.join("port")).ok()?;
        text.trim().parse().ok()
    }

    /// Keeps the port, so that links and settings outlive a restart where they can.
    pub(crate) fn keep_port(&self, port: u16) -> Result<(), ClusterError> {
        let path = self.path.join("port");
        write_private(&path, &port.to_string()).doing("write", &path)
    }

    /// Removes what a throwaway cluster leaves.
    pub(crate) fn remove_if_throwaway(&self) -> Result<(), ClusterError> {
        if !self.throwaway {
            return Ok(());
        }
        for folder in [&self.socket, &self.path] {
            match fs::remove_dir_all(folder) {
                Err(problem) if problem.kind() != io::ErrorKind::NotFound => {
                    return Err(problem).doing("remove", folder);
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The named folder, or another when the user that must run PostgreSQL cannot get there.
fn place_kept(
    data_dir: &Path,
    notes: &mut Vec<String>,
) -> Result<(PathBuf, Account), ClusterError> {
    let wanted = std::path::absolute(data_dir).doing("find", data_dir)?;
    let parent = wanted.parent().unwrap_or(&wanted);
    fs::create_dir_all(parent).doing("create", parent)?;
    let parent = fs::canonicalize(parent).doing("find", parent)?;
    let named = match wanted.file_name() {
        Some(name) => parent.join(name),
        None => parent.clone(),
    };
    let named = fs::canonicalize(&named).unwrap_or(named);
    let account = Account::choose(&named.join("pgdata"))?;
    if account.reaches(&parent) {
        return Ok((named, account));
    }
    let instead = PathBuf::from(format!("/var/tmp/onceover-{}", short_hash(&named)));
    let account = Account::choose(&instead.join("pgdata"))?;
    notes.push(format!(
        "The user {} cannot enter {}, so the database lies in {}.",
        account.name(),
        parent.display(),
        instead.display()
    ));
    Ok((instead, account))
}

/// A new folder with an unguessable name, inside `parent` or else in /tmp.
fn place_throwaway(parent: &Path) -> Result<(PathBuf, Account), ClusterError> {
    let name = format!("onceover-throwaway-{}", hex::encode(rand::random::<[u8; 8]>()));
    let parent = std::path::absolute(parent).doing("find", parent)?;
    let account = Account::choose(&parent.join(&name))?;
    let parent = match fs::canonicalize(&parent) {
        Ok(real) if account.reaches(&real) => real,
        _ => PathBuf::from("/tmp"),
    };
    Ok((parent.join(name), account))
}

/// An empty folder, one of ours, or none yet: anything else belongs to somebody.
fn refuse_foreign_content(path: &Path) -> Result<(), ClusterError> {
    let Ok(mut entries) = fs::read_dir(path) else {
        return Ok(());
    };
    if path.join("owner.lock").exists() || entries.next().is_none() {
        return Ok(());
    }
    Err(ClusterError::ForeignFolder { folder: path.to_owned() })
}

/// Makes the folder, or checks that it is ours alone, and gives it to the account.
fn private_folder(path: &Path, account: &Account) -> Result<(), ClusterError> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(problem) if problem.kind() != io::ErrorKind::AlreadyExists => {
            return Err(problem).doing("create", path);
        }
        _ => {}
    }
    let unsafe_folder = |problem| ClusterError::UnsafeFolder { folder: path.to_owned(), problem };
    // Not through a link: in /tmp anybody can have put one here.
    let found = fs::symlink_metadata(path).doing("look at", path)?;
    if !found.is_dir() {
        return Err(unsafe_folder("is not a folder"));
    }
    let me = rustix::process::geteuid().as_raw();
    if found.uid() != me && found.uid() != account.uid() {
        return Err(unsafe_folder("belongs to another user"));
    }
    fs::set_permissions(path, fs::Permissions::from_mode(0o700)).doing("close", path)?;
    account.own(path).doing("give away", path)
}

/// Takes the lock that dies with this process, however it ends.
fn lock(folder: &Path) -> Result<File, ClusterError> {
    let path = folder.join("owner.lock");
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .doing("open", &path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut owner = String::new();
            file.read_to_string(&mut owner).doing("read", &path)?;
            return Err(ClusterError::InUse {
                folder: folder.to_owned(),
                owner: owner.trim().to_owned(),
            });
        }
        Err(TryLockError::Error(problem)) => return Err(problem).doing("lock", &path),
    }
    file.set_len(0).doing("write", &path)?;
    file.rewind().doing("write", &path)?;
    write!(file, "{}", std::process::id()).doing("write", &path)?;
    Ok(file)
}

/// Beside the data, or in /tmp where that path would be too long for a socket.
fn socket_folder(folder: &Path, account: &Account) -> Result<PathBuf, ClusterError> {
    let beside = folder.join("socket");
    let socket = if beside.as_os_str().len() + SOCKET_NAME < SOCKET_PATH_LIMIT {
        beside
    } else {
        PathBuf::from(format!("/tmp/onceover-{}", short_hash(folder)))
    };
    private_folder(&socket, account)?;
    Ok(socket)
}

fn short_hash(path: &Path) -> String {
    hex::encode(&Sha256::digest(path.as_os_str().as_bytes())[..6])
}

fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_other_files_is_never_taken() {
        let folder = std::env::temp_dir().join(format!("foreign-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a test folder");
        fs::write(folder.join("thesis.txt"), "mine").expect("a file");
        let refused = Folder::open(&folder, false);
        fs::remove_dir_all(&folder).expect("cleaned up");
        assert!(matches!(refused, Err(ClusterError::ForeignFolder { .. })));
    }

    #[test]
    fn a_folder_that_a_stranger_prepared_is_refused() {
        let folder = std::env::temp_dir().join(format!("linked-{}", std::process::id()));
        std::os::unix::fs::symlink("/var/tmp", &folder).expect("a link");
        let account = Account::choose(&folder).expect("an account");
        let refused = private_folder(&folder, &account);
        fs::remove_file(&folder).expect("cleaned up");
        assert!(matches!(refused, Err(ClusterError::UnsafeFolder { .. })));
    }
}
