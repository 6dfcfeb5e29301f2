//! Counts delivered rows: finds the ends of rows in the encoded text, and counts those within the acknowledged bytes.
//!
//! Does not depend on sockets. Of a format it needs only the end of a row.

use std::collections::VecDeque;

use memchr::{memchr2_iter, memchr3_iter};

use crate::render::Format;

/// Rows that are shorter together share one note of where they end.
const ROW_MARK_BYTES_MIN: u64 = 64;

/// Finds where rows end in printed text that comes in pieces.
#[derive(Debug)]
pub(in crate::http) struct RowEnds {
    format: Format,
    /// Inside quotes, where nothing ends a row.
    is_quoted: bool,
    /// JSON: the next byte is escaped. Events: the last byte ended a line.
    is_marked: bool,
    /// Ends that are none of rows: that of the names in CSV.
    passed_over: u32,
}

impl RowEnds {
    /// Of a text that begins with its first byte.
    pub(in crate::http) fn new(format: Format) -> Self {
        let passed_over = u32::from(format == Format::Csv);
        Self { format, is_quoted: false, is_marked: false, passed_over }
    }

    /// Calls `end` with the place behind each row that ends in the next piece, counted from the start of the piece.
    pub(in crate::http) fn find(&mut self, piece: &[u8], mut end: impl FnMut(usize)) {
        match self.format {
            Format::Ndjson => memchr::memchr_iter(b'\n', piece).for_each(|at| end(at.saturating_add(1))),
            Format::Csv => {
                for at in memchr2_iter(b'"', b'\n', piece) {
                    if piece.get(at) == Some(&b'"') {
                        self.is_quoted = !self.is_quoted;
                    } else if !self.is_quoted && self.passed_over > 0 {
                        self.passed_over = self.passed_over.saturating_sub(1);
                    } else if !self.is_quoted {
                        end(at.saturating_add(1));
                    }
                }
            }
            Format::Sse => self.find_blank_lines(piece, end),
            Format::Json => self.find_objects(piece, end),
        }
    }

    /// An event ends with an empty line.
    fn find_blank_lines(&mut self, piece: &[u8], mut end: impl FnMut(usize)) {
        // Offset behind the last line feed: another line feed there ends the event.
        let mut line_end = self.is_marked.then_some(0);
        for at in memchr::memchr_iter(b'\n', piece) {
            let next = at.saturating_add(1);
            if line_end == Some(at) {
                end(next);
                line_end = None;
            } else {
                line_end = Some(next);
            }
        }
        self.is_marked = if piece.is_empty() { self.is_marked } else { line_end == Some(piece.len()) };
    }

    /// Rows of a JSON array are objects without objects inside.
    fn find_objects(&mut self, piece: &[u8], mut end: impl FnMut(usize)) {
        // The byte behind a backslash means nothing.
        let mut free_from = usize::from(self.is_marked && !piece.is_empty());
        self.is_marked = self.is_marked && piece.is_empty();
        for at in memchr3_iter(b'"', b'\\', b'}', piece) {
            if at < free_from {
                continue;
            }
            match piece.get(at) {
                Some(b'"') => self.is_quoted = !self.is_quoted,
                Some(b'\\') => {
                    free_from = at.saturating_add(2);
                    self.is_marked = free_from > piece.len();
                }
                _ if !self.is_quoted => end(at.saturating_add(1)),
                _ => {}
            }
        }
    }
}

/// Rows on their way to a client: their ends among the bytes of the response, until these have arrived.
#[derive(Debug, Default)]
pub(in crate::http) struct Delivery {
    /// The end of some rows, and the number of rows up to it.
    ahead: VecDeque<(u64, u64)>,
    /// Offset at which the first row of the last entry begins.
    last_start: u64,
    rows: u64,
    delivered: u64,
}

impl Delivery {
    /// Notes that `rows` further rows are complete with the byte before `end`. Short rows share a note, so that notes
    /// take a small part of the memory that the kernel uses for the response.
    pub(in crate::http) fn note(&mut self, end: u64, rows: u64) {
        self.rows = self.rows.saturating_add(rows);
        let previous_end = self.ahead.back().map(|(end, _)| *end);
        match self.ahead.back_mut() {
            Some(last) if end.saturating_sub(self.last_start) < ROW_MARK_BYTES_MIN => {
                *last = (end, self.rows)
            }
            _ => {
                self.last_start = previous_end.unwrap_or(end);
                self.ahead.push_back((end, self.rows));
            }
        }
    }

    /// Rows that were noted so far.
    pub(in crate::http) fn rows(&self) -> u64 {
        self.rows
    }

    /// The rows delivered when so many bytes have arrived. Never decreases.
    pub(in crate::http) fn arrived(&mut self, bytes: u64) -> u64 {
        while let Some((end, rows)) = self.ahead.front().copied()
            && end <= bytes
        {
            self.delivered = rows;
            self.ahead.pop_front();
        }
        self.delivered
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The ends that are found when the text comes in pieces that end at `cuts`.
    fn ends(format: Format, text: &[u8], cuts: &[usize]) -> Vec<usize> {
        let (mut finder, mut found, mut from) = (RowEnds::new(format), Vec::new(), 0);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (text.len() + 1)).collect();
        cuts.sort_unstable();
        for to in cuts.into_iter().chain([text.len()]) {
            finder.find(&text[from..to], |end| found.push(from + end));
            from = to;
        }
        found
    }

