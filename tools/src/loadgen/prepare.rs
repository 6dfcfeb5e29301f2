//! Makes requests of works: asks the server for cursors and lists of values, puts in what is known, and lays out
//! the bytes. Knows nothing of how requests are sent during the run.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::value::RawValue;

use super::answer::{AnswerReader, Fed, Keep};
use super::mix::{WORK_COUNT_MAX, Wish};
use super::random::Random;
use super::tally::shown;
use super::target::Target;
use super::template::{Bound, Known, Place, Template, Value};
use super::works::{ListSource, Request, Work, WorkBook, fault, template_fault};
use crate::failure::Failure;

/// Largest answer that is read for cursors and values.
pub const ANSWER_SIZE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Values that are kept of a list.
pub const VALUE_COUNT_MAX: usize = 10_000;
/// Bytes of a refusal that are shown.
const SHOWN_BYTES_MAX: usize = 300;
const USER_AGENT: &str = concat!("User-Agent: mercato-tools/", env!("CARGO_PKG_VERSION"));
const READ_BYTES: usize = 64 * 1024;

/// A work of a run, ready to be sent.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// Its name, with `@DEPTH` where it has one.
    pub name: String,
    /// The name of the work without the depth.
    pub work: String,
    /// How many rows lie before its page.
    pub depth: Option<u64>,
    /// Weight in the mix.
    pub weight: u64,
    /// Whether its answers have no body.
    pub to_head: bool,
    expect: Vec<u16>,
    form: Form,
}

#[derive(Debug, Clone)]
enum Form {
    /// Every request has the same bytes.
    Fixed(Vec<u8>),
    /// Requests differ.
    Varying { head: Bound, body: Option<Bound> },
}

impl Prepared {
    /// Whether a status is a good one.
    #[must_use]
    pub fn expects(&self, status: u16) -> bool {
        if self.expect.is_empty() { (200..300).contains(&status) } else { self.expect.contains(&status) }
    }

    /// The bytes of every request, where they are the same.
    #[must_use]
    pub fn fixed(&self) -> Option<&[u8]> {
        match &self.form {
            Form::Fixed(bytes) => Some(bytes),
            Form::Varying { .. } => None,
        }
    }

    /// Writes one request into `out`, over what was there. `room` is room to work in.
    pub fn render(&self, random: &mut Random, sequence: u64, room: &mut Vec<u8>, out: &mut Vec<u8>) {
        out.clear();
        room.clear();
        self.form.render(random, sequence, room, out);
    }
}

/// Prepares the works that were wished for.
#[derive(Debug)]
pub struct Preparation<'a> {
    /// The file.
    pub book: &'a WorkBook,
    /// Where to.
    pub target: &'a Target,
    /// The key of every request.
    pub key: Option<&'a str>,
    /// Where works with a depth are measured.
    pub depths: &'a [u64],
    /// How long one answer may take.
    pub timeout: Duration,
}

