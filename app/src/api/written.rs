//! What a text area says. Its words never stand inside a `<textarea>` again (F3): after a refusal
//! they come back as the value of a ticked box, and the text area is empty.

/// The words that came back ticked, then those written below them. Line ends are one character, as
/// the page counted them, for a browser sends two.
pub(crate) fn written(kept: &str, added: &str) -> String {
    let (kept, added) = (lines(kept), lines(added));
    if kept.is_empty() || kept == added {
        return added;
    }
    if added.is_empty() {
        return kept;
    }
    format!("{kept}\n\n{added}")
}

fn lines(text: &str) -> String {
    text.trim().replace("\r\n", "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_written_is_lost_and_nothing_stands_twice() {
        for (kept, added, all) in [
            ("", "", ""),
            ("", " seen\r\nby me ", "seen\nby me"),
            ("seen\nby me", "", "seen\nby me"),
            ("seen", "and rang them", "seen\n\nand rang them"),
            ("seen\r\nby me", "seen\nby me", "seen\nby me"),
        ] {
            assert_eq!(written(kept, added), all);
        }
    }
}
