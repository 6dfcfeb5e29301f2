//! Prepares the requests of a run: fetches cursors and lists of values from the server, binds the templates, and encodes
//! requests. Does not depend on schedules.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::value::RawValue;

use crate::failure::Failure;
use crate::loadgen::client::target::Target;
use crate::loadgen::random::Random;
use crate::loadgen::requests::fetch::{excerpt, exchange, json_pointer};
use crate::loadgen::requests::mix::{MixItem, WORK_COUNT_MAX};
use crate::loadgen::requests::prepared_work::{PreparedWork, RequestBytes};
use crate::loadgen::requests::template::{Bindings, BoundTemplate, RequestPart, Template, Value};
use crate::loadgen::requests::work_file::{
    ListSource, Request, Work, WorkFile, template_error, work_file_error,
};

/// Most values of a list.
pub const VALUE_COUNT_MAX: usize = 10_000;
const USER_AGENT: &str = concat!("User-Agent: mercato-tools/", env!("CARGO_PKG_VERSION"));

/// Prepares the works of a mix.
#[derive(Debug)]
pub struct Preparer<'a> {
    pub work_file: &'a WorkFile,
    pub target: &'a Target,
    pub key: Option<&'a str>,
    /// Depths of works that have them.
    pub depths: &'a [u64],
    /// How long one response may take.
    pub timeout: Duration,
}