impl Preparation<'_> {
    /// All works of the run.
    ///
    /// # Errors
    /// When a work is not in the file, a text cannot be put together, or the server does not give what is needed.
    pub fn prepare(&self, wishes: &[Wish]) -> Result<Vec<Prepared>, Failure> {
        let jobs = self.jobs(wishes)?;
        let mut known = Known { parameters: self.book.parameters.clone(), ..Known::default() };
        let wanted: BTreeSet<&str> = jobs
            .iter()
            .flat_map(|job| {
                job.work.request.texts().chain(job.work.cursor.iter().flat_map(|c| c.request.texts()))
            })
            .flat_map(Template::lists)
            .collect();
        for name in wanted {
            // A list that the file does not have is named by the text that wants it.
            if let Some(source) = self.book.lists.get(name) {
                let list = self.list(name, source, &known)?;
                known.lists.insert(name.to_owned(), list);
            }
        }
        jobs.iter().map(|job| self.prepare_one(job, known.clone())).collect()
    }

    fn jobs(&self, wishes: &[Wish]) -> Result<Vec<Job<'_>>, Failure> {
        let mut jobs: Vec<Job<'_>> = Vec::new();
        for wish in wishes {
            let work = self.book.works.iter().find(|work| work.name == wish.name).ok_or_else(|| {
                let names: Vec<&str> = self.book.works.iter().map(|work| work.name.as_str()).collect();
                Failure::Usage(format!(
                    "--work: no work `{}` in {}; there are {}",
                    wish.name,
                    self.book.source,
                    names.join(", ")
                ))
            })?;
            let depths: Vec<Option<u64>> = match (work.has_depth(), wish.depth) {
                (true, Some(depth)) => vec![Some(depth)],
                (true, None) => self.depths.iter().copied().map(Some).collect(),
                (false, None) => vec![None],
                (false, Some(_)) => {
                    return Err(Failure::Usage(format!("--work: `{}` has no depth", wish.name)));
                }
            };
            if depths.is_empty() {
                return Err(Failure::Usage(format!("--work: `{}` needs --depths", wish.name)));
            }
            let share = depths.len() as u64;
            jobs.extend(depths.into_iter().map(|depth| Job { work, depth, weight: wish.weight, share }));
        }
        if jobs.len() > WORK_COUNT_MAX {
            let count = jobs.len();
            return Err(Failure::Usage(format!(
                "--work: {count} works with their depths, at most {WORK_COUNT_MAX} are run together"
            )));
        }
        // A work's weight is divided among its depths; in whole numbers, that is all others multiplied.
        let shares: BTreeSet<u64> = jobs.iter().map(|job| job.share).collect();
        let product: u64 = shares.iter().product();
        for job in &mut jobs {
            job.weight *= product / job.share;
        }
        let mut names = BTreeSet::new();
        match jobs.iter().find(|job| !names.insert(job.name())) {
            Some(twice) => Err(Failure::Usage(format!("--work: `{}` stands there twice", twice.name()))),
            None => Ok(jobs),
        }
    }

    fn prepare_one(&self, job: &Job<'_>, mut known: Known) -> Result<Prepared, Failure> {
        if let Some(depth) = job.depth {
            known.values.insert("depth".into(), Value::of_json(&depth.to_string()));
            if let Some(source) = &job.work.cursor {
                let section = format!("work `{}`, cursor at depth {depth}", job.work.name);
                let cursor = match depth.checked_sub(1) {
                    None => Value::none(),
                    Some(offset) => {
                        let mut known = known.clone();
                        known.values.insert("offset".into(), Value::of_json(&offset.to_string()));
                        let answer = self.ask(&section, &source.request, &known)?;
                        self.cursor(&section, &answer, &source.pointer)?
                    }
                };
                known.values.insert("cursor".into(), cursor);
            }
        }
        let section = format!("work `{}`", job.work.name);
        Ok(Prepared {
            name: job.name(),
            work: job.work.name.clone(),
            depth: job.depth,
            weight: job.weight,
            to_head: job.work.request.method == "HEAD",
            expect: job.work.expect.clone(),
            form: self.form(&section, &job.work.request, &known)?,
        })
    }

    fn cursor(&self, section: &str, answer: &[u8], pointer: &str) -> Result<Value, Failure> {
        let text = std::str::from_utf8(answer).unwrap_or_default();
        let found = at_pointer(text, pointer);
        match found {
            Some(json) if json.get() != "null" => Ok(Value::of_json(json.get())),
            _ => Err(fault(
                &self.target.url,
                section,
                &format!("a cursor at {pointer}"),
                &begin_of(answer),
                "are there that many rows? name other --depths",
            )),
        }
    }

    fn list(&self, name: &str, source: &ListSource, known: &Known) -> Result<Vec<Value>, Failure> {
        let section = format!("values `{name}`");
        let answer = self.ask(&section, &source.request, known)?;
        let text = std::str::from_utf8(&answer).unwrap_or_default();
        let rows = at_pointer(text, &source.rows)
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
            return Err(fault(&self.target.url, &section, &expected, &begin_of(&answer), remedy));
        }
        Ok(values)
    }

    fn form(&self, section: &str, request: &Request, known: &Known) -> Result<Form, Failure> {
        let wrong = |part: &str| {
            let section = format!("{section}, {part}");
            move |error| template_fault(&self.book.source, &section, &error)
        };
        let mut head = Bound::of(&format!("{} {}", request.method, self.target.prefix));
        head.append(request.path.bind(known, Place::Target).map_err(wrong("path"))?);
        head.append(Bound::of(&format!(" HTTP/1.1\r\nHost: {}\r\n{USER_AGENT}\r\n", self.target.host)));
        if let Some(key) = self.key {
            head.append(Bound::of(&format!("X-Api-Key: {key}\r\n")));
        }
        let typed = request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        if request.body.is_some() && !typed {
            head.append(Bound::of("Content-Type: application/json\r\n"));
        }
        for (name, text) in &request.headers {
            head.append(Bound::of(&format!("{name}: ")));
            head.append(text.bind(known, Place::Header).map_err(wrong(name))?);
            head.append(Bound::of("\r\n"));
        }
        let body = request.body.as_ref().map(|body| body.bind(known, Place::Body).map_err(wrong("body")));
        let body = body.transpose()?;
        let fixed = head.is_fixed() && body.as_ref().is_none_or(Bound::is_fixed);
        let form = Form::Varying { head, body };
        Ok(if fixed { Form::Fixed(form.rendered(&mut Random::of(0, 0))) } else { form })
    }

    /// The body of the answer to one request.
    fn ask(&self, section: &str, request: &Request, known: &Known) -> Result<Vec<u8>, Failure> {
        let bytes = self.form(section, request, known)?.rendered(&mut Random::of(0, 0));
        let (status, body) = self.exchange(&bytes).map_err(|found| {
            let remedy = "is the server running? name it with --url";
            fault(&self.target.url, section, "an answer", &found, remedy)
        })?;
        if (200..300).contains(&status) {
            return Ok(body);
        }
        let found = format!("{status} {}", begin_of(&body));
        Err(fault(&self.target.url, section, "an answer of status 2xx", &found, remedy_for(status)))
    }

    fn exchange(&self, request: &[u8]) -> Result<(u16, Vec<u8>), String> {
        let until = Instant::now() + self.timeout;
        let text = |error: std::io::Error| error.to_string();
        let mut stream = TcpStream::connect_timeout(&self.target.address, self.timeout).map_err(text)?;
        stream.set_write_timeout(Some(self.timeout)).map_err(text)?;
        stream.write_all(request).map_err(text)?;
        let mut reader = AnswerReader::new(Keep::Every(ANSWER_SIZE_BYTES_MAX));
        let mut buffer = vec![0; READ_BYTES];
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(format!("no whole answer within {:?}", self.timeout));
            }
            stream.set_read_timeout(Some(left)).map_err(text)?;
            let count = match stream.read(&mut buffer) {
                Ok(0) if reader.end() => break,
                Ok(0) => return Err("the connection ended within the answer".to_owned()),
                Ok(count) => count,
                // The time that is left is looked at anew.
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                    continue;
                }
                Err(error) => return Err(text(error)),
            };
            let fed =
                reader.feed(buffer.get(..count).unwrap_or_default()).map_err(|error| error.to_string())?;
            if reader.body_bytes() > ANSWER_SIZE_BYTES_MAX as u64 {
                return Err(format!("an answer of more than {ANSWER_SIZE_BYTES_MAX} bytes"));
            }
            if matches!(fed, Fed::Whole(_)) {
                break;
            }
        }
        Ok((reader.head().status, reader.kept().to_vec()))
    }
}

