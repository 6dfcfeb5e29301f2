//! The ZIP around a workbook: small parts as they are, and one deflated sheet whose size and checksum stand behind it.
//! It has no times, so the same content makes the same bytes. Does not depend on XML.

use crc32fast::Hasher;

/// Version 2.0 of ZIP: deflated entries.
const VERSION: u16 = 20;
/// Version 4.5 of ZIP: sizes of 64 bits.
const VERSION_64: u16 = 45;
const STORED: u16 = 0;
const DEFLATED: u16 = 8;
/// Size and checksum stand behind the entry.
const DESCRIBED_BEHIND: u16 = 1 << 3;
/// 1 January 1980, the first day of ZIP.
const DAY: u16 = 0x0021;
/// A size or an offset that stands elsewhere, in 64 bits.
const ELSEWHERE: u32 = u32::MAX;
/// The number of the extra field with sizes of 64 bits.
const EXTRA_64: u16 = 1;
/// The name of the sheet in the package.
const SHEET_NAME: &str = "xl/worksheets/sheet1.xml";

/// A deflated piece of the sheet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packed {
    /// Checksum of its XML.
    pub(super) crc: u32,
    /// Bytes of its XML.
    pub(super) plain: u64,
    /// Bytes of its deflated form.
    pub(super) deflated: u64,
}

/// A ZIP up to the sheet, and what its end has to know.
#[derive(Debug)]
pub(super) struct Package {
    begin: Vec<u8>,
    directory: Vec<u8>,
    entries: u16,
    sheet_offset: u32,
}

impl Package {
    /// A package with parts, which are short, in front of the sheet.
    pub(super) fn new(parts: &[(&'static str, String)]) -> Package {
        let (mut begin, mut directory, mut entries) = (Vec::new(), Vec::new(), 1);
        for (name, text) in parts {
            let size = word(text.len() as u64);
            let mut crc = Hasher::new();
            crc.update(text.as_bytes());
            let facts = Facts { method: STORED, flags: 0, crc: crc.finalize(), deflated: size, plain: size };
            let offset = word(begin.len() as u64);
            push_local(&mut begin, name, &facts);
            begin.extend_from_slice(text.as_bytes());
            push_central(&mut directory, name, &facts, offset, &[]);
            entries += 1;
        }
        let sheet_offset = word(begin.len() as u64);
        let facts = Facts { method: DEFLATED, flags: DESCRIBED_BEHIND, crc: 0, deflated: 0, plain: 0 };
        push_local(&mut begin, SHEET_NAME, &facts);
        Package { begin, directory, entries, sheet_offset }
    }

    /// Appends all up to the content of the sheet.
    pub(super) fn begin(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.begin);
    }

    /// Appends what stands behind the content of the sheet, whose pieces come in their order.
    pub(super) fn end<'p>(&self, pieces: impl Iterator<Item = &'p Packed>, out: &mut Vec<u8>) {
        let (mut crc, mut plain, mut deflated) = (Hasher::new(), 0_u64, 0_u64);
        for piece in pieces {
            crc.combine(&Hasher::new_with_initial_len(piece.crc, piece.plain));
            plain = plain.saturating_add(piece.plain);
            deflated = deflated.saturating_add(piece.deflated);
        }
        let crc = crc.finalize();
        let is_large = word(plain) == ELSEWHERE || word(deflated) == ELSEWHERE;
        let descriptor = out.len();
        push_all(out, &[0x0807_4b50, crc]);
        if is_large {
            out.extend_from_slice(&deflated.to_le_bytes());
            out.extend_from_slice(&plain.to_le_bytes());
        } else {
            push_all(out, &[word(deflated), word(plain)]);
        }
        let descriptor = (out.len().saturating_sub(descriptor)) as u64;
        let start = (self.begin.len() as u64).saturating_add(deflated).saturating_add(descriptor);
        let before = out.len();
        out.extend_from_slice(&self.directory);
        let mut extra = Vec::new();
        let mut facts = Facts {
            method: DEFLATED,
            flags: DESCRIBED_BEHIND,
            crc,
            deflated: word(deflated),
            plain: word(plain),
        };
        if is_large {
            (facts.deflated, facts.plain) = (ELSEWHERE, ELSEWHERE);
            extra.extend_from_slice(&EXTRA_64.to_le_bytes());
            extra.extend_from_slice(&16_u16.to_le_bytes());
            extra.extend_from_slice(&plain.to_le_bytes());
            extra.extend_from_slice(&deflated.to_le_bytes());
        }
        push_central(out, SHEET_NAME, &facts, self.sheet_offset, &extra);
        let length = (out.len().saturating_sub(before)) as u64;
        self.push_end(out, start, length);
    }

