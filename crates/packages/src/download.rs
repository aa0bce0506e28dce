//! Files of the web, for `cache`: archives by `https` and `http`.
//!
//! The certificates that the system trusts are trusted. The size is limited, and so is the time. What was fetched is
//! compared with its digest by the caller.

use std::sync::Arc;
use std::time::Duration;

use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig, TlsProvider};

use crate::problem::{Problem, Result};

/// The longest time for a file.
const PATIENCE: Duration = Duration::from_secs(600);

/// The longest time for a connection, and for the answer to begin.
const BEGIN: Duration = Duration::from_secs(30);

/// The bytes at an address, at most so many.
pub fn fetch(address: &str, most: u64) -> Result<Vec<u8>> {
    let unfetched = |error: ureq::Error| {
        let problem = Problem::failed(format!("{address} cannot be fetched: {error}"));
        problem.hint("check the address and the network; with --offline, nothing is fetched")
    };
    let mut answer = agent().get(address).call().map_err(unfetched)?;
    answer.body_mut().with_config().limit(most).read_to_vec().map_err(|error| match error {
        ureq::Error::BodyExceedsLimit(_) => {
            Problem::failed(format!("{address} has more than {most} bytes"))
        }
        error => unfetched(error),
    })
}

fn agent() -> Agent {
    let certificates = rustls_native_certs::load_native_certs().certs;
    let certificates =
        certificates.iter().map(|certificate| Certificate::from_der(certificate).to_owned());
    let roots = RootCerts::Specific(Arc::new(certificates.collect()));
    let cryptography = Arc::new(rustls::crypto::ring::default_provider());
    let encryption = TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .root_certs(roots)
        .unversioned_rustls_crypto_provider(cryptography)
        .build();
    let settings = Agent::config_builder()
        .tls_config(encryption)
        .timeout_global(Some(PATIENCE))
        .timeout_connect(Some(BEGIN))
        .timeout_recv_response(Some(BEGIN))
        .user_agent(concat!("squall/", env!("CARGO_PKG_VERSION")));
    settings.build().into()
}
