//! Who comes in: people and programs of this machine's user, and no web page.
//!
//! A page on the web can send its visitor's browser to this port. Such a browser names the page's host in `Host` (also
//! after the name was rebound to this machine) and its origin in `Origin`. Both are refused whatever else is said. What is
//! left has to know a secret that only files of this user tell.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use axum::http::{HeaderMap, StatusCode, Uri, header};

use crate::error::CommandError;

/// The beginning of the sub-protocol that carries the token, for clients that cannot set headers.
const PROTOCOL: &str = "checkmate.token.";

/// What somebody has to show.
#[derive(Debug, Clone)]
pub(super) struct Door {
    token: String,
    port: u16,
    /// Whether programs of this machine come in without the token.
    open: bool,
}

/// Why somebody does not come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// Another host was meant.
    Host,
    /// A page of somebody else sends it.
    Origin,
    /// The token is missing or wrong.
    Token,
}

impl Refused {
    pub(super) fn status(self) -> StatusCode {
        match self {
            Self::Host | Self::Origin => StatusCode::FORBIDDEN,
            Self::Token => StatusCode::UNAUTHORIZED,
        }
    }

    pub(super) fn message(self) -> &'static str {
        match self {
            Self::Host => "This daemon answers to localhost only.",
            Self::Origin => "Pages of other hosts cannot use this daemon.",
            Self::Token => {
                "The token is missing or wrong. `checkmate serve` tells the address with the token, and keeps it in the file \
                 `daemon/token` of Checkmate's state folder."
            }
        }
    }
}

impl Door {
    /// Makes a door; `folder` keeps the token.
    pub(super) fn new(folder: &Path, port: u16, open: bool) -> Result<Self, CommandError> {
        Ok(Self { token: token(folder)?, port, open })
    }

    pub(super) fn token(&self) -> &str {
        &self.token
    }

    /// Refuses requests that were meant for another host or come from another host's page.
    pub(super) fn admit(&self, headers: &HeaderMap) -> Result<(), Refused> {
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).ok_or(Refused::Host)?;
        if headers.get_all(header::HOST).iter().count() != 1 || !is_this_machine(host) {
            return Err(Refused::Host);
        }
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let own = |origin: &str| {
            let Some(host) = origin.strip_prefix("http://") else { return false };
            is_this_machine(host) && host.ends_with(&format!(":{}", self.port))
        };
        if !origins.all(|origin| origin.to_str().is_ok_and(own)) {
            return Err(Refused::Origin);
        }
        Ok(())
    }

    /// Refuses clients that do not know the token.
    pub(super) fn admit_client(&self, headers: &HeaderMap, uri: &Uri) -> Result<(), Refused> {
        self.admit(headers)?;
        let bearer = headers
            .get_all(header::AUTHORIZATION)
            .iter()
            .filter_map(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        let protocols = headers
            .get_all(header::SEC_WEBSOCKET_PROTOCOL)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .filter_map(|value| value.trim().strip_prefix(PROTOCOL));
        let query = uri.query().into_iter().flat_map(|query| query.split('&'));
        let query = query.filter_map(|pair| pair.strip_prefix("token="));
        let mut shown = bearer.chain(protocols).chain(query).peekable();
        if shown.peek().is_none() && self.open && !headers.contains_key(header::ORIGIN) {
            return Ok(());
        }
        if shown.any(|shown| is_same(shown, &self.token)) { Ok(()) } else { Err(Refused::Token) }
    }
}

/// Tells whether a `Host` names this machine's own loopback, on whatever port it was reached.
fn is_this_machine(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => {
            if port.is_empty() || !port.bytes().all(|byte| byte.is_ascii_digit()) {
                return false;
            }
            name
        }
        Some(_) | None => host,
    };
    matches!(name.to_ascii_lowercase().as_str(), "localhost" | "127.0.0.1" | "[::1]")
}

/// Compares in a time that does not tell where two texts differ.
fn is_same(one: &str, other: &str) -> bool {
    let differences = one.bytes().zip(other.bytes()).fold(0, |sum, (one, other)| sum | (one ^ other));
    one.len() == other.len() && differences == 0
}

