//! The relations between demo datasets, added as an operator would add them. Does not depend on tables.

use mercato_base::clock::Moment;
use mercato_ledger::{Ledger, Relation, RelationKey};

const KEY: &str = "foreign-key";
const PLACES: &str = "municipality_id";

/// From, to, type, description, weight.
type Line = (&'static str, &'static str, &'static str, &'static str, f64);

const RELATIONS: [Line; 30] = [
    ("tpch-lineitem", "tpch-orders", KEY, "l_orderkey", 1.0),
    ("tpch-lineitem", "tpch-partsupp", KEY, "l_partkey, l_suppkey", 0.9),
    ("tpch-lineitem", "tpch-part", KEY, "l_partkey", 0.8),
    ("tpch-lineitem", "tpch-supplier", KEY, "l_suppkey", 0.8),
    ("tpch-orders", "tpch-customer", KEY, "o_custkey", 1.0),
    ("tpch-customer", "tpch-nation", KEY, "c_nationkey", 0.7),
    ("tpch-supplier", "tpch-nation", KEY, "s_nationkey", 0.7),
    ("tpch-partsupp", "tpch-part", KEY, "ps_partkey", 1.0),
    ("tpch-partsupp", "tpch-supplier", KEY, "ps_suppkey", 1.0),
    ("tpch-nation", "tpch-region", KEY, "n_regionkey", 1.0),
    ("air-quality-daily", "air-quality-stations", KEY, "station_id", 1.0),
    ("air-quality-stations", "valdoro-municipalities", KEY, PLACES, 0.8),
    ("weather-daily", "valdoro-municipalities", KEY, PLACES, 0.8),
    ("rainfall-hourly", "valdoro-municipalities", KEY, PLACES, 0.8),
    ("water-quality-samples", "valdoro-municipalities", KEY, PLACES, 0.8),
    ("municipal-budgets", "valdoro-municipalities", KEY, PLACES, 0.9),
    ("public-contracts", "valdoro-municipalities", KEY, PLACES, 0.9),
    ("energy-consumption", "valdoro-municipalities", KEY, PLACES, 0.8),
    ("waste-collection", "valdoro-municipalities", KEY, PLACES, 0.8),
    ("school-enrolment", "valdoro-municipalities", KEY, PLACES, 0.8),
    ("tourism-arrivals", "valdoro-municipalities", KEY, PLACES, 0.8),
    (
        "air-quality-daily",
        "weather-daily",
        "same-days",
        "The weather of the day explains much of the air",
        0.7,
    ),
    ("rainfall-hourly", "weather-daily", "same-subject", "Rain by the hour and by the day", 0.7),
    ("bike-sharing-trips", "weather-daily", "same-days", "Who rides in the rain", 0.5),
    ("bike-sharing-trips", "train-punctuality", "connects", "The last mile from the station", 0.6),
    ("public-contracts", "municipal-budgets", "explains", "What the money of a chapter was spent on", 0.6),
    ("waste-collection", "energy-consumption", "same-months", "Both by municipality and month", 0.4),
    ("museum-visits", "tourism-arrivals", "explains", "Guests fill museums", 0.6),
    ("train-punctuality", "tourism-arrivals", "connects", "How guests arrive", 0.4),
    ("library-loans", "school-enrolment", "same-readers", "Pupils borrow books", 0.3),
];

/// Adds the relations that are missing or different.
pub(super) fn enter(ledger: &Ledger, now: Moment) -> Result<(), String> {
    let present = ledger.relations();
    for (from, to, relation_type, description, weight) in RELATIONS {
        let [key_from, key_to, relation_type] = [from, to, relation_type].map(str::to_owned);
        let key = RelationKey { from: key_from, to: key_to, relation_type };
        let relation = Relation { key, description: description.to_owned(), weight, at: now };
        let is_there = present.of(from).any(|other| Relation { at: now, ..other.clone() } == relation);
        if !is_there {
            ledger.add_relation(relation).map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::open::OpenTable;
    use super::super::tables::Table;
    use super::*;

    #[test]
    fn relations_connect_all_demo_datasets() {
        let tpch = Table::ALL.iter().map(|table| format!("tpch-{}", table.name()));
        let slugs: Vec<String> =
            tpch.chain(OpenTable::ALL.iter().map(|table| table.slug.to_owned())).collect();
        let ends: Vec<&str> = RELATIONS.iter().flat_map(|(from, to, ..)| [*from, *to]).collect();
        assert!(ends.iter().all(|end| slugs.iter().any(|slug| slug == end)));
        assert!(slugs.iter().all(|slug| ends.contains(&slug.as_str())));
    }
}
