//! The maker's reply.

use serde_json::Value;

use super::ANSWERS;
use super::fields::Fields;
use crate::reply::{BuilderReply, FindingAnswer, GoalConflict};

pub(super) fn read(mut fields: Fields<'_, '_>) -> BuilderReply {
    let files_needed = fields.texts("files_needed").unwrap_or_default();
    let conflict = conflict(&mut fields);
    let answers = fields.objects("answers", answer).unwrap_or_default();
    let complete = files_needed.is_empty() && conflict.is_none();
    let mut texts = |name: &str| {
        let texts = fields.texts(name);
        if texts.is_none() && complete {
            fields.missing(name, "an array of strings");
        }
        texts.unwrap_or_default()
    };
    let plan = texts("plan");
    let [tests, run, risks] = ["tests", "run", "risks"].map(texts);
    let patch = fields.patch("patch");
    if patch.is_none() && complete {
        fields.missing("patch", "a string with the patch");
    }
    let nothing = patch.as_ref().is_some_and(|patch| patch.trim().is_empty());
    let readable = fields.value("patch").is_some_and(|value| value.is_string() || value.is_array());
    if nothing && readable && complete && answers.is_empty() {
        fields.problem(
            "`patch` is empty, and the reply asks for no file, answers no finding and names no conflict. Give a patch, \
             or one of `files_needed`, `answers` and `conflict`.",
        );
    }
    let patch = patch.filter(|_| !nothing).unwrap_or_default();
    BuilderReply { files_needed, plan, patch, tests, run, risks, answers, conflict }
}

fn conflict(fields: &mut Fields<'_, '_>) -> Option<GoalConflict> {
    match fields.value("conflict")? {
        Value::Bool(false) => None,
        Value::Object(object) if object.is_empty() => None,
        Value::Object(object) => {
            let mut inner = fields.within(object, "conflict.".to_owned());
            let reason = inner.required_text("reason");
            let evidence = inner.required_text("evidence");
            (!reason.is_empty()).then_some(GoalConflict { reason, evidence })
        }
        Value::String(text) if text.trim().is_empty() => None,
        Value::Null | Value::Bool(true) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            fields.wrong("conflict", "an object with the strings `reason` and `evidence`");
            None
        }
    }
}

fn answer(mut fields: Fields<'_, '_>) -> Option<FindingAnswer> {
    let to = fields.required_text("to");
    let answer = fields.required_name("answer", &ANSWERS);
    let text = fields.required_text("text");
    answer.filter(|_| !to.is_empty()).map(|answer| FindingAnswer { to, answer, text })
}
