//! The mercato store file.
