//! R21: the database's disk is full. What needs room is refused as unavailable, whole; once there is
//! room again the same requests are taken, by themselves, and nothing is left half done.
//!
//! The tables lie on a small file system of their own; the write-ahead log does not, for without room
//! there PostgreSQL itself ends, and what is asked then is R17.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use cluster::{Cluster, Options};
use domain::problem::Code;
use engine::{Admission, Attach, Reserve};
use rand::Rng as _;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use testkit::TestDatabase;

use crate::{
    console::confirmation,
    effects::Effect,
    invariants::invariants,
    report::{Tally, say},
    scene::Scene,
    seed,
};

const SIZE: &str = "64m";
/// Requests that may still find room within pages that are there.
const MOST: usize = 200;

/// A small file system in memory, gone with the value.
struct Disk(PathBuf);

impl Disk {
    /// `None` where this user may not mount one.
    fn mount(uid: u32, gid: u32) -> Option<Self> {
        let place = std::env::temp_dir()
            .join(format!("onceover-disk-{}", hex::encode(rand::random::<[u8; 6]>())));
        fs::create_dir(&place).unwrap();
        let options = format!("size={SIZE},mode=0700,uid={uid},gid={gid}");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "tmpfs"])
            .arg(&place)
            .output()
            .is_ok_and(|output| output.status.success());
        if mounted {
            return Some(Self(place));
        }
        let _ = fs::remove_dir(&place);
        None
    }

    fn ballast(&self) -> PathBuf {
        self.0.join("ballast")
    }

    /// Writes until there is no room left.
    fn fill(&self) {
        let mut file = fs::File::create(self.ballast()).unwrap();
        for size in [1024 * 1024, 4096, 1] {
            while file.write_all(&vec![0; size]).is_ok() {}
        }
    }

    fn free(&self) {
        fs::remove_file(self.ballast()).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
        let _ = fs::remove_dir(&self.0);
    }
}

/// A request that needs new pages: its payload does not compress.
fn large(n: usize) -> Reserve {
    let mut request = Effect::Mail.request(&format!("full-{n}"), false);
    let noise: String = (0..60_000).map(|_| char::from(rand::random_range(b'a'..=b'z'))).collect();
    let text = String::from_utf8(request.payload).unwrap();
    let text = text.replacen('{', &format!("{{\"note\":\"{noise}\","), 1);
    request.payload = text.into_bytes();
    request
}

/// Bytes that do not compress.
fn noise(length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    rand::rng().fill_bytes(&mut bytes);
    bytes
}

async fn on_its_own_disk(server: &Cluster, disk: &Path) -> TestDatabase {
    let database = TestDatabase::create_at(&server.url("postgres")).await;
    let mut owner = PgConnection::connect(&server.url("postgres")).await.unwrap();
    for sql in [
        format!("create tablespace small location '{}'", disk.display()),
        format!("alter database {} set tablespace small", database.name()),
    ] {
        sqlx::query(AssertSqlSafe(sql)).execute(&mut owner).await.unwrap();
    }
    owner.close().await.unwrap();
    database
}

const FILES: &str = "select count(*) from evidence where file_size is not null";
const FILES_AUDITED: &str = "select count(*) from audit where action = 'evidence'";

const BROKEN: &str = "select count(*) from (select hash <> sha256(coalesce(lag(hash) over w, '') || convert_to(
    (jsonb_build_array(tenant_id, seq, extract(epoch from at), actor_kind, actor_id, actor, action, target_type,
      target_id, result, code, reason, before, after, receipt, request_id)
      || case when client is null then '[]' else jsonb_build_array(client) end)::text, 'UTF8')) as broken
    from audit window w as (partition by tenant_id order by seq)) links where broken";

