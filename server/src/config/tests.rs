//! The start refuses what it cannot trust, and docs/configuration.md lists what it understands.

use super::*;

const GOOD_SECRET: &str = "q8Zk2mWv7Rt4Yx1Lp9Nc5Hs3Jd6Fb0Ga";

fn read(pairs: &[(&str, &str)]) -> Result<Config, String> {
    with_file(pairs, None)
}

fn with_file(pairs: &[(&str, &str)], file: Option<&str>) -> Result<Config, String> {
    let environment: Vec<_> =
        pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    Config::read(&environment, file).map_err(|error| error.to_string())
}

#[test]
fn the_defaults_stay_on_this_machine() {
    let config = read(&[]).unwrap();
    assert_eq!(config.addr.to_string(), "127.0.0.1:3000");
    let site = config.site(config.addr);
    for host in ["127.0.0.1:3000", "localhost:3000", "[::1]:3000", "LOCALHOST:3000"] {
        assert!(site.has_host(host), "{host}");
    }
    for host in ["localhost", "evil.example", "127.0.0.1:3001", "localhost:3000.evil.example"] {
        assert!(!site.has_host(host), "{host}");
    }
}

#[test]
fn an_unknown_key_stops_the_start() {
    let error = read(&[("ONCEOVER_ADRR", "127.0.0.1:1")]).unwrap_err();
    assert!(error.starts_with("ONCEOVER_ADRR is no setting"), "{error}");
    assert!(with_file(&[], Some("adrr = 1")).unwrap_err().contains("adrr"));
    assert!(with_file(&[], Some("config = \"x\"")).is_err());
    assert!(with_file(&[], Some("not toml")).is_err());
}

#[test]
fn plain_http_never_leaves_the_machine() {
    assert!(
        read(&[("ONCEOVER_ADDR", "0.0.0.0:80")]).unwrap_err().contains("ONCEOVER_TRUSTED_PROXY")
    );
    let proxied = [("ONCEOVER_ADDR", "0.0.0.0:80"), ("ONCEOVER_TRUSTED_PROXY", "true")];
    assert!(read(&proxied).unwrap_err().contains("ONCEOVER_ORIGIN"));
    for origin in
        ["http://console.example", "https://console.example/x", "console.example", "ftp://x"]
    {
        assert!(read(&[proxied[0], proxied[1], ("ONCEOVER_ORIGIN", origin)]).is_err(), "{origin}");
    }
    let config =
        read(&[proxied[0], proxied[1], ("ONCEOVER_ORIGIN", "https://console.example")]).unwrap();
    let site = config.site(config.addr);
    assert!(site.has_host("console.example") && !site.has_host("localhost"));
    assert_eq!(config.public_url(config.addr), "https://console.example");
}

#[test]
fn tls_of_its_own_lets_it_leave_the_machine() {
    let files = [("ONCEOVER_TLS_CERTIFICATE", "a.pem"), ("ONCEOVER_TLS_KEY", "b.pem")];
    for alone in [files[0], files[1]] {
        assert!(read(&[alone]).unwrap_err().contains("is not set, but ONCEOVER_TLS_"));
    }
    let config = read(&files).unwrap();
    assert_eq!(config.public_url(config.addr), "https://127.0.0.1:3000");
    assert!(config.site(config.addr).has_host("localhost:3000"));
    let open = [("ONCEOVER_ADDR", "0.0.0.0:443"), files[0], files[1]];
    assert!(read(&open).unwrap_err().starts_with("ONCEOVER_ORIGIN is not set"));
    let at = |origin| read(&[open[0], open[1], open[2], ("ONCEOVER_ORIGIN", origin)]);
    let config = at("https://console.example").unwrap();
    assert_eq!(config.site_host(), "console.example");
    assert_eq!(config.bounds.address_connections, 256, "clients come by themselves");
    assert!(at("http://localhost:3000").unwrap_err().contains("plain http"));
    let proxied = read(&[("ONCEOVER_MAX_CONNECTIONS", "5000")]).unwrap();
    assert_eq!(proxied.bounds.address_connections, 5_000, "all come from the proxy");
}

