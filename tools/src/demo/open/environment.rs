//! Generated measurements of air, weather, rain and water.
//!
//! A failed measurement is NaN, a missing one is null.

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use super::columns::Columns;
use super::random::{Random, rounded};
use super::region::{DAY_MILLIS, FIRST_DAY, HOUR_MILLIS, MUNICIPALITIES, altitude, position, season};

const STATIONS: i32 = 50;
const AIR_DAYS: i32 = 366;
const WEATHER_DAYS: i32 = 366;
const GAUGES: i32 = 24;
const RAIN_HOURS: i64 = 24 * 30;
const WATER_SAMPLES: i64 = 2_400;
const KINDS: [&str; 4] = ["urban traffic", "urban background", "suburban", "rural"];
const POLLUTANTS: [&str; 5] = ["PM10", "PM2.5", "NO2", "O3", "SO2"];
const SKIES: [&str; 6] = ["clear", "few clouds", "overcast", "fog", "rain", "thunderstorm"];
const SITES: [&str; 5] = ["public fountain", "aqueduct inlet", "reservoir", "school tap", "private well"];
const REMARKS: [&str; 4] = [
    "repeated on request",
    "after heavy rain",
    "pipe replaced the week before",
    "odour reported by residents",
];
const ANALYSES: [&str; 6] = ["hardness", "chlorine", "iron", "manganese", "turbidity", "arsenic"];

fn municipality_of(station: i32) -> i32 {
    (station * 7) % MUNICIPALITIES + 1
}

fn code(prefix: &str, number: i32) -> Option<String> {
    Some(format!("{prefix}-{number:03}"))
}

/// A measurement, which is sometimes NaN or null.
fn reading(random: &mut Random, middle: f64, spread: f64) -> Option<f64> {
    let value = rounded(random.around(middle, spread).max(0.0), 1);
    match random.between(0, 999) {
        0..25 => None,
        25..32 => Some(f64::NAN),
        _ => Some(value),
    }
}

pub(super) fn air_stations(mut random: Random) -> Result<RecordBatch, ArrowError> {
    let ids = || 1..=STATIONS;
    let mut columns = Columns::default();
    columns.text("station_id", ids().map(|id| code("VA", id)));
    columns.number("municipality_id", ids().map(|id| Some(municipality_of(id))));
    columns.text("kind", ids().map(|_| Some(random.pick(&KINDS))));
    let place = |id| {
        let (latitude, longitude) = position(municipality_of(id));
        (rounded(latitude + f64::from(id % 5) * 0.004, 4), rounded(longitude + f64::from(id % 3) * 0.005, 4))
    };
    columns.position("position", &ids().map(place).collect::<Vec<_>>());
    columns.number("altitude_m", ids().map(|id| Some(altitude(municipality_of(id)) + id % 9)));
    columns.day("active_since", ids().map(|id| Some(FIRST_DAY - 400 - id * 37)));
    columns.day("closed_on", ids().map(|id| (id % 17 == 0).then_some(FIRST_DAY + 200 + id)));
    columns.flag("is_mobile", ids().map(|id| Some(id % 11 == 0)));
    columns.texts("pollutants", ids().map(|_| random.some(&POLLUTANTS, 700)));
    columns.finish()
}

/// One row for each station and day.
pub(super) fn air_daily(mut random: Random) -> Result<RecordBatch, ArrowError> {
    let rows = || (0..AIR_DAYS).flat_map(|day| (1..=STATIONS).map(move |id| (id, FIRST_DAY + day)));
    let mut columns = Columns::default();
    columns.text("station_id", rows().map(|(id, _)| code("VA", id)));
    columns.day("day", rows().map(|(_, day)| Some(day)));
    let pm10: Vec<Option<f64>> = rows()
        .map(|(id, day)| reading(&mut random, 26.0 - 11.0 * season(day) + f64::from(id % 4) * 3.0, 7.0))
        .collect();
    columns.measure("pm10_ug_m3", pm10.iter().copied());
    let fine = pm10.iter().map(|pm10| pm10.map(|value| rounded(value * 0.62, 1)));
    columns.measure("pm25_ug_m3", fine.collect::<Vec<_>>().into_iter());
    columns.measure("no2_ug_m3", rows().map(|(_, day)| reading(&mut random, 24.0 - 9.0 * season(day), 6.0)));
    columns.measure("o3_ug_m3", rows().map(|(_, day)| reading(&mut random, 70.0 + 38.0 * season(day), 12.0)));
    columns.small("valid_hours", rows().map(|_| Some(24 - i16::from(random.chance(150)) * 5)));
    // Without a measurement, the comparison with the limit is null.
    columns.flag(
        "exceeds_limit",
        pm10.iter().map(|pm10| pm10.filter(|value| !value.is_nan()).map(|value| value > 50.0)),
    );
    columns.finish()
}

