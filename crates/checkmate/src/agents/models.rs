//! Asks an endpoint which models it has: whether it is there, takes the key, and knows a model. Nothing is generated, so
//! nothing is paid for.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use checkmate_machine::ids::Role;
use jiff::Timestamp;
use reqwest::RequestBuilder;
use reqwest::header::{DATE, HeaderMap, LOCATION};

use super::fault::{self, Response};
use super::service::Service;
use super::table::Key;
use super::{AgentError, AgentSettings, innermost, listing, web};

/// The longest list of models that is read, in bytes.
const LARGEST_LIST: usize = 16 << 20;
/// How many names of other models are proposed.
const PROPOSALS: usize = 3;

/// An address with a key, and the models that roles want there.
pub struct Endpoint {
    service: Service,
    client: reqwest::Client,
    wanted: Vec<(Role, String)>,
}

/// What an endpoint says of itself.
#[derive(Debug)]
pub struct Answered {
    /// The models that are wanted, and what is known of each.
    pub models: Vec<(Role, String, Known)>,
    /// How many models it offers; `None` if it has no list.
    pub offers: Option<usize>,
    /// What its clock shows.
    pub date: Option<Timestamp>,
}

/// What is known of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Known {
    /// The endpoint offers it.
    Offered,
    /// The endpoint offers others.
    Missing {
        /// The most similar names, the nearest first.
        nearest: Vec<String>,
        /// Whether the endpoint is known to refuse what it does not list. Servers of one model often take any name.
        certain: bool,
    },
    /// Nothing, because there is no list.
    Unknown,
}

/// Why an endpoint gave no usable answer, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// What it is.
    pub cause: Cause,
    /// A sentence.
    pub message: String,
    /// The next step, in a sentence or more.
    pub next: String,
}

/// The sorts of trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The host's name has no address.
    Name,
    /// Nobody listens there.
    Refused,
    /// The certificate is not trusted.
    Certificate,
    /// What listens there speaks no TLS.
    Tls,
    /// No answer in time.
    TooSlow,
    /// The connection was lost.
    Lost,
    /// The key is wrong or missing.
    Key,
    /// The key is right but may not do this.
    Forbidden,
    /// There is a web page, or a way to one.
    WebPage,
    /// It is busy or out of order.
    Busy,
    /// It is some other service, or the address is wrong.
    Other,
}

impl Endpoint {
    /// Finds the endpoints of several roles: roles with the same address and key share one. Roles whose provider, address
    /// or key cannot be used come back with the reason.
    pub fn of(
        roles: &BTreeMap<Role, AgentSettings>,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> (Vec<Endpoint>, Vec<(Role, AgentError)>) {
        let mut clients = web::Clients::default();
        let (mut endpoints, mut refused): (Vec<Endpoint>, Vec<_>) = (Vec::new(), Vec::new());
        for (role, settings) in roles {
            let made = Service::resolve(*role, settings, env).and_then(|service| {
                let client = clients.reaching(&service);
                Ok((service, client.map_err(|error| AgentError::Tls(innermost(&error)))?))
            });
            let (service, client) = match made {
                Ok(made) => made,
                Err(error) => {
                    refused.push((*role, error));
                    continue;
                }
            };
            let wanted = (*role, settings.model.clone());
            let same = |other: &&mut Endpoint| {
                let other = &other.service;
                (&other.url, &other.variable, other.row.name)
                    == (&service.url, &service.variable, service.row.name)
            };
            match endpoints.iter_mut().find(same) {
                Some(endpoint) => endpoint.wanted.push(wanted),
                None => endpoints.push(Endpoint { service, client, wanted: vec![wanted] }),
            }
        }
        (endpoints, refused)
    }

    /// Returns the address, without what nobody should read of it.
    pub fn address(&self) -> String {
        self.service.shown_url()
    }

    /// Returns the roles that use it.
    pub fn roles(&self) -> impl Iterator<Item = Role> {
        self.wanted.iter().map(|(role, _)| *role)
    }

    /// Returns the environment variable whose key is sent, if one is.
    pub fn key_variable(&self) -> Option<&str> {
        self.service.variable.as_deref().filter(|_| self.service.key.is_some())
    }

    /// Returns what must never be shown.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        self.service.secrets()
    }

