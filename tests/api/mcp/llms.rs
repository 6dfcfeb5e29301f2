//! `/llms.txt`: links that lead somewhere, names that cannot break out, and a bound.

use crate::harness::{Ask, MANIFEST, Site, city_columns, wait_until};

/// The addresses of Markdown links.
fn links(text: &str) -> Vec<String> {
    text.split("](").skip(1).map(|rest| rest.split_once(')').unwrap().0.to_owned()).collect()
}

#[test]
fn leads_to_api_tools_and_datasets() {
    let site = Site::with_cities();
    wait_until("search is ready", || site.get("/api/v1/datasets/search?q=cities").status == 200);
    let answer = site.get("/llms.txt");
    assert_eq!((answer.status, answer.header("Content-Type")), (200, Some("text/plain; charset=utf-8")));
    assert!(answer.header("Cache-Control").unwrap().starts_with("public"));
    let text = answer.text();
    assert!(text.starts_with("# mercato\n\n> "), "{text}");
    for word in [
        "/mcp)",
        "query_rows, aggregate_rows",
        "X-Api-Key",
        "5.00 EUR",
        "100 free queries",
        "`cities`, 6 rows. Some cities",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
    for link in links(&text) {
        let target = link.strip_prefix("http://mercato.test").unwrap_or_else(|| panic!("{link}"));
        let expected = if target == "/mcp" { 405 } else { 200 };
        let ask = Ask::get(target).header("Accept", "text/html, application/json;q=0.9");
        let status = site.send(&ask).status;
        assert!(status == expected || target.starts_with("/account/") && status == 303, "{target}: {status}");
    }
    let tag = answer.header("ETag").unwrap();
    assert_eq!(site.send(&Ask::get("/llms.txt").header("If-None-Match", tag)).status, 304);
    assert_eq!(site.get("/llms.txt?x=1").status, 400);
    assert_eq!(site.get("/robots.txt").text().matches("llms").count(), 0);
}

#[test]
fn makes_plain_words_of_hostile_titles_and_names_bounded_number() {
    let site = Site::empty(&["--requests-per-minute", "0", "--requests-per-day", "0"]);
    let data = site.data();
    for number in 0..103 {
        let manifest = MANIFEST
            .replace("\"cities\"", &format!("\"d{number:03}\""))
            .replace("en = \"Cities\"", r##"en = "A](https://evil.test) # [x <b>""##)
            .replace(
                "en = \"Some cities\"",
                r##"en = """one
# Heading
[two](https://evil.test)""""##,
            );
        crate::harness::publish_files(&data, &manifest, "1.0.0", &city_columns(1), &[]);
    }
    wait_until("all are served", || site.get("/api/v1/datasets").json()["data"]["total"] == 103);
    let text = site.get("/llms.txt").text();
    assert!(text.len() < 100_000, "{}", text.len());
    assert_eq!(text.lines().filter(|line| line.contains("`d")).count(), 100);
    assert!(text.contains("- and 3 others in the list of all"));
    assert_eq!(text.lines().filter(|line| line.starts_with('#')).count(), 4, "{}", &text[..2_000]);
    assert!(
        !text.contains(" [two](") && text.contains("A\\](https://evil.test) # \\[x \\<b\\>"),
        "{}",
        &text[..2_000]
    );
}

#[test]
fn presents_place_by_its_branding_under_public_address() {
    let folder = tempfile::tempdir().unwrap();
    let texts = "name = \"Open [Data]\"\n[tagline]\nen = \"All about trains\"\n[about]\nen = \"First.\\n\\nSecond.\"\n";
    std::fs::write(folder.path().join("site.toml"), texts).unwrap();
    let site = Site::over(folder, &["--public-url", "https://data.example.org/market"]);
    let text = site.get("/llms.txt").text();
    assert!(
        text.starts_with("# Open \\[Data\\]\n\n> All about trains\n\nFirst. Second.\n\n0 datasets"),
        "{text}"
    );
    assert!(links(&text).iter().all(|link| link.starts_with("https://data.example.org/market/")), "{text}");
    assert!(!text.contains("## Datasets"));
}
