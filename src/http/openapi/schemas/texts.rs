//! What describes a dataset: schema, sample, methodology and changelog.

use crate::http::openapi::parts::{
    Fields, Node, anything, count, exactly, flag, list, list_of, moment, named, text, text_or_null, word,
};

pub(super) fn all() -> Vec<(&'static str, Node)> {
    vec![
        ("Row", row()),
        ("DatasetSchema", schema()),
        ("Sample", sample()),
        ("Methodology", markdown("How the data were made.").node()),
        ("Changelog", changelog()),
    ]
}

fn row() -> Node {
    let value = "Text, number, true, false or null, as the schema of the dataset says.";
    Fields::map("One row: every selected column, in the order asked for.", anything(value)).node()
}

fn schema() -> Node {
    let property = Fields::open("A JSON Schema.")
        .has("type", anything("A type, or a type and `null`."))
        .may("format", word("Of texts that are moments.", &["date", "date-time"]))
        .may(
            "pattern",
            text(
                "Of texts that are moments, in place of the format, where a year has more than four digits.",
            ),
        )
        .may("description", text("What the publisher says."))
        .may("examples", list("A typical value.", anything("A value.")));
    let column = Fields::closed("A column.")
        .has("name", text("Its name."))
        .has("type", word("Its type.", &["string", "integer", "number", "boolean", "datetime"]))
        .has("nullable", flag("Whether the source declares that values may be missing."))
        .has(
            "sortable",
            flag("Whether rows can be sorted by it; without an index no deeper than 1,000,000 rows."),
        )
        .has(
            "indexed",
            flag("Whether it carries a sort index, so that order and filters by it read no other rows."),
        )
        .has("description", text_or_null("What the publisher says."))
        .has("example", anything("A typical value, or null."));
    Fields::closed("A JSON Schema (2020-12) of one row, and the columns in their order.")
        .has("$schema", word("The dialect.", &["https://json-schema.org/draft/2020-12/schema"]))
        .has("title", text("The slug."))
        .has("type", word("A row is an object.", &["object"]))
        .has("properties", Fields::map("By column.", property.node()).node())
        .has("required", list("Every column.", text("A name.")))
        .has("additionalProperties", exactly(false))
        .has("version", text("The version described."))
        .has("columns", list("In the order of the file.", column.node()))
        .node()
}

fn sample() -> Node {
    Fields::closed("Rows from the whole file, always the same ones.")
        .has("results", list_of("Evenly spaced rows.", named("Row"), 0, 100))
        .has("rowsReturned", count("Rows in this answer."))
        .has("columns", list("Names in the order of the file.", text("A name.")))
        .has("totalRows", count("Rows of the file."))
        .has("version", text("The version they come from."))
        .node()
}

fn markdown(description: &str) -> Fields {
    Fields::closed(description)
        .has("markdown", text("The text; empty when there is none."))
        .has("version", text("The current version of the dataset."))
        .has("updatedAt", moment("When the text last changed."))
}

fn changelog() -> Node {
    let entry = Fields::closed("The changes of one version.")
        .has("version", text("Semantic version."))
        .has("date", text_or_null("The day in the heading."))
        .has("markdown", text("What stands below the heading."));
    markdown("What changed, cut at headings such as `## [1.2.0] - 2026-01-31`.")
        .has("entries", list("In the order of the text.", entry.node()))
        .node()
}
