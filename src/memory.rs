//! Makes the system's allocator return large buffers at once and keep small ones. Does not depend on commands.
//!
//! glibc maps a large buffer on its own, and unmaps it when it is freed. But each time it does so it raises the size
//! from which it maps, up to 32 MiB, and from then on keeps buffers of that size in the heap of the thread, up to 64
//! MiB a thread, which nobody counted. Naming the size in the environment, as mallopt(3) describes, stops the raising;
//! the environment is read before `main`, so the program starts itself once more. The same way leads to huge pages, which
//! spare a program that fills many large buffers most of its page faults.
//!
//! Naming that size also fixes the other bound, of free bytes at the end of a heap, at 128 KiB: a program that frees what a
//! part of an answer took, and takes as much again, then has each page of it mapped anew. So that bound is named as well.

/// Which pages large buffers are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pages {
    /// As the system likes it: for a program that keeps little, where half-filled huge pages would show.
    Usual,
    /// Huge ones, where the system has them: for a program that fills many large buffers.
    Huge,
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod glibc {
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use super::Pages;

    const MAP_THRESHOLD: &str = "MALLOC_MMAP_THRESHOLD_";
    const TRIM_THRESHOLD: &str = "MALLOC_TRIM_THRESHOLD_";
    /// Free bytes that a heap keeps at its end; a thread has at most one heap, and all have eight for each core.
    const KEPT_BYTES_MAX: usize = 4 * 1024 * 1024;
    const TUNABLES: &str = "GLIBC_TUNABLES";
    /// Asks the kernel for huge pages where it gives them to who asks.
    const HUGE_PAGES: &str = "glibc.malloc.hugetlb=1";

    /// Starts this program anew with the same arguments, in the same process, unless that was done before; buffers of
    /// `bytes` and more are then given back as soon as they are freed. Goes on without where it cannot be done: the
    /// memory is then held longer, and nothing else differs.
    pub fn give_back_at_once(bytes: usize, pages: Pages) {
        if std::env::var_os(MAP_THRESHOLD).is_some() {
            return;
        }
        let Ok(program) = std::env::current_exe() else { return };
        let mut arguments = std::env::args_os();
        let mut command = Command::new(program);
        if let Some(name) = arguments.next() {
            command.arg0(name);
        }
        command.args(arguments).env(MAP_THRESHOLD, bytes.to_string());
        command.env(TRIM_THRESHOLD, KEPT_BYTES_MAX.to_string());
        if pages == Pages::Huge {
            let tunables = std::env::var(TUNABLES)
                .map_or_else(|_| HUGE_PAGES.to_owned(), |others| format!("{others}:{HUGE_PAGES}"));
            command.env(TUNABLES, tunables);
        }
        drop(command.exec());
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod glibc {
    /// Other allocators need nothing of the kind.
    pub fn give_back_at_once(_bytes: usize, _pages: super::Pages) {}
}

pub use glibc::give_back_at_once;
