//! The HTTP clients: one TLS stack, rustls with ring, trusting what the machine trusts.

use std::time::Duration;

use reqwest::redirect::Policy;

use super::service::Service;

/// How long a connection may take to stand.
const CONNECT_LIMIT: Duration = Duration::from_secs(30);

/// HTTP clients, made when first needed and shared between roles.
#[derive(Default)]
pub(super) struct Clients {
    remote: Option<reqwest::Client>,
    local: Option<reqwest::Client>,
    local_tls: Option<reqwest::Client>,
}

impl Clients {
    /// Returns the client for a service.
    pub(super) fn reaching(&mut self, service: &Service) -> reqwest::Result<reqwest::Client> {
        let tls = service.url.scheme() == "https";
        let slot = match (service.local, tls) {
            (false, _) => &mut self.remote,
            (true, false) => &mut self.local,
            (true, true) => &mut self.local_tls,
        };
        match slot {
            Some(client) => Ok(client.clone()),
            None => Ok(slot.insert(client(service.local, tls)?).clone()),
        }
    }
}

/// Makes a client. Proxies are taken from `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, but not for this machine.
fn client(local: bool, tls: bool) -> reqwest::Result<reqwest::Client> {
    // Fails only if a provider is installed already, and then that one is used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder()
        .user_agent(concat!("checkmate/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_LIMIT)
        .tcp_nodelay(true)
        // A redirect would carry a key to an address that nobody configured.
        .redirect(Policy::none());
    match (local, tls) {
        (false, _) => builder.build(),
        (true, true) => builder.no_proxy().build(),
        // A container without any certificate can still talk to itself.
        (true, false) => builder.no_proxy().tls_certs_only([]).build(),
    }
}
