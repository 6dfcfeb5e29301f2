//! See the module of the same name in the library.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mercato_fuzz::page_header::run(data));
