//! Files given as evidence: as links that download them, and the field that adds one.
//!
//! Guards against the file that was chosen and forgotten: the form that decides refuses it until it is
//! attached.

use domain::{ids::OperationId, view::EvidenceFile};
use leptos::prelude::*;

use super::form_field::is_wrong;
use crate::{
    api::evidence::file_limit,
    error::{Field, RefusalView},
    text,
};

/// The files, each with its size and the beginning of its hash.
#[must_use]
pub fn file_list(operation: OperationId, files: &[EvidenceFile]) -> Option<AnyView> {
    if files.is_empty() {
        return None;
    }
    let items = files.iter().map(|file| view! { <li>{file_link(operation, file)}</li> });
    Some(
        view! { <ul class="evidence-files" aria-label="Files">{items.collect_view()}</ul> }
            .into_any(),
    )
}

/// One file. What has expired keeps its size and its hash.
#[must_use]
pub fn file_link(operation: OperationId, file: &EvidenceFile) -> AnyView {
    let about = format!(
        "{}, SHA-256 {}\u{2026}",
        text::bytes(file.size),
        file.sha256.get(..12).unwrap_or_default()
    );
    let name = match file.name.clone() {
        Some(name) => {
            let href = format!("/operations/{operation}/evidence/{}", file.id);
            view! { <a href=href download="" rel="external">{name}</a> }.into_any()
        }
        None => view! { <span>"a file that has expired"</span> }.into_any(),
    };
    view! { {name} " " <span class="cell-sub" title=file.sha256.clone()>{about}</span> }.into_any()
}

/// The field that takes a file.
#[must_use]
pub fn file_field(refusal: Option<&RefusalView>, alone: bool) -> AnyView {
    let wrong = is_wrong(Field::File, refusal);
    let error = wrong.then(|| {
        view! { <p class="field-error" id="file-error">{Field::File.mend()}</p> }
    });
    let more = if alone {
        "It is kept with the operation and goes with its contents; others get it as a download."
    } else {
        "Attach it first, then decide: the form comes back as it was, except for the choice."
    };
    let help = format!("At most {}. {more}", text::bytes(file_limit()));
    let described = if wrong { "file-error file-help" } else { "file-help" };
    view! {
        <div class="field" data-invalid=wrong.then_some("true")>
            <label class="field-label" for="file">
                {Field::File.label()}
                {(!alone).then(|| view! { <span class="field-optional">" (may stay empty)"</span> })}
            </label>
            <input
                class="input input--file"
                type="file"
                id="file"
                name="file"
                required=alone
                aria-describedby=described
                aria-invalid=wrong.then_some("true")
            />
            {error}
            <p class="field-help" id="file-help">{help}</p>
        </div>
    }
    .into_any()
}
