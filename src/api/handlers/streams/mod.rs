//! Long answers: streams of rows and downloads of files. They reserve their highest price, go on after the handler has
//! returned, and are settled to what the client received.

pub mod download;
mod download_body;
mod long_work;
mod parquet_body;
mod row_stream;
mod row_unit;
pub mod stream;
mod stream_end;
