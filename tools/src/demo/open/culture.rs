//! Generated tables of libraries, schools, tourism and museums.

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use super::columns::Columns;
use super::random::{Random, rounded};
use super::region::{DAY_MILLIS, FIRST_DAY, HOUR_MILLIS, MUNICIPALITIES, first_of_month, population, season};

const LOANS: i64 = 16_000;
const BRANCHES: [&str; 6] =
    ["Biblioteca Centrale", "Borgo Ulivo", "Lago Grande", "Porto Sereno", "Montelieve", "Bibliobus"];
const SUBJECTS: [&str; 9] =
    ["fiction", "history", "cooking", "travel", "science", "poetry", "gardening", "languages", "comics"];
const AGES: [&str; 5] = ["0-13", "14-19", "20-39", "40-64", "65+"];
const SCHOOL_YEARS: [&str; 6] = ["2019/20", "2020/21", "2021/22", "2022/23", "2023/24", "2024/25"];
const LEVELS: [&str; 4] = ["nursery", "primary", "lower secondary", "upper secondary"];
const GUESTS: [&str; 6] = ["IT", "DE", "FR", "NL", "US", "other"];
const TOURISM_MONTHS: i32 = 24;
const MUSEUMS: [&str; 6] = [
    "Museo della Carta",
    "Pinacoteca di Tresa",
    "Museo del Mare",
    "Casa del Poeta",
    "Museo Contadino",
    "Torre dell'Orologio",
];
const MUSEUM_DAYS: i32 = 731;

/// One row for each loan.
pub(super) fn library_loans(mut random: Random) -> Result<RecordBatch, ArrowError> {
    let rows = || 1..=LOANS;
    let mut columns = Columns::default();
    columns.long("loan_id", rows().map(|id| Some(900_000 + id)));
    columns.text("branch", rows().map(|_| Some(random.pick(&BRANCHES))));
    let lent: Vec<i64> = rows()
        .map(|id| {
            let day = i64::from(FIRST_DAY) + id * 366 / (LOANS + 1);
            day * DAY_MILLIS + 8 * HOUR_MILLIS + random.between(0, 10 * HOUR_MILLIS)
        })
        .collect();
    columns.moment("lent_at", lent.iter().map(|at| Some(*at)));
    let due = |at: &i64| i32::try_from(at / DAY_MILLIS + 30).ok();
    columns.day("due_on", lent.iter().map(due));
    let returned: Vec<_> = lent
        .iter()
        .map(|at| (!random.chance(70)).then(|| at + random.between(DAY_MILLIS, 45 * DAY_MILLIS)))
        .collect();
    columns.moment("returned_at", returned.into_iter());
    columns.texts("subjects", rows().map(|_| random.some(&SUBJECTS, 190)));
    columns.text("reader_age", rows().map(|_| (!random.chance(40)).then(|| random.pick(&AGES))));
    columns.small("renewals", rows().map(|_| i16::try_from(random.between(0, 4) / 2).ok()));
    columns.flag("is_audiobook", rows().map(|_| Some(random.chance(90))));
    columns.finish()
}

/// One row for each municipality, school year and level.
pub(super) fn school_enrolment(mut random: Random) -> Result<RecordBatch, ArrowError> {
    let rows = || {
        let places = SCHOOL_YEARS.iter().flat_map(|year| (1..=MUNICIPALITIES).map(move |id| (*year, id)));
        places.flat_map(|(year, id)| LEVELS.iter().map(move |level| (year, id, *level)))
    };
    let mut columns = Columns::default();
    columns.number("municipality_id", rows().map(|(_, id, _)| Some(id)));
    columns.text("school_year", rows().map(|(year, ..)| Some(year)));
    columns.text("level", rows().map(|(.., level)| Some(level)));
    let pupils: Vec<i32> =
        rows().map(|(_, id, _)| (f64::from(population(id)) * random.around(0.032, 0.003)) as i32).collect();
    columns.number("pupils", pupils.iter().map(|count| Some(*count)));
    columns.small("classes", pupils.iter().map(|count| i16::try_from(count / 21 + 1).ok()));
    let mut canteen = |_| (!random.chance(50)).then(|| random.chance(700));
    columns.flag("has_canteen", rows().map(&mut canteen));
    let rate = |pupils: &i32, random: &mut Random| match pupils {
        // Small numbers are suppressed, as official statistics do for privacy.
        0..40 => None,
        _ => Some(rounded(random.around(0.93, 0.02), 3)),
    };
    let rates: Vec<_> = pupils.iter().map(|count| rate(count, &mut random)).collect();
    columns.measure("attendance_rate", rates.into_iter());
    columns.finish()
}

