//! Numbers and words of the document against the constants of the handlers.

use std::collections::BTreeMap;

use mercato::limits::api::{
    LIST_LIMIT_DEFAULT, LIST_LIMIT_MAX, QUERY_LIMIT_MAX, RELATED_LIMIT_DEFAULT, RELATED_LIMIT_MAX,
    SAMPLE_ROW_COUNT_MAX, STREAM_LIMIT_MAX, TAGS_LIMIT_DEFAULT, TAGS_LIMIT_MAX,
};
use mercato_catalog::UPDATE_FREQUENCIES;
use mercato_format::statistics::{BINS_MAX, FREQUENT_MAX};
use mercato_ledger::limits::USAGE_DAYS_MAX;
use mercato_query::{
    AGGREGATES_MAX, COLUMNS_NAMED_MAX, CONDITIONS_MAX, FACETS_MAX, GROUP_COLUMNS_MAX, LIMIT_DEFAULT,
    LIST_VALUES_MAX,
};
use mercato_search::limits::{RESULTS_DEFAULT, RESULTS_MAX, RESULTS_REACH_MAX};
use serde_json::Value;

use super::{DOCUMENT, operations};

/// Keywords whose numbers are bounds.
const KEYWORDS: [&str; 7] =
    ["default", "maximum", "minimum", "maxItems", "minItems", "maxProperties", "minProperties"];

/// Every bound above 1 below a node, under the names that lead to it.
fn bounds(node: &Value, place: &str, found: &mut BTreeMap<String, u64>) {
    for (key, child) in node.as_object().into_iter().flatten() {
        match child.as_u64() {
            Some(number) if KEYWORDS.contains(&key.as_str()) && number > 1 => {
                found.insert(format!("{place} {key}"), number);
            }
            _ if key.starts_with("example") => {}
            // These words of a schema lead on and name nothing.
            _ if ["properties", "items", "anyOf", "schema"].contains(&key.as_str()) => {
                bounds(child, place, found)
            }
            _ => bounds(child, &format!("{place}.{key}"), found),
        }
    }
    node.as_array().into_iter().flatten().for_each(|item| bounds(item, place, found));
}

/// Fields that bodies of queries share.
fn of_body(name: &str, limit_max: u64) -> Vec<(String, u64)> {
    let field = |field: &str, number| (format!("{name}.{field}"), number);
    vec![
        field("columns maxItems", COLUMNS_NAMED_MAX as u64),
        field("limit default", LIMIT_DEFAULT),
        field("limit maximum", limit_max),
        field("offset maximum", u64::MAX),
    ]
}

#[test]
fn bounds_parameters_by_constants_of_handlers() {
    let mut found = BTreeMap::new();
    for operation in operations() {
        for parameter in operation.parameters("query") {
            let place = format!("{}.{}", operation.id(), parameter["name"].as_str().unwrap());
            bounds(parameter, &place, &mut found);
        }
    }
    let expected = [
        ("searchDatasets.limit default", RESULTS_DEFAULT),
        ("searchDatasets.limit maximum", RESULTS_MAX),
        ("searchDatasets.offset maximum", RESULTS_REACH_MAX - 1),
        ("listDatasets.limit default", LIST_LIMIT_DEFAULT),
        ("listDatasets.limit maximum", LIST_LIMIT_MAX),
        ("listDatasets.offset maximum", u64::MAX),
        ("listTags.limit default", TAGS_LIMIT_DEFAULT),
        ("listTags.limit maximum", TAGS_LIMIT_MAX),
        ("listTags.offset maximum", u64::MAX),
        ("getRelated.limit default", RELATED_LIMIT_DEFAULT),
        ("getRelated.limit maximum", RELATED_LIMIT_MAX),
        ("queryDatasetByUrl.limit default", LIMIT_DEFAULT),
        ("queryDatasetByUrl.limit maximum", QUERY_LIMIT_MAX),
        ("queryDatasetByUrl.offset maximum", u64::MAX),
        ("streamDataset.afterRows maximum", STREAM_LIMIT_MAX),
        // `inputs` asks a server for the default of the handler.
        ("getUsage.days default", 30),
        ("getUsage.days maximum", USAGE_DAYS_MAX.into()),
    ];
    assert_eq!(found, expected.map(|(place, number)| (place.to_owned(), number)).into());
}

#[test]
fn bounds_schemas_by_constants_of_modules() {
    let mut found = BTreeMap::new();
    for (name, schema) in DOCUMENT["components"]["schemas"].as_object().unwrap() {
        bounds(schema, name, &mut found);
    }
    let values = LIST_VALUES_MAX as u64;
    let single = [
        ("Aggregates maxProperties", AGGREGATES_MAX as u64),
        ("ColumnStatistics.histogram.bins maxItems", BINS_MAX as u64),
        ("ColumnStatistics.topValues maxItems", FREQUENT_MAX as u64),
        ("Condition maxItems", values),
        ("DatasetList.results maxItems", LIST_LIMIT_MAX),
        ("DatasetList.limit default", LIST_LIMIT_DEFAULT),
        ("DatasetList.limit maximum", LIST_LIMIT_MAX),
        ("Estimate.facets maxProperties", FACETS_MAX as u64),
        ("Estimate.facets.additionalProperties maxItems", FREQUENT_MAX as u64),
        ("EstimateBody.facets maxItems", FACETS_MAX as u64),
        ("Filter.$and maxItems", CONDITIONS_MAX as u64),
        ("Filter.$or maxItems", CONDITIONS_MAX as u64),
        ("GroupBy maxItems", GROUP_COLUMNS_MAX as u64),
        ("Operators.in maxItems", values),
        ("Operators.nin maxItems", values),
        // The two ends of an interval.
        ("Operators.between maxItems", 2),
        ("Operators.between minItems", 2),
        ("Page.results maxItems", QUERY_LIMIT_MAX),
        ("RelatedList.results maxItems", RELATED_LIMIT_MAX),
        ("Sample.results maxItems", SAMPLE_ROW_COUNT_MAX.into()),
        ("SearchList.results maxItems", RESULTS_MAX),
        ("TagList.results maxItems", TAGS_LIMIT_MAX),
        ("TagList.limit default", TAGS_LIMIT_DEFAULT),
        ("TagList.limit maximum", TAGS_LIMIT_MAX),
        ("Usage.days default", 30),
        ("Usage.days maximum", USAGE_DAYS_MAX.into()),
    ];
    let mut expected: BTreeMap<String, u64> =
        single.into_iter().map(|(place, number)| (place.to_owned(), number)).collect();
    expected.extend(of_body("QueryBody", QUERY_LIMIT_MAX));
    expected.extend(of_body("StreamBody", STREAM_LIMIT_MAX));
    expected.extend(of_body("EstimateBody", STREAM_LIMIT_MAX));
    assert_eq!(found, expected);
}

#[test]
fn lists_update_frequencies_of_manifests() {
    let frequency = &DOCUMENT["components"]["schemas"]["Header"]["properties"]["updateFrequency"];
    let words = UPDATE_FREQUENCIES.map(|known| known.word);
    assert_eq!(frequency["anyOf"][0]["enum"], serde_json::json!(words));
}
