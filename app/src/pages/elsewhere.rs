//! A record of another tenant of the reader: says so, and offers the switch. Opening the page has
//! no effect; the switch is a form of its own and comes back to the record.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_location;

use crate::{api::found::Elsewhere, location::here};

/// The longest place that the switch comes back to, in bytes; the server takes no longer one.
const MAX_RETURN: usize = 2_000;

/// The page in place of the record.
#[component]
pub fn InAnotherTenant(
    /// Where the record stands.
    tenant: Elsewhere,
) -> impl IntoView {
    let at = use_location();
    let path = at.pathname.get_untracked();
    let whole = here(&path, &at.search.get_untracked());
    let return_to = if whole.len() <= MAX_RETURN { whole } else { path };
    let Elsewhere { slug, name } = tenant;
    let place = slug.clone();
    view! {
        <Title text="In another tenant · Onceover"/>
        <div class="prose" data-elsewhere=place>
            <h1 class="outside-title">"This record is in another of your tenants."</h1>
            <p class="outside-words">
                {format!(
                    "It belongs to {name}. Your session stands in the tenant named at the top, and \
                     shows records of that one only."
                )}
            </p>
            <p class="outside-words">
                "The switch counts for the whole session: your other open tabs stand in the new \
                 tenant, too. Until you switch, nothing changes."
            </p>
            <form class="form" method="post" action="/session/tenant" aria-label="Switch the tenant">
                <input type="hidden" name="tenant" value=slug/>
                <input type="hidden" name="return_to" value=return_to/>
                <div class="form-actions">
                    <button class="button button--primary" type="submit">
                        {format!("Switch to {name} and open it")}
                    </button>
                    <a class="button" href="/operations">
                        "Stay here"
                    </a>
                </div>
            </form>
        </div>
    }
    .into_any()
}
