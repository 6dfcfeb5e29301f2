//! The layout of a store file: header, trailer, section directory, column records, checksums, and the memory map.

pub mod checksum;
pub mod column_record;
pub mod fingerprint;
pub mod layout;
pub mod mapped_file;
pub mod section;
