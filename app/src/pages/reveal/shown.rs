//! `/reveals/{id}`: masked fields with what stands in them, to whoever asked for it, while it stands.
//!
//! Guards against the page that goes on showing: loaded again after its time it holds no value. What
//! stands in a field may be as large as its body: each is cut, and what is left out is counted.

use domain::{
    action::Subject,
    ids::RevealId,
    view::{BodyView, RevealView, RevealedBody, RevealedField},
};
use leptos::prelude::*;
use leptos_meta::Title;

use super::named;
use crate::{
    api::{
        reading::Reading,
        reveal::{form, revealed},
    },
    components::{
        body_view::Body,
        facts::{fact, fact_at, fact_text},
        key::Key,
        notice::{Notice, Tone},
        slice::Slice,
        timestamp::Timestamp,
    },
    error::ConsoleError,
    pages::{
        address::{query, record_id},
        failed::{Failed, no_such_record},
    },
    text,
};

/// Bodies that one page shows.
const BODIES: usize = 4;
/// The most of one value, and of the fields of one body, in bytes of the page; and what a field takes
/// besides its name and its value.
const MAX_VALUE: usize = 4_000;
const MAX_FIELDS: usize = 20_000;
const FRAME: usize = 200;

/// The page of a reveal.
#[component]
pub fn ShownPage() -> impl IntoView {
    let id = record_id::<RevealId>();
    let query = query();
    let reveal = Reading::new(move || async move {
        match id {
            Some(id) => revealed(id).await,
            None => Err(no_such_record()),
        }
    });
    view! {
        <Title text="Revealed fields · Onceover"/>
        {Suspend::new(async move { found(reveal.await, &query) })}
    }
}

fn found(reveal: Result<RevealView, ConsoleError>, query: &str) -> AnyView {
    match reveal {
        Ok(reveal) => shown(reveal, query),
        Err(error) => view! { <Failed error/> }.into_any(),
    }
}

fn shown(reveal: RevealView, query: &str) -> AnyView {
    let target = Subject::new(reveal.target_type, reveal.target.clone());
    let record = format!("{}/{}", target.kind.pages(), target.id);
    let again = form(&target, reveal.artifact.as_ref());
    let whole = (reveal.artifact.is_some() && reveal.bodies.is_some()).then(|| {
        let href = format!("/reveals/{}/artifact", reveal.id);
        view! { <p class="prose"><a href=href download="">"Download it whole, unmasked"</a></p> }
    });
    let (names, unnamed) = named(&reveal.pointers);
    let mut names = names.join(", ");
    if unnamed > 0 {
        names.push_str(&format!(" and {unnamed} more, which the audit log names"));
    }
    let facts = [
        Some(fact_text("Reason", reveal.reason.clone())),
        fact_at("Asked", Some(reveal.at)),
        Some(fact("Fields", names)),
    ];
    // An artifact's download stands below; of other bodies the values come whole by a call alone.
    let by_call = reveal.artifact.is_none().then(|| format!("/api/v1{record}/actions/reveal"));
    let (until, place) = (reveal.until, format!("/reveals/{}", reveal.id));
    let content = match reveal.bodies {
        Some(bodies) => view! {
            <Notice tone=Tone::Caution title="These fields are shown to you alone.">
                <p>
                    "Until " <Timestamp at=until/> ". The audit log names you, the reason and the fields. Do \
                     not copy them into a ticket or a note: those are not masked."
                </p>
            </Notice>
            {bodies_shown(bodies, (&place, query), by_call)}
        }
        .into_any(),
        None => view! {
            <Notice tone=Tone::Neutral title="This reveal is over.">
                <p>
                    "It ended " <Timestamp at=until/> ", and nothing is shown any more. "
                    <a href=again>"Ask again, with a reason"</a>
                </p>
            </Notice>
        }
        .into_any(),
    };
    view! {
        <article class="detail">
            <header class="detail-head">
                <div class="detail-name">
                    <p class="detail-kind">
                        <span>{reveal.label}</span>
                        <a href=record><Key text=reveal.key whole=true/></a>
                    </p>
                    <h1 class="detail-key">"Revealed fields"</h1>
                </div>
            </header>
            {content}
            {whole}
            <dl class="facts">{facts.into_iter().flatten().collect_view()}</dl>
        </article>
    }
    .into_any()
}

