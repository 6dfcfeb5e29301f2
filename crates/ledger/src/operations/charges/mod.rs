//! Sales: pages, streams, files and parts of them; what they cost, and what was paid before.

mod charge;
mod claims;
mod files;
mod progress;
mod refund;
mod reserve;
mod reserve_file;
mod sell;
mod sell_part;
mod settle;
mod spending;
mod usage_lines;
mod views;

pub use charge::Charge;
pub use claims::PaidAmong;
pub use refund::{ANSWER_FAILED, Refund};
pub use reserve::Reserve;
pub use reserve_file::ReserveFile;
pub use sell_part::SellPart;
pub use settle::Settle;
pub use spending::{Caps, Spent};
pub use usage_lines::UsageLines;
pub use views::PaidBefore;
