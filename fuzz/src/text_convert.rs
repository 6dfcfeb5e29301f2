//! Fuzzes text files and workbooks: CSV, TSV, NDJSON, JSON, Excel, alone and two joined. The converter refuses a file in one line and leaves nothing
//! behind, or its output verifies, and what it prints as NDJSON has as many rows again.

use std::path::Path;

use mercato_format::Table;
use mercato_query::render::{Format, render_rows};
use mercato_tools::convert::inputs::InputFormat;
use mercato_tools::convert::limits::MEMORY_LIMIT_BYTES_MIN;
use mercato_tools::convert::{Conversion, convert};

/// The first byte chooses the format and whether two files are joined; the rest is the file.
pub fn run(data: &[u8]) {
    let Some((&choice, data)) = data.split_first() else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let formats =
        [InputFormat::Csv, InputFormat::Ndjson, InputFormat::Tsv, InputFormat::Json, InputFormat::Excel];
    let format = formats[usize::from(choice & 127) % formats.len()];
    let input = folder.path().join("in");
    std::fs::write(&input, data).expect("room for the input");
    let output = folder.path().join("out.mcol");
    let mut conversion = conversion(&input, &output, format);
    if choice & 128 != 0 {
        let second = folder.path().join("second");
        std::fs::write(&second, data.get(data.len() / 2..).unwrap_or_default()).expect("room for the input");
        conversion.inputs.push(second);
    }
    let files = conversion.inputs.len();
    match convert(&conversion) {
        Ok(_) => check_output(folder.path(), &output),
        Err(failure) => {
            assert!(!failure.one_line().contains('\n'), "a refusal is one line");
            let left = std::fs::read_dir(folder.path()).expect("the folder").count();
            assert_eq!(left, files, "a refusal leaves nothing beside the inputs: {}", failure.one_line());
        }
    }
}

fn conversion(input: &Path, output: &Path, format: InputFormat) -> Conversion {
    let mut conversion = Conversion::new(input, output);
    conversion.input_format = Some(format);
    conversion.memory_limit = MEMORY_LIMIT_BYTES_MIN;
    conversion.threads = 1;
    conversion.progress = false;
    conversion
}

fn check_output(folder: &Path, path: &Path) {
    let table = Table::open(path).expect("the converter verified it");
    table.verify(&|_| ()).expect("the converter verified it");
    let rows = printed(&table, Format::Ndjson);
    let again = folder.join("again.ndjson");
    std::fs::write(&again, &rows).expect("room");
    if rows.is_empty() {
        return;
    }
    let output = folder.join("again.mcol");
    // A number that is no double prints as null, and an object in a name with dots is a group, so only the number of
    // rows has to be the same.
    if convert(&conversion(&again, &output, InputFormat::Ndjson)).is_ok() {
        let second = Table::open(&output).expect("the converter verified it");
        assert_eq!(second.row_count(), table.row_count());
    }
}

fn printed(table: &Table, format: Format) -> Vec<u8> {
    let columns: Vec<usize> = (0..table.columns().len()).collect();
    let rows: Vec<u32> = (0..table.row_count()).collect();
    let mut text = Vec::new();
    render_rows(format, table, &columns, &rows, &mut text).expect("a sound file");
    text
}