/// A piece of the bodies, and where the rest of their values is to be had.
fn bodies_shown(
    bodies: Vec<RevealedBody>,
    place: (&str, &str),
    by_call: Option<String>,
) -> AnyView {
    let piece = Slice::asked(place, "bodies", BODIES, bodies.len());
    let ways = (bodies.len() > BODIES).then(|| view! { <div id="bodies">{piece.ways()}</div> });
    let shown: Vec<_> = bodies
        .into_iter()
        .skip(piece.from())
        .take(BODIES)
        .map(|mut revealed| {
            let fields = Fields::fitting(std::mem::take(&mut revealed.fields));
            (revealed, fields)
        })
        .collect();
    let cut = shown.iter().any(|(_, fields)| fields.is_cut());
    let by_call = by_call.filter(|_| cut).map(|call| {
        view! {
            <p class="prose">
                "All values stand whole in the answer to " <code>{format!("POST {call}")}</code>
                ", which takes a reason and is written into the audit log too."
            </p>
        }
    });
    let shown = shown.into_iter().map(|(revealed, fields)| body(revealed, fields)).collect_view();
    view! { {ways} {shown} {by_call} }.into_any()
}

/// The masked fields of one body that a page has room for.
struct Fields {
    /// Each with its value, cut, and how many bytes of that are left out.
    shown: Vec<(RevealedField, usize)>,
    /// How many are left out.
    more: usize,
}

impl Fields {
    fn fitting(fields: Vec<RevealedField>) -> Self {
        let (count, mut taken) = (fields.len(), 0);
        let shown: Vec<_> = fields
            .into_iter()
            .map(|mut field| {
                let kept = text::beginning(&field.value, MAX_VALUE).0.len();
                let left_out = field.value.len() - kept;
                field.value.truncate(kept);
                (field, left_out)
            })
            .take_while(|(field, _)| {
                taken += FRAME + text::weight(&field.pointer) + text::weight(&field.value);
                taken <= MAX_FIELDS
            })
            .collect();
        let more = count - shown.len();
        Self { shown, more }
    }

    fn is_cut(&self) -> bool {
        self.more > 0 || self.shown.iter().any(|(_, left_out)| *left_out > 0)
    }
}

fn body(revealed: RevealedBody, fields: Fields) -> AnyView {
    let title = match revealed.part.as_str() {
        "payload" => "Payload",
        "answer" => "Stored answer",
        "effect" => "What it asks to start",
        "artifact" => "Artifact",
        _ => "Same id, other content",
    };
    let more = (fields.more > 0).then(|| {
        let words = match fields.more {
            1 => "1 more masked field is left out.".to_owned(),
            more => format!("{more} more masked fields are left out."),
        };
        view! { <p class="body-view-cut">{words}</p> }
    });
    let rows = fields.shown.into_iter().map(|(field, left_out)| {
        let rest = match left_out {
            0 => None,
            1 => Some("1 more byte is left out.".to_owned()),
            bytes => Some(format!("{bytes} more bytes are left out.")),
        };
        let rest = rest.map(|words| view! { <p class="body-view-cut">{words}</p> });
        view! {
            <tr>
                <th scope="row"><code>{field.pointer}</code></th>
                <td><code>{field.value}</code> {rest}</td>
            </tr>
        }
    });
    let body =
        BodyView { text: revealed.text, bytes: revealed.bytes, cut: revealed.cut, masked: 0 };
    view! {
        <section class="section">
            <h2 class="section-title">{title}</h2>
            <div class="figures-scroll" tabindex="0" role="region" aria-label="Table: revealed fields">
                <table class="figures reveal-fields">
                    <thead>
                        <tr><th scope="col">"Field"</th><th scope="col">"What stands there"</th></tr>
                    </thead>
                    <tbody>{rows.collect_view()}</tbody>
                </table>
            </div>
            {more}
            <Body body label="The body, unmasked, as text"/>
        </section>
    }
    .into_any()
}
