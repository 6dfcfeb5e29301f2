//! What a query asks and what a page answers.

use serde_json::json;

use crate::http::openapi::parts::{
    Fields, Node, any_of, bounded_or_null, count, count_or_null, flag, list_of, named, or_null, scalar,
    set_or_null, text, text_or_null, word,
};
use crate::limits::http::{QUERY_LIMIT_MAX, STREAM_LIMIT_MAX};
use crate::query::{COLUMNS_NAMED_MAX, CONDITIONS_MAX, LIMIT_DEFAULT, LIST_VALUES_MAX};

pub(super) fn all() -> Vec<(&'static str, Node)> {
    vec![
        ("Filter", filter()),
        ("Condition", condition()),
        ("Operators", operators()),
        ("QueryBody", body("What a page asks for.", QUERY_LIMIT_MAX)),
        ("EstimateBody", estimate_body()),
        ("StreamBody", body("What a stream asks for.", STREAM_LIMIT_MAX)),
        ("Page", page()),
        ("Estimate", estimate()),
    ]
}

fn filter() -> Node {
    let list = |description| list_of(description, named("Filter"), 1, CONDITIONS_MAX);
    let description = "Conditions by column; all must hold. `c_min` and `c_max` are bounds of the column `c`, unless a column is really \
        called so; `$$x` is the column `$x`. At most 5 levels, 100 conditions and 10,000 values in a list. NULL matches only \
        `null` and `isNull`; NaN matches no comparison and is found by `isNaN`.";
    Fields::map(description, named("Condition"))
        .may("$and", list("All of these hold."))
        .may("$or", list("At least one of these holds."))
        .may("$not", named("Filter"))
        .example(
            json!({ "o_orderstatus": "F", "o_totalprice_min": 1000, "o_orderdate": { "gte": "1995-01-01" } }),
        )
        .node()
}

fn condition() -> Node {
    let values =
        scalar("A value. Numeric text stands for exact numbers, RFC 3339 or a day for datetimes.", false);
    any_of(
        "What a column must be.",
        vec![
            scalar("Equals; null means that there is no value.", true),
            list_of("One of these.", values, 1, LIST_VALUES_MAX),
            named("Operators"),
        ],
    )
}

fn operators() -> Node {
    let value = |description| scalar(description, false);
    let list = |description| list_of(description, scalar("A value.", false), 1, LIST_VALUES_MAX);
    Fields::closed("Comparisons; all must hold.")
        .may("eq", scalar("Equals; null means that there is no value.", true))
        .may("ne", scalar("Differs; null means that there is a value.", true))
        .may("gt", value("Above."))
        .may("gte", value("Above or equal."))
        .may("lt", value("Below."))
        .may("lte", value("Below or equal."))
        .may("in", list("One of these."))
        .may("nin", list("None of these, and not null."))
        .may(
            "between",
            list_of("From the first to the second, both included.", scalar("A bound.", false), 2, 2),
        )
        .may("contains", text("Has this text inside."))
        .may("startsWith", text("Begins with this text."))
        .may("endsWith", text("Ends with this text."))
        .may("isNull", flag("True: there is no value. False: there is one."))
        .may("isNaN", flag("Of doubles. True: the value is NaN. False: it is another one. NULL is neither."))
        .may(
            "isFinite",
            flag("Of doubles. True: neither NaN nor infinite. False: one of these. NULL is neither."),
        )
        .at_least(1)
        .node()
}

fn body(description: &str, limit_max: u64) -> Node {
    fields(description, limit_max).node()
}

fn estimate_body() -> Node {
    let purpose = word(
        "A page (default), a stream, whose `limit` goes up to 1,000,000, or a download, which takes no other field but `version`.",
        &["page", "stream", "download"],
    );
    let purpose = any_of("What is to be estimated.", vec![purpose, super::super::parts::null("As `page`.")]);
    fields("What is to be estimated, and what it asks for.", STREAM_LIMIT_MAX).may("for", purpose).node()
}

fn fields(description: &str, limit_max: u64) -> Fields {
    let whole = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let name = text("Name of a column.");
    let direction = any_of(
        "`desc` without `sortBy` reverses the order of the file. NaN and then NULL are last in both directions.",
        vec![word("Ascending or descending.", &["asc", "desc"]), super::super::parts::null("As `asc`.")],
    );
    Fields::closed(description)
        .may("filters", or_null("Which rows; null is all of them.", named("Filter")))
        .may(
            "columns",
            set_or_null("Which columns, in the order wanted; null or empty is all.", name, COLUMNS_NAMED_MAX),
        )
        .may("limit", bounded_or_null("Rows at most.", 1, whole(limit_max), whole(LIMIT_DEFAULT)))
        .may("offset", bounded_or_null("Rows to skip; ignored beside a cursor.", 0, usize::MAX, 0))
        .may("sortBy", text_or_null("The column that orders the rows; null is the order of the file."))
        .may("sortDirection", direction)
        .may(
            "version",
            text_or_null("A version that the header of the dataset lists; null is the current one."),
        )
        .may("cursor", text_or_null("`nextCursor` of an answer. Treat it as opaque; at most 4 KiB."))
        .may("count", count_wanted())
        .example(json!({ "filters": { "o_totalprice_min": 1000 }, "sortBy": "o_orderdate", "limit": 5 }))
}

fn count_wanted() -> Node {
    let exact = word("The exact number of rows that match, whatever it takes to count them.", &["exact"]);
    let known = super::super::parts::null("Where an index knows it without looking at rows.");
    any_of("Which total is told.", vec![exact, known])
}

fn page() -> Node {
    Fields::closed("A page of rows.")
        .has(
            "results",
            list_of("Rows.", named("Row"), 0, usize::try_from(QUERY_LIMIT_MAX).unwrap_or(usize::MAX)),
        )
        .has("rowsReturned", count("Rows in this answer."))
        .has(
            "nextCursor",
            text_or_null("Where the next page begins; null exactly when no further row exists."),
        )
        .has("paginationMode", word("How this page was found.", &["cursor", "offset"]))
        .has(
            "totalRows",
            count_or_null("Rows that match, where an index knows it or `count` asks for it; else null."),
        )
        .node()
}

fn estimate() -> Node {
    Fields::closed("What a query would cost.")
        .has("rows", count("Rows that it would return."))
        .has("creditsRequired", count("What it would cost."))
        .has("creditsAvailable", count("What the account can spend."))
        .has("affordable", flag("Whether the account can pay for it."))
        .node()
}
