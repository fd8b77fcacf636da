//! What scripted agents say.

use serde_json::{Value, json};

/// A replay script in the making.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    entries: Vec<Value>,
    when_exhausted: &'static str,
}

impl Script {
    pub(crate) fn new() -> Self {
        Self { entries: Vec::new(), when_exhausted: "error" }
    }

    /// The shortest way to an approval: one green patch, one approving review.
    pub(crate) fn approved() -> Self {
        Self::new().builder(builds(&shout("$1!"))).reviewer(approves())
    }

    pub(crate) fn builder(self, reply: Value) -> Self {
        self.entry(json!({"role": "builder", "reply": reply}))
    }

    pub(crate) fn reviewer(self, reply: Value) -> Self {
        self.entry(json!({"role": "reviewer", "reply": reply}))
    }

    pub(crate) fn moderator(self, reply: Value) -> Self {
        self.entry(json!({"role": "moderator", "reply": reply}))
    }

    pub(crate) fn entry(mut self, entry: Value) -> Self {
        self.entries.push(entry);
        self
    }

    pub(crate) fn then(mut self, when_exhausted: &'static str) -> Self {
        self.when_exhausted = when_exhausted;
        self
    }

    pub(crate) fn json(&self) -> String {
        json!({"version": 1, "replay": self.entries, "when_exhausted": self.when_exhausted}).to_string()
    }

    /// Returns the texts of a role's replies, in order.
    pub(crate) fn replies(&self, role: &str) -> Vec<String> {
        let of_role = self.entries.iter().filter(|entry| entry["role"] == role);
        of_role
            .filter_map(|entry| entry.get("reply"))
            .map(|reply| reply.as_str().map_or_else(|| reply.to_string(), str::to_owned))
            .collect()
    }
}

/// A builder's reply with this patch.
pub(crate) fn builds(patch: &str) -> Value {
    json!({"plan": ["Write shout", "Test it"], "patch": patch, "tests": ["shout ends with a mark"], "run": [],
           "risks": ["Nobody may want to shout"]})
}

/// A builder's reply with some fields replaced.
pub(crate) fn builds_with(patch: &str, fields: Value) -> Value {
    let mut reply = builds(patch);
    reply.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    reply
}

pub(crate) fn approves() -> Value {
    json!({"verdict": "approve", "issues": [], "stopping": "The goal is reached and tested."})
}

/// A review that asks for changes.
pub(crate) fn asks_for(issues: &[Value]) -> Value {
    json!({"verdict": "request_changes", "issues": issues, "stopping": "Something is left to do."})
}

/// An issue that can be verified.
pub(crate) fn issue(id: &str, severity: &str, description: &str) -> Value {
    json!({"severity": severity, "description": description, "issue_id": id, "category": "bug",
           "how_to_verify": format!("call shout and look at {id}")})
}

/// A patch that adds a file.
pub(crate) fn adds(path: &str, lines: &[&str]) -> String {
    let body: String = lines.iter().map(|line| format!("+{line}\n")).collect();
    format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{} @@\n{body}", lines.len())
}

/// A patch that replaces the only line of a file.
pub(crate) fn replaces(path: &str, old: &str, new: &str) -> String {
    format!("--- a/{path}\n+++ b/{path}\n@@ -1,1 +1,1 @@\n-{old}\n+{new}\n")
}

/// The line of a `shout` that prints this.
pub(crate) fn shout_line(prints: &str) -> String {
    format!("shout() {{ echo \"{prints}\"; }}")
}

/// A patch that adds `shout` with a test that wants a mark: green only if it prints `$1!`.
pub(crate) fn shout(prints: &str) -> String {
    let test = adds("test/shout_test.sh", &["expect \"shout ends with a mark\" \"$(shout hey)\" 'hey!'"]);
    format!("{}{test}", adds("src/shout.sh", &[&shout_line(prints)]))
}

/// A patch that makes `shout` print something else.
pub(crate) fn reshout(old: &str, new: &str) -> String {
    replaces("src/shout.sh", &shout_line(old), &shout_line(new))
}
