//! Inputs of the converter beside a single Parquet file: Arrow, text files, Excel, several files, folders, standard
//! input.

mod arrow;
mod arrow_hostile;
mod diff;
mod european;
mod excel;
mod folders;
mod hostile;
mod numbers;
mod random;
mod sorted;
mod texts;

use std::path::{Path, PathBuf};

use mercato_format::Table;
use mercato_query::render::{Format, render_rows};
use mercato_tools::convert::{Conversion, Report, convert};
use mercato_tools::failure::Failure;

/// A quiet conversion of files below `folder` into `out.mcol`.
pub fn conversion(folder: &Path, inputs: &[&str]) -> Conversion {
    let mut conversion = Conversion::new(Path::new(""), &folder.join("out.mcol"));
    conversion.inputs = inputs.iter().map(|input| folder.join(input)).collect();
    conversion.progress = false;
    conversion.replace = true;
    conversion
}

/// The columns as `name kind` (`?` for nullable), and the rows as NDJSON.
pub fn read(conversion: &Conversion) -> Result<(Vec<String>, Vec<String>), Failure> {
    convert(conversion)?;
    Ok(contents(&conversion.output))
}

/// The columns and rows of a store file.
pub fn contents(path: &Path) -> (Vec<String>, Vec<String>) {
    let table = Table::open(path).unwrap();
    table.verify(&|_| ()).unwrap();
    let columns = table.columns().iter().map(|column| {
        let mark = if column.nullable { "?" } else { "" };
        format!("{} {}{mark}", column.name, column.kind.name())
    });
    let names: Vec<usize> = (0..table.columns().len()).collect();
    let rows: Vec<u32> = (0..table.row_count()).collect();
    let mut text = Vec::new();
    render_rows(Format::Ndjson, &table, &names, &rows, &mut text).unwrap();
    (columns.collect(), String::from_utf8(text).unwrap().lines().map(str::to_owned).collect())
}

/// Writes one input and converts it.
pub fn converted(name: &str, content: impl AsRef<[u8]>) -> Result<(Vec<String>, Vec<String>), Failure> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(name), content).unwrap();
    read(&conversion(folder.path(), &[name]))
}

/// Expects a refusal of one input, which leaves no file, with all words.
pub fn refused(name: &str, content: impl AsRef<[u8]>, words: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(name), content).unwrap();
    check_refusal(&conversion(folder.path(), &[name]), words);
    assert_eq!(crate::cli::names(folder.path()), [name]);
}

/// Expects a refusal with all words.
pub fn check_refusal(conversion: &Conversion, words: &[&str]) {
    let reason = convert(conversion).map(|report: Report| report.rows).unwrap_err().one_line();
    for word in words {
        assert!(reason.contains(word), "{word}: {reason}");
    }
    assert!(!conversion.output.exists());
}

/// Writes a file below a folder, with the folders above it.
pub fn put(folder: &Path, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, content).unwrap();
    path
}
