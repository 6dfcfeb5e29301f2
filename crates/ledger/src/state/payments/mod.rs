//! Operations on payments: a checkout opens, is paid, and is reversed by refunds and disputes.

mod checkouts;
mod reversing;
