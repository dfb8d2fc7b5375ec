//! Places for connections: so many in all, so many from one address.
//!
//! Beyond the first bound new connections wait in the kernel's queue; beyond the second they are
//! closed, so that one address cannot take the places of all others.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Arc, Mutex, PoisonError},
};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Bounds;

/// File descriptors for everything that is no connection: pools, files, the log.
const OTHER_FILES: u64 = 600;

/// The places of one listener.
pub(super) struct Places {
    all: Arc<Semaphore>,
    each: usize,
    taken: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// A place for whoever connects next.
pub(super) struct Free<'a> {
    places: &'a Places,
    permit: OwnedSemaphorePermit,
}

/// The place of one connection, given back when dropped.
pub(super) struct Place {
    _permit: OwnedSemaphorePermit,
    address: IpAddr,
    taken: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

impl Places {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self {
            all: Arc::new(Semaphore::new(bounds.connections)),
            each: bounds.address_connections,
            taken: Arc::default(),
        }
    }

    /// Waits until there is one.
    pub(super) async fn one_more(&self) -> Free<'_> {
        let permit = Arc::clone(&self.all).acquire_owned().await;
        Free { places: self, permit: permit.expect("the semaphore is never closed") }
    }

    /// One that is there now.
    pub(super) fn try_one_more(&self) -> Option<Free<'_>> {
        let permit = Arc::clone(&self.all).try_acquire_owned().ok()?;
        Some(Free { places: self, permit })
    }
}

impl Free<'_> {
    /// Takes it for an address; `None` where that address has as many as it may.
    pub(super) fn of(self, address: IpAddr) -> Option<Place> {
        let address = network(address);
        let mut taken = self.places.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let own = taken.entry(address).or_default();
        if *own >= self.places.each {
            return None;
        }
        *own += 1;
        Some(Place { _permit: self.permit, address, taken: Arc::clone(&self.places.taken) })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = taken.get_mut(&self.address) {
            *own -= 1;
            if *own == 0 {
                taken.remove(&self.address);
            }
        }
    }
}

/// What counts as one address: by IPv6 the network of 64 bits that one customer is given.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => {
            Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into()
        }
    }
}

/// Lets this process have as many files open as its connections need, as far as the system allows.
///
/// # Errors
/// A sentence where that is not enough.
pub fn raise_file_limit(bounds: Bounds) -> Result<(), String> {
    let wanted = u64::try_from(bounds.connections).unwrap_or(u64::MAX).saturating_add(OTHER_FILES);
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= wanted) {
        return Ok(());
    }
    let current = limit.maximum.map_or(wanted, |maximum| maximum.min(wanted));
    let raised = setrlimit(Resource::Nofile, Rlimit { current: Some(current), ..limit });
    if raised.is_ok() && current >= wanted {
        return Ok(());
    }
    Err(format!(
        "this process may have {current} files open; {} connections need {wanted} (ONCEOVER_MAX_CONNECTIONS)",
        bounds.connections
    ))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn bounds(connections: usize, address_connections: usize) -> Bounds {
        let second = Duration::from_secs(1);
        Bounds {
            connections,
            address_connections,
            header: second,
            header_bytes: 8_192,
            body: second,
            idle: second,
            drain: second,
        }
    }

    #[test]
    fn one_address_cannot_take_the_places_of_the_others() {
        let places = Places::new(bounds(4, 2));
        let take = |address: &str| places.try_one_more().unwrap().of(address.parse().unwrap());
        let (first, _second) = (take("192.0.2.1").unwrap(), take("::ffff:192.0.2.1").unwrap());
        assert!(take("192.0.2.1").is_none());
        let _other = take("192.0.2.2").unwrap();
        drop(first);
        let _again = take("192.0.2.1").unwrap();
        assert!(take("192.0.2.1").is_none());
    }

    #[test]
    fn a_network_of_one_customer_is_one_address() {
        let places = Places::new(bounds(4, 1));
        let take = |address: &str| places.try_one_more().unwrap().of(address.parse().unwrap());
        let _one = take("2001:db8:1:1::1").unwrap();
        assert!(take("2001:db8:1:1:ffff::2").is_none());
        assert!(take("2001:db8:1:2::1").is_some());
    }

    #[test]
    fn there_are_so_many_places_and_no_more() {
        let places = Places::new(bounds(1, 9));
        let one = places.try_one_more().unwrap().of("192.0.2.1".parse().unwrap());
        assert!(places.try_one_more().is_none());
        drop(one);
        assert!(places.try_one_more().is_some());
    }
}
