//! Fuzzes store files. Opening, verification, queries and rendering return a result or an error. A verified file
//! answers every request, with each row once and valid JSON.

use std::sync::LazyLock;

use mercato_format::{FormatError, Table};
use mercato_query::render::{Format, render_rows};
use mercato_query::{NoSelections, Plan, QueryRequest, RowStream, SearchError, count_matches, execute, plan};

use crate::checksum_fixup::mutate_below_checksums;
use crate::table::files;

/// Most rows of an input, because a damaged header may claim too many.
const ROWS_MAX: u32 = 100_000;

const BODIES: [&str; 12] = [
    "{}",
    "{\"sortBy\":\"many\",\"limit\":7,\"offset\":5}",
    "{\"sortBy\":\"many\",\"sortDirection\":\"desc\"}",
    "{\"sortBy\":\"few\",\"sortDirection\":\"desc\",\"offset\":3}",
    "{\"sortBy\":\"text\",\"filters\":{\"few\":{\"contains\":\"1\"}}}",
    "{\"sortBy\":\"text\",\"sortDirection\":\"desc\",\"offset\":11}",
    "{\"sortBy\":\"float\",\"filters\":{\"many_min\":100,\"time_max\":\"1970-01-01T00:00:09\"}}",
    "{\"sortBy\":\"wide\",\"sortDirection\":\"desc\",\"filters\":{\"$or\":[{\"few\":null},{\"float\":{\"gt\":3}}]}}",
    "{\"filters\":{\"many\":{\"between\":[10,500]}},\"sortDirection\":\"desc\"}",
    "{\"filters\":{\"text\":{\"startsWith\":\"text, 1\"}},\"sortBy\":\"many\"}",
    "{\"filters\":{\"file\":[1,5,9,30],\"few\":{\"ne\":\"group \\\"0\\\"\"}},\"offset\":1}",
    "{\"filters\":{\"$not\":{\"text\":\"text, 5\"}},\"sortBy\":\"time\",\"sortDirection\":\"desc\"}",
];

/// The first byte selects the meaning of the rest: the bytes of a file, a truncation of a valid file, or changes below
/// the checksums.
pub fn run(data: &[u8]) {
    static FILES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(files);
    let Some((mode, rest)) = data.split_first() else { return };
    let file = &FILES[usize::from(*mode >> 4) % FILES.len()];
    let bytes = match mode & 0x0F {
        0 => rest.to_vec(),
        1 => raw_change(file, rest),
        _ => mutate_below_checksums(file, rest),
    };
    let Ok(table) = Table::from_bytes(bytes) else { return };
    if table.row_count() > ROWS_MAX {
        return;
    }
    let is_sound = table.verify(&|_| ()).is_ok();
    for body in BODIES {
        let asked = ask(&table, body);
        assert!(!is_sound || asked.is_ok(), "a verified file answers {body} with {asked:?}");
    }
    if is_sound {
        check_orders(&table);
    }
}

/// Changes that checksums must detect, and a wrong length.
fn raw_change(file: &[u8], script: &[u8]) -> Vec<u8> {
    let mut bytes = file.to_vec();
    for change in script.chunks_exact(4).take(16) {
        let at = usize::from(u16::from_le_bytes([change[0], change[1]]));
        match change[2] % 4 {
            0 => bytes.truncate(at),
            1 => bytes.extend_from_slice(change),
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = change[3];
                }
            }
        }
    }
    bytes
}

/// Runs all operations of one query body.
fn ask(table: &Table, body: &str) -> Result<(), SearchError> {
    let request = QueryRequest::from_json(body.as_bytes(), 10_000).expect("the body is sound");
    let plan = match plan(&request, table, "t@1", &mercato_query::Unlimited) {
        Ok(plan) => plan,
        Err(mercato_query::QueryError::Invalid(_)) => return Ok(()),
        Err(mercato_query::QueryError::Format(error)) => return Err(error.into()),
        Err(mercato_query::QueryError::Stopped(stop)) => return Err(stop.into()),
    };
    let page = execute(&plan, &NoSelections)?;
    count_matches(&plan, &NoSelections)?;
    print(&plan, &page.rows)?;
    let (mut stream, mut rows) = (RowStream::new(&plan)?, Vec::new());
    loop {
        stream.next_batch(16, &mut rows)?;
        if rows.is_empty() {
            break;
        }
    }
    let Some(cursor) = page.next_cursor else { return Ok(()) };
    let mut next = request.clone();
    next.resume_at(&cursor).expect("a cursor of our own");
    match mercato_query::plan(&next, table, "t@1", &mercato_query::Unlimited) {
        Ok(plan) => execute(&plan, &NoSelections).map(drop),
        Err(mercato_query::QueryError::Format(error)) => Err(error.into()),
        Err(mercato_query::QueryError::Stopped(stop)) => Err(stop.into()),
        Err(mercato_query::QueryError::Invalid(_)) => Ok(()),
    }
}

fn print(plan: &Plan<'_>, rows: &[u32]) -> Result<(), FormatError> {
    for format in [Format::Json, Format::Csv, Format::Sse, Format::Ndjson] {
        render_rows(format, plan.table(), plan.columns(), rows, &mut Vec::new())?;
    }
    let labels = mercato_query::render::Labels { dataset: "t", version: "1.0.0" };
    mercato_query::render::render_arrow(plan.table(), plan.columns(), rows, labels, &mut Vec::new())
}

/// Checks that sorting by each column returns every row once, and that the rows render as JSON.
fn check_orders(table: &Table) {
    for column in table.columns() {
        let name = serde_json::to_string(&column.name).expect("a text");
        let body = format!("{{\"sortBy\":{name},\"limit\":10000}}");
        let request = QueryRequest::from_json(body.as_bytes(), 10_000).expect("the body is sound");
        let Ok(plan) = plan(&request, table, "t@1", &mercato_query::Unlimited) else { continue };
        let mut page = execute(&plan, &NoSelections).expect("a verified file can be sorted");
        let mut text = Vec::new();
        render_rows(Format::Json, table, plan.columns(), &page.rows, &mut text).expect("and printed");
        let json: Result<serde_json::Value, _> = serde_json::from_slice(&text);
        assert!(json.is_ok(), "{:?}: {}", json.err(), String::from_utf8_lossy(&text));
        page.rows.sort_unstable();
        let all: Vec<u32> = (0..table.row_count().min(10_000)).collect();
        assert!(table.row_count() > 10_000 || page.rows == all, "sorted by {name}: {:?}", page.rows);
    }
}
