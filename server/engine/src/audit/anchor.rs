//! The heads of all chains, taken to places outside the database: a file that lines are added to, and a
//! destination of events.
//!
//! Guards against whoever rewrites a chain together with its head: what was kept outside before shows it
//! (`onceover audit verify --against`). One of all processes takes them there each time; a place that
//! cannot be reached is tried again and is told on the first page.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use chrono::{DateTime, SecondsFormat, Utc};
use domain::ids::EventId;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

pub use crate::settings::Anchors;
use crate::{
    Engine,
    error::EngineError,
    outbox::{Envelope, hand_over},
    report::Report,
    settings::Destination,
    store::{audit_anchor, lease},
};

/// Heads in one document, and in one write.
const PAGE: i64 = 500;
/// After how many seconds a place that was not reached is tried again.
const RETRY_SECS: i32 = 60;
/// What the document is called.
const TOPIC: &str = "audit.anchored";

/// The newest entry of a chain, as it is kept outside: one line of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnchoredHead {
    /// When it was read.
    pub at: DateTime<Utc>,
    /// The tenant's short name.
    pub tenant: String,
    /// Its id, by which the chain is found.
    pub tenant_id: Uuid,
    /// The entry's place.
    pub seq: i64,
    /// Its hash, in hexadecimal digits.
    pub hash: String,
}

/// A place outside.
enum Place {
    File(PathBuf),
    Destination(Destination),
}

impl Place {
    const fn name(&self) -> &'static str {
        match self {
            Self::File(_) => "file",
            Self::Destination(_) => "destination",
        }
    }

    async fn take(&self, heads: Vec<AnchoredHead>) -> Result<(), String> {
        match self {
            Self::File(path) => {
                let path = path.clone();
                let added = tokio::task::spawn_blocking(move || append(&path, &heads)).await;
                added.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
            }
            Self::Destination(destination) => {
                hand_over(destination, &document(&heads).map_err(|error| error.to_string())?).await
            }
        }
    }
}

impl Engine {
    /// Takes the heads to each place that is due, where one is configured.
    ///
    /// # Errors
    /// [`EngineError::Anchor`] for the first place that was not reached; the others were tried.
    pub async fn anchor_due(&self) -> Result<Report, EngineError> {
        self.anchor(false).await
    }

    /// Takes the heads to each configured place now.
    ///
    /// # Errors
    /// As [`Engine::anchor_due`].
    pub async fn anchor_now(&self) -> Result<Report, EngineError> {
        self.anchor(true).await
    }

    async fn anchor(&self, now: bool) -> Result<Report, EngineError> {
        let (mut report, mut failed) = (Report::default(), None);
        for place in self.places() {
            match self.anchor_at(&place, now).await {
                Ok(handled) => report.handled += handled,
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(report), Err)
    }

    fn places(&self) -> Vec<Place> {
        let anchors = &self.settings.anchors;
        let named = anchors.destination.as_ref().and_then(|name| {
            self.settings.destinations.iter().find(|destination| destination.name == *name)
        });
        let file = anchors.file.clone().map(Place::File);
        file.into_iter().chain(named.cloned().map(Place::Destination)).collect()
    }

    async fn anchor_at(&self, place: &Place, now: bool) -> Result<u64, EngineError> {
        let (engine, name) = (self.clone(), place.name());
        // No connection is held while a place is written to.
        let claimed = Self::detached(async move {
            let mut db = engine.pools.engine().acquire().await?;
            Ok(now || audit_anchor::claim(&mut db, name, RETRY_SECS).await?)
        });
        if !claimed.await? {
            return Ok(0);
        }
        let (mut handled, mut after) = (0, Uuid::nil());
        loop {
            let heads = self.heads_after(after).await?;
            let Some(last) = heads.last() else { break };
            after = last.tenant_id;
            handled += u64::try_from(heads.len()).unwrap_or_default();
            place.take(heads).await.map_err(|said| EngineError::Anchor(name, said))?;
        }
        let engine = self.clone();
        Self::detached(async move {
            let mut db = engine.pools.engine().acquire().await?;
            audit_anchor::arrived(&mut db, name, engine.settings.anchors.every_minutes).await
        })
        .await?;
        Ok(handled)
    }

    async fn heads_after(&self, after: Uuid) -> Result<Vec<AnchoredHead>, EngineError> {
        let engine = self.clone();
        Self::detached(async move {
            let mut db = engine.pools.engine().acquire().await?;
            let at = lease::clock(&mut db).await?;
            let heads = audit_anchor::heads(&mut db, after, PAGE).await?.into_iter();
            let anchored = heads.map(|head| AnchoredHead {
                at,
                tenant: head.tenant,
                tenant_id: head.tenant_id,
                seq: head.seq,
                hash: head.hash,
            });
            Ok(anchored.collect())
        })
        .await
    }
}

/// The document that a destination gets: the same heads are the same document under the same id.
fn document(heads: &[AnchoredHead]) -> Result<Envelope, serde_json::Error> {
    let data = serde_json::to_vec(heads)?;
    let digest: [u8; 32] = Sha256::digest(&data).into();
    let id = Uuid::from_slice(&digest[..16]).unwrap_or_default();
    let sent_at = heads.first().map(|head| head.at).unwrap_or_default();
    let body = serde_json::to_vec(&json!({
        "specversion": "1.0",
        "id": id,
        "source": "/onceover",
        "type": TOPIC,
        "time": sent_at.to_rfc3339_opts(SecondsFormat::Micros, true),
        "datacontenttype": "application/json",
        "data": { "heads": heads },
    }))?;
    Ok(Envelope { id: EventId::new(id), topic: TOPIC.into(), sent_at, body, link: None })
}

/// Adds a line for each head and waits until the disk has them.
fn append(path: &Path, heads: &[AnchoredHead]) -> io::Result<()> {
    let mut bytes = Vec::new();
    let is_new = !path.exists();
    let mut file =
        OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
    // A line that a crash cut short must not swallow the next.
    if file.seek(SeekFrom::End(0))? > 0 {
        file.seek(SeekFrom::End(-1))?;
        let mut last = [0];
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            bytes.push(b'\n');
        }
    }
    for head in heads {
        serde_json::to_writer(&mut bytes, head)?;
        bytes.push(b'\n');
    }
    file.write_all(&bytes)?;
    file.sync_all()?;
    if is_new && let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(seq: i64) -> AnchoredHead {
        AnchoredHead {
            at: DateTime::UNIX_EPOCH,
            tenant: "acme".into(),
            tenant_id: Uuid::from_u128(7),
            seq,
            hash: "ab".into(),
        }
    }

    #[test]
    fn lines_are_added_and_one_that_was_cut_short_swallows_none() {
        let path = std::env::temp_dir().join(format!("onceover-anchor-{}", std::process::id()));
        append(&path, &[head(1), head(2)]).unwrap();
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"{\"at\":\"19").unwrap();
        append(&path, &[head(3)]).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let read: Vec<Option<i64>> = text
            .lines()
            .map(|line| serde_json::from_str(line).ok().map(|head: AnchoredHead| head.seq))
            .collect();
        assert_eq!(read, [Some(1), Some(2), None, Some(3)]);
    }

    #[test]
    fn the_same_heads_are_the_same_document() {
        let (one, again) = (document(&[head(1)]).unwrap(), document(&[head(1)]).unwrap());
        assert_eq!((one.id, &one.body), (again.id, &again.body));
        assert_ne!(one.id, document(&[head(2)]).unwrap().id);
    }
}