    /// A cell with everything that could be taken for the end of a row.
    fn cell() -> impl Strategy<Value = String> {
        prop::collection::vec(
            prop::sample::select(vec!["a", "\"", "\\", "}", "{", "\n", "\r\n", "\n\n", ",", "è", "data: "]),
            0..6,
        )
        .prop_map(|parts| parts.concat())
    }

    fn quoted(cell: &str) -> String {
        format!("\"{}\"", cell.replace('"', "\"\""))
    }

    /// A text of rows in a format and the true end of each.
    fn printed(format: Format, cells: &[String]) -> (Vec<u8>, Vec<usize>) {
        let mut text = match format {
            Format::Csv => format!("{},n\r\n", quoted("a \"name\"\nof two lines")),
            Format::Json => "[".to_owned(),
            Format::Ndjson | Format::Sse => String::new(),
        };
        let mut ends = Vec::new();
        for (number, cell) in cells.iter().enumerate() {
            let object = serde_json::json!({ "cell": cell, "n": number });
            match format {
                Format::Csv => text.push_str(&format!("{},{number}\r\n", quoted(cell))),
                Format::Ndjson => text.push_str(&format!("{object}\n")),
                Format::Sse if number % 2 == 0 => text.push_str(&format!("id: x\ndata: {object}\n\n")),
                Format::Sse => text.push_str(&format!("data: {object}\n\n")),
                Format::Json if number > 0 => text.push_str(&format!(",{object}")),
                Format::Json => text.push_str(&object.to_string()),
            }
            ends.push(text.len());
        }
        if format == Format::Json {
            text.push(']');
        }
        (text.into_bytes(), ends)
    }

    proptest! {
        #[test]
        fn finds_row_ends_across_any_cuts(
            cells in prop::collection::vec(cell(), 0..20),
            cuts in prop::collection::vec(any::<usize>(), 0..12),
        ) {
            for format in [Format::Csv, Format::Json, Format::Ndjson, Format::Sse] {
                let (text, expected) = printed(format, &cells);
                prop_assert_eq!(ends(format, &text, &cuts), expected, "{:?}", format);
            }
        }

        /// The twin counts all ends; short rows may be held back for less than the bytes of a note.
        #[test]
        fn counts_no_row_early_and_loses_none(
            lengths in prop::collection::vec(prop_oneof![1..9_u64, 50..200_u64], 1..200),
            steps in prop::collection::vec(any::<prop::sample::Index>(), 1..8),
        ) {
            let ends: Vec<u64> = lengths.iter().scan(0, |at, length| { *at += length; Some(*at) }).collect();
            let total = *ends.last().unwrap();
            let naive = |bytes: u64| ends.iter().filter(|end| **end <= bytes).count() as u64;
            let mut delivery = Delivery::default();
            let mut noted = 0;
            let mut places: Vec<usize> = steps.iter().map(|step| step.index(ends.len()) + 1).collect();
            places.sort_unstable();
            for place in places {
                ends[noted..place].iter().for_each(|end| delivery.note(*end, 1));
                noted = place;
                let bytes = ends[place - 1] * 2 / 3;
                let rows = delivery.arrived(bytes);
                prop_assert!(rows <= naive(bytes));
                prop_assert!(rows >= naive(bytes.saturating_sub(ROW_MARK_BYTES_MIN)).min(place as u64));
            }
            ends[noted..].iter().for_each(|end| delivery.note(*end, 1));
            prop_assert_eq!((delivery.arrived(total), delivery.rows()), (ends.len() as u64, ends.len() as u64));
            prop_assert_eq!(delivery.arrived(0), ends.len() as u64, "what has arrived stays");
        }

        #[test]
        fn counts_long_rows_exactly(
            lengths in prop::collection::vec(ROW_MARK_BYTES_MIN..500, 1..50),
            share in 0..=100_u64,
        ) {
            let mut delivery = Delivery::default();
            let ends: Vec<u64> = lengths.iter().scan(0, |at, length| { *at += length; Some(*at) }).collect();
            ends.iter().for_each(|end| delivery.note(*end, 1));
            let bytes = ends.last().unwrap() * share / 100;
            prop_assert_eq!(delivery.arrived(bytes), ends.iter().filter(|end| **end <= bytes).count() as u64);
        }
    }

    #[test]
    fn bounds_marks_of_tiny_rows() {
        let mut delivery = Delivery::default();
        (1..=100_000).for_each(|row| delivery.note(row * 3, 1));
        assert!((delivery.ahead.len() as u64) < 300_000 / (ROW_MARK_BYTES_MIN - 3) + 2);
        assert_eq!(delivery.arrived(300_000), 100_000);
    }
}
