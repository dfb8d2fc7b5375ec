//! Evidence as a file: kept once under its hash, named by decisions, seen by the second person as it
//! was, and gone with the operation's contents (D39).

use std::time::Duration;

use domain::{access::Role, action::Verb, ids::OperationId, problem::Code, view::EvidenceFile};
use engine::{ActionRequest, EngineError, FinishOutcome, Settling, StaffCaller, actions::Attach};

use crate::fixture::{Fixture, action, add_tenant, asked, code, done, happened, person};

const FILES: &str = "select count(*) from evidence where file_size is not null";

async fn attach(
    fixture: &Fixture,
    by: &StaffCaller,
    id: OperationId,
    name: &str,
    bytes: &[u8],
) -> Result<EvidenceFile, EngineError> {
    let attach = Attach { name: name.into(), bytes: bytes.to_vec(), text: None };
    fixture.engine.attach_evidence(by, id, attach).await.map(|attached| attached.file)
}

#[tokio::test]
async fn a_file_moves_no_version_is_kept_once_and_comes_back_as_it_was() {
    let fixture = Fixture::new().await;
    let (id, version) = fixture.needs_person("k").await;
    let olga = fixture.person("olga", Role::Operator).await;
    let first = attach(&fixture, &olga, id, "../page.pdf", b"%PDF").await.unwrap();
    let again = attach(&fixture, &olga, id, "other.pdf", b"%PDF").await.unwrap();
    assert_eq!((again.id, first.name.as_deref()), (first.id, Some("page.pdf")));
    assert_eq!(fixture.count(FILES).await, 1);
    let audited = "select count(*) from audit where action = 'evidence' and result = 'done'";
    assert_eq!(fixture.count(audited).await, 1);
    let page = fixture.engine.operation(&olga, id).await.unwrap();
    assert_eq!(page.row.version, version);
    assert_eq!(page.evidence.last().unwrap().file.as_ref(), Some(&first));
    let (name, bytes) = fixture.engine.evidence_file(&olga, id, first.id).await.unwrap();
    assert_eq!((name.as_str(), bytes.as_slice()), ("page.pdf", &b"%PDF"[..]));
}

#[tokio::test]
async fn what_may_not_be_attached_is_refused_and_leaves_nothing() {
    let fixture = Fixture::new().await;
    let (id, _) = fixture.needs_person("k").await;
    let olga = fixture.person("olga", Role::Operator).await;
    let vic = fixture.person("vic", Role::Viewer).await;
    add_tenant(&fixture.db, &fixture.engine, "globex").await;
    let gil = person(&fixture.db, &fixture.engine, "globex", "gil", Role::Operator).await;
    let limit = fixture.engine.settings().limits.evidence_bytes;
    let large = vec![7; limit + 1];
    for (by, bytes, refused) in [
        (&olga, &large[..], Code::TooLarge),
        (&olga, &b""[..], Code::Unprocessable),
        (&vic, &b"x"[..], Code::PermissionMissing),
        (&gil, &b"x"[..], Code::NotFound),
    ] {
        assert_eq!(code(attach(&fixture, by, id, "f", bytes).await), refused);
    }
    assert_eq!(fixture.count(FILES).await, 0);
    let denied = "select count(*) from audit where action = 'evidence' and result = 'denied'";
    assert_eq!(fixture.count(denied).await, 4);
    let kept = attach(&fixture, &olga, id, "f", &large[..limit]).await.unwrap();
    assert_eq!(code(fixture.engine.evidence_file(&gil, id, kept.id).await), Code::NotFound);
}

