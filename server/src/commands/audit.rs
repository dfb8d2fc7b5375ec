//! `onceover audit`: whether the log is as it was written, and its heads taken outside now.

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Read as _},
    path::Path,
};

use domain::ids::TenantId;
use engine::{
    Engine,
    audit::{AnchoredHead, Auditor},
};

use super::Failure;
use crate::{
    cli::Audit,
    config::{Config, Secret},
};

/// The longest line of a file of heads, in bytes.
const MAX_LINE: u64 = 4_096;
/// Heads that are compared at a time.
const AT_A_TIME: usize = 200;
/// Sentences that are told one by one; the rest is counted.
const MAX_TOLD: usize = 1_000;

/// `onceover audit …`.
///
/// # Errors
/// [`Failure`] with a sentence for each place that is not as it was written, or for what stops the
/// check.
pub async fn run(config: &Config, command: Audit) -> Result<(), Failure> {
    match command {
        Audit::Verify { tenant, against } => {
            verify(config, tenant.as_deref(), against.as_deref()).await
        }
        Audit::Anchor => anchor(config).await,
    }
}

async fn anchor(config: &Config) -> Result<(), Failure> {
    if config.anchors.file.is_none() && config.anchors.destination.is_none() {
        return Err(Failure::new(
            "no place is configured: set ONCEOVER_AUDIT_ANCHOR_FILE or \
             ONCEOVER_AUDIT_ANCHOR_DESTINATION",
        ));
    }
    let engine = Engine::connect(config.engine()?).await?;
    let report = engine.anchor_now().await?;
    println!("{} heads anchored", report.handled);
    Ok(())
}

/// What is wrong, in sentences; bounded.
#[derive(Default)]
struct Told {
    sentences: Vec<String>,
    more: usize,
}

impl Told {
    fn add(&mut self, sentence: String) {
        if self.sentences.len() < MAX_TOLD {
            self.sentences.push(sentence);
        } else {
            self.more += 1;
        }
    }

    fn into_result(mut self) -> Result<(), Failure> {
        if self.sentences.is_empty() {
            return Ok(());
        }
        if self.more > 0 {
            self.sentences.push(format!("and {} more", self.more));
        }
        Err(Failure::all(self.sentences))
    }
}

async fn verify(
    config: &Config,
    tenant: Option<&str>,
    against: Option<&Path>,
) -> Result<(), Failure> {
    config.database()?;
    let url = config.migrate_url.as_ref().map(Secret::expose).unwrap_or_default();
    Engine::check_direct(url).await?;
    let mut auditor = Auditor::connect(url).await?;
    let mut told = Told::default();
    let only = match tenant {
        Some(slug) => {
            let unknown = || Failure::new(format!("there is no tenant {slug}"));
            let id = auditor.tenant(slug).await?.ok_or_else(unknown)?;
            walk(&mut auditor, id, slug, &mut told).await?;
            Some(id)
        }
        None => {
            let mut after = String::new();
            while let Some((id, slug)) = auditor.tenant_after(&after).await? {
                walk(&mut auditor, id, &slug, &mut told).await?;
                after = slug;
            }
            None
        }
    };
    if let Some(file) = against {
        compare(&mut auditor, only, file, &mut told).await?;
    }
    told.into_result()
}

async fn walk(
    auditor: &mut Auditor,
    id: TenantId,
    slug: &str,
    told: &mut Told,
) -> Result<(), Failure> {
    let findings = auditor.verify(id).await?;
    let verdict = if findings.is_whole() { "whole" } else { "BROKEN" };
    let hash = if findings.hash.is_empty() { "-" } else { &findings.hash };
    println!("{slug}: {verdict}, rows {}, seq {}, hash {hash}", findings.rows, findings.seq);
    for fault in &findings.faults {
        told.add(format!("{slug}: {fault}"));
    }
    if findings.more > 0 {
        told.add(format!("{slug}: and {} more faults", findings.more));
    }
    Ok(())
}

/// Compares every head of a file, one stretch at a time: the newest alone would not show a chain that was
/// rewritten before it was anchored again.
async fn compare(
    auditor: &mut Auditor,
    only: Option<TenantId>,
    path: &Path,
    told: &mut Told,
) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::new(format!("{}: {error}", path.display()));
    let mut file = BufReader::new(File::open(path).map_err(failed)?);
    let (mut heads, mut compared) = (Vec::new(), 0_u64);
    for number in 1_u64.. {
        let mut line = Vec::new();
        let read = file.by_ref().take(MAX_LINE).read_until(b'\n', &mut line).map_err(failed)?;
        if read > 0 {
            match serde_json::from_slice::<AnchoredHead>(&line) {
                Ok(head) if only.is_none_or(|only| only.uuid() == head.tenant_id) => {
                    heads.push(head);
                }
                Ok(_) => {}
                Err(_) => told.add(format!("{}: line {number} is no head", path.display())),
            }
        }
        if read == 0 || heads.len() == AT_A_TIME {
            compared += u64::try_from(heads.len()).unwrap_or_default();
            for (head, fault) in heads.iter().zip(auditor.compare(&heads).await?) {
                if let Some(fault) = fault {
                    told.add(format!("{}: {fault} at {}", head.tenant, head.at.to_rfc3339()));
                }
            }
            heads.clear();
        }
        if read == 0 {
            break;
        }
    }
    println!("{compared} anchored heads compared");
    Ok(())
}
