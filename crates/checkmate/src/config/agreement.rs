//! Holds the published schema and the loader against each other, and every documented example against both.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde_json::Value;

use super::schema::SCHEMA;
use super::{AgentKind, Config, ConfigError, schema, syntax};

/// What a file needs; rows put more in front of it.
const REST: &str = r#""builder_provider": "a", "builder_model": "b", "reviewer_provider": "c", "reviewer_model": "d",
"test_command": "t"}"#;

/// The schema as another validator reads it.
static VALIDATOR: LazyLock<(boon::Schemas, boon::SchemaIndex)> = LazyLock::new(|| {
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    compiler.add_resource("schema.json", serde_json::from_str(&schema()).unwrap()).unwrap();
    let index = compiler.compile("schema.json", &mut schemas).unwrap();
    (schemas, index)
});

/// Tells whether a file is valid under the published schema.
pub(super) fn is_valid(text: &str) -> bool {
    let value = syntax::parse(text).ok().unwrap().to_json();
    VALIDATOR.0.validate(&value, VALIDATOR.1).is_ok()
}

/// What the loader says.
#[derive(Debug, PartialEq)]
enum Said {
    Nothing,
    Warning(String),
    Error(String),
}

fn loader(text: &str, root: &Path) -> Said {
    match Config::parse(text, Path::new("f"), root, AgentKind::Live) {
        Ok(loaded) if loaded.warnings.is_empty() => Said::Nothing,
        Ok(loaded) => Said::Warning(loaded.warnings.join("\n")),
        Err(error @ ConfigError::Invalid { .. }) => Said::Error(error.to_string()),
        Err(other) => panic!("{other}"),
    }
}

