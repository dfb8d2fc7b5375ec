//! The forms of saved views: plain posts that lead back to the list. The rules are the engine's.

use app::location::Asked;
use axum::{
    Extension,
    extract::{Form, Path, State, rejection::FormRejection},
    response::{IntoResponse, Response},
};
use domain::{
    listing::{BadPart, List},
    problem::Code,
};
use engine::StaffCaller;
use serde::Deserialize;
use uuid::Uuid;

use crate::{auth::form::unread, refusal::Refused, router::AppState, security::location};

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
    form: Result<Form<SaveView>, FormRejection>,
) -> Response {
    let form = match form {
        Ok(Form(form)) => form,
        Err(rejection) => return unread(&rejection, FIELDS).into_response(),
    };
    match keep(&state, &by, &form).await {
        Ok(place) => location::see_other(&place),
        Err(refused) => refused.into_response(),
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
    form: Result<Form<ChangeView>, FormRejection>,
) -> Response {
    let form = match form {
        Ok(Form(form)) => form,
        Err(rejection) => return unread(&rejection, CHANGE_FIELDS).into_response(),
    };
    let Ok(id) = id.parse::<Uuid>() else {
        return Refused::code(Code::NotFound).into_response();
    };
    let done = match form.r#do.as_str() {
        "change" => state.engine.change_view(&by, id, &form.name, form.shared == "true").await,
        "delete" => state.engine.delete_view(&by, id).await,
        _ => {
            let refused = Refused::code(Code::Unprocessable).field("do").detail(CHANGE_FIELDS);
            return refused.into_response();
        }
    };
    match done {
        Ok(()) => location::see_other(&form.return_to),
        Err(error) => Refused::from(error).into_response(),
    }
}
