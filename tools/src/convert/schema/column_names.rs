//! The names of the groups around a column.

/// The name of a column and of the groups around it, the outermost first.
pub fn with_groups_above(column: &str) -> impl Iterator<Item = &str> {
    let groups = column.match_indices('.').filter_map(|(dot, _)| column.get(..dot));
    groups.chain([column])
}

#[cfg(test)]
mod tests {
    use super::with_groups_above;

    #[test]
    fn lists_column_with_its_groups() {
        let names = |column| with_groups_above(column).collect::<Vec<_>>();
        assert_eq!(names("a"), ["a"]);
        assert_eq!(names("a.bc.d"), ["a", "a.bc", "a.bc.d"]);
        assert_eq!(names("a..b."), ["a", "a.", "a..b", "a..b."]);
        assert_eq!(names("è.é"), ["è", "è.é"]);
    }
}