#[test]
fn the_environment_wins_over_the_file() {
    let file = r#"
        addr = "127.0.0.1:4000"
        engine_connections = 20
        trusted_proxy = false
        hosts = ["a.example", "b.example:8443"]
        [providers]
        "payments.charges" = "http://127.0.0.1:9/payments/charges"
    "#;
    let config = with_file(&[("ONCEOVER_ADDR", "127.0.0.1:5000")], Some(file)).unwrap();
    assert_eq!(config.addr.port(), 5000);
    assert_eq!(config.engine_connections, 20);
    assert_eq!(config.hosts, ["a.example", "b.example:8443"]);
    assert_eq!(config.providers[0].name, "payments.charges");
    for (key, value) in [
        ("ONCEOVER_ENGINE_CONNECTIONS", "0"),
        ("ONCEOVER_ENGINE_CONNECTIONS", "many"),
        ("ONCEOVER_PROVIDERS", "payments"),
        ("ONCEOVER_PROVIDERS", "payments=file:///etc/passwd"),
        ("ONCEOVER_PROVIDER_LOOKUPS", "payments=https://payments.example"),
        ("ONCEOVER_LOG", "=,=,["),
        ("ONCEOVER_TRUSTED_PROXY", "perhaps"),
        ("ONCEOVER_ADDR", "localhost"),
        ("ONCEOVER_DEMO_SEED", "-1"),
    ] {
        let error = read(&[(key, value)]).unwrap_err();
        assert!(error.starts_with(key), "{key}={value}: {error}");
        for word in ["u32", "u64", "usize", "bool", "::"] {
            assert!(!error.contains(word), "{error}");
        }
    }
}

/// The rows of a section's table: key, default, least, most.
fn documented(title: &str) -> Vec<(&'static str, i64, i64, i64)> {
    let documentation = include_str!("../../../docs/configuration.md");
    let (_, section) = documentation.split_once(&format!("\n## {title}\n")).unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
        let (least, most) = cells[3].split_once(" to ").unwrap();
        let number = |text: &str| text.parse().unwrap();
        (cells[1], number(cells[2]), number(least), number(most))
    })
    .collect()
}

#[test]
fn every_limit_keeps_to_the_bounds_that_the_documentation_states() {
    for (title, keys) in [("Limits", 27), ("Connections", 6)] {
        let limits = documented(title);
        assert_eq!(limits.len(), keys, "{title}");
        keep_to_their_bounds(limits);
    }
}

fn keep_to_their_bounds(limits: Vec<(&str, i64, i64, i64)>) {
    let default = {
        let config = read(&[]).unwrap();
        assert_eq!(config.limits, engine::Limits::default());
        (config.limits, config.bounds)
    };
    for (key, usual, least, most) in limits {
        let set = |value: i64| {
            read(&[(key, &value.to_string())]).map(|config| (config.limits, config.bounds))
        };
        assert_eq!(set(usual), Ok(default), "{key} has that default");
        for good in [least, most] {
            assert!(good == usual || set(good).unwrap() != default, "{key}={good} is honoured");
        }
        let in_file = format!("{} = {most}", key.trim_start_matches("ONCEOVER_").to_lowercase());
        let from_file = with_file(&[], Some(&in_file)).unwrap();
        assert_eq!((from_file.limits, from_file.bounds), set(most).unwrap(), "{key}");
        let sentence = format!("{key} must be a whole number between {least} and {most}");
        for bad in [least - 1, most + 1, -1, i64::MAX] {
            assert_eq!(set(bad), Err(sentence.clone()), "{key}={bad}");
        }
        assert_eq!(read(&[(key, "many")]).unwrap_err(), sentence);
    }
}

