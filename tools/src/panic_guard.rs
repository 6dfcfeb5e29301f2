//! Catches panics of third-party decoders and turns them into errors without output, and measures how long they run
//! without progress. Does not depend on formats.

use std::any::Any;
use std::cell::Cell;
use std::collections::HashMap;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// The decoders that run, with their last progress.
static CALLS: Mutex<Option<HashMap<ThreadId, Instant>>> = Mutex::new(None);

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`. A panic inside it is returned as its message and not printed.
pub fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    silence_caught_panics();
    let outer = GUARDED.replace(true);
    progressed();
    // On an error, the caller drops the state of `work`, so no code sees it half-changed.
    let outcome = panic::catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(outer);
    if !outer && let Some(calls) = calls().as_mut() {
        calls.remove(&thread::current().id());
    }
    outcome.map_err(|payload| message(payload.as_ref()))
}

/// Notes that the decoder of this thread, if one runs, makes progress.
pub fn progressed() {
    if GUARDED.get() {
        calls().get_or_insert_default().insert(thread::current().id(), Instant::now());
    }
}

/// The longest time that a decoder has run without progress.
#[must_use]
pub fn longest_call() -> Duration {
    let calls = calls();
    calls.iter().flatten().map(|(_, begun)| begun.elapsed()).max().unwrap_or_default()
}

fn calls() -> MutexGuard<'static, Option<HashMap<ThreadId, Instant>>> {
    CALLS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Installs a panic hook that is silent on threads inside [`catch_panic`].
fn silence_caught_panics() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !GUARDED.get() {
                print(info);
            }
        }));
    });
}

fn message(payload: &(dyn Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "a panic without a message".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_decoders_since_their_last_progress() {
        let wait = Duration::from_millis(300);
        catch_panic(|| {
            thread::sleep(wait);
            assert!(longest_call() >= wait);
            catch_panic(progressed).unwrap();
            assert!(calls().as_ref().unwrap()[&thread::current().id()].elapsed() < wait);
        })
        .unwrap();
        assert!(!calls().as_ref().unwrap().contains_key(&thread::current().id()));
    }

    #[test]
    fn returns_panic_message() {
        assert_eq!(catch_panic(|| 3), Ok(3));
        assert_eq!(
            catch_panic(|| -> u8 { panic!("index {} out of bounds", 7) }),
            Err("index 7 out of bounds".into())
        );
    }
}
