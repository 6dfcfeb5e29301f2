//! Content codings: selection by `Accept-Encoding`, and incremental encoders.
//!
//! Does not depend on the content.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::negotiation::{ACCEPT_RANGE_COUNT_MAX, parse_quality};

/// Level of gzip: the fastest that still finds repetitions.
const GZIP_LEVEL: u32 = 1;
const ZSTD_LEVEL: i32 = 1;
/// Window of zstd, as a power of two: 1 MiB.
const ZSTD_WINDOW_LOG: u32 = 20;

/// How a body is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    /// `gzip` (RFC 1952).
    Gzip,
    /// `zstd` (RFC 8878).
    Zstd,
}

impl Coding {
    /// The name in `Content-Encoding` and at the end of an entity tag.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }
}

/// The codings that a client accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// The coding that it likes most, if it likes one at least as much as none.
    pub coding: Option<Coding>,
    /// Whether it refuses a body that is not encoded.
    pub refuses_plain: bool,
}

/// Reads an `Accept-Encoding` list (RFC 9110, section 12.5.3). Of equal qualities zstd wins.
pub fn wanted(accept_encoding: &str) -> Wanted {
    let items = || accept_encoding.split(',').take(ACCEPT_RANGE_COUNT_MAX).filter_map(item);
    let any = items().find(|(name, _)| *name == "*").map(|(_, quality)| quality);
    let quality = |names: &[&str]| {
        let named = items().find(|(name, _)| names.iter().any(|own| own.eq_ignore_ascii_case(name)));
        named.map(|(_, quality)| quality)
    };
    let plain = quality(&["identity"]);
    let gzip = quality(&["gzip", "x-gzip"]).or(any).unwrap_or(0);
    let zstd = quality(&["zstd"]).or(any).unwrap_or(0);
    let best = if zstd >= gzip { (Coding::Zstd, zstd) } else { (Coding::Gzip, gzip) };
    Wanted {
        coding: (best.1 > 0 && best.1 >= plain.unwrap_or(0)).then_some(best.0),
        refuses_plain: plain.or(any) == Some(0),
    }
}

fn item(text: &str) -> Option<(&str, u16)> {
    let mut parts = text.split(';');
    let name = parts.next()?.trim();
    let quality = parts
        .filter_map(|parameter| parameter.split_once('='))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("q"))
        .map_or(Some(1000), |(_, value)| parse_quality(value.trim()))?;
    (!name.is_empty()).then_some((name, quality))
}

/// Encodes a body in pieces. Holds a window of fixed size.
pub enum Encoder {
    Gzip(GzEncoder<Vec<u8>>),
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
}

impl Encoder {
    /// An encoder of fast levels and a bounded window.
    pub fn new(coding: Coding) -> io::Result<Self> {
        Ok(match coding {
            Coding::Gzip => Self::Gzip(GzEncoder::new(Vec::new(), Compression::new(GZIP_LEVEL))),
            Coding::Zstd => {
                let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), ZSTD_LEVEL)?;
                encoder.window_log(ZSTD_WINDOW_LOG)?;
                Self::Zstd(encoder)
            }
        })
    }

    /// Encodes `bytes` and appends them to `out` so that all that was ever given can be decoded.
    pub fn encode(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        let ready = match self {
            Self::Gzip(encoder) => {
                encoder.write_all(bytes)?;
                encoder.flush()?;
                encoder.get_mut()
            }
            Self::Zstd(encoder) => {
                encoder.write_all(bytes)?;
                encoder.flush()?;
                encoder.get_mut()
            }
        };
        out.append(ready);
        Ok(())
    }

    /// Appends the end.
    pub fn finish(self, out: &mut Vec<u8>) -> io::Result<()> {
        let mut rest = match self {
            Self::Gzip(encoder) => encoder.finish()?,
            Self::Zstd(encoder) => encoder.finish()?,
        };
        out.append(&mut rest);
        Ok(())
    }
}

pub fn encode_whole(coding: Coding, body: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    let mut encoder = Encoder::new(coding)?;
    match &mut encoder {
        Encoder::Gzip(encoder) => encoder.write_all(body)?,
        Encoder::Zstd(encoder) => encoder.write_all(body)?,
    }
    encoder.finish(out)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[track_caller]
    fn check(accept_encoding: &str, coding: Option<Coding>, refuses_plain: bool) {
        assert_eq!(wanted(accept_encoding), Wanted { coding, refuses_plain }, "{accept_encoding}");
    }

    #[test]
    fn chooses_preferred_coding() {
        check("", None, false);
        check("gzip", Some(Coding::Gzip), false);
        check("GZIP, deflate", Some(Coding::Gzip), false);
        check("x-gzip", Some(Coding::Gzip), false);
        check("deflate, gzip, br, zstd", Some(Coding::Zstd), false);
        check("zstd;q=0.5, gzip;q=0.8", Some(Coding::Gzip), false);
        check("gzip;q=0, zstd;q=0.001", Some(Coding::Zstd), false);
        check("identity, gzip;q=0.5", None, false);
        check("gzip;q=0.5, identity;q=0.5", Some(Coding::Gzip), false);
        check("*", Some(Coding::Zstd), false);
        check("*;q=0.5, zstd;q=0", Some(Coding::Gzip), false);
        check("gzip;q=0", None, false);
        check("br, deflate", None, false);
        check("gzip;q=nonsense", None, false);
    }

    #[test]
    fn detects_refusal_of_identity_coding() {
        check("gzip, identity;q=0", Some(Coding::Gzip), true);
        check("zstd, *;q=0", Some(Coding::Zstd), true);
        check("identity;q=0", None, true);
        check("gzip, *;q=0, identity;q=0.1", Some(Coding::Gzip), false);
    }

    fn decoded(coding: Coding, bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut plain = Vec::new();
        match coding {
            Coding::Gzip => flate2::read::GzDecoder::new(bytes).read_to_end(&mut plain)?,
            Coding::Zstd => zstd::stream::read::Decoder::new(bytes)?.read_to_end(&mut plain)?,
        };
        Ok(plain)
    }

    #[test]
    fn flushes_first_piece_and_round_trips_body() {
        let body: Vec<u8> = (0..200_000u32).flat_map(|number| (number / 7).to_le_bytes()).collect();
        for coding in [Coding::Gzip, Coding::Zstd] {
            let mut encoder = Encoder::new(coding).unwrap();
            let mut wire = Vec::new();
            encoder.encode(&body[..100], &mut wire).unwrap();
            let mut first = vec![0; 100];
            match coding {
                Coding::Gzip => flate2::read::GzDecoder::new(&wire[..]).read_exact(&mut first).unwrap(),
                Coding::Zstd => {
                    zstd::stream::read::Decoder::new(&wire[..]).unwrap().read_exact(&mut first).unwrap();
                }
            }
            assert_eq!(first, &body[..100]);
            for piece in body[100..].chunks(7_777) {
                encoder.encode(piece, &mut wire).unwrap();
            }
            encoder.finish(&mut wire).unwrap();
            assert_eq!(decoded(coding, &wire).unwrap(), body);
            assert!(decoded(coding, &wire[..wire.len() / 2]).is_err(), "a part must not look whole");
            let mut whole = Vec::new();
            encode_whole(coding, &body, &mut whole).unwrap();
            assert!(whole.len() < body.len() && decoded(coding, &whole).unwrap() == body);
        }
    }
}
