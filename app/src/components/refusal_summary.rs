//! Why a form was refused, above it: it takes the focus as the page comes. For forms that decide
//! nothing about a record's version; those have summaries of their own.

use domain::{access::Permission, problem::Code};
use leptos::prelude::*;

use super::notice::right;
use crate::error::RefusalView;

/// The summary. `needed` is the right that the form asks for, where the refusal names none.
#[must_use]
pub fn refusal_summary(refusal: &RefusalView, needed: Permission) -> AnyView {
    let code = refusal.code;
    let particulars = match (code, refusal.field) {
        (Code::PermissionMissing, _) => Some(right(refusal.missing.unwrap_or(needed))),
        (_, Some(field)) => {
            let words = format!("{}: {}", field.label(), field.mend());
            Some(view! { <p><a href=format!("#{}", field.as_str())>{words}</a></p> }.into_any())
        }
        _ => None,
    };
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
