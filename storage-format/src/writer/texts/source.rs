//! The input of a text column: interned while texts repeat, or else spooled unchanged.

use std::collections::HashMap;
use std::path::Path;

use crate::checksum::checksum;
use crate::error::FormatError;
use crate::limits::TEXT_DICTIONARY_BYTES_MAX;
use crate::writer::distinct_sketch::DistinctSketch;
use crate::writer::spool::Spool;

/// Rows of the trial. If texts hardly repeat within it, interning stops and the distinct texts are estimated.
const INTERN_TRIAL_ROWS: u64 = 65_536;
/// Up to this percentage of distinct texts, by estimate, an exact count follows. A dictionary needs at most half, and
/// the estimate may be a few percent too high.
const RECOUNT_PERCENT_MAX: u64 = 60;
/// The length that represents null in the spool.
const NULL_LENGTH: u32 = u32::MAX;
/// The provisional code of null.
const NULL_CODE: u32 = u32::MAX;

/// Receives each text, `None` for null.
pub(crate) type TakeText<'a> = dyn FnMut(Option<&[u8]>) -> Result<(), FormatError> + 'a;

/// The texts of a column.
pub(crate) struct TextSource {
    spool: Spool,
    interner: Option<Interner>,
    /// Estimates the distinct texts after interning has stopped.
    sketch: Option<DistinctSketch>,
    memory_max: u64,
    directory: std::path::PathBuf,
    pub(crate) rows: u64,
    pub(crate) null_count: u64,
    pub(crate) text_bytes: u64,
    pub(crate) in_file_order: bool,
    last: Vec<u8>,
    seen_null: bool,
}

/// Distinct texts and their provisional codes, in order of first appearance.
#[derive(Default)]
pub(crate) struct Interner {
    codes: HashMap<Box<[u8]>, u32, foldhash::fast::FixedState>,
    bytes: u64,
}

impl TextSource {
    pub(crate) fn new(memory_max: u64, directory: &Path) -> TextSource {
        TextSource {
            spool: Spool::new(memory_max, directory),
            interner: Some(Interner::default()),
            sketch: None,
            memory_max,
            directory: directory.to_path_buf(),
            rows: 0,
            null_count: 0,
            text_bytes: 0,
            in_file_order: true,
            last: Vec::new(),
            seen_null: false,
        }
    }

    pub(crate) fn push(&mut self, text: Option<&[u8]>) -> Result<(), FormatError> {
        self.track_order(text);
        self.rows += 1;
        self.null_count += u64::from(text.is_none());
        self.text_bytes += text.map_or(0, <[u8]>::len) as u64;
        let dictionary_max = self.dictionary_max();
        match &mut self.interner {
            Some(interner) => {
                let code = interner.code(text);
                self.spool.push(&code.to_le_bytes())?;
                if interner.bytes > dictionary_max {
                    self.stop_interning()?;
                } else if interner.hardly_repeats(self.rows) {
                    self.sketch = Some(interner.sketch());
                    self.stop_interning()?;
                }
                Ok(())
            }
            None => {
                if let (Some(sketch), Some(text)) = (&mut self.sketch, text) {
                    sketch.add(checksum(text));
                }
                push_text(&mut self.spool, text)
            }
        }
    }

    fn track_order(&mut self, text: Option<&[u8]>) {
        if !self.in_file_order {
            return;
        }
        match text {
            None => self.seen_null = true,
            Some(text) => {
                self.in_file_order = !self.seen_null && text >= self.last.as_slice();
                self.last.clear();
                self.last.extend_from_slice(text);
            }
        }
    }

    /// Replaces the codes in the spool by the texts themselves.
    pub(crate) fn stop_interning(&mut self) -> Result<(), FormatError> {
        let Some(interner) = self.interner.take() else {
            return Ok(());
        };
        let texts = interner.into_texts();
        let mut spool = Spool::new(self.memory_max, &self.directory);
        self.spool.read_words(|code| push_text(&mut spool, texts.get(code as usize).map(|text| &**text)))?;
        self.spool = spool;
        Ok(())
    }

    /// Bytes of distinct texts that may be kept.
    fn dictionary_max(&self) -> u64 {
        TEXT_DICTIONARY_BYTES_MAX.min(self.memory_max)
    }

    /// Whether this number of distinct texts justifies a dictionary.
    pub(crate) fn repeats(&self, distinct: u64) -> bool {
        distinct.saturating_mul(2) <= self.rows - self.null_count
    }

    /// Interns all texts if the whole column repeats although its beginning does not.
    pub(crate) fn retry_interning(&mut self) -> Result<(), FormatError> {
        let Some(sketch) = self.sketch.take() else { return Ok(()) };
        let valid = self.rows - self.null_count;
        if sketch.estimate().saturating_mul(100) > valid.saturating_mul(RECOUNT_PERCENT_MAX) {
            return Ok(());
        }
        let (mut interner, mut fits) = (Interner::default(), true);
        let mut codes = Spool::new(self.memory_max, &self.directory);
        self.read_texts(&mut |text| {
            if fits {
                codes.push(&interner.code(text).to_le_bytes())?;
                fits = interner.bytes <= self.dictionary_max() && self.repeats(interner.codes.len() as u64);
            }
            Ok(())
        })?;
        if fits {
            self.spool = codes;
            self.interner = Some(interner);
        }
        Ok(())
    }

