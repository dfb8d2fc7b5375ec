//! Where a request comes from: the peer of its connection, or, behind proxies that this console was told
//! of, the address that the first of them was asked from (T40).
//!
//! Guards against a forwarding header that anybody can write: only as many of its last entries are
//! believed as there are trusted proxies, and whatever is no address there is the peer's again.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use axum::{
    extract::{Request, State},
    http::HeaderMap,
    middleware::Next,
    response::Response,
};

/// The other end of the request's connection; the listener says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer(pub SocketAddr);

/// Who asks, as far as addresses tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Client(pub IpAddr);

impl Client {
    /// Who asks, behind so many trusted proxies.
    #[must_use]
    pub fn of(peer: Option<Peer>, headers: &HeaderMap, trusted_hops: usize) -> Self {
        // A request without a connection, as in a test, comes from nowhere.
        let peer = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.0.ip());
        let forwarded = (trusted_hops > 0).then(|| forwarded(headers, trusted_hops)).flatten();
        Self(forwarded.unwrap_or(peer).to_canonical())
    }

    /// What is counted together: an address, or the network of 64 bits that one customer has.
    #[must_use]
    pub fn network(self) -> IpAddr {
        match self.0 {
            IpAddr::V4(address) => IpAddr::V4(address),
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
            }
        }
    }
}

/// The entry that the farthest trusted proxy wrote: each appends the address that it was asked from, so
/// it is the last one behind one proxy, the last but one behind two. All before it anybody may have made up.
fn forwarded(headers: &HeaderMap, trusted_hops: usize) -> Option<IpAddr> {
    let lines: Vec<&str> = headers
        .get_all("x-forwarded-for")
        .iter()
        .map(|line| line.to_str().unwrap_or_default())
        .collect();
    let entry = lines.iter().flat_map(|line| line.split(',')).rev().nth(trusted_hops - 1)?.trim();
    entry
        .parse()
        .or_else(|_| entry.parse().map(|address: SocketAddr| address.ip()))
        .or_else(|_| entry.trim_matches(['[', ']']).parse())
        .ok()
}

/// Puts the [`Client`] into the request.
pub async fn find(State(trusted_hops): State<usize>, mut request: Request, next: Next) -> Response {
    let peer = request.extensions().get::<Peer>().copied();
    let client = Client::of(peer, request.headers(), trusted_hops);
    request.extensions_mut().insert(client);
    next.run(request).await
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn client(lines: &[&'static str], hops: usize) -> String {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append("x-forwarded-for", HeaderValue::from_static(line));
        }
        let peer = Peer("10.0.0.9:5555".parse().unwrap());
        Client::of(Some(peer), &headers, hops).0.to_string()
    }

    #[test]
    fn without_a_trusted_proxy_the_header_means_nothing() {
        assert_eq!(client(&["203.0.113.7"], 0), "10.0.0.9");
        assert_eq!(client(&[], 0), "10.0.0.9");
    }

    #[test]
    fn so_many_entries_are_believed_as_there_are_trusted_proxies() {
        let made_up = "1.1.1.1, 198.51.100.3 , 203.0.113.7";
        assert_eq!(client(&[made_up], 1), "203.0.113.7");
        assert_eq!(client(&[made_up], 2), "198.51.100.3");
        assert_eq!(client(&["1.1.1.1", "198.51.100.3", "203.0.113.7"], 2), "198.51.100.3");
        assert_eq!(client(&["203.0.113.7:4711"], 1), "203.0.113.7");
        assert_eq!(client(&["[2001:db8::1]:4711"], 1), "2001:db8::1");
        assert_eq!(client(&["[2001:db8::1]"], 1), "2001:db8::1");
        assert_eq!(client(&["::ffff:203.0.113.7"], 1), "203.0.113.7");
    }

    #[test]
    fn what_is_no_address_there_is_the_peer() {
        for lines in [&["unknown"][..], &["203.0.113.7, evil"], &[""], &["203.0.113.7,"], &[]] {
            assert_eq!(client(lines, 1), "10.0.0.9", "{lines:?}");
        }
        assert_eq!(client(&["203.0.113.7"], 2), "10.0.0.9");
    }

    #[test]
    fn a_customers_network_is_one() {
        let network = |text: &str| Client(text.parse().unwrap()).network();
        assert_eq!(network("2001:db8:1:2:3::4"), network("2001:db8:1:2:ffff::1"));
        assert_ne!(network("2001:db8:1:2::1"), network("2001:db8:1:3::1"));
        assert_ne!(network("203.0.113.7"), network("203.0.113.8"));
    }
}
