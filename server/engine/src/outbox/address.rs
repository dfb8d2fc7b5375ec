//! Which addresses a webhook may be delivered to.
//!
//! Guards against the destination that turns the publisher into a way into the private network:
//! a name is resolved once, all its addresses are judged, and the connection goes to one of those
//! that were judged, so that a second answer of the name server changes nothing (DNS rebinding).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Whether an address is one that the public internet routes (IANA's registries of
/// special-purpose addresses).
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || address.is_multicast()
        || a == 0
        || a >= 240
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (b == 18 || b == 19)))
}

/// Global unicast alone, without the blocks inside it that lead elsewhere: an IPv4 address in
/// disguise is judged as what it is.
fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(v4) = address.to_ipv4_mapped() {
        return is_public_v4(v4);
    }
    let [a, b, ..] = address.segments();
    (a & 0xe000) == 0x2000
        // Protocol assignments, Teredo among them; documentation; 6to4, which carries an IPv4 address.
        && !(a == 0x2001 && (b < 0x0200 || b == 0x0db8))
        && a != 0x2002
        && !(a == 0x3fff && b < 0x1000)
}

/// All addresses of a name, if every one of them is public.
pub(crate) fn judged(name: &str, found: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, String> {
    if found.is_empty() {
        return Err(format!("{name} has no address"));
    }
    match found.iter().find(|address| !is_public(address.ip())) {
        Some(private) => Err(format!(
            "{name} leads to {}, which is not a public address; nothing was sent",
            private.ip()
        )),
        None => Ok(found),
    }
}

/// Resolves names for the client of one destination.
pub(crate) struct Resolver {
    pub(crate) allow_private: bool,
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let allow_private = self.allow_private;
        Box::pin(async move {
            let found: Vec<SocketAddr> =
                tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let judged = if allow_private { found } else { judged(name.as_str(), found)? };
            Ok(Box::new(judged.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_known_in_every_disguise() {
        for private in [
            "127.0.0.1",
            "127.8.8.8",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "192.0.0.8",
            "192.0.2.1",
            "198.18.0.1",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "fe80::1",
            "fc00::1",
            "fd12:3456::1",
            "ff02::1",
            "2001:db8::1",
            "2001::1",
            "2002:7f00:1::",
            "3fff::1",
            "100::1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
        for public in [
            "1.1.1.1",
            "8.8.8.8",
            "100.63.255.255",
            "100.128.0.0",
            "172.32.0.1",
            "198.20.0.1",
            "::ffff:8.8.8.8",
            "2606:4700::1111",
            "2a00:1450:4001::200e",
            "2001:4860:4860::8888",
        ] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
    }

    #[test]
    fn one_private_address_among_public_ones_is_enough_to_refuse() {
        let at = |text: &str| SocketAddr::new(text.parse().unwrap(), 443);
        assert!(judged("x", vec![at("8.8.8.8"), at("127.0.0.1")]).is_err());
        assert!(judged("x", vec![at("8.8.8.8"), at("::ffff:10.0.0.1")]).is_err());
        assert!(judged("x", Vec::new()).is_err());
        assert_eq!(judged("x", vec![at("8.8.8.8"), at("1.1.1.1")]).unwrap().len(), 2);
    }
}
