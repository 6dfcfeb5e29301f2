//! SHA-256 of bytes, as lowercase hexadecimal digits. Does not depend on stores.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// Bytes of a file that are hashed at a time.
const STEP_BYTES: usize = 256 * 1024;

/// A SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

/// Why a text is no digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a SHA-256 as 64 lowercase hexadecimal digits")]
pub struct DigestError;

impl Digest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Digest {
        Digest(Sha256::digest(bytes).into())
    }

    /// The digest of a file, and its length in bytes.
    pub fn of_file(path: &Path) -> io::Result<(Digest, u64)> {
        Digest::of_reader(&mut File::open(path)?)
    }

    /// The digest of all that a reader gives, and how many bytes that was.
    pub(super) fn of_reader(reader: &mut dyn Read) -> io::Result<(Digest, u64)> {
        let (mut hasher, mut buffer, mut length) = (Hasher::default(), vec![0; STEP_BYTES], 0);
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => return Ok((hasher.finish(), length)),
                Ok(read) => {
                    hasher.add(buffer.get(..read).unwrap_or_default());
                    length += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Takes bytes piece by piece.
#[derive(Default)]
pub(super) struct Hasher(Sha256);

impl Hasher {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(super) fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Digest, DigestError> {
        let mut bytes = [0; 32];
        if text.len() != 64 {
            return Err(DigestError);
        }
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let [high, low] = pair else { return Err(DigestError) };
            *byte = nibble(*high)? << 4 | nibble(*low)?;
        }
        Ok(Digest(bytes))
    }
}

fn nibble(digit: u8) -> Result<u8, DigestError> {
    match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        _ => Err(DigestError),
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_prints_and_nothing_else() {
        let digest = Digest::of(b"abc");
        let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!((digest.to_string().as_str(), text.parse()), (text, Ok(digest)));
        assert_eq!(serde_json::to_string(&digest).unwrap(), format!("\"{text}\""));
        assert_eq!(serde_json::from_str::<Digest>(&format!("\"{text}\"")).unwrap(), digest);
        let long = format!("{text}0");
        for bad in ["", &text[1..], &long, &text.to_uppercase(), &text.replace('b', "g"), &"é".repeat(32)] {
            assert_eq!(bad.parse::<Digest>(), Err(DigestError), "{bad:?}");
        }
        assert!(serde_json::from_str::<Digest>("\"ab\"").is_err());
    }

    #[test]
    fn hashes_file_as_its_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        for length in [0, 1, STEP_BYTES - 1, STEP_BYTES, STEP_BYTES + 1] {
            let bytes: Vec<u8> = (0..length).map(|at| (at * 7) as u8).collect();
            std::fs::write(&file, &bytes).unwrap();
            assert_eq!(Digest::of_file(&file).unwrap(), (Digest::of(&bytes), length as u64));
        }
        assert!(Digest::of_file(&folder.path().join("none")).is_err());
    }
}
