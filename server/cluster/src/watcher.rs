//! A small shell that outlives its owner by a moment and stops the server then.
//!
//! Guards against an owner that is killed outright, or ends on a signal it does not
//! handle: no destructor runs then, and a server would stay behind. The shell reads a
//! pipe whose other end only the owner holds; the kernel closes it however the owner
//! ends.

use std::io::Write;
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};

use crate::error::{ClusterError, IoContext};
use crate::folder::Folder;

/// `$1` the data folder; `$2` what to remove afterwards, or empty; `$3` likewise.
///
/// The pid file is compared with the pid the owner told: should another program have
/// taken over the folder meanwhile, its server is left alone.
const SCRIPT: &str = r#"
trap '' INT TERM HUP
pid=
while read -r line; do pid=$line; done
running() { [ -n "$pid" ] && [ "$(head -n 1 "$1/postmaster.pid" 2>/dev/null)" = "$pid" ]; }
if running "$1"; then
  kill -INT "$pid" 2>/dev/null
  tries=0
  while running "$1" && [ "$tries" -lt 40 ]; do
    sleep 1
    tries=$((tries + 1))
    [ "$tries" -eq 30 ] && kill -QUIT "$pid" 2>/dev/null
  done
fi
for folder in "$2" "$3"; do
  [ -n "$folder" ] && rm -rf -- "$folder"
done
exit 0
"#;

/// The waiting shell and our end of its pipe.
#[derive(Debug)]
pub(crate) struct Watcher {
    shell: Child,
    pipe: Option<ChildStdin>,
}

impl Watcher {
    /// Begins to watch this process, before there is a server.
    pub(crate) fn start(folder: &Folder) -> Result<Self, ClusterError> {
        let shell = Path::new("/bin/sh");
        let mut command = folder.account().command(shell);
        command.args(["-c", SCRIPT, "onceover-watcher"]).arg(folder.pgdata());
        if folder.throwaway() {
            command.arg(folder.path()).arg(folder.socket());
        }
        let mut shell = command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .doing("run", shell)?;
        let pipe = shell.stdin.take();
        Ok(Self { shell, pipe })
    }

    /// Names the server that is to end with us; the last one named counts.
    pub(crate) fn guard(&mut self, postmaster: u32) -> Result<(), ClusterError> {
        match &mut self.pipe {
            Some(pipe) => writeln!(pipe, "{postmaster}").doing("tell", Path::new("the watcher")),
            None => Ok(()),
        }
    }

    /// Lets the shell go after the server was stopped, and waits for it.
    pub(crate) fn dismiss(&mut self) {
        drop(self.pipe.take());
        // It holds nothing but itself by now; a failed wait leaves a zombie at most.
        let _ = self.shell.wait();
    }
}
