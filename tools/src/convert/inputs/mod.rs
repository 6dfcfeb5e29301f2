//! The files of a conversion: names and folders become a list of files with their formats, sorted by path. Does not
//! depend on contents beyond the first bytes of a file without a known endings.

pub mod archive;
mod folder;
pub mod partitions;

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::convert::limits::INPUT_FILES_MAX;
use crate::failure::Failure;
use partitions::Partition;

/// The name that stands for standard input.
pub const STANDARD_INPUT: &str = "-";

/// The format of an input file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum InputFormat {
    /// Apache Parquet.
    Parquet,
    /// An Arrow IPC file or stream.
    Arrow,
    /// Comma-separated values with a header line.
    Csv,
    /// Tab-separated values with a header line.
    Tsv,
    /// One JSON object a line.
    Ndjson,
    /// An array of JSON objects.
    Json,
    /// A sheet of an Excel workbook.
    #[value(name = "xlsx")]
    Excel,
    /// A store file.
    #[value(skip)]
    Store,
}

impl InputFormat {
    /// Whether its rows are read one after the other, and its types found from them.
    #[must_use]
    pub fn is_text(self) -> bool {
        self.is_stream() || self == InputFormat::Excel
    }

    /// Whether it is read from its start to its end, so that it may be compressed or standard input.
    #[must_use]
    pub fn is_stream(self) -> bool {
        use InputFormat::{Csv, Json, Ndjson, Tsv};
        matches!(self, Csv | Tsv | Ndjson | Json)
    }

    /// Whether the format itself distinguishes numbers from texts.
    #[must_use]
    pub fn has_types(self) -> bool {
        matches!(self, InputFormat::Ndjson | InputFormat::Json | InputFormat::Excel)
    }

    /// The name in messages and source types.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            InputFormat::Parquet => "Parquet",
            InputFormat::Arrow => "Arrow",
            InputFormat::Csv => "CSV",
            InputFormat::Tsv => "TSV",
            InputFormat::Ndjson => "NDJSON",
            InputFormat::Json => "JSON",
            InputFormat::Excel => "Excel",
            InputFormat::Store => "store file",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputFile {
    /// The path; `None` for standard input.
    pub path: Option<PathBuf>,
    pub format: InputFormat,
    /// Columns and values out of the names of its folders.
    pub partitions: Vec<Partition>,
}

impl InputFile {
    #[must_use]
    pub fn name(&self) -> String {
        self.path.as_ref().map_or_else(|| "standard input".to_owned(), |path| path.display().to_string())
    }
}

/// Lists the files of `inputs`, which are files, folders or `-`, sorted by path. `format` overrides their endings.
///
/// # Errors
/// When a file has no known format, a folder holds something else than data, a link leads out of its folder, a file
/// occurs twice, or a bound is exceeded.
pub fn list(inputs: &[PathBuf], format: Option<InputFormat>) -> Result<Vec<InputFile>, Failure> {
    let (mut files, mut visited) = (Vec::new(), folder::Visited::default());
    for input in inputs {
        if input.as_os_str() == STANDARD_INPUT {
            files.push(standard_input(inputs.len(), format)?);
        } else if fs::metadata(input).map_err(Failure::io(input, "open"))?.is_dir() {
            folder::walk(input, format, &mut visited, &mut files)?;
        } else {
            files.push(single_file(input, format)?);
        }
        check_count(files.len(), input)?;
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    refuse_twice(&files)?;
    Ok(files)
}

fn standard_input(inputs: usize, format: Option<InputFormat>) -> Result<InputFile, Failure> {
    match format.filter(|format| format.is_stream()) {
        Some(format) if inputs == 1 => Ok(InputFile { path: None, format, partitions: Vec::new() }),
        Some(_) => Err(Failure::Usage("-: standard input cannot be joined with files".into())),
        None => {
            Err(Failure::Usage("-: pass --input-format csv, tsv, ndjson or json for standard input".into()))
        }
    }
}

fn single_file(path: &Path, format: Option<InputFormat>) -> Result<InputFile, Failure> {
    let found = match format.or_else(|| format_of(path)) {
        Some(format) => Some(format),
        None => match format_inside(path)? {
            Some(format) => Some(format),
            None => format_of_head(path)?,
        },
    };
    let format = found.ok_or_else(|| unknown_format(path, "pass --input-format, or rename the file"))?;
    Ok(InputFile { path: Some(path.to_path_buf()), format, partitions: Vec::new() })
}

/// Endings of compressed files.
const PACKED: [&str; 4] = [".gz", ".zst", ".zstd", ".zip"];

/// The format by the ending of a name, before `.gz`, `.zst`, `.zstd` or `.zip`.
fn format_of(path: &Path) -> Option<InputFormat> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    let packed = PACKED.iter().find_map(|ending| name.strip_suffix(ending));
    let format = match packed.unwrap_or(&name).rsplit_once('.')?.1 {
        "parquet" | "pq" => InputFormat::Parquet,
        "arrow" | "arrows" | "feather" | "ipc" => InputFormat::Arrow,
        "csv" => InputFormat::Csv,
        "tsv" | "tab" => InputFormat::Tsv,
        "ndjson" | "jsonl" => InputFormat::Ndjson,
        "json" => InputFormat::Json,
        "xlsx" | "xlsm" => InputFormat::Excel,
        "mcol" => InputFormat::Store,
        _ => return None,
    };
    (format.is_stream() || packed.is_none()).then_some(format)
}

/// The format of the only file in a ZIP file, by its name.
fn format_inside(path: &Path) -> Result<Option<InputFormat>, Failure> {
    if !path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("zip")) {
        return Ok(None);
    }
    let Some(entry) = archive::only_entry(path)? else { return Ok(None) };
    let format = format_of(Path::new(&entry.name)).filter(|format| format.is_stream());
    format.map(Some).ok_or_else(|| unknown_format(path, "unpack it; text files may stay in a ZIP file"))
}

