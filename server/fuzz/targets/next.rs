//! Where a form may send a person on to (T07, T47): our own origin, by any browser's reading, and a
//! header that can be sent.
#![no_main]

use axum::http::header;
use libfuzzer_sys::fuzz_target;
use url::Url;

#[path = "../../src/security/location.rs"]
mod location;

use location::{local, see_other, sign_in};

fuzz_target!(|place: &str| {
    let here = Url::parse("https://console.example/sign-in").expect("a fixed URL parses");
    let response = see_other(place);
    let sent = response.headers()[header::LOCATION].to_str().expect("a location is plain text");
    assert_eq!(sent, local(place));
    assert_eq!(here.join(sent).expect("a location can be followed").origin(), here.origin());
    let asked = here.join(&sign_in(place, None)).expect("the sign-in page can be followed");
    assert_eq!((asked.origin(), asked.path()), (here.origin(), "/sign-in"));
});
