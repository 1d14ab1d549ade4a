//! QR codes as images.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use qrcode::{Color, EcLevel, QrCode};

/// Side of a module, in pixels.
const SCALE: usize = 6;
/// Width of the quiet zone, in modules (ISO/IEC 18004 requires four).
const MARGIN: usize = 4;

/// Why no image could be created.
#[derive(Debug, thiserror::Error)]
pub(crate) enum QrError {
    /// The text is too long for a QR code.
    #[error("the text does not fit into a QR code")]
    TooLong,
    /// The image could not be encoded.
    #[error("the image could not be encoded")]
    Png(#[source] png::EncodingError),
}

/// Encodes a text as a QR code: a PNG in base64.
///
/// # Errors
/// [`QrError`].
pub(crate) fn png_base64(text: &str) -> Result<String, QrError> {
    let code = [EcLevel::M, EcLevel::L]
        .into_iter()
        .find_map(|level| QrCode::with_error_correction_level(text, level).ok())
        .ok_or(QrError::TooLong)?;
    let picture = picture(&code);
    let mut bytes = Vec::new();
    write(&picture, &mut bytes).map_err(QrError::Png)?;
    Ok(STANDARD.encode(bytes))
}

/// Rows of bits, eight to a byte, where 1 is white, as PNG requires.
struct Picture {
    /// Length of a side, in pixels.
    side: usize,
    rows: Vec<u8>,
}

fn picture(code: &QrCode) -> Picture {
    let modules = code.to_colors();
    let side = (code.width() + 2 * MARGIN) * SCALE;
    let is_dark = |x: usize, y: usize| {
        let place = |pixel: usize| (pixel / SCALE).checked_sub(MARGIN);
        let (column, row) = (place(x)?, place(y)?);
        let inside = column < code.width();
        let module = inside.then(|| modules.get(row * code.width() + column))??;
        Some(*module == Color::Dark)
    };
    let mut rows = Vec::new();
    for y in 0..side {
        for start in (0..side).step_by(8) {
            rows.push((start..start + 8).fold(0, |byte, x| {
                let is_white = is_dark(x, y) != Some(true);
                byte << 1 | u8::from(is_white)
            }));
        }
    }
    Picture { side, rows }
}

fn write(picture: &Picture, into: &mut Vec<u8>) -> Result<(), png::EncodingError> {
    let side = u32::try_from(picture.side).unwrap_or(u32::MAX);
    let mut encoder = png::Encoder::new(into, side, side);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::One);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&picture.rows)?;
    writer.finish()
}

#[cfg(test)]
mod tests;
