//! Makes the system's allocator give back at once what a large buffer held. Knows no command.
//!
//! glibc maps a large buffer on its own, and unmaps it when it is freed. But each time it does so it raises the size
//! from which it maps, up to 32 MiB, and from then on keeps buffers of that size in the heap of the thread, up to 64
//! MiB a thread, which nobody counted. Naming the size in the environment, as mallopt(3) describes, stops the raising;
//! the environment is read before `main`, so the program starts itself once more.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod glibc {
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    const MAP_THRESHOLD: &str = "MALLOC_MMAP_THRESHOLD_";
    /// Starts this program anew with the same arguments, in the same process, unless that was done before; buffers of
    /// `bytes` and more are then given back as soon as they are freed. Goes on without where it cannot be done: the
    /// memory is then held longer, and nothing else differs.
    pub fn give_back_at_once(bytes: usize) {
        if std::env::var_os(MAP_THRESHOLD).is_some() {
            return;
        }
        let Ok(program) = std::env::current_exe() else { return };
        let mut arguments = std::env::args_os();
        let mut command = Command::new(program);
        if let Some(name) = arguments.next() {
            command.arg0(name);
        }
        let error = command.args(arguments).env(MAP_THRESHOLD, bytes.to_string()).exec();
        drop(error);
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod glibc {
    /// Other allocators need nothing of the kind.
    pub fn give_back_at_once(_bytes: usize) {}
}

pub use glibc::give_back_at_once;
