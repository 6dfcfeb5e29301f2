//! The entry point of the fuzz target; the library module of the same name has its logic.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mercato_fuzz::page_header::run(data));

libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    match mercato_fuzz::page_mutations::changed(&data[..size], seed)
        .filter(|changed| changed.len() <= max_size)
    {
        Some(changed) => {
            data[..changed.len()].copy_from_slice(&changed);
            changed.len()
        }
        None => libfuzzer_sys::fuzzer_mutate(data, size, max_size),
    }
});
