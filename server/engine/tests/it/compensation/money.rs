//! Money back never exceeds money taken, unknown undos counted (I4).

use domain::problem::Code;
use engine::FinishOutcome;

use super::support::{
    charged, compensate, compensate_some, do_undo, eur, fixture, join_all, put_kind, refund,
    undoable_charge,
};
use crate::fixture::code;

#[tokio::test]
async fn a_part_may_go_back_and_never_more_than_was_taken() {
    let fixture = fixture().await;
    let id = charged(&fixture, "k").await;
    for (amount, expected) in [
        (eur(12_901), Code::Unprocessable),
        (eur(0), Code::Unprocessable),
        (eur(-5), Code::Unprocessable),
        (domain::money::Money { amount_minor: 100, currency: "USD".into() }, Code::Unprocessable),
    ] {
        assert_eq!(code(compensate_some(&fixture, id, Some(&amount)).await), expected, "{amount}");
    }
    assert_eq!(fixture.count("select count(*) from compensations").await, 0);
    compensate_some(&fixture, id, Some(&eur(5_000))).await.unwrap();
    let part = "select count(*) from operations where key like 'comp:%' and amount_minor = 5000
      and convert_from(payload, 'utf8')::jsonb ->> 'amount_minor' = '5000'";
    assert_eq!(fixture.count(part).await, 1);
}

/// Fifty people at once, by five ways of refunding, one of whose refunds is unknown already.
#[tokio::test]
async fn fifty_requests_at_once_never_give_back_more_than_was_taken() {
    let fixture = fixture().await;
    let id = charged(&fixture, "k").await;
    let first = compensate_some(&fixture, id, Some(&eur(4_000))).await.unwrap();
    do_undo(&fixture, first.undo.unwrap(), "invoice.refund", FinishOutcome::Ambiguous).await;
    for way in 0..5 {
        let name = format!("invoice.refund-{way}");
        put_kind(&fixture, &engine::store::kind::KindPolicy { name: name.clone(), ..refund() })
            .await;
        let charge = engine::store::kind::KindPolicy { undo_kind: Some(name), ..undoable_charge() };
        put_kind(&fixture, &charge).await;
        let amount = eur(4_000);
        let asked = (0..10).map(|_| compensate_some(&fixture, id, Some(&amount)));
        let asked = join_all(asked).await;
        let granted = asked.iter().filter(|asked| asked.is_ok()).count();
        assert_eq!(granted, usize::from(way < 2), "way {way}: 3 times 40.00 of 129.00 at most");
    }
    let sum = "select sum(amount_minor)::bigint from operations where key like 'comp:%'";
    assert_eq!(fixture.count(sum).await, 12_000);
    let refused = compensate(&fixture, id).await;
    assert_eq!(code(refused), Code::Unprocessable, "not enough is left for all of it");
}
