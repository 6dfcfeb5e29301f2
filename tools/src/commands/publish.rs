//! The commands `publish`, `unpublish`, `republish`, `rollback` and `feature`, which change the catalog of a data directory.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use clap::Args;
use mercato_catalog::publish::{self as catalog_publish, PublishRequest as VersionRequest};
use mercato_catalog::{BreakingChange, CatalogError, DataDirectory, Manifest, Slug};
use mercato_format::ColumnSpec;
use semver::Version;
use serde::Serialize;

use super::catalog_location::CatalogLocation;
use super::convert::{ConversionOptions, tell_warnings};
use super::publication_options::{OptionsLine, PublicationOptions};
use super::{print_json, print_text};
use crate::convert::{Conversion, Report, convert_if};
use crate::failure::Failure;
use crate::parquet_file::write_beside;

/// Convert Parquet, Arrow, CSV, TSV, JSON, NDJSON or Excel and publish it as a version of a dataset.
///
/// The folder holds dataset.toml and may hold methodology.md and changelog.md. A running server finds the new version
/// without a restart. A published version never changes.
///
/// Several files and folders become one table, as `convert --help` says. --append puts their rows behind those of the
/// version that is served now; every column is encoded and sorted anew, so the time grows with the whole.
///
/// The next publication inherits --sort-index and --drop unless it sets them. A version that drops a column or changes
/// its type needs a higher major number (below 1.0.0, a higher minor number) or --allow-breaking, and always an entry
/// in changelog.md: the heading `## [VERSION] - DATE` and some text.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mercato-tools publish ./sales --parquet sales.parquet --version 1.0.0 --data /var/lib/mercato
  mercato-tools publish ./sales --input today.csv.gz --append --version 1.1.0 --data /var/lib/mercato
  mercato-tools publish ./sales --parquet sales.parquet --version 1.2.0 --store s3://sets/prod --books postgres://db/mercato

dataset.toml:
  slug = \"sales\"
  published = true
  license = \"CC-BY-4.0\"
  tags = [\"retail\"]
  [title]
  en = \"Sales\"
  it = \"Vendite\"
  [publisher]
  name = \"Shop\"
  [columns.amount]
  description = \"Net amount in euro\"
  type = \"decimal(12,2)\"  # of text files; without it, found from all rows
  [source]                # how text files are written; the same names as the options
  delimiter = \";\"
  decimal = \",\"
  date_format = \"%d/%m/%Y\"")]
#[command(disable_version_flag = true)]
pub struct PublishArguments {
    /// The folder of the dataset, or its dataset.toml.
    #[arg(value_name = "DIR|MANIFEST")]
    pub folder: PathBuf,
    /// Files and folders: Parquet, Arrow, CSV, TSV, JSON, NDJSON or Excel; `-` is standard input.
    #[arg(long = "parquet", visible_alias = "input", value_name = "IN", required = true, num_args = 1..)]
    pub inputs: Vec<PathBuf>,
    /// Put the rows behind those of the version that is served now.
    #[arg(long)]
    pub append: bool,
    /// The version, higher than all previous ones: MAJOR.MINOR.PATCH.
    #[arg(long, value_name = "SEMVER")]
    pub version: Version,
    /// Where the catalogue is.
    #[command(flatten)]
    pub location: CatalogLocation,
    /// Number of versions to keep on disk, including this one. Default: `keep_versions` of dataset.toml, else 3.
    #[arg(long, value_name = "N", value_parser = parse_keep)]
    pub keep: Option<usize>,
    /// Drop no columns, even if the previous version dropped some.
    #[arg(long, conflicts_with = "drop")]
    pub no_drop: bool,
    /// Publish a breaking version without a higher major number.
    #[arg(long)]
    pub allow_breaking: bool,
    /// The conversion options.
    #[command(flatten)]
    pub options: ConversionOptions,
}

/// Unpublish a dataset. Its files stay; `republish` or a new version brings it back.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  mercato-tools unpublish sales --data /var/lib/mercato")]
pub struct UnpublishArguments {
    /// The dataset.
    #[arg(value_name = "SLUG")]
    pub slug: String,
    /// Where the catalogue is.
    #[command(flatten)]
    pub location: CatalogLocation,
}

/// Publish an unpublished dataset again, with the version that it served last.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  mercato-tools republish sales --data /var/lib/mercato")]
pub struct RepublishArguments {
    /// The dataset.
    #[arg(value_name = "SLUG")]
    pub slug: String,
    /// Where the catalogue is.
    #[command(flatten)]
    pub location: CatalogLocation,
}

/// Serve an older version until the next publication.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  mercato-tools rollback sales --to 1.2.0 --data /var/lib/mercato")]
pub struct RollbackArguments {
    /// The dataset.
    #[arg(value_name = "SLUG")]
    pub slug: String,
    /// A version that is still on disk.
    #[arg(long, value_name = "SEMVER")]
    pub to: Version,
    /// Where the catalogue is.
    #[command(flatten)]
    pub location: CatalogLocation,
}

