//! Reads the fields of the reply that was asked for, and says of each what is wrong with it.

mod builder;
mod fields;
mod review;

use serde_json::{Map, Value};

use super::extract::objects;
use super::{
    AnswerKind, BlockReason, Category, Confirmation, Decision, DecisionKind, Problem, Reply, ReviewVerdict,
    Severity, Shape,
};
use crate::probe::Probe;
use fields::Fields;

/// The longest reply that is read, in bytes.
const LONGEST: usize = 2 * 1024 * 1024;

/// The values of a field with their names, in the order in which they are listed to agents.
pub(super) type Names<'a, T> = [(&'a str, T)];

pub(super) const VERDICTS: [(&str, ReviewVerdict); 3] = [
    ("approve", ReviewVerdict::Approve),
    ("request_changes", ReviewVerdict::RequestChanges),
    ("block", ReviewVerdict::Block),
];

pub(super) const BLOCK_REASONS: [(&str, BlockReason); 3] = [
    ("definite_bug", BlockReason::DefiniteBug),
    ("uncertainty", BlockReason::Uncertainty),
    ("needs_human", BlockReason::NeedsHuman),
];

pub(super) const SEVERITIES: [(&str, Severity); 3] =
    [("critical", Severity::Critical), ("major", Severity::Major), ("minor", Severity::Minor)];

pub(super) const CATEGORIES: [(&str, Category); 7] = [
    ("bug", Category::Bug),
    ("security", Category::Security),
    ("tests", Category::Tests),
    ("style", Category::Style),
    ("edge_case", Category::EdgeCase),
    ("performance", Category::Performance),
    ("architecture", Category::Architecture),
];

pub(super) const DECISIONS: [(&str, DecisionKind); 3] = [
    ("accept_builder", DecisionKind::AcceptBuilder),
    ("accept_reviewer", DecisionKind::AcceptReviewer),
    ("reject_both", DecisionKind::RejectBoth),
];

pub(super) const ANSWERS: [(&str, AnswerKind); 3] =
    [("fixed", AnswerKind::Fixed), ("justified", AnswerKind::Justified), ("disagree", AnswerKind::Disagree)];

/// Reads an agent's reply, together with everything that the agent has to mend in it.
///
/// There is no reply where nothing certain could be read: no object with the expected fields, a cut-off one, or two
/// that contradict each other. A reply that comes with problems holds what was well-formed.
pub fn parse(text: &str, shape: Shape) -> (Option<Reply>, Vec<Problem>) {
    if text.len() > LONGEST {
        let problem =
            format!("The reply has {} bytes; at most {LONGEST} are read. Give a shorter one.", text.len());
        return (None, vec![Problem(problem)]);
    }
    let mut problems = Vec::new();
    let reply = match shape {
        Shape::Text => plain(text, &mut problems),
        Shape::Builder => choose(text, shape, &mut problems)
            .map(|object| Reply::Builder(builder::read(Fields::new(&object, &mut problems)))),
        Shape::Review => choose(text, shape, &mut problems)
            .and_then(|object| review::read(Fields::new(&object, &mut problems)).map(Reply::Review)),
        Shape::Decision => choose(text, shape, &mut problems)
            .and_then(|object| decision(Fields::new(&object, &mut problems))),
        Shape::Confirmation => choose(text, shape, &mut problems)
            .and_then(|object| confirmation(Fields::new(&object, &mut problems))),
        Shape::Probes => choose(text, shape, &mut problems)
            .map(|object| Reply::Probes(probes(Fields::new(&object, &mut problems)))),
    };
    (reply, problems)
}

fn plain(text: &str, problems: &mut Vec<Problem>) -> Option<Reply> {
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        problems.push(Problem("The reply is empty. Answer in plain text.".to_owned()));
        return None;
    }
    Some(Reply::Text(text.to_owned()))
}

/// Returns the fields that tell a reply of this shape from other objects.
fn expected(shape: Shape) -> &'static [&'static str] {
    match shape {
        Shape::Builder => &["plan", "patch", "tests", "run", "risks", "files_needed", "answers", "conflict"],
        Shape::Review => &["verdict", "issues", "stopping"],
        Shape::Decision => &["decision", "reasoning"],
        Shape::Confirmation => &["states_claim", "confirmed", "verdict", "reason", "stopping"],
        Shape::Probes => &["probes"],
        Shape::Text => &[],
    }
}

