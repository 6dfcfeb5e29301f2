//! A proxy in front of the database, which reads the messages that pass: it swallows the answer to the next commit, holds the
//! next commit back, or cuts everything off. Does not depend on the books.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// Words of the statement that charges and commits by itself.
const CHARGES: &[u8] = b"INSERT INTO batch (server, number, places";

/// Words of the question for what a batch of charges left.
const ASKS: &[u8] = b"SELECT places, numbers, accounts";

/// A proxy; it accepts no further connections when it is dropped.
pub struct Proxy {
    shared: Arc<Shared>,
    port: u16,
}

/// What becomes of a commit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is carried out, and nobody hears of it.
    Swallowed,
    /// It does not arrive.
    Lost,
}

#[derive(Default)]
struct Shared {
    /// What becomes of all commits.
    held_back: Mutex<Option<Fate>>,
    /// Whether the answer to the next commit is swallowed.
    is_armed: AtomicBool,
    /// Whether the answer to the next question for what a batch left is swallowed.
    is_armed_for_question: AtomicBool,
    /// Whether the next commit is held back.
    is_holding: AtomicBool,
    is_cut: AtomicBool,
    swallowed: AtomicUsize,
    open: Mutex<Vec<(TcpStream, UnixStream)>>,
}

impl Proxy {
    /// A proxy in front of the server with this socket.
    pub fn before(socket: PathBuf) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, shared) = (listener.local_addr().unwrap().port(), Arc::<Shared>::default());
        let of_thread = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if !of_thread.is_cut.load(Ordering::SeqCst)
                    && let Ok(server) = UnixStream::connect(&socket)
                {
                    of_thread.lead(client, server);
                }
            }
        });
        Proxy { shared, port }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The answer to the next commit does not come.
    pub fn swallow_next(&self) {
        self.shared.is_armed.store(true, Ordering::SeqCst);
    }

    /// The answer to the next question for what a batch of charges left does not come, either.
    pub fn swallow_next_question(&self) {
        self.shared.is_armed_for_question.store(true, Ordering::SeqCst);
    }

    /// The next commit does not reach the database, and nothing else on its connection.
    pub fn hold_next(&self) {
        self.shared.is_holding.store(true, Ordering::SeqCst);
    }

    pub fn is_holding(&self) -> bool {
        self.shared.is_holding.load(Ordering::SeqCst)
    }

    pub fn is_armed(&self) -> bool {
        self.shared.is_armed.load(Ordering::SeqCst)
    }

    /// How many answers were swallowed.
    pub fn swallowed(&self) -> usize {
        self.shared.swallowed.load(Ordering::SeqCst)
    }

    /// Cuts all connections off, and refuses further ones.
    pub fn cut(&self) {
        self.shared.is_cut.store(true, Ordering::SeqCst);
        for (client, server) in self.shared.open.lock().unwrap().drain(..) {
            drop((client.shutdown(Shutdown::Both), server.shutdown(Shutdown::Both)));
        }
    }

    /// From now on every commit has this fate and ends its connection, and there are no further connections.
    pub fn hold_back(&self, fate: Fate) {
        *self.shared.held_back.lock().unwrap() = Some(fate);
        self.shared.is_cut.store(true, Ordering::SeqCst);
    }

    /// Lets everything through again.
    pub fn mend(&self) {
        *self.shared.held_back.lock().unwrap() = None;
        self.shared.is_cut.store(false, Ordering::SeqCst);
    }
}

impl Shared {
    fn lead(self: &Arc<Shared>, client: TcpStream, server: UnixStream) {
        client.set_nodelay(true).unwrap();
        self.open.lock().unwrap().push((client.try_clone().unwrap(), server.try_clone().unwrap()));
        let is_swallowing = Arc::new(AtomicBool::new(false));
        let (shared, swallowing) = (Arc::clone(self), Arc::clone(&is_swallowing));
        let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        thread::spawn(move || {
            let _ended = shared.questions(&from, &to, &swallowing);
            drop((from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both)));
        });
        let shared = Arc::clone(self);
        thread::spawn(move || {
            let _ended = shared.answers(&server, &client, &is_swallowing);
            drop((client.shutdown(Shutdown::Both), server.shutdown(Shutdown::Both)));
        });
    }

    /// Passes on what the client says.
    fn questions(
        &self,
        mut from: &TcpStream,
        mut to: &UnixStream,
        is_swallowing: &AtomicBool,
    ) -> io::Result<()> {
        // The first message has no letter.
        let mut length = [0; 4];
        from.read_exact(&mut length)?;
        let mut rest = vec![0; u32::from_be_bytes(length) as usize - 4];
        from.read_exact(&mut rest)?;
        to.write_all(&[&length, rest.as_slice()].concat())?;
        let (mut charging, mut asking) = (Vec::new(), Vec::new());
        loop {
            let (letter, message) = message(from)?;
            let body = &message[5..];
            let name = body.split(|byte| *byte == 0).next().unwrap_or_default().to_vec();
            if letter == b'P' && body.windows(CHARGES.len()).any(|words| words == CHARGES) {
                charging.push(name);
            } else if letter == b'P' && body.windows(ASKS.len()).any(|words| words == ASKS) {
                asking.push(name);
            } else {
                let statement = body.split(|byte| *byte == 0).nth(1).unwrap_or_default().to_vec();
                let commits = letter == b'Q' && body.starts_with(b"COMMIT");
                let charges = letter == b'B' && charging.contains(&statement);
                if commits && self.is_holding.swap(false, Ordering::SeqCst) {
                    // Until the other side ends it.
                    io::copy(&mut from, &mut io::sink())?;
                    return Ok(());
                }
                let asks = letter == b'B' && asking.contains(&statement);
                if asks && self.is_armed_for_question.swap(false, Ordering::SeqCst) {
                    is_swallowing.store(true, Ordering::SeqCst);
                }
                if commits || charges {
                    let fate = *self.held_back.lock().unwrap();
                    if fate == Some(Fate::Lost) {
                        return Ok(());
                    }
                    if self.is_armed.swap(false, Ordering::SeqCst) || fate.is_some() {
                        is_swallowing.store(true, Ordering::SeqCst);
                    }
                }
            }
            to.write_all(&message)?;
        }
    }

    /// Passes on what the server says; a swallowed answer ends the connection when it is complete.
    fn answers(&self, from: &UnixStream, mut to: &TcpStream, is_swallowing: &AtomicBool) -> io::Result<()> {
        loop {
            let (letter, message) = message(from)?;
            if is_swallowing.load(Ordering::SeqCst) {
                if letter == b'Z' {
                    self.swallowed.fetch_add(1, Ordering::SeqCst);
                    return Ok(());
                }
            } else {
                to.write_all(&message)?;
            }
        }
    }
}

/// A letter and the whole message that it begins.
fn message(mut from: impl Read) -> io::Result<(u8, Vec<u8>)> {
    let mut head = [0; 5];
    from.read_exact(&mut head)?;
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
    let mut message = head.to_vec();
    message.resize(length + 1, 0);
    from.read_exact(&mut message[5..])?;
    Ok((head[0], message))
}
