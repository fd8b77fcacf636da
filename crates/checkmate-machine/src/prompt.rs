//! What agents are shown.
//!
//! A prompt has two texts. The system text is the role's prompt file and never changes within a run; the user text is
//! the shared state in a fixed order, stable parts first, so that a provider's cache pays for most of it. Everything
//! that comes from files, tests, tools or another agent stands between markers that it cannot forge.

mod map;
mod sections;

use std::collections::BTreeMap;

use crate::effect::Purpose;
use crate::event::{Candidate, FileText, Prepared};
use crate::evidence::Receipt;
use crate::finding::Findings;
use crate::record::{Comment, Dispute, ExtraTest, TurnRecord};
use crate::reply::{BuilderReply, Review, Shape};
use crate::spec::{PatchForm, Product, PromptText, Spec, Strictness};
use crate::verdict::evidence::Evidence;

pub use self::map::{languages, named_paths};
pub use self::sections::{history, is_about, receipt, refusal, stable_part, turn_end};
pub use crate::effect::Prompt;

/// A reply that went back, with its problems.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Correction {
    /// How often it went back, from 1.
    pub attempt: u32,
    /// What has to be mended.
    pub problems: Vec<String>,
    /// The reply.
    pub reply: String,
}

/// The facts that prompts are made from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct State<'a> {
    pub(crate) spec: &'a Spec,
    pub(crate) prepared: Option<&'a Prepared>,
    pub(crate) candidate: Option<&'a Candidate>,
    pub(crate) last_tests: Option<&'a Receipt>,
    pub(crate) baseline: Option<&'a Receipt>,
    pub(crate) findings: &'a Findings,
    pub(crate) extra_tests: &'a [ExtraTest],
    pub(crate) comments: &'a [Comment],
    pub(crate) turns: &'a [TurnRecord],
    /// How many turns the summary covers, and the summary.
    pub(crate) summary: Option<(usize, &'a str)>,
    pub(crate) shown: &'a [FileText],
    pub(crate) reply: Option<&'a BuilderReply>,
    pub(crate) review: Option<&'a Review>,
    pub(crate) diagnostics: &'a [String],
    pub(crate) refusals: &'a [String],
    pub(crate) correction: Option<&'a Correction>,
    /// What is known of the candidate beyond its tests.
    pub(crate) evidence: Option<Evidence<'a>>,
    /// The probe that is being decided about.
    pub(crate) disputed: Option<&'a str>,
    pub(crate) turn: u32,
    pub(crate) arbiter: Option<&'a Dispute>,
}

/// The prompt files that come with the program, by name.
const SHIPPED: [(&str, &str); 14] = [
    ("builder", include_str!("../prompts/builder.md")),
    ("diff", include_str!("../prompts/forms/diff.md")),
    ("search_replace", include_str!("../prompts/forms/search_replace.md")),
    ("whole_file", include_str!("../prompts/forms/whole_file.md")),
    ("reviewer", include_str!("../prompts/reviewer.md")),
    ("moderator", include_str!("../prompts/moderator.md")),
    ("arbiter_test", include_str!("../prompts/arbiter_test.md")),
    ("confirm_test", include_str!("../prompts/confirm_test.md")),
    ("summarise", include_str!("../prompts/summarise.md")),
    ("examiner", include_str!("../prompts/examiner.md")),
    ("judge_probe", include_str!("../prompts/judge_probe.md")),
    ("lenient", include_str!("../prompts/lenient.md")),
    ("balanced", include_str!("../prompts/balanced.md")),
    ("strict", include_str!("../prompts/strict.md")),
];

/// The version of the shipped prompts; it is raised with every change to one of them.
pub const VERSION: u32 = 3;

/// Where a prompt file wants the text about the form of patches. A file without it says itself what it wants.
pub const FORM_MARK: &str = "{{patch_form}}";

/// Returns the shipped prompts by name; a workspace may replace any of them.
pub fn shipped() -> BTreeMap<String, PromptText> {
    SHIPPED
        .iter()
        .map(|(name, text)| {
            (
                (*name).to_owned(),
                PromptText { version: format!("{name}@{VERSION}"), text: (*text).to_owned() },
            )
        })
        .collect()
}

/// Builds the prompt for a purpose.
pub(crate) fn build(state: &State<'_>, purpose: Purpose) -> Prompt {
    let (name, shape) = match purpose {
        Purpose::Build => match state.spec.product {
            Product::Patch | Product::Given { .. } => ("builder", Shape::Builder),
            Product::Document { .. } => ("builder", Shape::Text),
        },
        Purpose::ArbiterTest => ("arbiter_test", Shape::Builder),
        Purpose::ConfirmTest => ("confirm_test", Shape::Confirmation),
        Purpose::Review => ("reviewer", Shape::Review),
        Purpose::Moderate => ("moderator", Shape::Decision),
        Purpose::Summarise => ("summarise", Shape::Text),
        Purpose::Examine => ("examiner", Shape::Probes),
        Purpose::JudgeProbe => ("judge_probe", Shape::Decision),
    };
    let (mut system, mut version) = prompt_file(state.spec, name);
    if purpose == Purpose::Review {
        let (level, level_version) = prompt_file(state.spec, strictness(state.spec.policy.strictness));
        system = format!("{}\n\n{level}", system.trim_end());
        version = format!("{version}+{level_version}");
    }
    if let Some(form) = patch_form(state.spec, purpose) {
        let (text, form_version) = prompt_file(state.spec, form.name());
        system = system.replace(FORM_MARK, text.trim_end());
        version = format!("{version}+{form_version}");
    }
    Prompt { system, user: sections::user(state, purpose), shape, version }
}

/// Returns the form in which a purpose asks for a patch; `None` if it asks for none, or if its file names a form itself.
fn patch_form(spec: &Spec, purpose: Purpose) -> Option<PatchForm> {
    let name = match purpose {
        Purpose::Build => "builder",
        Purpose::ArbiterTest => "arbiter_test",
        Purpose::ConfirmTest
        | Purpose::Review
        | Purpose::Moderate
        | Purpose::Summarise
        | Purpose::Examine
        | Purpose::JudgeProbe => return None,
    };
    prompt_file(spec, name).0.contains(FORM_MARK).then_some(spec.policy.patch_form)
}

/// Says in words what a patch is that a correction asks for.
///
/// A prompt file that names a form itself most likely wants a diff, as all did before there was a choice.
pub(crate) fn wanted_patch(spec: &Spec, purpose: Purpose) -> &'static str {
    in_words(patch_form(spec, purpose).unwrap_or_default())
}

fn in_words(form: PatchForm) -> &'static str {
    match form {
        PatchForm::Diff => "a unified diff",
        PatchForm::SearchReplace => "a set of SEARCH/REPLACE blocks",
        PatchForm::WholeFile => "a list of whole files",
    }
}

fn strictness(level: Strictness) -> &'static str {
    match level {
        Strictness::Lenient => "lenient",
        Strictness::Balanced => "balanced",
        Strictness::Strict => "strict",
    }
}

fn prompt_file(spec: &Spec, name: &str) -> (String, String) {
    let file = spec.prompts.get(name).cloned().or_else(|| shipped().remove(name));
    file.map_or_else(|| (String::new(), name.to_owned()), |file| (file.text, file.version))
}

#[cfg(test)]
mod tests;
