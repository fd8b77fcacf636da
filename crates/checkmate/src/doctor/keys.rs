//! Is every role's key in the environment? No key is ever shown.

use checkmate_machine::ids::Role;

use super::{Finding, State, Subject};
use crate::agents::AgentError;
use crate::agents::models::Endpoint;
use crate::session::agent_settings;

const CHECK: &str = "key";

pub(super) fn check(subject: &mut Subject) -> Vec<Finding> {
    let (_, loaded) = match subject.ready(CHECK) {
        Ok(ready) => ready,
        Err(finding) => return vec![*finding],
    };
    let roles = loaded.config.roles();
    let settings = roles.iter().map(|(role, settings)| (*role, agent_settings(settings))).collect();
    let environment = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let (endpoints, refused) = Endpoint::of(&settings, &environment);
    let mut found: Vec<(Role, Finding)> = Vec::new();
    for endpoint in &endpoints {
        for role in endpoint.roles() {
            let message = match endpoint.key_variable() {
                Some(variable) => format!("The {role}'s key is in {variable}."),
                None => format!("The {role} at {} needs no key.", endpoint.address()),
            };
            found.push((role, Finding::ok(CHECK, message)));
        }
    }
    found.extend(refused.into_iter().map(|(role, error)| (role, refusal(role, &error))));
    found.sort_by_key(|(role, _)| *role);
    subject.endpoints = endpoints;
    subject.keep_secret();
    found.into_iter().map(|(role, finding)| finding.about(role.name())).collect()
}

fn refusal(role: Role, error: &AgentError) -> Finding {
    match error {
        AgentError::MissingKey { variable, provider, hint, .. } => Finding::fail(
            CHECK,
            format!("Missing {variable}, which the {role} needs for the provider `{provider}`."),
            format!("Set it: export {variable}=\"{hint}\""),
        ),
        AgentError::NeedsScript { .. } => Finding::warn(
            CHECK,
            format!("The {role}'s provider is `replay`, which asks no model."),
            "Give a script with `checkmate run --replay FILE`, or name a provider.",
        ),
        AgentError::BadKey { .. }
        | AgentError::UntrustedHost { .. }
        | AgentError::UnknownProvider { .. }
        | AgentError::NeedsBaseUrl { .. }
        | AgentError::BadBaseUrl { .. }
        | AgentError::Tls(_) => Finding { state: State::Fail, ..Finding::of_error(CHECK, error) },
    }
}
