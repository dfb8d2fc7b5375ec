//! T15: what a refused sign-in says, and how long it takes, tells nobody which accounts there are.

use std::time::{Duration, Instant};

use axum::http::{HeaderMap, StatusCode};

use crate::{
    figures::say,
    support::{Answer, Stage},
};

const KNOWN: [&str; 5] = [
    "viewer@acme.test",
    "operator@acme.test",
    "approver@acme.test",
    "admin@acme.test",
    "auditor@acme.test",
];
/// The most that one account can be configured to take: a hundred in all, and as many of nobody's.
const TRIES: usize = 20;
/// Drawn anew for each answer, whoever asks.
const DRAWN: [&str; 2] = ["content-security-policy", "x-request-id"];

/// The headers that say something about what was asked.
fn telling(answer: &Answer) -> HeaderMap {
    let mut headers = answer.headers.clone();
    for name in DRAWN {
        headers.remove(name);
    }
    headers
}

fn median_ms(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times.get(times.len() / 2).map_or(0.0, Duration::as_secs_f64) * 1_000.0
}

#[tokio::test]
async fn an_account_that_is_none_is_refused_by_the_same_bytes() {
    let tries = TRIES.to_string();
    let stage = Stage::open_with(&[
        ("ONCEOVER_SIGN_IN_TRIES", tries.as_str()),
        ("ONCEOVER_SIGN_IN_TRIES_OF_ADDRESS", "1000"),
    ])
    .await;
    let stranger = stage.stranger();
    let (mut of_known, mut of_unknown) = (Vec::new(), Vec::new());
    for n in 0..TRIES {
        for known in KNOWN {
            // As long, and nobody's.
            let unknown = format!("x{}", &known[1..]);
            let mut two = [(known, &mut of_known), (unknown.as_str(), &mut of_unknown)];
            // They take turns at being first, so that whatever else goes on meets both.
            if n % 2 == 1 {
                two.reverse();
            }
            let mut said: Option<Answer> = None;
            for (email, times) in two {
                let fields =
                    [("email", email), ("password", "not the password"), ("next", "/operations")];
                let begun = Instant::now();
                let answer = stranger.post("/sign-in", &fields).await;
                times.push(begun.elapsed());
                // What a limit refuses costs no hash, and is no measure.
                answer.expect(StatusCode::SEE_OTHER);
                assert_eq!(
                    answer.header("location"),
                    "/sign-in?refused=sign_in_failed&next=%2Foperations"
                );
                if let Some(other) = &said {
                    assert_eq!(telling(&answer), telling(other), "{email}");
                    assert_eq!(answer.body, other.body, "{email}");
                }
                said = Some(answer);
            }
        }
    }
    let tried = of_known.len() + of_unknown.len();
    let (known, unknown) = (median_ms(of_known), median_ms(of_unknown));
    say(&format!(
        "T15: {tried} refused sign-ins by the same bytes; median {known:.1} ms for a wrong password, \
         {unknown:.1} ms without an account, ratio {:.2}",
        unknown / known,
    ));
    testkit::threat("T15", tried, 0);
}
