//! A query as programs that a shell runs as they are pasted, each with the client or the package of its language.

use super::{Dialect, Json, KEY_VARIABLE, push_text};

/// The media type of rows with the types of their columns.
const ARROW: &str = "application/vnd.apache.arrow.stream";

/// A command behind a line that sets the key, unless the shell has it already.
pub fn with_key(command: &str) -> String {
    format!("export {KEY_VARIABLE}=\"${{{KEY_VARIABLE}:-mk_…}}\"\n{command}")
}

/// A program that a command reads from the lines below it. No line of it is `EOF`, because a text has no line feed.
fn piped(command: &str, program: &str) -> String {
    with_key(&format!("{command} <<'EOF'\n{program}\nEOF"))
}

/// All rows by the Python client.
pub fn python_client(base: &str, slug: &str, body: &Json) -> String {
    let arguments = arguments(body, Dialect::Python, "=").join(",\n    ");
    piped(
        "python3 -",
        &format!(
            "import os
from mercato import Client

client = Client({}, os.environ[\"{KEY_VARIABLE}\"])
rows = client.dataset({}).query(
    {arguments},
)
for row in rows:
    print(row)",
            quoted(base),
            quoted(slug),
        ),
    )
}

/// All rows by the client for TypeScript.
pub fn typescript_client(base: &str, slug: &str, body: &Json) -> String {
    let arguments = arguments(body, Dialect::TypeScript, ": ").join(",\n  ");
    piped(
        "node --input-type=module",
        &format!(
            "import {{ Client }} from \"@mercato/client\";

const client = new Client({}, {{ apiKey: process.env.{KEY_VARIABLE} }});
const rows = client.dataset({}).query({{
  {arguments},
}});
for await (const row of rows) console.log(row);",
            quoted(base),
            quoted(slug),
        ),
    )
}

/// All rows as a frame of pandas.
pub fn pandas(url: &str, body: &Json) -> String {
    let read = "frame = pyarrow.ipc.open_stream(answer).read_pandas()";
    frame("import json, os, urllib.request\nimport pyarrow.ipc", read, url, body)
}

/// All rows as a frame of Polars.
pub fn polars(url: &str, body: &Json) -> String {
    let read = "frame = polars.read_ipc_stream(answer.read())";
    frame("import json, os, urllib.request\nimport polars", read, url, body)
}

fn frame(imports: &str, read: &str, url: &str, body: &Json) -> String {
    piped(
        "python3 -",
        &format!(
            "{imports}

query = {}
request = urllib.request.Request(
    {},
    data=json.dumps(query).encode(),
    headers={{
        \"X-Api-Key\": os.environ[\"{KEY_VARIABLE}\"],
        \"Content-Type\": \"application/json\",
        \"Accept\": \"{ARROW}\",
    }},
)
with urllib.request.urlopen(request) as answer:
    {read}
print(frame)",
            body.spread(Dialect::Python),
            quoted(url),
        ),
    )
}

/// All rows as a data frame of R.
pub fn r(url: &str, body: &Json) -> String {
    piped(
        "Rscript -",
        &format!(
            "library(httr2)

answer <- request({}) |>
  req_headers(\"X-Api-Key\" = Sys.getenv(\"{KEY_VARIABLE}\"), Accept = \"text/csv\") |>
  req_body_raw({}, type = \"application/json\") |>
  req_perform()
rows <- read.csv(text = resp_body_string(answer), na.strings = \"\", check.names = FALSE)
print(rows)",
            quoted(url),
            r_text(&body.lines()),
        ),
    )
}

/// A text between single quotes of R.
fn r_text(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

fn quoted(text: &str) -> String {
    let mut out = String::new();
    push_text(text, &mut out);
    out
}

/// The members of a query as arguments of a client.
fn arguments(body: &Json, dialect: Dialect, is: &str) -> Vec<String> {
    let Json::Object(members) = body else { return Vec::new() };
    let argument = |(name, value): &(String, Json)| {
        let (name, value) = match name.as_str() {
            "sortDirection" => ("descending", &Json::Flag(true)),
            "sortBy" if dialect == Dialect::Python => ("sort_by", value),
            other => (other, value),
        };
        let mut text = format!("{name}{is}");
        value.write(dialect, &mut text);
        text
    };
    members.iter().map(argument).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body() -> Json {
        let text = |text: &str| Json::Text(text.to_owned());
        Json::Object(vec![
            ("filters".to_owned(), Json::Object(vec![("it's".to_owned(), Json::Flag(true))])),
            ("sortBy".to_owned(), text("a\\b")),
            ("sortDirection".to_owned(), text("desc")),
            ("limit".to_owned(), Json::Number("10".to_owned())),
        ])
    }

    #[test]
    fn sets_key_before_each_program() {
        let (base, url) = ("http://h", "http://h/query");
        for program in [
            with_key("curl"),
            python_client(base, "x", &body()),
            pandas(url, &body()),
            polars(url, &body()),
            r(url, &body()),
            typescript_client(base, "x", &body()),
        ] {
            assert!(program.starts_with("export MERCATO_KEY="), "{program}");
            assert_eq!(
                program.lines().filter(|line| *line == "EOF").count(),
                program.matches("<<'EOF'").count()
            );
        }
    }

    #[test]
    fn names_arguments_as_each_client_does() {
        let python = arguments(&body(), Dialect::Python, "=").join(" ");
        assert_eq!(python, r#"filters={"it's": True} sort_by="a\\b" descending=True limit=10"#);
        let typescript = arguments(&body(), Dialect::TypeScript, ": ").join(" ");
        assert_eq!(typescript, r#"filters: {"it's": true} sortBy: "a\\b" descending: true limit: 10"#);
    }

    #[test]
    fn quotes_body_for_r() {
        assert_eq!(r_text(r#"{"it's": "a\\b"}"#), r#"'{"it\'s": "a\\\\b"}'"#);
    }
}