/// Chooses the object that is the reply: the one with most of the expected fields, the last of equals.
fn choose(text: &str, shape: Shape, problems: &mut Vec<Problem>) -> Option<Map<String, Value>> {
    let found = objects(text);
    if found.cut_off {
        let problem =
            "The reply was cut off: it ends within its JSON object. Give the whole object again, shorter.";
        problems.push(Problem(problem.to_owned()));
        return None;
    }
    let score = |object: &Map<String, Value>| {
        expected(shape).iter().filter(|name| object.contains_key(**name)).count()
    };
    let candidates: Vec<_> = found.objects.into_iter().filter(|object| score(object) > 0).collect();
    let mut choices: Vec<String> = candidates.iter().filter_map(|object| choice(object, shape)).collect();
    choices.sort();
    choices.dedup();
    if choices.len() > 1 {
        let problem = format!(
            "The reply holds objects that contradict each other: {}. Give one object only.",
            choices.join(", ")
        );
        problems.push(Problem(problem));
        return None;
    }
    let best = candidates.into_iter().max_by_key(score);
    if best.is_none() {
        let names: Vec<String> = expected(shape).iter().map(|name| format!("`{name}`")).collect();
        let problem = found.complaint.unwrap_or_else(|| {
            format!(
                "The reply holds no JSON object with the fields that were asked for: {}.",
                names.join(", ")
            )
        });
        problems.push(Problem(problem));
    }
    best
}

/// Returns what an object decides, for telling whether two of them contradict each other.
fn choice(object: &Map<String, Value>, shape: Shape) -> Option<String> {
    let name = match shape {
        Shape::Review => "verdict",
        Shape::Decision => "decision",
        Shape::Confirmation => {
            let states = states_claim(object).transpose()?;
            return Some(states.map_or_else(|problem| problem, |states| format!("`states_claim` {states}")));
        }
        Shape::Builder | Shape::Probes | Shape::Text => return None,
    };
    object.get(name).map(|value| match value.as_str() {
        Some(text) => format!("`{name}` {}", fields::normal(text)),
        None => format!("`{name}` {value}"),
    })
}

/// Reads the probes that can be used; one without a file or a command is left out, and so are its complaints.
fn probes(mut fields: Fields<'_, '_>) -> Vec<Probe> {
    if !fields.has("probes") {
        fields.missing("probes", "an array of objects");
    }
    let probes = fields.objects("probes", |mut probe| {
        Some(Probe {
            id: probe.text("id").unwrap_or_default(),
            criterion: probe.text("criterion").unwrap_or_else(|| "the goal".to_owned()),
            path: probe.required_text("path"),
            run: probe.required_text("run"),
            content: probe.patch("content").unwrap_or_default(),
        })
    });
    let usable =
        |probe: &Probe| ![&probe.path, &probe.run, &probe.content].iter().any(|text| text.trim().is_empty());
    probes.unwrap_or_default().into_iter().filter(usable).collect()
}

fn decision(mut fields: Fields<'_, '_>) -> Option<Reply> {
    let decision = fields.required_name("decision", &DECISIONS);
    let reasoning = fields.required_text("reasoning");
    decision.map(|decision| Reply::Decision(Decision { decision, reasoning }))
}

fn confirmation(mut fields: Fields<'_, '_>) -> Option<Reply> {
    let states_claim = match states_claim(fields.object) {
        Ok(Some(states_claim)) => states_claim,
        Ok(None) => {
            fields.problem("`states_claim` is missing; it must be true or false.");
            return None;
        }
        Err(problem) => {
            fields.problem(problem);
            return None;
        }
    };
    let name = if fields.has("reason") || !fields.has("stopping") { "reason" } else { "stopping" };
    let reason = fields.required_text(name);
    Some(Reply::Confirmation(Confirmation { states_claim, reason }))
}

/// Reads whether a test states the claim; a review counts as well, because checkers fall into that habit.
fn states_claim(object: &Map<String, Value>) -> Result<Option<bool>, String> {
    let mut said = Vec::new();
    for name in ["states_claim", "confirmed"] {
        match object.get(name) {
            None | Some(Value::Null) => {}
            Some(Value::Bool(value)) => said.push(*value),
            Some(Value::String(text)) if fields::normal(text) == "true" => said.push(true),
            Some(Value::String(text)) if fields::normal(text) == "false" => said.push(false),
            Some(_) => return Err(format!("`{name}` must be true or false.")),
        }
    }
    if let Some(verdict) = object.get("verdict").filter(|verdict| !verdict.is_null()) {
        let known = verdict.as_str().and_then(|text| fields::named(text, &VERDICTS));
        match known {
            Some(verdict) => said.push(verdict == ReviewVerdict::Approve),
            None => return Err("`verdict` must be `approve`, `request_changes` or `block`.".to_owned()),
        }
    }
    if said.windows(2).any(|pair| pair[0] != pair[1]) {
        return Err(
            "The reply says both that the test states the claim and that it does not. Say one.".to_owned()
        );
    }
    Ok(said.first().copied())
}
