//! What people wrote on a record, with the form for more of it; and who looks at an operation, so that
//! two people do not ring the same provider.

use domain::{access::Permission, ids::OperationId, record::RecordName, view::NoteView};
use leptos::{prelude::*, server_fn::ServerFn as _};

use super::{
    form_field::{AreaField, kept_text},
    notice::{Notice, Tone, lacks},
    part::Part,
    slice::Slice,
    timestamp::Timestamp,
};
use crate::{
    api::{
        actions::{AddNote, Take},
        notes::NotesOf,
        refused::{Kept, RefusedForm},
    },
    error::{Field, RefusalView},
    text,
};

/// What the notes of one piece take at most, in bytes of the page, and what one takes besides its text.
const MAX_PIECE: usize = 24_000;
const FRAME: usize = 300;

/// Notes, oldest first, and the forms beside them.
#[component]
pub fn Notes<'a>(
    /// What people wrote, and on which record.
    notes: NotesOf,
    /// Who looks at it, where that is said of such a record.
    #[prop(optional)]
    taken_by: Option<Option<String>>,
    /// Why the last form was refused, where it was, and what had been written.
    refused: Option<RefusedForm>,
    /// The path and query of the page.
    place: (&'a str, &'a str),
) -> impl IntoView {
    let NotesOf { about, notes, form_key, may_note } = notes;
    let count = notes.len();
    let weigh = |note: &NoteView| FRAME + text::weight(&note.text);
    let piece = Slice::weighed(place, "notes", MAX_PIECE, notes.iter().map(weigh));
    let list = (!notes.is_empty()).then(|| {
        let notes = piece.of(&notes).iter().cloned().map(one).collect_view();
        view! { <ul class="receipt-also">{notes}</ul> {piece.ways()} }
    });
    let (refusal, kept) = refused.map(|refused| (refused.refusal, refused.kept)).unzip();
    let kept = kept.unwrap_or_default();
    let refused = refusal.as_ref().map(explained);
    let forms = if may_note {
        view! {
            {taken_by.map(|by| take_form(OperationId::new(about.id), by))}
            {note_form(about, form_key, kept, refusal.as_ref())}
        }
        .into_any()
    } else {
        let words = lacks(Permission::Note);
        let unsaid = (!kept.text.is_empty()).then(|| {
            view! {
                <p class="field-label">"What you wrote was not stored:"</p>
                {kept_text(&kept.text, kept.cut)}
            }
        });
        view! { <p class="field-help">{words}</p> {unsaid} }.into_any()
    };
    view! {
        <Part id="notes" title="Notes" count>
            <div class="stack">{list} {refused} {forms}</div>
        </Part>
    }
    .into_any()
}

/// A refused form's words; the address's target, so that they are the first thing read.
fn explained(refusal: &RefusalView) -> AnyView {
    let mend = refusal
        .field
        .map(|field| view! { <p>{format!("{}: {}", field.label(), field.mend())}</p> });
    let code = refusal.code;
    view! {
        <div id="refused" tabindex="-1">
            <Notice tone=Tone::Bad title=code.title() code=code>
                <p>{code.advice()}</p>
                {mend}
            </Notice>
        </div>
    }
    .into_any()
}

fn one(note: NoteView) -> impl IntoView {
    let text = if note.text.is_empty() { "(expired)".to_owned() } else { note.text };
    view! {
        <li>
            <strong>{note.author}</strong>
            " · "
            <Timestamp at=note.at/>
            <br/>
            {text}
        </li>
    }
}

fn take_form(id: OperationId, taken_by: Option<String>) -> impl IntoView {
    let (words, taken, label) = match taken_by {
        Some(who) => (format!("{who} has taken it."), "false", "Give it back"),
        None => ("Nobody has taken it.".to_owned(), "true", "Take it"),
    };
    view! {
        <form class="form" method="post" action=Take::PATH aria-label="Taken by">
            <input type="hidden" name="id" value=id.to_string()/>
            <input type="hidden" name="taken" value=taken/>
            <div class="form-actions">
                <span>{words}</span>
                <button class="button" type="submit">
                    {label}
                </button>
            </div>
        </form>
    }
}

fn note_form(
    about: RecordName,
    form_key: String,
    kept: Kept,
    refusal: Option<&RefusalView>,
) -> AnyView {
    // A refused note goes out under the key that it had, so that it is written once even where the
    // refusal could not tell whether it was.
    let form_key = if kept.form_key.is_empty() { form_key } else { kept.form_key };
    let text = view! {
        <AreaField
            field=Field::Text
            help="What you found out or whom you rang. Everybody who sees this record reads it."
            kept=kept.text
            cut=kept.cut
            refusal
        />
    }
    .into_any();
    view! {
        <form class="form" method="post" action=AddNote::PATH aria-label="Note">
            <input type="hidden" name="target_type" value=about.record.target().as_str()/>
            <input type="hidden" name="id" value=about.id.to_string()/>
            <input type="hidden" name="form_key" value=form_key/>
            {text}
            <div class="form-actions">
                <button class="button" type="submit">
                    "Add the note"
                </button>
            </div>
        </form>
    }
    .into_any()
}
