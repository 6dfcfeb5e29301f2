//! A query as commands to paste: curl, Python, TypeScript, and files for DuckDB.
//!
//! Each language writes a value in its own way. All commands are written from the same [`Json`], so they query the same rows.
//! The key is read from a variable of the environment and is never part of a command. Does not depend on datasets.

mod programs;

use std::fmt::Write;

pub use programs::{pandas, polars, python_client, r, typescript_client, with_key};

/// The variable that holds the API key.
pub const KEY_VARIABLE: &str = "MERCATO_KEY";

/// A JSON value with its members in the order in which they were put in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Json {
    /// `true` or `false`.
    Flag(bool),
    /// A number as JSON writes it.
    Number(String),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

/// The literals that a language writes differently from JSON.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Json,
    Python,
    TypeScript,
}

impl Json {
    /// The text on one line, as RFC 8259 has it.
    pub fn line(&self) -> String {
        let mut out = String::new();
        self.write(Dialect::Json, &mut out);
        out
    }

    /// Members one below the other.
    pub fn lines(&self) -> String {
        self.spread(Dialect::Json)
    }

    fn spread(&self, dialect: Dialect) -> String {
        let Self::Object(members) = self else {
            let mut out = String::new();
            self.write(dialect, &mut out);
            return out;
        };
        let lines: Vec<String> = members
            .iter()
            .map(|(name, value)| {
                let mut line = "  ".to_owned();
                push_name(name, dialect, &mut line);
                value.write(dialect, &mut line);
                line
            })
            .collect();
        if lines.is_empty() { "{}".to_owned() } else { format!("{{\n{}\n}}", lines.join(",\n")) }
    }

    fn write(&self, dialect: Dialect, out: &mut String) {
        match self {
            Self::Flag(flag) => out.push_str(match (flag, dialect == Dialect::Python) {
                (true, false) => "true",
                (false, false) => "false",
                (true, true) => "True",
                (false, true) => "False",
            }),
            Self::Number(number) => out.push_str(number),
            Self::Text(text) => push_text(text, out),
            Self::List(items) => joined(items, ("[", "]"), out, |item, out| item.write(dialect, out)),
            Self::Object(members) => joined(members, ("{", "}"), out, |(name, value), out| {
                push_name(name, dialect, out);
                value.write(dialect, out);
            }),
        }
    }
}

fn joined<T>(items: &[T], (open, close): (&str, &str), out: &mut String, write: impl Fn(&T, &mut String)) {
    out.push_str(open);
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            out.push_str(", ");
        }
        write(item, out);
    }
    out.push_str(close);
}

/// The name of a member. In an object of JavaScript a plain `__proto__` would not be a member.
fn push_name(name: &str, dialect: Dialect, out: &mut String) {
    if dialect == Dialect::TypeScript && name == "__proto__" {
        out.push_str("[\"__proto__\"]");
    } else {
        push_text(name, out);
    }
    out.push_str(": ");
}

/// A string of JSON is one of Python and of TypeScript too. Separators of lines and marks of the writing direction are
/// escaped, so that a command runs as it reads.
fn push_text(text: &str, out: &mut String) {
    let quoted = serde_json::to_string(text).unwrap_or_default();
    for letter in quoted.chars() {
        let is_deceptive = matches!(u32::from(letter), 0x7f..=0x9f | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0xfeff);
        if is_deceptive {
            // Writing into a String cannot fail.
            let _infallible = write!(out, "\\u{:04x}", u32::from(letter));
        } else {
            out.push(letter);
        }
    }
}