#[test]
fn destinations_keep_their_order_and_nothing_is_said_of_one_that_is_not_there() {
    let file = r#"
        destinations = ["crm=https://crm.example/hook", "broker=nats://127.0.0.1:4222/shop"]
        destination_topics = ["crm=invoice.", "crm=customer."]
        private_destinations = ["crm"]
        event_retention_days = 7
    "#;
    let secret = format!("crm={GOOD_SECRET}");
    let config = with_file(&[("ONCEOVER_DESTINATION_SECRETS", &secret)], Some(file)).unwrap();
    let names: Vec<_> = config.destinations.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["crm", "broker"]);
    assert_eq!(config.destinations[0].topics, ["invoice.", "customer."]);
    assert!(config.destinations[0].allow_private && !config.destinations[1].allow_private);
    assert_eq!(config.event_retention_days, 7);
    let shown = format!("{config:?}");
    assert!(!shown.contains(GOOD_SECRET) && !shown.contains("crm.example"));

    let one = ("ONCEOVER_DESTINATIONS", "crm=https://crm.example/hook");
    for wrong in [
        ("ONCEOVER_DESTINATIONS", "https://crm.example"),
        ("ONCEOVER_DESTINATIONS", "crm=http://crm.example"),
        ("ONCEOVER_DESTINATIONS", "crm=https://169.254.169.254/"),
        ("ONCEOVER_DESTINATIONS", "crm=ftp://crm.example"),
        ("ONCEOVER_DESTINATIONS", "crm=https://a.example,crm=https://b.example"),
        ("ONCEOVER_DESTINATION_TOPICS", "invoice."),
        ("ONCEOVER_DESTINATION_TOPICS", "crn=invoice."),
        ("ONCEOVER_DESTINATION_SECRETS", "crm=tiny-odd-81"),
        ("ONCEOVER_PRIVATE_DESTINATIONS", "crn"),
        ("ONCEOVER_EVENT_RETENTION_DAYS", "0"),
    ] {
        let error = read(&if wrong.0 == one.0 { vec![wrong] } else { vec![one, wrong] });
        let error = error.unwrap_err();
        assert!(error.starts_with(wrong.0) && !error.contains("tiny-odd"), "{wrong:?}: {error}");
    }
}

#[test]
fn an_identity_provider_is_named_whole_or_not_at_all() {
    assert!(read(&[]).unwrap().oidc.is_none());
    let whole = [
        ("ONCEOVER_OIDC_ISSUER", "https://id.example/realms/staff"),
        ("ONCEOVER_OIDC_CLIENT_ID", "onceover"),
        ("ONCEOVER_OIDC_CLIENT_SECRET", GOOD_SECRET),
        ("ONCEOVER_OIDC_ROLES", "leads=acme:approver, payments=acme:operator"),
    ];
    let with = |key: &str, value: &'static str| {
        let rest = whole.iter().filter(|(known, _)| *known != key).copied();
        rest.chain([(KEYS.iter().find(|one| one.name == key).unwrap().name, value)])
            .collect::<Vec<_>>()
    };
    let config = read(&whole).unwrap();
    assert!(!format!("{config:?}").contains(GOOD_SECRET));
    let oidc = config.oidc.unwrap();
    assert_eq!((oidc.name.as_str(), oidc.roles_claim.as_str()), ("id.example", "groups"));
    assert_eq!(oidc.scopes, ["openid", "email", "profile"]);
    assert_eq!(oidc.roles[0].role, domain::access::Role::Approver, "in the order written");
    let oidc = read(&with("ONCEOVER_OIDC_SCOPES", "groups,email")).unwrap().oidc.unwrap();
    assert_eq!(oidc.scopes, ["openid", "groups", "email"]);
    let file = "oidc_roles = [\"cn=ops,dc=corp=acme:operator\"]";
    let oidc = with_file(&whole[..3], Some(file)).unwrap().oidc.unwrap();
    assert_eq!(
        (oidc.roles[0].value.as_str(), oidc.roles[0].tenant.as_str()),
        ("cn=ops,dc=corp", "acme")
    );
    for (key, value) in [
        ("ONCEOVER_OIDC_ISSUER", "http://id.example"),
        ("ONCEOVER_OIDC_ISSUER", "https://id.example/?tenant=1"),
        ("ONCEOVER_OIDC_ISSUER", "https://user@id.example"),
        ("ONCEOVER_OIDC_ISSUER", "id.example"),
        ("ONCEOVER_OIDC_CLIENT_ID", ""),
        ("ONCEOVER_OIDC_CLIENT_SECRET", ""),
        ("ONCEOVER_OIDC_CLIENT_SECRET", "tiny-odd-81"),
        ("ONCEOVER_OIDC_CLIENT_SECRET", "CHANGE_ME_CHANGE_ME_CHANGE_ME_CHANGE_ME"),
        ("ONCEOVER_OIDC_ROLES", ""),
        ("ONCEOVER_OIDC_ROLES", "payments"),
        ("ONCEOVER_OIDC_ROLES", "payments=acme"),
        ("ONCEOVER_OIDC_ROLES", "payments=acme:root"),
        ("ONCEOVER_OIDC_ROLES", "=acme:operator"),
        ("ONCEOVER_OIDC_DOMAINS", "@corp.com"),
        ("ONCEOVER_OIDC_DOMAINS", "*.corp.com"),
        ("ONCEOVER_OIDC_MAX_AGE_MINUTES", "1441"),
    ] {
        let error = read(&with(key, value)).unwrap_err();
        assert!(error.starts_with(key) && !error.contains("tiny-odd"), "{key}={value}: {error}");
    }
    let error = read(&whole[1..]).unwrap_err();
    assert_eq!(error, "ONCEOVER_OIDC_CLIENT_ID is set, but ONCEOVER_OIDC_ISSUER is not");
}

