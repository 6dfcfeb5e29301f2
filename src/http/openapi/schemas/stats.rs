//! What is known of all values of each column.

use crate::http::openapi::parts::{
    Fields, Node, anything, count, count_or_null, flag, list, list_of, named, or_null, scalar, text, word,
};

pub(super) fn all() -> Vec<(&'static str, Node)> {
    vec![("Statistics", statistics()), ("ColumnStatistics", column()), ("Quantiles", quantiles())]
}

fn statistics() -> Node {
    Fields::closed("What is known of all values of each column.")
        .has("version", text("The version described."))
        .has("rowCount", count("Rows of the version."))
        .has("columns", list("In the order of the file.", named("ColumnStatistics")))
        .has("complete", flag("False for store files of an older format, which know less."))
        .node()
}

fn column() -> Node {
    let bin = Fields::closed("A bin.")
        .has("from", scalar("Its lower bound; belongs to it.", false))
        .has("to", scalar("Its upper bound; belongs to the next bin, or to the last one.", false))
        .has("count", count("Values, or texts, in it."));
    let histogram = Fields::closed("Bins of equal width.")
        .has("of", word("What the bounds are.", &["values", "lengths"]))
        .has("bins", list_of("Ascending.", bin.node(), 1, 20));
    let top = Fields::closed("A frequent value.")
        .has("value", scalar("The value; a long text is cut.", false))
        .has("count", count("Rows that hold it."));
    let lengths = Fields::closed("Lengths of the texts in characters.")
        .has("min", count("The shortest."))
        .has("max", count("The longest."))
        .has("mean", anything("The mean, a number."))
        .has("quantiles", or_null("Quantiles of the lengths.", named("Quantiles")));
    let not_known = "Null when not known or when no value is finite.";
    Fields::closed("What is known of all values of a column.")
        .has("name", text("Its name."))
        .has("type", word("Its type.", &["string", "integer", "number", "boolean", "datetime"]))
        .has("complete", flag("Whether everything was counted."))
        .has("count", count("Rows with a value."))
        .has("nulls", count("Rows without a value."))
        .has("nans", count("Rows with NaN."))
        .has("infinities", count_or_null("Rows with an infinity."))
        .has("distinct", count_or_null("Distinct values, exactly."))
        .has("min", scalar(not_known, true))
        .has("max", scalar(not_known, true))
        .has("mean", scalar(not_known, true))
        .has("quantiles", or_null(not_known, named("Quantiles")))
        .may("lengths", or_null("Of texts only.", lengths.node()))
        .has("histogram", or_null(not_known, histogram.node()))
        .has(
            "topValues",
            or_null("Values that occur at least twice.", list_of("Most frequent first.", top.node(), 0, 20)),
        )
        .node()
}

fn quantiles() -> Node {
    ["p5", "p25", "p50", "p75", "p95"]
        .into_iter()
        .fold(Fields::closed("Values not below so many hundredths of all values."), |fields, name| {
            fields.has(name, scalar("A value of the column.", false))
        })
        .node()
}
