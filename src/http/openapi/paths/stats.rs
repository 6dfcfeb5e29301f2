//! What is known of all values of each column.

use serde_json::json;

use super::CATALOG;
use crate::http::openapi::operation::{Answer, Entry, Op, version};
use crate::http::openapi::parts::named;

pub(super) fn all() -> Vec<Entry> {
    let example = json!({
        "version": "1.0.0",
        "rowCount": 4,
        "columns": [{
            "name": "o_orderkey",
            "type": "integer",
            "complete": true,
            "count": 4,
            "nulls": 0,
            "nans": 0,
            "infinities": 0,
            "distinct": 3,
            "min": 1,
            "max": 7,
            "mean": 3.5,
            "quantiles": { "p5": 1, "p25": 1, "p50": 3, "p75": 3, "p95": 7 },
            "histogram": {
                "of": "values",
                "bins": [{ "from": 1, "to": 2, "count": 1 }, { "from": 2, "to": 8, "count": 3 }]
            },
            "topValues": [{ "value": 3, "count": 2 }]
        }],
        "complete": true
    });
    let description = "Counts, extremes, mean, quantiles, a histogram and the most frequent values of every column, \
                       counted over all rows when the version was made.";
    vec![
        Op::get("/api/v1/datasets/{slug}/stats", "getStatistics", CATALOG, "Know the values of every column")
            .saying(description)
            .of_dataset()
            .taking(version())
            .holding(Answer::data("The statistics.", named("Statistics"), example))
            .entry(),
    ]
}
