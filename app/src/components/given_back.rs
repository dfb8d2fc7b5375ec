//! What stands above a form that comes back as it was, once its sender has proved who they are.

use leptos::prelude::*;

use super::notice::{Notice, Tone};
use crate::held::HeldForm;

/// Says so, where this page is one.
#[must_use]
pub fn given_back() -> Option<AnyView> {
    HeldForm::of_request().map(|_| {
        view! {
            <Notice tone=Tone::Good title="It is you. Here is your form as you sent it.">
                <p>"Nothing has been done yet. Look at it once more, then send it."</p>
            </Notice>
        }
        .into_any()
    })
}
