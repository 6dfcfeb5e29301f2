//! The dataset folders of the demo: manifest, methodology and changelog of each table. Knows no data.

use std::fs;
use std::path::Path;

use super::tables::Table;
use crate::failure::Failure;

const METHODOLOGY: &str = include_str!("../../demo/methodology.md");
const CHANGELOG: &str = include_str!("../../demo/changelog.md");

/// Writes the folder that `publish` takes.
///
/// # Errors
/// When it cannot be written.
pub fn write(table: Table, scale: f64, folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(Failure::io(folder, "create"))?;
    let fill = |text: &str| text.replace("{table}", table.name()).replace("{scale}", &scale.to_string());
    for (name, text) in [
        ("dataset.toml", manifest(table).to_owned()),
        ("methodology.md", fill(METHODOLOGY)),
        ("changelog.md", fill(CHANGELOG)),
    ] {
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
            let schema = table.schema();
            let described: Vec<_> = manifest.columns.keys().map(String::as_str).collect();
            let mut columns: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
            columns.sort_unstable();
            assert_eq!(described, columns);
            let text = fs::read_to_string(folder.path().join("methodology.md")).unwrap();
            assert!(text.contains(table.name()) && text.contains("0.1") && !text.contains('{'));
        }
    }
}
