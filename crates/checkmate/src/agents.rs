//! The agents that are asked for changes, reviews and decisions.
//!
//! [`Agents::call`] is the one way to any of them. Whether a reply comes over the network or from a replay script,
//! it goes through the same retries, and only a whole reply is returned as one.
//!
//! In reading order: `table` lists the providers, `service` turns settings into an address and a key, `http` asks,
//! `request` says what goes out, `tap` watches what comes in, `thought` keeps thinking out of a reply, `fault` says what
//! went wrong, `listing` which models there are, `retry` asks again, `replay` plays scripts; `models` looks at an endpoint
//! without asking a model.

mod fault;
mod http;
mod listing;
pub mod models;
mod replay;
mod request;
mod retry;
mod service;
mod table;
mod tap;
mod thought;
mod web;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use checkmate_machine::effect::Call;
use checkmate_machine::event::{Called, Failure, FailureKind, Usage};
use checkmate_machine::ids::Role;
use checkmate_machine::spec::PatchForm;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::time::Instant;

use self::http::HttpAgent;
use self::replay::ScriptedAgents;
use self::retry::{Attempt, Fault, Policy, persist};
use self::service::Service;

pub(crate) use self::replay::MODEL as SCRIPTED_MODEL;
pub use self::replay::{Script, ScriptError};
pub use checkmate_machine::budget::Price;

/// Requests of one call at most, the first included.
const MAX_REQUESTS: u32 = 6;
/// The most that the first wait before another request takes.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The same for scripted agents, where there is nobody to wait for.
const FIRST_SCRIPTED_WAIT: Duration = Duration::from_millis(2);
/// How long a call may take where nothing else is configured.
const FIVE_MINUTES: Duration = Duration::from_secs(300);

/// How one role's agent is reached.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentSettings {
    /// A provider's name.
    pub provider: String,
    /// The model's name, passed on exactly as it is.
    pub model: String,
    /// The provider's address, if not its usual one.
    pub base_url: Option<String>,
    /// The environment variable that holds the key, if not the provider's usual one.
    pub api_key_env: Option<String>,
    /// The most tokens a reply may have.
    pub max_output_tokens: Option<u32>,
    /// The sampling temperature; left to the provider where it is not set.
    pub temperature: Option<f64>,
    /// How much the model thinks before it replies; left to the provider where it is not set.
    pub reasoning_effort: Option<Effort>,
    /// The limit for one request.
    pub time_limit: Duration,
    /// The limit for a whole call, further requests and the waits between them included.
    pub retry_budget: Duration,
    /// What tokens cost, where it is known.
    pub price: Option<Price>,
}

impl AgentSettings {
    /// Makes settings with everything else at its default: five minutes for a request and for a call.
    pub fn new(provider: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            provider: provider.into(),
            model: model.into(),
            base_url: None,
            api_key_env: None,
            max_output_tokens: None,
            temperature: None,
            reasoning_effort: None,
            time_limit: FIVE_MINUTES,
            retry_budget: FIVE_MINUTES,
            price: None,
        }
    }
}

/// How much a model thinks before it replies. What a model does not know becomes the nearest that it knows, or is
/// refused by its provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// Not at all.
    None,
    /// As little as it can.
    Minimal,
    /// A little.
    Low,
    /// Somewhat.
    Medium,
    /// Much.
    High,
    /// Very much.
    Xhigh,
}

