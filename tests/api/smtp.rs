//! A server of mail that records what it is sent, and can be told to refuse, to put off or to fall silent.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::harness::wait_until;

/// How the server answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    Kind,
    /// Puts off so many mails (451), then takes them.
    Later(usize),
    /// Refuses every receiver, with the address in its words (550).
    Never,
    /// Says nothing at all.
    Silent,
}

/// A mail that was taken.
#[derive(Debug, Clone)]
pub struct Mail {
    pub sender: String,
    pub receivers: Vec<String>,
    /// As it was sent.
    pub raw: String,
    /// The text, decoded.
    pub text: String,
}

impl Mail {
    /// The value of a header, on one line.
    pub fn header(&self, name: &str) -> String {
        let head = self.raw.split("\r\n\r\n").next().unwrap().replace("\r\n ", " ");
        let lines = head.lines().filter_map(|line| line.split_once(": "));
        let values: Vec<_> =
            lines.filter(|(own, _)| *own == name).map(|(_, value)| value.to_owned()).collect();
        assert!(values.len() <= 1, "{name}: {values:?}");
        values.into_iter().next().unwrap_or_default()
    }

    /// The only link in the text that carries a token, and the token.
    #[track_caller]
    pub fn link(&self) -> (String, String) {
        let links: Vec<&str> = self.text.lines().filter(|line| line.contains("?token=")).collect();
        assert_eq!(links.len(), 1, "{}", self.text);
        let token = links[0].split("token=").nth(1).unwrap().to_owned();
        assert!(token.len() == 43 && token.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{token}");
        (links[0].to_owned(), token)
    }
}

#[derive(Default)]
struct Seen {
    mails: Mutex<Vec<Mail>>,
    logins: Mutex<Vec<String>>,
    connections: AtomicUsize,
    put_off: AtomicUsize,
}

pub struct SmtpServer {
    pub address: SocketAddr,
    seen: Arc<Seen>,
}

impl SmtpServer {
    pub fn start(mood: Mood) -> SmtpServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::<Seen>::default();
        let of = Arc::clone(&seen);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let seen = Arc::clone(&of);
                seen.connections.fetch_add(1, Ordering::Relaxed);
                thread::spawn(move || drop(serve(stream, mood, &seen)));
            }
        });
        SmtpServer { address, seen }
    }

    /// Flags of a site that sends by this server.
    pub fn flags(&self) -> Vec<String> {
        let url = format!("smtp://{}", self.address);
        let flags = [
            "--smtp",
            &url,
            "--mail-from",
            "Mercato <noreply@mercato.test>",
            "--public-url",
            "http://mercato.test",
        ];
        flags.map(str::to_owned).to_vec()
    }

    pub fn mails(&self) -> Vec<Mail> {
        self.seen.mails.lock().unwrap().clone()
    }

    /// The credentials of every sign-in.
    pub fn logins(&self) -> Vec<String> {
        self.seen.logins.lock().unwrap().clone()
    }

    pub fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::Relaxed)
    }

    /// The mail at a place, once it is there.
    #[track_caller]
    pub fn mail(&self, place: usize) -> Mail {
        wait_until("a mail arrives", || self.mails().len() > place);
        self.mails()[place].clone()
    }
}

fn serve(stream: TcpStream, mood: Mood, seen: &Seen) -> std::io::Result<()> {
    let mut out = stream.try_clone()?;
    let mut lines = BufReader::new(stream).lines();
    if mood == Mood::Silent {
        while lines.next().transpose()?.is_some() {}
        return Ok(());
    }
    out.write_all(b"220 mail.test ESMTP\r\n")?;
    let (mut sender, mut receivers) = (String::new(), Vec::new());
    while let Some(line) = lines.next().transpose()? {
        let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
        let answer: String = match word.to_ascii_uppercase().as_str() {
            "EHLO" => "250-mail.test\r\n250-AUTH PLAIN\r\n250 8BITMIME".to_owned(),
            "AUTH" => {
                let login = STANDARD.decode(rest.trim_start_matches("PLAIN ")).unwrap_or_default();
                seen.logins.lock().unwrap().push(String::from_utf8_lossy(&login).into_owned());
                "235 welcome".to_owned()
            }
            "MAIL" => {
                rest.clone_into(&mut sender);
                let Mood::Later(times) = mood else {
                    out.write_all(b"250 ok\r\n")?;
                    continue;
                };
                if seen.put_off.fetch_add(1, Ordering::Relaxed) < times {
                    "451 later".to_owned()
                } else {
                    "250 ok".to_owned()
                }
            }
            "RCPT" if mood == Mood::Never => format!("550 5.1.1 {rest} is unknown here"),
            "RCPT" => {
                receivers.push(rest.trim_start_matches("TO:<").trim_end_matches('>').to_owned());
                "250 ok".to_owned()
            }
            "DATA" => {
                out.write_all(b"354 go on\r\n")?;
                let raw = body(&mut lines)?;
                let text = decoded(&raw);
                let receivers = std::mem::take(&mut receivers);
                seen.mails.lock().unwrap().push(Mail { sender: sender.clone(), receivers, raw, text });
                "250 taken".to_owned()
            }
            "QUIT" => {
                out.write_all(b"221 bye\r\n")?;
                return Ok(());
            }
            _ => "250 ok".to_owned(),
        };
        out.write_all(format!("{answer}\r\n").as_bytes())?;
    }
    Ok(())
}

/// The lines up to the one with a dot alone.
fn body(lines: &mut impl Iterator<Item = std::io::Result<String>>) -> std::io::Result<String> {
    let mut raw = String::new();
    while let Some(line) = lines.next().transpose()? {
        if line == "." {
            break;
        }
        raw.push_str(line.strip_prefix('.').unwrap_or(&line));
        raw.push_str("\r\n");
    }
    Ok(raw)
}

fn decoded(raw: &str) -> String {
    let (head, body) = raw.split_once("\r\n\r\n").unwrap();
    if head.contains("Content-Transfer-Encoding: base64") {
        let packed: String = body.split_whitespace().collect();
        return String::from_utf8(STANDARD.decode(packed).unwrap()).unwrap().replace("\r\n", "\n");
    }
    if !head.contains("Content-Transfer-Encoding: quoted-printable") {
        return body.replace("\r\n", "\n");
    }
    let body = body.replace("=\r\n", "");
    let mut bytes = Vec::new();
    let mut rest = body.as_bytes();
    while let [first, tail @ ..] = rest {
        match (first, tail) {
            (b'=', [high, low, after @ ..]) => {
                let hex = String::from_utf8(vec![*high, *low]).unwrap();
                bytes.push(u8::from_str_radix(&hex, 16).unwrap());
                rest = after;
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).unwrap().replace("\r\n", "\n")
}
