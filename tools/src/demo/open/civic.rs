//! Generated tables of public administration: budgets, contracts, energy and waste.

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use super::columns::Columns;
use super::random::{Random, rounded};
use super::region::{FIRST_DAY, MUNICIPALITIES, first_of_month, population, season};

const YEARS: std::ops::RangeInclusive<i16> = 2016..=2025;
const CHAPTERS: [(&str, &str); 12] = [
    ("01", "administration"),
    ("03", "public order"),
    ("04", "education"),
    ("05", "culture"),
    ("06", "youth and sport"),
    ("07", "tourism"),
    ("08", "housing"),
    ("09", "environment"),
    ("10", "transport"),
    ("11", "civil protection"),
    ("12", "social services"),
    ("99", "other"),
];
const CONTRACTS: i32 = 3_000;
const MONTHS: i32 = 36;
const SUBJECTS: [&str; 8] = [
    "road maintenance",
    "school canteen",
    "street lighting",
    "library furniture",
    "software licences",
    "snow clearing",
    "restoration of a tower",
    "home care service",
];
const PROCEDURES: [&str; 4] = ["open", "restricted", "negotiated", "direct award"];
const WINNERS: [&str; 7] = [
    "Cooperativa Alvaro",
    "Edil Tresana",
    "Servizi Montani",
    "Tecnoluce Valdoro",
    "Cartoleria Unita",
    "Studio Ginepro",
    "Nove Torri",
];
const CODES: [&str; 6] = ["45233140-2", "55523100-3", "50232100-1", "39155000-3", "48000000-8", "90620000-9"];
const USES: [&str; 3] = ["households", "industry", "public buildings"];
const MATERIALS: [&str; 6] = ["paper", "glass", "plastic", "organic", "metal", "residual"];

/// One row for each municipality, year and chapter.
pub(super) fn budgets(mut random: Random) -> Result<RecordBatch, ArrowError> {
    let places = || YEARS.flat_map(|year| (1..=MUNICIPALITIES).map(move |id| (year, id)));
    let rows = || places().flat_map(|(year, id)| CHAPTERS.iter().map(move |chapter| (year, id, chapter)));
    let mut columns = Columns::default();
    columns.number("municipality_id", rows().map(|(_, id, _)| Some(id)));
    columns.small("year", rows().map(|(year, ..)| Some(year)));
    columns.text("chapter", rows().map(|(.., chapter)| Some(chapter.0)));
    columns.text("chapter_name", rows().map(|(.., chapter)| Some(chapter.1)));
    let planned: Vec<i64> =
        rows().map(|(_, id, _)| i64::from(population(id)) * random.between(900, 21_000)).collect();
    let committed: Vec<Option<i64>> = rows()
        .zip(&planned)
        .map(|((year, ..), planned)| (year < 2025).then(|| planned / 1000 * random.between(610, 1000)))
        .collect();
    columns.amount("planned_eur", (14, 2), planned.iter().map(|cents| Some(*cents)))?;
    columns.amount("committed_eur", (14, 2), committed.iter().copied())?;
    let paid: Vec<_> =
        committed.iter().map(|cents| cents.map(|cents| cents / 100 * random.between(55, 100))).collect();
    columns.amount("paid_eur", (14, 2), paid.into_iter())?;
    columns.flag("is_final", rows().map(|(year, ..)| Some(year < 2025)));
    columns.finish()
}

/// One row for each contract.
pub(super) fn contracts(mut random: Random) -> Result<RecordBatch, ArrowError> {
    let rows = || 1..=CONTRACTS;
    let mut columns = Columns::default();
    columns.text("contract_id", rows().map(|id| Some(format!("VD{id:06}"))));
    columns.number(
        "municipality_id",
        rows().map(|_| i32::try_from(random.between(1, MUNICIPALITIES.into())).ok()),
    );
    columns.text("subject", rows().map(|_| Some(random.pick(&SUBJECTS))));
    columns.text("procedure", rows().map(|_| Some(random.pick(&PROCEDURES))));
    let signed: Vec<i32> = rows().map(|id| FIRST_DAY + id * 700 / CONTRACTS).collect();
    columns.day("signed_on", signed.iter().map(|day| Some(*day)));
    let mut end = |day: &i32| {
        (!random.chance(90)).then(|| day + i32::try_from(random.between(20, 1_400)).unwrap_or(20))
    };
    columns.day("ends_on", signed.iter().map(&mut end));
    columns.amount("amount_eur", (14, 2), rows().map(|_| Some(random.between(90_000, 240_000_000))))?;
    let bidders: Vec<i16> = rows().map(|_| i16::try_from(random.between(0, 14)).unwrap_or(0)).collect();
    columns.small("bidders", bidders.iter().map(|count| Some(*count)));
    let winners: Vec<_> = bidders.iter().map(|count| (*count > 0).then(|| random.pick(&WINNERS))).collect();
    columns.text("winner", winners.into_iter());
    columns.texts("cpv_codes", rows().map(|_| random.some(&CODES, 300)));
    columns.finish()
}

