//! Evidence as a file: how large it may be, and the name that it is kept under.
//!
//! Guards against a name that means something where it is written next: a path, a line of a header, a
//! text that reads the other way round.

/// The largest file, in bytes, where nothing else is configured.
pub const MAX_FILE_BYTES: usize = 5 * 1024 * 1024;
/// The longest name that is kept, in characters; the database's own check.
const MAX_NAME_CHARS: usize = 200;

/// The name of an uploaded file as it is kept: the last part of a path, without control characters and
/// without those that turn the reading direction or do not show.
#[must_use]
pub fn file_name(sent: &str) -> String {
    let last = sent.rsplit(['/', '\\']).next().unwrap_or_default();
    let shows = |c: &char| {
        !c.is_control()
            && !matches!(*c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let kept: String = last.chars().filter(shows).take(MAX_NAME_CHARS).collect();
    let kept = kept.trim().trim_start_matches('.').trim();
    if kept.is_empty() { "file".to_owned() } else { kept.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_the_last_part_of_a_path_and_shows_what_it_is() {
        for (sent, kept) in [
            ("statement.pdf", "statement.pdf"),
            ("../../etc/passwd", "passwd"),
            ("C:\\Users\\ann\\page.png", "page.png"),
            ("a\r\nContent-Type: x\r\n\r\n.txt", "aContent-Type: x.txt"),
            ("invoice\u{202e}fdp.exe", "invoicefdp.exe"),
            ("..", "file"),
            (" ", "file"),
            ("", "file"),
            ("r\u{e9}sum\u{e9} 2.pdf", "r\u{e9}sum\u{e9} 2.pdf"),
        ] {
            assert_eq!(file_name(sent), kept, "{sent:?}");
        }
        assert_eq!(file_name(&"x".repeat(5_000)).chars().count(), MAX_NAME_CHARS);
    }
}
