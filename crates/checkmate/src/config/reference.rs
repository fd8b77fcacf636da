//! Keeps the tables of `docs/configuration.md` equal to the program: keys from the schema and the defaults, strictness
//! from [`Finding::weight`](checkmate_machine::finding::Finding::weight), providers from their table.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use checkmate_machine::finding::{Findings, Weight};
use checkmate_machine::reply::{Category, Issue, Severity};
use checkmate_machine::spec::Strictness;
use serde_json::{Map, Value};

use super::schema::{DEFAULTS, SCHEMA};
use super::{AgentKind, Config};
use crate::agents;

/// Set this variable to have the tables written anew; it is the schema's as well.
const REWRITE: &str = "CHECKMATE_WRITE_SCHEMA";

/// An example of every key, as it stands in a file.
const EXAMPLES: [(&str, &str); 33] = [
    ("$schema", r#""https://example.com/dualagent.schema.json""#),
    ("builder_provider", r#""anthropic""#),
    ("builder_model", r#""claude-sonnet-4-5""#),
    ("reviewer_provider", r#""openai""#),
    ("reviewer_model", r#""gpt-5.1""#),
    ("test_command", r#""npm test""#),
    ("allow_paths", r#"["src/**", "test/**"]"#),
    ("max_iterations", "5"),
    ("review_mode", r#""selective""#),
    ("review_on_test_pass", "false"),
    ("review_strictness", r#""strict""#),
    ("enable_moderator", "true"),
    ("moderator_provider", r#""gemini""#),
    ("moderator_model", r#""gemini-2.5-pro""#),
    ("context_summary_threshold", "4000"),
    ("approve_patches", "true"),
    ("land", r#""commit""#),
    ("allow_commands", r#"["npm run *", "cargo clippy"]"#),
    ("test_time_limit_s", "1800"),
    ("test_report", r#""build/junit.xml""#),
    ("mutants_at_once", "2"),
    ("agent_time_limit_s", "120"),
    ("keep_env", r#"["DATABASE_TEST_KEY"]"#),
    ("link_paths", r#"["node_modules"]"#),
    ("prompts", r#"{ "reviewer": "prompts/reviewer.md" }"#),
    ("builder", r#"{ "base_url": "http://localhost:8080/v1", "temperature": 0.2 }"#),
    ("reviewer", r#"{ "api_key_env": "REVIEWER_KEY", "max_output_tokens": 8192 }"#),
    ("moderator", r#"{ "time_limit_s": 60 }"#),
    ("examiner", "false"),
    ("evidence", r#"{ "mutation": "off" }"#),
    ("budget", r#"{"max_calls": 30, "max_minutes": 45}"#),
    ("sandbox", "false"),
    ("network", "true"),
];

#[test]
fn the_tables_of_the_documentation_are_those_of_the_program() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let page = fs::read_to_string(&path).unwrap();
    let mut fresh = page.clone();
    for (name, table) in [
        ("keys", keys(&SCHEMA["properties"])),
        ("role keys", keys(&SCHEMA["$defs"]["RoleFile"]["properties"])),
        ("price keys", keys(&SCHEMA["$defs"]["PriceFile"]["properties"])),
        ("strictness", strictness()),
        ("providers", providers()),
        ("capabilities", capabilities()),
    ] {
        fresh = with_region(&fresh, name, &table);
    }
    if std::env::var_os(REWRITE).is_some() {
        fs::write(&path, &fresh).unwrap();
    } else {
        assert!(page == fresh, "{} is stale; run this test with {REWRITE}=1", path.display());
    }
}

#[test]
fn every_example_of_the_documentation_is_accepted() {
    let known: Vec<&str> = SCHEMA["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(EXAMPLES.map(|(key, _)| key).to_vec(), known);
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("prompts")).unwrap();
    fs::write(folder.path().join("prompts/reviewer.md"), "Review it.").unwrap();
    let text = EXAMPLES.map(|(key, example)| format!("\"{key}\": {example}")).join(",\n");
    let loaded =
        Config::parse(&format!("{{{text}}}"), Path::new("x"), folder.path(), AgentKind::Live).unwrap();
    // The examples switch the sandbox off, and say something about the network all the same.
    assert!(loaded.warnings.iter().all(|warning| warning.contains("`network`")), "{:?}", loaded.warnings);
}

/// Replaces what stands between the two marks of a name.
fn with_region(page: &str, name: &str, text: &str) -> String {
    let (open, close) = (format!("<!-- generated: {name} -->\n"), "<!-- end -->");
    let (before, rest) = page.split_once(&open).unwrap_or_else(|| panic!("the page has no region {name}"));
    let (_, after) = rest.split_once(close).unwrap();
    format!("{before}{open}\n{text}\n{close}{after}")
}

fn keys(properties: &Value) -> String {
    let properties = properties.as_object().unwrap();
    let examples: Map<String, Value> =
        EXAMPLES.iter().map(|(key, example)| ((*key).to_owned(), (*example).into())).collect();
    let top = properties.contains_key("test_command");
    let mut text = String::from(if top {
        "| key | type | default | meaning | example |\n|---|---|---|---|---|\n"
    } else {
        "| key | type | meaning |\n|---|---|---|\n"
    });
    for (key, rule) in properties {
        let meaning = rule["description"].as_str().unwrap().trim().replace('|', "\\|");
        if top {
            let default = match (DEFAULTS.get(key), key.as_str()) {
                (Some(value), _) => format!("`{value}`"),
                (None, "test_command") => "none; it is required".into(),
                (None, "builder_provider" | "builder_model" | "reviewer_provider" | "reviewer_model") => {
                    "none; it is required unless agents are scripted".into()
                }
                (None, _) => "not set".into(),
            };
            let example = examples[key].as_str().unwrap();
            writeln!(text, "| `{key}` | {} | {default} | {meaning} | `{example}` |", kind(rule)).unwrap();
        } else {
            writeln!(text, "| `{key}` | {} | {meaning} |", kind(rule)).unwrap();
        }
    }
    text
}

/// Says what values a rule accepts.
fn kind(rule: &Value) -> String {
    let rule = rule["$ref"].as_str().map_or(rule, |name| &SCHEMA["$defs"][name.rsplit('/').next().unwrap()]);
    let all = |rows: &Value, of: &dyn Fn(&Value) -> String| {
        rows.as_array().unwrap().iter().map(of).collect::<Vec<_>>().join(" or ")
    };
    if !rule["oneOf"].is_null() {
        return all(&rule["oneOf"], &|row| format!("`{}`", row["const"]));
    }
    if !rule["anyOf"].is_null() {
        return all(&rule["anyOf"], &kind);
    }
    let range = match (rule["minimum"].as_f64(), rule["maximum"].as_f64()) {
        (Some(least), Some(most)) => format!(" from {least} to {most}"),
        (Some(least), None) => format!(" of at least {least}"),
        (None, _) => String::new(),
    };
    match rule["type"].as_str().unwrap() {
        "string" => "text".into(),
        "boolean" => "true or false".into(),
        "integer" => format!("whole number{range}"),
        "number" => format!("number{range}"),
        "array" => "list of texts".into(),
        "object" => "object".into(),
        other => panic!("a type that the documentation has no word for: {other}"),
    }
}

fn strictness() -> String {
    const CATEGORIES: [(Option<Category>, &str); 8] = [
        (Some(Category::Bug), "`bug`"),
        (Some(Category::Security), "`security`"),
        (Some(Category::Tests), "`tests`"),
        (Some(Category::Style), "`style`"),
        (Some(Category::EdgeCase), "`edge_case`"),
        (Some(Category::Performance), "`performance`"),
        (Some(Category::Architecture), "`architecture`"),
        (None, "not named"),
    ];
    let mut text =
        String::from("| severity | category | `lenient` | `balanced` | `strict` |\n|---|---|---|---|---|\n");
    for (severity, word) in
        [(Severity::Critical, "critical"), (Severity::Major, "major"), (Severity::Minor, "minor")]
    {
        for (category, name) in CATEGORIES {
            let [lenient, balanced, strict] = [Strictness::Lenient, Strictness::Balanced, Strictness::Strict]
                .map(|strictness| weight(severity, category, strictness));
            writeln!(text, "| {word} | {name} | {lenient} | {balanced} | {strict} |").unwrap();
        }
    }
    text
}

fn weight(severity: Severity, category: Option<Category>, strictness: Strictness) -> &'static str {
    let issue = Issue {
        severity,
        description: "something".into(),
        how_to_verify: Some("run it".into()),
        issue_id: None,
        uncertainty: None,
        category,
    };
    let mut findings = Findings::default();
    findings.review(&[issue], 1);
    match findings.all()[0].weight(strictness) {
        Weight::Blocks | Weight::Objection => "blocks",
        Weight::Suggestion => "–",
    }
}

fn providers() -> String {
    let mut text =
        String::from("| provider | key variable | default address | `patch_form` |\n|---|---|---|---|\n");
    for (cells, _) in agents::providers() {
        writeln!(text, "| {} |", cells.join(" | ")).unwrap();
    }
    text
}

fn capabilities() -> String {
    let mut text = String::from(
        "| provider | wire | schema of replies | caching of prompts | `reasoning_effort` goes out as | list of models | \
         costs from |\n|---|---|---|---|---|---|---|\n",
    );
    for ([name, ..], cells) in agents::providers() {
        writeln!(text, "| {name} | {} |", cells.join(" | ")).unwrap();
    }
    text
}
