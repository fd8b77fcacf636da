//! The checker's reply.

use serde_json::Value;

use super::fields::{Fields, list, named};
use super::{BLOCK_REASONS, CATEGORIES, SEVERITIES, VERDICTS};
use crate::reply::{BlockReason, Issue, Review, ReviewVerdict};

/// Reads a review; there is none without a verdict.
pub(super) fn read(mut fields: Fields<'_, '_>) -> Option<Review> {
    let verdict = fields.required_name("verdict", &VERDICTS);
    let stopping = fields.required_text("stopping");
    let issues = fields.objects("issues", issue).unwrap_or_else(|| {
        fields.missing("issues", "an array of objects, empty if there are none");
        Vec::new()
    });
    let suggested_patch = fields.patch("suggested_patch").filter(|patch| !patch.trim().is_empty());
    let extra_tests = fields.texts("extra_tests").unwrap_or_default();
    let diagnostics_needed = fields.texts("diagnostics_needed").unwrap_or_default();
    let given = block_reason(&mut fields);
    let verdict = verdict?;
    let block_reason = match (verdict, given) {
        (ReviewVerdict::Approve, Some(_)) => {
            fields.problem(
                "The verdict is `approve`, but `block_reason` says why to block. Decide for one of them.",
            );
            given
        }
        (ReviewVerdict::RequestChanges, _) if issues.is_empty() => {
            fields
                .problem("The verdict is `request_changes`, but `issues` is empty. Name what should change.");
            given
        }
        (ReviewVerdict::Block, _) => blocking(&mut fields, given, &issues, &diagnostics_needed),
        (ReviewVerdict::Approve | ReviewVerdict::RequestChanges, _) => given,
    };
    Some(Review { verdict, issues, suggested_patch, extra_tests, stopping, block_reason, diagnostics_needed })
}

/// Checks that a block says why and what follows from it; issues without a reason are a definite bug.
fn blocking(
    fields: &mut Fields<'_, '_>,
    given: Option<BlockReason>,
    issues: &[Issue],
    diagnostics: &[String],
) -> Option<BlockReason> {
    match given {
        None if !issues.is_empty() => return Some(BlockReason::DefiniteBug),
        None if !fields.has("block_reason") => {
            fields
                .missing("block_reason", &format!("one of {} for the verdict `block`", list(&BLOCK_REASONS)));
        }
        Some(BlockReason::DefiniteBug) if issues.is_empty() => {
            fields.problem(
                "The verdict is `block` for a definite bug, but `issues` is empty. Describe the bug there.",
            );
        }
        Some(BlockReason::Uncertainty) if diagnostics.is_empty() => {
            fields.problem(
                "The verdict is `block` for uncertainty, but `diagnostics_needed` is empty. List the commands whose \
                 output would settle it.",
            );
        }
        None | Some(BlockReason::DefiniteBug | BlockReason::Uncertainty | BlockReason::NeedsHuman) => {}
    }
    given
}

fn block_reason(fields: &mut Fields<'_, '_>) -> Option<BlockReason> {
    let text = match fields.value("block_reason")? {
        Value::String(text) => text,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => "?",
    };
    let known = named(text, &BLOCK_REASONS);
    let says_none = matches!(text.trim().to_lowercase().as_str(), "" | "none" | "null" | "n/a");
    if known.is_none() && !says_none {
        fields.wrong("block_reason", &format!("one of {} or null", list(&BLOCK_REASONS)));
    }
    known
}

fn issue(mut fields: Fields<'_, '_>) -> Option<Issue> {
    let severity = fields.required_name("severity", &SEVERITIES);
    let description = fields.required_text("description");
    let how_to_verify = fields.text("how_to_verify");
    let issue_id = fields.text("issue_id").map(|id| id.trim().to_owned());
    let uncertainty = match fields.value("uncertainty") {
        Some(Value::Bool(unsure)) => unsure.then(|| "The reviewer is unsure.".to_owned()),
        Some(Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_))
        | None => fields.text("uncertainty"),
    };
    let category = fields.value("category").and_then(Value::as_str).and_then(|text| named(text, &CATEGORIES));
    let severity = severity.filter(|_| !description.is_empty())?;
    Some(Issue { severity, description, how_to_verify, issue_id, uncertainty, category })
}
