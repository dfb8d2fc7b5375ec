//! The console beside a provider, a browser that goes from one to the other, and the log.

use std::{
    fmt,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::Body,
    http::{Method, StatusCode, header},
};
use domain::problem::Code;
use server::auth::oidc::Oidc;
use tracing::{Event, Level, Subscriber, field::Field, subscriber::DefaultGuard};
use tracing_subscriber::{
    layer::{Context, Layer, SubscriberExt as _},
    registry::Registry,
};
use url::Url;

use super::provider::{CLIENT_ID, CLIENT_SECRET, Plan, Provider};
use crate::{
    clients::{Answer, from_our_page, send},
    support::{HOST, Stage},
};

/// A console that people may sign in to with a provider.
pub struct Scene {
    pub provider: Provider,
    pub stage: Stage,
    /// The console as it is before it has asked the provider anything.
    pub router: Router,
}

/// A browser that is on its way to the provider.
pub struct Leaving {
    pub place: Url,
    pub cookie: String,
}

impl Leaving {
    pub fn part(&self, name: &str) -> String {
        let found = self.place.query_pairs().find(|(known, _)| known == name);
        found.map(|(_, value)| value.into_owned()).unwrap_or_default()
    }
}

impl Scene {
    pub async fn open() -> Self {
        Self::open_with(&[]).await
    }

    pub async fn open_with(more: &[(&str, &str)]) -> Self {
        let provider = Provider::start().await;
        let usual = [
            ("ONCEOVER_OIDC_ISSUER", provider.issuer()),
            ("ONCEOVER_OIDC_CLIENT_ID", CLIENT_ID),
            ("ONCEOVER_OIDC_CLIENT_SECRET", CLIENT_SECRET),
            ("ONCEOVER_OIDC_NAME", "Corp"),
            (
                "ONCEOVER_OIDC_ROLES",
                "leads=acme:approver,payments=acme:operator,audit=globex:auditor",
            ),
        ];
        let stage = Stage::open_with(&[&usual[..], more].concat()).await;
        let router = stage.router.clone();
        Self { provider, stage, router }
    }

    /// Forgets what the console knows of the provider, and makes that one do something else.
    pub fn again(&mut self, change: impl FnOnce(&mut Plan)) {
        let mut plan = Plan::default();
        change(&mut plan);
        *self.provider.plan() = plan;
        let mut state = self.stage.state.clone();
        let settings = self.stage.config.oidc.clone().unwrap();
        state.oidc = Some(Oidc::new(settings, &format!("http://{HOST}")).unwrap());
        self.router = server::router::router(state);
    }

    pub async fn get(&self, path: &str, cookie: &str) -> Answer {
        let request = from_our_page(Method::GET, path).header(header::COOKIE, cookie);
        send(&self.router, request.body(Body::empty()).unwrap()).await
    }

    /// Follows the link of the sign-in page, or of a page that asks who one is.
    pub async fn leave(&self, path: &str, cookie: &str) -> Leaving {
        let answer = self.get(path, cookie).await;
        answer.expect(StatusCode::SEE_OTHER);
        let place = Url::parse(answer.header("location")).unwrap();
        let cookie = cookie_of(&answer, "__Host-sso").unwrap();
        Leaving { place, cookie }
    }

    /// Goes to the provider; where it sends the browser back to.
    pub async fn visit(&self, place: &Url) -> String {
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
        let answer = client.no_proxy().build().unwrap().get(place.clone()).send().await.unwrap();
        assert_eq!(answer.status().as_u16(), 302, "{place}");
        let back = Url::parse(answer.headers()["location"].to_str().unwrap()).unwrap();
        assert_eq!(back.origin().ascii_serialization(), format!("http://{HOST}"));
        format!("{}?{}", back.path(), back.query().unwrap())
    }

    /// The whole way; the answer to coming back.
    pub async fn sign_in(&self, next: &str) -> Answer {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        let path = format!("/sign-in/oidc?{}", query.append_pair("next", next).finish());
        let leaving = self.leave(&path, "").await;
        let back = self.visit(&leaving.place).await;
        self.get(&back, &leaving.cookie).await
    }

