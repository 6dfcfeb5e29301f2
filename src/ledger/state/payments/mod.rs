//! Operations on payments: what a customer asks to buy, its payment, and what of it is taken back.

mod checkouts;
mod reversing;
