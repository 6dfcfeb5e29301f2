//! Calls to a store: signed addresses out, bounded answers in, the same again when a call fails on its way.
//!
//! With `payments/stripe/client.rs` the only file that names ureq. Does not depend on files.

use std::fmt;
use std::io::Read;
use std::ops::Range;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rusty_s3::{Bucket, Credentials, S3Action};
use ureq::http::Response;
use ureq::{Agent, Body, SendBody};
use url::Url;

use super::address::{LookUp, StoreAddress};
use super::answer::{check_range, element, entity_tag, fault, read_exactly, read_text};
use super::error::ObjectError;
use super::name::ObjectName;

/// How long the signature of a call is valid. A part has to arrive within [`Patience::call`].
const SIGNATURE_TIME: Duration = Duration::from_secs(900);

/// Shortest time between two looks for other keys.
const KEYS_PAUSE: Duration = Duration::from_secs(60);

/// How long and how often a call is tried.
#[derive(Debug, Clone)]
pub(super) struct Patience {
    /// Times that a call is made when the store is away.
    pub(super) attempts: u32,
    /// Longest pause before the second attempt; it doubles, up to `pause_max`. A random part of it is waited.
    pub(super) pause: Duration,
    pub(super) pause_max: Duration,
    pub(super) connect: Duration,
    /// Longest silence of the store while bytes are awaited.
    pub(super) silence: Duration,
    /// The same after the last part of an upload, which the store joins.
    pub(super) joining: Duration,
    /// A whole call: a part at 60 kB a second, at least.
    pub(super) call: Duration,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience {
            attempts: 5,
            pause: Duration::from_millis(200),
            pause_max: Duration::from_secs(3),
            connect: Duration::from_secs(5),
            silence: Duration::from_secs(30),
            joining: Duration::from_secs(120),
            call: Duration::from_secs(300),
        }
    }
}

/// The client of one bucket.
pub(super) struct Client {
    agent: Agent,
    bucket: Bucket,
    prefix: String,
    keys: Mutex<Keys>,
    look_up: Option<LookUp>,
    patience: Patience,
}

/// The keys of the bucket, and when they were looked up again.
struct Keys {
    present: Arc<Credentials>,
    looked_up_at: Option<Instant>,
}

type Sent = Result<Response<Body>, ureq::Error>;

impl Client {
    pub(super) fn new(address: StoreAddress, patience: Patience) -> Client {
        let StoreAddress { bucket, prefix, credentials, look_up, .. } = address;
        let config = Agent::config_builder()
            .timeout_connect(Some(patience.connect))
            .timeout_per_read(Some(patience.silence))
            .timeout_per_write(Some(patience.silence))
            .timeout_per_call(Some(patience.call))
            .http_status_as_error(false)
            .max_redirects(0)
            .max_idle_connections_per_host(2 * super::parts::PARALLEL_MAX as usize)
            .accept_encoding("identity")
            .user_agent("mercato");
        // A proxy of the environment would not reach a server of a private network.
        let is_public = bucket.base_url().scheme() == "https";
        let config = if is_public { config } else { config.proxy(None) };
        let keys = Mutex::new(Keys { present: Arc::new(credentials), looked_up_at: None });
        Client { agent: config.build().new_agent(), bucket, prefix, keys, look_up, patience }
    }

    /// The length; `None` where there is no such object.
    pub(super) fn length(&self, name: &ObjectName) -> Result<Option<u64>, ObjectError> {
        let key = self.key(name);
        let found = self.patiently(|keys| {
            let url = sign(&self.bucket.head_object(Some(keys), &key));
            let response = self.succeed(name, self.agent.head(url.as_str()).call())?;
            let length = header(&response, "content-length").and_then(|text| text.parse().ok());
            length.ok_or_else(|| refused(name, &response, "no length"))
        });
        match found {
            // An answer to HEAD has no body, so it does not tell whether the object or the whole bucket is missing.
            Err(ObjectError::Missing { .. }) => match self.refusal(name) {
                Some(error @ ObjectError::NoBucket { .. }) => Err(error),
                _ => Ok(None),
            },
            other => other.map(Some),
        }
    }

    /// The bytes of a range, of an object whose `whole` length may be known. The caller bounds the range.
    pub(super) fn read(
        &self,
        name: &ObjectName,
        range: Range<u64>,
        whole: Option<u64>,
    ) -> Result<Vec<u8>, ObjectError> {
        let Some(last) = range.end.checked_sub(1).filter(|last| *last >= range.start) else {
            return Ok(Vec::new());
        };
        let key = self.key(name);
        self.patiently(|keys| {
            let url = sign(&self.bucket.get_object(Some(keys), &key));
            let wanted = format!("bytes={}-{last}", range.start);
            let response = self.succeed(name, self.agent.get(url.as_str()).header("Range", wanted).call())?;
            let place = header(&response, "content-range");
            check_range(name.as_str(), response.status().as_u16(), place, &range, whole)?;
            read_exactly(name.as_str(), response.into_body().into_reader(), range.end - range.start)
        })
    }

