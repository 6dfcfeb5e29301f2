//! How many connections each client address has open.

use std::collections::HashMap;
use std::net::IpAddr;

/// Open connections by address.
#[derive(Debug, Default)]
pub struct Addresses {
    open: HashMap<IpAddr, usize>,
}

impl Addresses {
    /// Counts a connection; false when the address has `limit` already.
    pub fn enter(&mut self, address: IpAddr, limit: usize) -> bool {
        let count = self.open.entry(address).or_default();
        let enters = *count < limit;
        *count = count.saturating_add(usize::from(enters));
        enters
    }

    /// Counts one less.
    pub fn leave(&mut self, address: IpAddr) {
        let Some(count) = self.open.get_mut(&address) else { return };
        *count = count.saturating_sub(1);
        if *count == 0 {
            self.open.remove(&address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn limits_and_returns_connections_of_address() {
        let mut addresses = Addresses::default();
        assert!(addresses.enter(address("10.0.0.1"), 2) && addresses.enter(address("10.0.0.1"), 2));
        assert!(!addresses.enter(address("10.0.0.1"), 2) && addresses.enter(address("10.0.0.2"), 2));
        addresses.leave(address("10.0.0.1"));
        assert!(addresses.enter(address("10.0.0.1"), 2));
        for text in ["10.0.0.1", "10.0.0.1", "10.0.0.2"] {
            addresses.leave(address(text));
        }
        assert!(addresses.open.is_empty());
    }
}
