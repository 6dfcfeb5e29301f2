//! `site.toml`: its effect on pages, and faults that stop the start.

use super::{ask, open, security::check_harmless};
use crate::harness::{Site, city_columns, publish_files};

const SITE: &str = r##"name = "Valdoro <open> data"
contact = "data@town.test"
logo = "town.svg"
card = "town.png"
accent = "#8a0b5c"
[tagline]
en = "Data of the town"
it = "I dati della città"
[about]
en = "First paragraph.\n\nSecond & last."
[[links]]
title = { en = "Privacy", it = "Riservatezza" }
url = "https://town.test/privacy?a=1&b=2"
"##;

/// The beginning of a PNG of that size.
fn png(width: u32, height: u32) -> Vec<u8> {
    [b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".as_slice(), &width.to_be_bytes(), &height.to_be_bytes()].concat()
}

/// The picture that previews of links to a page show: its address, and the file behind it.
fn preview(site: &Site, target: &str) -> (String, Vec<u8>) {
    let page = open(site, target);
    let told = |name: &str| {
        let meta = page.one(&format!("meta[property=og:image{name}]"));
        meta.attribute("content").unwrap().to_owned()
    };
    assert_eq!([told(":type"), told(":width"), told(":height")], ["image/png", "1200", "630"]);
    let picture = site.get(told("").strip_prefix("http://mercato.test").expect("a whole address"));
    assert_eq!((picture.status, picture.header("Content-Type")), (200, Some("image/png")));
    (told(""), picture.body)
}

#[test]
fn previews_links_with_a_png_of_1200_by_630() {
    let site = Site::with_cities();
    let (address, bytes) = preview(&site, "/");
    assert!(bytes.starts_with(&png(1200, 630)) && bytes.len() <= 150 * 1024, "{} bytes", bytes.len());
    assert_eq!(preview(&site, "/datasets/cities?lang=it").0, address);
    assert_eq!(preview(&place(), "/").1, png(1200, 630), "the picture of the place");
}

fn place() -> Site {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("site.toml"), SITE).unwrap();
    let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>";
    std::fs::write(folder.path().join("town.svg"), svg).unwrap();
    std::fs::write(folder.path().join("town.png"), png(1200, 630)).unwrap();
    Site::over(folder, &[])
}

#[test]
fn applies_branding_to_every_page() {
    let site = place();
    let page = open(&site, "/");
    check_harmless("/", &page);
    assert_eq!(page.one("header .place").line(), "Valdoro <open> data");
    assert_eq!(page.one("title").line(), "Valdoro <open> data · Data of the town");
    assert_eq!(page.one("h1").line(), "Data of the town");
    let texts: Vec<_> = page.select("main .hero p").iter().map(|text| text.line()).collect();
    assert_eq!(&texts[..2], ["First paragraph.", "Second & last."]);
    assert_eq!(page.one("footer a[href=mailto:data@town.test]").line(), "data@town.test");
    assert_eq!(page.one("footer a[href=https://town.test/privacy?a=1&b=2]").line(), "Privacy");
    let logo = page.one("header img").attribute("src").unwrap();
    let picture = site.get(logo);
    assert_eq!(picture.header("Content-Type"), Some("image/svg+xml"));
    assert!(picture.header("Content-Security-Policy").unwrap().contains("default-src 'none'"));
    let accent = page.select("link[rel=stylesheet]")[1].attribute("href").unwrap();
    let colours = site.get(accent);
    assert!(colours.text().starts_with(":root{--accent:#8a0b5c}"), "{}", colours.text());
    assert_eq!(colours.header("Cache-Control"), Some("public, max-age=31536000, immutable"));
    let italian = open(&site, "/?lang=it");
    assert_eq!(italian.one("h1").line(), "I dati della città");
    assert_eq!(italian.one("footer a[href=https://town.test/privacy?a=1&b=2]").line(), "Riservatezza");
    assert!(open(&site, "/pricing").one("main").line().contains("contact data@town.test."));
}

#[test]
fn refuses_to_start_with_invalid_branding() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("site.toml");
    std::fs::write(folder.path().join("small.png"), png(600, 315)).unwrap();
    std::fs::write(folder.path().join("logo.svg"), "<svg/>").unwrap();
    for (text, place, words) in [
        ("name = \"x\"\naccent = \"#ffee00\"\n", ":2:10: ", "take a darker colour"),
        ("colour = \"#000000\"\n", ":1:1: ", "unknown field `colour`, expected one of"),
        ("logo = \"absent.png\"\n", ":1:8: ", "put the picture there"),
        ("card = \"small.png\"\n", ":1:8: ", "expected a PNG of 1200 × 630 pixels, found 600 × 315"),
        ("card = \"logo.svg\"\n", ":1:8: ", "found another kind of file; draw it in that size"),
    ] {
        std::fs::write(&path, text).unwrap();
        let reason = Site::refusal_to_start(folder.path());
        let begin = format!("{}{place}", path.display());
        assert!(reason.starts_with(&begin) && reason.contains(words), "{reason}");
    }
    std::fs::remove_file(&path).unwrap();
    publish_files(
        &Site::at(folder.path(), &[]).data(),
        crate::harness::MANIFEST,
        "1.0.0",
        &city_columns(2),
        &[],
    );
}

#[test]
fn prefixes_links_with_path_of_public_url() {
    let site = Site::empty(&["--public-url", "https://data.example.org/market"]);
    let page = open(&site, "/datasets");
    for element in page.all() {
        for name in ["href", "src", "action"] {
            let Some(link) = element.attribute(name).filter(|link| link.starts_with('/')) else { continue };
            assert!(link.starts_with("/market/"), "{link}");
        }
    }
    assert_eq!(site.send(&ask("/datasets")).status, 200, "the proxy strips the path");
}
