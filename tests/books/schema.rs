//! Which kind of books the tests run on, and where those in a database are.
//!
//! Does not depend on the books.

use std::path::Path;

/// Names the kind of books that the tests run on: `local`, which holds where it is not set, or `postgres`.
const KIND_VARIABLE: &str = "MERCATO_TEST_BOOKS";
/// The address of a database for tests, without options.
const DATABASE_VARIABLE: &str = "MERCATO_TEST_POSTGRES";
/// Options of its sessions, like `-c default_transaction_isolation=serializable`.
const OPTIONS_VARIABLE: &str = "MERCATO_TEST_POSTGRES_OPTIONS";

/// The kind of books that the tests run on.
pub fn kind() -> String {
    std::env::var(KIND_VARIABLE).unwrap_or_else(|_| "local".to_owned())
}

/// Whether the tests run on books in files; some speak of files.
pub fn are_in_files() -> bool {
    kind() == "local"
}

/// The database of the tests, with a schema that has the name of the folder.
pub fn url_of(folder: &Path) -> String {
    let url = std::env::var(DATABASE_VARIABLE).expect("the address of a database");
    let mut schema: String = folder.display().to_string();
    schema.retain(|letter| letter.is_ascii_alphanumeric());
    let options =
        format!("-c search_path=\"t{schema}\" {}", std::env::var(OPTIONS_VARIABLE).unwrap_or_default());
    let options = options.trim().replace(' ', "%20").replace('=', "%3D").replace('"', "%22");
    format!("{url}?options={options}")
}
