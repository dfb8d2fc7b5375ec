//! A text as a QR code, drawn as SVG on the server: no picture file, no script.

use std::fmt::Write as _;

use leptos::prelude::*;
use qrcodegen::{QrCode, QrCodeEcc};

/// The empty border that scanners ask for, in modules.
const BORDER: i32 = 4;

/// The code, with what it is for who cannot see it; nothing where the text is longer than one can hold.
#[must_use]
pub fn qr(text: &str, label: &'static str) -> Option<AnyView> {
    QrCode::encode_text(text, QrCodeEcc::Medium).ok().map(|code| {
        let side = code.size() + 2 * BORDER;
        view! {
            <svg class="qr" role="img" aria-label=label viewBox=format!("0 0 {side} {side}")>
                <path d=path(&code)></path>
            </svg>
        }
        .into_any()
    })
}

/// The dark modules, each row's runs as one stroke.
fn path(code: &QrCode) -> String {
    let mut path = String::new();
    for y in 0..code.size() {
        let mut x = 0;
        while x < code.size() {
            let run = (x..code.size()).take_while(|x| code.get_module(*x, y)).count();
            let run = i32::try_from(run).unwrap_or_default();
            if run > 0 {
                let _ = write!(path, "M{} {}h{run}v1h-{run}z", x + BORDER, y + BORDER);
            }
            x += run + 1;
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drawing_has_every_dark_module_and_no_other() {
        let code = QrCode::encode_text("otpauth://totp/x", QrCodeEcc::Medium).unwrap();
        let dark = (0..code.size())
            .flat_map(|y| (0..code.size()).map(move |x| (x, y)))
            .filter(|(x, y)| code.get_module(*x, *y))
            .count();
        let drawn: usize = path(&code)
            .split('h')
            .skip(1)
            .filter_map(|part| part.split('v').next()?.parse::<usize>().ok())
            .sum();
        assert_eq!(drawn, dark);
    }
}
