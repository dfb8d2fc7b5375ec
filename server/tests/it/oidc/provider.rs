//! An identity provider of the tests' own: a server on this machine with real signatures, which does
//! what the standard says until a test tells it to answer wrongly.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, MutexGuard},
    time::SystemTime,
};

use axum::{
    Form, Json, Router,
    body::Body,
    extract::{Query, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use hmac::{Hmac, KeyInit as _, Mac as _};
use ring::{
    rand::SystemRandom,
    rsa::{KeyPair as RsaKey, PublicKeyComponents},
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256,
        RSA_PSS_SHA256,
    },
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

pub const CLIENT_ID: &str = "onceover console";
pub const CLIENT_SECRET: &str = "Yp4:Tz8+Vc1%Lm6&Rq3=Wd9 Kb7/Xh2Nf";

type Parts = HashMap<String, String>;

/// A key that signs nothing outside these tests.
static RSA: LazyLock<RsaKey> = LazyLock::new(|| {
    let text: String = include_str!("rsa_key.b64").split_whitespace().collect();
    RsaKey::from_pkcs8(&STANDARD.decode(text).unwrap()).unwrap()
});

/// How an ID token is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signing {
    Rs256,
    Ps256,
    Es256,
    /// `alg` none, without a signature.
    None,
    /// HS256 with the public key as the secret.
    Hs256,
    /// By a key that nobody published, under the published id.
    Stranger,
    /// RS256 over other claims.
    OtherClaims,
}

/// What the provider does; a test changes what it wants to be wrong.
#[derive(Clone, Debug)]
pub struct Plan {
    pub signing: Signing,
    /// The id in the token's header.
    pub key_id: Option<String>,
    /// The ids of the keys that it publishes.
    pub published: Vec<String>,
    /// Further members of the token's header.
    pub header: Value,
    /// Claims beside or instead of the right ones; null takes one away.
    pub claims: Value,
    /// The same for what stands at the userinfo endpoint.
    pub userinfo: Value,
    /// Parts of the answer's address, likewise; an empty text takes one away.
    pub answer: Vec<(&'static str, String)>,
    /// The description, instead of the right one.
    pub description: Option<Vec<u8>>,
    /// Members of the description, beside or instead of the right ones.
    pub members: Value,
    /// What the token endpoint answers instead of tokens.
    pub token_answer: Option<(StatusCode, String)>,
    /// Whether a code is handed out twice.
    pub codes_again: bool,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            signing: Signing::Rs256,
            key_id: Some("one".into()),
            published: vec!["one".into()],
            header: json!({}),
            claims: json!({}),
            userinfo: json!({}),
            answer: Vec::new(),
            description: None,
            members: json!({}),
            token_answer: None,
            codes_again: false,
        }
    }
}

/// How often each of its addresses was asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    pub description: usize,
    pub keys: usize,
    pub token: usize,
    pub userinfo: usize,
}

struct Shared {
    issuer: String,
    plan: Mutex<Plan>,
    asked: Mutex<Asked>,
    /// What each code was given for.
    codes: Mutex<HashMap<String, Parts>>,
    curve: EcdsaKeyPair,
    stranger: EcdsaKeyPair,
}

/// A running provider.
pub struct Provider {
    shared: Arc<Shared>,
}

fn curve_key() -> EcdsaKeyPair {
    let random = SystemRandom::new();
    let written = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, written.as_ref(), &random).unwrap()
}

pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_secs()).unwrap()
}

impl Provider {
    /// Starts one; it ends with the test's runtime.
    pub async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let shared = Arc::new(Shared {
            issuer: format!("http://{}", listener.local_addr().unwrap()),
            plan: Mutex::default(),
            asked: Mutex::default(),
            codes: Mutex::default(),
            curve: curve_key(),
            stranger: curve_key(),
        });
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(description))
            .route("/keys", get(keys))
            .route("/authorize", get(authorize))
            .route("/token", post(token))
            .route("/userinfo", get(userinfo))
            .with_state(Arc::clone(&shared));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { shared }
    }

    pub fn issuer(&self) -> &str {
        &self.shared.issuer
    }

    pub fn plan(&self) -> MutexGuard<'_, Plan> {
        self.shared.plan.lock().unwrap()
    }

    pub fn asked(&self) -> Asked {
        *self.shared.asked.lock().unwrap()
    }
}