/// Set whether a dataset is featured, which overrides its dataset.toml.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  mercato-tools feature sales on --data /var/lib/mercato")]
pub struct FeatureArguments {
    /// The dataset.
    #[arg(value_name = "SLUG")]
    pub slug: String,
    /// `on` or `off`; `auto` follows dataset.toml.
    #[arg(value_name = "on|off|auto")]
    pub state: FeatureState,
    /// Where the catalogue is.
    #[command(flatten)]
    pub location: CatalogLocation,
}

/// Whether a dataset is listed first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum FeatureState {
    /// Featured.
    On,
    /// Not featured.
    Off,
    /// As in dataset.toml.
    Auto,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Publication {
    pub slug: String,
    pub version: String,
    pub path: String,
    pub rows: u32,
    pub bytes: u64,
    /// Bytes of the Parquet file; `null` without one.
    pub parquet_bytes: Option<u64>,
    pub removed: Vec<String>,
    /// Columns of the manifest that the data do not have.
    pub undescribed: Vec<String>,
    /// The options, which the next version inherits.
    pub choices: OptionsLine,
    /// Breaking changes against previous versions.
    pub breaking: Vec<BreakingChangeLine>,
    pub conversion: Report,
}

/// A breaking change of a column, in the report.
#[derive(Debug, Serialize)]
pub struct BreakingChangeLine {
    pub column: String,
    pub from: String,
    /// Its new type; `null` if the column is gone.
    pub to: Option<String>,
}

pub struct PublishRequest<'a> {
    pub data: &'a DataDirectory,
    pub folder: &'a Path,
    pub version: &'a Version,
    pub keep: Option<usize>,
    pub allows_breaking: bool,
    /// Whether the rows go behind those of the version that is served.
    pub appends: bool,
    /// Options that the next publication inherits; by default, those of the conversion.
    pub chosen: Option<PublicationOptions>,
}

