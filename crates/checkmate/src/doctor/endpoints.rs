//! Do the models answer to their names? Endpoints are asked for their lists of models, all at once; no model is asked.

use std::time::{Duration, SystemTime};

use checkmate_machine::ids::Role;
use futures::future::join_all;
use jiff::Timestamp;

use super::{Finding, State, Subject};
use crate::agents::models::{Answered, Cause, Endpoint, Known, Trouble};

const CHECK: &str = "model";
/// How long an endpoint may take to answer.
const LIMIT: Duration = Duration::from_secs(6);
/// How wrong a clock may be before certificates and logs suffer.
const SKEW: Duration = Duration::from_secs(5 * 60);

pub(super) async fn check(subject: &Subject) -> Vec<Finding> {
    if let Err(finding) = subject.ready(CHECK) {
        return vec![*finding];
    }
    if subject.order.offline {
        return vec![Finding::skipped(CHECK, "Not checked: `--offline` leaves the models' endpoints alone.")];
    }
    if subject.endpoints.is_empty() {
        return vec![Finding::skipped(CHECK, "Not checked: no role has an endpoint with its key.")];
    }
    let asked = join_all(subject.endpoints.iter().map(|endpoint| endpoint.ask(LIMIT))).await;
    let mut found = Vec::new();
    for (endpoint, answer) in subject.endpoints.iter().zip(asked) {
        match answer {
            Ok(answered) => found.extend(known(endpoint, answered)),
            Err(trouble) => found.push(troubled(endpoint, trouble)),
        }
    }
    found
}

fn known(endpoint: &Endpoint, answered: Answered) -> Vec<Finding> {
    let url = endpoint.address();
    let offers = answered.offers.unwrap_or_default();
    let offers = if offers == 1 { "1 model".to_owned() } else { format!("{offers} models") };
    let finding = |(role, model, known): (Role, String, Known)| {
        let finding = match known {
            Known::Offered => Finding::ok(CHECK, format!("The {role}'s model `{model}` is known at {url}.")),
            Known::Unknown => Finding::skipped(
                CHECK,
                format!(
                    "{url} answers, but has no list of models; whether it knows the {role}'s `{model}` was not checked."
                ),
            ),
            Known::Missing { nearest, certain } => {
                let next = match nearest.as_slice() {
                    [] => format!("Correct the {role}'s model in the configuration."),
                    names => {
                        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
                        format!(
                            "Correct the {role}'s model in the configuration; the nearest names there: {}.",
                            names.join(", ")
                        )
                    }
                };
                let message =
                    format!("The {role}'s model `{model}` is none of the {offers} that {url} offers.");
                let state = if certain { State::Fail } else { State::Warn };
                Finding { state, ..Finding::warn(CHECK, message, next) }
            }
        };
        finding.about(role.name())
    };
    let skewed = answered.date.and_then(|date| skewed(date, SystemTime::now())).map(|by| {
        Finding::warn(
            "clock",
            format!("The clock of this machine differs from that of {url} by {} minutes.", by.as_secs() / 60),
            "Set it, best by a time service: certificates and the order of runs depend on it.",
        )
    });
    answered.models.into_iter().map(finding).chain(skewed).collect()
}

fn troubled(endpoint: &Endpoint, trouble: Trouble) -> Finding {
    let roles: Vec<&str> = endpoint.roles().map(Role::name).collect();
    let state = match trouble.cause {
        // The models may still be usable.
        Cause::Forbidden | Cause::Busy => State::Warn,
        Cause::Name
        | Cause::Refused
        | Cause::Certificate
        | Cause::Tls
        | Cause::TooSlow
        | Cause::Lost
        | Cause::Key
        | Cause::WebPage
        | Cause::Other => State::Fail,
    };
    Finding { state, ..Finding::warn(CHECK, trouble.message, trouble.next) }.about(roles.join(", "))
}

/// Returns by how much this machine's clock differs from another one, if it is much.
fn skewed(theirs: Timestamp, ours: SystemTime) -> Option<Duration> {
    let theirs = SystemTime::from(theirs);
    let by = ours.duration_since(theirs).unwrap_or_else(|error| error.duration());
    (by > SKEW).then_some(by)
}
