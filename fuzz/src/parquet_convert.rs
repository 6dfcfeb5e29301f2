//! Fuzzes Parquet files. The converter refuses a file and leaves nothing behind, or writes a store file that verifies
//! and can be queried and rendered.

use std::path::Path;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mercato_format::Table;
use mercato_query::render::{Format, render_rows};
use mercato_query::{NoSelections, QueryRequest, execute, plan};
use mercato_tools::convert::limits::MEMORY_LIMIT_BYTES_MIN;
use mercato_tools::convert::{Conversion, convert};
use mercato_tools::interruption::Interruption;

/// Most time of a conversion. A kilobyte can encode a hundred million rows, whose conversion is interrupted here.
const CONVERSION_TIME_MAX: Duration = Duration::from_secs(3);

/// The bytes are the file.
pub fn run(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (input, output) = (folder.path().join("in.parquet"), folder.path().join("out.mcol"));
    std::fs::write(&input, data).expect("room for the input");
    let mut conversion = Conversion::new(&input, &output);
    conversion.memory_limit = MEMORY_LIMIT_BYTES_MIN;
    conversion.threads = 1;
    conversion.progress = false;
    let watch = Watch::over(conversion.interruption.clone());
    let converted = convert(&conversion);
    drop(watch);
    match converted {
        Ok(_) => check_output(&output),
        Err(failure) => {
            assert!(!failure.one_line().contains('\n'), "a refusal is one line");
            let left = std::fs::read_dir(folder.path()).expect("the folder").count();
            assert_eq!(left, 1, "a refusal leaves nothing beside the input: {}", failure.one_line());
        }
    }
}

fn check_output(path: &Path) {
    let table = Table::open(path).expect("the converter verified it");
    table.verify(&|_| ()).expect("the converter verified it");
    let names = table.columns().iter().map(|column| Some(column.name.clone()));
    for sort in names.chain([None]).take(40) {
        let body = serde_json::json!({"limit": 50, "sortBy": sort}).to_string();
        let request = QueryRequest::from_json(body.as_bytes(), 10_000).expect("the body is sound");
        let plan =
            plan(&request, &table, "t@1", &mercato_query::Unlimited).expect("every column has a sort index");
        let page = execute(&plan, &NoSelections).expect("a sound file");
        let mut text = Vec::new();
        render_rows(Format::Json, &table, plan.columns(), &page.rows, &mut text).expect("a sound file");
        assert!(
            serde_json::from_slice::<serde_json::Value>(&text).is_ok(),
            "{}",
            String::from_utf8_lossy(&text)
        );
    }
}

/// Interrupts a conversion that takes too long, as a signal would.
struct Watch(Option<JoinHandle<()>>);

impl Watch {
    fn over(interruption: Interruption) -> Watch {
        Watch(Some(thread::spawn(move || {
            thread::park_timeout(CONVERSION_TIME_MAX);
            interruption.request();
        })))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            thread.thread().unpark();
            thread.join().expect("the watch does nothing that can fail");
        }
    }
}
