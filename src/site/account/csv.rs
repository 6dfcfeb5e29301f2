//! `/account/usage.csv`: usage by UTC day, dataset and key, for a spreadsheet.
//!
//! Contains days, slugs, ids and numbers only, and no free text, so a spreadsheet finds no formula in it.

use super::area;
use super::usage::selected;
use crate::api::{App, Incoming};
use crate::site::cache::Cache;
use mercato_web::{ApiError, Response};

/// The file.
pub fn download(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    area::read(app, request, &["days"], |app, request, area| {
        let (_, lines) = selected(app, &area, request)?;
        let mut text = String::from("day,dataset,key,requests,rows,credits\r\n");
        for line in &lines {
            let key = line.key.map(|key| key.to_string()).unwrap_or_default();
            let numbers = [line.requests, line.rows, line.credits].map(|number| number.to_string()).join(",");
            text.push_str(&format!("{},{},{key},{numbers}\r\n", line.day, line.dataset));
        }
        let response = Response::bytes("text/csv; charset=utf-8", text.as_bytes())
            .with_header("Content-Disposition", "attachment; filename=\"usage.csv\"");
        Ok(area.visit.sent(response, request, Cache::NoStore))
    })
}
