//! Valid and invalid forms of `site.toml`, and the messages of the invalid ones.

use super::*;
use crate::limits::branding::PACKS_MAX;

fn parse(text: &str) -> Result<Branding, BrandingError> {
    Branding::parse(text, Path::new("site.toml"), Path::new("."))
}

#[test]
fn accepts_empty_and_absent_file() {
    assert_eq!(parse("").unwrap(), Branding::default());
    let folder = tempfile::tempdir().unwrap();
    let absent = Branding::load(&folder.path().join("site.toml"), folder.path()).unwrap();
    assert_eq!(absent.name, "mercato");
}

#[test]
fn reads_every_field() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("town.svg"), "\n<svg xmlns=\"http://www.w3.org/2000/svg\"/>").unwrap();
    let path = folder.path().join("site.toml");
    std::fs::write(
        &path,
        "name = \" Valdoro \"\ncontact = \"data@town.test\"\nlogo = \"town.svg\"\naccent = \"#0b5c8a\"\n\
         [tagline]\nen = \"Open data\"\nit = \"Dati aperti\"\n[about]\nen = \"One.\\n\\nTwo.\"\n\
         [[links]]\ntitle = { en = \"Privacy\" }\nurl = \"https://town.test/privacy\"\n",
    )
    .unwrap();
    let branding = Branding::load(&path, folder.path()).unwrap();
    assert_eq!(branding.name, "Valdoro");
    assert_eq!(branding.contact.unwrap().address, "mailto:data@town.test");
    assert_eq!(branding.tagline.it.as_deref(), Some("Dati aperti"));
    assert_eq!(branding.links.len(), 1);
    let logo = branding.logo.unwrap();
    assert!(logo.file().starts_with("logo.") && logo.file().ends_with(".svg"));
    assert_eq!(logo.content_type(), "image/svg+xml");
    assert!(branding.accent.unwrap().css().contains("#0b5c8a"));
}

/// Refused at that line and column, with all of these words.
#[track_caller]
fn check_refused(text: &str, place: &str, words: &[&str]) {
    let message = parse(text).unwrap_err().to_string();
    assert!(message.starts_with(&format!("site.toml:{place}: ")), "{message}");
    for word in words {
        assert!(message.contains(word), "{message}: {word}");
    }
}

#[test]
fn refuses_bad_field_with_place_expected_found_and_remedy() {
    check_refused("nam = \"x\"\n", "1:1", &["nam", "expected"]);
    check_refused(
        "name = \"\"\n",
        "1:8",
        &["name: expected one line of 1 to", "found nothing; change the text"],
    );
    check_refused("name = \"a\\nb\"\n", "1:8", &["one line"]);
    check_refused("name = 5\n", "1:8", &["expected a string"]);
    check_refused("\naccent = \"#eee\"\n", "2:10", &["accent: expected a colour", "found `#eee`; write"]);
    check_refused("accent = \"#eeeeee\"\n", "1:10", &["contrast", "take a darker colour"]);
    check_refused("contact = \"me\"\n", "1:11", &["e-mail address", "found `me`; write"]);
    check_refused("contact = \"javascript:alert(1)@a.b\"\n", "1:11", &["found `javascript:"]);
    check_refused("tagline = \"x\"\n", "1:11", &["expected a table of texts"]);
    check_refused("tagline = { en = \"\" }\n", "1:11", &["tagline: expected 1 to", "found 0"]);
    let link = |url: &str| format!("[[links]]\ntitle = {{ en = \"x\" }}\nurl = \"{url}\"\n");
    for url in ["javascript:alert(1)", "/privacy", "https://", "https:///x", "https://a b", "https://a<b"] {
        check_refused(&link(url), "3:7", &["links.url: expected an address that begins with https://"]);
    }
    check_refused(
        "[[links]]\ntitle = {}\nurl = \"https://a.test\"\n",
        "2:9",
        &["links.title: expected `en`"],
    );
    check_refused(
        &link("https://a.test").repeat(LINKS_MAX + 1),
        "39:7",
        &["links: expected at most 12, found 13"],
    );
    for logo in ["../secret.svg", "/etc/logo.svg", "logo.gif", "logo", "a/../b.png"] {
        check_refused(
            &format!("logo = \"{logo}\"\n"),
            "1:8",
            &["logo: expected a file of the data directory", logo],
        );
    }
    check_refused(
        "logo = \"absent.svg\"\n",
        "1:8",
        &["logo: expected a readable file", "put the picture there"],
    );
}

