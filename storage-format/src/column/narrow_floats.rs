//! The texts of a dictionary of floats that are narrower than doubles: the file holds those of doubles, readers show
//! those of the source's width. Made when they are asked for first.

use crate::column::{Dictionary, TEXT_PADDING, TextTable};
use crate::float_width::FloatWidth;

/// Texts of all entries, and of null.
#[derive(Debug)]
pub(crate) struct NarrowTexts {
    json: Texts,
    csv: Option<Texts>,
}

/// Texts one after the other, with the start of each and the end of the last.
#[derive(Debug, Default)]
struct Texts {
    offsets: Vec<u8>,
    bytes: Vec<u8>,
}

impl NarrowTexts {
    /// Prints every entry of a dictionary of floats.
    pub(crate) fn of(data: &Dictionary<'_>, width: FloatWidth) -> NarrowTexts {
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
        NarrowTexts { json: json.ended(), csv }
    }

    /// The dictionary with these texts.
    pub(crate) fn shown<'a>(&'a self, data: Dictionary<'a>) -> Dictionary<'a> {
        Dictionary { json: self.json.table(), csv: self.csv.as_ref().map(Texts::table), ..data }
    }
}

impl Texts {
    fn push(&mut self, print: impl FnOnce(&mut Vec<u8>)) {
        self.mark();
        print(&mut self.bytes);
    }

    /// As many texts as entries, of some twenty bytes each, so that 32 bits are enough.
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
