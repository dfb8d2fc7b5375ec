//! `/incidents/gather?record=…&record=…`: picked records, and the incident that they go into: a new one,
//! or one that is open. Nothing is chosen beforehand, for the choice is the decision.

use domain::{
    access::Permission,
    problem::Code,
    record::RecordName,
    view::{Gathering, IncidentRow},
};
use leptos::{prelude::*, server_fn::ServerFn as _};
use leptos_meta::Title;

use super::form::choice;
use crate::{
    api::{
        actions::Gather,
        incidents::{NEW, choice as named, gathering},
        reading::Reading,
        records::permits,
        refused::{Kept, RefusedForm},
    },
    components::{
        form_field::{LineField, is_wrong},
        icon::{Icon, IconName},
        notice::{Notice, Tone, right, would_be_refused},
        part::Part,
        record_list::record_list,
        record_state::cause,
        refusal_summary::{refusal_frame, to_mend},
    },
    error::{ConsoleError, Field, RefusalView},
    islands::Submit,
    location::values,
    pages::{address::query, failed::Failed},
    text,
};

/// The page.
#[component]
pub fn GatherPage() -> impl IntoView {
    let query = query();
    let refused = RefusedForm::from_query(&query);
    let given = values(&query, "record");
    let mut picked: Vec<RecordName> = Vec::new();
    for name in given.iter().filter_map(|name| name.parse().ok()) {
        if !picked.contains(&name) {
            picked.push(name);
        }
    }
    let unread = given.iter().filter(|name| name.parse::<RecordName>().is_err()).count();
    let gathering = Reading::new(move || gathering(picked.clone()));
    let content = Suspend::new(async move {
        match gathering.await {
            Ok(gathering) => shown(&gathering, unread, refused),
            Err(error) => failed(error, refused),
        }
    });
    view! {
        <Title text="Gather into an incident · Onceover"/>
        {content}
    }
}

/// What cannot be shown says so; a refusal that led here stands above it.
fn failed(error: ConsoleError, refused: Option<RefusedForm>) -> AnyView {
    let summary = refused.filter(|refused| refused.refusal.code != error.code());
    let summary = summary.map(|refused| explained(&refused.refusal));
    let bound = error.0.field.map(|field| view! { <p class="prose">{field.mend()}</p> });
    view! { {summary} <Failed error/> {bound} }.into_any()
}

fn shown(gathering: &Gathering, unread: usize, refused: Option<RefusedForm>) -> AnyView {
    let (refusal, kept) = refused.map(|refused| (refused.refusal, refused.kept)).unzip();
    let summary = refusal.as_ref().map(explained);
    let count = gathering.found.len();
    let list = record_list(&gathering.found);
    let missing = missing(gathering, unread);
    let form = if gathering.found.is_empty() {
        view! {
            <p class="prose">
                "There is nothing to gather. Open a record, or pick some in a list, and choose "
                "\u{201c}Add to an incident\u{201d} there."
            </p>
        }
        .into_any()
    } else {
        form(gathering, kept.unwrap_or_default(), refusal.as_ref())
    };
    view! {
        <article class="detail">
            <h1 class="page-title">"Gather into an incident"</h1>
            {summary}
            <Part id="records" title="Records picked" count>
                <div class="stack">{list} {missing}</div>
            </Part>
            {form}
        </article>
    }
    .into_any()
}

/// Which of the picked records are not there: of another tenant, gone, or never there, alike.
fn missing(gathering: &Gathering, unread: usize) -> Option<AnyView> {
    let names: Vec<_> = gathering.missing.iter().map(ToString::to_string).collect();
    let count = names.len() + unread;
    (count > 0).then(|| {
        let title = match count {
            1 => "One of the records picked was not found here.".to_owned(),
            many => format!("{many} of the records picked were not found here."),
        };
        let names = (!names.is_empty()).then(|| {
            let items = names.into_iter().map(|name| view! { <li>{name}</li> }).collect_view();
            view! { <ul class="receipt-followed">{items}</ul> }
        });
        view! {
            <Notice tone=Tone::Caution title>
                {names}
                <p>"Nothing is gathered of what is not found."</p>
            </Notice>
        }
        .into_any()
    })
}