impl Preparer<'_> {
    pub fn prepare(&self, items: &[MixItem]) -> Result<Vec<PreparedWork>, Failure> {
        let works = self.works(items)?;
        let mut bindings = Bindings { parameters: self.work_file.parameters.clone(), ..Bindings::default() };
        let wanted: BTreeSet<&str> = works
            .iter()
            .flat_map(|work_at_depth| {
                work_at_depth
                    .work
                    .request
                    .texts()
                    .chain(work_at_depth.work.cursor.iter().flat_map(|c| c.request.texts()))
            })
            .flat_map(Template::lists)
            .collect();
        for name in wanted {
            // A missing list is reported by the template that uses it.
            if let Some(source) = self.work_file.lists.get(name) {
                let list = self.list(name, source, &bindings)?;
                bindings.lists.insert(name.to_owned(), list);
            }
        }
        works.iter().map(|work_at_depth| self.prepare_one(work_at_depth, bindings.clone())).collect()
    }

    fn works(&self, items: &[MixItem]) -> Result<Vec<WorkAtDepth<'_>>, Failure> {
        let mut works: Vec<WorkAtDepth<'_>> = Vec::new();
        for item in items {
            let work = self.work_file.works.iter().find(|work| work.name == item.name).ok_or_else(|| {
                let names: Vec<&str> = self.work_file.works.iter().map(|work| work.name.as_str()).collect();
                Failure::Usage(format!(
                    "--work: no work `{}` in {}; there are {}",
                    item.name,
                    self.work_file.source,
                    names.join(", ")
                ))
            })?;
            let depths: Vec<Option<u64>> = match (work.has_depth(), item.depth) {
                (true, Some(depth)) => vec![Some(depth)],
                (true, None) => self.depths.iter().copied().map(Some).collect(),
                (false, None) => vec![None],
                (false, Some(_)) => {
                    return Err(Failure::Usage(format!("--work: `{}` has no depth", item.name)));
                }
            };
            if depths.is_empty() {
                return Err(Failure::Usage(format!("--work: `{}` needs --depths", item.name)));
            }
            let share = depths.len() as u64;
            works.extend(depths.into_iter().map(|depth| WorkAtDepth {
                work,
                depth,
                weight: item.weight,
                share,
            }));
        }
        if works.len() > WORK_COUNT_MAX {
            let count = works.len();
            return Err(Failure::Usage(format!(
                "--work: {count} works with their depths, at most {WORK_COUNT_MAX} are run together"
            )));
        }
        // A work's weight is divided among its depths. To keep whole numbers, all weights are multiplied first.
        let shares: BTreeSet<u64> = works.iter().map(|work_at_depth| work_at_depth.share).collect();
        let product: u64 = shares.iter().product();
        for work_at_depth in &mut works {
            work_at_depth.weight *= product / work_at_depth.share;
        }
        let mut names = BTreeSet::new();
        match works.iter().find(|work_at_depth| !names.insert(work_at_depth.name())) {
            Some(twice) => Err(Failure::Usage(format!("--work: `{}` is listed twice", twice.name()))),
            None => Ok(works),
        }
    }

    fn prepare_one(
        &self,
        work_at_depth: &WorkAtDepth<'_>,
        mut bindings: Bindings,
    ) -> Result<PreparedWork, Failure> {
        if let Some(depth) = work_at_depth.depth {
            bindings.values.insert("depth".into(), Value::of_json(&depth.to_string()));
            if let Some(source) = &work_at_depth.work.cursor {
                let section = format!("work `{}`, cursor at depth {depth}", work_at_depth.work.name);
                let cursor = match depth.checked_sub(1) {
                    None => Value::none(),
                    Some(offset) => {
                        let mut bindings = bindings.clone();
                        bindings.values.insert("offset".into(), Value::of_json(&offset.to_string()));
                        let response = self.fetch(&section, &source.request, &bindings)?;
                        self.cursor(&section, &response, &source.pointer)?
                    }
                };
                bindings.values.insert("cursor".into(), cursor);
            }
        }
        let section = format!("work `{}`", work_at_depth.work.name);
        Ok(PreparedWork {
            name: work_at_depth.name(),
            work: work_at_depth.work.name.clone(),
            depth: work_at_depth.depth,
            weight: work_at_depth.weight,
            to_head: work_at_depth.work.request.method == "HEAD",
            expect: work_at_depth.work.expect.clone(),
            request_bytes: self.request_bytes(&section, &work_at_depth.work.request, &bindings)?,
        })
    }

    fn cursor(&self, section: &str, response: &[u8], pointer: &str) -> Result<Value, Failure> {
        let text = std::str::from_utf8(response).unwrap_or_default();
        let found = json_pointer(text, pointer);
        match found {
            Some(json) if json.get() != "null" => Ok(Value::of_json(json.get())),
            _ => Err(work_file_error(
                &self.target.url,
                section,
                &format!("a cursor at {pointer}"),
                &excerpt(response),
                "are there that many rows? name other --depths",
            )),
        }
    }

    fn list(&self, name: &str, source: &ListSource, bindings: &Bindings) -> Result<Vec<Value>, Failure> {
        let section = format!("values `{name}`");
        let response = self.fetch(&section, &source.request, bindings)?;
        let text = std::str::from_utf8(&response).unwrap_or_default();
        let rows = json_pointer(text, &source.rows)
            .and_then(|rows| serde_json::from_str::<Vec<BTreeMap<String, &RawValue>>>(rows.get()).ok());
        let values: Vec<Value> = rows
            .into_iter()
            .flatten()
            .filter_map(|row| row.get(&source.field).map(|value| Value::of_json(value.get())))
            .take(VALUE_COUNT_MAX)
            .collect();
        if values.is_empty() {
            let expected = format!("rows at {} with a field `{}`", source.rows, source.field);
            let remedy = "correct the work file, or name another dataset";
            return Err(work_file_error(&self.target.url, &section, &expected, &excerpt(&response), remedy));
        }
        Ok(values)
    }

    fn request_bytes(
        &self,
        section: &str,
        request: &Request,
        bindings: &Bindings,
    ) -> Result<RequestBytes, Failure> {
        let wrong = |part: &str| {
            let section = format!("{section}, {part}");
            move |error| template_error(&self.work_file.source, &section, &error)
        };
        let mut head = BoundTemplate::of(&format!("{} {}", request.method, self.target.prefix));
        head.append(request.path.bind(bindings, RequestPart::Target).map_err(wrong("path"))?);
        head.append(BoundTemplate::of(&format!(
            " HTTP/1.1\r\nHost: {}\r\n{USER_AGENT}\r\n",
            self.target.host
        )));
        if let Some(key) = self.key {
            head.append(BoundTemplate::of(&format!("X-Api-Key: {key}\r\n")));
        }
        let typed = request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        if request.body.is_some() && !typed {
            head.append(BoundTemplate::of("Content-Type: application/json\r\n"));
        }
        for (name, text) in &request.headers {
            head.append(BoundTemplate::of(&format!("{name}: ")));
            head.append(text.bind(bindings, RequestPart::Header).map_err(wrong(name))?);
            head.append(BoundTemplate::of("\r\n"));
        }
        let body =
            request.body.as_ref().map(|body| body.bind(bindings, RequestPart::Body).map_err(wrong("body")));
        let body = body.transpose()?;
        let fixed = head.is_fixed() && body.as_ref().is_none_or(BoundTemplate::is_fixed);
        let request_bytes = RequestBytes::Varying { head, body };
        Ok(if fixed {
            RequestBytes::Fixed(request_bytes.encoded(&mut Random::of(0, 0)))
        } else {
            request_bytes
        })
    }

    /// The body of the response to one request.
    fn fetch(&self, section: &str, request: &Request, bindings: &Bindings) -> Result<Vec<u8>, Failure> {
        let bytes = self.request_bytes(section, request, bindings)?.encoded(&mut Random::of(0, 0));
        let (status, body) = exchange(self.target, self.timeout, &bytes).map_err(|found| {
            let remedy = "is the server running? name it with --url";
            work_file_error(&self.target.url, section, "a response", &found, remedy)
        })?;
        if (200..300).contains(&status) {
            return Ok(body);
        }
        let found = format!("{status} {}", excerpt(&body));
        Err(work_file_error(
            &self.target.url,
            section,
            "a response of status 2xx",
            &found,
            remedy_for(status),
        ))
    }
}