    /// Puts these bytes as a whole object.
    pub(super) fn put(&self, name: &ObjectName, bytes: &[u8]) -> Result<(), ObjectError> {
        let key = self.key(name);
        let put = self.patiently(|keys| {
            let url = sign(&self.bucket.put_object(Some(keys), &key));
            self.succeed(name, self.agent.put(url.as_str()).send(bytes)).map(drop)
        });
        self.explained(name, put)
    }

    /// Puts a whole object from readers, each of which gives `length` bytes: one for each attempt.
    pub(super) fn put_from<R: Read>(
        &self,
        name: &ObjectName,
        length: u64,
        reader: impl Fn() -> R,
        check: impl Fn(R) -> Result<(), ObjectError>,
    ) -> Result<(), ObjectError> {
        let key = self.key(name);
        let put = self.patiently(|keys| {
            let url = sign(&self.bucket.put_object(Some(keys), &key));
            self.send_from(&url, length, reader(), &check, |sent| self.succeed(name, sent).map(drop))
        });
        self.explained(name, put)
    }

    /// Begins an upload by parts: its id.
    pub(super) fn begin(&self, name: &ObjectName) -> Result<String, ObjectError> {
        let key = self.key(name);
        self.patiently(|keys| {
            let url = sign(&self.bucket.create_multipart_upload(Some(keys), &key));
            let response = self.succeed(name, self.agent.post(url.as_str()).send_empty())?;
            let no_id = refused(name, &response, "no upload id");
            let text = read_text(response.into_body().into_reader());
            let id = element(&text, "UploadId").filter(|id| !id.is_empty());
            id.map(ToOwned::to_owned).ok_or(no_id)
        })
    }

    /// Puts one part, counted from 1: its entity tag.
    pub(super) fn put_part<R: Read>(
        &self,
        (name, upload): (&ObjectName, &str),
        number: u16,
        length: u64,
        reader: impl Fn() -> R,
        check: impl Fn(R) -> Result<(), ObjectError>,
    ) -> Result<String, ObjectError> {
        let key = self.key(name);
        let put = self.patiently(|keys| {
            let url = sign(&self.bucket.upload_part(Some(keys), &key, number, upload));
            self.send_from(&url, length, reader(), &check, |sent| {
                let response = self.succeed(name, sent)?;
                let tag = entity_tag(header(&response, "etag"));
                tag.ok_or_else(|| refused(name, &response, "no entity tag"))
            })
        });
        self.explained(name, put)
    }

    /// Joins the parts of an upload of `length` bytes. A store may answer 200 before it knows, and fail in the body.
    pub(super) fn complete(
        &self,
        (name, upload): (&ObjectName, &str),
        tags: &[String],
        length: u64,
    ) -> Result<(), ObjectError> {
        let key = self.key(name);
        let mut attempts = 0;
        let joined = self.patiently(|keys| {
            attempts += 1;
            let tags = tags.iter().map(String::as_str);
            let call = self.bucket.complete_multipart_upload(Some(keys), &key, upload, tags);
            let url = sign(&call);
            let request = self.agent.post(url.as_str()).config();
            let request = request.timeout_per_read(Some(self.patience.joining)).build();
            let response = self.succeed(name, request.content_type("application/xml").send(&call.body()))?;
            let text = read_text(response.into_body().into_reader());
            if text.contains("<CompleteMultipartUploadResult") {
                return Ok(());
            }
            let is_fault = text.contains("<Error>");
            let unknown = || ObjectError::Away { object: name.to_string(), reason: "no result".to_owned() };
            Err(if is_fault { fault(name.as_str(), 200, &text) } else { unknown() })
        });
        match joined {
            // The answer to an attempt before was lost, and the upload is gone because it was complete.
            Err(error @ (ObjectError::Missing { .. } | ObjectError::Refused { status: 404, .. }))
                if attempts > 1 =>
            {
                if self.length(name)? == Some(length) {
                    Ok(())
                } else {
                    Err(error)
                }
            }
            other => other,
        }
    }

    /// Gives an upload up. What remains when that fails, a rule of the bucket removes.
    pub(super) fn abort(&self, (name, upload): (&ObjectName, &str)) -> Result<(), ObjectError> {
        let key = self.key(name);
        self.patiently(|keys| {
            let url = sign(&self.bucket.abort_multipart_upload(Some(keys), &key, upload));
            self.succeed(name, self.agent.delete(url.as_str()).call()).map(drop)
        })
    }

    /// Deletes an object; what is not there counts as deleted.
    pub(super) fn delete(&self, name: &ObjectName) -> Result<(), ObjectError> {
        let key = self.key(name);
        let deleted = self.patiently(|keys| {
            let url = sign(&self.bucket.delete_object(Some(keys), &key));
            self.succeed(name, self.agent.delete(url.as_str()).call()).map(drop)
        });
        match deleted {
            Err(ObjectError::Missing { .. }) => Ok(()),
            other => other,
        }
    }

