//! Every path that the router answers, with its methods, read from the router itself.
//!
//! Guards against a list kept by hand beside it: axum tells its routes by its debug output alone, and a
//! version that no longer does so fails here, where the pages and functions that must be there are not.

use std::collections::{BTreeMap, BTreeSet};

use axum::Router;
use leptos::server_fn::axum::server_fn_paths;

use crate::support::Stage;

/// The methods that are asked about; HEAD goes with GET.
const METHODS: [&str; 6] = ["get", "post", "put", "delete", "patch", "connect"];

/// An id that no record has.
const NOBODY: &str = "01937000-0000-7000-8000-00000000dead";

/// Path and method of every route, in order.
pub fn routes(router: &Router) -> Vec<(&'static str, String)> {
    let told = format!("{router:?}");
    let (own, _) = told.split_once(", fallback_router: ").expect("axum tells its fallbacks apart");
    let (endpoints, paths) = own.split_once("node: Node { paths: {").expect("axum tells its paths");
    let paths: BTreeMap<&str, &str> = paths
        .split("RouteId(")
        .skip(1)
        .map(|entry| {
            let (id, rest) = entry.split_once("): \"").expect("an id and its path");
            (id, rest.split('"').next().expect("a path in quotes"))
        })
        .collect();
    let mut found = BTreeSet::new();
    for entry in endpoints.split("RouteId(").skip(1) {
        let (id, endpoint) = entry.split_once("): ").expect("an id and its endpoint");
        let path = paths[id];
        if endpoint.starts_with("Route(") {
            // A service, such as a folder of files, which reads the method itself.
            found.insert((path.to_owned(), "GET"));
            continue;
        }
        for method in METHODS {
            let taken = endpoint
                .split_once(&format!("{method}: "))
                .is_some_and(|(_, rest)| !rest.starts_with("None"));
            if taken {
                let method = if method == "get" { "GET" } else { upper(method) };
                found.insert((path.to_owned(), method));
            }
        }
    }
    found.into_iter().map(|(path, method)| (method, path)).collect()
}

/// A path of the router with what nobody has in place of its parameters.
pub fn of_nobody(pattern: &str) -> String {
    let fill = |part: &str| match part {
        "{tenant}" => "acme".to_owned(),
        "{provider}" => "payments".to_owned(),
        "{name}" => "invoice.charge".to_owned(),
        "{step_key}" => "draft".to_owned(),
        part if part.starts_with('{') => NOBODY.to_owned(),
        part => part.to_owned(),
    };
    pattern.split('/').map(fill).collect::<Vec<_>>().join("/")
}

/// What takes a form: each path beside the API that is posted to.
pub fn forms(router: &Router) -> Vec<String> {
    let all = routes(router).into_iter();
    all.filter(|(method, path)| *method != "GET" && !path.starts_with("/api/v1"))
        .map(|(_, path)| path)
        .collect()
}

fn upper(method: &str) -> &'static str {
    match method {
        "post" => "POST",
        "put" => "PUT",
        "delete" => "DELETE",
        "patch" => "PATCH",
        _ => "CONNECT",
    }
}

#[tokio::test]
async fn the_router_tells_every_page_every_function_and_every_call() {
    let stage = Stage::open().await;
    let found: BTreeSet<_> = routes(&stage.router).into_iter().collect();
    for page in server::context::routes() {
        assert!(found.contains(&("GET", page.path().to_owned())), "{}", page.path());
    }
    let forms = forms(&stage.router);
    for (path, method) in server_fn_paths() {
        assert_eq!(method.as_str(), "POST", "{path}");
        assert!(forms.iter().any(|form| form == path), "{path}");
    }
    for path in ["/sign-in", "/sign-out", "/step-up", "/me/password", "/tokens/made"] {
        assert!(forms.iter().any(|form| form == path), "{path}");
    }
    for path in ["/health/live", "/live", "/pkg/{*path}", "/sign-in", "/export/{list}"] {
        assert!(found.contains(&("GET", path.to_owned())), "{path}");
    }
    // The API: what is served, what is listed and what is described are the same, both ways.
    let served: BTreeSet<_> = found
        .iter()
        .filter_map(|(method, path)| {
            Some(((*method).to_owned(), path.strip_prefix("/api/v1")?.to_owned()))
        })
        .collect();
    let listed: BTreeSet<_> =
        server::v1::routes().into_iter().map(|(method, path)| (method.to_owned(), path)).collect();
    assert_eq!(served, listed);
    let document = stage.staff("viewer@acme.test").await.get("/openapi.json").await.json();
    let described: BTreeSet<_> = document["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, item)| {
            let methods = item.as_object().unwrap().keys().filter(|key| *key != "parameters");
            methods.map(move |method| (method.to_uppercase(), path.clone()))
        })
        .collect();
    assert_eq!(served, described);
    testkit::threat("T04", server_fn_paths().count(), 0);
}