impl<'a> PublishRequest<'a> {
    #[must_use]
    pub fn new(data: &'a DataDirectory, folder: &'a Path, version: &'a Version) -> PublishRequest<'a> {
        PublishRequest {
            data,
            folder,
            version,
            keep: None,
            allows_breaking: false,
            appends: false,
            chosen: None,
        }
    }
}

pub fn run(arguments: &PublishArguments, json: bool) -> Result<(), Failure> {
    let folder = folder_of(&arguments.folder)?;
    let slug = Manifest::load(&folder)?.slug;
    let changed = arguments.location.change(&slug, arguments.append, |data| {
        let chosen = PublicationOptions::from_arguments(arguments, data, &folder)?;
        let mut conversion = arguments.options.conversion(&arguments.inputs, Path::new(""))?;
        chosen.apply(&mut conversion);
        let request = PublishRequest {
            keep: arguments.keep,
            allows_breaking: arguments.allow_breaking,
            appends: arguments.append,
            chosen: Some(chosen),
            ..PublishRequest::new(data, &folder, &arguments.version)
        };
        publish(&request, conversion)
    });
    let mut publication = changed?;
    if let Some(store) = arguments.location.place.store() {
        // The file was put there, and its folder is gone.
        publication.path = store.to_owned();
        publication.conversion.output.clone_from(&publication.path);
    }
    tell_warnings(&publication.conversion.input, &publication.conversion.warnings);
    for column in &publication.undescribed {
        eprintln!("mercato-tools: warning: {}: the data have no column `{column}`", folder.display());
    }
    if json {
        return print_json(&publication);
    }
    print_text(&format!(
        "published {} {}: {} rows, {} bytes, in {}\n{}",
        publication.slug,
        publication.version,
        publication.rows,
        publication.bytes,
        publication.path,
        publication.choices
    ))?;
    publication.breaking.iter().try_for_each(|breach| {
        let to = breach.to.as_deref().unwrap_or("nothing");
        print_text(&format!("breaking: column `{}` changes from {} to {to}", breach.column, breach.from))
    })
}

/// The store file of the version that is served now.
fn version_to_append_to(data: &DataDirectory, slug: &Slug, folder: &Path) -> Result<PathBuf, Failure> {
    catalog_publish::current_store(data, slug)?.map(|(_, path)| path).ok_or_else(|| {
        Failure::refused(
            folder.display().to_string(),
            "--append",
            format!("a version of {slug} in the data directory"),
            "none",
            "publish the first version without --append",
        )
    })
}

/// Publishes a version. The catalog sets the output path of `conversion`. Types and source options of the manifest count
/// unless the conversion has others.
///
/// # Errors
/// When the manifest, the version or an input is invalid; nothing has changed then.
pub fn publish(request: &PublishRequest<'_>, mut conversion: Conversion) -> Result<Publication, Failure> {
    let manifest = Manifest::load(request.folder)?;
    for (name, note) in &manifest.columns {
        if let Some(declared) = note.column_type() {
            conversion.text.declared.insert(name.clone(), declared);
        }
    }
    conversion.text.source = conversion.text.source.or(&manifest.source);
    let own = PublicationOptions::from_conversion(&conversion);
    let chosen = request.chosen.as_ref().unwrap_or(&own);
    let version_request = VersionRequest {
        keep: request.keep,
        choices: Some(chosen.choices.clone()),
        allows_breaking: request.allows_breaking,
        ..VersionRequest::new(request.data, request.folder, request.version)
    };
    let mut report = None;
    let published = catalog_publish::publish_by(version_request, |path, promise| {
        // The lock of the dataset is held, so no other publication comes in between.
        let base = || version_to_append_to(request.data, &manifest.slug, request.folder);
        let append_to = if request.appends { Some(base()?) } else { None };
        let conversion = Conversion { output: path.to_path_buf(), append_to, ..conversion };
        let accept = |columns: &[&ColumnSpec]| {
            promise.check(columns.iter().map(|column| (column.name.as_str(), column.kind)))?;
            Ok(())
        };
        report = Some(convert_if(&conversion, &accept)?);
        if manifest.parquet { write_beside(&conversion, &manifest.slug, request.version) } else { Ok(()) }
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
    let known: HashSet<&str> = conversion.columns.iter().map(|column| column.name.as_str()).collect();
    let breach =
        |BreakingChange { column, from, to }: BreakingChange| BreakingChangeLine { column, from, to };
    Ok(Publication {
        slug: published.slug,
        version: published.version.to_string(),
        path: conversion.output.clone(),
        rows: published.rows,
        bytes: published.bytes,
        parquet_bytes: published.parquet_bytes,
        removed: published.removed.iter().map(ToString::to_string).collect(),
        undescribed: described.filter(|name| !known.contains(name.as_str())).cloned().collect(),
        choices: chosen.line(&conversion.absent),
        breaking: published.breaking_changes.into_iter().map(breach).collect(),
        conversion,
    })
}

pub fn run_unpublish(arguments: &UnpublishArguments, json: bool) -> Result<(), Failure> {
    let slug = slug(&arguments.slug)?;
    arguments.location.change(&slug, false, |data| Ok(catalog_publish::unpublish(data, &slug)?))?;
    if json {
        return print_json(&serde_json::json!({ "slug": slug.as_str(), "published": false }));
    }
    print_text(&format!(
        "{slug} is taken down; its files stay, and `mercato-tools republish {slug}` brings it back"
    ))
}

pub fn run_republish(arguments: &RepublishArguments, json: bool) -> Result<(), Failure> {
    let slug = slug(&arguments.slug)?;
    let location = &arguments.location;
    let version = location
        .change(&slug, false, |data| Ok(catalog_publish::republish(data, &slug, location.place.rows())?))?;
    if json {
        let version = version.to_string();
        return print_json(
            &serde_json::json!({ "slug": slug.as_str(), "published": true, "currentVersion": version }),
        );
    }
    print_text(&format!("{slug} is published again and serves version {version}"))
}

pub fn run_rollback(arguments: &RollbackArguments, json: bool) -> Result<(), Failure> {
    let slug = slug(&arguments.slug)?;
    let location = &arguments.location;
    let rows = location.place.rows();
    location.change(&slug, false, |data| Ok(catalog_publish::rollback(data, &slug, &arguments.to, rows)?))?;
    if json {
        let version = arguments.to.to_string();
        return print_json(&serde_json::json!({ "slug": slug.as_str(), "currentVersion": version }));
    }
    print_text(&format!("{slug} serves version {} now", arguments.to))
}

pub fn run_feature(arguments: &FeatureArguments, json: bool) -> Result<(), Failure> {
    let slug = slug(&arguments.slug)?;
    let (featured, said) = match arguments.state {
        FeatureState::On => (Some(true), "stands first in the list"),
        FeatureState::Off => (Some(false), "stands in the list like every other"),
        FeatureState::Auto => (None, "stands in the list as its dataset.toml says"),
    };
    arguments.location.change(&slug, false, |data| Ok(catalog_publish::feature(data, &slug, featured)?))?;
    if json {
        return print_json(&serde_json::json!({ "slug": slug.as_str(), "featured": featured }));
    }
    print_text(&format!("{slug} {said}"))
}

fn parse_keep(text: &str) -> Result<usize, String> {
    let most = catalog_publish::RETAINED_VERSION_COUNT_MAX;
    let found = text.parse().ok().filter(|count| (1..=most).contains(count));
    found.ok_or_else(|| format!("expected a number from 1 to {most}"))
}

pub fn slug(text: &str) -> Result<Slug, Failure> {
    Slug::parse(text).map_err(|error| Failure::Usage(CatalogError::from(error).to_string()))
}

/// The dataset folder, from its path or from the path of its manifest.
fn folder_of(typed: &Path) -> Result<PathBuf, Failure> {
    if typed.is_dir() {
        return Ok(typed.to_path_buf());
    }
    if typed.file_name().is_some_and(|name| name == "dataset.toml") {
        let parent = typed.parent().filter(|parent| !parent.as_os_str().is_empty());
        return Ok(parent.unwrap_or(Path::new(".")).to_path_buf());
    }
    Err(Failure::refused(
        typed.display().to_string(),
        "dataset",
        "a folder with dataset.toml, or that file",
        if typed.exists() { "another file".to_owned() } else { "nothing".to_owned() },
        "name the folder that holds dataset.toml",
    ))
}
