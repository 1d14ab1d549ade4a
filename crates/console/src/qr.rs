//! QR codes, as the path of an SVG.

use qrcode::{Color, EcLevel};

/// Width of the quiet zone, in modules (ISO/IEC 18004 requires four; the stylesheet adds the rest as padding).
const MARGIN: usize = 2;

/// A QR code.
#[derive(Debug, Default)]
pub(crate) struct QrCode {
    /// Length of a side with its quiet zone, in modules.
    pub(crate) side: usize,
    /// The dark modules: one subpath for each run of a row.
    pub(crate) path: String,
}

impl QrCode {
    /// Encodes a text; empty if it is too long.
    pub(crate) fn of(text: &str) -> Self {
        let levels = [EcLevel::M, EcLevel::L].into_iter();
        let mut codes = levels
            .filter_map(|level| qrcode::QrCode::with_error_correction_level(text, level).ok());
        let Some(code) = codes.next() else {
            return Self::default();
        };
        let width = code.width();
        let mut path = String::new();
        for (y, row) in code.to_colors().chunks(width).enumerate() {
            let mut x = 0;
            for run in row.chunk_by(|one, next| one == next) {
                if run.first() == Some(&Color::Dark) {
                    let (left, top, length) = (x + MARGIN, y + MARGIN, run.len());
                    path.push_str(&format!("M{left} {top}h{length}v1h-{length}z"));
                }
                x += run.len();
            }
        }
        Self {
            side: width + 2 * MARGIN,
            path,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The path, drawn again, is the code.
    #[test]
    fn the_path_has_the_dark_modules() {
        let text = "otpauth://totp/Vestry:ann@example.com?secret=JBSWY3DPEHPK3PXP&issuer=Vestry";
        let shown = QrCode::of(text);
        let expected = qrcode::QrCode::with_error_correction_level(text, EcLevel::M).unwrap();
        let mut dark = vec![false; expected.width() * expected.width()];
        for run in shown.path.split('M').filter(|run| !run.is_empty()) {
            let (x, rest) = run.split_once(' ').unwrap();
            let (y, rest) = rest.split_once('h').unwrap();
            let (length, _) = rest.split_once('v').unwrap();
            let (x, y): (usize, usize) = (x.parse().unwrap(), y.parse().unwrap());
            for step in 0..length.parse::<usize>().unwrap() {
                dark[(y - MARGIN) * expected.width() + x - MARGIN + step] = true;
            }
        }
        let colors = expected.to_colors();
        let expected: Vec<_> = colors.iter().map(|color| *color == Color::Dark).collect();
        assert_eq!(dark, expected);
        assert!(QrCode::of(&"x".repeat(5000)).path.is_empty());
    }
}
