//! How many connections each address has open.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use crate::fairness::client_block;

/// Open connections by address.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    open: Mutex<HashMap<IpAddr, usize>>,
}

impl Addresses {
    /// Counts one more, or nothing when the address has `limit` already.
    pub(super) fn enter(self: &Arc<Self>, address: IpAddr, limit: usize) -> Option<Entered> {
        let block = client_block(address);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(block).or_default();
        if *count >= limit {
            return None;
        }
        *count = count.saturating_add(1);
        Some(Entered { addresses: Arc::clone(self), block })
    }
}

/// One connection of an address, until this is dropped.
#[derive(Debug)]
pub(super) struct Entered {
    addresses: Arc<Addresses>,
    block: IpAddr,
}

impl Drop for Entered {
    fn drop(&mut self) {
        let mut open = self.addresses.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.block) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                open.remove(&self.block);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_so_many_connections_and_gets_them_back() {
        let addresses = Arc::new(Addresses::default());
        let enter = |text: &str| addresses.enter(text.parse().unwrap(), 2);
        let (first, _second) = (enter("2001:db8::1").unwrap(), enter("2001:db8::2").unwrap());
        assert!(enter("2001:db8::3").is_none());
        assert!(enter("2001:db8:0:1::1").is_some() && enter("10.0.0.1").is_some());
        drop(first);
        assert!(enter("2001:db8::3").is_some());
        assert_eq!(addresses.open.lock().unwrap().len(), 1);
    }
}
