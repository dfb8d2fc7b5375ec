//! Who runs the server. PostgreSQL refuses root, so under root the work is given to
//! an unprivileged user; that user must be able to reach what it is given.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::binaries::Binaries;
use crate::error::ClusterError;

/// The user that owns the data and runs the server.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    uid: u32,
    gid: u32,
    /// Set when the program itself is root and must switch.
    switch: bool,
    name: String,
}

impl Account {
    /// Chooses the account: ourselves, or under root the owner of existing data,
    /// else `postgres`, else `nobody`. Creates no user.
    pub(crate) fn choose(pgdata: &Path) -> Result<Self, ClusterError> {
        let me = rustix::process::geteuid();
        if !me.is_root() {
            return Ok(Self {
                uid: me.as_raw(),
                gid: rustix::process::getegid().as_raw(),
                switch: false,
                name: "this user".to_owned(),
            });
        }
        if let Ok(owner) = fs::metadata(pgdata)
            && owner.uid() != 0
        {
            return Ok(Self {
                uid: owner.uid(),
                gid: owner.gid(),
                switch: true,
                name: format!("uid {}", owner.uid()),
            });
        }
        ["postgres", "nobody"].into_iter().find_map(Self::by_name).ok_or(ClusterError::NoAccount)
    }

    fn by_name(name: &str) -> Option<Self> {
        // `id` asks whatever the machine keeps its users in, not just /etc/passwd.
        let ask = |flag| -> Option<u32> {
            let answer = Command::new("id").args([flag, name]).output().ok()?;
            String::from_utf8_lossy(&answer.stdout).trim().parse().ok()
        };
        match (ask("-u")?, ask("-g")?) {
            (0, _) => None,
            (uid, gid) => Some(Self { uid, gid, switch: true, name: name.to_owned() }),
        }
    }

    /// The numeric user id.
    pub(crate) fn uid(&self) -> u32 {
        self.uid
    }

    /// How to speak of this user.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether another user than the caller runs the server.
    pub(crate) fn is_other(&self) -> bool {
        self.switch
    }

    /// A command that runs as this user, away from a working directory it may not
    /// enter, in a process group of its own: Ctrl-C belongs to the owner, which
    /// stops its work first and the server last.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir("/").process_group(0);
        for name in ["PGDATA", "PGHOST", "PGPORT", "PGUSER", "PGOPTIONS"] {
            command.env_remove(name);
        }
        if self.switch {
            command.uid(self.uid).gid(self.gid);
        }
        command
    }

    /// Gives a file or folder to this user.
    pub(crate) fn own(&self, path: &Path) -> std::io::Result<()> {
        if self.switch {
            std::os::unix::fs::chown(path, Some(self.uid), Some(self.gid))?;
        }
        Ok(())
    }

    /// Whether this user can enter the folder, found out by doing it.
    pub(crate) fn reaches(&self, folder: &Path) -> bool {
        self.command(Path::new("/bin/sh"))
            .args(["-c", "cd -- \"$1\"", "sh"])
            .arg(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }

    /// Fails with a sentence when this user cannot execute the server.
    pub(crate) fn can_run(&self, binaries: &Binaries) -> Result<(), ClusterError> {
        let program = binaries.postgres();
        let refused = |reason: String| ClusterError::NotExecutable {
            account: self.name.clone(),
            program: program.clone(),
            reason,
        };
        match self.command(&program).arg("--version").output() {
            Ok(answer) if answer.status.success() => Ok(()),
            Ok(answer) => Err(refused(String::from_utf8_lossy(&answer.stderr).trim().to_owned())),
            Err(problem) => Err(refused(problem.to_string())),
        }
    }
}
