//! What people wrote, and who looks at it, so that two of them do not ring the same provider.

use domain::{access::Permission, ids::OperationId, view::NoteView};
use leptos::{form::ActionForm, html::Textarea, prelude::*};

use super::Part;
use crate::{
    api::{
        actions::{AddNote, Take},
        refused::Kept,
    },
    components::{
        form_field::{AreaField, kept_text},
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
    /// Where a note is written.
    area: NodeRef<Textarea>,
}

impl Default for Desk {
    fn default() -> Self {
        Self { note: ServerAction::new(), take: ServerAction::new(), area: NodeRef::new() }
    }
}

impl Desk {
    /// How often this page has sent either form.
    #[must_use]
    pub fn sent(self) -> u64 {
        let sent = self.note.version().get() + self.take.version().get();
        u64::try_from(sent).unwrap_or(u64::MAX)
    }

    /// Whether this page's last note was written.
    #[must_use]
    pub fn noted(self) -> bool {
        self.note.version().get() > 0 && matches!(self.note.value().get(), Some(Ok(())))
    }

    /// Empties the text area once its note is written: what still stood there would look unsent, and
    /// the page's next key would store it a second time.
    pub fn empty_when_noted(self) {
        Effect::new(move |_| {
            if self.noted()
                && let Some(area) = self.area.get_untracked()
            {
                area.set_value("");
            }
        });
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
    /// What was written before a refusal.
    kept: Kept,
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
        let field = field.as_ref().and_then(|refusal| refusal.field);
        let mend =
            field.map(|field| view! { <p>{format!("{}: {}", field.label(), field.mend())}</p> });
        view! {
            <Notice tone=Tone::Bad title=error.title() code=error.code()>
                <p>{error.advice()}</p>
                {mend}
            </Notice>
        }
    });
    let forms = if may_note {
        view! {
            {take_form(id, taken_by, desk)}
            {note_form(id, form_key, kept, desk, field.as_ref())}
        }
        .into_any()
    } else {
        let words = format!("Your role lacks the right to {}.", Permission::Note.label());
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
    kept: Kept,
    desk: Desk,
    refusal: Option<&RefusalView>,
) -> AnyView {
    // A refused note goes out under the key that it had, so that it is written once even where the
    // refusal could not tell whether it was.
    let form_key = if kept.form_key.is_empty() { form_key } else { kept.form_key };
    let text = view! {
        <AreaField
            field=Field::Text
            help="What you found out or whom you rang. Everybody who sees this operation reads it."
            kept=kept.text
            cut=kept.cut
            area=desk.area
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
