//! The pictures of the site: small files in the data directory, whose content matches their extension.
//!
//! Does not depend on pages.

use std::fs::File;
use std::io::Read;
use std::path::{Component, Path};

use xxhash_rust::xxh3::xxh3_64;

use crate::limits::branding::{CARD_HEIGHT_PIXELS, CARD_WIDTH_PIXELS};

/// Size of the logo.
const LOGO_BYTES_MAX: u64 = 256 * 1024;
/// Size of the picture that previews of links show: some services load no larger one.
const CARD_BYTES_MAX: u64 = 150 * 1024;

/// A picture with its media type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    file: String,
    content_type: &'static str,
    bytes: Vec<u8>,
}

/// Endings of names, media types, and how the files begin.
const KINDS: [(&str, &str, &[u8]); 4] = [
    ("png", "image/png", b"\x89PNG\r\n\x1a\n"),
    ("jpg", "image/jpeg", b"\xff\xd8\xff"),
    ("webp", "image/webp", b"RIFF"),
    ("svg", "image/svg+xml", b"<"),
];

impl Picture {
    /// Reads the logo, the file with that name under `folder`.
    pub(super) fn logo(name: &str, folder: &Path) -> Result<Self, String> {
        Self::load("logo", name, folder, LOGO_BYTES_MAX)
    }

    /// Reads the picture that previews of links show.
    pub(super) fn card(name: &str, folder: &Path) -> Result<Self, String> {
        let picture = Self::load("card", name, folder, CARD_BYTES_MAX)?;
        match png_size(&picture.bytes) {
            Some((CARD_WIDTH_PIXELS, CARD_HEIGHT_PIXELS)) => Ok(picture),
            found => {
                let found = found.map_or("another kind of file".to_owned(), |(width, height)| {
                    format!("{width} × {height}")
                });
                Err(format!(
                    "expected a PNG of {CARD_WIDTH_PIXELS} × {CARD_HEIGHT_PIXELS} pixels, found {found}; draw it in that size"
                ))
            }
        }
    }

    fn load(stem: &str, name: &str, folder: &Path, bytes_max: u64) -> Result<Self, String> {
        let shown: String = name.chars().take(100).collect();
        let path = Path::new(name);
        let is_inside = path.components().all(|part| matches!(part, Component::Normal(_)));
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let kind = KINDS.iter().find(|(known, ..)| *known == ending).filter(|_| is_inside);
        let Some((ending, content_type, beginning)) = kind else {
            return Err(format!(
                "expected a file of the data directory that ends in .svg, .png, .jpg or .webp, found `{shown}`; \
                 put the picture beside site.toml"
            ));
        };
        let whole = folder.join(path);
        let cannot = |error: std::io::Error| {
            format!("expected a readable file, found {} ({error}); put the picture there", whole.display())
        };
        let mut bytes = Vec::new();
        let file = File::open(&whole).map_err(cannot)?;
        file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes).map_err(cannot)?;
        if u64::try_from(bytes.len()).is_ok_and(|length| length > bytes_max) {
            return Err(format!("expected at most {bytes_max} bytes, found more; make the picture smaller"));
        }
        let text = bytes.trim_ascii_start();
        if !text.starts_with(beginning) {
            return Err(format!(
                "expected a {ending} picture, found something else in `{shown}`; check the file"
            ));
        }
        Ok(Self { file: format!("{stem}.{:016x}.{ending}", xxh3_64(&bytes)), content_type, bytes })
    }

    /// Name under which it is served, which contains a hash of the content.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Its media type.
    pub fn content_type(&self) -> &'static str {
        self.content_type
    }

    /// The file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Width and height of a PNG, which its first chunk has.
fn png_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let header = bytes.strip_prefix(b"\x89PNG\r\n\x1a\n")?.strip_prefix(b"\0\0\0\x0dIHDR")?;
    let (width, rest) = header.split_first_chunk()?;
    let (height, _) = rest.split_first_chunk()?;
    Some((u32::from_be_bytes(*width), u32::from_be_bytes(*height)))
}