impl Form {
    fn rendered(&self, random: &mut Random) -> Vec<u8> {
        let (mut out, mut room) = (Vec::new(), Vec::new());
        self.render(random, 0, &mut room, &mut out);
        out
    }

    fn render(&self, random: &mut Random, sequence: u64, room: &mut Vec<u8>, out: &mut Vec<u8>) {
        match self {
            Form::Fixed(bytes) => out.extend_from_slice(bytes),
            Form::Varying { head, body: None } => {
                head.render(random, sequence, out);
                out.extend_from_slice(b"\r\n");
            }
            Form::Varying { head, body: Some(body) } => {
                head.render(random, sequence, out);
                body.render(random, sequence, room);
                out.extend_from_slice(b"Content-Length: ");
                out.extend_from_slice(itoa::Buffer::new().format(room.len()).as_bytes());
                out.extend_from_slice(b"\r\n\r\n");
                out.extend_from_slice(room);
            }
        }
    }
}

/// A work at one depth.
struct Job<'a> {
    work: &'a Work,
    depth: Option<u64>,
    weight: u64,
    /// Among how many depths the weight is divided.
    share: u64,
}

impl Job<'_> {
    fn name(&self) -> String {
        let name = &self.work.name;
        self.depth.map_or_else(|| name.clone(), |depth| format!("{name}@{depth}"))
    }
}

