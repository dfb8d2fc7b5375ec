//! The built site's files: named after their content, so a browser may keep them for ever.
//!
//! Only these paths are open to everyone; whatever else a browser asks for goes through the
//! session (T42).

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header},
    middleware::{self, Next},
    response::Response,
};
use leptos::config::LeptosOptions;
use tower_http::services::ServeDir;

use crate::router::AppState;

const FOR_EVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
const A_DAY: HeaderValue = HeaderValue::from_static("public, max-age=86400");
const ASK_AGAIN: HeaderValue = HeaderValue::from_static("no-cache");

/// Folders and files of the site root that are served.
const PATHS: [&str; 5] =
    ["/pkg/{*path}", "/fonts/{*path}", "/favicon.ico", "/favicon.svg", "/robots.txt"];

/// The routes of the site's files, with the compressed copies that the build made.
pub fn router(state: &AppState) -> Router<AppState> {
    let files = ServeDir::new(&*state.leptos.site_root)
        .append_index_html_on_directories(false)
        .precompressed_br()
        .precompressed_gzip();
    PATHS
        .into_iter()
        .fold(Router::new(), |router, path| router.route_service(path, files.clone()))
        .layer(middleware::from_fn_with_state(state.leptos.clone(), keep))
}

async fn keep(State(options): State<LeptosOptions>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let value = if path.starts_with("/fonts/") || (path.starts_with("/pkg/") && options.hash_files)
    {
        FOR_EVER
    } else if path.starts_with("/pkg/") {
        ASK_AGAIN
    } else {
        A_DAY
    };
    let mut response = next.run(request).await;
    let status = response.status();
    if status.is_success() || status == StatusCode::NOT_MODIFIED {
        response.headers_mut().insert(header::CACHE_CONTROL, value);
    }
    response
}
