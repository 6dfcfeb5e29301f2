//! The address block that counts as one client.

use std::net::IpAddr;

/// The IPv4 address itself, or the /64 network of an IPv6 address, which is usually one client.
pub fn client_block(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() & !u128::from(u64::MAX)).into()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_ipv6_clients_by_network() {
        let block = |text: &str| client_block(text.parse().unwrap());
        assert_eq!(block("2001:db8::1"), block("2001:db8::ffff:1"));
        assert_ne!(block("2001:db8::1"), block("2001:db8:0:1::1"));
        assert_ne!(block("1.2.3.4"), block("1.2.3.5"));
        assert_eq!(block("1.2.3.4"), block("::ffff:1.2.3.4"));
    }
}