/// One row for each municipality, month and use.
pub(super) fn energy(mut random: Random) -> Result<RecordBatch, ArrowError> {
    let places =
        || (0..MONTHS).flat_map(|month| (1..=MUNICIPALITIES).map(move |id| (first_of_month(month), id)));
    let rows = || places().flat_map(|(day, id)| USES.iter().map(move |purpose| (day, id, *purpose)));
    let mut columns = Columns::default();
    columns.number("municipality_id", rows().map(|(_, id, _)| Some(id)));
    columns.day("month", rows().map(|(day, ..)| Some(day)));
    columns.text("use", rows().map(|(.., purpose)| Some(purpose)));
    let used = |(day, id, purpose): (i32, i32, &str), random: &mut Random| {
        let by_use = if purpose == "industry" { 190_000.0 } else { 84_000.0 - 17_000.0 * season(day) };
        (f64::from(population(id)) * random.around(by_use, by_use * 0.07)) as i64
    };
    let amounts: Vec<i64> = rows().map(|row| used(row, &mut random)).collect();
    columns.amount("energy_kwh", (16, 3), amounts.iter().map(|watt_hours| Some(*watt_hours)))?;
    columns.number(
        "customers",
        rows().map(|(_, id, purpose)| {
            Some(if purpose == "households" { population(id) / 2 } else { population(id) / 70 + 1 })
        }),
    );
    let peak: Vec<_> = amounts
        .iter()
        .map(|watt_hours| match random.between(0, 999) {
            0..9 => Some(f64::NAN),
            9..40 => None,
            _ => Some(rounded(*watt_hours as f64 / 720_000.0 * random.around(2.1, 0.2), 2)),
        })
        .collect();
    columns.measure("peak_kw", peak.into_iter());
    let mut share =
        |(day, ..): (i32, i32, &str)| Some(rounded(random.around(0.36 + 0.09 * season(day), 0.03), 3));
    columns.measure("renewable_share", rows().map(&mut share));
    columns.finish()
}

/// One row for each municipality, month and material.
pub(super) fn waste(mut random: Random) -> Result<RecordBatch, ArrowError> {
    let places =
        || (0..MONTHS).flat_map(|month| (1..=MUNICIPALITIES).map(move |id| (first_of_month(month), id)));
    let rows = || places().flat_map(|(day, id)| MATERIALS.iter().map(move |material| (day, id, *material)));
    let mut columns = Columns::default();
    columns.number("municipality_id", rows().map(|(_, id, _)| Some(id)));
    columns.day("month", rows().map(|(day, ..)| Some(day)));
    columns.text("material", rows().map(|(.., material)| Some(material)));
    let collected = |(_, id, material): (i32, i32, &str), random: &mut Random| {
        let kilograms = if material == "residual" || material == "organic" { 11.0 } else { 3.4 };
        (f64::from(population(id)) * random.around(kilograms, 0.6)) as i64
    };
    let tonnes: Vec<_> = rows().map(|row| Some(collected(row, &mut random))).collect();
    columns.amount("tonnes", (10, 3), tonnes.into_iter())?;
    columns.flag("is_recycled", rows().map(|(.., material)| Some(material != "residual")));
    let mut containers =
        |(_, id, _): (i32, i32, &str)| (!random.chance(60)).then_some(population(id) / 45 + 4);
    columns.number("containers", rows().map(&mut containers));
    columns.finish()
}
