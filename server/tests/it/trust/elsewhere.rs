//! A link into another of the reader's tenants: every page of a record offers the switch, tells nothing
//! of the record, and changes nothing.

use axum::http::StatusCode;
use domain::access::Role;
use engine::identity::NewStaff;

use super::{
    paths::routes,
    world::{CANARIES, MARK, World},
};
use crate::forms::input;

/// Pages about the tenant's people and tokens and about what somebody was shown: no records that a
/// colleague links to, and whether there is one is told to nobody without the right.
const NO_RECORDS: [&str; 3] = ["/admin/", "/reveals/", "/views/"];

/// What leaves as a file has no page on which something could be offered.
fn is_file(pattern: &str) -> bool {
    ["/payload", "/answer", "/effect", "/other", "/artifact", "/{evidence_id}"]
        .iter()
        .any(|end| pattern.ends_with(end))
}

#[tokio::test]
async fn every_page_of_a_record_offers_the_switch_to_a_member_of_its_tenant() {
    let world = World::open().await;
    let stage = &world.stage;
    let member = NewStaff {
        email: "operator@globex.test",
        name: "Gil",
        password_hash: "kept",
        tenant_slug: "acme",
        role: Role::Operator,
    };
    stage.admin().await.add_staff(&member).await.unwrap();
    let reader = stage.browser(member.email).await;
    let stand = [("tenant", "globex"), ("return_to", "/")];
    reader.post("/session/tenant", &stand).await.expect(StatusCode::SEE_OTHER);

    let before = (stage.effects().await, stage.audited("denied").await);
    let mut offered = Vec::new();
    for (method, pattern) in routes(&stage.router) {
        let other = NO_RECORDS.iter().any(|start| pattern.starts_with(start));
        let page = method == "GET" && pattern.contains("{id}") && !pattern.starts_with("/api/");
        if !page || other || is_file(&pattern) {
            continue;
        }
        let place = world.path(&pattern);
        let answer = reader.get(&place).await;
        answer.expect(StatusCode::OK);
        let shown = answer.text();
        let at = shown.find("data-elsewhere=\"acme\"");
        let offer = &shown[at.unwrap_or_else(|| panic!("{place} offers no switch: {shown}"))..];
        assert_eq!(input(offer, "tenant"), "acme", "{place}");
        let back = input(offer, "return_to");
        assert_eq!(back.split('?').next(), place.split('?').next(), "{place}");
        for secret in CANARIES.into_iter().chain([MARK]) {
            assert!(!shown.contains(secret), "{place} tells {secret} before the switch");
        }
        offered.push(place);
    }
    for collection in [
        "operations",
        "workflows",
        "compensations",
        "outbox",
        "inbox",
        "conflicts",
        "approvals",
        "incidents",
        "bulks",
        "receipts",
    ] {
        let of = format!("/{collection}/{}", world.ids[collection]);
        assert!(offered.contains(&of), "{of} is not among {offered:#?}");
    }
    let after = (stage.effects().await, stage.audited("denied").await);
    assert_eq!(after, before, "looking at an offer changes nothing");

    // Taken, the same links show the records.
    let stand = [("tenant", "acme"), ("return_to", "/")];
    reader.post("/session/tenant", &stand).await.expect(StatusCode::SEE_OTHER);
    for place in offered {
        let answer = reader.get(&place).await;
        answer.expect(StatusCode::OK);
        assert!(!answer.text().contains("data-elsewhere"), "{place}");
    }
}
