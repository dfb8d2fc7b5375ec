//! Where providers tell what became of a call: signed, and believed as far as the signature goes.

use axum::{
    Json,
    body::Bytes,
    extract::{Path, State},
    http::{HeaderMap, HeaderName},
};
use domain::problem::Code;
use serde_json::{Value, json};

use crate::{refusal::Refused, router::AppState};

/// Carries `t=<unix seconds>,v1=<HMAC-SHA-256 of "t.body" in hex>`.
const SIGNATURE: HeaderName = HeaderName::from_static("onceover-webhook-signature");

/// `POST /webhooks/{tenant}/{provider}`.
pub async fn take(
    State(state): State<AppState>,
    Path((tenant, provider)): Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Value>, Refused> {
    let mut signatures = headers.get_all(SIGNATURE).iter();
    let signature = match (signatures.next().map(|value| value.to_str()), signatures.next()) {
        (Some(Ok(signature)), None) => signature,
        _ => return Err(Refused::code(Code::Unauthenticated).detail("The webhook is not signed.")),
    };
    let taken = state.engine.provider_webhook(&tenant, &provider, signature, &body).await?;
    Ok(Json(json!({ "taken": taken.as_str() })))
}
