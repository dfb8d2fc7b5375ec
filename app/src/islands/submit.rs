//! The button of a form: it says what will happen by what is chosen, and that it is happening.
//!
//! It never locks itself: a form that is sent twice is carried out once (its key is derived, D41), and
//! a button that a broken connection left disabled would be a dead end.

use leptos::{
    ev,
    prelude::*,
    wasm_bindgen::JsCast as _,
    web_sys::{Event, HtmlFormElement, Node},
};

/// The button.
#[island]
pub fn Submit(
    /// What it says before anything is chosen, and without scripts.
    #[prop(into)]
    label: String,
    /// What it says by the value of the chosen radio button of its form.
    choices: Vec<(String, String)>,
    /// What it says while the server works on it.
    #[prop(into)]
    busy: String,
    /// Whether the reader may send the form.
    enabled: bool,
) -> impl IntoView {
    let button = NodeRef::<leptos::html::Button>::new();
    let (chosen, set_chosen) = signal(None::<String>);
    let (sent, set_sent) = signal(false);
    Effect::new(move || {
        let Some(form) = button.get().and_then(|button| button.form()) else { return };
        // A browser may have put the choice back when one came back to the page.
        set_chosen.set(choice(&form));
        let own = form.clone();
        let change = window_event_listener(ev::change, move |event| {
            if is_about(&event, &own) {
                set_chosen.set(choice(&own));
            }
        });
        let submit = window_event_listener(ev::submit, move |event| {
            // A button that leads elsewhere is another one.
            let own = event.submitter().is_none_or(|by| !by.has_attribute("formaction"));
            if own && is_about(&event, &form) {
                set_sent.set(true);
            }
        });
        let shown = window_event_listener(ev::pageshow, move |_| set_sent.set(false));
        on_cleanup(move || {
            change.remove();
            submit.remove();
            shown.remove();
        });
    });
    let words = move || {
        if sent.get() {
            return busy.clone();
        }
        let chosen = chosen.get();
        let of_choice = choices.iter().find(|(value, _)| chosen.as_ref() == Some(value));
        of_choice.map_or_else(|| label.clone(), |(_, words)| words.clone())
    };
    view! {
        <button
            class="button button--primary"
            type="submit"
            disabled=!enabled
            aria-busy=move || sent.get().then_some("true")
            node_ref=button
        >
            {words}
        </button>
    }
}

fn choice(form: &HtmlFormElement) -> Option<String> {
    let chosen = form.query_selector("input[type=radio]:checked").ok().flatten();
    chosen.and_then(|radio| radio.get_attribute("value"))
}

fn is_about(event: &Event, form: &HtmlFormElement) -> bool {
    let target = event.target().and_then(|target| target.dyn_into::<Node>().ok());
    form.contains(target.as_ref())
}