/// Every sort of mistake in the shape of a file: both object, and the loader names the key and what is allowed, or for an
/// unknown key the nearest one.
#[test]
fn what_one_refuses_the_other_does_not_accept() {
    for (keys, parts) in [
        (r#""review_mode": "some""#, &["`review_mode`", "\"always\", \"selective\" or \"final_only\""][..]),
        (r#""review_mode": true"#, &["`review_mode`", "\"always\""]),
        (
            r#""review_strictness": "harsh""#,
            &["`review_strictness`", "\"lenient\", \"balanced\" or \"strict\""],
        ),
        (r#""review_on_test_pass": "yes""#, &["`review_on_test_pass`", "true or false"]),
        (r#""enable_moderator": 1"#, &["`enable_moderator`", "true or false"]),
        (r#""max_iterations": 0"#, &["`max_iterations`", "from 1 to 100"]),
        (r#""max_iterations": 2.5"#, &["`max_iterations`", "a whole number"]),
        (r#""max_iterations": "3""#, &["`max_iterations`", "a whole number"]),
        (r#""max_iterations": null"#, &["`max_iterations`", "Leave the key out for its default."]),
        (r#""context_summary_threshold": -1"#, &["`context_summary_threshold`", "from 1"]),
        (r#""test_time_limit_s": 0"#, &["`test_time_limit_s`", "from 1 to 86400"]),
        (r#""test_report": """#, &["`test_report`", "a text that is not empty"]),
        (r#""mutants_at_once": 65"#, &["`mutants_at_once`", "from 1 to 64"]),
        (r#""agent_time_limit_s": 1e9"#, &["`agent_time_limit_s`", "from 1 to 86400"]),
        (r#""allow_paths": "src""#, &["`allow_paths`", "a list of texts"]),
        (r#""allow_paths": [1]"#, &["`allow_paths[0]`", "a text"]),
        (r#""allow_commands": [[]]"#, &["`allow_commands[0]`", "a text"]),
        (r#""keep_env": {}"#, &["`keep_env`", "a list of texts"]),
        (r#""link_paths": [true]"#, &["`link_paths[0]`", "a text"]),
        (r#""approve_patches": "yes""#, &["`approve_patches`", "true or false"]),
        (r#""land": "push""#, &["`land`", "\"apply\", \"commit\" or \"ask\""]),
        (r#""land": null"#, &["`land`", "Leave the key out"]),
        (r#""prompts": []"#, &["`prompts`", "an object"]),
        (r#""prompts": {"builder": 1}"#, &["`prompts.builder`", "a text"]),
        (r#""builder": "openai""#, &["`builder`", "an object in braces"]),
        (r#""builder": {"model": 1}"#, &["`builder.model`", "a text"]),
        (r#""builder": {"provider": ""}"#, &["`builder.provider`", "a text that is not empty"]),
        (
            r#""builder": {"patch_form": "udiff"}"#,
            &["`builder.patch_form`", "\"diff\", \"search_replace\" or"],
        ),
        (r#""builder": {"price": {"input": 1}}"#, &["`builder.price.output` is missing"]),
        (r#""builder": {"price": {"input": -1, "output": 1}}"#, &["`builder.price.input`", "from 0"]),
        (r#""reviewer": {"temperature": 3}"#, &["`reviewer.temperature`", "from 0 to 2"]),
        (r#""reviewer": {"max_output_tokens": 0}"#, &["`reviewer.max_output_tokens`", "from 1"]),
        (r#""reviewer": {"time_limit_s": "9"}"#, &["`reviewer.time_limit_s`", "a whole number"]),
        (r#""moderator": {"base_url": 8080}"#, &["`moderator.base_url`", "a text"]),
        (r#""moderator": {"api_key_env": ["X"]}"#, &["`moderator.api_key_env`", "a text"]),
        (r#""examiner": "yes""#, &["`examiner`", "true or false or an object"]),
        (r#""examiner": {"model": false}"#, &["`examiner.model`", "a text"]),
        (r#""evidence": "some""#, &["`evidence`", "true or false or an object"]),
        (r#""evidence": {"mutation": "often"}"#, &["`evidence.mutation`", "\"off\", \"on\" or \"budget\""]),
        (r#""sandbox": "maybe""#, &["`sandbox`", "true or false"]),
        (r#""sandbox": {"memory_mb": 1}"#, &["`sandbox.memory_mb`", "from 16"]),
        (r#""sandbox": {"write": "~/x"}"#, &["`sandbox.write`", "a list of texts"]),
        (r#""network": 1"#, &["`network`", "true or false"]),
        (r#""budget": {"max_calls": -1}"#, &["`budget.max_calls`"]),
        (r#""budget": true"#, &["`budget`", "\"off\""]),
        // Unknown keys are warnings, because a newer Checkmate may know them.
        (r#""review_mod": "always""#, &["`review_mod`", "Did you mean `review_mode`?"]),
        (r#""reviewStrictness": "strict""#, &["`reviewStrictness`", "Did you mean `review_strictness`?"]),
        (r#""whatever": 1"#, &["`whatever`", "Remove it."]),
        (r#""builder": {"modl": "x"}"#, &["`builder.modl`", "Did you mean `builder.model`?"]),
        (r#""reviewer": {"baseUrl": "x"}"#, &["`reviewer.baseUrl`", "Did you mean `reviewer.base_url`?"]),
        (
            r#""examiner": {"temprature": 1}"#,
            &["`examiner.temprature`", "Did you mean `examiner.temperature`?"],
        ),
        (
            r#""builder": {"price": {"input": 1, "output": 1, "cache": 1}}"#,
            &["`builder.price.cache`", "Did you mean `builder.price.cached`?"],
        ),
        (r#""prompts": {"bilder": "x"}"#, &["`prompts.bilder`", "Did you mean `prompts.builder`?"]),
        (r#""sandbox": {"reads": []}"#, &["`sandbox.reads`", "Did you mean `sandbox.read`?"]),
    ] {
        let text = format!("{{{keys}, {REST}");
        assert!(!is_valid(&text), "the schema accepts {keys}");
        let (Said::Error(said) | Said::Warning(said)) = loader(&text, Path::new("/nowhere")) else {
            panic!("the loader accepts {keys}");
        };
        for part in parts {
            assert!(said.contains(part), "`{part}` is missing for {keys}:\n{said}");
        }
    }
    assert!(!is_valid("{}"));
    assert!(matches!(loader("{}", Path::new("/nowhere")), Said::Error(_)));
}

#[test]
fn every_documented_example_is_valid_for_both() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let workspaces: Vec<PathBuf> = fs::read_dir(root.join("examples"))
        .unwrap()
        .map(|entry| entry.unwrap().path().join("workspace/.dualagent.json"))
        .filter(|path| path.is_file())
        .collect();
    assert!(!workspaces.is_empty());
    for path in workspaces {
        check(&fs::read_to_string(&path).unwrap(), &path.display().to_string());
    }
    let mut examples = 0;
    let pages = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    for path in
        pages.chain([root.join("README.md")]).filter(|path| path.extension().is_some_and(|e| e == "md"))
    {
        let page = fs::read_to_string(&path).unwrap();
        let fenced = page.split("\n```json").skip(1).filter_map(|rest| rest.split_once('\n'));
        let fenced = fenced.filter_map(|(_, rest)| rest.split("\n```").next()).map(str::to_owned);
        let lines = page.lines().filter(|line| line.starts_with("    \"")).map(|line| format!("{{{line}}}"));
        for example in fenced.chain(lines).filter(|example| is_configuration(example)) {
            examples += 1;
            check(&example, &path.display().to_string());
        }
    }
    assert!(examples >= 6, "only {examples} examples were found");
}

/// Tells whether an example has keys of a configuration and no others.
fn is_configuration(example: &str) -> bool {
    let Ok(document) = syntax::parse(example) else { return false };
    let Value::Object(object) = document.to_json() else { return false };
    let known = object.keys().filter(|key| SCHEMA["properties"].get(key.as_str()).is_some()).count();
    // A mistake in one key of a whole example must not hide it.
    known > 0 && (known == object.len() || object.contains_key("builder_provider"))
}

/// Checks an example; what it leaves out is added.
fn check(example: &str, place: &str) {
    let mut value = syntax::parse(example).ok().unwrap().to_json();
    let whole = value.as_object_mut().unwrap();
    for role in ["builder", "reviewer"] {
        for key in ["provider", "model"] {
            let named = whole.get(role).is_some_and(|object| object.get(key).is_some());
            if !named {
                whole.entry(format!("{role}_{key}")).or_insert("x".into());
            }
        }
    }
    whole.entry("test_command").or_insert("npm test".into());
    if whole.get("enable_moderator").is_some_and(|on| on == true) && !whole.contains_key("moderator") {
        whole.entry("moderator_provider").or_insert("x".into());
        whole.entry("moderator_model").or_insert("x".into());
    }
    let folder = tempfile::tempdir().unwrap();
    for file in whole.get("prompts").and_then(Value::as_object).into_iter().flat_map(|files| files.values()) {
        let file = folder.path().join(file.as_str().unwrap());
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "A prompt with {{patch_form}}.").unwrap();
    }
    let text = value.to_string();
    assert!(is_valid(&text), "{place}: the schema refuses {example}");
    assert_eq!(loader(&text, folder.path()), Said::Nothing, "{place}: {example}");
}
