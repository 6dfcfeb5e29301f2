//! The way to the workers and back: slots, the lane to tiny_http, and the client's socket in the hands of a worker.

pub(super) mod lane;
pub(super) mod presence;
pub(super) mod private;
pub(super) mod response_socket;
pub(super) mod slots;
