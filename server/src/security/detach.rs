//! A change that has begun is carried to its end, whoever still listens (F5, R14).
//!
//! The server drops a handler when its client hangs up, and a dropped `begin()` can leave an
//! open transaction in the pool (F4). So whatever may change something runs in a task of its
//! own, which the connection merely waits for.

use std::panic;

use axum::{
    extract::Request,
    http::Method,
    middleware::Next,
    response::{IntoResponse, Response},
};
use domain::problem::Code;

use crate::refusal::Refused;

/// Runs everything but plain reads in its own task.
pub async fn detach(request: Request, next: Next) -> Response {
    if matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS) {
        return next.run(request).await;
    }
    match tokio::spawn(next.run(request)).await {
        Ok(response) => response,
        Err(error) => match error.try_into_panic() {
            Ok(reason) => panic::resume_unwind(reason),
            Err(_) => Refused::code(Code::Unavailable).into_response(),
        },
    }
}
