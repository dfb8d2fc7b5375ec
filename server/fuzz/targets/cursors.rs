//! Cursors: what is taken is a place that this console gives out, and comes back as itself.
#![no_main]

use domain::listing::{Cursor, PlaceCursor, TimeCursor};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(cursor) = Cursor::decode(text) {
        assert_eq!(Cursor::decode(&cursor.encode()), Ok(cursor));
    }
    if let Ok(cursor) = PlaceCursor::decode(text) {
        assert!(cursor.place >= 0);
        assert_eq!(PlaceCursor::decode(&cursor.encode()), Ok(cursor));
    }
    if let Ok(cursor) = TimeCursor::decode(text) {
        assert_eq!(TimeCursor::decode(&cursor.encode()), Ok(cursor));
    }
});
