//! What the pages of all records have in common: a record that may stand in another tenant, or nowhere;
//! and the form of a decision about it, opened at a version, refused or not.

use std::{future::Future, str::FromStr};

use domain::{
    action::{Subject, TargetType, Verb},
    view::{ActionOffer, Receipt},
};
use leptos::prelude::*;
use leptos_meta::Title;

use super::{
    address::{query, record_id, verb},
    elsewhere::InAnotherTenant,
    failed::{Failed, no_such_record},
};
use crate::{
    api::{found::Found, reading::Reading, receipts::receipt, refused::RefusedForm},
    components::{
        mark::{Mark, MarkBadge},
        moves::Told,
        record_form::{Decision, RecordForm},
    },
    error::ConsoleError,
    held::HeldForm,
    location::value,
};

/// The page of the record that the address names.
pub fn record_page<I, T, F>(
    load: impl Fn(I) -> F + Clone + Send + Sync + 'static,
    shown: impl FnOnce(T) -> AnyView + Send + 'static,
) -> AnyView
where
    I: FromStr + Copy + Send + Sync + 'static,
    T: Clone + Send + Sync + 'static,
    F: Future<Output = Result<Found<T>, ConsoleError>> + Send + 'static,
{
    let id = record_id::<I>();
    let record = Reading::new(move || at(id, load.clone()));
    Suspend::new(async move { found(record.await, shown) }).into_any()
}

async fn at<I, T, F>(id: Option<I>, load: impl Fn(I) -> F) -> Result<Found<T>, ConsoleError>
where
    F: Future<Output = Result<Found<T>, ConsoleError>>,
{
    match id {
        Some(id) => load(id).await,
        None => Err(no_such_record()),
    }
}

fn found<T>(record: Result<Found<T>, ConsoleError>, shown: impl FnOnce(T) -> AnyView) -> AnyView {
    match record {
        Ok(Found::Here(record)) => shown(record),
        Ok(Found::Elsewhere(tenant)) => view! { <InAnotherTenant tenant/> }.into_any(),
        Err(error) => view! { <Failed error/> }.into_any(),
    }
}

/// What a decision's page says of its record.
pub struct About {
    /// Its version now.
    pub version: i64,
    /// Where it stands.
    pub mark: Mark,
    /// What it is called among its like.
    pub kind: String,
    /// Its own key.
    pub key: String,
    /// What the record offers.
    pub actions: Vec<ActionOffer>,
    /// What a person should see before they decide.
    pub known: AnyView,
    /// Its moves, by which a stale form is told what changed; none where its page tells no moves.
    pub moves: Vec<Told>,
    /// Fields beside the reason.
    pub fields: Option<AnyView>,
    /// Its own words, where those of the verb do not hold for this record.
    pub words: Option<Words>,
}

/// The words of a decision.
#[derive(Debug, Clone)]
pub struct Words {
    /// The heading.
    pub title: String,
    /// What follows, in a sentence or two.
    pub consequence: String,
    /// The button: what happens.
    pub button: String,
}

impl Words {
    /// Words that are always the same.
    #[must_use]
    pub fn new(title: &str, button: &str, consequence: &str) -> Self {
        Self { title: title.into(), consequence: consequence.into(), button: button.into() }
    }
}

/// The page of a decision's form about the record that the address names. `words` knows the record's
/// verbs; any other is no page.
pub fn decision_page<I, T, F>(
    target: TargetType,
    load: impl Fn(I) -> F + Copy + Send + Sync + 'static,
    about: impl FnOnce(&T, Verb) -> About + Send + 'static,
    words: fn(Verb) -> Option<Words>,
) -> AnyView
where
    I: FromStr + Copy + ToString + Send + Sync + 'static,
    T: Clone + Send + Sync + 'static,
    F: Future<Output = Result<Found<T>, ConsoleError>> + Send + 'static,
{
    let knows = move |verb| words(verb).is_some();
    decision_page_of(target, load, about, knows, move |_: &T, verb| words(verb))
}

/// The same where what a decision does depends on the record; `knows` its verbs.
pub fn decision_page_of<I, T, F>(
    target: TargetType,
    load: impl Fn(I) -> F + Copy + Send + Sync + 'static,
    about: impl FnOnce(&T, Verb) -> About + Send + 'static,
    knows: impl FnOnce(Verb) -> bool,
    words: impl FnOnce(&T, Verb) -> Option<Words> + Send + 'static,
) -> AnyView
where
    I: FromStr + Copy + ToString + Send + Sync + 'static,
    T: Clone + Send + Sync + 'static,
    F: Future<Output = Result<Found<T>, ConsoleError>> + Send + 'static,
{
    let place = record_id::<I>().zip(verb().filter(|verb| knows(*verb)));
    let query = query();
    let refused = RefusedForm::from_query(&query);
    // An explained refusal asks for a new look: from there on the form carries the version that is
    // shown.
    let opened_at = value(&query, "version").filter(|_| refused.is_none());
    let opened_at = opened_at.and_then(|version| version.parse::<i64>().ok());
    let opened_at = HeldForm::of_request().and_then(|held| held.version()).or(opened_at);
    let record = Reading::new(move || at(place.map(|(id, _)| id), load));
    let stands = refused.as_ref().and_then(|refused| refused.refusal.receipt);
    let other = Reading::new(move || async move {
        match stands {
            Some(id) => receipt(id).await.ok().and_then(Found::here),
            None => None,
        }
    });
    let content = Suspend::new(async move {
        let (other, record) = (other.await, record.await);
        found(record, move |record: T| match place {
            Some((id, verb)) => {
                let subject = Subject::new(target, id.to_string());
                form(
                    subject,
                    verb,
                    opened_at,
                    about(&record, verb),
                    words(&record, verb),
                    refused,
                    other.as_ref(),
                )
            }
            None => ().into_any(),
        })
    });
    view! {
        <Title text="Decide · Onceover"/>
        {content}
    }
    .into_any()
}

fn form(
    target: Subject,
    verb: Verb,
    opened_at: Option<i64>,
    about: About,
    words: Option<Words>,
    refused: Option<RefusedForm>,
    other: Option<&Receipt>,
) -> AnyView {
    let Some(words) = about.words.or(words) else { return ().into_any() };
    let back = format!("{}/{}", target.kind.pages(), target.id);
    let version = format!("version {}", about.version);
    let decision = Decision {
        target,
        verb,
        version: about.version,
        opened_at: opened_at.filter(|at| *at < about.version),
        state: about.mark.word.to_owned(),
        moves: about.moves,
        offer: about.actions.into_iter().find(|offer| offer.verb == verb),
        title: words.title.clone(),
        consequence: words.consequence,
        button: words.button,
    };
    view! {
        <article class="detail">
            <header class="detail-head">
                <div class="detail-name">
                    <p class="detail-kind">
                        <MarkBadge mark=about.mark/>
                        <span>{about.kind}</span>
                        <a href=back>{about.key}</a>
                    </p>
                    <h1 class="detail-key">{words.title}</h1>
                    <p class="detail-sub">{version}</p>
                </div>
            </header>
            {about.known}
            <RecordForm decision refused other fields=about.fields/>
        </article>
    }
    .into_any()
}
