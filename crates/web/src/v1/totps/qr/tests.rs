//! The image shows the QR code module by module, with its quiet zone.

use super::*;

const TEXT: &str =
    "otpauth://totp/Demo:ada%40example.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Demo";

/// Width and pixels of a PNG; `true` is dark.
fn pixels(base64: &str) -> (usize, Vec<bool>) {
    let bytes = STANDARD.decode(base64).unwrap();
    assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n"));
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes))
        .read_info()
        .unwrap();
    let mut buffer = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut buffer).unwrap();
    assert_eq!(info.width, info.height);
    let width = usize::try_from(info.width).unwrap();
    let dark = (0..width * width).map(|pixel| {
        let (x, y) = (pixel % width, pixel / width);
        buffer[y * info.line_size + x / 8] >> (7 - x % 8) & 1 == 0
    });
    (width, dark.collect())
}

#[test]
fn every_pixel_matches_its_module() {
    let code = QrCode::with_error_correction_level(TEXT, EcLevel::M).unwrap();
    let (width, dark) = pixels(&png_base64(TEXT).unwrap());
    assert_eq!(width, (code.width() + 2 * MARGIN) * SCALE);
    for y in 0..width {
        for x in 0..width {
            let (column, row) = (x / SCALE, y / SCALE);
            let inside = (MARGIN..MARGIN + code.width()).contains(&column)
                && (MARGIN..MARGIN + code.width()).contains(&row);
            let expected = inside && code[(column - MARGIN, row - MARGIN)] == Color::Dark;
            assert_eq!(dark[y * width + x], expected, "pixel {x}, {y}");
        }
    }
}

/// The longest possible key URI still fits, at the lower error correction level.
#[test]
fn long_texts_fit_and_too_long_ones_are_refused() {
    assert!(png_base64(&"a".repeat(2_900)).is_ok());
    assert!(matches!(
        png_base64(&"a".repeat(3_000)),
        Err(QrError::TooLong)
    ));
}
