//! The way of long answers: the kernel moves their bytes from the private socket to the client's through a pipe.
//!
//! Nothing is copied into this process and out again; the pages that a worker wrote into one socket are handed to the
//! other (`splice(2)`). Knows how many bytes are to be moved, and nothing of what they are.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use socket2::Socket;

use crate::limits::edge::PASSED_BYTES_HELD;

/// The pipe between the two sockets.
pub(super) struct Passage {
    out: OwnedFd,
    into: OwnedFd,
}

/// What kept bytes from being moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blocked {
    /// These sockets or this kernel do not do it, and nothing was moved.
    Unsupported,
    /// The worker's side ended or was silent for too long.
    Worker,
    /// The client is gone.
    Client,
    /// The client did not take what there was within its time.
    Stalled,
}

impl Passage {
    /// A pipe, where the system gives one.
    pub(super) fn open() -> Option<Self> {
        let (out, into) = pipe_with(PipeFlags::CLOEXEC).ok()?;
        // Where it may not be that large, the usual size works as well.
        let _ = fcntl_setpipe_size(&into, PASSED_BYTES_HELD);
        Some(Self { out, into })
    }

    /// Moves at most `length` bytes of what the worker has written, and gives how many the client's socket took: all
    /// that had left the worker's. `time` is how long that may take.
    pub(super) fn pass(
        &self,
        from: &UnixStream,
        to: &Socket,
        length: u64,
        time: Duration,
    ) -> Result<u64, Blocked> {
        let most = usize::try_from(length).unwrap_or(usize::MAX).min(PASSED_BYTES_HELD);
        let taken = match moved(from, &self.into, most, SpliceFlags::MOVE) {
            Ok(0) => return Err(Blocked::Worker),
            Ok(taken) => taken,
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => return Err(Blocked::Unsupported),
            Err(_) => return Err(Blocked::Worker),
        };
        // What is not the end yet need not go out in a segment of its own.
        let is_end = u64::try_from(taken).unwrap_or(u64::MAX) >= length;
        let flags = if is_end { SpliceFlags::MOVE } else { SpliceFlags::MOVE | SpliceFlags::MORE };
        let deadline = Instant::now() + time;
        let mut left = taken;
        while left > 0 {
            match moved(&self.out, to, left, flags) {
                Ok(0) => return Err(Blocked::Client),
                Ok(given) => left = left.saturating_sub(given),
                Err(Errno::AGAIN) => return Err(Blocked::Stalled),
                Err(_) => return Err(Blocked::Client),
            }
            if left > 0 && Instant::now() > deadline {
                return Err(Blocked::Stalled);
            }
        }
        Ok(u64::try_from(taken).unwrap_or(u64::MAX))
    }
}

fn moved(from: impl AsFd, to: impl AsFd, length: usize, flags: SpliceFlags) -> Result<usize, Errno> {
    loop {
        match splice(&from, None, &to, None, length, flags) {
            Err(Errno::INTR) => {}
            outcome => return outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::thread;

    use super::*;

    const TIME: Duration = Duration::from_secs(60);

    struct Ends {
        worker: UnixStream,
        private: UnixStream,
        public: Socket,
        client: TcpStream,
    }

    fn ends() -> Ends {
        let (worker, private) = UnixStream::pair().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let public = Socket::from(listener.accept().unwrap().0);
        Ends { worker, private, public, client }
    }

    #[test]
    fn every_byte_arrives_once_and_nothing_behind_them_is_touched() {
        let Ends { mut worker, mut private, public, mut client } = ends();
        let sent: Vec<u8> = (0..3_000_000_u32).map(|number| (number / 7) as u8).collect();
        let expected = sent.clone();
        let writer = thread::spawn(move || {
            worker.write_all(&sent).unwrap();
            worker.write_all(b"what follows").unwrap();
            worker
        });
        let reader = thread::spawn(move || {
            let mut received = Vec::new();
            client.read_to_end(&mut received).unwrap();
            received
        });
        let passage = Passage::open().unwrap();
        let mut left = expected.len() as u64;
        while left > 0 {
            left -= passage.pass(&private, &public, left, TIME).unwrap();
        }
        drop(public);
        assert!(reader.join().unwrap() == expected);
        let mut rest = [0; 12];
        private.read_exact(&mut rest).unwrap();
        assert_eq!(&rest, b"what follows");
        drop(writer.join().unwrap());
    }

    #[test]
    fn each_end_that_fails_is_named() {
        let Ends { worker, private, public, client } = ends();
        let passage = Passage::open().unwrap();
        (&worker).write_all(b"0123456789").unwrap();
        drop(worker);
        assert_eq!(passage.pass(&private, &public, 4, TIME), Ok(4));
        assert_eq!(passage.pass(&private, &public, 100, TIME), Ok(6));
        assert_eq!(passage.pass(&private, &public, 100, TIME), Err(Blocked::Worker));
        drop(client);

        let Ends { mut worker, private, public, client } = ends();
        drop(client);
        let outcome = (0..100).find_map(|_| {
            worker.write_all(&[7; 4096]).unwrap();
            passage.pass(&private, &public, 4096, TIME).err()
        });
        assert_eq!(outcome, Some(Blocked::Client));
    }

    #[test]
    fn a_client_that_does_not_read_is_not_waited_for_longer_than_its_time() {
        let Ends { mut worker, private, public, client } = ends();
        public.set_write_timeout(Some(Duration::from_millis(50))).unwrap();
        thread::spawn(move || while worker.write_all(&[7; 65_536]).is_ok() {});
        let passage = Passage::open().unwrap();
        let outcome = loop {
            match passage.pass(&private, &public, u64::MAX, Duration::from_millis(50)) {
                Ok(_) => {}
                Err(blocked) => break blocked,
            }
        };
        assert_eq!(outcome, Blocked::Stalled);
        drop(client);
    }
}