    /// Asks for the list of models, within a time limit for each request.
    pub async fn ask(&self, limit: Duration) -> Result<Answered, Trouble> {
        let (status, headers, body) = self.get(listing::question(&self.client, &self.service), limit).await?;
        let date = headers.get(DATE).and_then(|value| value.to_str().ok()).and_then(http_date);
        let response = Response { status, headers: &headers, body: &body };
        let listed = self.judge(&response)?;
        let mut models = Vec::new();
        for (role, model) in &self.wanted {
            models.push((*role, model.clone(), self.known(model, listed.as_deref(), limit).await));
        }
        Ok(Answered { models, offers: listed.map(|listed| listed.len()), date })
    }

    /// Looks a model up in the list; a name that is not in it may still be an alias, which some endpoints tell by name.
    async fn known(&self, model: &str, listed: Option<&[String]>, limit: Duration) -> Known {
        let Some(listed) = listed else { return Known::Unknown };
        if listed.iter().any(|id| self.is(model, id)) {
            return Known::Offered;
        }
        let aliases = matches!(self.service.row.name, "openai" | "anthropic");
        if aliases && matches!(self.get(self.by_name(model), limit).await, Ok((200, _, _))) {
            return Known::Offered;
        }
        let certain = !matches!(self.service.row.name, "llama_cpp" | "openai_compatible" | "local");
        Known::Missing { nearest: nearest(model, listed), certain }
    }

    /// Tells whether a listed name is that of a model.
    fn is(&self, model: &str, listed: &str) -> bool {
        let plain = |name: &str| name.strip_prefix("models/").unwrap_or(name).to_owned();
        let (model, listed) = (plain(model), plain(listed));
        let name = match self.service.row.name {
            "ollama" if !model.contains(':') => format!("{model}:latest"),
            // What stands behind the colon is a wish about the route.
            "openrouter" => model.split(':').next().unwrap_or_default().to_owned(),
            _ => model.clone(),
        };
        listed == model || listed == name
    }

    fn by_name(&self, model: &str) -> RequestBuilder {
        let mut url = listing::address(&self.service, "models");
        if let Ok(mut path) = url.path_segments_mut() {
            path.push(model);
        }
        listing::with_key(&self.service, self.client.get(url))
    }

    async fn get(
        &self,
        request: RequestBuilder,
        limit: Duration,
    ) -> Result<(u16, HeaderMap, String), Trouble> {
        let request = request.timeout(limit);
        let asked = async {
            let mut response = request.send().await?;
            let (status, headers) = (response.status().as_u16(), response.headers().clone());
            let mut body = Vec::new();
            while body.len() <= LARGEST_LIST
                && let Some(chunk) = response.chunk().await?
            {
                body.extend_from_slice(&chunk);
            }
            Ok((status, headers, String::from_utf8_lossy(&body).into_owned()))
        };
        asked.await.map_err(|error: reqwest::Error| self.lost(&error, limit))
    }

    /// Reads the names of an answer; `None` if there is no list although everything else is in order.
    fn judge(&self, response: &Response<'_>) -> Result<Option<Vec<String>>, Trouble> {
        let url = self.address();
        let said = fault::words(&self.service, response);
        let provider = self.service.row.name;
        let trouble = |cause, message: String, next: String| Err(Trouble { cause, message, next });
        if let 300..=399 = response.status {
            let target = response.headers.get(LOCATION).and_then(|value| value.to_str().ok());
            let target = fault::quote(&self.service, target.unwrap_or("elsewhere"));
            return trouble(
                Cause::WebPage,
                format!("{url} redirects to {target}."),
                "Check `base_url`, and whether a login page of this network stands in between: open any page in a \
                 browser."
                    .into(),
            );
        }
        let passes = matches!(response.status, 408 | 409 | 429 | 500..);
        if fault::is_html(response.headers, response.body) && !passes {
            return trouble(
                Cause::WebPage,
                format!("{url} answers with a web page (HTTP {}).", response.status),
                "Check `base_url`, and whether a login page or a proxy of this network stands in between: open any page \
                 in a browser."
                    .into(),
            );
        }
        match (response.status, &self.service.variable) {
            (200, _) => Ok(listing::read(response.body.as_bytes())),
            (401, Some(variable)) if self.service.key.is_some() => trouble(
                Cause::Key,
                format!(
                    "The provider `{provider}` at {url} did not accept the key in {variable} (HTTP 401)."
                ),
                format!("Check the key and set it: export {variable}=\"…\""),
            ),
            (401, _) => trouble(
                Cause::Key,
                format!("{url} asks for a key (HTTP 401)."),
                "Name the environment variable that holds it as `api_key_env` in the configuration.".into(),
            ),
            // Some providers say so of a wrong key.
            (400, Some(variable)) if response.body.contains("API_KEY_INVALID") => trouble(
                Cause::Key,
                format!(
                    "The provider `{provider}` at {url} did not accept the key in {variable} (HTTP 400)."
                ),
                format!("Check the key and set it: export {variable}=\"…\""),
            ),
            (403, variable) => trouble(
                Cause::Forbidden,
                format!(
                    "{} may not list the models at {url} ({said}).",
                    variable.as_ref().map_or("This machine".into(), |name| format!("The key in {name}"))
                ),
                "Check what the account and the key allow; a key that may only ask models is fine.".into(),
            ),
            (404 | 405 | 501, _) if matches!(self.service.row.key, Key::Optional) => Ok(None),
            (404, _) => trouble(
                Cause::Other,
                format!("There is no list of models at {url} ({said})."),
                format!("Check `base_url`: this is not the address of the provider `{provider}`."),
            ),
            _ if passes => trouble(
                Cause::Busy,
                format!("{url} is busy or out of order ({said})."),
                "Wait a while and try again.".into(),
            ),
            (_, _) => trouble(
                Cause::Other,
                format!("{url} refused to list its models ({said})."),
                format!("Check `base_url`, and that it speaks the protocol of the provider `{provider}`."),
            ),
        }
    }