impl Shared {
    fn plan(&self) -> Plan {
        self.plan.lock().unwrap().clone()
    }

    fn count(&self, which: impl FnOnce(&mut Asked)) {
        which(&mut self.asked.lock().unwrap());
    }

    fn sign(&self, plan: &Plan, claims: &Value) -> String {
        let name = match plan.signing {
            Signing::Rs256 | Signing::OtherClaims => "RS256",
            Signing::Ps256 => "PS256",
            Signing::Es256 | Signing::Stranger => "ES256",
            Signing::None => "none",
            Signing::Hs256 => "HS256",
        };
        let mut header = json!({ "alg": name, "typ": "JWT", "kid": plan.key_id });
        overlay(&mut header, &plan.header);
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", encode(&header), encode(claims));
        let random = SystemRandom::new();
        let rsa = |padding: &'static dyn ring::signature::RsaEncoding, message: &str| {
            let mut signature = vec![0; RSA.public().modulus_len()];
            RSA.sign(padding, &random, message.as_bytes(), &mut signature).unwrap();
            signature
        };
        let signature = match plan.signing {
            Signing::Rs256 => rsa(&RSA_PKCS1_SHA256, &signed),
            Signing::Ps256 => rsa(&RSA_PSS_SHA256, &signed),
            Signing::OtherClaims => rsa(&RSA_PKCS1_SHA256, "another message"),
            Signing::Es256 => {
                self.curve.sign(&random, signed.as_bytes()).unwrap().as_ref().to_vec()
            }
            Signing::Stranger => {
                self.stranger.sign(&random, signed.as_bytes()).unwrap().as_ref().to_vec()
            }
            Signing::None => Vec::new(),
            Signing::Hs256 => {
                let key = RSA.public().as_ref();
                let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
                mac.update(signed.as_bytes());
                mac.finalize().into_bytes().to_vec()
            }
        };
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

/// Puts members of one object over those of another; null takes away.
fn overlay(below: &mut Value, above: &Value) {
    let below = below.as_object_mut().unwrap();
    for (name, value) in above.as_object().unwrap() {
        if value.is_null() {
            below.remove(name);
        } else {
            below.insert(name.clone(), value.clone());
        }
    }
}

async fn description(State(shared): State<Arc<Shared>>) -> Response {
    shared.count(|asked| asked.description += 1);
    let plan = shared.plan();
    if let Some(other) = plan.description {
        return other.into_response();
    }
    let issuer = &shared.issuer;
    let mut document = json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"),
        "jwks_uri": format!("{issuer}/keys"),
        "userinfo_endpoint": format!("{issuer}/userinfo"),
        "response_types_supported": ["code"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256", "PS256", "ES256"],
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": true,
    });
    overlay(&mut document, &plan.members);
    Json(document).into_response()
}

async fn keys(State(shared): State<Arc<Shared>>) -> Json<Value> {
    shared.count(|asked| asked.keys += 1);
    let plan = shared.plan();
    let rsa: PublicKeyComponents<Vec<u8>> = RSA.public().into();
    let point = shared.curve.public_key().as_ref();
    let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let published = plan.published.iter().map(|id| match plan.signing {
        Signing::Es256 | Signing::Stranger => json!({
            "kty": "EC", "crv": "P-256", "kid": id, "use": "sig",
            "x": encode(&point[1..33]), "y": encode(&point[33..]),
        }),
        _ => json!({ "kty": "RSA", "kid": id, "use": "sig", "n": encode(&rsa.n), "e": encode(&rsa.e) }),
    });
    let other = json!({ "kty": "oct", "kid": "secret", "k": "c2VjcmV0" });
    Json(json!({ "keys": published.chain([other]).collect::<Vec<_>>() }))
}

