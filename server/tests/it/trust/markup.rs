//! T01, T02, T04: what merchants, providers and colleagues wrote stays text on every page, no link leads
//! out by it, and no address changes anything by being asked for.

use std::collections::BTreeSet;

use axum::http::header;
use sqlx::Executor as _;

use super::{
    matrix::{Shown, ask, request},
    paths::routes,
    world::World,
};
use crate::support::{Answer, Stage};

/// What is stored, round by round, in every column that takes it.
pub const HOSTILE: [&str; 15] = [
    "<script>alert(1)</script>",
    "\"><script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "</textarea><script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<!--<script>alert(1)</script>-->",
    "<img src=x onerror=alert(1)>",
    "\"><svg onload=alert(1)>",
    "\" onmouseover=\"alert(1)",
    "' onfocus='alert(1)",
    "<iframe srcdoc='<script>alert(1)</script>'>",
    "javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "//evil.example/x",
    "\tjavascript:alert(1)",
];

/// Columns that hold words of a closed list or what code looks things up by: nobody writes into them.
const CLOSED: &str = "slug operation kind move mode step_key undo_kind topic theme zone density rows status verb
    target_type role list code failure_code says standing cause actor_kind move_actor_kind
    created_by_kind requested_by_kind machine rule outcome from_status to_status currency cursor term
    unknown_by ask_by state result action amount_pointer currency_pointer undo_reference_member
    password_hash task query operation_kinds.name evidence.source outbox_attempts.outcome";

/// The attributes of every tag of a page, as a browser takes it apart: name and value.
fn attributes(html: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        if let Some(comment) = rest.strip_prefix("!--") {
            rest = comment.split_once("-->").map_or("", |(_, after)| after);
            continue;
        }
        if !rest.starts_with(|first: char| first.is_ascii_alphabetic()) {
            continue;
        }
        let name_end =
            rest.find(|c: char| c.is_whitespace() || c == '>' || c == '/').unwrap_or(rest.len());
        let tag = rest[..name_end].to_ascii_lowercase();
        rest = &rest[name_end..];
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '/');
            if rest.is_empty() || rest.starts_with('>') {
                break;
            }
            let end =
                rest.find(|c: char| c.is_whitespace() || "=>/".contains(c)).unwrap_or(rest.len());
            let name = rest[..end.max(1)].to_ascii_lowercase();
            rest = rest[end.max(1)..].trim_start();
            let Some(valued) = rest.strip_prefix('=') else {
                found.push((name, String::new()));
                continue;
            };
            let valued = valued.trim_start();
            let (value, after) = match valued.chars().next() {
                Some(quote @ ('"' | '\'')) => valued[1..].split_once(quote).unwrap_or((valued, "")),
                _ => {
                    let end = valued
                        .find(|c: char| c.is_whitespace() || c == '>')
                        .unwrap_or(valued.len());
                    valued.split_at(end)
                }
            };
            found.push((name, value.to_owned()));
            rest = after;
        }
        // What stands in these is no markup; their end is.
        if matches!(tag.as_str(), "script" | "style" | "textarea" | "title") {
            let end = format!("</{tag}");
            rest = rest.find(&end).map_or("", |at| &rest[at..]);
        }
    }
    found
}

#[track_caller]
fn holds_text_alone(page: &str, what: &str) {
    assert!(!page.contains("<script>alert("), "{what}: a script");
    assert!(
        !page.contains("<img src=x") && !page.contains("<svg onload"),
        "{what}: a foreign element"
    );
    assert!(!page.contains("<iframe"), "{what}: a frame");
    for (name, value) in attributes(page) {
        assert!(!name.starts_with("on"), "{what}: {name}={value}");
        if matches!(name.as_str(), "href" | "src" | "action" | "formaction") {
            let value = value.replace("&#x2F;", "/");
            let ours = value.is_empty()
                || value.starts_with(['#', '?'])
                || value.starts_with('/') && !value.starts_with("//") && !value.starts_with("/\\")
                || value.starts_with("https://");
            assert!(ours, "{what}: {name}={value}");
        }
    }
}

/// The text columns of the tenants' tables.
async fn columns(stage: &Stage) -> Vec<(String, String)> {
    sqlx::query_as(
        "select table_name::text, column_name::text from information_schema.columns
         join pg_class c on c.relname = table_name and c.relkind = 'r' and c.relnamespace = 'public'::regnamespace
         where table_schema = 'public' and data_type = 'text' and is_generated = 'NEVER'
           and table_name not in ('_sqlx_migrations', 'operation_moves', 'machine_moves', 'tokens', 'tenants')
         order by 1, 2",
    )
    .fetch_all(stage.database.owner_pool())
    .await
    .unwrap()
}

