//! What people see of messages: pages by key, filters, masked bodies, their own tenant alone.

use domain::{
    access::Role, ids::MessageId, inbox::InboxState, listing::InboxFilter, problem::Code,
};

use crate::fixture::{Fixture, code, person};

#[tokio::test]
async fn a_list_narrows_by_state_consumer_source_and_id_and_pages_both_ways() {
    let fixture = Fixture::new().await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    let mut ids = Vec::new();
    for n in 0..5 {
        let mut message = fixture.message(&format!("m-{n}")).await;
        message.source = if n < 2 { "returns".into() } else { "orders".into() };
        ids.push(fixture.expect(&message, InboxState::Processed).await.id);
    }
    ids.push(fixture.quarantined("old").await.id);
    ids.reverse();
    let list = async |filter: InboxFilter| {
        let page = fixture.engine.list_messages(&viewer, &filter).await.unwrap();
        let ids: Vec<_> = page.items.iter().map(|row| row.id).collect();
        (ids, page.next, page.previous)
    };
    let base = InboxFilter::default;
    assert_eq!(list(base()).await.0, ids);
    let of = |status| InboxFilter { status: Some(status), ..base() };
    assert_eq!(list(of(InboxState::Quarantined)).await.0, ids[..1]);
    assert_eq!(list(of(InboxState::Processed)).await.0, ids[1..]);
    assert_eq!(list(of(InboxState::Dead)).await.0, []);
    let returns = InboxFilter { source: Some("returns".into()), ..base() };
    assert_eq!(list(returns).await.0, ids[4..]);
    let nobody = InboxFilter { consumer: Some("nobody".into()), ..base() };
    assert_eq!(list(nobody).await.0, []);
    let billing = InboxFilter { consumer: Some("billing".into()), ..base() };
    assert_eq!(list(billing).await.0, ids);
    for (q, found) in [("m-", &ids[1..]), ("m-4", &ids[1..2]), ("-4", &[]), ("ol", &ids[..1])] {
        assert_eq!(list(InboxFilter { q: Some(q.into()), ..base() }).await.0, found, "{q}");
    }
    let by_id = InboxFilter { q: Some(ids[2].to_string()), ..base() };
    assert_eq!(list(by_id).await.0, ids[2..3]);
    let two = |cursor| InboxFilter { limit: Some(2), cursor, ..base() };
    let (first, next, previous) = list(two(None)).await;
    assert_eq!((first.as_slice(), previous), (&ids[..2], None));
    let (second, _, previous) = list(two(next)).await;
    assert_eq!(second, ids[2..4]);
    let (back, _, _) = list(two(previous)).await;
    let mut back = back;
    back.sort_unstable_by(|a, b| b.cmp(a));
    assert_eq!(back, ids[..2]);
    for (filter, field) in [
        (InboxFilter { limit: Some(201), ..base() }, "limit"),
        (InboxFilter { cursor: Some("x".into()), ..base() }, "cursor"),
        (InboxFilter { consumer: Some("a\0".into()), ..base() }, "consumer"),
    ] {
        let refused = fixture.engine.list_messages(&viewer, &filter).await;
        let refusal = refused.unwrap_err().refusal();
        assert_eq!((refusal.code, refusal.field.as_deref()), (Code::FilterInvalid, Some(field)));
    }
    let stranger = {
        crate::fixture::add_tenant(&fixture.db, &fixture.engine, "globex").await;
        person(&fixture.db, &fixture.engine, "globex", "viewer", Role::Viewer).await
    };
    assert!(fixture.engine.list_messages(&stranger, &base()).await.unwrap().items.is_empty());
    assert_eq!(code(fixture.engine.message(&stranger, ids[0]).await), Code::NotFound);
    let nothing = MessageId::new(uuid::Uuid::nil());
    assert_eq!(code(fixture.engine.message(&viewer, nothing).await), Code::NotFound);
}

#[tokio::test]
async fn a_message_is_shown_masked_by_the_kind_that_it_leads_to() {
    let fixture = Fixture::new().await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    let mut message = fixture.message("m-1").await;
    let secret = "4111111111111111";
    let payload = super::PAYLOAD.replace('}', &format!(r#","card":"{secret}"}}"#));
    message.payload = payload.clone().into();
    message.then = Some(
        format!(r#"{{"operation":{{"operation":"invoice.charge","payload":{payload}}}}}"#).into(),
    );
    let received = fixture.expect(&message, InboxState::Processed).await;
    let mut other = message.clone();
    other.payload = payload.replace("12900", "1").into();
    assert!(fixture.receive(&other).await.is_err());
    let seen = fixture.engine.message(&viewer, received.id).await.unwrap();
    let text = serde_json::to_string(&seen).unwrap();
    assert!(!text.contains(secret), "{text}");
    assert!(text.contains("INV-1") && seen.row.conflict);
    assert_eq!(
        seen.related.iter().map(|row| row.id).collect::<Vec<_>>(),
        [received.operation_id.unwrap()]
    );
    let rules: Vec<_> = seen.timeline.iter().map(|moved| moved.rule.as_str()).collect();
    assert_eq!(rules, ["N1", "N2"]);
}
