//! The commands `datasets list` and `datasets show`: the catalog of a data directory, as a server loads it.

use clap::{Args, Subcommand};
use mercato_catalog::{Catalog, DataDirectory, Dataset, Entry};
use serde::Serialize;

use super::catalog_location::CatalogPlace;
use super::publish::slug;
use super::{print_json, print_text};
use crate::failure::Failure;

/// Show the datasets of a data directory.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mercato-tools datasets list --data /var/lib/mercato
  mercato-tools datasets show sales --data /var/lib/mercato --json")]
pub struct DatasetsArguments {
    /// The list or dataset to show.
    #[command(subcommand)]
    pub command: DatasetsCommand,
}

/// The list or dataset to show.
#[derive(Debug, Subcommand)]
pub enum DatasetsCommand {
    /// All datasets, featured ones first.
    List {
        /// Where the catalogue is.
        #[command(flatten)]
        place: CatalogPlace,
    },
    /// One dataset with its versions and columns.
    Show {
        /// The dataset.
        #[arg(value_name = "SLUG")]
        slug: String,
        /// Where the catalogue is.
        #[command(flatten)]
        place: CatalogPlace,
    },
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Listing {
    datasets: Vec<Summary>,
    quarantined: Vec<Problem>,
    /// Datasets with a problem, for example one that is served in an older version.
    warnings: Vec<Problem>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    slug: String,
    title: Option<String>,
    featured: bool,
    current_version: String,
    versions: Vec<String>,
    rows: u32,
    bytes: u64,
    updated_at: String,
}

#[derive(Debug, Serialize)]
struct Problem {
    slug: String,
    reason: String,
}

#[derive(Debug, Serialize)]
struct Details {
    #[serde(flatten)]
    summary: Summary,
    path: String,
    fingerprint: String,
    damaged: Vec<Problem>,
    columns: Vec<ColumnLine>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ColumnLine {
    name: String,
    r#type: &'static str,
    source_type: String,
    description: Option<String>,
}

pub fn run(arguments: &DatasetsArguments, json: bool) -> Result<(), Failure> {
    match &arguments.command {
        DatasetsCommand::List { place } => {
            let (data, _folder) = place.read()?;
            list(&open(&data)?, json)
        }
        DatasetsCommand::Show { slug: name, place } => {
            let (data, _folder) = place.read()?;
            show(&open(&data)?, name, json)
        }
    }
}

fn open(data: &DataDirectory) -> Result<Catalog, Failure> {
    if !data.root().is_dir() {
        let absent = std::io::Error::from(std::io::ErrorKind::NotFound);
        return Err(Failure::io(data.root(), "read the data directory")(absent));
    }
    Ok(Catalog::open(data.clone())?)
}

fn list(catalog: &Catalog, json: bool) -> Result<(), Failure> {
    let snapshot = catalog.snapshot();
    let problems = snapshot.quarantined();
    let listing = Listing {
        datasets: snapshot.datasets().iter().map(|dataset| summary(dataset)).collect(),
        quarantined: problems
            .into_iter()
            .map(|(slug, reason)| Problem { slug: slug.to_string(), reason: reason.to_owned() })
            .collect(),
        warnings: snapshot
            .warnings()
            .into_iter()
            .map(|warning| Problem { slug: warning.slug, reason: warning.reason })
            .collect(),
    };
    if json {
        return print_json(&listing);
    }
    for dataset in &listing.datasets {
        let title = dataset.title.as_deref().unwrap_or("-");
        print_text(&format!(
            "{:32} {:10} {:>12} rows {:>14} bytes  {title}",
            dataset.slug, dataset.current_version, dataset.rows, dataset.bytes
        ))?;
    }
    let told = |problems: &[Problem], word: &str| {
        problems
            .iter()
            .try_for_each(|problem| print_text(&format!("{:32} {word}: {}", problem.slug, problem.reason)))
    };
    told(&listing.warnings, "WARNING")?;
    told(&listing.quarantined, "DAMAGED")
}

fn show(catalog: &Catalog, name: &str, json: bool) -> Result<(), Failure> {
    let slug = slug(name)?;
    let snapshot = catalog.snapshot();
    let refused = |found: String, remedy: &str| {
        Failure::refused(
            catalog.directory().root().display().to_string(),
            format!("dataset {slug}"),
            "a published dataset",
            found,
            remedy,
        )
    };
    let dataset = match snapshot.get(slug.as_str()) {
        Some(Entry::Serving(dataset)) => dataset,
        Some(Entry::Quarantined { reason }) => return Err(refused(reason.clone(), "publish it again")),
        None => return Err(refused("none".into(), "see `datasets list`")),
    };
    let details = details(dataset);
    if json {
        return print_json(&details);
    }
    let Details { summary, path, columns, .. } = &details;
    print_text(&format!(
        "{} {} ({}): {} rows, {} bytes, in {path}\nversions kept: {}\n",
        summary.slug,
        summary.current_version,
        summary.title.as_deref().unwrap_or("-"),
        summary.rows,
        summary.bytes,
        summary.versions.join(", ")
    ))?;
    columns.iter().try_for_each(|column| {
        let description = column.description.as_deref().unwrap_or("");
        print_text(&format!("{:32} {:8} {:28} {description}", column.name, column.r#type, column.source_type))
    })
}

fn summary(dataset: &Dataset) -> Summary {
    Summary {
        slug: dataset.slug().to_owned(),
        title: dataset.manifest.title.choose(None).map(str::to_owned),
        featured: dataset.manifest.featured,
        current_version: dataset.current.version.to_string(),
        versions: dataset.versions.iter().map(|version| version.version.to_string()).collect(),
        rows: dataset.current.table.row_count(),
        bytes: dataset.current.table.file_bytes(),
        updated_at: dataset.updated_at.rfc3339(),
    }
}

fn details(dataset: &Dataset) -> Details {
    let notes = &dataset.manifest.columns;
    let columns = dataset.current.table.columns().iter().map(|column| ColumnLine {
        name: column.name.clone(),
        r#type: column.kind.logical().name(),
        source_type: column.source_type.clone(),
        description: notes
            .get(&column.name)
            .and_then(|note| note.description.choose(None))
            .map(str::to_owned),
    });
    let damaged = dataset.damaged.iter();
    Details {
        summary: summary(dataset),
        path: dataset.current.path.display().to_string(),
        fingerprint: dataset.current.table.fingerprint().to_string(),
        damaged: damaged
            .map(|(version, why)| Problem { slug: version.to_string(), reason: why.clone() })
            .collect(),
        columns: columns.collect(),
    }
}
