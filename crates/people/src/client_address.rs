//! Client addresses behind trusted proxies.
//!
//! Only a trusted proxy may name another address than its own. Does not depend on header names or sockets.

use std::net::IpAddr;

use crate::client_block::client_block;

/// Trusted proxy networks in the configuration.
const TRUSTED_PROXIES_MAX: usize = 64;
/// Addresses of an `X-Forwarded-For` header that are looked at, from the right.
const FORWARDED_HOPS_MAX: usize = 16;

/// Networks of trusted proxies: their `X-Forwarded-For` lines are believed.
#[derive(Clone, Debug, Default)]
pub struct TrustedProxies {
    networks: Vec<Network>,
}

#[derive(Clone, Copy, Debug)]
struct Network {
    address: u128,
    mask: u128,
}

/// An invalid network in the configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CidrError {
    /// The text is not an address with a prefix length.
    #[error("expected a network like 10.0.0.0/8 or fd00::/8, found `{found}`")]
    Form { found: String },
    /// The list has too many networks.
    #[error("expected at most {TRUSTED_PROXIES_MAX} networks, found {found}")]
    TooMany {
        /// The number of networks.
        found: usize,
    },
}

impl TrustedProxies {
    /// Parses networks such as `10.0.0.0/8`. A plain address is a network of one.
    pub fn parse(texts: &[String]) -> Result<TrustedProxies, CidrError> {
        if texts.len() > TRUSTED_PROXIES_MAX {
            return Err(CidrError::TooMany { found: texts.len() });
        }
        let networks = texts.iter().map(|text| Network::parse(text)).collect::<Result<_, _>>()?;
        Ok(TrustedProxies { networks })
    }

    /// The client's address: the peer or, behind a trusted proxy, the last untrusted address of `X-Forwarded-For`. A
    /// client can forge every address further left.
    pub fn client_address<'t>(
        &self,
        peer: IpAddr,
        forwarded_for: impl DoubleEndedIterator<Item = &'t str>,
    ) -> IpAddr {
        let mut client = peer.to_canonical();
        let hops = forwarded_for.rev().flat_map(|line| line.rsplit(','));
        for hop in hops.take(FORWARDED_HOPS_MAX) {
            if !self.contains(client) {
                break;
            }
            let Some(address) = parse_hop(hop.trim()) else { break };
            client = address;
        }
        client
    }

    /// Whether an address belongs to a trusted proxy.
    pub fn contains(&self, address: IpAddr) -> bool {
        let bits = bits(address);
        self.networks.iter().any(|network| bits & network.mask == network.address)
    }
}

impl Network {
    fn parse(text: &str) -> Result<Network, CidrError> {
        let wrong = || CidrError::Form { found: text.chars().take(60).collect() };
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let width = if address.is_ipv4() { 32 } else { 128 };
        let length = length.map_or(Ok(width), |length| length.parse().map_err(|_| wrong()))?;
        if length > width {
            return Err(wrong());
        }
        // IPv4 networks are stored as IPv4-mapped IPv6 networks.
        let mask = u128::MAX.checked_shl(width - length).unwrap_or(0);
        let mask = if address.is_ipv4() { mask | !u128::from(u32::MAX) } else { mask };
        Ok(Network { address: bits(address) & mask, mask })
    }
}

/// Parses one address of the header: with or without a port, IPv6 with or without brackets.
fn parse_hop(text: &str) -> Option<IpAddr> {
    let bare = text.parse().ok();
    let with_port = || text.parse::<std::net::SocketAddr>().ok().map(|address| address.ip());
    let in_brackets = || text.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    bare.or_else(with_port).or_else(in_brackets).map(|address: IpAddr| address.to_canonical())
}

fn bits(address: IpAddr) -> u128 {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// The table key of a client: its address block.
pub(super) fn client_key(address: IpAddr) -> [u8; 16] {
    bits(client_block(address)).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(trusted: &[&str], peer: &str, lines: impl AsRef<[&'static str]>, expected: &str) {
        let lines = lines.as_ref();
        let texts: Vec<String> = trusted.iter().map(|text| (*text).to_owned()).collect();
        let proxies = TrustedProxies::parse(&texts).unwrap();
        let found = proxies.client_address(peer.parse().unwrap(), lines.iter().copied());
        assert_eq!(found, expected.parse::<IpAddr>().unwrap(), "{trusted:?} {peer} {lines:?}");
    }

    #[test]
    fn believes_trusted_proxies_only() {
        check(&[], "10.0.0.1", ["1.2.3.4"], "10.0.0.1");
        check(&["10.0.0.0/8"], "10.0.0.1", ["1.2.3.4"], "1.2.3.4");
        check(&["10.0.0.0/8"], "11.0.0.1", ["1.2.3.4"], "11.0.0.1");
        check(&["10.0.0.0/8"], "10.0.0.1", [], "10.0.0.1");
        check(&["10.0.0.0/8"], "::ffff:10.0.0.1", ["1.2.3.4:5555"], "1.2.3.4");
        check(&["fd00::/8", "10.9.9.9"], "fd00::1", ["2001:db8::7, 10.9.9.9"], "2001:db8::7");
        check(&["0.0.0.0/0"], "10.0.0.1", ["[2001:db8::7]"], "2001:db8::7");
    }

    #[test]
    fn ignores_addresses_left_of_proxy() {
        check(&["10.0.0.0/8"], "10.0.0.1", ["6.6.6.6, 1.2.3.4, 10.0.0.2"], "1.2.3.4");
        check(&["10.0.0.0/8"], "10.0.0.1", ["6.6.6.6", "1.2.3.4, 10.0.0.2"], "1.2.3.4");
        check(&["10.0.0.0/8"], "10.0.0.1", ["6.6.6.6, nonsense"], "10.0.0.1");
        check(&["10.0.0.0/8"], "10.0.0.1", ["6.6.6.6, nonsense, 10.0.0.3"], "10.0.0.3");
    }

    #[test]
    fn rejects_invalid_networks() {
        for wrong in ["", "10.0.0.0/33", "10.0.0/8", "::/129", "host", "1.2.3.4/-1"] {
            assert!(TrustedProxies::parse(&[wrong.to_owned()]).is_err(), "{wrong}");
        }
    }
}
