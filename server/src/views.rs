//! The forms of saved views: plain posts that lead back to the list, or to the page that explains why not.
//! The rules are the engine's.

use app::{
    api::views::{Typed, not_changed, not_kept},
    location::Asked,
};
use axum::{
    Extension,
    extract::{Form, Path, State, rejection::FormRejection},
    http::HeaderMap,
    response::Response,
};
use domain::{
    listing::{BadPart, List},
    problem::Code,
};
use engine::StaffCaller;
use serde::Deserialize;
use uuid::Uuid;

use crate::{
    auth::form::{explained, unread},
    refusal::Refused,
    router::AppState,
    security::location,
};

const FIELDS: &str = "The form must have the fields list and name.";
const CHANGE_FIELDS: &str = "The form must have the field do: change or delete.";

/// The form that keeps a view.
#[derive(Deserialize)]
pub struct SaveView {
    list: String,
    name: String,
    #[serde(default)]
    query: String,
    #[serde(default)]
    shared: String,
}

/// `POST /views`: leads to the view.
pub async fn save(
    State(state): State<AppState>,
    Extension(by): Extension<StaffCaller>,
    headers: HeaderMap,
    form: Result<Form<SaveView>, FormRejection>,
) -> Response {
    let (typed, kept) = match form {
        Ok(Form(form)) => {
            let kept = keep(&state, &by, &form).await;
            let typed = Typed {
                list: form.list.parse().ok(),
                query: form.query,
                name: form.name,
                shared: form.shared == "true",
            };
            (Some(typed), kept)
        }
        Err(rejection) => (None, Err(unread(&rejection, FIELDS))),
    };
    match kept {
        Ok(place) => location::see_other(&place),
        Err(refused) => explained("/views", &headers, refused, |refusal| not_kept(refusal, typed)),
    }
}

async fn keep(state: &AppState, by: &StaffCaller, form: &SaveView) -> Result<String, Refused> {
    let list: List = form.list.parse().map_err(|_| {
        Refused::code(Code::Unprocessable).field("list").detail("There is no such list.")
    })?;
    // What is kept is what the list makes of it: without the place of a page, in one spelling.
    let asked = Asked::read(list.path(), &form.query);
    let parts = asked.parts().map_err(bad_part)?;
    let query = asked.whole();
    let shared = form.shared == "true";
    state.engine.save_view(by, list, &form.name, parts, &query, shared).await?;
    Ok(app::location::here(list.path(), &query))
}

/// Why a part of an address cannot be used.
pub(crate) fn bad_part(BadPart { name, why }: BadPart) -> Refused {
    Refused::code(Code::FilterInvalid).field(&name).detail(why.to_string())
}

/// The form of an own view.
#[derive(Deserialize)]
pub struct ChangeView {
    r#do: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    shared: String,
    #[serde(default)]
    return_to: String,
}

/// `POST /views/{id}`: leads back to where the form stood.
pub async fn change(
    State(state): State<AppState>,
    Extension(by): Extension<StaffCaller>,
    Path(id): Path<String>,
    headers: HeaderMap,
    form: Result<Form<ChangeView>, FormRejection>,
) -> Response {
    let (back, changed) = match form {
        Ok(Form(form)) => (form.return_to.clone(), change_or_delete(&state, &by, &id, &form).await),
        Err(rejection) => (String::new(), Err(unread(&rejection, CHANGE_FIELDS))),
    };
    let back = location::local(&back);
    match changed {
        Ok(()) => location::see_other(back),
        Err(refused) => {
            explained("/views", &headers, refused, |refusal| not_changed(refusal, back))
        }
    }
}

async fn change_or_delete(
    state: &AppState,
    by: &StaffCaller,
    id: &str,
    form: &ChangeView,
) -> Result<(), Refused> {
    let id: Uuid = id.parse().map_err(|_| Refused::code(Code::NotFound))?;
    match form.r#do.as_str() {
        "change" => state.engine.change_view(by, id, &form.name, form.shared == "true").await?,
        "delete" => state.engine.delete_view(by, id).await?,
        _ => {
            return Err(Refused::code(Code::Unprocessable).field("do").detail(CHANGE_FIELDS));
        }
    }
    Ok(())
}
