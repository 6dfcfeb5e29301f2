//! The end of a stream: its rows, the next cursor and the charge.
//!
//! Trailer fields carry it behind every chunked body, and events also as a comment. Clients that see neither can
//! request it in the body, as the last event or the last line.

use std::io;

use serde::Serialize;

use mercato_query::render::{Format, Output};
use mercato_web::ChunkSink;

/// The announced trailers.
pub(super) const TRAILERS: &str = "X-Rows-Returned, X-Next-Cursor, X-Credits-Charged";

/// The end of a stream.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct End<'a> {
    pub(super) rows_returned: u64,
    /// The cursor behind the last row, where further rows exist. Base64, so it needs no escapes.
    pub(super) next_cursor: Option<&'a str>,
    pub(super) credits_charged: u64,
}

impl End<'_> {
    /// Sends it. With `summary` it stands in the body too, as the last event, line or record. `tail` is the end of an Arrow
    /// stream or a workbook. It comes only now, so that one that broke off never looks whole.
    pub(super) fn say(
        &self,
        output: Output,
        summary: bool,
        tail: &[u8],
        sink: &mut ChunkSink<'_>,
    ) -> io::Result<()> {
        sink.trailer("X-Rows-Returned", self.rows_returned.to_string());
        if let Some(cursor) = self.next_cursor {
            sink.trailer("X-Next-Cursor", cursor.to_owned());
        }
        sink.trailer("X-Credits-Charged", self.credits_charged.to_string());
        match output {
            Output::Text(format) => sink.send(self.text(format, summary).as_bytes()),
            Output::Arrow | Output::Xlsx => sink.send(tail),
        }
    }

    fn text(&self, format: Format, summary: bool) -> String {
        let json = serde_json::to_string(self).unwrap_or_default();
        match (format, summary) {
            // No blank line after a comment: some clients make an event without data of it.
            (Format::Sse, false) => format!(": end {json}\n"),
            (Format::Sse, true) => format!(": end {json}\nevent: end\ndata: {json}\n\n"),
            (_, false) => String::new(),
            (Format::Csv, true) => {
                let Self { rows_returned, next_cursor, credits_charged } = self;
                format!("$end,{rows_returned},{},{credits_charged}\r\n", next_cursor.unwrap_or_default())
            }
            (Format::Json | Format::Ndjson, true) => format!("{{\"$end\":{json}}}\n"),
        }
    }
}
