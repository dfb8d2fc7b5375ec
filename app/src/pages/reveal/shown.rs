//! `/reveals/{id}`: masked fields with what stands in them, to whoever asked for it, while it stands.
//!
//! Guards against the page that goes on showing: loaded again after its time it holds no value.

use domain::{
    action::Subject,
    ids::RevealId,
    view::{BodyView, RevealView, RevealedBody},
};
use leptos::prelude::*;
use leptos_meta::Title;

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
        timestamp::Timestamp,
    },
    error::ConsoleError,
    pages::{
        address::record_id,
        failed::{Failed, no_such_record},
    },
};

/// The page of a reveal.
#[component]
pub fn ShownPage() -> impl IntoView {
    let id = record_id::<RevealId>();
    let reveal = Reading::new(move || async move {
        match id {
            Some(id) => revealed(id).await,
            None => Err(no_such_record()),
        }
    });
    view! {
        <Title text="Revealed fields · Onceover"/>
        {Suspend::new(async move { found(reveal.await) })}
    }
}

fn found(reveal: Result<RevealView, ConsoleError>) -> AnyView {
    match reveal {
        Ok(reveal) => shown(reveal),
        Err(error) => view! { <Failed error/> }.into_any(),
    }
}

fn shown(reveal: RevealView) -> AnyView {
    let target = Subject::new(reveal.target_type, reveal.target.clone());
    let record = format!("{}/{}", target.kind.pages(), target.id);
    let again = form(&target, reveal.artifact.as_ref());
    let whole = (reveal.artifact.is_some() && reveal.bodies.is_some()).then(|| {
        let href = format!("/reveals/{}/artifact", reveal.id);
        view! { <p class="prose"><a href=href download="">"Download it whole, unmasked"</a></p> }
    });
    let facts = [
        Some(fact_text("Reason", reveal.reason.clone())),
        fact_at("Asked", Some(reveal.at)),
        Some(fact("Fields", reveal.pointers.join(", "))),
    ];
    let until = reveal.until;
    let content = match reveal.bodies {
        Some(bodies) => view! {
            <Notice tone=Tone::Caution title="These fields are shown to you alone.">
                <p>
                    "Until " <Timestamp at=until/> ". The audit log names you, the reason and the fields. Do \
                     not copy them into a ticket or a note: those are not masked."
                </p>
            </Notice>
            {bodies.into_iter().map(body).collect_view()}
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

fn body(revealed: RevealedBody) -> AnyView {
    let title = match revealed.part.as_str() {
        "payload" => "Payload",
        "answer" => "Stored answer",
        "effect" => "What it asks to start",
        "artifact" => "Artifact",
        _ => "Same id, other content",
    };
    let rows = revealed.fields.into_iter().map(|field| {
        view! {
            <tr>
                <th scope="row"><code>{field.pointer}</code></th>
                <td><code>{field.value}</code></td>
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
            <Body body label="The body, unmasked, as text"/>
        </section>
    }
    .into_any()
}