/// What an operator can do about a status.
#[must_use]
pub fn remedy_for(status: u16) -> &'static str {
    match status {
        401 => "give a key that is valid there with --key or MERCATO_API_KEY",
        402 => "buy credits: mercato-tools credits buy",
        404 => "name a dataset that is published there with --dataset",
        429 => {
            "start the server with --requests-per-minute 0 --requests-per-day 0, or ask more slowly with --rate"
        }
        503 => "the server is busy or a dataset is out of service; look at its log",
        _ => "correct the work file",
    }
}

/// What stands at a pointer (RFC 6901) of a JSON text, as it is written there.
fn at_pointer<'a>(text: &'a str, pointer: &str) -> Option<&'a RawValue> {
    let mut value: &RawValue = serde_json::from_str(text).ok()?;
    for token in pointer.split('/').skip(1) {
        let token = token.replace("~1", "/").replace("~0", "~");
        value = match token.parse::<usize>() {
            Ok(index) if value.get().starts_with('[') => {
                serde_json::from_str::<Vec<&RawValue>>(value.get()).ok()?.get(index).copied()?
            }
            _ => {
                serde_json::from_str::<BTreeMap<String, &RawValue>>(value.get()).ok()?.get(&token).copied()?
            }
        };
    }
    Some(value)
}

fn begin_of(answer: &[u8]) -> String {
    shown(answer.get(..SHOWN_BYTES_MAX).unwrap_or(answer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loadgen::works::{BUILT_IN, BUILT_IN_NAME, read};

    fn prepared(text: &str, mix: &str) -> Result<Vec<Prepared>, String> {
        let book = read("mine.toml", text).map_err(|failure| failure.one_line())?;
        let target = Target::resolve("http://127.0.0.1:1/at").unwrap();
        let preparation = Preparation {
            book: &book,
            target: &target,
            key: Some("mk_x"),
            depths: &[0, 5],
            timeout: Duration::from_secs(1),
        };
        preparation.prepare(&super::super::mix::parse(mix).unwrap()).map_err(|failure| failure.one_line())
    }

    fn bytes(work: &Prepared, index: u64) -> String {
        let (mut room, mut out) = (Vec::new(), Vec::new());
        work.render(&mut Random::of(1, index), index, &mut room, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_fixed_work_is_laid_out_once() {
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
    fn a_varying_work_has_the_length_of_its_body() {
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
    fn the_weight_of_a_work_is_divided_among_its_depths() {
        let named = |mix| -> Vec<(String, u64)> {
            prepared(BUILT_IN, mix).unwrap().into_iter().map(|work| (work.name, work.weight)).collect()
        };
        assert_eq!(named("w1=3,w2o=1"), [("w1".into(), 6), ("w2o@0".into(), 1), ("w2o@5".into(), 1)]);
        assert_eq!(named("w2o@7=2,w2k@0"), [("w2o@7".into(), 2), ("w2k@0".into(), 1)]);
    }

    #[test]
    fn wishes_that_cannot_be_are_refused() {
        for (mix, words) in [("w9", ["w9", "w5all"]), ("w1@5", ["w1", "depth"]), ("w1,w1", ["w1", "twice"])] {
            let reason = prepared(BUILT_IN, mix).unwrap_err();
            assert!(words.iter().all(|word| reason.contains(word)), "{reason}");
        }
        let text = "[[work]]\nname = \"a\"\npath = \"/{value:none}\"";
        assert!(prepared(text, "a").unwrap_err().contains("value:none"));
        assert!(read(BUILT_IN_NAME, BUILT_IN).unwrap().lists.contains_key("orderkey"));
    }

    #[test]
    fn values_are_taken_as_they_are_written() {
        let text = r#"{"data":{"a/b":[{"x":901.00},{"x":12345678901234567890123}]}}"#;
        let at = |pointer| at_pointer(text, pointer).map(RawValue::get);
        assert_eq!(at("/data/a~1b/0/x"), Some("901.00"));
        assert_eq!(at("/data/a~1b/1/x"), Some("12345678901234567890123"));
        assert_eq!((at("/data/none"), at("/data/a~1b/7")), (None, None));
        assert_eq!(at(""), Some(text));
    }
}