/// A text as one word of a POSIX shell.
pub fn shell_word(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// A page of rows by curl.
pub fn curl(url: &str, body: &Json) -> String {
    format!(
        "curl -s {} \\\n  -H \"X-Api-Key: ${KEY_VARIABLE}\" \\\n  -H 'Content-Type: application/json' \\\n  -d {}",
        shell_word(url),
        shell_word(&body.lines())
    )
}

/// Rows as a file by curl, in the format of a media type.
pub fn curl_file(url: &str, body: &Json, media_type: &str, file: &str) -> String {
    format!(
        "curl -sN {} \\\n  -H \"X-Api-Key: ${KEY_VARIABLE}\" \\\n  -H 'Content-Type: application/json' \\\n  -H 'Accept: \
         {media_type}' \\\n  -d {} \\\n  -o {}",
        shell_word(url),
        shell_word(&body.lines()),
        shell_word(file)
    )
}

/// A download of the whole version by curl, which resumes where a former one broke off.
pub fn curl_download(url: &str, file: &str) -> String {
    format!(
        "curl -C - {} \\\n  -H \"X-Api-Key: ${KEY_VARIABLE}\" \\\n  -o {}",
        shell_word(url),
        shell_word(file)
    )
}

/// All pages of a query in Python, without a package.
pub fn python(url: &str, body: &Json) -> String {
    let mut place = String::new();
    push_text(url, &mut place);
    format!(
        "import json, os, urllib.request

url = {place}
query = {}

def rows():
    cursor = None
    while True:
        request = urllib.request.Request(
            url,
            data=json.dumps({{**query, \"cursor\": cursor}}).encode(),
            headers={{\"Content-Type\": \"application/json\", \"X-Api-Key\": os.environ[\"{KEY_VARIABLE}\"]}},
        )
        with urllib.request.urlopen(request) as answer:
            page = json.load(answer)[\"data\"]
        yield from page[\"results\"]
        cursor = page[\"nextCursor\"]
        if cursor is None:
            return

for row in rows():
    print(row)",
        body.spread(Dialect::Python)
    )
}

/// All pages of a query in TypeScript, without a package.
pub fn typescript(url: &str, body: &Json) -> String {
    let mut place = String::new();
    push_text(url, &mut place);
    format!(
        "const url = {place};
const query = {};

async function* rows() {{
  let cursor: string | null = null;
  do {{
    const answer = await fetch(url, {{
      method: \"POST\",
      headers: {{ \"Content-Type\": \"application/json\", \"X-Api-Key\": process.env.{KEY_VARIABLE}! }},
      body: JSON.stringify({{ ...query, cursor }}),
    }});
    if (!answer.ok) throw new Error(await answer.text());
    const {{ data }} = await answer.json();
    yield* data.results;
    cursor = data.nextCursor;
  }} while (cursor !== null);
}}

for await (const row of rows()) console.log(row);",
        body.spread(Dialect::TypeScript)
    )
}

/// The whole of a version in DuckDB.
pub fn duckdb(download_url: &str) -> String {
    duckdb_reads(&format!("CREATE TABLE dataset AS SELECT * FROM read_csv({});", sql_text(download_url)))
}

/// A version in DuckDB that reads the columns of each query only.
pub fn duckdb_parquet(download_url: &str) -> String {
    duckdb_reads(&format!("CREATE VIEW dataset AS SELECT * FROM read_parquet({});", sql_text(download_url)))
}

fn duckdb_reads(statement: &str) -> String {
    format!(
        "INSTALL httpfs; LOAD httpfs;
CREATE SECRET (TYPE http, EXTRA_HTTP_HEADERS MAP {{'X-Api-Key': 'mk_…'}});
{statement}"
    )
}

fn sql_text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body() -> Json {
        let filters = Json::Object(vec![
            ("it's".to_owned(), Json::Object(vec![("gte".to_owned(), Json::Number("1.50".to_owned()))])),
            ("__proto__".to_owned(), Json::Flag(true)),
            (
                "b\"\n".to_owned(),
                Json::List(vec![Json::Flag(false), Json::Text("$x `y` \\ \u{202e}z".to_owned())]),
            ),
        ]);
        Json::Object(vec![
            ("filters".to_owned(), filters),
            ("limit".to_owned(), Json::Number("10".to_owned())),
        ])
    }

    #[test]
    fn writes_value_for_each_language() {
        let parsed: serde_json::Value = serde_json::from_str(&body().line()).unwrap();
        assert_eq!(parsed["filters"]["b\"\n"][1], "$x `y` \\ \u{202e}z");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&body().lines()).unwrap(), parsed);
        let python = body().spread(Dialect::Python);
        assert!(python.contains("\"__proto__\": True") && python.contains("[False, "), "{python}");
        assert!(body().spread(Dialect::TypeScript).contains("[\"__proto__\"]: true"));
        assert!(body().lines().contains("\\u202e"));
        assert_eq!(Json::Object(Vec::new()).lines(), "{}");
    }

    #[test]
    fn quotes_body_as_single_shell_word() {
        assert_eq!(shell_word("a'b $c"), "'a'\\''b $c'");
        let command = curl("http://h/x", &body());
        let (_, quoted) = command.split_once("-d ").unwrap();
        // Without the closing and opening of quotes there is none left but the outer ones.
        let inside = quoted.strip_prefix('\'').unwrap().strip_suffix('\'').unwrap();
        assert!(!inside.replace("'\\''", "").contains('\''), "{command}");
        let text = inside.replace("'\\''", "'");
        assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{text}");
    }
}
