//! The fictional region Valdoro: its municipalities and its calendar.
//!
//! All generated tables refer to them, so they can be joined.

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use super::columns::Columns;
use super::random::{Random, rounded};

const NAMES: [&str; 40] = [
    "Acquafredda al Monte",
    "Altavigna",
    "Bagni di Selvaro",
    "Belfonte",
    "Borgo Cerreto",
    "Borgo Ulivo",
    "Campo Sereno",
    "Casale Rovere",
    "Castel Marino",
    "Castel Rovaro",
    "Cima Larice",
    "Colle Ginestra",
    "Corte Nuova al Lago",
    "Fonte Chiara",
    "Isola Pescara Vecchia",
    "Lago Grande",
    "Marina di Tresa",
    "Molino del Conte",
    "Monte Sant'Elvio",
    "Montelieve",
    "Pian della Mola",
    "Pieve Tresana",
    "Poggio Tondo",
    "Ponte Alvaro",
    "Porto Sereno",
    "Prato Vermiglio",
    "Riva Tresana",
    "Rocca Chiara",
    "San Bassiano in Colle",
    "San Laro",
    "Santa Verina",
    "Selva Oscura",
    "Serra Aperta",
    "Torre Lunga",
    "Tresa",
    "Val Ginepro",
    "Vigna Murata Alta",
    "Villa Corvina",
    "Villanova Tresana",
    "Volta d'Argine",
];
const PROVINCES: [&str; 4] = ["Tresa", "Porto Sereno", "Montelieve", "Lago Grande"];
const FESTIVALS: [&str; 5] = ["olive oil", "chestnut", "patron saint", "regatta", "grape harvest"];
/// 1 January 2024.
pub(super) const FIRST_DAY: i32 = 19_723;
/// Milliseconds of a day.
pub(super) const DAY_MILLIS: i64 = 86_400_000;
/// Milliseconds of an hour.
pub(super) const HOUR_MILLIS: i64 = 3_600_000;

/// Number of municipalities. They are numbered from 1.
pub(super) const MUNICIPALITIES: i32 = 40;

/// The first day of a month, counted from January 2024.
pub(super) fn first_of_month(month: i32) -> i32 {
    const LENGTHS: [i32; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    (0..month).fold(FIRST_DAY, |day, index| {
        let is_leap_february = index % 12 == 1 && (2024 + index / 12) % 4 == 0;
        let place = usize::try_from(index % 12).unwrap_or(0);
        day + LENGTHS.get(place).copied().unwrap_or(30) + i32::from(is_leap_february)
    })
}

/// The season of a day: −1 in midwinter, 1 in midsummer.
pub(super) fn season(day: i32) -> f64 {
    let turn = f64::from(day - FIRST_DAY - 15) / 365.25 * std::f64::consts::TAU;
    -turn.cos()
}

/// Metres above the sea.
pub(super) fn altitude(municipality: i32) -> i32 {
    let mixed = municipality.wrapping_mul(7919) % 1000;
    if is_coastal(municipality) { mixed % 30 + 1 } else { 40 + mixed.abs() }
}

pub(super) fn population(municipality: i32) -> i32 {
    let rank = municipality.wrapping_mul(13) % 41;
    if municipality == 35 { 184_300 } else { 900 + rank * rank * 31 }
}

fn is_coastal(municipality: i32) -> bool {
    matches!(municipality, 9 | 15 | 17 | 25 | 27)
}

pub(super) fn position(municipality: i32) -> (f64, f64) {
    let (row, column) = (municipality / 8, municipality % 8);
    (rounded(43.1 + 0.11 * f64::from(row), 4), rounded(12.2 + 0.13 * f64::from(column), 4))
}

pub(super) fn municipalities(mut random: Random) -> Result<RecordBatch, ArrowError> {
    let ids = || 1..=MUNICIPALITIES;
    let mut columns = Columns::default();
    columns.number("municipality_id", ids().map(Some));
    columns.text("name", NAMES.iter().map(|name| Some(*name)));
    columns.text("province", ids().map(|id| usize::try_from(id % 4).ok().and_then(|at| PROVINCES.get(at))));
    columns.number("population", ids().map(|id| Some(population(id))));
    columns.amount("area_km2", (8, 2), ids().map(|_| Some(random.between(900, 21_000))))?;
    columns.number("altitude_m", ids().map(|id| Some(altitude(id))));
    columns.flag("is_coastal", ids().map(|id| Some(is_coastal(id))));
    columns.position("position", &ids().map(position).collect::<Vec<_>>());
    let mut since =
        |_| (!random.chance(100)).then(|| FIRST_DAY - i32::try_from(random.between(0, 1800)).unwrap_or(0));
    columns.day("mayor_since", ids().map(&mut since));
    columns.texts("festivals", ids().map(|_| random.some(&FESTIVALS, 350)));
    columns.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computes_first_days_of_months() {
        // 1 March 2024 and 1 January 2026.
        assert_eq!((first_of_month(2), first_of_month(24)), (19_783, 20_454));
        assert!(season(FIRST_DAY + 15) < -0.99 && season(FIRST_DAY + 197) > 0.99);
    }
}
