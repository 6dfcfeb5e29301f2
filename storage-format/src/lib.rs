//! The mercato store file: an immutable, memory-mapped, checksummed column file in which every column carries its
//! sort index, so that equality, ranges, sorting, counting and keyset paging are all slices of one structure.
//!
//! ```text
//! ┌────────┬───────────────────────────────┬───────────┬─────────┐
//! │ header │ sections, 64-byte aligned     │ directory │ trailer │
//! │ 4 KiB  │ columns first, then the file's│ 64 B each │ 64 B    │
//! └────────┴───────────────────────────────┴───────────┴─────────┘
//! ```
//!
//! `FORMAT.md` beside this crate is normative. The crate knows no HTTP, no account and no query language.

pub mod blocks;
pub mod column;
pub mod encode;
pub mod error;
mod file;
pub mod fsst;
pub mod limits;
pub mod order;
pub mod outline;
mod prefetch;
pub mod reader;
pub mod rendered_lengths;
pub mod schema;
pub mod statistics;
pub mod verify;
pub mod writer;

pub use column::{array, lanes, packed_numbers};
pub use encode::{float_width, text};
pub use file::{checksum, column_record, fingerprint, layout, mapped_file, section};

pub use blocks::{CellValues, RowReader};
pub use column::{ColumnData, Dictionary, Numbers, PostingForms, RowOrder, TextTable, Texts, Zone, Zones};
pub use column_record::{ColumnMeta, SortIndex, Storage};
pub use error::FormatError;
pub use fingerprint::Fingerprint;
pub use float_width::FloatWidth;
pub use reader::{SectionInfo, Table};
pub use rendered_lengths::{ExportFormat, RenderedLengths};
pub use schema::{ColumnKind, ColumnSpec, LogicalType, TimeUnit};
pub use statistics::{ColumnStatistics, Frequent, NumberSummary};
pub use verify::{VerifyProgress, VerifyReport};
pub use writer::{
    BuildOptions, ColumnBuilder, ColumnReport, ColumnSegment, TableMetadata, TableSummary, TableWriter,
};