/// Writes it into every column that takes it, whatever triggers say; returns how many took it.
async fn write_everywhere(stage: &Stage, columns: &[(String, String)], text: &str) -> usize {
    let mut connection = stage.database.owner_pool().acquire().await.unwrap();
    connection.execute("set session_replication_role = replica").await.unwrap();
    let mut written = 0;
    for (table, column) in columns {
        let whole = format!("{table}.{column}");
        if CLOSED.split_whitespace().any(|closed| closed == column || closed == whole) {
            continue;
        }
        // Told apart by an ending, for those that must be.
        let update = format!(
            "update {table} set {column} = $1 || left(md5(ctid::text), 4) where {column} is not null"
        );
        let update = sqlx::query(sqlx::AssertSqlSafe(update)).bind(text);
        // A closed list of words, a bound or a unique key refuses: such a value cannot get there.
        let done = update.execute(&mut *connection).await;
        written += usize::from(done.is_ok_and(|done| done.rows_affected() > 0));
    }
    connection.execute("reset session_replication_role").await.unwrap();
    written
}

fn is_page(answer: &Answer) -> bool {
    answer
        .headers
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"))
}

#[tokio::test]
async fn whatever_is_stored_every_page_shows_it_as_text() {
    let world = World::open().await;
    let stage = &world.stage;
    let columns = columns(stage).await;
    let people =
        [("approver", world.browser("approver").await), ("admin", world.browser("admin").await)];
    // Whoever sees most of a page looks at it.
    let is_for = |place: &str| {
        let of_admins = place.starts_with("/admin") || place.starts_with("/audit");
        if of_admins { "admin" } else { "approver" }
    };
    let places: Vec<String> = routes(&stage.router)
        .into_iter()
        .filter(|(method, path)| *method == "GET" && !path.starts_with("/api/") && path != "/live")
        .map(|(_, path)| world.path(&path))
        .collect();
    let (mut pages, mut broken) = (0, Vec::new());
    for text in HOSTILE {
        let written = write_everywhere(stage, &columns, text).await;
        assert!(written > 30, "{text}: {written} columns of {}", columns.len());
        for (role, browser) in &people {
            let shown = Shown::Cookie(browser.cookie.clone().unwrap());
            for place in places.iter().filter(|place| is_for(place) == *role) {
                let answer = ask(stage, request("GET", place, &shown, None)).await;
                if is_page(&answer) {
                    if answer.status.is_server_error() {
                        broken.push(format!("{place} with {text}"));
                    }
                    holds_text_alone(&answer.text(), &format!("{place} with {text}"));
                    pages += 1;
                }
            }
        }
    }
    assert!(broken.is_empty(), "no page, but a fault: {broken:#?}");
    testkit::threat("T01", pages, 0);
    testkit::threat("T02", pages, 0);
}

#[test]
fn a_page_is_taken_apart_as_a_browser_does_it() {
    let page = "<p class=\"a\">x</p><img src=x onerror=alert(1)><a href='//evil' checked>\" onx=\"1</a><script nonce=n>'<b onload=1>'</script><i title=\"<b onload=1>\">";
    let found = attributes(page);
    let names: Vec<_> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["class", "src", "onerror", "href", "checked", "nonce", "title"]);
    for bad in
        ["<img src=y onerror=alert(1)>", "<a href=\"javascript:alert(1)\">", "<a href=//evil>"]
    {
        assert!(std::panic::catch_unwind(|| holds_text_alone(bad, "")).is_err(), "{bad}");
    }
}

#[tokio::test]
async fn asking_for_every_address_and_every_link_changes_nothing() {
    let world = World::open().await;
    let stage = &world.stage;
    let before = (world.digest().await, stage.audited("done").await);
    let (mut tried, mut taken_out) = (0, 0);
    for role in ["admin", "approver"] {
        let shown = Shown::Cookie(world.browser(role).await.cookie.unwrap());
        let mut seen: BTreeSet<String> = routes(&stage.router)
            .into_iter()
            .filter(|(_, path)| !path.starts_with("/api/") && path != "/live")
            .map(|(_, path)| world.path(&path))
            .collect();
        let mut left: Vec<String> = seen.iter().cloned().collect();
        while let Some(place) = left.pop() {
            let answer = ask(stage, request("GET", &place, &shown, None)).await;
            tried += 1;
            taken_out += usize::from(answer.headers.contains_key(header::CONTENT_DISPOSITION));
            if !is_page(&answer) || tried > 1_000 {
                continue;
            }
            for (name, value) in attributes(&answer.text()) {
                let link = value.replace("&amp;", "&");
                let link = link.split('#').next().unwrap().to_owned();
                if name == "href"
                    && link.starts_with('/')
                    && !link.starts_with("/pkg/")
                    && seen.insert(link.clone())
                {
                    left.push(link);
                }
            }
        }
    }
    assert!(tried > 200, "{tried} addresses");
    assert_eq!(world.digest().await, before.0);
    // What was taken out as a file is written down; nothing else is done.
    let done = usize::try_from(stage.audited("done").await - before.1).unwrap();
    assert!(done <= taken_out, "{done} rows for {taken_out} files");
    testkit::threat("T04", tried, 0);
}
