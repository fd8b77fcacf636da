//! Writes a first `.dualagent.json`.

use serde_json::{Map, Value, json};

use super::Detected;

/// A test command that fails and says what to do.
const NO_TESTS: &str =
    "sh -c 'echo Set test_command in .dualagent.json to the command that runs the tests; exit 1'";

/// Returns the text of a configuration for what was found; it loads without a warning. Providers and models are
/// proposals that the user edits, and what is left out has its default.
pub fn render(detected: &Detected) -> String {
    let mut file = Map::new();
    let mut set = |key: &str, value: Value| file.insert(key.to_owned(), value);
    set("builder_provider", json!("anthropic"));
    set("builder_model", json!("claude-sonnet-4-5"));
    set("reviewer_provider", json!("openai"));
    set("reviewer_model", json!("gpt-5.1"));
    set("test_command", json!(detected.test_command.as_deref().unwrap_or(NO_TESTS)));
    set("allow_paths", json!(detected.allow_paths));
    set("max_iterations", json!(3));
    if !detected.link_paths.is_empty() {
        set("link_paths", json!(detected.link_paths));
    }
    let text =
        serde_json::to_string_pretty(&Value::Object(file)).expect("a JSON value can always be written");
    text + "\n"
}
