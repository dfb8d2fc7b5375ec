//! Why a form was refused, above it: one frame for all forms, which takes the focus as the page comes.
//! What is particular to a refusal is the form's own; here are those of a form that decides nothing about a
//! record's version.

use domain::{access::Permission, problem::Code};
use leptos::prelude::*;

use super::notice::right;
use crate::error::{Field, RefusalView};

/// The frame: what happened, what is safe now, and the particulars of this case.
#[must_use]
pub fn refusal_frame(code: Code, particulars: AnyView) -> AnyView {
    view! {
        <div
            class="form-errors"
            role="alert"
            tabindex="-1"
            autofocus=true
            data-code=code.as_str()
        >
            <h2 class="form-errors-title">{code.title()}</h2>
            <p>{code.advice()}</p>
            {particulars}
        </div>
    }
    .into_any()
}

/// The field to mend, as a link to it.
#[must_use]
pub fn to_mend(field: Field) -> AnyView {
    let words = format!("{}: {}", field.label(), field.mend());
    view! { <p><a href=format!("#{}", field.as_str())>{words}</a></p> }.into_any()
}

/// The summary. `needed` is the right that the form asks for, where the refusal names none.
#[must_use]
pub fn refusal_summary(refusal: &RefusalView, needed: Permission) -> AnyView {
    let code = refusal.code;
    let particulars = match (code, refusal.field) {
        (Code::PermissionMissing, _) => Some(right(refusal.missing.unwrap_or(needed))),
        (_, field) => field.map(to_mend),
    };
    refusal_frame(code, particulars.into_any())
}