    /// The whole way, which must end in a session: its cookie.
    pub async fn signed_in(&self) -> String {
        let answer = self.sign_in("/").await;
        answer.expect(StatusCode::SEE_OTHER);
        cookie_of(&answer, "__Host-sid").unwrap()
    }

    /// The whole way, which must end at the sign-in page with a refusal, and nothing else.
    pub async fn is_refused(&self, code: Code, case: &str) {
        let before = self.written().await;
        let log = Log::listen();
        let answer = self.sign_in("/operations").await;
        refused(&answer, code, case);
        assert_eq!(self.written().await, before, "{case}");
        assert_eq!(log.refusals(), 1, "{case}: {log:?}");
    }

    /// Accounts, memberships, sessions and audit rows.
    pub async fn written(&self) -> (i64, i64, i64, i64) {
        sqlx::query_as(
            "select (select count(*) from staff) + (select count(*) from staff_identities),
               (select coalesce(sum(version), 0)::bigint from memberships),
               (select count(*) from sessions), (select count(*) from audit)",
        )
        .fetch_one(self.stage.database.owner_pool())
        .await
        .unwrap()
    }

    /// What the person of an e-mail may do: tenants by short name with the role there.
    pub async fn roles(&self, email: &str) -> Vec<(String, String)> {
        sqlx::query_as(
            "select t.slug, m.role from memberships m join tenants t on t.id = m.tenant_id
             join staff s on s.id = m.staff_id where s.email = $1 order by t.slug",
        )
        .bind(email)
        .fetch_all(self.stage.database.owner_pool())
        .await
        .unwrap()
    }

    pub async fn execute(&self, sql: &'static str) {
        sqlx::query(sql).execute(self.stage.database.owner_pool()).await.unwrap();
    }
}

/// A refused sign-in: the page under the code's status, no session, and nothing left in the browser.
#[track_caller]
pub fn refused(answer: &Answer, code: Code, case: &str) {
    assert_eq!(answer.status.as_u16(), code.status(), "{case}: {}", answer.text());
    let page = answer.text();
    assert!(page.contains(&format!("data-code=\"{code}\"")), "{case}: {page}");
    assert!(page.contains("name=\"password\""), "{case}: local accounts still have their form");
    assert_eq!(cookie_of(answer, "__Host-sid"), None, "{case}");
}

/// A cookie that an answer sets, as a browser sends it back.
pub fn cookie_of(answer: &Answer, name: &str) -> Option<String> {
    let lines = answer.headers.get_all(header::SET_COOKIE).iter();
    let pairs = lines.map(|line| line.to_str().unwrap().split(';').next().unwrap().to_owned());
    pairs.into_iter().find(|pair| {
        pair.split_once('=').is_some_and(|(known, value)| known == name && !value.is_empty())
    })
}

/// What is warned of while it lives, on this test's thread.
pub struct Log {
    lines: Arc<Mutex<Vec<String>>>,
    _guard: DefaultGuard,
}

struct Lines(Arc<Mutex<Vec<String>>>);

impl<S: Subscriber> Layer<S> for Lines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if *event.metadata().level() > Level::WARN {
            return;
        }
        let mut line = String::new();
        event.record(&mut |field: &Field, value: &dyn fmt::Debug| {
            line.push_str(&format!("{field}={value:?} "));
        });
        self.0.lock().unwrap().push(line);
    }
}

impl Log {
    pub fn listen() -> Self {
        let lines = Arc::default();
        let subscriber = Registry::default().with(Lines(Arc::clone(&lines)));
        Self { lines, _guard: tracing::subscriber::set_default(subscriber) }
    }

    pub fn text(&self) -> String {
        self.lines.lock().unwrap().join("\n")
    }

    /// Lines that tell of a sign-in that did not come to be.
    pub fn refusals(&self) -> usize {
        let told = "a sign-in with the identity provider was refused";
        self.lines.lock().unwrap().iter().filter(|line| line.contains(told)).count()
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}
