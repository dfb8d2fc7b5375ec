//! `/operations/{id}/reveal` and the like: which fields are masked, and the reason for which one person
//! reads them for a few minutes.

use domain::{
    access::Permission,
    action::{Subject, TargetType},
    ids::OperationId,
    view::{ArtifactName, MaskedFields},
};
use leptos::prelude::*;
use leptos_meta::Title;

use super::named;
use crate::{
    api::{
        found::Found,
        reading::Reading,
        records::permits,
        refused::RefusedForm,
        reveal::{POSTED_TO, masked_fields},
    },
    components::{
        form_field::LineField,
        given_back::given_back,
        icon::{Icon, IconName},
        key::Key,
        notice::{Notice, Tone, right},
        refusal_summary::refusal_summary,
    },
    error::{ConsoleError, Field},
    held::HeldForm,
    islands::Submit,
    location::value,
    pages::{
        address::{query, record_id},
        elsewhere::InAnotherTenant,
        failed::{Failed, no_such_record},
    },
};

/// The form about an operation.
#[component]
pub fn OperationFormPage() -> impl IntoView {
    page(TargetType::Operation)
}

/// The form about an event.
#[component]
pub fn EventFormPage() -> impl IntoView {
    page(TargetType::Outbox)
}

/// The form about a message.
#[component]
pub fn MessageFormPage() -> impl IntoView {
    page(TargetType::Inbox)
}

/// The form about an artifact of a workflow, which the query names.
#[component]
pub fn ArtifactFormPage() -> impl IntoView {
    page(TargetType::Workflow)
}

/// What the form is about.
#[derive(Debug, Clone)]
struct About {
    target: Subject,
    artifact: Option<ArtifactName>,
}

fn page(kind: TargetType) -> AnyView {
    let query = query();
    let refused = RefusedForm::from_query(&query);
    let artifact = value(&query, "step").zip(value(&query, "artifact"));
    let artifact = artifact.map(|(step, name)| ArtifactName { step, name });
    let about = record_id::<OperationId>()
        .filter(|_| artifact.is_some() == (kind == TargetType::Workflow))
        .map(|id| About { target: Subject::new(kind, id.to_string()), artifact });
    let reading = about.clone();
    let fields = Reading::new(move || load(reading.clone()));
    let content = Suspend::new(async move {
        match (fields.await, about) {
            (Ok(Found::Here(fields)), Some(about)) => shown(&about, &fields, refused),
            (Ok(Found::Elsewhere(tenant)), _) => view! { <InAnotherTenant tenant/> }.into_any(),
            (Ok(Found::Here(_)), None) => view! { <Failed error=no_such_record()/> }.into_any(),
            (Err(error), _) => view! { <Failed error/> }.into_any(),
        }
    });
    view! {
        <Title text="Reveal masked fields · Onceover"/>
        {content}
    }
    .into_any()
}

async fn load(about: Option<About>) -> Result<Found<MaskedFields>, ConsoleError> {
    match about {
        Some(About { target, artifact }) => masked_fields(&target, artifact.as_ref()).await,
        None => Err(no_such_record()),
    }
}

fn shown(about: &About, fields: &MaskedFields, refused: Option<RefusedForm>) -> AnyView {
    let back = format!("{}/{}", about.target.kind.pages(), about.target.id);
    let artifact = about.artifact.as_ref();
    let of_step = artifact.map(|artifact| format!("{} of step {}", artifact.name, artifact.step));
    view! {
        <article class="detail">
            <header class="detail-head">
                <div class="detail-name">
                    <p class="detail-kind">
                        <span>{fields.label.clone()}</span>
                        <a href=back.clone()><Key text=fields.key.clone() whole=true/></a>
                        <span>{of_step}</span>
                    </p>
                    <h1 class="detail-key">"Reveal the masked fields"</h1>
                </div>
            </header>
            {match fields.pointers.is_empty() {
                true => nothing(fields.expired, back, refused.as_ref()),
                false => form(about, fields, refused, back),
            }}
        </article>
    }
    .into_any()
}

fn nothing(expired: bool, back: String, refused: Option<&RefusedForm>) -> AnyView {
    let summary = refused.map(|form| refusal_summary(&form.refusal, Permission::Reveal));
    let title = if expired {
        "Its contents have expired: there is nothing to reveal."
    } else {
        "Nothing is masked in it."
    };
    view! {
        {summary}
        <Notice tone=Tone::Neutral title>
            <p><a href=back>"Back to the record"</a></p>
        </Notice>
    }
    .into_any()
}

fn form(
    about: &About,
    fields: &MaskedFields,
    refused: Option<RefusedForm>,
    back: String,
) -> AnyView {
    let (refusal, kept) = refused.map(|refused| (refused.refusal, refused.kept)).unzip();
    let held = HeldForm::of_request();
    let kept = kept.or_else(|| held.as_ref().map(HeldForm::kept)).unwrap_or_default();
    let may = permits(Permission::Reveal).unwrap_or_default();
    let summary = refusal.as_ref().map(|refusal| refusal_summary(refusal, Permission::Reveal));
    let lacks = (!may && refusal.is_none()).then(|| {
        view! {
            <Notice tone=Tone::Caution title="Your role does not have this right.">
                {right(Permission::Reveal)}
            </Notice>
        }
    });
    // Sent again after a refusal the form is the same one; a used one is not.
    let used = refusal.as_ref().is_some_and(|refusal| refusal.field == Some(Field::FormKey));
    let form_key = match kept.form_key {
        key if key.is_empty() || used => uuid::Uuid::new_v4().to_string(),
        key => key,
    };
    let artifact = about.artifact.clone().map(|artifact| {
        view! {
            <input type="hidden" name="step" value=artifact.step/>
            <input type="hidden" name="artifact" value=artifact.name/>
        }
    });
    let (names, unnamed) = named(&fields.pointers);
    let names = names.iter().map(|pointer| view! { <li><code>{pointer.clone()}</code></li> });
    let unnamed = (unnamed > 0).then(|| {
        let words = format!("{unnamed} more are not named here. The audit log names all of them.");
        view! { <p class="prose">{words}</p> }
    });
    view! {
        {summary}
        {given_back()}
        {lacks}
        <section class="section" aria-labelledby="masked">
            <h2 class="section-title" id="masked">"What would be shown"</h2>
            <ul class="reveal-names">{names.collect_view()}</ul>
            {unnamed}
        </section>
        <form class="form" method="post" action=POSTED_TO aria-label="Reveal the masked fields">
            <input type="hidden" name="target_type" value=about.target.kind.as_str()/>
            <input type="hidden" name="id" value=about.target.id.clone()/>
            {artifact}
            <input type="hidden" name="form_key" value=form_key/>
            <LineField
                field=Field::Reason
                help="Why you need to see them, in a sentence. It stays in the audit log under your name."
                value=kept.reason
                refusal=refusal.as_ref()
            />
            <div class="consequence">
                <Icon name=IconName::Info/>
                <p>
                    "The audit log names you, your reason and these fields, before anything is shown. You \
                     alone can read them, for five minutes; the log never holds what stands in them."
                </p>
            </div>
            <div class="form-actions">
                <Submit
                    label="Reveal: it is written into the audit log"
                    choices=Vec::new()
                    busy="Sending"
                    enabled=may
                />
                <a class="button" href=back>"Back without revealing"</a>
            </div>
        </form>
    }
    .into_any()
}
