//! The rail: where one can go today, with the count that matters; below it zone, theme and person.

use domain::view::Me;
use leptos::prelude::*;
use leptos_router::components::A;

use super::icon::{Icon, IconName};
use crate::{
    api::reading::Reading, error::ConsoleError, islands::BrowserZone, look::Look, text, zone::Zone,
};

/// The console's mark: a ring that closes with a check.
#[component]
pub fn BrandMark() -> impl IntoView {
    view! {
        <svg class="brand-mark icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
            <path class="icon-stroke" d="M12.9 3.3A6.6 6.6 0 1 0 14.6 8"></path>
            <path class="icon-stroke" d="M5.2 7.9l2.4 2.4 6.2-6.4"></path>
        </svg>
    }
}

/// Where the rail leads below the first page.
const LINKS: &[(&str, &str, IconName)] = &[
    ("/operations", "Operations", IconName::List),
    ("/workflows", "Workflows", IconName::Workflow),
    ("/outbox", "Outbox", IconName::Outbox),
    ("/inbox", "Inbox", IconName::Inbox),
    ("/conflicts", "Conflicts", IconName::Conflict),
    ("/leases", "Leases", IconName::Lease),
    ("/approvals", "Approvals", IconName::People),
    ("/incidents", "Incidents", IconName::Warning),
    ("/audit", "Audit", IconName::Ledger),
    ("/admin/kinds", "Kinds", IconName::Sliders),
    ("/admin/staff", "Staff", IconName::Shield),
    ("/admin/tokens", "Tokens", IconName::Key),
];

fn link((href, word, icon): (&'static str, &'static str, IconName)) -> impl IntoView {
    view! {
        <li>
            <A href=href attr:class="rail-link" attr:title=word>
                <Icon name=icon/>
                <span class="rail-word">{word}</span>
            </A>
        </li>
    }
}

/// The rail. `me` feeds the count and the person; without it the links still work.
#[component]
pub fn Nav(
    /// Who is signed in.
    me: Reading<Result<Me, ConsoleError>>,
    /// The page to come back to after a preference has changed.
    here: String,
) -> impl IntoView {
    let count = Suspend::new(async move { me.await.ok().map(|me| attention(&me)) });
    view! {
        <nav class="rail" id="rail" popover="auto" aria-label="Main">
            <a class="brand" href="/" title="Onceover">
                <BrandMark/>
                <span class="rail-word">"Onceover"</span>
            </a>
            <ul class="rail-links">
                <li>
                    <A href="/" exact=true attr:class="rail-link" attr:title="Attention">
                        <Icon name=IconName::Flag/>
                        <span class="rail-word">"Attention"</span>
                        {count}
                    </A>
                </li>
                {LINKS.iter().copied().map(link).collect_view()}
            </ul>
            <div class="rail-foot">
                <ZoneSwitch here=here.clone()/>
                <A href="/help" attr:class="rail-link" attr:title="Help">
                    <Icon name=IconName::Info/>
                    <span class="rail-word">"Keys and help"</span>
                </A>
                <ThemeSwitch here/>
                {Suspend::new(async move { person(me.await) })}
            </div>
        </nav>
    }
    .into_any()
}

fn attention(me: &Me) -> AnyView {
    if me.attention == 0 {
        return ().into_any();
    }
    let words = counted(me.attention, me.attention_more);
    let title = words.clone();
    view! {
        <span class="rail-count" title=title>
            <span aria-hidden="true">{text::short_count(me.attention, me.attention_more)}</span>
            <span class="visually-hidden">{words}</span>
        </span>
    }
    .into_any()
}

/// What the count counts: not all that needs a person, nor all that is unknown, but what is both.
fn counted(number: i64, more: bool) -> String {
    let what = if number == 1 && !more {
        "unknown outcome that needs"
    } else {
        "unknown outcomes that need"
    };
    format!("{} {what} a person", text::count(number, more))
}

/// In which zone times are, which leads to all of them; and the switch between UTC and the browser's.
#[component]
fn ZoneSwitch(here: String) -> impl IntoView {
    let look = Look::in_force();
    let zone = look.zone();
    let is_utc = zone == Zone::UTC;
    let words = format!("Times in {zone}");
    let title = words.clone();
    // The browser's zone may be UTC itself: then there is nothing to switch to.
    let offered = is_utc && look.browser != Some(Zone::UTC);
    let utc = (!is_utc).then(|| {
        view! {
            <button class="rail-link" name="zone" value="utc" title="Times in UTC">
                <Icon name=IconName::Clock/>
                <span class="rail-word">"Show UTC"</span>
            </button>
        }
    });
    let known = look.browser.map(|zone| zone.name().to_owned());
    view! {
        <a class="rail-link rail-fact" href="/me#preferences" title=title>
            <Icon name=IconName::Clock/>
            <span class="rail-word">{words}</span>
        </a>
        <form method="post" action="/preferences">
            <input type="hidden" name="return_to" value=here/>
            {utc}
            <BrowserZone known offered>
                <Icon name=IconName::Clock/>
                <span class="rail-word">"Show local times"</span>
            </BrowserZone>
        </form>
    }
    .into_any()
}

/// Both offers stand in the page; the style sheet shows the one that changes something.
#[component]
pub fn ThemeSwitch(
    /// The page to come back to.
    here: String,
) -> impl IntoView {
    view! {
        <form method="post" action="/preferences">
            <input type="hidden" name="return_to" value=here/>
            <button class="rail-link theme-to-dark" name="theme" value="dark" title="Dark theme">
                <Icon name=IconName::Moon/>
                <span class="rail-word">"Dark theme"</span>
            </button>
            <button class="rail-link theme-to-light" name="theme" value="light" title="Light theme">
                <Icon name=IconName::Sun/>
                <span class="rail-word">"Light theme"</span>
            </button>
        </form>
    }
}

fn person(me: Result<Me, ConsoleError>) -> AnyView {
    let Ok(me) = me else {
        return view! {
            <a class="rail-link" href="/sign-in" title="Sign in">
                <Icon name=IconName::Person/>
                <span class="rail-word">"Sign in"</span>
            </a>
        }
        .into_any();
    };
    view! {
        <form method="post" action="/sign-out">
            <button class="rail-link" title="Sign out">
                <Icon name=IconName::SignOut/>
                <span class="rail-word">"Sign out"</span>
            </button>
        </form>
        <A href="/me" attr:class="rail-link rail-person" attr:title=me.email.clone()>
            <span class="initials" aria-hidden="true">{text::initials(&me.name)}</span>
            <span class="rail-person-words">
                <span class="rail-person-name">{me.name}</span>
                <span class="rail-person-role">{me.role.as_str()}</span>
            </span>
        </A>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn the_count_names_what_it_counts() {
        assert_eq!(counted(1, false), "1 unknown outcome that needs a person");
        assert_eq!(counted(12, false), "12 unknown outcomes that need a person");
        assert_eq!(counted(200, true), "more than 200 unknown outcomes that need a person");
    }
}