/// One row for each municipality, month and country.
pub(super) fn tourism(mut random: Random) -> Result<RecordBatch, ArrowError> {
    let places = || {
        (0..TOURISM_MONTHS).flat_map(|month| (1..=MUNICIPALITIES).map(move |id| (first_of_month(month), id)))
    };
    let rows = || places().flat_map(|(day, id)| GUESTS.iter().map(move |guests| (day, id, *guests)));
    let mut columns = Columns::default();
    columns.number("municipality_id", rows().map(|(_, id, _)| Some(id)));
    columns.day("month", rows().map(|(day, ..)| Some(day)));
    columns.text("guests_from", rows().map(|(.., guests)| Some(guests)));
    let arrivals: Vec<i32> = rows()
        .map(|(day, id, guests)| {
            let weight = if guests == "IT" { 0.05 } else { 0.012 };
            let crowd = f64::from(population(id)) * weight * (1.1 + season(day)) - 6.0;
            (crowd * random.around(1.0, 0.2)).max(0.0) as i32
        })
        .collect();
    let nights: Vec<i32> =
        arrivals.iter().map(|count| (f64::from(*count) * random.around(2.9, 0.4).max(1.0)) as i32).collect();
    columns.number("arrivals", arrivals.iter().map(|count| Some(*count)));
    columns.number("nights", nights.iter().map(|count| Some(*count)));
    // Zero divided by zero is NaN.
    let stays =
        arrivals.iter().zip(&nights).map(|(arrivals, nights)| f64::from(*nights) / f64::from(*arrivals));
    columns.measure("mean_stay_nights", stays.map(|stay| Some(rounded(stay, 2))));
    let mut beds = |_| (!random.chance(120)).then(|| rounded(random.share(), 2));
    columns.measure("bed_occupancy", rows().map(&mut beds));
    columns.finish()
}

/// One row for each museum and day.
pub(super) fn museum_visits(mut random: Random) -> Result<RecordBatch, ArrowError> {
    let rows =
        || (0..MUSEUM_DAYS).flat_map(|day| MUSEUMS.iter().map(move |museum| (FIRST_DAY + day, *museum)));
    let mut columns = Columns::default();
    columns.text("museum", rows().map(|(_, museum)| Some(museum)));
    columns.day("day", rows().map(|(day, _)| Some(day)));
    // Mondays; 1 January 1970 was a Thursday.
    let is_open = |day: i32| (day + 3) % 7 != 0;
    columns.flag("is_open", rows().map(|(day, _)| Some(is_open(day))));
    let visitors: Vec<Option<i64>> = rows()
        .map(|(day, _)| is_open(day).then(|| random.between(3, 190 + (110.0 * season(day)) as i64)))
        .collect();
    columns
        .number("visitors", visitors.iter().map(|count| count.and_then(|count| i32::try_from(count).ok())));
    let free: Vec<Option<i64>> =
        visitors.iter().map(|count| count.map(|count| count * random.between(5, 40) / 100)).collect();
    columns
        .number("free_entries", free.iter().map(|count| count.and_then(|count| i32::try_from(count).ok())));
    let income = visitors.iter().zip(&free).map(|(all, free)| Some((all.as_ref()? - free.as_ref()?) * 750));
    columns.amount("income_eur", (10, 2), income)?;
    let mut mark = |count: &Option<i64>| match count {
        Some(0..20) => Some(f64::NAN),
        Some(_) => Some(rounded(random.around(4.3, 0.2).min(5.0), 2)),
        None => None,
    };
    columns.measure("mean_rating", visitors.iter().map(&mut mark));
    columns.finish()
}