/// Reads the token, or makes one that only this user can read.
fn token(folder: &Path) -> Result<String, CommandError> {
    let path = folder.join("token");
    if let Ok(text) = std::fs::read_to_string(&path)
        && is_private(&path)
        && text.trim().len() >= 32
        && text.trim().bytes().all(|byte| byte.is_ascii_alphanumeric())
    {
        return Ok(text.trim().to_owned());
    }
    let failed = |error: std::io::Error| {
        CommandError::local(format!(
            "The daemon's token cannot be kept in {}: {error}. Check that you may write there.",
            path.display()
        ))
    };
    crate::state::make(folder).map_err(failed)?;
    let mut random = [0; 32];
    std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut random)).map_err(failed)?;
    let token: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut file = tempfile::Builder::new().prefix(".token").tempfile_in(folder).map_err(failed)?;
    writeln!(file, "{token}").map_err(failed)?;
    // A temporary file can be read by its owner only.
    file.persist(&path).map_err(|error| failed(error.error))?;
    Ok(token)
}

fn is_private(path: &PathBuf) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.mode() & 0o077 == 0)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    const TOKEN: &str = "0123456789abcdef0123456789abcdef";

    fn admitted(open: bool, uri: &str, headers: &[(&str, &str)]) -> Result<(), Refused> {
        let door = Door { token: TOKEN.into(), port: 9876, open };
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name = axum::http::HeaderName::from_bytes(name.as_bytes()).unwrap();
            map.append(name, HeaderValue::from_str(value).unwrap());
        }
        door.admit_client(&map, &uri.parse().unwrap())
    }

    #[test]
    fn the_token_can_be_shown_in_three_ways() {
        let host = ("host", "localhost:9876");
        let bearer = format!("Bearer {TOKEN}");
        let protocol = format!("checkmate.v1, {PROTOCOL}{TOKEN}");
        let query = format!("/?workspace=%2Fx&token={TOKEN}");
        assert_eq!(admitted(false, "/", &[host, ("authorization", &bearer)]), Ok(()));
        assert_eq!(admitted(false, "/", &[host, ("sec-websocket-protocol", &protocol)]), Ok(()));
        assert_eq!(admitted(false, &query, &[host]), Ok(()));
        assert_eq!(admitted(false, "/", &[host]), Err(Refused::Token));
        assert_eq!(admitted(false, "/?token=wrong", &[host]), Err(Refused::Token));
        assert_eq!(admitted(true, "/?token=wrong", &[host]), Err(Refused::Token), "a wrong one is no none");
    }

    #[test]
    fn only_programs_of_this_machine_come_in_without_it() {
        let origin = ("origin", "http://localhost:9876");
        assert_eq!(admitted(true, "/", &[("host", "127.0.0.1:9876")]), Ok(()));
        assert_eq!(admitted(true, "/", &[("host", "127.0.0.1:9876"), origin]), Err(Refused::Token));
    }

    #[test]
    fn other_hosts_and_their_pages_stay_outside() {
        let query = format!("/?token={TOKEN}");
        for host in ["localhost", "LOCALHOST:9876", "127.0.0.1:9876", "[::1]:9876", "[::1]", "localhost:4000"]
        {
            assert_eq!(admitted(false, &query, &[("host", host)]), Ok(()), "{host}");
        }
        let foreign = [
            "evil.example",
            "evil.example:9876",
            "localhost.evil.example",
            "127.0.0.1.nip.io:9876",
            "localhost:",
            "localhost:9876:9876",
            "[::1].evil.example",
            "",
        ];
        for host in foreign {
            assert_eq!(admitted(true, &query, &[("host", host)]), Err(Refused::Host), "{host}");
        }
        assert_eq!(admitted(true, &query, &[]), Err(Refused::Host));
        let two = [("host", "localhost:9876"), ("host", "evil.example")];
        assert_eq!(admitted(true, &query, &two), Err(Refused::Host));
        let own = ["http://localhost:9876", "http://127.0.0.1:9876", "http://[::1]:9876"];
        for origin in own {
            assert_eq!(admitted(false, &query, &[("host", "localhost:9876"), ("origin", origin)]), Ok(()));
        }
        let foreign = [
            "https://evil.example",
            "http://localhost:3000",
            "http://localhost:9876.evil.example",
            "https://localhost:9876",
            "null",
            "",
            "file://",
            "vscode-webview://abc",
        ];
        for origin in foreign {
            let headers = [("host", "localhost:9876"), ("origin", origin)];
            assert_eq!(admitted(true, &query, &headers), Err(Refused::Origin), "{origin}");
        }
    }

    #[test]
    fn the_token_is_made_once_and_is_private() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let one = token(folder.path()).unwrap();
        assert_eq!(one.len(), 64);
        assert_eq!(token(folder.path()).unwrap(), one);
        let path = folder.path().join("token");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert_ne!(token(folder.path()).unwrap(), one, "others may have read it");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