#[test]
fn refuses_oversized_file_non_text_and_mistyped_logo() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("site.toml");
    std::fs::write(&path, " ".repeat(usize::try_from(SITE_FILE_BYTES_MAX).unwrap() + 1)).unwrap();
    let large = Branding::load(&path, folder.path()).unwrap_err().to_string();
    assert!(large.contains("expected at most 65536 bytes, found more; shorten"), "{large}");
    std::fs::write(&path, b"name = \"\xff\"").unwrap();
    assert!(Branding::load(&path, folder.path()).unwrap_err().to_string().contains("cannot read it"));
    std::fs::write(&path, "logo = \"logo.png\"\n").unwrap();
    std::fs::write(folder.path().join("logo.png"), "<svg/>").unwrap();
    let other = Branding::load(&path, folder.path()).unwrap_err().to_string();
    assert!(other.contains("logo: expected a png picture"), "{other}");
}

#[test]
fn offers_packs_at_list_price_by_default() {
    let sale = parse("").unwrap().sale;
    let cents: Vec<_> = sale.packs.iter().map(|pack| (pack.credits, pack.cents)).collect();
    assert_eq!((sale.vat_basis_points, cents), (0, vec![(2_000, 1_000), (10_000, 5_000), (100_000, 50_000)]));
}

#[test]
fn reads_packs_tax_and_seller() {
    let sale = parse(
        "[credits]\ncurrency = \"EUR\"\nvat_percent = 22\n\
         [credits.seller]\nname = \"Town\"\naddress = \"Piazza 1\\n 12345 Valdoro \"\nvat_number = \"IT01\"\n\
         [[credits.packs]]\ncredits = 1_000\n[[credits.packs]]\ncredits = 50_000\ncents = 20_000\n",
    )
    .unwrap()
    .sale;
    assert_eq!(sale.packs, [Pack { credits: 1_000, cents: 500 }, Pack { credits: 50_000, cents: 20_000 }]);
    assert_eq!((sale.vat_basis_points, sale.pack(50_000).map(|pack| pack.cents)), (2_200, Some(20_000)));
    assert_eq!(sale.pack(7), None);
    assert_eq!(sale.seller.address, ["Piazza 1", "12345 Valdoro"]);
    assert_eq!(
        (sale.seller.name.as_deref(), sale.seller.vat_number.as_deref()),
        (Some("Town"), Some("IT01"))
    );
    for (typed, points) in [("8.1", 810), ("0", 0), ("100", 10_000), ("19.99", 1_999)] {
        let sale = parse(&format!("[credits]\nvat_percent = {typed}\n")).unwrap().sale;
        assert_eq!(sale.vat_basis_points, points, "{typed}");
    }
}

#[test]
fn refuses_bad_sale() {
    for typed in ["-1", "100.01", "22.123", "nan", "inf"] {
        check_refused(
            &format!("[credits]\nvat_percent = {typed}\n"),
            "2:15",
            &["credits.vat_percent: expected 0 to 100"],
        );
    }
    check_refused("[credits]\ncurrency = \"USD\"\n", "2:12", &["expected `EUR`, found `USD`"]);
    let pack = |fields: &str| format!("[[credits.packs]]\n{fields}\n");
    check_refused(&pack("credits = 0"), "2:11", &["credits.packs.credits: expected 1 to"]);
    check_refused(&pack("credits = 5"), "2:11", &["credits.packs.cents: expected 50 to", "found 3"]);
    check_refused(&pack("credits = 5\ncents = 49"), "3:9", &["found 49"]);
    check_refused(&pack("credits = 5\ncents = 50_000_000"), "3:9", &["found 50000000"]);
    check_refused(&pack("credits = 5\ncents = -1"), "3:9", &["invalid value"]);
    check_refused(&pack("credits = 500\nprice = 5"), "3:1", &["price"]);
    check_refused(&pack("credits = 500").repeat(2), "4:11", &["found 500 twice"]);
    let many: String =
        (1..=PACKS_MAX + 1).map(|number| pack(&format!("credits = {}", number * 500))).collect();
    check_refused(&many, "26:11", &["credits.packs: expected at most 12, found 13"]);
    check_refused("[credits.seller]\naddress = \"\"\n", "2:11", &["expected 1 to 8 lines"]);
    check_refused("[credits.seller]\nvat_number = \"a\\nb\"\n", "2:14", &["expected one line"]);
}