    /// The number of distinct texts, if known.
    pub(crate) fn interned(&self) -> Option<usize> {
        self.interner.as_ref().map(|interner| interner.codes.len())
    }

    /// Takes the distinct texts out; the spool then holds provisional codes.
    pub(crate) fn take_interned(&mut self) -> Vec<Box<[u8]>> {
        self.interner.take().map(Interner::into_texts).unwrap_or_default()
    }

    /// Calls `take` with the provisional code of every row, `None` for null.
    pub(crate) fn read_codes(
        &self,
        take: &mut dyn FnMut(Option<u32>) -> Result<(), FormatError>,
    ) -> Result<(), FormatError> {
        self.spool.read_words(|code| take((code != NULL_CODE).then_some(code)))
    }

    /// Calls `take` with the text of every row, `None` for null. Valid only after interning has stopped.
    pub(crate) fn read_texts(&self, take: &mut TakeText<'_>) -> Result<(), FormatError> {
        let mut carried: Vec<u8> = Vec::new();
        self.spool.read(1, &mut |piece| {
            let mut rest = piece;
            while !carried.is_empty() && !rest.is_empty() {
                let needed =
                    record_length(&carried).map_or(1, |length| length - carried.len()).min(rest.len());
                let (head, tail) = rest.split_at(needed);
                carried.extend_from_slice(head);
                rest = tail;
                if record_length(&carried) == Some(carried.len()) {
                    take(record_text(&carried))?;
                    carried.clear();
                }
            }
            while let Some(length) = record_length(rest).filter(|length| *length <= rest.len()) {
                let (record, tail) = rest.split_at(length);
                take(record_text(record))?;
                rest = tail;
            }
            carried.extend_from_slice(rest);
            Ok(())
        })
    }
}

/// Length of the record at the start of `bytes`, if it is readable.
fn record_length(bytes: &[u8]) -> Option<usize> {
    let length = u32::from_le_bytes(crate::layout::take(bytes, 0)?);
    Some(if length == NULL_LENGTH { 4 } else { 4 + length as usize })
}

fn record_text(record: &[u8]) -> Option<&[u8]> {
    let length = u32::from_le_bytes(crate::layout::take(record, 0)?);
    (length != NULL_LENGTH).then(|| record.get(4..).unwrap_or_default())
}

fn push_text(spool: &mut Spool, text: Option<&[u8]>) -> Result<(), FormatError> {
    let length = text.map_or(NULL_LENGTH, |text| u32::try_from(text.len()).unwrap_or(NULL_LENGTH - 1));
    spool.push(&length.to_le_bytes())?;
    spool.push(text.unwrap_or_default())
}

impl Interner {
    fn code(&mut self, text: Option<&[u8]>) -> u32 {
        let Some(text) = text else { return NULL_CODE };
        if let Some(code) = self.codes.get(text) {
            return *code;
        }
        let code = u32::try_from(self.codes.len()).unwrap_or(NULL_CODE - 1);
        self.codes.insert(text.into(), code);
        self.bytes += text.len() as u64 + 64;
        code
    }

    fn sketch(&self) -> DistinctSketch {
        let mut sketch = DistinctSketch::default();
        self.codes.keys().for_each(|text| sketch.add(checksum(text)));
        sketch
    }

    fn hardly_repeats(&self, rows: u64) -> bool {
        rows == INTERN_TRIAL_ROWS && self.codes.len() as u64 * 4 > rows * 3
    }

    fn into_texts(self) -> Vec<Box<[u8]>> {
        let mut texts: Vec<(u32, Box<[u8]>)> =
            self.codes.into_iter().map(|(text, code)| (code, text)).collect();
        texts.sort_unstable_by_key(|(code, _)| *code);
        texts.into_iter().map(|(_, text)| text).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn reads_back_interned_spooled_and_spilled_texts(
            texts in prop::collection::vec(prop::option::of("[a-c]{0,3}|.{0,40}"), 0..60),
            long in 0usize..3_000_000,
        ) {
            let directory = tempfile::tempdir().unwrap();
            let mut source = TextSource::new(1 << 20, directory.path());
            let mut texts = texts;
            texts.insert(texts.len() / 2, Some("x".repeat(long)));
            for text in &texts {
                source.push(text.as_ref().map(String::as_bytes)).unwrap();
            }
            source.stop_interning().unwrap();
            let mut found = Vec::new();
            source.read_texts(&mut |text| {
                found.push(text.map(|text| String::from_utf8(text.to_vec()).unwrap()));
                Ok(())
            }).unwrap();
            prop_assert_eq!(found, texts);
        }
    }
}
