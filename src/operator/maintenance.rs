//! Commands that verify, back up and archive the books.

use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;

use clap::Args;
use clap::builder::{PathBufValueParser, TypedValueParser};
use mercato_ledger::{AuditReport, BackupSummary, MovedSegment};
use serde::{Deserialize, Serialize};

use super::command::{Command, CommandError, Context};

/// Recompute all balances from the entries and compare them.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verify {}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verification {
    /// Whether every balance is the sum of its entries.
    pub balanced: bool,
    pub entries: u64,
    pub accounts: u64,
    pub open_reservations: u64,
    /// The sum of all balances.
    pub credits: u64,
    pub difference_count: u64,
    /// The first of them.
    pub differences: Vec<String>,
}

impl Command for Verify {
    type Outcome = Verification;

    fn execute(&self, context: &Context<'_>) -> Result<Verification, CommandError> {
        Ok(context.ledger.verify()?.into())
    }
}

impl From<AuditReport> for Verification {
    fn from(report: AuditReport) -> Self {
        Self {
            balanced: report.is_balanced(),
            entries: report.entries,
            accounts: report.accounts,
            open_reservations: report.open_reservations,
            credits: report.credits,
            difference_count: report.difference_count,
            differences: report.differences,
        }
    }
}

impl Display for Verification {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let Self { entries, accounts, credits, open_reservations, .. } = self;
        writeln!(
            out,
            "{entries} entries, {accounts} accounts, {credits} credits, {open_reservations} open reservations"
        )?;
        if self.balanced {
            return writeln!(out, "every balance is the sum of its entries");
        }
        self.differences.iter().try_for_each(|difference| writeln!(out, "{difference}"))
    }
}

/// Write a consistent backup of the books, also while they are in use.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Backup {
    /// The folder for the backup file.
    #[arg(value_name = "FOLDER", value_parser = parse_folder())]
    pub directory: PathBuf,
}

/// The server may have another working directory.
fn parse_folder() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(std::path::absolute::<PathBuf>)
}

/// A backup that was written or restored.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackupFile {
    pub path: String,
    pub bytes: u64,
    pub records: u64,
    /// The newest entry in it.
    pub last_sequence: u64,
}

impl Command for Backup {
    type Outcome = BackupFile;

    fn execute(&self, context: &Context<'_>) -> Result<BackupFile, CommandError> {
        Ok(context.ledger.backup(&self.directory, context.now)?.into())
    }
}

impl From<BackupSummary> for BackupFile {
    fn from(summary: BackupSummary) -> Self {
        let BackupSummary { path, bytes, records, last_sequence } = summary;
        Self { path: path.display().to_string(), bytes, records, last_sequence }
    }
}

impl Display for BackupFile {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let Self { path, bytes, records, last_sequence } = self;
        writeln!(out, "{path}: {records} records, {bytes} bytes, up to entry {last_sequence}")
    }
}

/// Move the oldest log segments into another folder, also while a server runs. Balances, keys and usage stay;
/// `export` and `verify` read only the remaining entries.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Archive {
    /// The target folder, which is created if missing.
    #[arg(long = "to", value_name = "DIR", value_parser = parse_folder())]
    pub directory: PathBuf,
}

/// The moved segments, oldest first.
#[derive(Serialize, Deserialize)]
pub struct ArchivedSegments {
    pub segments: Vec<ArchivedSegment>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ArchivedSegment {
    pub number: u64,
    pub first_record: u64,
    pub last_record: u64,
    pub bytes: u64,
    /// Its new path.
    pub path: String,
}

impl Command for Archive {
    type Outcome = ArchivedSegments;

    fn execute(&self, context: &Context<'_>) -> Result<ArchivedSegments, CommandError> {
        let moved = context.ledger.archive(&self.directory)?;
        Ok(ArchivedSegments { segments: moved.into_iter().map(ArchivedSegment::from).collect() })
    }
}

impl From<MovedSegment> for ArchivedSegment {
    fn from(MovedSegment { number, first, last, bytes, path }: MovedSegment) -> Self {
        let path = path.display().to_string();
        Self { number, first_record: first, last_record: last, bytes, path }
    }
}

impl Display for ArchivedSegments {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        if self.segments.is_empty() {
            return writeln!(out, "nothing was moved: a start needs every segment of the log that is there");
        }
        self.segments.iter().try_for_each(|segment| {
            let ArchivedSegment { path, first_record, last_record, bytes, .. } = segment;
            writeln!(out, "{path}: records {first_record} to {last_record}, {bytes} bytes")
        })
    }
}