struct WorkAtDepth<'a> {
    work: &'a Work,
    depth: Option<u64>,
    weight: u64,
    /// Number of depths that share the weight.
    share: u64,
}

impl WorkAtDepth<'_> {
    fn name(&self) -> String {
        let name = &self.work.name;
        self.depth.map_or_else(|| name.clone(), |depth| format!("{name}@{depth}"))
    }
}

#[must_use]
pub fn remedy_for(status: u16) -> &'static str {
    match status {
        401 => "give a key that is valid there with --key or MERCATO_API_KEY",
        402 => "buy credits: mercato-tools credits buy",
        404 => "name a dataset that is published there with --dataset",
        429 => {
            "start the server with --requests-per-minute 0 --requests-per-day 0, or fetch more slowly with --rate"
        }
        503 => "the server is busy or a dataset is out of service; look at its log",
        _ => "correct the work file",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loadgen::requests::work_file::{BUILT_IN, BUILT_IN_NAME, read};

    fn prepared(text: &str, mix: &str) -> Result<Vec<PreparedWork>, String> {
        let work_file = read("mine.toml", text).map_err(|failure| failure.one_line())?;
        let target = Target::resolve("http://127.0.0.1:1/at").unwrap();
        let preparation = Preparer {
            work_file: &work_file,
            target: &target,
            key: Some("mk_x"),
            depths: &[0, 5],
            timeout: Duration::from_secs(1),
        };
        preparation
            .prepare(&crate::loadgen::requests::mix::parse(mix).unwrap())
            .map_err(|failure| failure.one_line())
    }

    fn bytes(work: &PreparedWork, index: u64) -> String {
        let (mut room, mut out) = (Vec::new(), Vec::new());
        work.render(&mut Random::of(1, index), index, &mut room, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn encodes_fixed_work_once() {
        let works = prepared(BUILT_IN, "w1").unwrap();
        let expected = "POST /at/api/v1/datasets/tpch-lineitem/query HTTP/1.1\r\nHost: 127.0.0.1:1\r\n";
        let found = std::str::from_utf8(works[0].fixed().unwrap()).unwrap();
        assert!(found.starts_with(expected), "{found}");
        assert!(found.contains("\r\nX-Api-Key: mk_x\r\n"));
        assert!(
            found.ends_with("Content-Type: application/json\r\nContent-Length: 13\r\n\r\n{\"limit\":100}"),
            "{found}"
        );
        assert_eq!(bytes(&works[0], 3), found);
    }

    #[test]
    fn varying_work_has_content_length() {
        let text = "[[work]]\nname = \"a\"\nmethod = \"PUT\"\npath = \"/{sequence}\"\nbody = '{\"a\":{sequence}}'\n[work.headers]\nContent-Type = \"text/x\"";
        let works = prepared(text, "a").unwrap();
        assert_eq!(works[0].fixed(), None);
        let found = bytes(&works[0], 1234);
        assert!(found.starts_with("PUT /at/1234 HTTP/1.1\r\n"), "{found}");
        assert!(
            found.contains("\r\nContent-Type: text/x\r\nContent-Length: 10\r\n\r\n{\"a\":1234}"),
            "{found}"
        );
        assert_eq!(found.matches("Content-Type").count(), 1);
    }

    #[test]
    fn divides_weight_among_depths() {
        let named = |mix| -> Vec<(String, u64)> {
            prepared(BUILT_IN, mix).unwrap().into_iter().map(|work| (work.name, work.weight)).collect()
        };
        assert_eq!(named("w1=3,w2o=1"), [("w1".into(), 6), ("w2o@0".into(), 1), ("w2o@5".into(), 1)]);
        assert_eq!(named("w2o@7=2,w2k@0"), [("w2o@7".into(), 2), ("w2k@0".into(), 1)]);
    }

    #[test]
    fn rejects_invalid_mix_items() {
        for (mix, words) in [("w9", ["w9", "w5all"]), ("w1@5", ["w1", "depth"]), ("w1,w1", ["w1", "twice"])] {
            let reason = prepared(BUILT_IN, mix).unwrap_err();
            assert!(words.iter().all(|word| reason.contains(word)), "{reason}");
        }
        let text = "[[work]]\nname = \"a\"\npath = \"/{value:none}\"";
        assert!(prepared(text, "a").unwrap_err().contains("value:none"));
        assert!(read(BUILT_IN_NAME, BUILT_IN).unwrap().lists.contains_key("orderkey"));
    }

    #[test]
    fn keeps_values_as_written() {
        let text = r#"{"data":{"a/b":[{"x":901.00},{"x":12345678901234567890123}]}}"#;
        let at = |pointer| json_pointer(text, pointer).map(RawValue::get);
        assert_eq!(at("/data/a~1b/0/x"), Some("901.00"));
        assert_eq!(at("/data/a~1b/1/x"), Some("12345678901234567890123"));
        assert_eq!((at("/data/none"), at("/data/a~1b/7")), (None, None));
        assert_eq!(at(""), Some(text));
    }
}
