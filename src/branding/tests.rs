//! Valid and invalid forms of `site.toml`, and the messages of the invalid ones.

use super::*;

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
