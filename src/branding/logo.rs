//! The logo of the site: a small file in the data directory, whose content matches its extension.
//!
//! Does not depend on pages.

use std::fs::File;
use std::io::Read;
use std::path::{Component, Path};

use xxhash_rust::xxh3::xxh3_64;

/// Size of the picture.
const LOGO_BYTES_MAX: u64 = 256 * 1024;

/// A picture with its media type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logo {
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

impl Logo {
    /// Reads the file with that name under `folder`.
    pub(super) fn load(name: &str, folder: &Path) -> Result<Self, String> {
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
        file.take(LOGO_BYTES_MAX.saturating_add(1)).read_to_end(&mut bytes).map_err(cannot)?;
        if u64::try_from(bytes.len()).is_ok_and(|length| length > LOGO_BYTES_MAX) {
            return Err(format!(
                "expected at most {LOGO_BYTES_MAX} bytes, found more; make the picture smaller"
            ));
        }
        let text = bytes.trim_ascii_start();
        if !text.starts_with(beginning) {
            return Err(format!(
                "expected a {ending} picture, found something else in `{shown}`; check the file"
            ));
        }
        Ok(Self { file: format!("logo.{:016x}.{ending}", xxh3_64(&bytes)), content_type, bytes })
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
