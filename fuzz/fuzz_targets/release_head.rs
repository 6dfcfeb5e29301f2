//! The entry point of the fuzz target; the library module of the same name has its logic.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mercato_fuzz::release_head::run(data));
