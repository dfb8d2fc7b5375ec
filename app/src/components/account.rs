//! The parts of `/me` about getting in: second factor, password, sessions, last sign-ins. All plain forms.

use chrono::{DateTime, Utc};
use domain::view::{AccountView, SessionView, SignInView};
use leptos::prelude::*;

use super::timestamp::{Ago, Timestamp};

/// All of them.
#[must_use]
pub fn sections(account: AccountView, as_of: DateTime<Utc>) -> AnyView {
    let AccountView { second_factor: on, recovery_codes: left, sessions, sign_ins, .. } = account;
    view! {
        {second_factor(on, left)}
        {password(on)}
        {session_list(sessions, as_of)}
        {sign_in_list(sign_ins)}
    }
    .into_any()
}

fn second_factor(on: bool, left: i64) -> AnyView {
    let form = if on {
        view! {
            <p class="prose">
                {format!("It is on: signing in, and what moves money, asks for a code. {left} recovery codes are left.")}
            </p>
            <form class="form" method="post" action="/me/second-factor/off">
                <div class="form-actions"><button class="button">"Turn it off"</button></div>
            </form>
        }
        .into_any()
    } else {
        view! {
            <p class="prose">
                "It is off: your password alone opens your account. An authenticator on your phone or computer \
                 adds a code that changes every thirty seconds."
            </p>
            <form class="form" method="post" action="/me/second-factor/begin">
                <div class="form-actions">
                    <button class="button button--primary">"Set up a second factor"</button>
                </div>
            </form>
        }
        .into_any()
    };
    view! {
        <section class="section" aria-labelledby="second-factor">
            <h2 class="section-title" id="second-factor">"Second factor"</h2>
            {form}
        </section>
    }
    .into_any()
}

fn password(second_factor: bool) -> AnyView {
    let current = if second_factor { "Current password, or a code" } else { "Current password" };
    view! {
        <section class="section" aria-labelledby="password">
            <h2 class="section-title" id="password">"Password"</h2>
            <form class="form" method="post" action="/me/password" aria-label="Change the password">
                {secret_field("current", current, "current-password", None)}
                {secret_field("new", "New password", "new-password", Some("Twelve characters at least; nothing else makes one better."))}
                {secret_field("again", "New password again", "new-password", None)}
                <p class="field-help">"All your other sessions end."</p>
                <div class="form-actions"><button class="button">"Change the password"</button></div>
            </form>
        </section>
    }
    .into_any()
}

fn secret_field(
    name: &'static str,
    label: &'static str,
    autocomplete: &'static str,
    help: Option<&'static str>,
) -> AnyView {
    let id = format!("password-{name}");
    let help_id = format!("{id}-help");
    let described = help.is_some().then(|| help_id.clone());
    let help = help.map(|help| view! { <p class="field-help" id=help_id>{help}</p> });
    view! {
        <div class="field">
            <label class="field-label" for=id.clone()>{label}</label>
            <input
                class="input"
                id=id
                name=name
                type="password"
                autocomplete=autocomplete
                required
                maxlength="1024"
                aria-describedby=described
            />
            {help}
        </div>
    }
    .into_any()
}

fn session_list(sessions: Vec<SessionView>, as_of: DateTime<Utc>) -> AnyView {
    let others = sessions.iter().any(|session| !session.current).then(|| {
        view! {
            <form class="form" method="post" action="/me/sessions/end">
                <div class="form-actions">
                    <button class="button" name="session" value="others">"End all others"</button>
                </div>
            </form>
        }
    });
    let rows = sessions.into_iter().map(|session| session_row(session, as_of)).collect_view();
    view! {
        <section class="section" aria-labelledby="sessions">
            <h2 class="section-title" id="sessions">"Your sessions"</h2>
            <ul class="account-list">{rows}</ul>
            {others}
        </section>
    }
    .into_any()
}

fn session_row(session: SessionView, as_of: DateTime<Utc>) -> impl IntoView {
    let end = if session.current {
        view! { <span class="account-end">"This one"</span> }.into_any()
    } else {
        let label = format!("End the session of {}", session.browser);
        view! {
            <form class="account-end" method="post" action="/me/sessions/end">
                <button class="button" name="session" value=session.id.to_string() aria-label=label>
                    "End it"
                </button>
            </form>
        }
        .into_any()
    };
    let place = format!("{}, in {}", address(session.address), session.tenant);
    view! {
        <li data-current=session.current.then_some("")>
            <span class="account-browser">{session.browser}</span>
            <span class="account-place">{place}</span>
            <span class="account-when">
                "Begun " <Timestamp at=session.begun/> ", seen " <Ago at=session.seen as_of/>
            </span>
            {end}
        </li>
    }
}

fn sign_in_list(sign_ins: Vec<SignInView>) -> AnyView {
    let rows = sign_ins
        .into_iter()
        .map(|one| {
            let stands = if one.open { "Open" } else { "Over" };
            view! {
                <li>
                    <span class="account-browser">{one.browser}</span>
                    <span class="account-place">{address(one.address)}</span>
                    <span class="account-when"><Timestamp at=one.at/></span>
                    <span class="account-end">{stands}</span>
                </li>
            }
        })
        .collect_view();
    view! {
        <section class="section" aria-labelledby="sign-ins">
            <h2 class="section-title" id="sign-ins">"Your last sign-ins"</h2>
            <p class="prose">
                "One that you do not know: end its session, change your password, and tell an administrator."
            </p>
            <ul class="account-list">{rows}</ul>
        </section>
    }
    .into_any()
}

fn address(address: Option<String>) -> String {
    address.unwrap_or_else(|| "Address not known".to_owned())
}
