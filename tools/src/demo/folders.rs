//! The dataset folders of the demo: manifest, methodology and changelog of each table, the texts in English and Italian.
//! Knows no data.

use std::fs;
use std::path::Path;

use super::open::OpenTable;
use super::tables::Table;
use crate::failure::Failure;

const METHODOLOGY: &str = include_str!("../../demo/methodology.md");
const CHANGELOG: &str = include_str!("../../demo/changelog.md");
const OPEN_METHODOLOGY: &str = include_str!("../../demo/open/methodology.md");
const OPEN_CHANGELOG: &str = include_str!("../../demo/open/changelog.md");

/// Writes the folder that `publish` takes.
///
/// # Errors
/// When it cannot be written.
pub fn write(table: Table, scale: f64, folder: &Path) -> Result<(), Failure> {
    let fill = |text: &str| text.replace("{table}", table.name()).replace("{scale}", &scale.to_string());
    write_texts(folder, manifest(table), fill(METHODOLOGY), fill(CHANGELOG))
}

/// The same for a made-up table of so many rows.
///
/// # Errors
/// When it cannot be written.
pub fn write_open(table: &OpenTable, rows: usize, folder: &Path) -> Result<(), Failure> {
    let (english, italian) = table.notes.split_once("\n---\n").unwrap_or((table.notes, ""));
    let fill = |text: &str| {
        let text = text.replace("{table}", table.slug).replace("{rows}", &rows.to_string());
        text.replace("{english}", english.trim()).replace("{italian}", italian.trim())
    };
    write_texts(folder, table.manifest, fill(OPEN_METHODOLOGY), fill(OPEN_CHANGELOG))
}

fn write_texts(folder: &Path, manifest: &str, methodology: String, changelog: String) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(Failure::io(folder, "create"))?;
    for (name, text) in
        [("dataset.toml", manifest.to_owned()), ("methodology.md", methodology), ("changelog.md", changelog)]
    {
        let path = folder.join(name);
        fs::write(&path, text).map_err(Failure::io(&path, "write"))?;
    }
    Ok(())
}

fn manifest(table: Table) -> &'static str {
    match table {
        Table::LineItem => include_str!("../../demo/lineitem/dataset.toml"),
        Table::Orders => include_str!("../../demo/orders/dataset.toml"),
        Table::Customer => include_str!("../../demo/customer/dataset.toml"),
        Table::Part => include_str!("../../demo/part/dataset.toml"),
        Table::PartSupp => include_str!("../../demo/partsupp/dataset.toml"),
        Table::Supplier => include_str!("../../demo/supplier/dataset.toml"),
        Table::Nation => include_str!("../../demo/nation/dataset.toml"),
        Table::Region => include_str!("../../demo/region/dataset.toml"),
    }
}

#[cfg(test)]
mod tests {
    use mercato::catalog::Manifest;

    use super::*;

    #[test]
    fn every_manifest_is_valid_and_describes_every_column_in_two_languages() {
        for table in Table::ALL {
            let folder = tempfile::tempdir().unwrap();
            write(table, 0.1, folder.path()).unwrap();
            let manifest = Manifest::load(folder.path()).unwrap();
            assert_eq!(manifest.slug.as_str(), format!("tpch-{}", table.name()));
            assert!(manifest.title.it.is_some() && manifest.description.it.is_some());
            assert!(manifest.provenance.publisher.is_some() && manifest.provenance.citation.is_some());
            let schema = table.schema();
            let described: Vec<_> = manifest.columns.keys().map(String::as_str).collect();
            let mut columns: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
            columns.sort_unstable();
            assert_eq!(described, columns);
            let text = fs::read_to_string(folder.path().join("methodology.md")).unwrap();
            assert!(text.contains(table.name()) && text.contains("0.1") && !text.contains('{'));
            assert!(text.contains("# Metodologia"));
        }
    }

    #[test]
    fn a_made_up_table_says_so_in_two_languages_and_describes_every_column() {
        for table in OpenTable::ALL {
            let folder = tempfile::tempdir().unwrap();
            let batch = table.batch().unwrap();
            write_open(&table, batch.num_rows(), folder.path()).unwrap();
            let manifest = Manifest::load(folder.path()).unwrap();
            assert_eq!(manifest.slug.as_str(), table.slug);
            let (english, italian) = (&manifest.description.en, &manifest.description.it);
            assert!(english.as_ref().unwrap().contains("Generated for demonstration."), "{}", table.slug);
            assert!(italian.as_ref().unwrap().contains("dimostrativo"), "{}", table.slug);
            let coverage = manifest.provenance.coverage.unwrap();
            assert_eq!(coverage.places, ["Valdoro"], "{}", table.slug);
            assert!(manifest.provenance.update_frequency.is_some() && manifest.provenance.contact.is_some());
            let described: Vec<&str> = manifest.columns.keys().map(String::as_str).collect();
            let schema = batch.schema();
            let is_described = |name: &str| {
                described.iter().any(|other| *other == name || other.starts_with(&format!("{name}.")))
            };
            assert!(schema.fields().iter().all(|field| is_described(field.name())), "{}", table.slug);
            let methodology = fs::read_to_string(folder.path().join("methodology.md")).unwrap();
            assert!(!methodology.contains('{') && methodology.contains("# Metodologia"));
            let changelog = fs::read_to_string(folder.path().join("changelog.md")).unwrap();
            assert_eq!(mercato::catalog::parse_changelog(&changelog).len(), 1);
        }
    }
}
