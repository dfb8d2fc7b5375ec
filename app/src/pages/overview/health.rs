//! Whether what works for people works: one sentence per part, each good or with what is wrong and since
//! when. A part that says nothing is worse than one that says that it is not known.

use chrono::{DateTime, Utc};
use domain::view::{BreakerView, HealthView, ProviderHealth, TaskHealth};
use leptos::prelude::*;

use crate::{
    components::icon::{Icon, IconName},
    text,
};

/// A task that ran longer ago than this is not at work: ten times the rarest task's own pause.
const SILENT_MS: i64 = 6_000_000;
/// A transaction that is open for longer holds back what the database clears away (a minute).
const LONG_MS: i64 = 60_000;
/// Events that wait longer than a publisher's poll allows, and a little.
const LAG_MS: i64 = 15_000;
/// What a provider leaves open for longer than this is worth a look, as for a destination (D28).
const LASTS_MS: i64 = 600_000;

/// How a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Good,
    /// Worth a look.
    Look,
    /// Something does not work.
    Bad,
}

impl How {
    const fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Look => "look",
            Self::Bad => "bad",
        }
    }
}

/// A part: how it is, its name, what is said of it.
type Part = (How, &'static str, String);

/// The one sentence under the heading; the whole stands below.
#[must_use]
pub fn health_line(health: &HealthView, as_of: DateTime<Utc>) -> AnyView {
    let parts = parts(health, as_of);
    let how = parts.iter().map(|(how, ..)| *how).max_by_key(|how| *how as u8).unwrap_or(How::Good);
    let words = match parts.iter().filter(|(how, ..)| *how != How::Good).count() {
        0 => "All parts work".to_owned(),
        1 => "One part needs a look".to_owned(),
        many => format!("{many} parts need a look"),
    };
    view! {
        <a class="health-line" href="#health" data-health=how.word()>
            <Icon name=icon(how)/>
            {words}
        </a>
    }
    .into_any()
}

const fn icon(how: How) -> IconName {
    match how {
        How::Good => IconName::Check,
        How::Look => IconName::Info,
        How::Bad => IconName::Warning,
    }
}

/// Every part with what is said of it, and the tasks behind it.
#[must_use]
pub fn health_section(health: &HealthView, as_of: DateTime<Utc>) -> AnyView {
    let parts = parts(health, as_of)
        .into_iter()
        .map(|(how, name, words)| {
            view! {
                <div class="health-part" data-health=how.word()>
                    <dt>
                        <Icon name=icon(how)/>
                        {name}
                        <span class="visually-hidden">{format!(" ({})", how.word())}</span>
                    </dt>
                    <dd>{words}</dd>
                </div>
            }
        })
        .collect_view();
    view! {
        <section class="section" aria-labelledby="health">
            <h2 class="section-title" id="health">"Health"</h2>
            <dl class="health">{parts}</dl>
            {tasks(&health.tasks, as_of)}
        </section>
    }
    .into_any()
}

fn parts(health: &HealthView, as_of: DateTime<Utc>) -> Vec<Part> {
    let mut parts =
        vec![workers(health, as_of), background(&health.tasks, as_of), lag(health, as_of)];
    if health.breakers.is_empty() {
        parts.push((How::Good, "Destinations", "none is known to be down".into()));
    }
    parts.extend(health.breakers.iter().map(|breaker| down(breaker, as_of)));
    if health.providers.is_empty() {
        parts.push((How::Good, "Providers", "none leaves an answer or a call open".into()));
    }
    parts.extend(health.providers.iter().map(|provider| open_at(provider, as_of)));
    parts.push(database(health));
    parts
}

/// A destination whose breaker is open. It may be reached and answer, as with a 503, or have taken what it did
/// not answer: what is known is that deliveries fail. A try is due once that time has come; it is made with the
/// next event that waits.
fn down(breaker: &BreakerView, as_of: DateTime<Utc>) -> Part {
    let next = match breaker.probe_in_ms {
        ..=0 => "the next try is due now".to_owned(),
        ms => format!("the next try is due in {}", text::span(ms)),
    };
    let words = format!(
        "deliveries to {} fail since {} ({}); {next}. Events for it wait and lose no attempt.",
        breaker.destination,
        text::ago(breaker.opened_at, as_of),
        breaker.last_error.as_deref().unwrap_or("no answer"),
    );
    (How::Bad, "Destinations", words)
}

/// What one provider leaves open. Machines go on by themselves; a person looks once it lasts.
fn open_at(provider: &ProviderHealth, as_of: DateTime<Utc>) -> Part {
    let of = |number: i64, one: &str, many: &str| match number {
        0 => None,
        1 => Some(format!("1 {one}")),
        n => Some(format!("{n} {many}")),
    };
    let open: Vec<_> = [
        of(provider.unanswered, "outcome stays", "outcomes stay")
            .map(|outcomes| format!("{outcomes} unknown after asking")),
        of(provider.put_off, "call is", "calls are").map(|calls| format!("{calls} made again")),
    ]
    .into_iter()
    .flatten()
    .collect();
    let answered = match provider.answered_at {
        Some(at) => format!("its last word came {}", text::ago(at, as_of)),
        None => "none of the last calls ended with its word".to_owned(),
    };
    let words = format!(
        "{}: {}, the oldest since {}; {answered}.",
        provider.provider,
        open.join(", "),
        text::ago(provider.since, as_of),
    );
    let lasts = (as_of - provider.since).num_milliseconds() > LASTS_MS;
    (if lasts { How::Look } else { How::Good }, "Providers", words)
}

fn workers(health: &HealthView, as_of: DateTime<Utc>) -> Part {
    const NAME: &str = "Workers";
    let seen = health.seen_at.map(|at| format!(", last heard of {}", text::ago(at, as_of)));
    let seen = seen.unwrap_or_default();
    match (health.workers_alive, health.workers_lost, health.workers_draining) {
        (0, ..) => {
            (How::Bad, NAME, format!("none is alive{seen}: nothing is carried out or asked"))
        }
        (alive, 0, 0) => (How::Good, NAME, format!("{alive} alive{seen}")),
        (alive, 0, draining) => {
            (How::Good, NAME, format!("{alive} alive, {draining} of them stopping{seen}"))
        }
        (alive, lost, _) => {
            (How::Look, NAME, format!("{alive} alive, {lost} silent without having stopped{seen}"))
        }
    }
}

fn background(tasks: &[TaskHealth], as_of: DateTime<Utc>) -> Part {
    const NAME: &str = "Background";
    let failing: Vec<&str> =
        tasks.iter().filter(|task| task.failing > 0).map(|task| task.task.as_str()).collect();
    let last = tasks.iter().map(|task| task.last_run_at).max();
    match (last, failing.as_slice()) {
        (None, _) => (How::Bad, NAME, "no task has ever run".into()),
        (Some(_), [_, ..]) => (How::Bad, NAME, format!("failing: {}", failing.join(", "))),
        (Some(last), []) if (as_of - last).num_milliseconds() > SILENT_MS => {
            (How::Bad, NAME, format!("no task has run since {}", text::ago(last, as_of)))
        }
        (Some(last), []) => {
            let words = format!("{} tasks, the last ran {}", tasks.len(), text::ago(last, as_of));
            (How::Good, NAME, words)
        }
    }
}

fn lag(health: &HealthView, as_of: DateTime<Utc>) -> Part {
    const NAME: &str = "Outbox";
    let publisher = &health.publisher;
    let Some(oldest) = publisher.oldest_at else {
        return (How::Good, NAME, "nothing waits to be published".into());
    };
    let late = (as_of - oldest).num_milliseconds() > LAG_MS;
    let waiting = text::count(publisher.waiting, publisher.more);
    let noun =
        if publisher.waiting == 1 && !publisher.more { "event waits" } else { "events wait" };
    let words =
        format!("{waiting} {noun} to be published, the oldest since {}", text::ago(oldest, as_of));
    (if late { How::Look } else { How::Good }, NAME, words)
}

fn database(health: &HealthView) -> Part {
    const NAME: &str = "Database";
    let hidden = match health.sessions_hidden {
        0 => String::new(),
        hidden => format!("; {hidden} sessions of others cannot be looked into"),
    };
    match &health.oldest_transaction {
        None => (How::Good, NAME, format!("no transaction that can be seen is open{hidden}")),
        Some(open) => {
            let how = if open.age_ms > LONG_MS { How::Look } else { How::Good };
            let words = format!(
                "the oldest open transaction has lasted {} ({}, {}){hidden}",
                text::span(open.age_ms),
                open.application,
                open.state
            );
            (how, NAME, words)
        }
    }
}

fn tasks(tasks: &[TaskHealth], as_of: DateTime<Utc>) -> AnyView {
    let rows = tasks
        .iter()
        .map(|task| {
            let waits = match (task.backlog, task.oldest_at) {
                (None, _) => "–".to_owned(),
                (Some(0), _) => "nothing".to_owned(),
                (Some(backlog), oldest) => {
                    let since = oldest.map(|at| format!(", since {}", text::ago(at, as_of)));
                    let count = text::count(i64::from(backlog), task.backlog_is_more);
                    format!("{count}{}", since.unwrap_or_default())
                }
            };
            let result = match (&task.last_error, task.failing) {
                (Some(error), 1..) => format!("fails: {error}"),
                _ => "well".to_owned(),
            };
            view! {
                <tr>
                    <th scope="row">{task.task.clone()}</th>
                    <td>{text::ago(task.last_run_at, as_of)}</td>
                    <td>{waits}</td>
                    <td>{result}</td>
                </tr>
            }
        })
        .collect_view();
    view! {
        <details class="fold">
            <summary>"All background tasks"</summary>
            <div class="figures-scroll" tabindex="0" role="region" aria-label="Background tasks">
                <table class="figures">
                    <thead>
                        <tr>
                            <th scope="col">"Task"</th>
                            <th scope="col">"Last ran"</th>
                            <th scope="col">"Waits for it"</th>
                            <th scope="col">"Result"</th>
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        </details>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use domain::view::PublisherHealth;

    use super::*;

    fn health() -> HealthView {
        HealthView {
            workers_alive: 1,
            workers_draining: 0,
            workers_lost: 0,
            seen_at: DateTime::from_timestamp(1_000, 0),
            tasks: Vec::new(),
            publisher: PublisherHealth { waiting: 0, more: false, oldest_at: None },
            breakers: Vec::new(),
            providers: Vec::new(),
            oldest_transaction: None,
            sessions_hidden: 0,
        }
    }

    #[test]
    fn without_a_worker_nothing_is_called_good() {
        let as_of = DateTime::from_timestamp(2_000, 0).unwrap();
        let silent = HealthView { workers_alive: 0, ..health() };
        assert_eq!(workers(&silent, as_of).0, How::Bad);
        assert_eq!(background(&[], as_of).0, How::Bad, "no task ever ran");
    }

    #[test]
    fn a_provider_is_told_with_what_it_leaves_open_and_worth_a_look_once_it_lasts() {
        let as_of = DateTime::from_timestamp(2_000, 0).unwrap();
        let at = |second| DateTime::from_timestamp(second, 0).unwrap();
        let provider = ProviderHealth {
            provider: "payments.charges".into(),
            unanswered: 12,
            put_off: 1,
            since: at(1_280),
            answered_at: Some(at(1_760)),
        };
        let (how, name, words) = open_at(&provider, as_of);
        assert_eq!((how, name), (How::Look, "Providers"));
        assert_eq!(
            words,
            "payments.charges: 12 outcomes stay unknown after asking, 1 call is made again, the oldest since \
             12 min ago; its last word came 4 min ago."
        );
        let young =
            ProviderHealth { unanswered: 0, since: at(1_940), answered_at: None, ..provider };
        let (how, _, words) = open_at(&young, as_of);
        assert_eq!(how, How::Good, "machines go on by themselves");
        assert_eq!(
            words,
            "payments.charges: 1 call is made again, the oldest since 1 min ago; none of the last calls ended \
             with its word."
        );
        let shown = HealthView { providers: vec![young], ..health() };
        assert!(
            parts(&shown, as_of).iter().filter(|(_, name, _)| *name == "Providers").count() == 1
        );
        assert!(
            parts(&health(), as_of).iter().any(|(_, _, words)| words.starts_with("none leaves"))
        );
    }

    #[test]
    fn a_destination_that_is_down_is_told_with_since_when_why_and_when_it_is_tried() {
        let as_of = DateTime::from_timestamp(2_000, 0).unwrap();
        let breaker = BreakerView {
            destination: "erp".into(),
            opened_at: DateTime::from_timestamp(1_280, 0).unwrap(),
            failures: 4,
            probe_in_ms: 8_000,
            last_error: Some("HTTP 503".into()),
        };
        let told = |breaker| {
            let shown = HealthView { breakers: vec![breaker], ..health() };
            let of =
                parts(&shown, as_of).into_iter().filter(|(_, name, _)| *name == "Destinations");
            of.map(|(how, _, words)| (how, words)).collect::<Vec<_>>()
        };
        let words = "deliveries to erp fail since 12 min ago (HTTP 503); the next try is due in 8 s. Events \
                     for it wait and lose no attempt.";
        assert_eq!(told(breaker.clone()), [(How::Bad, words.to_owned())]);
        let silent = BreakerView { probe_in_ms: -5, last_error: None, ..breaker };
        let words = "deliveries to erp fail since 12 min ago (no answer); the next try is due now. Events \
                     for it wait and lose no attempt.";
        assert_eq!(told(silent), [(How::Bad, words.to_owned())]);
    }

    #[test]
    fn an_event_that_waits_too_long_is_seen() {
        let as_of = DateTime::from_timestamp(2_000, 0).unwrap();
        let oldest_at = DateTime::from_timestamp(1_900, 0);
        let publisher = PublisherHealth { waiting: 1, more: false, oldest_at };
        let (how, _, words) = lag(&HealthView { publisher, ..health() }, as_of);
        assert_eq!(how, How::Look);
        assert!(words.starts_with("1 event waits"), "{words}");
    }
}
