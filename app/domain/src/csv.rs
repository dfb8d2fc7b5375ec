//! Cells of a CSV file that nothing runs: a spreadsheet takes what begins like a formula for one, and
//! a customer can choose a key or a reference (T35).

use std::borrow::Cow;

/// What a spreadsheet takes for the beginning of a formula: the four signs, their full-width and small
/// forms, and the minus sign of typography.
pub const BEGINS: [char; 13] = [
    '=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}', '\u{fe66}', '\u{fe62}',
    '\u{fe63}', '\u{fe6b}', '\u{2212}',
];

/// The cell as text: with `'` before it where a spreadsheet could take it for a formula, also behind
/// blanks, which some leave out, and before a tab or a line end. Quoting is for whoever writes the file.
#[must_use]
pub fn defuse(cell: &str) -> Cow<'_, str> {
    let unseen = |c: char| {
        c.is_whitespace() || c.is_control() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{feff}')
    };
    let control = cell.starts_with(char::is_control);
    if control || cell.trim_start_matches(unseen).starts_with(BEGINS) {
        Cow::Owned(format!("'{cell}"))
    } else {
        Cow::Borrowed(cell)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_like_a_formula_is_text() {
        for cell in [
            "=1+1",
            "+1",
            "-1",
            "@SUM(A1)",
            "\t=1",
            "\r=1",
            "\n=1",
            "\u{ff1d}1",
            "\u{ff0b}1",
            "\u{ff0d}1",
            "\u{ff20}x",
            " =1",
            "\u{feff}=1",
            "\u{a0}-1",
        ] {
            assert_eq!(defuse(cell), format!("'{cell}"));
        }
        for cell in
            ["", "129.00 EUR", "inv-7", "a=b", "'quoted", "2026-11-30", "é", "_x", " spaced"]
        {
            assert!(matches!(defuse(cell), Cow::Borrowed(same) if same == cell));
        }
    }
}