    fn push_end(&self, out: &mut Vec<u8>, start: u64, length: u64) {
        let entries = u64::from(self.entries);
        if word(start) == ELSEWHERE {
            push_all(out, &[0x0606_4b50]);
            out.extend_from_slice(&44_u64.to_le_bytes());
            push_shorts(out, &[VERSION_64, VERSION_64]);
            push_all(out, &[0, 0]);
            for value in [entries, entries, length, start] {
                out.extend_from_slice(&value.to_le_bytes());
            }
            push_all(out, &[0x0706_4b50, 0]);
            out.extend_from_slice(&start.saturating_add(length).to_le_bytes());
            push_all(out, &[1]);
        }
        push_all(out, &[0x0605_4b50]);
        push_shorts(out, &[0, 0, self.entries, self.entries]);
        push_all(out, &[word(length), word(start)]);
        push_shorts(out, &[0]);
    }
}

struct Facts {
    method: u16,
    flags: u16,
    crc: u32,
    deflated: u32,
    plain: u32,
}

fn push_local(out: &mut Vec<u8>, name: &str, facts: &Facts) {
    push_all(out, &[0x0403_4b50]);
    push_shorts(out, &[VERSION]);
    push_facts(out, name, facts, 0);
    out.extend_from_slice(name.as_bytes());
}

fn push_central(out: &mut Vec<u8>, name: &str, facts: &Facts, offset: u32, extra: &[u8]) {
    let version = if extra.is_empty() { VERSION } else { VERSION_64 };
    push_all(out, &[0x0201_4b50]);
    push_shorts(out, &[version, version]);
    push_facts(out, name, facts, extra.len());
    // No comment, the first disk, no attributes.
    push_shorts(out, &[0, 0, 0]);
    push_all(out, &[0, offset]);
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(extra);
}

/// The fields that both records of an entry share.
fn push_facts(out: &mut Vec<u8>, name: &str, facts: &Facts, extra: usize) {
    push_shorts(out, &[facts.flags, facts.method, 0, DAY]);
    push_all(out, &[facts.crc, facts.deflated, facts.plain]);
    push_shorts(out, &[short(name.len()), short(extra)]);
}

fn push_all(out: &mut Vec<u8>, words: &[u32]) {
    words.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
}

fn push_shorts(out: &mut Vec<u8>, shorts: &[u16]) {
    shorts.iter().for_each(|short| out.extend_from_slice(&short.to_le_bytes()));
}

/// A size in 32 bits, or the mark that it stands elsewhere.
fn word(size: u64) -> u32 {
    u32::try_from(size).unwrap_or(ELSEWHERE)
}

fn short(size: usize) -> u16 {
    u16::try_from(size).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn packed(deflated: &[u8], plain: &[u8]) -> Packed {
        let mut crc = Hasher::new();
        crc.update(plain);
        Packed { crc: crc.finalize(), plain: plain.len() as u64, deflated: deflated.len() as u64 }
    }

    #[test]
    fn sheet_of_pieces_is_read_back() {
        let package = Package::new(&[("a.xml", "<a/>".to_owned())]);
        let mut out = Vec::new();
        package.begin(&mut out);
        let mut pieces = Vec::new();
        // Stored blocks of a deflated stream; the last one says so.
        for (flag, text) in [(0_u8, "first "), (1, "second")] {
            let length = text.len() as u16;
            let mut block = vec![flag];
            block.extend_from_slice(&length.to_le_bytes());
            block.extend_from_slice(&(!length).to_le_bytes());
            block.extend_from_slice(text.as_bytes());
            pieces.push(packed(&block, text.as_bytes()));
            out.extend_from_slice(&block);
        }
        package.end(pieces.iter(), &mut out);
        let mut archive = zip::ZipArchive::new(std::io::Cursor::new(out)).unwrap();
        let mut text = String::new();
        archive.by_name(SHEET_NAME).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), archive.len()), ("first second", 2));
    }

    #[test]
    fn sizes_beyond_four_gibibytes_stand_in_64_bits() {
        let package = Package::new(&[]);
        let mut out = Vec::new();
        let large = 5_u64 << 30;
        package.end([Packed { crc: 1, plain: large, deflated: large + 1 }].iter(), &mut out);
        let start = package.begin.len() as u64 + large + 1 + 24;
        let holds = |value: u64| out.windows(8).any(|window| window == value.to_le_bytes());
        assert!(holds(large) && holds(large + 1) && holds(start));
    }
}