fn form(gathering: &Gathering, kept: Kept, refusal: Option<&RefusalView>) -> AnyView {
    let enabled = permits(Permission::Incident).unwrap_or_default();
    let hint = (!enabled && refusal.is_none())
        .then(|| would_be_refused(Code::PermissionMissing, Some(Permission::Incident), None));
    let records: Vec<_> = gathering
        .found
        .iter()
        .map(|record| format!("{}/{}", record.record.label(), record.id))
        .collect();
    // A refused form goes out under the id that it had, so that it opens one incident even where the
    // refusal could not tell whether it was opened. One that is too old gets a new one.
    let old = kept.form_key.is_empty() || is_wrong(Field::Id, refusal);
    let id = if old { gathering.new_id.to_string() } else { kept.form_key };
    let title = view! {
        <LineField
            field=Field::Summary
            help="What is the matter, in a sentence: lists and the report begin with it."
            value=kept.summary
            refusal
            note="of a new incident"
        />
    }
    .into_any();
    let reason = view! {
        <LineField
            field=Field::Reason
            help="Why these records belong together, in a sentence. It stays on the record under your name."
            value=kept.reason
            refusal
        />
    }
    .into_any();
    let labels = vec![(NEW.to_owned(), "Open the incident with these records".to_owned())];
    view! {
        {hint}
        <form class="form" method="post" action=Gather::PATH aria-label="Gather into an incident">
            <input type="hidden" name="records" value=records.join(" ")/>
            <input type="hidden" name="id" value=id/>
            {choices(gathering, refusal)}
            {title}
            {reason}
            <div class="consequence">
                <Icon name=IconName::Info/>
                <p>
                    "The records keep their states. The incident shows their timelines as one; while it is "
                    "open, the operations in it do not expire."
                </p>
            </div>
            <div class="form-actions">
                <Submit label="Gather the records" choices=labels busy="Sending" enabled/>
                <a class="button" href="/incidents">"Back without doing it"</a>
            </div>
        </form>
    }
    .into_any()
}

fn choices(gathering: &Gathering, refusal: Option<&RefusalView>) -> AnyView {
    let name = Field::Incident.as_str();
    let error = is_wrong(Field::Incident, refusal)
        .then(|| view! { <p class="field-error" id="incident-error">{Field::Incident.mend()}</p> });
    let new = choice(
        name,
        NEW.to_owned(),
        "A new incident".to_owned(),
        "It is opened with the title below.".to_owned(),
    );
    let open: Vec<_> = gathering.open.iter().map(|row| offered(name, row)).collect();
    let more = gathering.more_open.then(|| {
        view! {
            <p class="field-help">
                "These are the newest; " <a href="/incidents?status=open">"more are open"</a> "."
            </p>
        }
    });
    view! {
        <fieldset class="choices" id=name>
            <legend class="field-label">{Field::Incident.label()}</legend>
            {error}
            {new}
            {open}
            {more}
        </fieldset>
    }
    .into_any()
}

fn offered(name: &'static str, row: &IncidentRow) -> AnyView {
    let opened = format!(
        "{}, opened {} by {}",
        cause(&row.cause),
        text::instant(row.opened_at),
        row.opened_by.as_deref().unwrap_or("the engine")
    );
    choice(name, named(row.id, row.version), row.summary.clone(), opened)
}

/// Why it was refused; it takes the focus as the page comes.
fn explained(refusal: &RefusalView) -> AnyView {
    let mend = refusal.field.map(to_mend);
    let other = refusal.receipt.map(|receipt| {
        view! { <p><a href=format!("/receipts/{receipt}")>"Read its receipt"</a></p> }
    });
    let missing = refusal.missing.map(right);
    refusal_frame(refusal.code, view! { {mend} {missing} {other} }.into_any())
}
