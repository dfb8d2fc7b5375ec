//! The story's messages from outside: taken in once, too old, and never to be done.

use serde_json::json;

use super::{MARKED_TENANT, Report, StoryError, decisions::OPERATOR, tell::Cast};
use crate::{client::Message, clock};

/// Longer ago than every consumer remembers.
const LONG_AGO: &str = "2024-02-29T08:00:00Z";
/// More deliveries than a consumer bears failing.
const MOST_DELIVERIES: u32 = 10;

/// How a message is answered in the end.
struct Delivery {
    message: Message,
    ends: &'static str,
}

fn deliveries() -> Vec<Delivery> {
    let just_now = clock::rfc3339(clock::now_ms() - 2_000);
    let message = |message_id, produced_at: &str, payload, then| Message {
        consumer: "billing",
        source: "shop.orders",
        message_id,
        produced_at: produced_at.to_owned(),
        payload,
        then,
    };
    let charge =
        |invoice: &str| json!({ "invoice_id": invoice, "amount_minor": 2_900, "currency": "EUR" });
    let start = json!({ "operation": { "operation": "invoice.charge" } });
    let order = json!({ "order": "ORD-7003", "total": "free of charge" });
    vec![
        Delivery {
            message: message("ord-7001", &just_now, charge("INV-2026-0201"), start.clone()),
            ends: "again",
        },
        Delivery {
            message: message(
                "ord-7002",
                &just_now,
                json!({ "document_id": "DOC-202", "version": 1 }),
                json!({ "operation": { "operation": "document.publish" } }),
            ),
            ends: "again",
        },
        // Names no amount: no charge can ever be made of it.
        Delivery { message: message("ord-7003", &just_now, order, start.clone()), ends: "dead" },
        Delivery {
            message: message("ord-6404", LONG_AGO, charge("INV-2024-6404"), start),
            ends: "quarantined",
        },
    ]
}

/// Delivers each until it is answered as planned: twice where it is taken in, as often as it takes
/// where it fails. What an earlier telling delivered is not delivered again.
pub(super) async fn hand_in(cast: &Cast, report: &mut Report) -> Result<(), StoryError> {
    let api = cast.api.tenant(MARKED_TENANT)?;
    for Delivery { message, ends } in deliveries() {
        let list = format!("/inbox?consumer={}&q={}", message.consumer, message.message_id);
        let known = cast.desk.read(OPERATOR, &list).await?;
        if known["items"].as_array().is_some_and(|items| !items.is_empty()) {
            report.already_played += 1;
            continue;
        }
        let mut answer = api.hand_in(&message).await?;
        for _ in 0..MOST_DELIVERIES {
            if answer == ends {
                break;
            }
            answer = api.hand_in(&message).await?;
        }
        if answer != ends {
            let id = message.message_id;
            report.surprises.push(format!("message {id}: {answer} instead of {ends}"));
        }
    }
    Ok(())
}