#[test]
fn an_engine_needs_a_database_and_a_search_secret() {
    assert!(read(&[]).unwrap().engine().is_err());
    let url = ("DATABASE_URL", "postgres://localhost/onceover");
    assert!(read(&[url]).unwrap().engine().is_err());
    let config = read(&[url, ("ONCEOVER_SEARCH_SECRET", GOOD_SECRET)]).unwrap();
    assert!(config.engine().is_ok());
    assert_eq!(config.migrate_url.unwrap().expose(), url.1);
}

#[test]
fn the_documentation_lists_every_key_and_no_other() {
    let documentation = include_str!("../../../docs/configuration.md");
    let mut documented: Vec<&str> = documentation
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .filter(|name| name.starts_with("ONCEOVER_") || *name == "DATABASE_URL")
        .collect();
    documented.sort_unstable();
    let known: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
    assert_eq!(documented, known);
}

#[test]
fn a_source_is_one_address_whose_password_is_never_shown() {
    let good = "nats://me:hush-hush@127.0.0.1:4222/ORDERS?subject=orders.>&durable=d&tenant=acme&consumer=billing&operation=invoice.charge";
    let config = read(&[("ONCEOVER_INBOX_SOURCES", &format!("orders={good}"))]).unwrap();
    let source = &config.inbox_sources[0];
    assert_eq!(
        (source.name.as_str(), source.stream.as_str(), source.subject.as_str()),
        ("orders", "ORDERS", "orders.>")
    );
    assert_eq!(source.operation.as_deref(), Some("invoice.charge"));
    assert_eq!(source.url, "nats://me:hush-hush@127.0.0.1:4222");
    assert!(!format!("{config:?}").contains("hush-hush"));
    for (bad, word) in [
        (good.replace("/ORDERS", "/"), "stream"),
        (good.replace("/ORDERS", "/a.b"), "stream"),
        (good.replace("subject=orders.>&", ""), "subject"),
        (good.replace("tenant=acme&", ""), "tenant"),
        (good.replace("durable", "durabel"), "durabel"),
        (good.replace("nats:", "http:"), "nats://"),
        (format!("{good}&ack_wait_ms=1"), "ack_wait_ms"),
        (format!("{good},again={good}"), "orders and again"),
    ] {
        let error = read(&[("ONCEOVER_INBOX_SOURCES", &format!("orders={bad}"))]).unwrap_err();
        assert!(error.contains(word), "{error}");
        assert!(!error.contains("hush-hush"), "{error}");
    }
}
