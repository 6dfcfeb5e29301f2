//! Names of fields and operators in other services, for suggestions.

/// Our name and its synonyms: lower case, without hyphens and underscores.
const SYNONYMS: &[(&str, &[&str])] = &[
    ("filters", &["filter", "where", "query", "q", "conditions", "predicate"]),
    ("columns", &["column", "cols", "select", "fields", "projection", "include"]),
    (
        "limit",
        &["top", "take", "first", "size", "pagesize", "perpage", "max", "maxrows", "maxresults", "rows"],
    ),
    ("offset", &["skip", "start", "from", "page"]),
    ("sortBy", &["sort", "order", "orderby", "ordering", "sortfield", "sortcolumn"]),
    (
        "sortDirection",
        &["direction", "dir", "sortorder", "sortdir", "orderdirection", "asc", "desc", "descending"],
    ),
    ("cursor", &["after", "next", "nextcursor", "token", "pagetoken", "nextpagetoken", "continuation"]),
    ("count", &["total", "totalrows", "counttotal", "includetotal"]),
    ("groupBy", &["group", "groups", "groupby", "by", "dimensions"]),
    ("aggregates", &["aggregate", "aggregations", "agg", "aggs", "metrics", "measures"]),
    ("having", &["groupfilters"]),
    ("countDistinct", &["distinct", "ndistinct", "nunique", "cardinality", "uniq"]),
    ("sum", &["total", "add"]),
    ("avg", &["average", "mean"]),
    ("quantile", &["percentile", "percentilecont", "percentiledisc"]),
    ("eq", &["=", "==", "===", "$eq", "equal", "equals", "is"]),
    ("ne", &["!=", "!==", "<>", "$ne", "neq", "not", "notequal", "notequals", "isnot"]),
    ("gt", &[">", "$gt", "greaterthan", "after"]),
    ("gte", &[">=", "=>", "$gte", "ge", "min", "from", "since", "atleast"]),
    ("lt", &["<", "$lt", "lessthan", "before"]),
    ("lte", &["<=", "=<", "$lte", "le", "max", "to", "until", "atmost"]),
    ("in", &["$in", "oneof", "anyof", "any"]),
    ("nin", &["$nin", "notin", "noneof"]),
    ("between", &["$between", "range"]),
    (
        "contains",
        &[
            "like",
            "ilike",
            "$like",
            "includes",
            "substring",
            "match",
            "matches",
            "regex",
            "$regex",
            "~",
            "has",
        ],
    ),
    ("startsWith", &["prefix", "starts", "beginswith"]),
    ("endsWith", &["suffix", "ends"]),
    ("isNull", &["null", "$exists", "exists", "notnull", "isnotnull", "missing", "empty", "isempty"]),
    ("$and", &["and", "&&", "all", "must"]),
    ("$or", &["or", "||", "any", "should"]),
    ("$not", &["not", "!", "nor", "$nor", "mustnot"]),
];

/// The one of `names` with the synonym `found`, or with the same spelling up to case, hyphens and underscores.
pub fn suggest<'a>(found: &str, names: &[&'a str]) -> Option<&'a str> {
    let found = plain(found);
    let goes_by = |name: &str| {
        let others = SYNONYMS.iter().find(|(own, _)| *own == name).map_or(&[][..], |(_, others)| others);
        plain(name) == found || others.contains(&found.as_str())
    };
    names.iter().copied().find(|name| goes_by(name))
}

fn plain(name: &str) -> String {
    name.chars().filter(|letter| !matches!(letter, '-' | '_' | ' ')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_our_name_for_synonyms() {
        let fields = ["filters", "columns", "limit", "offset", "sortBy", "sortDirection", "cursor"];
        for (found, expected) in [
            ("sort", "sortBy"),
            ("order_by", "sortBy"),
            ("SORT_BY", "sortBy"),
            ("select", "columns"),
            ("where", "filters"),
            ("page-size", "limit"),
            ("skip", "offset"),
            ("nextCursor", "cursor"),
        ] {
            assert_eq!(suggest(found, &fields), Some(expected), "{found}");
        }
        let operators =
            ["eq", "ne", "gt", "gte", "lt", "lte", "in", "nin", "contains", "startsWith", "isNull"];
        for (found, expected) in [
            (">=", "gte"),
            ("<>", "ne"),
            ("like", "contains"),
            ("$in", "in"),
            ("not_in", "nin"),
            ("starts_with", "startsWith"),
            ("is_null", "isNull"),
        ] {
            assert_eq!(suggest(found, &operators), Some(expected), "{found}");
        }
        assert_eq!(suggest("colour", &fields), None);
        assert_eq!(suggest("like", &fields), None, "only what may stand in that place is suggested");
    }
}
