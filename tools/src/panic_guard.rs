//! Catches panics of third-party decoders and turns them into errors without output. Does not depend on Parquet.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`. A panic inside it is returned as its message and not printed.
///
/// # Errors
/// The panic's message.
pub fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    silence_caught_panics();
    let outer = GUARDED.replace(true);
    // On an error, the caller drops the state of `work`, so no code sees it half-changed.
    let outcome = panic::catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(outer);
    outcome.map_err(|payload| message(payload.as_ref()))
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
    use super::catch_panic;

    #[test]
    fn returns_panic_message() {
        assert_eq!(catch_panic(|| 3), Ok(3));
        assert_eq!(
            catch_panic(|| -> u8 { panic!("index {} out of bounds", 7) }),
            Err("index 7 out of bounds".into())
        );
    }
}