/// One row for each municipality and day.
pub(super) fn weather_daily(mut random: Random) -> Result<RecordBatch, ArrowError> {
    let rows = || (0..WEATHER_DAYS).flat_map(|day| (1..=MUNICIPALITIES).map(move |id| (id, FIRST_DAY + day)));
    let mut columns = Columns::default();
    columns.number("municipality_id", rows().map(|(id, _)| Some(id)));
    columns.day("day", rows().map(|(_, day)| Some(day)));
    let mean: Vec<f64> = rows()
        .map(|(id, day)| {
            let by_height = f64::from(altitude(id)) * 0.0065;
            rounded(random.around(14.5 + 9.5 * season(day) - by_height, 2.6), 1)
        })
        .collect();
    columns.measure("t_mean_c", mean.iter().map(|value| Some(*value)));
    let mut below = |value: &f64| Some(rounded(value - 3.0 - random.share() * 4.0, 1));
    columns.measure("t_min_c", mean.iter().map(&mut below));
    let mut above = |value: &f64| Some(rounded(value + 3.0 + random.share() * 6.0, 1));
    columns.measure("t_max_c", mean.iter().map(&mut above));
    let rain: Vec<Option<f64>> = rows()
        .map(|(_, day)| match random.between(0, 999) {
            0..4 => Some(f64::NAN),
            4..20 => None,
            dice if dice < 250 - (90.0 * season(day)) as i64 => Some(rounded(random.share() * 34.0, 1)),
            _ => Some(0.0),
        })
        .collect();
    columns.measure("rain_mm", rain.iter().copied());
    columns.measure("wind_max_ms", rows().map(|_| reading(&mut random, 7.5, 2.8)));
    columns.small("humidity_pct", rows().map(|_| i16::try_from(random.between(28, 100)).ok()));
    let sky = |rain: &Option<f64>, random: &mut Random| match rain {
        Some(rain) if *rain > 20.0 => SKIES.get(5),
        Some(rain) if *rain > 0.0 => SKIES.get(4),
        _ => usize::try_from(random.between(0, 3)).ok().and_then(|at| SKIES.get(at)),
    };
    let skies: Vec<_> = rain.iter().map(|rain| sky(rain, &mut random)).collect();
    columns.text("sky", skies.into_iter());
    let sunrise = |(_, day): (i32, i32)| {
        Some(i64::from(day) * DAY_MILLIS + 5 * HOUR_MILLIS + ((1.0 - season(day)) * 4_500_000.0) as i64)
    };
    columns.moment("sunrise", rows().map(sunrise));
    columns.finish()
}

/// One row for each gauge and hour of April 2024.
pub(super) fn rainfall_hourly(mut random: Random) -> Result<RecordBatch, ArrowError> {
    let first_hour = i64::from(FIRST_DAY + 91) * DAY_MILLIS;
    let rows = || (0..RAIN_HOURS).flat_map(|hour| (1..=GAUGES).map(move |gauge| (gauge, hour)));
    let mut columns = Columns::default();
    columns.text("gauge_id", rows().map(|(gauge, _)| code("PL", gauge)));
    columns.number("municipality_id", rows().map(|(gauge, _)| Some(municipality_of(gauge))));
    columns.moment("measured_at", rows().map(|(_, hour)| Some(first_hour + hour * HOUR_MILLIS)));
    // Fronts pass over all gauges within the same hours.
    let is_wet = |hour: i64| (hour * 31) % 97 < 14;
    let fallen = |(_, hour): (i32, i64), random: &mut Random| match random.between(0, 999) {
        0..12 => None,
        _ if is_wet(hour) => Some(random.between(0, 92)),
        dice => Some(i64::from(dice > 990)),
    };
    let amounts: Vec<_> = rows().map(|row| fallen(row, &mut random)).collect();
    columns.amount("rain_mm", (6, 1), amounts.into_iter())?;
    let mut volts = |_| Some(if random.chance(6) { f64::NAN } else { rounded(random.around(12.6, 0.3), 2) });
    columns.measure("battery_v", rows().map(&mut volts));
    columns.text("quality", rows().map(|_| Some(if random.chance(30) { "suspect" } else { "good" })));
    columns.finish()
}

/// One row for each sample of drinking water.
pub(super) fn water_quality(mut random: Random) -> Result<RecordBatch, ArrowError> {
    let rows = || 1..=WATER_SAMPLES;
    let mut columns = Columns::default();
    columns.long("sample_id", rows().map(|id| Some(700_000 + id)));
    columns.number(
        "municipality_id",
        rows().map(|_| i32::try_from(random.between(1, MUNICIPALITIES.into())).ok()),
    );
    columns.text("site", rows().map(|_| Some(random.pick(&SITES))));
    let first = i64::from(FIRST_DAY) * DAY_MILLIS * 1000;
    let moments = rows().map(|id| Some(first + id * 13_173_000_000 + random.between(0, 3_599_999_999)));
    columns.fine_moment("sampled_at", moments.collect::<Vec<_>>().into_iter());
    columns.measure("ph", rows().map(|_| reading(&mut random, 7.4, 0.25)));
    columns.amount("nitrates_mg_l", (6, 2), rows().map(|_| Some(random.between(90, 5_400))))?;
    let bacteria: Vec<Option<i32>> = rows()
        .map(|_| match random.between(0, 99) {
            0..5 => None,
            5..9 => i32::try_from(random.between(1, 180)).ok(),
            _ => Some(0),
        })
        .collect();
    columns.number("e_coli_cfu_100ml", bacteria.iter().copied());
    columns.flag("is_compliant", bacteria.iter().map(|count| count.map(|count| count == 0)));
    columns.text("remark", rows().map(|_| random.chance(80).then(|| random.pick(&REMARKS))));
    columns.texts("further_analyses", rows().map(|_| random.some(&ANALYSES, 240)));
    columns.finish()
}
