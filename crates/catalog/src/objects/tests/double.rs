//! A store of the test: it keeps objects in memory, and a test changes single answers. Does not check signatures.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;

use super::super::ObjectStore;
use super::store_at;

/// Longest head and body that the double reads, in bytes.
const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A request as it came.
#[derive(Clone)]
pub(super) struct Asked {
    pub(super) method: String,
    /// Without the query.
    pub(super) path: String,
    pub(super) query: HashMap<String, String>,
    pub(super) range: Option<(u64, u64)>,
    pub(super) body: Vec<u8>,
}

/// What the double does with a request.
pub(super) enum Answer {
    /// As a store does.
    Well,
    /// A status, headers and a body.
    This(u16, &'static str, Vec<u8>),
    /// These bytes, then the end.
    Raw(Vec<u8>),
    /// A good head, and then bytes without end.
    Endless(&'static str),
    /// A good answer, of which only so many bytes come.
    Cut(usize),
    /// Nothing, for so long.
    Silent(Duration),
    /// The store does it, and its answer is lost.
    Lost,
}

type Says = dyn Fn(&Asked, usize) -> Answer + Send + Sync;

pub(super) struct Double {
    pub(super) address: SocketAddr,
    world: Arc<World>,
}

struct World {
    objects: Mutex<BTreeMap<String, Vec<u8>>>,
    uploads: Mutex<HashMap<String, BTreeMap<u16, Vec<u8>>>>,
    asked: Mutex<Vec<Asked>>,
    says: Box<Says>,
}

impl Double {
    /// A double that does as it is told for each request; `says` also hears how many came before it.
    pub(super) fn that(says: impl Fn(&Asked, usize) -> Answer + Send + Sync + 'static) -> Double {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let world = Arc::new(World {
            objects: Mutex::default(),
            uploads: Mutex::default(),
            asked: Mutex::default(),
            says: Box::new(says),
        });
        let serving = Arc::clone(&world);
        thread::spawn(move || {
            for connection in listener.incoming().map_while(Result::ok) {
                let serving = Arc::clone(&serving);
                thread::spawn(move || drop(serving.serve(connection)));
            }
        });
        Double { address, world }
    }

    pub(super) fn well() -> Double {
        Double::that(|_, _| Answer::Well)
    }

    pub(super) fn store(&self) -> ObjectStore {
        store_at(&format!("http://{}", self.address))
    }

    /// The bytes of an object, by its name below the prefix.
    pub(super) fn object(&self, name: &str) -> Option<Vec<u8>> {
        self.world.objects.lock().get(&format!("/bucket/pre/fix/{name}")).cloned()
    }

    pub(super) fn keep(&self, name: &str, bytes: &[u8]) {
        self.world.objects.lock().insert(format!("/bucket/pre/fix/{name}"), bytes.to_vec());
    }

    pub(super) fn open_uploads(&self) -> usize {
        self.world.uploads.lock().len()
    }

    pub(super) fn asked(&self) -> Vec<Asked> {
        self.world.asked.lock().clone()
    }
}

impl World {
    fn serve(&self, mut connection: TcpStream) -> std::io::Result<()> {
        let Some(asked) = read_request(&connection)? else { return Ok(()) };
        let before = {
            let mut all = self.asked.lock();
            all.push(Asked { body: Vec::new(), ..asked.clone() });
            all.len() - 1
        };
        match (self.says)(&asked, before) {
            Answer::Well => connection.write_all(&self.answer(&asked)),
            Answer::This(status, headers, body) => connection.write_all(&answer(status, headers, &body)),
            Answer::Raw(bytes) => connection.write_all(&bytes),
            Answer::Cut(most) => {
                let whole = self.answer(&asked);
                let head = whole.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
                connection.write_all(&whole[..whole.len().min(head + most)])
            }
            Answer::Endless(head) => {
                connection.write_all(head.as_bytes())?;
                loop {
                    connection.write_all(&[b'x'; 4096])?;
                }
            }
            Answer::Silent(time) => {
                thread::sleep(time);
                Ok(())
            }
            Answer::Lost => {
                self.answer(&asked);
                Ok(())
            }
        }
    }

