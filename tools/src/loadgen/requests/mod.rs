//! The requests of a run: the work file, its templates, the mix, and the bytes that are sent.

mod fetch;
pub mod mix;
pub mod prepare;
pub mod prepared_work;
pub mod template;
pub mod work_file;
mod work_reader;
