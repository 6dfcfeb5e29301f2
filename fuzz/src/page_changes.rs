//! Changes of page headers that keep them headers: fields come, go and change, and counts lie, while the pages around
//! them stay whole. Bytes that are changed one by one hardly ever become a header that a reader follows far enough.

use crate::thrift_tree::{Draw, Taken, Value, take_struct, unsigned};

/// Fields of a page header: the sizes of the page, unfolded and stored.
const SIZES: [i64; 2] = [2, 3];
/// Changes that are made at once at most.
const CHANGES_MAX: usize = 3;

struct Page {
    header: Value,
    body: Vec<u8>,
}

/// The input of the target with a few headers changed; nothing when they are none, or when it is the turn of the bytes.
pub fn changed(data: &[u8], seed: u32) -> Option<Vec<u8>> {
    let mut draw = Draw(seed.into());
    let (kind, rest) = data.split_first()?;
    let (mut pages, rest) = take_apart(rest);
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
            page.mend_sizes();
        }
        page.header.push(&mut out);
        out.extend(page.body);
    }
    out.extend(rest);
    Some(out)
}

/// Pages as far as there are any, and the bytes behind them.
fn take_apart(mut bytes: &[u8]) -> (Vec<Page>, &[u8]) {
    let mut pages = Vec::new();
    while !bytes.is_empty() {
        let mut taken = Taken(bytes);
        let Some(header) = take_struct(&mut taken) else { break };
        let stored = header.number(SIZES[1]).and_then(|stored| usize::try_from(stored >> 1).ok());
        // The last page has what is left.
        let (body, rest) =
            stored.and_then(|stored| taken.0.split_at_checked(stored)).unwrap_or((taken.0, &[]));
        pages.push(Page { header, body: body.to_vec() });
        bytes = rest;
    }
    (pages, bytes)
}

impl Page {
    /// Nothing is compressed, so both sizes are that of the body.
    fn mend_sizes(&mut self) {
        let size = unsigned(self.body.len() as i64);
        SIZES.into_iter().for_each(|field| self.header.set_number(field, size));
    }
}
