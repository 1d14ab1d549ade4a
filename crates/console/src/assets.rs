//! Static files. They are embedded, and their directory is named by the hash of all of them. So browsers keep them for ever, and a page and
//! its files always belong to one build.

use std::sync::LazyLock;

use vestry_edge::CONSOLE;

macro_rules! files {
    ($($name:literal $kind:literal,)*) => {
        /// Name, media type and content of each file.
        const FILES: &[(&str, &str, &[u8])] =
            &[$(($name, $kind, include_bytes!(concat!("../assets/", $name))),)*];
    };
}

files! {
    "caret.svg" "image/svg+xml",
    "console.css" "text/css; charset=utf-8",
    "copy.js" "text/javascript; charset=utf-8",
    "icons.svg" "image/svg+xml",
    "live.js" "text/javascript; charset=utf-8",
    "mark-live.svg" "image/svg+xml",
    "mark.svg" "image/svg+xml",
    "passkeys.js" "text/javascript; charset=utf-8",
    "shortcuts.js" "text/javascript; charset=utf-8",
}

/// The path of their directory.
static DIRECTORY: LazyLock<String> = LazyLock::new(|| format!("{CONSOLE}/assets/{}", hash()));

/// FNV-1a (64 bits) over all files, in hexadecimal. It names versions and protects nothing.
fn hash() -> String {
    let bytes = FILES.iter().flat_map(|(_, _, content)| *content);
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// The path of the directory of static files, such as `/console/assets/89ab01cd…`.
pub(crate) fn directory() -> &'static str {
    &DIRECTORY
}

/// Media type and content of a file; `None` if there is none of this name and version.
pub(crate) fn file(hash: &str, name: &str) -> Option<(&'static str, &'static [u8])> {
    let (_, current) = directory().rsplit_once('/')?;
    let (_, kind, content) = FILES.iter().find(|(own, ..)| *own == name)?;
    (hash == current).then_some((*kind, *content))
}
