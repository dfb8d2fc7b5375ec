//! What every server function needs from around it: the engine, the caller, and a way to run a
//! command so that it outlives the browser.
//!
//! Guards against three faults: a command that dies half way because the client hung up (F5), an
//! internal error text on its way to a browser (T41), and a refusal that answers 200.

use std::{error::Error, fmt::Write as _, future::Future};

use domain::{listing::ListFilter, problem::Code};
use engine::{Engine, EngineError, StaffCaller};
use http::{StatusCode, request::Parts};
use leptos::prelude::use_context;
use leptos_axum::ResponseOptions;

use crate::{
    error::{ConsoleError, RefusalView},
    location::Asked,
    look::Look,
};

/// The engine that the server gave to this request.
pub(crate) fn engine() -> Result<Engine, ConsoleError> {
    use_context::<Engine>().ok_or_else(|| {
        tracing::error!("no engine in the request's context");
        refuse(ConsoleError::code_only(Code::Internal))
    })
}

/// The person that the session layer found.
pub(crate) fn caller() -> Result<StaffCaller, ConsoleError> {
    use_context::<Parts>()
        .and_then(|parts| parts.extensions.get::<StaffCaller>().cloned())
        .ok_or_else(|| refuse(ConsoleError::code_only(Code::Unauthenticated)))
}

/// Gives the response the refusal's own HTTP status. In a page's render this is the page's status.
pub(crate) fn refuse(error: ConsoleError) -> ConsoleError {
    if let (Some(response), Ok(status)) =
        (use_context::<ResponseOptions>(), StatusCode::from_u16(error.code().status()))
    {
        response.set_status(status);
    }
    error
}

/// Turns an engine's error into what the browser may know; a fault is logged here, once, whole.
pub(crate) fn explain(error: &EngineError, caller: &StaffCaller) -> ConsoleError {
    let refusal = error.refusal();
    if error.is_fault() {
        tracing::error!(request.id = caller.request_id(), error = %chain(error), "a command failed");
    }
    ConsoleError::from(refusal)
}

/// Runs a reading command; a refusal becomes the response's status.
pub(crate) async fn read<T, F>(caller: &StaffCaller, command: F) -> Result<T, ConsoleError>
where
    F: Future<Output = Result<T, EngineError>>,
{
    command.await.map_err(|error| refuse(explain(&error, caller)))
}

/// The filter of the list that an address asks for, with a page as long as its reader wants it.
///
/// # Errors
/// `filter_invalid`, naming the part, for an address that no list gives out.
pub(crate) fn filter<F: ListFilter>(asked: &Asked) -> Result<F, ConsoleError> {
    let most = engine()?.settings().limits.page_rows;
    asked.filter_by(Look::in_force().chosen.rows.min(most)).map_err(|bad| {
        let field = bad.name.parse().ok();
        refuse(ConsoleError(RefusalView { field, ..RefusalView::new(Code::FilterInvalid) }))
    })
}

/// Runs a changing command to its end, even when the client leaves meanwhile (F5).
///
/// # Errors
/// The refusal, without touching the response: the action that asked decides how to show it.
pub(crate) async fn carry_out<T, F>(caller: &StaffCaller, command: F) -> Result<T, ConsoleError>
where
    T: Send + 'static,
    F: Future<Output = Result<T, EngineError>> + Send + 'static,
{
    match tokio::spawn(command).await {
        Ok(done) => done.map_err(|error| explain(&error, caller)),
        Err(error) => {
            tracing::error!(request.id = caller.request_id(), %error, "a command did not end");
            Err(ConsoleError::code_only(Code::Internal))
        }
    }
}

fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let _ = write!(text, ": {error}");
        source = error.source();
    }
    text
}
