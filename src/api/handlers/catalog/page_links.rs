//! Pages of lists: their bounds and their `Link` header (RFC 8288).

/// First, previous and next page of the list at `address`; `kept` is the rest of the query, each part behind an `&`.
pub(super) fn page_links(address: &str, limit: u64, offset: u64, next: Option<u64>, kept: &str) -> String {
    let link = |offset: u64, relation: &str| {
        format!("<{address}?limit={limit}&offset={offset}{kept}>; rel=\"{relation}\"")
    };
    let mut links = vec![link(0, "first")];
    if offset > 0 {
        links.push(link(offset.saturating_sub(limit), "prev"));
    }
    links.extend(next.map(|next| link(next, "next")));
    links.join(", ")
}

/// The range of a page of `limit` out of `total`, and the offset of the next page.
pub(super) fn page_bounds(limit: u64, offset: u64, total: usize) -> (std::ops::Range<usize>, Option<u64>) {
    let whole = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let begin = whole(offset).min(total);
    let end = begin.saturating_add(whole(limit)).min(total);
    (begin..end, (end < total).then_some(offset.saturating_add(limit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_neighbouring_pages_and_keeps_choice() {
        assert_eq!(page_links("/x", 20, 0, None, ""), "</x?limit=20&offset=0>; rel=\"first\"");
        assert_eq!(
            page_links("https://a.test/x", 10, 5, Some(15), "&tag=a"),
            "<https://a.test/x?limit=10&offset=0&tag=a>; rel=\"first\", \
             <https://a.test/x?limit=10&offset=0&tag=a>; rel=\"prev\", \
             <https://a.test/x?limit=10&offset=15&tag=a>; rel=\"next\""
        );
    }

    #[test]
    fn ends_page_at_end_of_list() {
        assert_eq!(page_bounds(2, 0, 3), (0..2, Some(2)));
        assert_eq!(page_bounds(2, 2, 3), (2..3, None));
        assert_eq!(page_bounds(100, u64::MAX, 3), (3..3, None));
    }
}
