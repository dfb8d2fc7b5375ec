//! T43: a secret that is missing, short, known or monotonous stops the start, whichever key holds
//! it, by a sentence that names the key and never repeats the value.

use super::*;

const GOOD: &str = "q8Zk2mWv7Rt4Yx1Lp9Nc5Hs3Jd6Fb0Ga";
/// What stands in examples.
const KNOWN: [&str; 5] = [
    "CHANGE_ME",
    "changeme-changeme-changeme-change",
    "Secret-secret-secret-secret-secret",
    "password-1234567890-abcdefghijklmn",
    "example-1234567890-abcdefghijklmno",
];

fn read(pairs: &[(&str, &str)]) -> Result<Config, String> {
    let environment: Vec<_> =
        pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    Config::read(&environment, None).map_err(|error| error.to_string())
}

/// How a key holds a secret, and whether this program is the one that judges its strength.
struct Holder {
    /// What else must be set for it to be read.
    beside: &'static [(&'static str, &'static str)],
    value: fn(&str) -> String,
    ours: bool,
}

fn holder(key: &str) -> Option<Holder> {
    let holder = |value: fn(&str) -> String, ours| Holder { beside: &[], value, ours };
    Some(match key {
        "DATABASE_URL" | "ONCEOVER_MIGRATE_URL" => {
            holder(|secret| format!("postgres://me:{secret}@db.example/onceover"), false)
        }
        "ONCEOVER_SEARCH_SECRET" | "ONCEOVER_FACTOR_SECRET" => holder(str::to_owned, true),
        "ONCEOVER_OIDC_CLIENT_SECRET" => Holder {
            beside: &[
                ("ONCEOVER_OIDC_ISSUER", "https://id.example"),
                ("ONCEOVER_OIDC_CLIENT_ID", "onceover"),
                ("ONCEOVER_OIDC_ROLES", "ops=acme:operator"),
            ],
            value: str::to_owned,
            ours: true,
        },
        // Its own rule, that of people's passwords, stands in the test below.
        "ONCEOVER_DEMO_PASSWORD" => holder(str::to_owned, true),
        "ONCEOVER_WEBHOOK_SECRETS" => holder(|secret| format!("payments={secret}"), true),
        "ONCEOVER_DESTINATION_SECRETS" => Holder {
            beside: &[("ONCEOVER_DESTINATIONS", "crm=https://crm.example/hook")],
            value: |secret| format!("crm={secret}"),
            ours: true,
        },
        "ONCEOVER_DESTINATIONS" => {
            holder(|secret| format!("broker=nats://me:{secret}@broker.example/shop"), false)
        }
        "ONCEOVER_INBOX_SOURCES" => holder(
            |secret| {
                format!(
                    "orders=nats://me:{secret}@broker.example/ORDERS?subject=o.>&durable=d&tenant=t&consumer=c"
                )
            },
            false,
        ),
        "ONCEOVER_PROVIDERS" => {
            holder(|secret| format!("payments=https://me:{secret}@pay.example/charges"), false)
        }
        "ONCEOVER_PROVIDER_LOOKUPS" => Holder {
            beside: &[("ONCEOVER_PROVIDERS", "payments=https://pay.example/charges")],
            value: |secret| format!("payments=https://me:{secret}@pay.example/lookups"),
            ours: false,
        },
        _ => return None,
    })
}

#[test]
fn every_key_that_holds_a_secret_has_a_row_here() {
    for key in KEYS {
        // Addresses by name may hold a password each.
        let addresses = ["_PROVIDERS", "_LOOKUPS", "ONCEOVER_DESTINATIONS", "_SOURCES"];
        let tells = key.kind == Kind::Secret
            || addresses.iter().any(|word| key.name.ends_with(word))
            || ["SECRET", "SECRETS", "PASSWORD", "TOKEN"]
                .iter()
                .any(|word| key.name.ends_with(word));
        assert!(!tells || holder(key.name).is_some(), "{} has no row in this test", key.name);
    }
}

#[test]
fn a_secret_from_an_example_stops_the_start_and_is_not_repeated() {
    let mut tried = 0;
    for key in KEYS {
        let Some(holder) = holder(key.name) else { continue };
        if key.name == "ONCEOVER_DEMO_PASSWORD" {
            continue;
        }
        let weak = ["short-but-odd-81", "abababababababababababababababababab"];
        let all = KNOWN.iter().chain(weak.iter().filter(|_| holder.ours));
        for secret in all {
            let value = (holder.value)(secret);
            let pairs: Vec<_> =
                holder.beside.iter().copied().chain([(key.name, &*value)]).collect();
            let error = read(&pairs).unwrap_err();
            assert!(error.starts_with(key.name), "{}: {error}", key.name);
            assert!(!error.contains(secret), "{}: {error}", key.name);
            tried += 1;
        }
        let value = (holder.value)(GOOD);
        let pairs: Vec<_> = holder.beside.iter().copied().chain([(key.name, &*value)]).collect();
        let config = read(&pairs).unwrap_or_else(|error| panic!("{}: {error}", key.name));
        assert!(!format!("{config:?}").contains(GOOD), "{} is shown", key.name);
    }
    assert!(tried >= 50, "{tried}");
    testkit::threat("T43", tried, 0);
}

#[test]
fn the_demos_password_is_as_strong_as_a_persons() {
    let error = read(&[("ONCEOVER_DEMO_PASSWORD", "tooshort")]).unwrap_err();
    assert!(error.starts_with("ONCEOVER_DEMO_PASSWORD") && !error.contains("tooshort"), "{error}");
}

#[test]
fn what_is_missing_stops_the_start() {
    let url = ("DATABASE_URL", "postgres://localhost/onceover");
    let told = |config: Config| config.engine().err().unwrap().to_string();
    assert!(told(read(&[]).unwrap()).starts_with("DATABASE_URL is not set"));
    assert!(told(read(&[url]).unwrap()).starts_with("ONCEOVER_SEARCH_SECRET is not set"));
    assert!(read(&[url, ("ONCEOVER_SEARCH_SECRET", "")]).unwrap().engine().is_err());
    testkit::threat("T43", 3, 0);
}
