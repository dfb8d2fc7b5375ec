//! The form above a list: which rows were picked, and what is to be done to them.
//!
//! Guards against a field that stands there once: a browser sends one pair per picked row, all under one
//! name, and the forms' usual reading takes that for a slip.

use leptos::server_fn::{
    ContentType,
    codec::{Encoding, FromReq, IntoReq, PostUrl},
    error::{FromServerFnError, IntoAppError as _, ServerFnErrorErr},
    request::{ClientReq, Req},
};

use super::bulks::FreezeBulk;

/// A posted form whose names may stand there more than once.
pub struct Picked;

impl ContentType for Picked {
    const CONTENT_TYPE: &'static str = PostUrl::CONTENT_TYPE;
}

impl Encoding for Picked {
    const METHOD: http::Method = PostUrl::METHOD;
}

impl<E, Request> IntoReq<Picked, Request, E> for FreezeBulk
where
    Request: ClientReq<E>,
    E: FromServerFnError,
{
    fn into_req(self, _: &str, _: &str) -> Result<Request, E> {
        // Browsers post the form; no program of ours calls this.
        Err(ServerFnErrorErr::Request("a form alone posts this".into()).into_app_error())
    }
}

impl<E, Request> FromReq<Picked, Request, E> for FreezeBulk
where
    Request: Req<E> + Send + 'static,
    E: FromServerFnError,
{
    async fn from_req(request: Request) -> Result<Self, E> {
        let body = request.try_into_string().await?;
        let mut read = Self {
            list: String::new(),
            bulk: String::new(),
            all: String::new(),
            filter: String::new(),
            record: Vec::new(),
        };
        for (name, value) in form_urlencoded::parse(body.as_bytes()).into_owned() {
            match name.as_str() {
                "list" => read.list = value,
                "bulk" => read.bulk = value,
                "all" => read.all = value,
                "filter" => read.filter = value,
                "record" => read.record.push(value),
                // Other forms' fields say nothing here, as everywhere.
                _ => {}
            }
        }
        Ok(read)
    }
}