/// The format by the first bytes of a regular file.
fn format_of_head(path: &Path) -> Result<Option<InputFormat>, Failure> {
    if !fs::metadata(path).is_ok_and(|facts| facts.is_file()) {
        return Ok(None);
    }
    let mut head = Vec::new();
    let file = File::open(path).map_err(Failure::io(path, "open"))?;
    file.take(8).read_to_end(&mut head).map_err(Failure::io(path, "read"))?;
    Ok(match head.as_slice() {
        [b'P', b'A', b'R', b'1', ..] => Some(InputFormat::Parquet),
        // A file, and a stream, which begins with the metadata of its schema.
        [b'A', b'R', b'R', b'O', b'W', b'1', ..] | [0xff, 0xff, 0xff, 0xff, _, _, _, 0] => {
            Some(InputFormat::Arrow)
        }
        _ => None,
    })
}

/// The name of a file without the endings of its format and its compression.
#[must_use]
pub fn stem(path: &Path) -> PathBuf {
    // Without a slash at the end.
    let path = path.components().as_path();
    let is_packed = path.extension().and_then(|ending| ending.to_str()).is_some_and(|ending| {
        PACKED.iter().any(|known| known.trim_start_matches('.').eq_ignore_ascii_case(ending))
    });
    let plain =
        if is_packed && format_of(path).is_some() { path.with_extension("") } else { path.to_owned() };
    if path.is_dir() { plain } else { plain.with_extension("") }
}

fn unknown_format(path: &Path, remedy: &str) -> Failure {
    Failure::refused(
        path.display().to_string(),
        "name",
        "an ending .parquet, .arrow, .csv, .tsv, .ndjson, .jsonl, .json or .xlsx, the text ones also with .gz, .zst \
             or .zip",
        "another",
        remedy,
    )
}

fn check_count(count: usize, input: &Path) -> Result<(), Failure> {
    if count <= INPUT_FILES_MAX {
        return Ok(());
    }
    Err(Failure::refused(
        input.display().to_string(),
        "number of files",
        format!("at most {INPUT_FILES_MAX}"),
        "more",
        "join small files first",
    ))
}

/// Refuses a file that occurs twice, because its rows would.
fn refuse_twice(files: &[InputFile]) -> Result<(), Failure> {
    let mut seen = HashSet::new();
    for path in files.iter().filter_map(|file| file.path.as_ref()) {
        let facts = fs::metadata(path).map_err(Failure::io(path, "read the attributes of"))?;
        if !seen.insert((facts.dev(), facts.ino())) {
            return Err(Failure::refused(
                path.display().to_string(),
                "file",
                "every file once",
                "a file that is named twice, or a link to one of the others",
                "name it once, or remove the link",
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_format_by_ending() {
        let format = |name: &str| format_of(Path::new(name));
        assert_eq!(format("a/b.parquet"), Some(InputFormat::Parquet));
        assert_eq!(format("b.CSV"), Some(InputFormat::Csv));
        assert_eq!(format("b.tsv.gz"), Some(InputFormat::Tsv));
        assert_eq!(format("b.jsonl.zst"), Some(InputFormat::Ndjson));
        assert_eq!((format("b.json"), format("b.XLSX")), (Some(InputFormat::Json), Some(InputFormat::Excel)));
        assert_eq!(format("b.csv.zip"), Some(InputFormat::Csv));
        for name in ["b.arrow", "b.arrows", "b.FEATHER", "b.ipc"] {
            assert_eq!(format(name), Some(InputFormat::Arrow), "{name}");
        }
        for other in ["b", "b.zip", "b.gz", "b.parquet.gz", "b.csv.bak", ".csv/"] {
            assert_ne!(format(other), Some(InputFormat::Parquet), "{other}");
        }
        for packed in ["b.parquet.gz", "b.arrow.zst", "b.xlsx.gz"] {
            assert_eq!(format(packed), None, "{packed}");
        }
    }

    #[test]
    fn output_takes_name_without_endings() {
        assert_eq!(stem(Path::new("d/sales.csv.gz")), Path::new("d/sales"));
        assert_eq!(stem(Path::new("d/sales.v2.parquet")), Path::new("d/sales.v2"));
        assert_eq!(stem(Path::new("sales")), Path::new("sales"));
        assert_eq!(stem(Path::new("/tmp/")).as_os_str(), "/tmp");
    }
}
