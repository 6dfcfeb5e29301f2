//! Dictionary texts of 16-bit and 32-bit floats. The file stores the texts of doubles; readers return texts of the
//! source's width, encoded at the first access.

use crate::column::{Dictionary, TEXT_PADDING, TextTable};
use crate::float_width::FloatWidth;

/// The texts of all entries and of null.
#[derive(Debug)]
pub(crate) struct NarrowFloatTexts {
    json: Texts,
    csv: Option<Texts>,
}

/// Concatenated texts, with the start of each and the end of the last.
#[derive(Debug, Default)]
struct Texts {
    offsets: Vec<u8>,
    bytes: Vec<u8>,
}

impl NarrowFloatTexts {
    /// Encodes all entries of a dictionary of floats.
    pub(crate) fn of(data: &Dictionary<'_>, width: FloatWidth) -> NarrowFloatTexts {
        let values = || (0..data.entries).map(|code| data.float(code).unwrap_or(f64::NAN));
        let mut json = Texts::default();
        values().for_each(|value| {
            json.push(|out| {
                if !width.push_finite(out, value) {
                    out.extend_from_slice(b"null");
                }
            });
        });
        json.push(|out| out.extend_from_slice(b"null"));
        let csv = data.csv.map(|_| {
            let mut csv = Texts::default();
            values().for_each(|value| csv.push(|out| width.push_csv(out, value)));
            csv.push(|_| ());
            csv.ended()
        });
        NarrowFloatTexts { json: json.ended(), csv }
    }

    /// Returns the dictionary with these texts.
    pub(crate) fn apply_to<'a>(&'a self, data: Dictionary<'a>) -> Dictionary<'a> {
        Dictionary { json: self.json.table(), csv: self.csv.as_ref().map(Texts::table), ..data }
    }
}

impl Texts {
    fn push(&mut self, print: impl FnOnce(&mut Vec<u8>)) {
        self.mark();
        print(&mut self.bytes);
    }

    /// Each entry has some twenty bytes, so 32-bit offsets suffice.
    fn mark(&mut self) {
        let at = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        self.offsets.extend_from_slice(&at.to_le_bytes());
    }

    fn ended(mut self) -> Texts {
        self.mark();
        self.bytes.extend_from_slice(&[0; TEXT_PADDING]);
        self
    }

    fn table(&self) -> TextTable<'_> {
        TextTable::new(&self.offsets, &self.bytes)
    }
}
