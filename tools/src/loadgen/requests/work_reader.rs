//! The TOML of a work file, and the validation of its sections.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::failure::Failure;
use crate::loadgen::requests::template::Template;
use crate::loadgen::requests::work_file::{
    BODY_BYTES_MAX, CursorSource, ENTRY_COUNT_MAX, ListSource, NAME_LENGTH_MAX, REMEDY, Request, Work,
    template_error, work_file_error,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileText {
    pub(super) mix: Option<String>,
    #[serde(default)]
    pub(super) depths: Vec<u64>,
    #[serde(default)]
    pub(super) parameters: BTreeMap<String, toml::Value>,
    #[serde(default)]
    pub(super) values: BTreeMap<String, ListText>,
    #[serde(default)]
    pub(super) work: Vec<WorkText>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with `name` and `path`")]
pub(super) struct WorkText {
    pub(super) name: String,
    #[serde(default)]
    pub(super) description: String,
    pub(super) method: Option<String>,
    pub(super) path: String,
    #[serde(default)]
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Option<String>,
    #[serde(default)]
    pub(super) expect: Vec<u16>,
    pub(super) cursor: Option<CursorText>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with `path` and `pointer`")]
pub(super) struct CursorText {
    pub(super) method: Option<String>,
    pub(super) path: String,
    #[serde(default)]
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Option<String>,
    pub(super) pointer: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with `path`, `rows` and `field`")]
pub(super) struct ListText {
    pub(super) method: Option<String>,
    pub(super) path: String,
    #[serde(default)]
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Option<String>,
    pub(super) rows: String,
    pub(super) field: String,
}

/// Validates the sections of a file.
pub(super) struct Reader<'a> {
    pub(super) source: &'a str,
}

impl Reader<'_> {
    pub(super) fn work(&self, text: WorkText) -> Result<Work, Failure> {
        let section = format!("work `{}`", text.name);
        self.name(&section, &text.name)?;
        let request = self.request(&section, text.method, &text.path, text.headers, text.body.as_deref())?;
        self.bound(&format!("{section}, expect"), text.expect.len(), 0, ENTRY_COUNT_MAX)?;
        let cursor = text.cursor.map(|cursor| {
            let section = format!("{section}, cursor");
            let CursorText { method, path, headers, body, pointer } = cursor;
            let request = self.request(&section, method, &path, headers, body.as_deref())?;
            Ok::<_, Failure>(CursorSource { request, pointer })
        });
        let work = Work {
            name: text.name,
            description: text.description,
            request,
            expect: text.expect,
            cursor: cursor.transpose()?,
        };
        let wants_cursor = work.request.texts().any(|text| text.names("cursor"));
        if wants_cursor && work.cursor.is_none() {
            let found = "{cursor} without it";
            return Err(work_file_error(
                self.source,
                &section,
                "[work.cursor], which says how to get one",
                found,
                REMEDY,
            ));
        }
        Ok(work)
    }

    pub(super) fn list(&self, name: String, text: ListText) -> Result<(String, ListSource), Failure> {
        let section = format!("values `{name}`");
        self.name(&section, &name)?;
        let request = self.request(&section, text.method, &text.path, text.headers, text.body.as_deref())?;
        if let Some(list) = request.texts().flat_map(Template::lists).next() {
            let found = format!("{{value:{list}}}");
            return Err(work_file_error(self.source, &section, "no list inside a list", &found, REMEDY));
        }
        Ok((name, ListSource { request, rows: text.rows, field: text.field }))
    }

    pub(super) fn parameter(&self, name: &str, value: &toml::Value) -> Result<(String, String), Failure> {
        let section = format!("parameter `{name}`");
        self.name(&section, name)?;
        let text = match value {
            toml::Value::String(text) => text.clone(),
            toml::Value::Integer(number) => number.to_string(),
            toml::Value::Boolean(truth) => truth.to_string(),
            other => {
                let found = other.type_str();
                return Err(work_file_error(
                    self.source,
                    &section,
                    "a text or a whole number",
                    found,
                    REMEDY,
                ));
            }
        };
        Ok((name.to_owned(), text))
    }

    fn request(
        &self,
        section: &str,
        method: Option<String>,
        path: &str,
        headers: BTreeMap<String, String>,
        body: Option<&str>,
    ) -> Result<Request, Failure> {
        let method = method.unwrap_or_else(|| "GET".to_owned());
        if !(1..=16).contains(&method.len()) || !method.bytes().all(|byte| byte.is_ascii_uppercase()) {
            return Err(work_file_error(
                self.source,
                section,
                "a method such as GET or POST",
                &method,
                REMEDY,
            ));
        }
        if !path.starts_with('/') {
            return Err(work_file_error(self.source, section, "a path that begins with /", path, REMEDY));
        }
        self.bound(&format!("{section}, headers"), headers.len(), 0, ENTRY_COUNT_MAX)?;
        self.bound(&format!("{section}, bytes of the body"), body.map_or(0, str::len), 0, BODY_BYTES_MAX)?;
        let template = |part: &str, text: &str| {
            Template::parse(text)
                .map_err(|error| template_error(self.source, &format!("{section}, {part}"), &error))
        };
        let headers = headers.into_iter().map(|(name, text)| {
            self.header_name(section, &name)?;
            let text = template(&name, &text)?;
            Ok((name, text))
        });
        Ok(Request {
            path: template("path", path)?,
            headers: headers.collect::<Result<_, Failure>>()?,
            body: body.map(|body| template("body", body)).transpose()?,
            method,
        })
    }

    fn header_name(&self, section: &str, name: &str) -> Result<(), Failure> {
        let token = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let ours = ["host", "content-length", "transfer-encoding", "connection"];
        if !name.is_empty() && name.chars().all(token) && !ours.contains(&name.to_ascii_lowercase().as_str())
        {
            return Ok(());
        }
        let expected =
            "the name of a header other than Host, Content-Length, Transfer-Encoding and Connection";
        Err(work_file_error(self.source, section, expected, &format!("{name:?}"), REMEDY))
    }

    fn name(&self, section: &str, name: &str) -> Result<(), Failure> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
        if (1..=NAME_LENGTH_MAX).contains(&name.len()) && name.chars().all(plain) {
            return Ok(());
        }
        let expected = format!("a name of 1 to {NAME_LENGTH_MAX} of a-z, 0-9, _ and -");
        Err(work_file_error(self.source, section, &expected, &format!("{name:?}"), REMEDY))
    }

    pub(super) fn bound(
        &self,
        section: &str,
        found: usize,
        least: usize,
        most: usize,
    ) -> Result<(), Failure> {
        if (least..=most).contains(&found) {
            return Ok(());
        }
        Err(work_file_error(self.source, section, &format!("{least} to {most}"), &found.to_string(), REMEDY))
    }
}