/// Why the agents of a run cannot be set up. Nothing has been sent yet.
#[derive(Debug, Error)]
pub enum AgentError {
    /// The table has no such provider.
    #[error("The {role}'s provider `{name}` is not known. Choose one of: {valid}.")]
    UnknownProvider {
        /// Whose provider.
        role: Role,
        /// The name as configured.
        name: String,
        /// Every provider, the nearest name first.
        valid: String,
    },
    /// The key is not in the environment.
    #[error(
        "Missing {variable}. The {role} uses the provider `{provider}`, which needs a key. Set it and start again:\n  \
         export {variable}=\"{hint}\""
    )]
    MissingKey {
        /// Whose key.
        role: Role,
        /// The provider.
        provider: &'static str,
        /// The environment variable.
        variable: String,
        /// How such a key begins.
        hint: String,
    },
    /// The key would go to an address that only the configuration vouches for, and that may be a stranger's.
    #[error(
        "The {role}'s key in {variable} would be sent to `{host}`, which only the configuration names. If you trust that \
         address with the key, say so and start again:\n  export CHECKMATE_TRUSTED_HOSTS=\"{host}\""
    )]
    UntrustedHost {
        /// Whose key.
        role: Role,
        /// The environment variable that holds it.
        variable: String,
        /// Where it would go.
        host: String,
    },
    /// The key cannot be sent.
    #[error(
        "The key in {variable} contains a space, a line break or another character that no key has. Set it again: \
         export {variable}=\"…\""
    )]
    BadKey {
        /// The environment variable.
        variable: String,
    },
    /// The provider has no usual address.
    #[error(
        "The {role}'s provider `{provider}` needs an address. Set `base_url`, such as \"http://localhost:8080/v1\"."
    )]
    NeedsBaseUrl {
        /// Whose provider.
        role: Role,
        /// The provider.
        provider: String,
    },
    /// The address is none.
    #[error(
        "The {role}'s `base_url` is no http or https address. Write it like \"https://api.openai.com/v1\"."
    )]
    BadBaseUrl {
        /// Whose address.
        role: Role,
    },
    /// The provider `replay` only works with a script.
    #[error("The {role}'s provider is `replay`, which needs a script. Give one with --replay FILE.")]
    NeedsScript {
        /// Whose provider.
        role: Role,
    },
    /// No HTTPS connection can be made on this machine.
    #[error(
        "No HTTPS connections can be made: {0}. Install the system's certificates (the package `ca-certificates`), or \
         name a file with them in SSL_CERT_FILE."
    )]
    Tls(String),
}

/// The agents of a run.
pub struct Agents {
    kind: Kind,
}

enum Kind {
    Live(BTreeMap<Role, Live>),
    Scripted(ScriptedAgents, Policy),
}

struct Live {
    agent: HttpAgent,
    policy: Policy,
}

/// What one request brought.
struct Reply {
    text: String,
    model: String,
    usage: Usage,
    /// What people should know about it.
    notes: Vec<String>,
}

impl Agents {
    /// Sets up agents that ask real models, and checks every role's provider, address and key.
    ///
    /// `env` looks up an environment variable; only those that hold a configured role's key are asked for. Keys are
    /// not needed for addresses on this machine.
    pub fn live(
        roles: BTreeMap<Role, AgentSettings>,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Agents, AgentError> {
        let mut clients = web::Clients::default();
        let roles = roles.into_iter().map(|(role, settings)| {
            let service = Service::resolve(role, &settings, env)?;
            let policy = Policy {
                max_requests: MAX_REQUESTS,
                time_limit: settings.time_limit,
                budget: settings.retry_budget,
                first_wait: FIRST_WAIT,
            };
            let client = clients.reaching(&service).map_err(|error| AgentError::Tls(innermost(&error)))?;
            let agent = HttpAgent::new(service, &settings, client);
            Ok((role, Live { agent: agent.map_err(|error| AgentError::Tls(error.to_string()))?, policy }))
        });
        Ok(Agents { kind: Kind::Live(roles.collect::<Result<_, _>>()?) })
    }

    /// Sets up agents that play a script.
    pub fn scripted(script: Script) -> Agents {
        let policy = Policy {
            max_requests: MAX_REQUESTS,
            time_limit: FIVE_MINUTES,
            budget: FIVE_MINUTES,
            first_wait: FIRST_SCRIPTED_WAIT,
        };
        Agents { kind: Kind::Scripted(ScriptedAgents::new(script), policy) }
    }

    /// Asks an agent and returns its whole reply.
    ///
    /// `on_chunk` gets the text as it arrives. When a request breaks off and the question is sent again, the pieces of
    /// the next reply follow those of the lost one, so the chunks are for showing only. Dropping the future ends
    /// the request or the wait.
    pub async fn call(
        &self,
        call: &Call,
        on_chunk: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Called, Failure> {
        let start = Instant::now();
        let (reply, requests) = match &self.kind {
            Kind::Live(roles) => {
                let Some(Live { agent, policy }) = roles.get(&call.role) else {
                    return Err(not_configured(call.role));
                };
                let who = format!("The model `{}` at {}", agent.service().model, agent.service().shown_url());
                persist(&policy.within(call.allowance), &who, Asking { asked: agent, call, on_chunk }).await?
            }
            Kind::Scripted(agents, policy) => {
                let who = format!("The scripted {}", call.role);
                persist(policy, &who, Asking { asked: agents, call, on_chunk }).await?
            }
        };
        let duration_ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
        let Reply { text, model, usage, notes } = reply;
        Ok(Called { text, model, usage, requests, duration_ms, notes })
    }

    /// Passes over what the journal says a role has already been asked, so that a resumed run's script goes on where
    /// it stopped. `requests` are those of the role's journalled answers, failed ones included. Real models need no
    /// such thing.
    pub fn skip(&mut self, role: Role, requests: u32) {
        match &self.kind {
            Kind::Live(_) => {}
            Kind::Scripted(agents, _) => agents.skip(role, requests),
        }
    }

    /// Returns what must be taken out of everything that is written anywhere: keys, and passwords in addresses.
    pub fn secrets(&self) -> Vec<String> {
        match &self.kind {
            Kind::Live(roles) => {
                roles.values().flat_map(|live| live.agent.service().secrets()).map(str::to_owned).collect()
            }
            Kind::Scripted(..) => Vec::new(),
        }
    }
}

impl fmt::Debug for Agents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Live(roles) => {
                let shown = |live: &Live| {
                    let service = live.agent.service();
                    format!("{} at {}", service.model, service.shown_url())
                };
                f.debug_map().entries(roles.iter().map(|(role, live)| (role, shown(live)))).finish()
            }
            Kind::Scripted(..) => f.write_str("scripted agents"),
        }
    }
}

