//! Addresses of the web, by the URL standard. The primitives of `lib/Urls.ns` call this module.

use url::Url;

use crate::Problem;

/// The parts of an address.
pub struct Parts {
    /// The normal form of all of it.
    pub text: String,
    /// Scheme, user, password, host, path, query and fragment; none for a part that is not there.
    pub parts: [Option<String>; 7],
    /// The port, if it is not the scheme's own.
    pub port: Option<u16>,
    /// The port, or the scheme's own.
    pub effective_port: Option<u16>,
}

/// Reads an address; a relative one needs the address that it is relative to.
pub fn read(text: &str, base: Option<&str>) -> Result<Parts, Problem> {
    let wrong = |error| Problem::unlocated(format!("this is no address: {error}"));
    let url = match base {
        Some(base) => Url::parse(base).and_then(|base| base.join(text)).map_err(wrong)?,
        None => Url::parse(text).map_err(wrong)?,
    };
    let user = (!url.username().is_empty()).then(|| url.username().to_owned());
    Ok(Parts {
        parts: [
            Some(url.scheme().to_owned()),
            user,
            url.password().map(str::to_owned),
            url.host_str().map(str::to_owned),
            Some(url.path().to_owned()),
            url.query().map(str::to_owned),
            url.fragment().map(str::to_owned),
        ],
        port: url.port(),
        effective_port: url.port_or_known_default(),
        text: url.into(),
    })
}

/// The address with another query or fragment; none for another part.
pub fn changed(text: &str, part: &str, value: Option<&str>) -> Option<Result<String, Problem>> {
    let mut url = match Url::parse(text) {
        Ok(url) => url,
        Err(error) => return Some(Err(Problem::unlocated(error))),
    };
    match part {
        "query" => url.set_query(value),
        "fragment" => url.set_fragment(value),
        "path" => url.set_path(value.unwrap_or_default()),
        _ => return None,
    }
    Some(Ok(url.into()))
}
