//! What the demo keeps between two runs, in files that nobody else may read.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{auth::password::random_password, commands::Failure, config::Secret};

/// `demo.json`: how programs on this machine get in.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Demo {
    pub(super) url: String,
    pub(super) database_url: String,
    pub(super) password: String,
    pub(super) staff_tokens: BTreeMap<String, String>,
    pub(super) service_tokens: BTreeMap<String, String>,
    pub(super) sandbox_url: String,
}

/// `secrets.json`: what must stay the same while the data does.
#[derive(Serialize, Deserialize)]
struct Secrets {
    search_secret: String,
    webhook_secret: String,
    password: Option<String>,
    #[serde(default = "secret")]
    event_secret: String,
    /// Which edition of the story was told to its end; 0: none of this list.
    #[serde(default)]
    story_edition: u32,
}

/// The story as it is told now. One that an older program told is told again: what it had in common
/// with this one stands under the same keys.
const STORY_EDITION: u32 = 2;

/// The demo's files.
pub(super) struct Kept {
    folder: PathBuf,
    secrets: Secrets,
}

impl Kept {
    /// Reads what an earlier run left.
    pub(super) fn open(folder: &Path) -> Result<Self, Failure> {
        let secrets = read(&folder.join("secrets.json"))?.unwrap_or_else(|| Secrets {
            search_secret: secret(),
            webhook_secret: secret(),
            password: None,
            event_secret: secret(),
            story_edition: 0,
        });
        let kept = Self { folder: folder.to_owned(), secrets };
        kept.save()?;
        Ok(kept)
    }

    /// The password of the last run, or a new one.
    pub(super) fn password(&self) -> Secret {
        Secret::new(self.secrets.password.clone().unwrap_or_else(random_password))
    }

    /// Whether the accounts have this password already.
    pub(super) fn is_password(&self, password: &Secret) -> bool {
        self.secrets.password.as_deref() == Some(password.expose())
    }

    pub(super) fn set_password(&mut self, password: &Secret) -> Result<(), Failure> {
        self.secrets.password = Some(password.expose().to_owned());
        self.save()
    }

    pub(super) fn search_secret(&self) -> Secret {
        Secret::new(self.secrets.search_secret.clone())
    }

    pub(super) fn webhook_secret(&self) -> Secret {
        Secret::new(self.secrets.webhook_secret.clone())
    }

    pub(super) fn event_secret(&self) -> Secret {
        Secret::new(self.secrets.event_secret.clone())
    }

    pub(super) const fn story_told(&self) -> bool {
        self.secrets.story_edition == STORY_EDITION
    }

    pub(super) fn set_story_told(&mut self) -> Result<(), Failure> {
        self.secrets.story_edition = STORY_EDITION;
        self.save()
    }

    /// What the last run wrote for programs, where it can be read.
    pub(super) fn demo(&self) -> Option<Demo> {
        read(&self.folder.join("demo.json")).ok().flatten()
    }

    pub(super) fn write_demo(&self, demo: &Demo) -> Result<(), Failure> {
        write(&self.folder.join("demo.json"), demo)
    }

    fn save(&self) -> Result<(), Failure> {
        write(&self.folder.join("secrets.json"), &self.secrets)
    }
}

fn secret() -> String {
    hex::encode(rand::random::<[u8; 32]>())
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, Failure> {
    let fault = |error: &(dyn std::error::Error + 'static)| {
        Failure::doing(
            &format!("cannot read {}; remove the folder to begin anew", path.display()),
            error,
        )
    };
    match fs::read(path) {
        Ok(text) => serde_json::from_slice(&text).map(Some).map_err(|error| fault(&error)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(fault(&error)),
    }
}

/// Writes beside the file and renames, so that a reader sees the old or the new, never half.
fn write<T: Serialize>(path: &Path, value: &T) -> Result<(), Failure> {
    let beside = path.with_extension("new");
    let written = || -> io::Result<()> {
        let _ = fs::remove_file(&beside);
        let mut file =
            fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
        file.write_all(&serde_json::to_vec_pretty(value)?)?;
        file.write_all(b"\n")?;
        file.sync_all()?;
        fs::rename(&beside, path)
    };
    written().map_err(|error| Failure::doing(&format!("cannot write {}", path.display()), &error))
}
