//! T37, T38: whatever is written into a filter, a sort, a page or a search is found or refused, and never
//! reaches the database as more than a value.

use axum::http::StatusCode;
use futures_util::{StreamExt as _, stream};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng, seq::IndexedRandom as _};

use super::{
    matrix::{Shown, ask, request},
    world::World,
};

const LISTS: [&str; 11] = [
    "operations",
    "workflows",
    "outbox",
    "inbox",
    "conflicts",
    "leases",
    "approvals",
    "incidents",
    "audit",
    "bulks",
    "search",
];
const FIELDS: [&str; 18] = [
    "q",
    "status",
    "sort",
    "dir",
    "limit",
    "cursor",
    "from",
    "to",
    "zone",
    "operation",
    "kind",
    "topic",
    "owner",
    "needs_manual",
    "conflict",
    "columns",
    "cause",
    "target",
];
/// What has broken other programs, and pieces to make more of.
const PIECES: [&str; 34] = [
    "'",
    "\"",
    "\\",
    "%",
    "_",
    "%%",
    ";",
    "--",
    "/*",
    "*/",
    "(",
    ")",
    "$1",
    "$$",
    "{",
    "}",
    "\0",
    "\u{ffff}",
    "\u{202e}",
    "é",
    "語",
    "\u{1f600}",
    "drop table operations",
    " or 1=1",
    "union select",
    "pg_sleep(9)",
    "id",
    "desc",
    "null",
    "-1",
    "1e9",
    "999999999999999999999",
    "2026-01-01T00:00:00Z",
    "INV",
];
/// Lists that are asked for a time.
const DATED: [&str; 2] = ["operations", "audit"];
const TRIES: usize = 10_000;
/// So that a failure can be repeated.
const SEED: u64 = 0x0001_5006;

fn word(rng: &mut StdRng) -> String {
    let pieces = rng.random_range(1..7);
    (0..pieces).map(|_| *PIECES.choose(rng).unwrap()).collect()
}

fn address(rng: &mut StdRng) -> String {
    let list = LISTS.choose(rng).unwrap();
    let api = *list != "search" && rng.random_bool(0.9);
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    for _ in 0..rng.random_range(1..4) {
        query.append_pair(FIELDS.choose(rng).unwrap(), &word(rng));
    }
    format!("{}/{list}?{}", if api { "/api/v1" } else { "" }, query.finish())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_filters_are_found_or_refused_and_none_is_a_fault() {
    let world = World::open().await;
    let before = world.digest().await;
    let cookie = Shown::Cookie(world.browser("admin").await.cookie.unwrap());
    let bearer = Shown::Bearer(world.staff("admin").await.token.unwrap());
    let mut rng = StdRng::seed_from_u64(SEED);
    let addresses: Vec<String> = (0..TRIES).map(|_| address(&mut rng)).collect();
    let (stage, cookie, bearer) = (&world.stage, &cookie, &bearer);
    let statuses: Vec<_> = stream::iter(addresses)
        .map(|place| async move {
            let shown = if place.starts_with("/api/") { bearer } else { cookie };
            let answer = ask(stage, request("GET", &place, shown, None)).await;
            assert!(
                matches!(answer.status.as_u16(), 200 | 400),
                "seed {SEED}: {place}: {} {}",
                answer.status,
                answer.text()
            );
            answer.status
        })
        .buffer_unordered(6)
        .collect()
        .await;
    let found = statuses.iter().filter(|status| **status == StatusCode::OK).count();
    assert!(found > 100 && found < TRIES, "{found} of {TRIES} were found");
    assert_eq!(world.digest().await, before);
    testkit::threat("T37", TRIES, 0);
}

#[tokio::test]
async fn columns_directions_and_sizes_are_closed_words() {
    let world = World::open().await;
    let cookie = Shown::Cookie(world.browser("admin").await.cookie.unwrap());
    let bearer = Shown::Bearer(world.staff("admin").await.token.unwrap());
    let (mut tried, mut taken) = (0, Vec::new());
    for list in &LISTS[..9] {
        for query in [
            "sort=id;drop",
            "sort=id",
            "dir=asc,(select+1)",
            "limit=1000000000",
            "limit=1e9",
            "limit=0",
            "limit=-1",
            "limit=201",
            "cursor=999999999",
            "cursor=%00",
            "offset=1000000000",
            "from=2000-01-01T00:00:00Z&to=2026-11-30T00:00:00Z",
        ] {
            for (place, shown) in [
                (format!("/{list}?{query}"), &cookie),
                (format!("/api/v1/{list}?{query}"), &bearer),
            ] {
                let answer = ask(&world.stage, request("GET", &place, shown, None)).await;
                // A link gets parameters on its way through other programs: a page ignores unknown names.
                let ignored = answer.status == StatusCode::OK
                    && !place.starts_with("/api/")
                    && (query.starts_with("sort")
                        || query.starts_with("dir")
                        || query.starts_with("offset")
                        || query.starts_with("from") && !DATED.contains(list));
                if answer.status != StatusCode::BAD_REQUEST && !ignored {
                    taken.push(format!("{place}: {}", answer.status));
                }
                tried += 1;
            }
        }
    }
    assert!(taken.is_empty(), "{taken:#?}");
    testkit::threat("T37", tried, 0);
    testkit::threat("T38", tried, 0);
}
