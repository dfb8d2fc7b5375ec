//! `/`: what needs a person now, one queue per cause, and all of them merged below; then whether what
//! works for people works, and what became of operations.

mod charts;
mod health;

use chrono::{DateTime, Utc};
use domain::view::{AttentionRow, Cause, Overview, Queue};
use leptos::prelude::*;
use leptos_meta::Title;

use self::{
    charts::{ageing, outcomes},
    health::{health_line, health_section},
};
use super::{
    address::query,
    operations::row::{ATTENTION_COLUMNS, attention_row},
};
use crate::{
    api::{overview::overview, reading::Reading},
    components::{
        data_table::DataTable,
        empty_state::EmptyState,
        icon::Icon,
        notice::FailedPart,
        state_badge::cause_icon,
        timestamp::{Ago, Timestamp},
    },
    error::ConsoleError,
    location, text,
};

/// The first page.
#[component]
pub fn OverviewPage() -> impl IntoView {
    let cause = location::parse_cause(&query());
    let data = Reading::new(move || overview(cause));
    view! {
        <Title text="Attention · Onceover"/>
        {Suspend::new(async move { content(data.await, cause) })}
    }
    .into_any()
}

fn content(data: Result<Overview, ConsoleError>, cause: Option<Cause>) -> AnyView {
    let heading = view! { <h1 class="page-title">"What needs a person now?"</h1> };
    let data = match data {
        Ok(data) => data,
        Err(error) => {
            return view! {
                <header class="page-head">{heading}</header>
                <FailedPart error again="/"/>
            }
            .into_any();
        }
    };
    let as_of = data.as_of;
    let below = view! {
        <div class="overview-charts">{outcomes(&data.outcomes)} {ageing(&data.ageing)}</div>
        {health_section(&data.health, as_of)}
    };
    let queues = data.queues.iter().map(|queue| tile(queue, cause, as_of)).collect_view();
    let shown = |queue: &&Queue| cause.is_none_or(|cause| cause == queue.cause);
    let bounded = data.queues.iter().filter(shown).any(|queue| queue.more);
    let part = (data.merged_more || bounded).then(|| first_rows(data.merged.len(), bounded));
    view! {
        <header class="page-head">
            {heading}
            <p class="page-sub">
                {health_line(&data.health, as_of)} "as of " <Timestamp at=as_of/>
            </p>
        </header>
        <ul class="queues">{queues}</ul>
        {merged(data.merged, part, as_of, cause)}
        {below}
    }
    .into_any()
}

/// One queue: count, oldest age, money at stake. Choosing it narrows the list below.
fn tile(queue: &Queue, chosen: Option<Cause>, as_of: DateTime<Utc>) -> AnyView {
    let cause = queue.cause;
    let current = chosen == Some(cause);
    let href = if current { "/".to_owned() } else { location::cause_href(cause) };
    let oldest = queue.oldest_at.map(|at| {
        view! { <span class="queue-more">"oldest " <Ago at as_of/></span> }
    });
    // The sum of what was read: the oldest, where there are more.
    let least = if queue.more { "at least " } else { "" };
    let stake = queue
        .at_stake
        .iter()
        .map(|sum| view! { <span class="queue-more queue-stake">{format!("{least}{sum} at stake")}</span> })
        .collect_view();
    let status = (cause == Cause::UnknownOutcome).then_some("unknown");
    view! {
        <li>
            <a
                class="queue"
                href=href
                data-empty=(queue.count == 0).then_some("")
                aria-current=current.then_some("true")
            >
                <span class="queue-label" data-status=status>
                    <Icon name=cause_icon(cause)/>
                    {cause.label()}
                </span>
                <span class="queue-count">{text::short_count(queue.count, queue.more)}</span>
                <span class="queue-facts">{oldest} {stake}</span>
            </a>
        </li>
    }
    .into_any()
}

/// The order of the rows, as it is told to whoever reads them.
const ORDER: &str = "greatest amount first, currencies taken as equal";

/// The rows that wait. `part`: which these are, where they are not all.
fn merged(
    merged: Vec<AttentionRow>,
    part: Option<String>,
    as_of: DateTime<Utc>,
    cause: Option<Cause>,
) -> AnyView {
    let rows: Vec<_> = merged.into_iter().map(|row| attention_row(row, as_of)).collect();
    if rows.is_empty() {
        if cause.is_some() {
            return view! {
                <EmptyState title="Nothing waits in this queue.">
                    <p><a href="/">"Look at all queues"</a></p>
                </EmptyState>
            }
            .into_any();
        }
        return view! {
            <EmptyState title="Nothing waits for a person.">
                <p>
                    "What comes here: outcomes that no machine can find out, leases that end without "
                    "a successor, requests for a second person, undos that failed, workflows, events "
                    "and messages that cannot go on, open incidents, and keys that came back with "
                    "another payload."
                </p>
                <p><a href="/operations">"Look at all operations"</a></p>
            </EmptyState>
        }
        .into_any();
    }
    let list = cause.and_then(location::list_of).map(|href| {
        view! { " · " <a class="quiet" href=href>"Open as a list with filters"</a> }
    });
    let part =
        part.map(|words| view! { <div class="pager"><p class="pager-words">{words}</p></div> });
    let heading = cause.map_or("All queues, merged", Cause::label);
    view! {
        <section class="section" aria-labelledby="merged">
            <div class="page-head">
                <h2 class="section-title" id="merged">{heading}</h2>
                <p class="page-sub">{ORDER} {list}</p>
            </div>
            <DataTable caption="Records that need a person, the greatest amount first, then the oldest" columns=ATTENTION_COLUMNS rows/>
            {part}
        </section>
    }
    .into_any()
}

/// What stands below rows that are not all. `bounded`: of a queue too long to be read whole its oldest
/// records alone are among those that were put in order.
fn first_rows(shown: usize, bounded: bool) -> String {
    let rest = if bounded {
        "Of a queue with a plus behind its count only the oldest are among them."
    } else {
        "The figures above count all."
    };
    format!("These are the first {shown}: {ORDER}, then the oldest. {rest}")
}

#[cfg(test)]
mod tests {
    use super::first_rows;

    #[test]
    fn rows_that_are_not_all_say_so_and_by_which_order() {
        assert_eq!(
            first_rows(50, false),
            "These are the first 50: greatest amount first, currencies taken as equal, then the oldest. \
             The figures above count all."
        );
        assert!(first_rows(50, true).ends_with("only the oldest are among them."));
    }
}
