//! The address of a list (T37): read or refused, and read alike whatever the order of its parts.
#![no_main]

use domain::listing::{List, ListQuery, Parts};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((first, query)) = bytes.split_first() else { return };
    let list = List::ALL[usize::from(*first) % List::ALL.len()];
    let pairs: Vec<(String, String)> = form_urlencoded::parse(query).into_owned().collect();
    let read = |pairs: Vec<(String, String)>| {
        let mut parts = Parts::new(pairs).ok()?;
        let query = ListQuery::read(list, &mut parts).ok()?;
        parts.finish().ok()?;
        Some(query)
    };
    let backwards = pairs.iter().rev().cloned().collect();
    assert_eq!(read(pairs), read(backwards), "the order of an address means nothing");
});