    /// Sends `length` bytes of a reader. A fault of the reader goes before that of the call which it broke.
    fn send_from<R: Read, T>(
        &self,
        url: &Url,
        length: u64,
        mut reader: R,
        check: impl Fn(R) -> Result<(), ObjectError>,
        read: impl FnOnce(Sent) -> Result<T, ObjectError>,
    ) -> Result<T, ObjectError> {
        let request = self.agent.put(url.as_str()).header("Content-Length", length);
        let sent = request.send(SendBody::from_reader(&mut reader));
        check(reader)?;
        read(sent)
    }

    /// The outcome of an upload. A store may refuse it before it has read the bytes, and close the connection under
    /// them: the reason is lost then, and asked for again without bytes.
    fn explained<T>(&self, name: &ObjectName, put: Result<T, ObjectError>) -> Result<T, ObjectError> {
        match put {
            Err(away @ ObjectError::Away { .. }) => Err(self.refusal(name).unwrap_or(away)),
            other => other,
        }
    }

    /// Why the store refuses any call, if it does: one call that changes nothing.
    fn refusal(&self, name: &ObjectName) -> Option<ObjectError> {
        let keys = Arc::clone(&self.keys.lock().present);
        let url = sign(&self.bucket.get_object(Some(&keys), &self.key(name)));
        let asked = self.succeed(name, self.agent.get(url.as_str()).header("Range", "bytes=0-0").call());
        asked.err().filter(|error| matches!(error, ObjectError::NoBucket { .. } | ObjectError::Denied { .. }))
    }

    /// The answer of a call that succeeded.
    fn succeed(&self, name: &ObjectName, sent: Sent) -> Result<Response<Body>, ObjectError> {
        let response =
            sent.map_err(|error| ObjectError::Away { object: name.to_string(), reason: reason(&error) })?;
        let status = response.status().as_u16();
        if (200..=299).contains(&status) {
            return Ok(response);
        }
        Err(fault(name.as_str(), status, &read_text(response.into_body().into_reader())))
    }

    /// Makes a call again while the store is away, and with new keys where it does not take the old ones.
    fn patiently<T>(
        &self,
        mut attempt: impl FnMut(&Credentials) -> Result<T, ObjectError>,
    ) -> Result<T, ObjectError> {
        let mut pause = self.patience.pause;
        let mut keys = Arc::clone(&self.keys.lock().present);
        for _ in 1..self.patience.attempts {
            match attempt(&keys) {
                Err(error) if error.is_passing() => thread::sleep(random_part(pause)),
                Err(error @ ObjectError::Denied { .. }) => match self.other_keys(&keys) {
                    Some(other) => keys = other,
                    None => return Err(error),
                },
                settled => return settled,
            }
            pause = pause.saturating_mul(2).min(self.patience.pause_max);
        }
        attempt(&keys)
    }

    /// Other keys than these, which the store does not take: of another call, or looked up again.
    fn other_keys(&self, denied: &Arc<Credentials>) -> Option<Arc<Credentials>> {
        let keys = &mut *self.keys.lock();
        let is_due = keys.looked_up_at.is_none_or(|at| at.elapsed() >= KEYS_PAUSE);
        if Arc::ptr_eq(&keys.present, denied)
            && is_due
            && let Some(look_up) = &self.look_up
        {
            keys.looked_up_at = Some(Instant::now());
            match look_up() {
                Ok(found) if found != *keys.present => {
                    tracing::info!("the object store is asked with the new keys");
                    keys.present = Arc::new(found);
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%error, "the keys to the object store cannot be looked up again")
                }
            }
        }
        (!Arc::ptr_eq(&keys.present, denied)).then(|| Arc::clone(&keys.present))
    }

    fn key(&self, name: &ObjectName) -> String {
        if self.prefix.is_empty() { name.to_string() } else { format!("{}/{name}", self.prefix) }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}{}", self.bucket.base_url(), self.prefix)
    }
}

fn sign<'a>(action: &impl S3Action<'a>) -> Url {
    action.sign(SIGNATURE_TIME)
}

fn header<'a>(response: &'a Response<Body>, name: &str) -> Option<&'a str> {
    response.headers().get(name)?.to_str().ok()
}

fn refused(name: &ObjectName, response: &Response<Body>, code: &str) -> ObjectError {
    let status = response.status().as_u16();
    ObjectError::Refused { object: name.to_string(), status, code: code.to_owned() }
}

/// What happened, without the address, which is signed.
fn reason(error: &ureq::Error) -> String {
    match error {
        ureq::Error::BadUri(_) => "its address is not usable".to_owned(),
        other => other.to_string(),
    }
}

/// Waits of several servers that were turned away together differ.
fn random_part(pause: Duration) -> Duration {
    let mut byte = [u8::MAX];
    // Without random bytes the whole pause is waited.
    let _filled = getrandom::fill(&mut byte);
    pause.mul_f64(f64::from(byte[0]) / 255.0)
}
