//! Writes the dataset folders of the demo: manifest, methodology and changelog of each table, in English and Italian.
//! Does not depend on the data.

use std::fs;
use std::path::Path;

use super::open::OpenTable;
use super::tables::Table;
use crate::failure::Failure;

const CHANGELOG: &str = include_str!("../../demo/changelog.md");
const OPEN_CHANGELOG: &str = include_str!("../../demo/open/changelog.md");

/// Writes the folder that `publish` takes.
pub fn write(table: Table, scale: f64, folder: &Path) -> Result<(), Failure> {
    let fill = |text: &str| text.replace("{table}", table.name()).replace("{scale}", &scale.to_string());
    let (manifest, methodology) = texts(table);
    write_texts(folder, manifest, fill(methodology), fill(CHANGELOG))
}

/// Writes the folder of a generated table with `rows` rows.
pub fn write_open(table: &OpenTable, rows: usize, folder: &Path) -> Result<(), Failure> {
    let fill = |text: &str| text.replace("{table}", table.slug).replace("{rows}", &rows.to_string());
    write_texts(folder, table.manifest, fill(table.methodology), fill(OPEN_CHANGELOG))
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

/// The manifest and the methodology of a table.
fn texts(table: Table) -> (&'static str, &'static str) {
    macro_rules! texts {
        ($name:literal) => {
            (
                include_str!(concat!("../../demo/", $name, "/dataset.toml")),
                include_str!(concat!("../../demo/", $name, "/methodology.md")),
            )
        };
    }
    match table {
        Table::LineItem => texts!("lineitem"),
        Table::Orders => texts!("orders"),
        Table::DemoAccount => texts!("customer"),
        Table::Part => texts!("part"),
        Table::PartSupp => texts!("partsupp"),
        Table::Supplier => texts!("supplier"),
        Table::Nation => texts!("nation"),
        Table::Region => texts!("region"),
    }
}

#[cfg(test)]
mod tests {
    use crate::evaluation::{EvaluationDataset, EvaluationQuery, EvaluationSet, Models, Report, evaluate};
    use mercato_catalog::Manifest;
    use mercato_search::lexicon::Lexicon;

    use super::*;

    #[test]
    fn manifests_are_valid_and_bilingual() {
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

    /// Evaluates the search over the demo datasets. Each question has its text and its expected first result.
    fn demo_asked(questions: &[(&str, &str)]) -> Vec<(String, Report)> {
        let folder = tempfile::tempdir().unwrap();
        let mut folders: Vec<_> = Table::ALL.iter().map(|table| folder.path().join(table.name())).collect();
        Table::ALL.iter().zip(&folders).for_each(|(table, folder)| write(*table, 0.1, folder).unwrap());
        for table in OpenTable::ALL {
            folders.push(folder.path().join(table.slug));
            write_open(&table, 1, folders.last().unwrap()).unwrap();
        }
        let datasets = folders.iter().map(|folder| {
            let manifest = Manifest::load(folder).unwrap();
            EvaluationDataset {
                slug: manifest.slug.as_str().to_owned(),
                title: manifest.title,
                description: manifest.description,
                tags: manifest.tags,
                columns: manifest.columns.into_keys().collect(),
                methodology: fs::read_to_string(folder.join("methodology.md")).unwrap(),
            }
        });
        let mut set = EvaluationSet { datasets: datasets.collect(), queries: Vec::new() };
        let mut judged = Vec::new();
        for (question, first) in questions {
            let relevant = vec![(*first).to_owned()];
            set.queries = vec![EvaluationQuery {
                q: (*question).to_owned(),
                lang: None,
                kind: String::new(),
                relevant,
            }];
            judged.push((
                (*question).to_owned(),
                evaluate(&set, &Lexicon::builtin(), Models::default()).unwrap(),
            ));
        }
        judged
    }

    #[test]
    fn short_queries_find_their_demo_dataset() {
        let questions = [
            ("climate change", "weather-daily"),
            ("books borrowed", "library-loans"),
            ("air quality", "air-quality-stations"),
            ("drinking water", "water-quality-samples"),
            ("train delays", "train-punctuality"),
            ("hotel guests", "tourism-arrivals"),
            ("cambiamento climatico", "weather-daily"),
            ("libri prestati", "library-loans"),
        ];
        for (question, report) in demo_asked(&questions) {
            assert_eq!(report.all.mrr, 1.0, "{question}: {report:?}");
            assert!(report.all.found <= 3.0, "{question}: {report:?}");
        }
    }

    #[test]
    fn methodologies_share_no_sentence() {
        let open = OpenTable::ALL.iter().map(|table| table.methodology);
        let texts: Vec<&str> = Table::ALL.iter().map(|table| texts(*table).1).chain(open).collect();
        let mut seen = std::collections::BTreeMap::new();
        for (number, text) in texts.iter().enumerate() {
            let paragraphs = text.split("\n\n").filter(|paragraph| paragraph.split(' ').count() > 8);
            for paragraph in paragraphs {
                let other = seen.insert(paragraph, number);
                assert_eq!(other, None, "{paragraph}");
            }
        }
    }

    #[test]
    fn generated_tables_are_labelled_and_described() {
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
            assert_eq!(mercato_catalog::parse_changelog(&changelog).len(), 1);
        }
    }
}
