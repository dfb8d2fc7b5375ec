//! What people wrote, and who looks at it, so that two of them do not ring the same provider.

use domain::{access::Permission, ids::OperationId, view::NoteView};
use leptos::{form::ActionForm, prelude::*};

use super::Part;
use crate::{
    api::actions::{AddNote, Take},
    components::{
        form_field::AreaField,
        notice::{Notice, Tone},
        timestamp::Timestamp,
    },
    error::{ConsoleError, Field, RefusalView},
};

/// The actions beside a record; made by the page.
#[derive(Clone, Copy)]
pub struct Desk {
    /// Writes a note.
    pub note: ServerAction<AddNote>,
    /// Takes the operation, or gives it back.
    pub take: ServerAction<Take>,
}

impl Default for Desk {
    fn default() -> Self {
        Self { note: ServerAction::new(), take: ServerAction::new() }
    }
}

impl Desk {
    /// How often this page has sent either form.
    #[must_use]
    pub fn sent(self) -> u64 {
        let sent = self.note.version().get() + self.take.version().get();
        u64::try_from(sent).unwrap_or(u64::MAX)
    }

    /// Why the last form was refused. What stands in the address alone (`__err`) does not count.
    #[must_use]
    pub fn refusal(self) -> Option<ConsoleError> {
        let note = (self.note.version().get() > 0).then(|| self.note.value().get()).flatten();
        let take = (self.take.version().get() > 0).then(|| self.take.value().get()).flatten();
        note.and_then(Result::err).or_else(|| take.and_then(Result::err))
    }
}

/// Notes, oldest first, and the forms beside them.
#[component]
pub fn Notes(
    /// Which operation.
    id: OperationId,
    /// What people wrote.
    notes: Vec<NoteView>,
    /// Who looks at it.
    taken_by: Option<String>,
    /// Minted for this page's note.
    form_key: String,
    /// Whether the reader may write.
    may_note: bool,
    /// The forms' actions.
    desk: Desk,
    /// Why the last form was refused, where it was.
    refusal: Option<ConsoleError>,
) -> impl IntoView {
    let count = notes.len();
    let list = (!notes.is_empty()).then(|| {
        view! { <ul class="receipt-also">{notes.into_iter().map(one).collect_view()}</ul> }
    });
    let field = match &refusal {
        Some(ConsoleError::Refused(refusal)) => Some(refusal.clone()),
        _ => None,
    };
    let refused = refusal.map(|error| {
        view! {
            <Notice tone=Tone::Bad title=error.title() code=error.code()>
                <p>{error.advice()}</p>
            </Notice>
        }
    });
    let forms = if may_note {
        view! {
            {take_form(id, taken_by, desk)}
            {note_form(id, form_key, desk, field.as_ref())}
        }
        .into_any()
    } else {
        let words = format!("Your role lacks the right to {}.", Permission::Note.label());
        view! { <p class="field-help">{words}</p> }.into_any()
    };
    view! {
        <Part id="notes" title="Notes" count>
            <div class="stack">{list} {refused} {forms}</div>
        </Part>
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

fn take_form(id: OperationId, taken_by: Option<String>, desk: Desk) -> impl IntoView {
    let (words, taken, label) = match taken_by {
        Some(who) => (format!("{who} is looking at it."), "false", "Give it back"),
        None => ("Nobody says that they are looking at it.".to_owned(), "true", "I look at it"),
    };
    view! {
        <ActionForm action=desk.take attr:class="form" attr:aria-label="Taken by">
            <input type="hidden" name="id" value=id.to_string()/>
            <input type="hidden" name="taken" value=taken/>
            <div class="form-actions">
                <span>{words}</span>
                <button
                    class="button"
                    type="submit"
                    disabled=move || desk.take.pending().get()
                >
                    {label}
                </button>
            </div>
        </ActionForm>
    }
}

fn note_form(
    id: OperationId,
    form_key: String,
    desk: Desk,
    refusal: Option<&RefusalView>,
) -> AnyView {
    let text = view! {
        <AreaField
            field=Field::Text
            help="What you found out or whom you rang. Everybody who sees this operation reads it."
            refusal
        />
    }
    .into_any();
    view! {
        <ActionForm action=desk.note attr:class="form" attr:aria-label="Note">
            <input type="hidden" name="id" value=id.to_string()/>
            <input type="hidden" name="form_key" value=form_key/>
            {text}
            <div class="form-actions">
                <button
                    class="button"
                    type="submit"
                    disabled=move || desk.note.pending().get()
                >
                    "Add the note"
                </button>
            </div>
        </ActionForm>
    }
    .into_any()
}