/// Everybody who comes here proves who they are at once.
async fn authorize(State(shared): State<Arc<Shared>>, Query(parts): Query<Parts>) -> Response {
    let part = |name: &str| parts.get(name).map_or("", String::as_str);
    let conforms = part("response_type") == "code"
        && part("client_id") == CLIENT_ID
        && part("scope").split(' ').any(|scope| scope == "openid")
        && part("code_challenge_method") == "S256"
        && part("code_challenge").len() == 43
        && part("state").len() >= 22
        && part("nonce").len() >= 22;
    if !conforms {
        return (StatusCode::BAD_REQUEST, format!("{parts:?}")).into_response();
    }
    let code = hex::encode(rand::random::<[u8; 16]>());
    let mut answer = vec![
        ("code", code.clone()),
        ("state", part("state").to_owned()),
        ("iss", shared.issuer.clone()),
    ];
    for (name, value) in shared.plan().answer {
        answer.retain(|(known, _)| *known != name);
        if !value.is_empty() {
            answer.push((name, value));
        }
    }
    let mut back = url::Url::parse(part("redirect_uri")).unwrap();
    back.query_pairs_mut().extend_pairs(answer);
    shared.codes.lock().unwrap().insert(code, parts);
    (StatusCode::FOUND, [(header::LOCATION, back.to_string())]).into_response()
}

async fn token(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    Form(form): Form<Parts>,
) -> Response {
    shared.count(|asked| asked.token += 1);
    let plan = shared.plan();
    if let Some((status, body)) = plan.token_answer {
        return (status, Body::from(body)).into_response();
    }
    let refuse =
        |error: &str| (StatusCode::BAD_REQUEST, Json(json!({ "error": error }))).into_response();
    if !proves_itself(&headers, &form) {
        return refuse("invalid_client");
    }
    let code = form.get("code").cloned().unwrap_or_default();
    let mut codes = shared.codes.lock().unwrap();
    let given = if plan.codes_again { codes.get(&code).cloned() } else { codes.remove(&code) };
    drop(codes);
    let Some(given) = given else { return refuse("invalid_grant") };
    let verifier = form.get("code_verifier").cloned().unwrap_or_default();
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
    if form.get("grant_type").map(String::as_str) != Some("authorization_code")
        || given.get("code_challenge") != Some(&challenge)
        || given.get("redirect_uri") != form.get("redirect_uri")
    {
        return refuse("invalid_grant");
    }
    let now = now();
    let mut claims = json!({
        "iss": shared.issuer, "sub": "ann-1", "aud": CLIENT_ID, "exp": now + 300, "iat": now,
        "nonce": given["nonce"], "auth_time": now, "email": "Ann@corp.com", "email_verified": true,
        "name": "Ann", "groups": ["payments"],
    });
    overlay(&mut claims, &plan.claims);
    Json(json!({
        "access_token": "an access token",
        "token_type": "Bearer",
        "expires_in": 300,
        "id_token": shared.sign(&plan, &claims),
    }))
    .into_response()
}

/// By the header or the form, both encoded as RFC 6749 says.
fn proves_itself(headers: &HeaderMap, form: &Parts) -> bool {
    let decode = |text: &str| {
        let pair = format!("x={text}");
        url::form_urlencoded::parse(pair.as_bytes()).next().unwrap().1.into_owned()
    };
    let by_header = headers.get(header::AUTHORIZATION).and_then(|value| {
        let text = value.to_str().ok()?.strip_prefix("Basic ")?;
        let text = String::from_utf8(STANDARD.decode(text).ok()?).ok()?;
        let (id, secret) = text.split_once(':')?;
        Some((decode(id), decode(secret)))
    });
    let by_form = form.get("client_id").cloned().zip(form.get("client_secret").cloned());
    by_header.or(by_form) == Some((CLIENT_ID.to_owned(), CLIENT_SECRET.to_owned()))
}

async fn userinfo(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Response {
    shared.count(|asked| asked.userinfo += 1);
    if headers.get(header::AUTHORIZATION).is_none_or(|value| value != "Bearer an access token") {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let mut claims = json!({
        "sub": "ann-1", "email": "ann@corp.com", "email_verified": true, "groups": ["payments"],
    });
    overlay(&mut claims, &shared.plan().userinfo);
    Json(claims).into_response()
}
