//! The provenance that a publisher states, and the responses that show it.

use serde_json::{Value, json};

use crate::harness::{MANIFEST, Site, city_columns};

const PROVENANCE: &str = r#"contact = "data@town.test"
homepage = "https://town.test/data"
citation = "The town (2026). Cities."
update_frequency = "monthly"
"#;
const TABLES: &str = r#"
[publisher]
name = "The town"
url = "https://town.test"
[coverage]
from = 2024-01-01
to = "2024-12"
places = ["Valdoro", "Roma"]
"#;

#[test]
fn returns_provenance_of_dataset() {
    let site = Site::with_cities();
    let fields = ["publisher", "contact", "homepage", "citation", "coverage", "updateFrequency"];
    let header = || site.get("/api/v1/datasets/cities").json()["data"].clone();
    for field in fields {
        assert_eq!(header().get(field), Some(&Value::Null), "{field}: nothing was said");
    }
    let manifest = MANIFEST.replace("[title]", &format!("{PROVENANCE}[title]")) + TABLES;
    site.publish("cities", &manifest, "1.1.0", &city_columns(6));
    let data = header();
    assert_eq!(data["publisher"], json!({ "name": "The town", "url": "https://town.test" }));
    assert_eq!(
        (&data["contact"], &data["homepage"]),
        (&"data@town.test".into(), &"https://town.test/data".into())
    );
    assert_eq!(
        (&data["citation"], &data["updateFrequency"]),
        (&"The town (2026). Cities.".into(), &"monthly".into())
    );
    assert_eq!(
        data["coverage"],
        json!({ "from": "2024-01-01", "to": "2024-12", "places": ["Valdoro", "Roma"] })
    );
}

#[test]
fn describes_provenance_in_schema_org_terms() {
    let site = Site::with_cities();
    let described = || site.get("/api/v1/datasets/cities/croissant").json();
    for absent in [
        "publisher",
        "creator",
        "sameAs",
        "citeAs",
        "temporalCoverage",
        "spatialCoverage",
        "dct:accrualPeriodicity",
    ] {
        assert!(described().get(absent).is_none(), "{absent}");
    }
    let manifest = MANIFEST.replace("[title]", &format!("{PROVENANCE}[title]")) + TABLES;
    site.publish("cities", &manifest, "1.1.0", &city_columns(6));
    let data = described();
    let contact = json!({ "@type": "ContactPoint", "email": "data@town.test" });
    assert_eq!(
        data["publisher"],
        json!({ "@type": "Organization", "name": "The town", "url": "https://town.test", "contactPoint": contact })
    );
    assert_eq!(data["creator"], data["publisher"]);
    assert_eq!(
        (&data["sameAs"], &data["citeAs"]),
        (&"https://town.test/data".into(), &"The town (2026). Cities.".into())
    );
    assert_eq!(data["temporalCoverage"], "2024-01-01/2024-12");
    assert_eq!(data["spatialCoverage"][1], json!({ "@type": "Place", "name": "Roma" }));
    let monthly = "http://publications.europa.eu/resource/authority/frequency/MONTHLY";
    assert_eq!(data["dct:accrualPeriodicity"], json!({ "@id": monthly }));
}

#[test]
fn leaves_missing_end_of_coverage_open() {
    let site = Site::with_cities();
    for (version, coverage, expected) in
        [("1.1.0", "from = \"2020\"", "2020/.."), ("1.2.0", "to = \"2020\"", "../2020")]
    {
        site.publish("cities", &format!("{MANIFEST}[coverage]\n{coverage}\n"), version, &city_columns(2));
        let data = site.get("/api/v1/datasets/cities/croissant").json();
        assert_eq!(data["temporalCoverage"], expected);
        assert!(data.get("spatialCoverage").is_none());
    }
}
