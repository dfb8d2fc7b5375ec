//! Agreeing to A must never carry out B (T24): a stored request that is not what was asked for is void,
//! whoever changed it and whatever they changed.

use super::*;

/// What the database's owner writes into a request that waits; nobody else can change one.
const CHANGES: [&str; 8] = [
    "update approvals set decision = jsonb_set(decision, '{external_reference}', '\"ch_2\"') where id = $1",
    "update approvals set decision = jsonb_set(decision, '{outcome}', '\"not_happened_stop\"') where id = $1",
    "update approvals set decision = '[]' where id = $1",
    "update approvals set verb = 'cancel' where id = $1",
    "update approvals set seen = jsonb_set(seen, '{why}', '\"a trifle\"') where id = $1",
    "update approvals set amount_minor = 1 where id = $1",
    "update approvals set target_id = (select id::text from operations where key = 'other') where id = $1",
    "update approvals set binds = sha256('another decision') where id = $1",
];

async fn write(scene: &Scene, statement: &'static str, id: ApprovalId) {
    let pool = scene.fixture.pool();
    let guard = |sql: &'static str| async move { sqlx::query(sql).execute(pool).await.unwrap() };
    guard("alter table approvals disable trigger approvals_check_move").await;
    let changed = sqlx::query(statement).bind(id.uuid()).execute(pool).await.unwrap();
    assert_eq!(changed.rows_affected(), 1, "{statement}");
    guard("alter table approvals enable trigger approvals_check_move").await;
}

#[tokio::test]
async fn a_stored_request_that_is_not_what_was_asked_for_is_void() {
    let scene = Scene::open().await;
    let (other, _) = scene.large("other").await;
    for (n, change) in CHANGES.into_iter().enumerate() {
        let (id, version) = scene.large(&format!("k-{n}")).await;
        let request = scene.ask(happened(id, version, "ch_1")).await;
        write(&scene, change, request.id).await;

        let refusal = scene.approve(&scene.ada, request.id).await.unwrap_err().refusal();
        assert_eq!(refusal.code, Code::Stale, "{change}");
        assert_eq!(
            refusal.detail.as_deref(),
            Some("The stored request is not what was asked for."),
            "{change}"
        );
        assert_eq!(scene.fixture.status(id).await, "unknown", "{change}");
        assert_eq!(code(scene.approve(&scene.ben, request.id).await), Code::Stale, "for good");
    }
    assert_eq!(scene.fixture.status(other).await, "unknown");
    for (what, expected) in [
        (SETTLED, 0),
        (RECEIPTS, 0),
        (DECIDED, 0),
        ("select count(*) from approvals where status = 'stale'", 8),
        ("select count(*) from audit where action = 'approve' and result = 'denied'", 16),
    ] {
        assert_eq!(scene.count(what).await, expected, "{what}");
    }
    // The way is free for another request, which is carried out as it was asked for.
    let next = scene.ask(happened(other, scene.version(other).await, "ch_1")).await;
    scene.approve(&scene.ada, next.id).await.unwrap();
    assert_eq!(scene.fixture.status(other).await, "succeeded");
    testkit::threat("T24", 2 * CHANGES.len(), 0);
}