    /// What a store does and says.
    fn answer(&self, asked: &Asked) -> Vec<u8> {
        let missing = || fault(404, "NoSuchKey");
        let (mut objects, mut uploads) = (self.objects.lock(), self.uploads.lock());
        let upload = asked.query.get("uploadId");
        match (asked.method.as_str(), upload) {
            ("POST", None) => {
                let id = format!("upload.{}", self.asked.lock().len());
                uploads.insert(id.clone(), BTreeMap::new());
                let body = format!(
                    "<InitiateMultipartUploadResult><UploadId>{id}</UploadId></InitiateMultipartUploadResult>"
                );
                answer(200, "", body.as_bytes())
            }
            ("PUT", Some(id)) => {
                let Some(parts) = uploads.get_mut(id) else { return fault(404, "NoSuchUpload") };
                let number = asked.query["partNumber"].parse().unwrap();
                parts.insert(number, asked.body.clone());
                answer(200, &format!("ETag: \"tag-{number}\"\r\n"), b"")
            }
            ("POST", Some(id)) => {
                let Some(parts) = uploads.remove(id) else { return fault(404, "NoSuchUpload") };
                let wanted: String = parts
                    .keys()
                    .map(|number| {
                        format!("<Part><ETag>\"tag-{number}\"</ETag><PartNumber>{number}</PartNumber></Part>")
                    })
                    .collect();
                let told = String::from_utf8_lossy(&asked.body).replace("&quot;", "\"");
                assert_eq!(told, format!("<CompleteMultipartUpload>{wanted}</CompleteMultipartUpload>"));
                objects.insert(asked.path.clone(), parts.into_values().flatten().collect());
                answer(
                    200,
                    "",
                    b"<CompleteMultipartUploadResult xmlns=\"s3\"></CompleteMultipartUploadResult>"
                        .as_slice(),
                )
            }
            ("DELETE", Some(id)) => {
                uploads.remove(id);
                answer(204, "", b"")
            }
            ("PUT", None) => {
                objects.insert(asked.path.clone(), asked.body.clone());
                answer(200, "ETag: \"one\"\r\n", b"")
            }
            ("DELETE", None) => objects.remove(&asked.path).map_or_else(missing, |_| answer(204, "", b"")),
            ("HEAD", _) => match objects.get(&asked.path) {
                Some(bytes) => {
                    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", bytes.len())
                        .into_bytes()
                }
                None => b"HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n".to_vec(),
            },
            ("GET", _) => objects.get(&asked.path).map_or_else(missing, |bytes| part(bytes, asked.range)),
            _ => fault(405, "MethodNotAllowed"),
        }
    }
}

fn part(bytes: &[u8], range: Option<(u64, u64)>) -> Vec<u8> {
    let Some((first, last)) = range else { return answer(200, "", bytes) };
    if first >= bytes.len() as u64 {
        return fault(416, "InvalidRange");
    }
    let last = last.min(bytes.len() as u64 - 1);
    let place = format!("Content-Range: bytes {first}-{last}/{}\r\n", bytes.len());
    answer(206, &place, &bytes[first as usize..=last as usize])
}

fn fault(status: u16, code: &str) -> Vec<u8> {
    answer(status, "", format!("<Error><Code>{code}</Code></Error>").as_bytes())
}

pub(super) fn answer(status: u16, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status} X\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

fn read_request(connection: &TcpStream) -> std::io::Result<Option<Asked>> {
    let mut reader = BufReader::new(connection);
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split(' ');
    let method = words.next().unwrap().to_owned();
    let (path, query) = words.next().unwrap().split_once('?').unwrap();
    let query = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let query: HashMap<_, _> = query.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let (mut length, mut range) = (0, None);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let Some((name, value)) = header.trim_end().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().unwrap(),
            "range" => {
                let (first, last) = value.strip_prefix("bytes=").unwrap().split_once('-').unwrap();
                range = Some((first.parse().unwrap(), last.parse().unwrap()));
            }
            "transfer-encoding" => panic!("no store takes a body without length"),
            _ => {}
        }
    }
    assert!(length <= BODY_BYTES_MAX && query.contains_key("X-Amz-Signature"));
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some(Asked { method, path: path.to_owned(), query, range, body }))
}
