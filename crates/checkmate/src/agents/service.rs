//! Turns a role's settings into an address, a model and a key.

use std::net::IpAddr;

use checkmate_machine::ids::Role;
use genai::adapter::AdapterKind;
use reqwest::Url;

use super::table::{self, Key, Row, Wire};
use super::{AgentError, AgentSettings};
use crate::config::base_url_from_env;

/// The variable with which a user says which further hosts may get keys, with commas between.
const TRUSTED_HOSTS: &str = "CHECKMATE_TRUSTED_HOSTS";

/// A model at a provider, ready to be called.
pub(super) struct Service {
    /// The provider's row.
    pub(super) row: Row,
    /// genai's name for the row's wire.
    pub(super) adapter: AdapterKind,
    /// The model's name, exactly as it was configured.
    pub(super) model: String,
    /// The base URL, with a slash at its end.
    pub(super) url: Url,
    /// Whether the address is on this machine.
    pub(super) local: bool,
    /// The environment variable that holds the key, if one is known.
    pub(super) variable: Option<String>,
    /// The key, if there is one.
    pub(super) key: Option<Secret>,
}

/// A key. It has no way into a message: it can be neither displayed nor debugged.
pub(super) struct Secret(String);

impl Secret {
    /// Returns the key itself.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl Service {
    /// Looks the provider up, completes the address and takes the key from `env`.
    pub(super) fn resolve(
        role: Role,
        settings: &AgentSettings,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, AgentError> {
        let name = &settings.provider;
        let row = table::find(name).ok_or_else(|| AgentError::UnknownProvider {
            role,
            name: name.clone(),
            valid: table::nearest_first(name).join(", "),
        })?;
        let adapter = row.wire.adapter().ok_or(AgentError::NeedsScript { role })?;
        let base_url = settings
            .base_url
            .as_deref()
            .or(row.base_url)
            .ok_or_else(|| AgentError::NeedsBaseUrl { role, provider: name.clone() })?;
        let url = complete(base_url, row.wire).ok_or(AgentError::BadBaseUrl { role })?;
        let local = is_loopback(&url);
        let (variable, hint) = match (&settings.api_key_env, row.key) {
            (Some(variable), _) => (Some(variable.as_str()), "…"),
            (None, Key::Variable { name, hint }) => (Some(name), hint),
            (None, Key::Optional) => (None, "…"),
        };
        let key = match variable.map(|variable| (variable, env(variable).unwrap_or_default())) {
            Some((variable, key)) => {
                let key = key_from(role, &row, variable, hint, &key, local)?;
                if key.is_some() && !local && !is_trusted(&url, &row, env) {
                    let (variable, host) = (variable.to_owned(), host(&url));
                    return Err(AgentError::UntrustedHost { role, variable, host });
                }
                key
            }
            None => None,
        };
        let variable = variable.map(str::to_owned);
        Ok(Self { row, adapter, model: settings.model.clone(), url, local, variable, key })
    }

    /// Returns the address without what nobody should read: user name, password and query.
    pub(super) fn shown_url(&self) -> String {
        format!("{}{}", self.url.origin().ascii_serialization(), self.url.path())
    }

    /// Returns what must never be shown: the key, and a password in the address.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &str> {
        self.key.as_ref().map(Secret::reveal).into_iter().chain(self.url.password())
    }

    /// Takes the secrets out of a text.
    pub(super) fn scrub(&self, text: &str) -> String {
        self.secrets().fold(text.to_owned(), |text, secret| text.replace(secret, "[redacted]"))
    }
}

fn key_from(
    role: Role,
    row: &Row,
    variable: &str,
    hint: &str,
    key: &str,
    local: bool,
) -> Result<Option<Secret>, AgentError> {
    let key = key.trim();
    if key.is_empty() && local {
        return Ok(None);
    }
    let (variable, hint) = (variable.to_owned(), hint.to_owned());
    if key.is_empty() {
        return Err(AgentError::MissingKey { role, provider: row.name, variable, hint });
    }
    // Anything else cannot be sent in a header, and is most often a copied line break or quotation mark.
    if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(AgentError::BadKey { variable });
    }
    Ok(Some(Secret(key.to_owned())))
}

/// Tells whether a key may go to an address: the provider's own, or one that the user's environment names. The
/// configuration comes with the repository, so its word is not enough: whoever wrote it would get the key.
fn is_trusted(url: &Url, row: &Row, env: &dyn Fn(&str) -> Option<String>) -> bool {
    let mine = base_url_from_env(row.name, env);
    // The scheme is compared as well: nobody else may read the key on its way.
    let same = |address: &str| Url::parse(address.trim()).is_ok_and(|known| known.origin() == url.origin());
    let named = env(TRUSTED_HOSTS).unwrap_or_default();
    let mut named = named.split(',').map(|host| host.trim().to_lowercase());
    row.base_url.is_some_and(same) || mine.as_deref().is_some_and(same) || named.any(|name| name == host(url))
}

/// Returns the host of an address, with its port where that is not the usual one.
fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default().to_lowercase();
    url.port().map_or_else(|| host.clone(), |port| format!("{host}:{port}"))
}

