//! `publish`, `unpublish`, `rollback`: changes of what a data directory offers. Knows no file name inside it.

use std::path::{Path, PathBuf};

use clap::Args;
use mercato::catalog::publish as catalog_publish;
use mercato::catalog::{CatalogError, DataDirectory, Manifest, Slug};
use semver::Version;
use serde::Serialize;

use super::convert::ConversionOptions;
use super::{print_json, print_text};
use crate::convert::{Conversion, Report, convert};
use crate::failure::Failure;

/// Convert a Parquet file and publish it as a version of a dataset.
///
/// The folder holds dataset.toml and may hold methodology.md and changelog.md. A running server sees the new
/// version without a restart. A version once published never changes.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  mercato-tools publish ./sales --parquet sales.parquet --version 1.0.0 --data /srv/mercato

dataset.toml:
  slug = \"sales\"
  published = true
  license = \"CC-BY-4.0\"
  tags = [\"retail\"]
  [title]
  en = \"Sales\"
  it = \"Vendite\"
  [columns.amount]
  description = \"Net amount in euro\"")]
#[command(disable_version_flag = true)]
pub struct PublishArguments {
    /// Folder of the dataset, or the dataset.toml in it.
    #[arg(value_name = "DIR|MANIFEST")]
    pub folder: PathBuf,
    /// The Parquet file.
    #[arg(long, value_name = "IN.parquet")]
    pub parquet: PathBuf,
    /// The version, higher than every one before: MAJOR.MINOR.PATCH.
    #[arg(long, value_name = "SEMVER")]
    pub version: Version,
    /// The server's data directory.
    #[arg(long, value_name = "DATA_DIR")]
    pub data: PathBuf,
    /// How to convert.
    #[command(flatten)]
    pub options: ConversionOptions,
}

/// Take a dataset down. Its files stay; publishing a version brings it back.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  mercato-tools unpublish sales --data /srv/mercato")]
pub struct UnpublishArguments {
    /// The dataset.
    #[arg(value_name = "SLUG")]
    pub slug: String,
    /// The server's data directory.
    #[arg(long, value_name = "DATA_DIR")]
    pub data: PathBuf,
}

/// Make an older version current again, until the next publication.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  mercato-tools rollback sales --to 1.2.0 --data /srv/mercato")]
pub struct RollbackArguments {
    /// The dataset.
    #[arg(value_name = "SLUG")]
    pub slug: String,
    /// A version that is still kept.
    #[arg(long, value_name = "SEMVER")]
    pub to: Version,
    /// The server's data directory.
    #[arg(long, value_name = "DATA_DIR")]
    pub data: PathBuf,
}

/// What a publication did.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Publication {
    /// The dataset.
    pub slug: String,
    /// The new version.
    pub version: String,
    /// The store file.
    pub path: String,
    /// Rows.
    pub rows: u32,
    /// Bytes of the store file.
    pub bytes: u64,
    /// Older versions that are kept no longer.
    pub removed: Vec<String>,
    /// Columns that the manifest describes and the data do not have.
    pub undescribed: Vec<String>,
    /// What the conversion did.
    pub conversion: Report,
}

/// Runs `publish`.
///
/// # Errors
/// See [`publish`].
pub fn run(arguments: &PublishArguments, json: bool) -> Result<(), Failure> {
    let folder = folder_of(&arguments.folder)?;
    let conversion = arguments.options.conversion(&arguments.parquet, Path::new(""))?;
    let publication = publish(&DataDirectory::new(&arguments.data), &folder, &arguments.version, conversion)?;
    for column in &publication.undescribed {
        eprintln!("mercato-tools: warning: {}: the data have no column `{column}`", folder.display());
    }
    if json {
        return print_json(&publication);
    }
    print_text(&format!(
        "published {} {}: {} rows, {} bytes, in {}",
        publication.slug, publication.version, publication.rows, publication.bytes, publication.path
    ))
}

/// Publishes `version` of the dataset in `folder`, converting straight into its place. The output of
/// `conversion` is chosen by the catalog.
///
/// # Errors
/// When the manifest, the version or the Parquet file is refused; nothing has changed then.
pub fn publish(
    data: &DataDirectory,
    folder: &Path,
    version: &Version,
    conversion: Conversion,
) -> Result<Publication, Failure> {
    let manifest = Manifest::load(folder)?;
    let mut report = None;
    let published = catalog_publish::publish(data, folder, version, |path| {
        let conversion = Conversion { output: path.to_path_buf(), ..conversion };
        report = Some(convert(&conversion)?);
        Ok(())
    });
    let published = published.map_err(|error| match error {
        catalog_publish::PublishError::Catalog(error) => Failure::Catalog(error),
        catalog_publish::PublishError::Store(failure) => failure,
    })?;
    let Some(mut conversion) = report else {
        return Err(Failure::Usage("nothing was converted".into()));
    };
    conversion.output = published.path.display().to_string();
    let described = manifest.columns.keys();
    let known = |name: &&String| conversion.columns.iter().any(|column| column.name == **name);
    Ok(Publication {
        slug: published.slug,
        version: published.version.to_string(),
        path: conversion.output.clone(),
        rows: published.rows,
        bytes: published.bytes,
        removed: published.removed.iter().map(ToString::to_string).collect(),
        undescribed: described.filter(|name| !known(name)).cloned().collect(),
        conversion,
    })
}

/// Runs `unpublish`.
///
/// # Errors
/// When there is no such dataset, or its files cannot be changed.
pub fn run_unpublish(arguments: &UnpublishArguments, json: bool) -> Result<(), Failure> {
    let slug = slug(&arguments.slug)?;
    catalog_publish::unpublish(&DataDirectory::new(&arguments.data), &slug)?;
    if json {
        return print_json(&serde_json::json!({ "slug": slug.as_str(), "published": false }));
    }
    print_text(&format!("{slug} is taken down; its files stay"))
}

/// Runs `rollback`.
///
/// # Errors
/// When there is no such dataset or version, or its files cannot be changed.
pub fn run_rollback(arguments: &RollbackArguments, json: bool) -> Result<(), Failure> {
    let slug = slug(&arguments.slug)?;
    catalog_publish::rollback(&DataDirectory::new(&arguments.data), &slug, &arguments.to)?;
    if json {
        let version = arguments.to.to_string();
        return print_json(&serde_json::json!({ "slug": slug.as_str(), "currentVersion": version }));
    }
    print_text(&format!("{slug} serves version {} now", arguments.to))
}

/// A slug as typed.
///
/// # Errors
/// A usage failure that says what a slug looks like.
pub fn slug(text: &str) -> Result<Slug, Failure> {
    Slug::parse(text).map_err(|error| Failure::Usage(CatalogError::from(error).to_string()))
}

/// The folder of a manifest, given either.
fn folder_of(typed: &Path) -> Result<PathBuf, Failure> {
    if typed.is_dir() {
        return Ok(typed.to_path_buf());
    }
    if typed.file_name().is_some_and(|name| name == "dataset.toml") {
        let parent = typed.parent().filter(|parent| !parent.as_os_str().is_empty());
        return Ok(parent.unwrap_or(Path::new(".")).to_path_buf());
    }
    Err(Failure::Refused {
        file: typed.display().to_string(),
        section: "dataset".into(),
        expected: "a folder with dataset.toml, or that file".into(),
        found: if typed.exists() { "another file".into() } else { "nothing".into() },
        remedy: "name the folder that holds dataset.toml".into(),
    })
}
