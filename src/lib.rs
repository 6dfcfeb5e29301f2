//! The mercato server.