/// Completes an address: a slash at its end, and the API's version where people leave it out.
///
/// `OPENAI_BASE_URL` ends with `/v1` by convention and `ANTHROPIC_BASE_URL` without it; both are accepted for both.
fn complete(base_url: &str, wire: Wire) -> Option<Url> {
    let mut url = Url::parse(base_url.trim()).ok()?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return None;
    }
    url.set_fragment(None);
    let path = url.path().trim_end_matches('/').to_owned();
    let version = wire.version();
    let versioned = path.rsplit('/').next() == Some(version);
    let path = match wire {
        Wire::Anthropic if !versioned => format!("{path}/{version}/"),
        Wire::OpenAi | Wire::Gemini if path.is_empty() => format!("/{version}/"),
        Wire::OpenAi | Wire::Anthropic | Wire::Gemini | Wire::Script => format!("{path}/"),
    };
    url.set_path(&path);
    Some(url)
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    address.map_or(host == "localhost" || host.ends_with(".localhost"), |ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_completed() {
        for (given, wire, complete_url) in [
            ("https://api.openai.com/v1", Wire::OpenAi, Some("https://api.openai.com/v1/")),
            ("http://127.0.0.1:8080", Wire::OpenAi, Some("http://127.0.0.1:8080/v1/")),
            ("https://gate/openai", Wire::OpenAi, Some("https://gate/openai/")),
            ("https://api.anthropic.com", Wire::Anthropic, Some("https://api.anthropic.com/v1/")),
            ("https://gate/anthropic/v1/", Wire::Anthropic, Some("https://gate/anthropic/v1/")),
            ("https://gate/anthropic", Wire::Anthropic, Some("https://gate/anthropic/v1/")),
            (" http://[::1]:1/ ", Wire::Gemini, Some("http://[::1]:1/v1beta/")),
            ("https://gate/v1?version=2#top", Wire::OpenAi, Some("https://gate/v1/?version=2")),
            ("api.openai.com/v1", Wire::OpenAi, None),
            ("file:///etc/passwd", Wire::OpenAi, None),
            ("", Wire::OpenAi, None),
        ] {
            assert_eq!(complete(given, wire).map(String::from).as_deref(), complete_url, "{given}");
        }
    }

    #[test]
    fn a_key_goes_only_where_the_user_wants_it() {
        let ask = |provider: &str, url: Option<&str>, named: (&str, &str)| {
            let mut settings = AgentSettings::new(provider, "m");
            settings.base_url = url.map(str::to_owned);
            settings.api_key_env = (provider == "openai_compatible").then(|| "GATE_KEY".to_owned());
            let env = |name: &str| match name {
                "OPENAI_API_KEY" | "GATE_KEY" => Some("sk-x".to_owned()),
                name if name == named.0 => Some(named.1.to_owned()),
                _ => None,
            };
            Service::resolve(Role::Builder, &settings, &env).map(|_| ()).map_err(|error| error.to_string())
        };
        let gate = Some("https://gate.example/v1");
        for (provider, url, named) in [
            ("openai", None, ("", "")),
            ("openai", Some("https://api.openai.com/v1"), ("", "")),
            ("openai", Some("http://127.0.0.1:9/v1"), ("", "")),
            ("openai", gate, ("OPENAI_BASE_URL", "https://gate.example/v1")),
            ("openai", gate, (TRUSTED_HOSTS, "other.example, Gate.example")),
            ("openai_compatible", Some("http://gate.example:8443"), (TRUSTED_HOSTS, "gate.example:8443")),
        ] {
            assert_eq!(ask(provider, url, named), Ok(()), "{url:?} {named:?}");
        }
        for (provider, url, named) in [
            ("openai", gate, ("", "")),
            ("openai", Some("http://api.openai.com/v1"), ("", "")),
            ("openai", Some("https://api.openai.com.evil.example/v1"), ("", "")),
            ("openai", Some("https://api.openai.com@evil.example/v1"), ("", "")),
            ("openai", gate, ("OPENAI_BASE_URL", "https://other.example")),
            ("openai", gate, (TRUSTED_HOSTS, "example,*.example")),
            ("openai_compatible", Some("http://gate.example:8443"), (TRUSTED_HOSTS, "gate.example")),
        ] {
            let said = ask(provider, url, named).unwrap_err();
            assert!(
                said.contains("would be sent to `") && said.contains("export CHECKMATE_TRUSTED_HOSTS="),
                "{said}"
            );
            assert!(!said.contains("sk-x"), "{said}");
        }
    }

    #[test]
    fn loopback_is_recognised() {
        for (url, loopback) in [
            ("http://localhost:1/", true),
            ("http://me.localhost/", true),
            ("http://127.9.9.9/", true),
            ("http://[::1]/", true),
            ("http://localhost.example.com/", false),
            ("http://128.0.0.1/", false),
        ] {
            assert_eq!(is_loopback(&Url::parse(url).unwrap()), loopback, "{url}");
        }
    }
}
