//! What a page reads: a resource whose value travels inside the page as JSON.
//!
//! Leptos' own resources read text and its server functions read bytes, so the browser would carry
//! the JSON reader of every record twice, a twelfth of the whole module (P6). Here both use the
//! reader of the server functions.

use std::{future::Future, string::FromUtf8Error};

use leptos::{
    prelude::*,
    server::codee::{Decoder, Encoder},
    server_fn::{Decodes, Encodes, codec::JsonEncoding},
};
use serde::{Serialize, de::DeserializeOwned};

/// A resource of a page.
pub type PageData<T> = Resource<T, PageJson>;

/// Reads again whenever `source` changes. The server's value comes with the page.
pub fn page_data<S, T, F>(
    source: impl Fn() -> S + Send + Sync + 'static,
    fetch: impl Fn(S) -> F + Send + Sync + 'static,
) -> PageData<T>
where
    S: PartialEq + Clone + Send + Sync + 'static,
    T: Serialize + DeserializeOwned + Send + Sync + 'static,
    F: Future<Output = T> + Send + 'static,
{
    Resource::new_with_options(source, fetch, false)
}

/// JSON as the server functions write and read it.
#[derive(Debug)]
pub struct PageJson;

/// Why a value could not be put into a page.
#[derive(Debug)]
pub enum WriteError {
    /// It has no JSON.
    Json(<JsonEncoding as Encodes<()>>::Error),
    /// Its JSON is no text.
    Text(FromUtf8Error),
}

impl<T: Serialize> Encoder<T> for PageJson {
    type Error = WriteError;
    type Encoded = String;

    fn encode(value: &T) -> Result<String, WriteError> {
        let bytes = JsonEncoding::encode(value).map_err(WriteError::Json)?;
        String::from_utf8(bytes.into()).map_err(WriteError::Text)
    }
}

impl<T: DeserializeOwned> Decoder<T> for PageJson {
    type Error = <JsonEncoding as Decodes<()>>::Error;
    type Encoded = str;

    fn decode(text: &str) -> Result<T, Self::Error> {
        JsonEncoding::decode(text.as_bytes().to_vec().into())
    }
}
