//! Small generated tables of a fictional region, in the style of open data. They fill the list, the search and the
//! graph of the demo, and are labelled as generated.
//!
//! Every machine generates the same rows. Does not depend on store files or datasets.

mod civic;
mod columns;
mod culture;
mod environment;
mod mobility;
mod random;
mod region;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use random::Random;

#[derive(Clone, Copy)]
pub struct OpenTable {
    /// Its name, which is also the slug of its dataset.
    pub slug: &'static str,
    /// `dataset.toml`.
    pub manifest: &'static str,
    /// Its methodology, first in English and then in Italian.
    pub methodology: &'static str,
    rows: fn(Random) -> Result<RecordBatch, ArrowError>,
}

macro_rules! open_table {
    ($slug:literal, $rows:path) => {
        OpenTable {
            slug: $slug,
            manifest: include_str!(concat!("../../../demo/open/", $slug, ".toml")),
            methodology: include_str!(concat!("../../../demo/open/", $slug, ".md")),
            rows: $rows,
        }
    };
}

impl OpenTable {
    /// All generated tables.
    pub const ALL: [OpenTable; 16] = [
        open_table!("valdoro-municipalities", region::municipalities),
        open_table!("air-quality-stations", environment::air_stations),
        open_table!("air-quality-daily", environment::air_daily),
        open_table!("weather-daily", environment::weather_daily),
        open_table!("rainfall-hourly", environment::rainfall_hourly),
        open_table!("water-quality-samples", environment::water_quality),
        open_table!("bike-sharing-trips", mobility::bike_trips),
        open_table!("train-punctuality", mobility::train_punctuality),
        open_table!("municipal-budgets", civic::budgets),
        open_table!("public-contracts", civic::contracts),
        open_table!("energy-consumption", civic::energy),
        open_table!("waste-collection", civic::waste),
        open_table!("library-loans", culture::library_loans),
        open_table!("school-enrolment", culture::school_enrolment),
        open_table!("tourism-arrivals", culture::tourism),
        open_table!("museum-visits", culture::museum_visits),
    ];

    pub fn batch(&self) -> Result<RecordBatch, ArrowError> {
        (self.rows)(Random::named(self.slug))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_small_and_deterministic() {
        for table in OpenTable::ALL {
            let batch = table.batch().unwrap();
            assert!((40..=20_000).contains(&batch.num_rows()), "{}: {}", table.slug, batch.num_rows());
            assert!(batch == table.batch().unwrap(), "{}", table.slug);
        }
    }
}
