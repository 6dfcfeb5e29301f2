//! The command `inspect FILE.mcol`: lists the columns and sections of a store file from its directory. Reads no value, but the
//! lengths of runs, which say what forms their posting lists have.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use mercato_format::{ColumnKind, PostingForms, RowOrder, SectionInfo, Storage, Table};
use serde::Serialize;

use super::{print_json, print_text};
use crate::failure::Failure;

/// Show the columns, sections, encodings and sizes of a store file.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mercato-tools inspect sales.mcol
  mercato-tools inspect sales.mcol --json | jq '.columns[] | {name, encoding, distinct}'")]
pub struct InspectArguments {
    /// The store file.
    #[arg(value_name = "FILE.mcol")]
    pub file: PathBuf,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Inspection {
    file: String,
    rows: u32,
    bytes: u64,
    /// Of the pages of the file that the system holds; null when it does not tell.
    bytes_in_memory: Option<u64>,
    fingerprint: String,
    written_by: String,
    columns: Vec<ColumnLine>,
    row_blocks: Vec<GroupLine>,
    sections: Vec<SectionLine>,
    source_schema: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ColumnLine {
    name: String,
    r#type: &'static str,
    kind: String,
    source_type: String,
    nullable: bool,
    encoding: &'static str,
    sort_index: &'static str,
    nulls: u64,
    nans: u64,
    distinct: Option<u64>,
    data_bytes: u64,
    index_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    posting_lists: Option<PostingLists>,
}

/// The posting lists of a column, by form.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PostingLists {
    counts: Lists,
    elias_fano: Lists,
    plain: Lists,
}

#[derive(Debug, Serialize)]
struct Lists {
    lists: u32,
    bytes: u64,
}

/// Neighbouring columns whose cells share row blocks.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct GroupLine {
    first_column: u32,
    columns: u64,
    rows_of_block: u16,
    bytes: u64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SectionLine {
    kind: &'static str,
    column: Option<u32>,
    offset: u64,
    bytes: u64,
    width: u16,
    items: u64,
    index: bool,
    checksum: String,
}

pub fn run(arguments: &InspectArguments, json: bool) -> Result<(), Failure> {
    let table = Table::open(&arguments.file).map_err(Failure::store(&arguments.file))?;
    let sections: Vec<SectionInfo> = table.sections().collect();
    let sizes = sizes(table.columns().len(), &sections);
    let inspection = Inspection {
        file: arguments.file.display().to_string(),
        rows: table.row_count(),
        bytes: table.file_bytes(),
        bytes_in_memory: table.resident_bytes(),
        fingerprint: table.fingerprint().to_string(),
        written_by: table.writer().to_owned(),
        columns: (0..).zip(sizes).map_while(|(column, sizes)| column_line(&table, column, sizes)).collect(),
        row_blocks: groups(&sections),
        sections: sections.iter().map(section_line).collect(),
        source_schema: table.source_schema().to_owned(),
    };
    if json { print_json(&inspection) } else { print_text(&for_people(&inspection)) }
}

/// Whether a section holds cells of several columns.
fn is_shared(section: &&SectionInfo) -> bool {
    matches!(section.kind, "row_blocks" | "block_places" | "block_columns")
}

fn groups(sections: &[SectionInfo]) -> Vec<GroupLine> {
    let blocks = sections.iter().filter(|section| section.kind == "row_blocks");
    let line = |blocks: &SectionInfo| {
        let shared = || sections.iter().filter(is_shared).filter(|other| other.column == blocks.column);
        Some(GroupLine {
            first_column: blocks.column?,
            columns: shared().find(|section| section.kind == "block_columns")?.items,
            rows_of_block: blocks.width,
            bytes: shared().map(|section| section.len).sum(),
        })
    };
    blocks.filter_map(line).collect()
}

/// Bytes of the values and of the indexes of each column, without row blocks.
fn sizes(columns: usize, sections: &[SectionInfo]) -> Vec<[u64; 2]> {
    let mut sizes = vec![[0, 0]; columns];
    for section in sections.iter().filter(|section| !is_shared(section)) {
        let own = section.column.and_then(|column| sizes.get_mut(column as usize));
        if let Some([values, indexes]) = own {
            *(if section.index { indexes } else { values }) += section.len;
        }
    }
    sizes
}

fn column_line(table: &Table, number: usize, [data_bytes, index_bytes]: [u64; 2]) -> Option<ColumnLine> {
    let column = table.columns().get(number)?;
    let posting_lists = match table.column(number).map(|data| data.order()) {
        Ok(RowOrder::Postings(lists)) => Some(posting_lists(lists.forms())),
        _ => None,
    };
    Some(ColumnLine {
        name: column.name.clone(),
        r#type: column.kind.logical().name(),
        kind: kind_text(column.kind),
        source_type: column.source_type.clone(),
        nullable: column.nullable,
        encoding: match column.storage {
            Storage::Dictionary => "dictionary",
            Storage::Numbers => "numbers",
            Storage::Texts => "texts",
        },
        sort_index: column.sort_index.name(),
        nulls: column.null_count,
        nans: column.nan_count,
        distinct: column.distinct,
        data_bytes,
        index_bytes,
        posting_lists,
    })
}

fn posting_lists(forms: PostingForms) -> PostingLists {
    let lists = |(lists, bytes)| Lists { lists, bytes };
    PostingLists {
        counts: lists(forms.counts),
        elias_fano: lists(forms.elias_fano),
        plain: lists(forms.plain),
    }
}

fn kind_text(kind: ColumnKind) -> String {
    match kind {
        ColumnKind::Decimal { precision, scale } => format!("decimal({precision},{scale})"),
        ColumnKind::Timestamp { unit } => format!("timestamp({} digits)", unit.digits()),
        other => other.name().to_owned(),
    }
}

fn section_line(section: &SectionInfo) -> SectionLine {
    SectionLine {
        kind: section.kind,
        column: section.column,
        offset: section.offset,
        bytes: section.len,
        width: section.width,
        items: section.items,
        index: section.index,
        checksum: format!("{:016x}", section.checksum),
    }
}

fn for_people(inspection: &Inspection) -> String {
    let mut text = format!(
        "{}: {} rows, {} columns, {} bytes ({} in memory), written by {}; fingerprint {}\n\n",
        inspection.file,
        inspection.rows,
        inspection.columns.len(),
        inspection.bytes,
        inspection.bytes_in_memory.map_or("unknown".to_owned(), |bytes| bytes.to_string()),
        inspection.written_by,
        inspection.fingerprint
    );
    // Writing into a String cannot fail.
    let _ = writeln!(
        text,
        "{:>4} {:32} {:18} {:10} {:13} {:>11} {:>10} {:>13} {:>13}  source type",
        "", "column", "kind", "encoding", "sort index", "distinct", "nulls", "data bytes", "index bytes"
    );
    for (index, column) in inspection.columns.iter().enumerate() {
        let distinct = column.distinct.map_or_else(|| "?".to_owned(), |distinct| distinct.to_string());
        let _ = writeln!(
            text,
            "{index:>4} {:32} {:18} {:10} {:13} {distinct:>11} {:>10} {:>13} {:>13}  {}",
            column.name,
            column.kind,
            column.encoding,
            column.sort_index,
            column.nulls,
            column.data_bytes,
            column.index_bytes,
            column.source_type
        );
    }
    push_posting_lists(&mut text, &inspection.columns);
    for group in &inspection.row_blocks {
        let last = u64::from(group.first_column) + group.columns.saturating_sub(1);
        let _ = writeln!(
            text,
            "\nrow blocks of columns {} to {last}: {} rows each, {} bytes",
            group.first_column, group.rows_of_block, group.bytes
        );
    }
    let _ = writeln!(
        text,
        "\n{:20} {:>6} {:>13} {:>13} {:>5} {:>11}  checksum",
        "section", "column", "offset", "bytes", "width", "items"
    );
    for section in &inspection.sections {
        let column = section.column.map_or_else(|| "-".to_owned(), |column| column.to_string());
        let _ = writeln!(
            text,
            "{:20} {column:>6} {:>13} {:>13} {:>5} {:>11}  {}",
            section.kind, section.offset, section.bytes, section.width, section.items, section.checksum
        );
    }
    let _ = write!(text, "\n{}", inspection.source_schema);
    text
}

/// A table of the posting lists, where there are any.
fn push_posting_lists(text: &mut String, columns: &[ColumnLine]) {
    let mut lines =
        columns.iter().filter_map(|column| Some((column, column.posting_lists.as_ref()?))).peekable();
    if lines.peek().is_none() {
        return;
    }
    let _ = writeln!(
        text,
        "\n{:32} {:>20} {:>20} {:>20}",
        "posting lists (bytes)", "counts by zone", "Elias-Fano", "plain"
    );
    for (column, forms) in lines {
        let cell = |form: &Lists| format!("{} ({})", form.lists, form.bytes);
        let _ = writeln!(
            text,
            "{:32} {:>20} {:>20} {:>20}",
            column.name,
            cell(&forms.counts),
            cell(&forms.elias_fano),
            cell(&forms.plain)
        );
    }
}