    /// Judges a connection that was not made or did not hold.
    fn lost(&self, error: &reqwest::Error, limit: Duration) -> Trouble {
        let url = self.address();
        let host = self.service.url.host_str().unwrap_or_default();
        let cause = fault::quote(&self.service, &fault::root(error).to_string());
        let trouble = |cause, message: String, next: &str| Trouble { cause, message, next: next.into() };
        let local = "Check `base_url`, and that the server of the model is running.";
        if fault::causes(error).any(fault::is_certificate_error) {
            return trouble(
                Cause::Certificate,
                format!("The certificate of {url} was not accepted: {cause}."),
                "Check `base_url` and this machine's clock; if a proxy of this network signs its own certificates, name \
                 its authority in SSL_CERT_FILE.",
            );
        }
        if fault::causes(error).any(is_tls_error) {
            return trouble(
                Cause::Tls,
                format!("What listens at {url} does not speak TLS: {cause}."),
                "Write `http://` in `base_url` if the server has no TLS, and check the port.",
            );
        }
        if fault::causes(error).any(|error| error.to_string() == "dns error") {
            return trouble(
                Cause::Name,
                format!("The name `{host}` of {url} has no address: {cause}."),
                "Check `base_url`, the network and its DNS; behind a proxy, set HTTPS_PROXY.",
            );
        }
        if fault::causes(error).any(is_refused) {
            let next = if self.service.local {
                local
            } else {
                "Check the host and port of `base_url`, and the firewall."
            };
            return trouble(Cause::Refused, format!("Nothing listens at {url}: {cause}."), next);
        }
        if error.is_timeout() {
            return trouble(
                Cause::TooSlow,
                format!("{url} did not answer within {} s.", limit.as_secs_f64().ceil()),
                "Check `base_url`, the network and its firewall; behind a proxy, set HTTPS_PROXY.",
            );
        }
        if error.is_connect() {
            return trouble(
                Cause::Lost,
                format!("{url} could not be reached: {cause}."),
                "Check `base_url` and the network.",
            );
        }
        trouble(Cause::Lost, format!("{url} broke off the connection: {cause}."), "Try again.")
    }
}

/// Returns the names most like that of a model.
fn nearest(model: &str, listed: &[String]) -> Vec<String> {
    let alike = listing::ranked(model, listed).into_iter().filter(|(likeness, _)| *likeness > 0.6);
    alike.take(PROPOSALS).map(|(_, name)| name.to_owned()).collect()
}

fn http_date(text: &str) -> Option<Timestamp> {
    jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).ok()
}

fn is_refused(error: &(dyn std::error::Error + 'static)) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

fn is_tls_error(error: &(dyn std::error::Error + 'static)) -> bool {
    let wrapped = error.downcast_ref::<io::Error>().and_then(|error| error.get_ref());
    error.is::<rustls::Error>() || wrapped.is_some_and(|error| is_tls_error(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_names_come_first() {
        let listed = ["claude-sonnet-4-5-20250929", "gemini-2.5-pro", "zz"].map(str::to_owned);
        assert_eq!(nearest("Claude-Sonnet-45", &listed)[0], "claude-sonnet-4-5-20250929");
        assert_eq!(nearest("gemini-2.5", &listed)[0], "gemini-2.5-pro");
        assert!(nearest("qwen", &listed).is_empty());
    }
}
