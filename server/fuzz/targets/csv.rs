//! Cells of an exported file (T35): nothing begins like a formula, and every cell comes back whole.
#![no_main]

use csv::{ReaderBuilder, Terminator, WriterBuilder};
use domain::csv::{BEGINS, defuse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|cells: Vec<String>| {
    if cells.is_empty() {
        return;
    }
    let mut writer = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(Vec::new());
    writer.write_record(cells.iter().map(|cell| defuse(cell).into_owned())).expect("memory takes all");
    let file = writer.into_inner().expect("memory takes all");
    let mut reader = ReaderBuilder::new().has_headers(false).from_reader(file.as_slice());
    let row = reader.records().next().expect("a row was written").expect("and can be read");
    assert_eq!(row.len(), cells.len());
    for (read, cell) in row.iter().zip(&cells) {
        assert!(read == cell || read.strip_prefix('\'') == Some(cell), "{cell:?} came back as {read:?}");
        // The whole list of signs that the writer knows, behind blanks too, and any control character.
        assert!(!read.trim_start().starts_with(BEGINS), "{read:?} begins like a formula");
        assert!(!read.starts_with(char::is_control), "{read:?} begins with a control character");
    }
});