/// A call on its way to one agent.
struct Asking<'a, A> {
    asked: &'a A,
    call: &'a Call,
    on_chunk: &'a mut (dyn FnMut(&str) + Send),
}

impl Attempt for Asking<'_, HttpAgent> {
    type Reply = Reply;

    async fn attempt(&mut self) -> Result<Reply, Fault> {
        self.asked.attempt(self.call, self.on_chunk).await
    }
}

impl Attempt for Asking<'_, ScriptedAgents> {
    type Reply = Reply;

    async fn attempt(&mut self) -> Result<Reply, Fault> {
        self.asked.attempt(self.call, self.on_chunk).await
    }
}

fn not_configured(role: Role) -> Failure {
    let message =
        format!("No agent is configured for the {role}. Name its provider and model in the configuration.");
    Failure { kind: FailureKind::Account, message, requests: 0 }
}

fn innermost(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

/// Returns the form of patches that a provider's models write best.
pub fn patch_form(provider: &str) -> PatchForm {
    table::patch_form(provider)
}

/// What a provider's row says about agents whose configuration says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usual {
    /// The provider's address.
    pub base_url: Option<&'static str>,
    /// The environment variable of its key; `None` if none is needed.
    pub key_variable: Option<&'static str>,
    /// The most tokens of a reply; `None` if that is left to the model.
    pub max_output_tokens: Option<u32>,
}

/// Returns what is usual for a provider; `None` if there is no such provider.
pub fn usual(provider: &str) -> Option<Usual> {
    let row = table::find(provider)?;
    let key_variable = match row.key {
        table::Key::Variable { name, .. } => Some(name),
        table::Key::Optional => None,
    };
    Some(Usual { base_url: row.base_url, key_variable, max_output_tokens: row.max_output_tokens })
}

/// Returns the cells of every provider's row, for the documentation: name, key variable, usual address and form of
/// patches, and then wire, schemas, caching, reasoning, list of models and where prices come from.
#[cfg(test)]
pub(crate) fn providers() -> impl Iterator<Item = ([String; 4], [&'static str; 6])> {
    table::ROWS.into_iter().map(|row| {
        let name = format!("`{}`", row.name);
        let variable = match row.key {
            table::Key::Variable { name, .. } => format!("`{name}`"),
            table::Key::Optional => "none needed".to_owned(),
        };
        let address = match (row.wire, row.base_url) {
            (_, Some(address)) => format!("`{address}`"),
            (table::Wire::Script, None) => "none: replies come from `--replay FILE`".to_owned(),
            (_, None) => "none: set `base_url`".to_owned(),
        };
        let form = format!("`{}`", row.patch_form.name());
        ([name, variable, address, form], row.capabilities())
    })
}

#[cfg(test)]
mod tests;
