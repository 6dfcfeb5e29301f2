//! Mutates page headers at the level of fields: adds, removes and changes fields and counts, while the pages stay
//! valid. Byte mutations hardly ever give a header that a reader accepts far enough.

use crate::thrift_tree::{Cursor, Random, Value, take_struct, unsigned};

/// Fields of a page header: the uncompressed and the compressed size.
const SIZES: [i64; 2] = [2, 3];
/// Most mutations at once.
const CHANGES_MAX: usize = 3;

struct Page {
    header: Value,
    body: Vec<u8>,
}

/// Mutates a few headers of the input; `None` when it has none, or when the mutator should change bytes.
pub fn changed(data: &[u8], seed: u32) -> Option<Vec<u8>> {
    let mut draw = Random(seed.into());
    let (kind, rest) = data.split_first()?;
    let (mut pages, rest) = split_pages(rest);
    if pages.is_empty() || draw.below(4) == 0 {
        return None;
    }
    for _ in 0..=draw.below(CHANGES_MAX) {
        let place = draw.below(pages.len());
        pages[place].header.change(&mut draw);
    }
    let mut out = vec![*kind];
    for mut page in pages {
        if draw.below(8) > 0 {
            page.update_sizes();
        }
        page.header.push(&mut out);
        out.extend(page.body);
    }
    out.extend(rest);
    Some(out)
}

/// Splits the input into pages and the bytes behind them.
fn split_pages(mut bytes: &[u8]) -> (Vec<Page>, &[u8]) {
    let mut pages = Vec::new();
    while !bytes.is_empty() {
        let mut taken = Cursor(bytes);
        let Some(header) = take_struct(&mut taken) else { break };
        let stored = header.number(SIZES[1]).and_then(|stored| usize::try_from(stored >> 1).ok());
        // The last page has the remaining bytes.
        let (body, rest) =
            stored.and_then(|stored| taken.0.split_at_checked(stored)).unwrap_or((taken.0, &[]));
        pages.push(Page { header, body: body.to_vec() });
        bytes = rest;
    }
    (pages, bytes)
}

impl Page {
    /// Sets both sizes to the length of the body, which is uncompressed.
    fn update_sizes(&mut self) {
        let size = unsigned(self.body.len() as i64);
        SIZES.into_iter().for_each(|field| self.header.set_number(field, size));
    }
}
