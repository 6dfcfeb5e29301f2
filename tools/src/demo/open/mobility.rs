//! Generated tables of mobility: shared bicycles and regional trains.

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use super::columns::Columns;
use super::random::{Random, rounded};
use super::region::{DAY_MILLIS, FIRST_DAY, HOUR_MILLIS, season};

const TRIPS: i64 = 20_000;
const DOCKS: i64 = 45;
const TRAIN_DAYS: i32 = 180;
const BIKES: [&str; 3] = ["classic", "electric", "cargo"];
const STOPS: [&str; 9] = [
    "Tresa",
    "Villanova Tresana",
    "Ponte Alvaro",
    "Borgo Ulivo",
    "Belfonte",
    "Lago Grande",
    "Rocca Chiara",
    "Porto Sereno",
    "Castel Marino",
];
const LINES: [&str; 6] = ["R1", "R2", "R3", "R4", "RV10", "RV12"];
const CAUSES: [&str; 6] =
    ["signal fault", "late connection", "crowded platform", "rolling stock", "weather", "staff shortage"];

/// One row for each ride.
pub(super) fn bike_trips(mut random: Random) -> Result<RecordBatch, ArrowError> {
    let rows = || 1..=TRIPS;
    let mut columns = Columns::default();
    columns.long("trip_id", rows().map(|id| Some(5_000_000 + id)));
    let started: Vec<i64> = rows()
        .map(|id| {
            let day = i64::from(FIRST_DAY) * DAY_MILLIS + id * DAY_MILLIS * 366 / (TRIPS + 1);
            day - day % DAY_MILLIS + 6 * HOUR_MILLIS + random.between(0, 16 * HOUR_MILLIS)
        })
        .collect();
    // One bicycle in five hundred is not returned.
    let lasted: Vec<Option<i64>> =
        rows().map(|_| (!random.chance(2)).then(|| random.between(90, 5_400))).collect();
    columns.moment("started_at", started.iter().map(|at| Some(*at)));
    let ended = started.iter().zip(&lasted).map(|(at, seconds)| seconds.map(|seconds| at + seconds * 1000));
    columns.moment("ended_at", ended);
    columns.text("from_dock", rows().map(|_| Some(format!("D{:02}", random.between(1, DOCKS)))));
    let to: Vec<_> =
        lasted.iter().map(|end| end.map(|_| format!("D{:02}", random.between(1, DOCKS)))).collect();
    columns.text("to_dock", to.into_iter());
    columns
        .number("duration_s", lasted.iter().map(|seconds| seconds.and_then(|all| i32::try_from(all).ok())));
    let distance = |seconds: &Option<i64>, random: &mut Random| {
        let metres = seconds.map(|seconds| seconds as f64 * random.around(3.4, 0.5).max(0.4));
        // The position is missing without GPS reception.
        metres.map(|metres| if random.chance(15) { f64::NAN } else { rounded(metres / 1000.0, 3) })
    };
    let distances: Vec<_> = lasted.iter().map(|seconds| distance(seconds, &mut random)).collect();
    columns.measure("distance_km", distances.into_iter());
    columns.text("bike_kind", rows().map(|_| Some(random.pick(&BIKES))));
    let members: Vec<bool> = rows().map(|_| random.chance(640)).collect();
    columns.flag("is_member", members.iter().map(|is_member| Some(*is_member)));
    let price = |(seconds, is_member): (&Option<i64>, &bool)| {
        let minutes = seconds.unwrap_or(7_200) / 60;
        Some(if *is_member { (minutes - 30).max(0) * 5 } else { 100 + minutes * 12 })
    };
    columns.amount("price_eur", (6, 2), lasted.iter().zip(&members).map(price))?;
    columns.finish()
}

/// One row for each train and day.
pub(super) fn train_punctuality(mut random: Random) -> Result<RecordBatch, ArrowError> {
    let trains: Vec<(&'static str, i32, i64)> = LINES
        .iter()
        .enumerate()
        .flat_map(|(place, line)| {
            let base = i32::try_from(place).unwrap_or(0) * 100;
            (0..11_i32)
                .map(move |run| (*line, 20_000 + base + run, 5 * HOUR_MILLIS + i64::from(run) * 5_400_000))
        })
        .collect();
    let rows = || (0..TRAIN_DAYS).flat_map(|day| trains.iter().map(move |train| (FIRST_DAY + day, train)));
    let mut columns = Columns::default();
    columns.day("service_day", rows().map(|(day, _)| Some(day)));
    columns.text("line", rows().map(|(_, train)| Some(train.0)));
    columns.number("train_number", rows().map(|(_, train)| Some(train.1)));
    columns.moment(
        "scheduled_departure",
        rows().map(|(day, train)| Some(i64::from(day) * DAY_MILLIS + train.2)),
    );
    let delays: Vec<Option<i16>> = rows()
        .map(|(day, _)| match random.between(0, 999) {
            0..18 => None,
            18..700 => Some(0),
            _ => i16::try_from(random.between(1, 24 - (9.0 * season(day)) as i64)).ok(),
        })
        .collect();
    columns.small("delay_min", delays.iter().copied());
    columns.flag("is_cancelled", delays.iter().map(|delay| Some(delay.is_none())));
    let causes: Vec<_> = delays
        .iter()
        .map(|delay| delay.is_none_or(|delay| delay > 5).then(|| random.pick(&CAUSES)))
        .collect();
    columns.text("cause", causes.into_iter());
    let stops = |line: &str| match line.as_bytes().last().copied().unwrap_or(0) % 3 {
        0 => STOPS.to_vec(),
        1 => STOPS.iter().step_by(2).copied().collect(),
        _ => STOPS.iter().rev().skip(3).copied().collect(),
    };
    columns.texts("stops", rows().map(|(_, train)| stops(train.0)));
    columns.finish()
}