#[tokio::test]
async fn a_decision_names_its_files_and_only_those_of_its_operation() {
    let fixture = Fixture::new().await;
    let (id, version) = fixture.needs_person("k").await;
    let (other, _) = fixture.needs_person("other").await;
    let olga = fixture.person("olga", Role::Operator).await;
    let own = attach(&fixture, &olga, id, "page.pdf", b"%PDF").await.unwrap();
    let strange = attach(&fixture, &olga, other, "page.pdf", b"%PDF").await.unwrap();
    let wrong = ActionRequest { evidence_files: vec![strange.id], ..happened(id, version, "ch_1") };
    assert_eq!(code(fixture.engine.act(&olga, wrong).await), Code::Unprocessable);
    let named = ActionRequest { evidence_files: vec![own.id], ..happened(id, version, "ch_1") };
    let acted = done(fixture.engine.act(&olga, named).await);
    assert_eq!(acted.receipt.evidence_files, std::slice::from_ref(&own));
    // The evidence is no part of the decision: the same one without it is answered by its receipt.
    let again = done(fixture.engine.act(&olga, happened(id, version, "ch_1")).await);
    assert!(again.replayed);
    assert_eq!(again.receipt.evidence_files, [own]);
}

#[tokio::test]
async fn the_id_of_a_file_given_as_evidence_names_the_file() {
    let fixture = Fixture::new().await;
    let (id, version) = fixture.needs_person("k").await;
    let olga = fixture.person("olga", Role::Operator).await;
    let file = attach(&fixture, &olga, id, "page.pdf", b"%PDF").await.unwrap();
    let named =
        ActionRequest { evidence: Some(file.id.to_string()), ..happened(id, version, "ch_1") };
    let acted = done(fixture.engine.act(&olga, named).await);
    assert_eq!((acted.receipt.evidence, acted.receipt.evidence_files), (None, vec![file]));
}

#[tokio::test]
async fn the_second_person_sees_the_file_and_nobody_can_exchange_it() {
    let fixture = Fixture::new().await;
    let (id, version) = fixture.needs_person("k").await;
    let olga = fixture.person("olga", Role::Operator).await;
    let ada = fixture.person("ada", Role::Approver).await;
    fixture.db.advance_clock(Duration::from_secs(71)).await;
    let file = attach(&fixture, &olga, id, "page.pdf", b"%PDF").await.unwrap();
    let stop = ActionRequest {
        outcome: Some(domain::action::Outcome::NotHappenedStop),
        evidence_files: vec![file.id],
        ..action(id, Verb::Confirm, version)
    };
    let request = asked(fixture.engine.act(&olga, stop).await);
    let seen = fixture.engine.approval(&ada, request.id).await.unwrap();
    assert_eq!(seen.evidence_files, std::slice::from_ref(&file));
    let exchanged = sqlx::query("update evidence set file = 'x' where file is not null")
        .execute(fixture.pool())
        .await;
    assert!(exchanged.is_err(), "what two people decide by stays what they saw");
    let acted = fixture.engine.approve(&ada, request.id, Settling::default()).await.unwrap();
    assert_eq!(acted.receipt.evidence_files, [file]);
}

#[tokio::test]
async fn a_tombstone_keeps_the_hash_and_drops_the_bytes_and_the_name() {
    let fixture = Fixture::new().await;
    let (id, fence) = fixture.executing("k").await;
    fixture.finish(id, fence, FinishOutcome::Done, Some("ch_1")).await.unwrap();
    let olga = fixture.person("olga", Role::Operator).await;
    let file = attach(&fixture, &olga, id, "ann-smith.pdf", b"%PDF").await.unwrap();
    fixture.db.settle_outbox().await;
    fixture.db.advance_clock(Duration::from_secs(86_401)).await;
    assert_eq!(fixture.engine.expire_due().await.unwrap().handled, 1);
    let left = "select count(*) from evidence where file is not null or file_name is not null";
    assert_eq!(fixture.count(left).await, 0);
    let page = fixture.engine.operation(&olga, id).await.unwrap();
    let kept = page.evidence.last().unwrap().file.clone().unwrap();
    assert_eq!((kept.name, kept.sha256), (None, file.sha256));
    assert_eq!(code(fixture.engine.evidence_file(&olga, id, file.id).await), Code::NotFound);
    assert_eq!(code(attach(&fixture, &olga, id, "f", b"y").await), Code::Tombstoned);
    let named = "select count(*) from audit where coalesce(after::text, '') like '%smith%'";
    assert_eq!(fixture.count(named).await, 0, "the log outlives the contents");
}