/// Fills the disk, asks, decides, frees it, and asks again.
///
/// # Panics
/// Where an invariant does not hold, or something is taken by halves.
pub async fn full_disk() -> Option<Tally> {
    let server = tokio::task::spawn_blocking(|| {
        Cluster::start(&std::env::temp_dir(), Options::throwaway()).unwrap()
    })
    .await
    .unwrap();
    let owner = fs::metadata(server.folder().join("pgdata")).unwrap();
    let Some(disk) = Disk::mount(owner.uid(), owner.gid()) else {
        say("R21: NOT RUN: this user may not mount a small file system (it takes root)");
        tokio::task::spawn_blocking(move || drop(server)).await.unwrap();
        return None;
    };
    let scene = Scene::open_on("disk", true, on_its_own_disk(&server, &disk.0).await).await;
    // One for a person to decide while there is no room.
    let mut rng = seed::of("disk");
    scene.mode(sandbox::providers::Mode::ApplyDrop).await;
    let open = scene.queue(&mut rng).await;
    scene.round_of_calls().await;
    scene.engine.reconcile_due().await.unwrap();
    let request = confirmation(&scene, open.id).await;

    disk.fill();
    let (mut taken, mut refused) = (0, Vec::new());
    for n in 0..MOST {
        let request = large(n);
        match scene.engine.reserve(&scene.service, request.clone()).await {
            Ok(Admission::Queued { .. }) => taken += 1,
            Ok(other) => panic!("{other:?}"),
            Err(error) => {
                assert_eq!(error.refusal().code, Code::Unavailable, "{error:?}");
                refused.push(request);
            }
        }
        if refused.len() == 20 {
            break;
        }
    }
    assert_eq!(refused.len(), 20, "the disk is not full");
    let while_full = scene.engine.act(&scene.operator, request.clone()).await;
    if let Err(error) = &while_full {
        assert_eq!(error.refusal().code, Code::Unavailable, "{error:?}");
    }
    // A decision may find room within pages that are there; what a file takes there is not.
    let file = Attach { name: "page.png".into(), bytes: noise(512 * 1024), text: None };
    let attach = || scene.engine.attach_evidence(&scene.operator, open.id, file.clone());
    let error = attach().await.expect_err("there is no room for a file");
    assert_eq!(error.refusal().code, Code::Unavailable, "{error:?}");
    assert_eq!(scene.count(FILES).await, 0, "nothing of it is there");
    assert_eq!(scene.count(FILES_AUDITED).await, 0);
    for request in &refused {
        let there: i64 = sqlx::query_scalar("select count(*) from operations where key = $1")
            .bind(&request.key)
            .fetch_one(scene.database.owner_pool())
            .await
            .unwrap();
        assert_eq!(there, 0, "{} is there by halves", request.key);
    }
    let audited = scene.count("select count(*) from audit where action = 'confirm'").await;
    assert_eq!(audited, i64::from(while_full.is_ok()), "a decision and its audit row, or neither");
    assert_eq!(scene.count(BROKEN).await, 0, "the chain is whole");

    disk.free();
    let times = refused.len();
    for request in refused {
        let key = request.key.clone();
        let admission = scene.engine.reserve(&scene.service, request).await.unwrap();
        assert!(matches!(admission, Admission::Queued { .. }), "{key} was there already");
    }
    assert!(!attach().await.unwrap().replayed, "the file was there already");
    assert_eq!((scene.count(FILES).await, scene.count(FILES_AUDITED).await), (1, 1));
    let decided = match scene.engine.act(&scene.operator, request).await {
        Ok(again) => {
            assert_eq!(again.done().unwrap().replayed, while_full.is_ok());
            if while_full.is_ok() { "done while full" } else { "done after" }
        }
        // A reconciler may have asked meanwhile: then there is nothing left to decide.
        Err(error) => {
            assert_eq!(error.refusal().code, Code::NotAllowedInState, "{error:?}");
            assert!(while_full.is_err());
            "left to the provider's answer"
        }
    };
    scene.quiet().await;
    let sent = "select count(*) from operations where key like 'full-%' and status = 'succeeded'";
    assert_eq!(scene.count(sent).await, i64::try_from(taken + times).unwrap());
    assert_eq!(scene.count(BROKEN).await, 0);
    say(&format!(
        "R21: disk full: {taken} found room within pages, {times} refused (503), 0 by halves, chain whole; \
         after it was freed {times} of {times} taken, a file refused and then taken, decision {}",
        decided
    ));
    let tally = Tally::of(0, scene.all_asked().len(), invariants(&scene).await);
    tally.tell("disk", "");
    drop(scene);
    tokio::task::spawn_blocking(move || drop((server, disk))).await.unwrap();
    Some(tally)
}
