//! Names and addresses of hosts. The runtime's network primitives call it.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

/// The addresses of a host, each once, in the order of the system's preference. Asks the system's resolver, which may
/// take long.
pub fn resolve(host: &str) -> io::Result<Vec<IpAddr>> {
    if let Some(address) = parse(host) {
        return Ok(vec![address]);
    }
    let mut addresses: Vec<IpAddr> = Vec::new();
    for address in (host, 0).to_socket_addrs().map_err(|_| io::ErrorKind::NotFound)? {
        if !addresses.contains(&address.ip()) {
            addresses.push(address.ip());
        }
    }
    Ok(addresses)
}

/// The address written in a text, with or without brackets.
pub fn parse(text: &str) -> Option<IpAddr> {
    let inner = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    inner.parse().ok()
}

/// The address and port; `None` if one is invalid.
pub fn socket_address(address: &str, port: i64) -> Option<SocketAddr> {
    Some(SocketAddr::new(parse(address)?, u16::try_from(port).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_need_nobody_to_resolve_them() {
        assert_eq!(resolve("127.0.0.1").unwrap(), [IpAddr::from([127, 0, 0, 1])]);
        assert_eq!(resolve("[::1]").unwrap(), ["::1".parse::<IpAddr>().unwrap()]);
        assert!(socket_address("127.0.0.1", 65_536).is_none());
        assert!(socket_address("localhost", 80).is_none());
        assert_eq!(socket_address("::1", 80).unwrap().to_string(), "[::1]:80");
    }
}
