use std::fs;

use checkmate_machine::effect;
use jsonc_parser::ast;
use serde_json::json;

use checkmate_machine::spec::{EvidenceRules, Level};
use checkmate_machine::verdict::GateName;

use super::*;

const BASIC: &str = include_str!("tests/basic.json");
const ADVANCED: &str = include_str!("tests/advanced.json");
const EVERY_KEY: &str = include_str!("tests/every_key.jsonc");
/// What a file needs; tests put more in front of it.
const REST: &str = r#""builder_provider": "a", "builder_model": "b", "reviewer_provider": "c", "reviewer_model": "d",
"test_command": "t"}"#;

fn parse(text: &str, kind: AgentKind) -> Result<Loaded, ConfigError> {
    let nowhere = Path::new("/nowhere");
    Config::parse(text, Path::new("f"), nowhere, kind)
}

fn load(text: &str) -> Loaded {
    parse(text, AgentKind::Live).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Returns the message about a file that starts with `keys`, or all its warnings.
fn said(keys: &str) -> String {
    match parse(&format!("{{{keys}, {REST}"), AgentKind::Live) {
        Ok(loaded) => loaded.warnings.join("\n"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn bad_values_are_named_with_what_is_allowed() {
    for (keys, expected) in [
        (
            r#""review_mode": "some""#,
            r#"f:1:17: `review_mode` must be "always", "selective" or "final_only", but it is "some"."#,
        ),
        (
            r#""review_strictness": true"#,
            r#"f:1:23: `review_strictness` must be "lenient", "balanced" or "strict", but it is true."#,
        ),
        (r#""land": "push""#, r#"f:1:10: `land` must be "apply", "commit" or "ask", but it is "push"."#),
        (
            r#""max_iterations": 0"#,
            "f:1:20: `max_iterations` must be a whole number from 1 to 100, but it is 0.",
        ),
        (
            r#""max_iterations": 101"#,
            "f:1:20: `max_iterations` must be a whole number from 1 to 100, but it is 101.",
        ),
        (
            r#""max_iterations": 2.5"#,
            "f:1:20: `max_iterations` must be a whole number from 1 to 100, but it is 2.5.",
        ),
        (
            r#""max_iterations": "3""#,
            r#"f:1:20: `max_iterations` must be a whole number from 1 to 100, but it is "3"."#,
        ),
        (
            r#""max_iterations": 99999999999999999999999999999999999"#,
            "f:1:20: `max_iterations` must be a whole number from 1 to 100, but it is a number too long to use.",
        ),
        (
            r#""enable_moderator": null"#,
            "f:1:22: `enable_moderator` must be true or false, but it is null. Leave the key out for its default.",
        ),
        (
            r#""allow_paths": "src/**""#,
            r#"f:1:17: `allow_paths` must be a list of texts in square brackets, but it is "src/**"."#,
        ),
        (r#""allow_paths": ["src", 1]"#, "f:1:25: `allow_paths[1]` must be a text, but it is 1."),
        (
            r#""builder": {"temperature": 3}"#,
            "f:1:29: `builder.temperature` must be a number from 0 to 2, but it is 3.",
        ),
        (
            r#""builder": {"patch_form": "blocks"}"#,
            r#"f:1:28: `builder.patch_form` must be "diff", "search_replace" or "whole_file", but it is "blocks"."#,
        ),
        (
            r#""builder": {"reasoning_effort": "max"}"#,
            r#"f:1:34: `builder.reasoning_effort` must be "none", "minimal", "low", "medium", "high" or "xhigh", but it is "max"."#,
        ),
        (r#""builder": "openai""#, r#"f:1:13: `builder` must be an object in braces, but it is "openai"."#),
        (
            r#""builder": {"price": {"input": 1}}"#,
            "f:1:23: `builder.price.output` is missing; it must be a number from 0 to 1000000.",
        ),
        (
            r#""examiner": "yes""#,
            r#"f:1:14: `examiner` must be true or false or an object in braces, but it is "yes"."#,
        ),
        (
            r#""examiner": {"temperature": "hot"}"#,
            r#"f:1:30: `examiner.temperature` must be a number from 0 to 2, but it is "hot"."#,
        ),
        (
            r#""evidence": {"mutation": "often"}"#,
            r#"f:1:27: `evidence.mutation` must be "off", "on" or "budget", but it is "often"."#,
        ),
        (r#""network": 1"#, r#"f:1:13: `network` must be true or false or "off" or "on", but it is 1."#),
    ] {
        assert_eq!(said(keys), expected, "{keys}");
    }
}

#[test]
fn rules_beyond_the_shape_of_a_value() {
    for (keys, expected) in [
        (
            r#""enable_moderator": true"#,
            "f:1:2: `enable_moderator` is true, but `moderator_provider` and `moderator_model` are missing. Set \
             `moderator_provider` and `moderator_model`, or set `enable_moderator` to false.",
        ),
        (
            r#""enable_moderator": true, "moderator": {"model": "m"}"#,
            "f:1:2: `enable_moderator` is true, but `moderator_provider` is missing. Set `moderator_provider` and \
             `moderator_model`, or set `enable_moderator` to false.",
        ),
        (r#""enable_moderator": true, "moderator": {"provider": "p", "model": "m"}"#, ""),
        (
            r#""moderator_model": "m""#,
            "f:1:2: `moderator_model` has no effect unless `enable_moderator` is true.",
        ),
        (
            r#""builder": {"model": "other"}"#,
            r#"f:1:58: `builder_model` is "b", but `builder.model` is "other". Keep one of them."#,
        ),
        (
            r#""review_on_test_pass": false"#,
            r#"f:1:2: `review_on_test_pass` has no effect unless `review_mode` is "selective"."#,
        ),
        (r#""review_on_test_pass": true"#, ""),
        (
            r#""allow_paths": ["/etc/*"]"#,
            "f:1:2: The entry `/etc/*` of `allow_paths` leads out of the repository. Patterns start at the \
             repository's root.",
        ),
        (
            r#""allow_commands": ["npm test && rm x"]"#,
            "f:1:2: The entry `npm test && rm x` of `allow_commands` can never match: the command `npm test && rm x` \
             uses shell syntax (`&&`), and no command of an agent runs through a shell; give one program with its \
             arguments.",
        ),
        (
            r#""allow_commands": ["say 'x"]"#,
            "f:1:2: The entry `say 'x` of `allow_commands` can never match: the command `say 'x` has a quote that is \
             not closed.",
        ),
        (
            r#""allow_commands": ["A=b npm"]"#,
            "f:1:2: The entry `A=b npm` of `allow_commands` sets a variable, which no pattern does. Leave it out.",
        ),
        (
            r#""allow_commands": ["*"]"#,
            "f:1:2: The entry `*` of `allow_commands` lets agents have any command run. List the commands that they \
             need.",
        ),
        (
            r#""keep_env": ["A B"]"#,
            "f:1:2: `keep_env` must hold the name of an environment variable, such as \"OPENAI_API_KEY\", but \"A B\" \
             is none.",
        ),
        (
            r#""link_paths": ["../x"]"#,
            "f:1:2: `link_paths`: The path `../x` has a `.` or `..` in it. Write the path from the repository's root \
             without them.",
        ),
        (
            r#""test_report": "/tmp/x.xml""#,
            "f:1:2: `test_report`: The path `/tmp/x.xml` is absolute. Paths start at the repository's root.",
        ),
        (
            r#""builder": {"base_url": "localhost:80"}"#,
            "f:1:2: `builder.base_url` must be an address such as \"http://localhost:8080/v1\", but it is \
             \"localhost:80\".",
        ),
        (
            r#""builder": {"base_url": "https://me:pass@host/v1"}"#,
            "f:1:2: `builder.base_url` has a user or password in it. Take it out, and put the key into an environment \
             variable that `api_key_env` names.",
        ),
        (
            r#""reviewer": {"patch_form": "diff"}"#,
            "f:1:2: `reviewer.patch_form` has no effect: only the builder writes patches.",
        ),
        (r#""examiner": true"#, ""),
        (r#""evidence": {"mutation": "on"}"#, ""),
        (
            r#""evidence": {"mutations": "on"}"#,
            "f:1:2: `evidence.mutations` names no gate. Did you mean `mutation`?",
        ),
        (r#""sandbox": "on", "network": "off""#, ""),
        (r#""sandbox": {"write": ["~/.gradle", "/srv"], "memory_mb": 4096}, "network": true"#, ""),
        (
            r#""sandbox": {"read": ["../other"]}"#,
            "f:1:2: `sandbox.read` must hold paths that begin with `/` or `~/`, but `../other` does not.",
        ),
        (r#""budget": {"max_calls": 9, "max_tokens": 100000, "max_minutes": 30}"#, ""),
        (
            r#""budget": {"max_usd": 1.5}, "reviewer": {"price": {"input": 1, "output": 2}}"#,
            "f:1:2: `budget.max_usd` cannot be kept, because what the builder's model costs is not known. Name it in \
             `builder.price`, in dollars for a million tokens, or limit tokens instead.",
        ),
        (
            r#""reviewer": {"budget": {"max_usd": 1.5}}"#,
            "f:1:2: `reviewer.budget.max_usd` cannot be kept, because what the reviewer's model costs is not known. Name \
             it in `reviewer.price`, in dollars for a million tokens, or limit tokens instead.",
        ),
        (r#""sandbox": false, "network": "off""#, "f:1:20: `network` has no effect while `sandbox` is off."),
        (r#""examiner": false, "sandbox": false, "budget": "off""#, ""),
    ] {
        assert_eq!(said(keys), expected, "{keys}");
    }
}

#[test]
fn unknown_keys_are_ignored_with_the_nearest_name() {
    for (keys, expected) in [
        (
            r#""review_mod": "x""#,
            "f:1:2: `review_mod` is not a key of this file and is ignored. Did you mean `review_mode`?",
        ),
        (
            r#""maxIterations": 5"#,
            "f:1:2: `maxIterations` is not a key of this file and is ignored. Did you mean `max_iterations`?",
        ),
        (r#""colour": 5"#, "f:1:2: `colour` is not a key of this file and is ignored. Remove it."),
        (
            r#""builder": {"tempurature": 1}"#,
            "f:1:14: `builder.tempurature` is not a key of this file and is ignored. Did you mean \
             `builder.temperature`?",
        ),
        (
            r#""builder": {"patch_from": "diff"}"#,
            "f:1:14: `builder.patch_from` is not a key of this file and is ignored. Did you mean \
             `builder.patch_form`?",
        ),
        (
            r#""prompts": {"reviewr": "x.md"}"#,
            "f:1:14: `prompts.reviewr` is not a key of this file and is ignored. Did you mean `prompts.reviewer`?",
        ),
    ] {
        assert_eq!(said(keys), expected, "{keys}");
    }
    assert!(!load(&format!("{{\"colour\": 5, {REST}")).set.contains_key("colour"));
}

#[test]
fn keys_of_services_are_refused_and_never_repeated() {
    // Put together here, so that no scanner takes this file for a leak.
    let key = ["sk", "ant", "0123456789abcdefghij"].join("-");
    for keys in [
        format!(r#""builder": {{"api_key_env": "{key}"}}"#),
        format!(r#""builder": {{"api_key": "{key}"}}"#),
        format!(r#""openai_api_key": "{key}""#),
        format!(r#""moderator_model": "{key}""#),
        format!(r#""keep_env": ["{key}"]"#),
        format!(r#""allow_commands": ["curl -H 'x-api-key: {key}'"]"#),
        format!(r#""examiner": {{"provider": "{key}"}}"#),
        format!(r#""examiner": "{key}""#),
        format!(r#""odd": {{"deep": ["{key}"]}}"#),
        format!(r#""{key}": 1"#),
    ] {
        let said = said(&keys);
        assert!(said.contains("looks like a secret key"), "{keys}: {said}");
        assert!(!said.contains("0123456789"), "{keys}: {said}");
    }
    for harmless in ["sk-learn", "task-runner-with-a-long-name-2", "claude-3-opus-20240229", "gpt-5.1"] {
        assert!(!shape::looks_like_a_key(harmless), "{harmless}");
    }
}

#[test]
fn every_error_of_a_file_is_reported_in_its_order() {
    let text = r#"{
  "max_iterations": 0,
  "review_mode": "some",
  "review_mode": "always",
  "reviewer_model": "",
  "enable_moderator": true,
  "allow_paths": ["{a", "!b"]
}"#;
    let error = parse(text, AgentKind::Live).unwrap_err().to_string();
    let places: Vec<&str> = error.lines().map(|line| line.split(": ").next().unwrap()).collect();
    assert_eq!(
        places,
        ["f:1:1", "f:1:1", "f:1:1", "f:2:21", "f:3:18", "f:4:3", "f:5:21", "f:6:3", "f:7:3", "f:7:3"],
        "{error}"
    );
    assert!(
        error.contains("`builder_provider` and `builder_model` are missing. Name the builder's"),
        "{error}"
    );
    assert!(error.contains("`reviewer_provider` is missing."), "{error}");
    assert!(error.contains("`test_command` is missing."), "{error}");
    assert!(error.contains("`review_mode` is there twice. Keep one of them."), "{error}");
    assert!(error.contains("`reviewer_model` must be a text that is not empty, but it is empty."), "{error}");
}

#[test]
fn a_broken_key_is_not_also_called_missing() {
    let error = parse(r#"{"test_command": 1, "builder": [], "reviewer": {"model": 2}}"#, AgentKind::Live);
    let error = error.unwrap_err().to_string();
    assert!(!error.contains("missing"), "{error}");
    assert_eq!(error.lines().count(), 3, "{error}");
}

#[test]
fn bad_test_commands() {
    for (command, expected) in [
        ("''", "`test_command` is no command: the command is empty."),
        (
            "npm 'test",
            "`test_command` is no command: the command `npm 'test` has a quote that is not closed.",
        ),
        ("   ", "`test_command` must be a text that is not empty"),
    ] {
        let text = json!({ "test_command": command }).to_string();
        let error = parse(&text, AgentKind::Scripted).unwrap_err().to_string();
        assert!(error.contains(expected), "{command}: {error}");
    }
}

#[test]
fn text_that_is_no_json_says_where() {
    let advice = "The file has to be JSON, where comments and commas before a closing bracket are also fine. Correct \
                  this place and start again.";
    for (text, expected) in [
        ("", "f:1:1: Expected an object in braces, but the file is empty."),
        ("// only a comment", "f:1:1: Expected an object in braces, but the file is empty."),
        ("[1]", "f:1:1: Expected an object in braces, but found a list."),
        ("{\n  \"a\": 1\n  \"b\": 2\n}", "f:2:9: Expected comma."),
        ("{\n  \"a\": }", "f:2:8: Unexpected close brace."),
        ("{a: 1}", "f:1:2: Expected string for object property."),
        ("{'a': 1}", "f:1:2: Single-quoted strings are not allowed."),
        ("{\"a\": 1", "f:1:1: Unterminated object."),
        ("{} {}", "f:1:4: Text cannot contain more than one JSON value."),
    ] {
        let error = parse(text, AgentKind::Live).unwrap_err();
        assert!(matches!(error, ConfigError::Syntax { .. }), "{text}");
        assert_eq!(error.to_string(), format!("{expected} {advice}"), "{text}");
    }
}

#[test]
fn no_text_panics() {
    let whole = EVERY_KEY;
    for at in 0..whole.len() {
        let _ = parse(&whole[..at], AgentKind::Live);
        let _ = parse(&format!("{}\u{0}é{}", &whole[..at], &whole[at..]), AgentKind::Scripted);
    }
    for deep in ["[", "{\"a\":", "{\"builder\":[", "/*"] {
        assert!(parse(&format!("{{\"a\": {}", deep.repeat(20_000)), AgentKind::Live).is_err());
    }
}

#[test]
fn a_mark_comments_and_trailing_commas_are_accepted() {
    let text = format!("\u{feff}// mine\n{{/* why */ \"allow_paths\": [\"src\",], {REST}")
        .replace("\"t\"}", "\"t\",}");
    assert_eq!(load(&text).config.allow_paths, ["src"]);
}

#[test]
fn defaults() {
    let loaded = load(&format!("{{{REST}"));
    let config = loaded.config;
    let role = |provider: &str, model: &str| RoleSettings {
        provider: provider.into(),
        model: model.into(),
        base_url: None,
        api_key_env: None,
        max_output_tokens: None,
        temperature: None,
        reasoning_effort: None,
        time_limit_s: 300,
        patch_form: None,
        price: None,
    };
    assert_eq!(loaded.warnings, [""; 0]);
    assert_eq!(loaded.set.len(), 5);
    assert_eq!(config.roles(), [(Role::Builder, role("a", "b")), (Role::Reviewer, role("c", "d"))].into());
    assert_eq!((config.test_time_limit_s, config.test_report.as_deref()), (600, None));
    assert!(config.keep_env.is_empty() && config.link_paths.is_empty());
    assert_eq!(config.prompts(), prompt::shipped());
    let policy = config.policy(None, false);
    assert_eq!(
        policy,
        Policy {
            max_iterations: 3,
            review_mode: ReviewMode::Always,
            review_on_test_pass: true,
            strictness: Strictness::Balanced,
            patch_form: PatchForm::WholeFile,
            moderator: false,
            context_summary_threshold: 2000,
            allow_paths: vec![],
            allow_commands: vec![],
            test_command: CommandLine::from_user("t").unwrap(),
            approve_patches: false,
            interactive: false,
            land: LandPolicy::Apply,
            evidence: EvidenceRules::usual(),
            examiner: false,
            budget: config.budget.clone(),
        }
    );
    assert!(config.budget.run.is_unlimited());
    assert_eq!(config.budget.roles.len(), 2);
}

#[test]
fn the_flag_goes_before_the_file_and_the_file_before_the_place() {
    let config = |land: &str| load(&format!("{{{land}{REST}")).config;
    let (silent, commits) = (config(""), config(r#""land": "commit", "#));
    assert_eq!(silent.policy(None, true).land, LandPolicy::Ask);
    assert_eq!(silent.policy(None, false).land, LandPolicy::Apply);
    assert_eq!(commits.policy(None, true).land, LandPolicy::Commit);
    assert_eq!(commits.policy(Some(LandPolicy::Ask), false).land, LandPolicy::Ask);
}

#[test]
fn every_key_arrives() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("prompts")).unwrap();
    fs::write(root.path().join("prompts/maker.md"), "Make it.\n{{patch_form}}\n").unwrap();
    let path = root.path().join(FILE_NAME);
    fs::write(&path, EVERY_KEY).unwrap();
    let Loaded { config, warnings, set } = Config::load(&path, root.path()).unwrap();
    assert_eq!(warnings, [""; 0]);
    assert_eq!(
        config.builder,
        RoleSettings {
            provider: "local".into(),
            model: "maker/1".into(),
            base_url: Some("http://localhost:8080/v1".into()),
            api_key_env: Some("MY_KEY".into()),
            max_output_tokens: Some(4096),
            temperature: Some(0.5),
            reasoning_effort: Some(Effort::Xhigh),
            time_limit_s: 90,
            patch_form: Some(PatchForm::Diff),
            price: Some(Price { input: 3_000_000, cached: 300_000, output: 15_000_000 }),
        }
    );
    assert_eq!((config.reviewer.provider.as_str(), config.reviewer.model.as_str()), ("anthropic", "second"));
    assert_eq!(config.reviewer.time_limit_s, 30);
    assert_eq!(config.reviewer.price, Some(Price { input: 250_000, cached: 250_000, output: 2_000_000 }));
    let moderator = config.moderator.clone().unwrap();
    assert_eq!((moderator.model.as_str(), moderator.temperature), ("third", Some(0.0)));
    let examiner = config.examiner.clone().unwrap();
    assert_eq!((examiner.provider.as_str(), examiner.model.as_str()), ("anthropic", "second"));
    assert_eq!((examiner.time_limit_s, examiner.price), (20, None));
    assert_eq!(config.evidence.level(GateName::Mutation), Level::Off);
    assert_eq!(config.evidence.level(GateName::RedGreen), Level::On);
    assert_eq!(config.roles().into_keys().collect::<Vec<_>>(), Role::ALL);
    assert_eq!(config.test_command.argv, ["sh", "-c", "npm test && npm run lint"]);
    assert_eq!((config.test_time_limit_s, config.test_report.as_deref()), (60, Some("target/junit.xml")));
    assert_eq!(config.link_paths, ["node_modules", ".env"]);
    assert_eq!((&*config.keep_env, config.mutants_at_once), (&["NPM_TOKEN".to_owned()][..], 3));
    let policy = config.policy(None, true);
    assert_eq!((policy.max_iterations, policy.context_summary_threshold), (7, 99));
    assert_eq!((policy.review_mode, policy.review_on_test_pass), (ReviewMode::Selective, false));
    assert_eq!(
        (policy.strictness, policy.land, policy.moderator, policy.patch_form),
        (Strictness::Strict, LandPolicy::Commit, true, PatchForm::Diff)
    );
    assert_eq!(
        (policy.allow_paths, policy.allow_commands),
        (vec!["src/**".into()], vec!["npm run *".into()])
    );
    let maker = &config.prompts()["builder"];
    assert_eq!(maker.text, "Make it.\n{{patch_form}}\n");
    assert_eq!(maker.version, format!("builder@file:{}", &effect::hash(&maker.text)[..12]));
    assert_eq!(config.prompts().len(), prompt::shipped().len());
    // The file is what its comment says it is, but for what would bring a warning.
    let known = schema::SCHEMA["properties"].as_object().unwrap().keys();
    let left_out: Vec<&String> = known.filter(|key| !set.contains_key(*key)).collect();
    assert_eq!(left_out, ["reviewer_provider", "reviewer_model", "network"]);
}

#[test]
fn the_form_of_patches_is_the_files_or_what_suits_the_provider() {
    for (builder, expected) in [
        (r#""provider": "openai""#, PatchForm::Diff),
        (r#""provider": "anthropic""#, PatchForm::SearchReplace),
        (r#""provider": "ollama""#, PatchForm::WholeFile),
        (r#""provider": "nobody's""#, PatchForm::WholeFile),
        (r#""patch_form": "search_replace", "provider": "openai""#, PatchForm::SearchReplace),
        (r#""patch_form": "diff", "provider": "ollama""#, PatchForm::Diff),
        ("", PatchForm::Diff),
    ] {
        let text = format!(r#"{{"test_command": "t", "builder": {{{builder}}}}}"#);
        let loaded = parse(&text, AgentKind::Scripted).unwrap();
        assert_eq!(loaded.warnings, [""; 0]);
        assert_eq!(loaded.config.policy(None, false).patch_form, expected, "{text}");
    }
}

#[test]
fn a_prompt_file_without_the_mark_says_itself_what_it_wants() {
    let root = tempfile::tempdir().unwrap();
    for (prompt, expected) in [
        ("Make it.\n{{patch_form}}\n", [""; 0].to_vec()),
        (
            "Make it.\n",
            vec![
                "f:1:2: `builder.patch_form` has no effect, because the file of `prompts.builder` has no \
                 `{{patch_form}}` in it. Write that where the form is to be explained.",
            ],
        ),
    ] {
        fs::write(root.path().join("maker.md"), prompt).unwrap();
        let keys = r#"{"builder": {"patch_form": "diff"}, "prompts": {"builder": "maker.md"}, "#;
        let loaded =
            Config::parse(&format!("{keys}{REST}"), Path::new("f"), root.path(), AgentKind::Live).unwrap();
        assert_eq!(loaded.warnings, expected);
    }
}

#[test]
fn prompt_files_stay_in_the_repository_and_are_short_texts() {
    let root = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "x").unwrap();
    std::os::unix::fs::symlink(outside.path().join("secret"), root.path().join("link")).unwrap();
    fs::create_dir(root.path().join("dir")).unwrap();
    fs::write(root.path().join("large"), "x".repeat(100_001)).unwrap();
    fs::write(root.path().join("largest"), "x".repeat(100_000)).unwrap();
    fs::write(root.path().join("binary"), [0xff, 0xfe]).unwrap();
    fs::write(root.path().join("blank"), " \n").unwrap();
    for (path, expected) in [
        ("largest", ""),
        ("missing", "the file `missing` cannot be read"),
        ("link", "`link` leads out of the repository. Put a copy of the file into it."),
        ("../x", "The path `../x` has a `.` or `..` in it."),
        ("/etc/passwd", "The path `/etc/passwd` is absolute."),
        ("dir", "`dir` is not a regular file."),
        ("large", "the file `large` is larger than 100 kB."),
        ("binary", "the file `binary` is not UTF-8 text."),
        ("blank", "the file `blank` is empty."),
    ] {
        let text = format!("{{\"prompts\": {{\"strict\": {}}}, {REST}", json!(path));
        let result = Config::parse(&text, Path::new("f"), root.path(), AgentKind::Live);
        let said = result.map_or_else(|error| error.to_string(), |_| String::new());
        let prefix = if expected.is_empty() { "" } else { "f:1:2: `prompts.strict`: " };
        assert!(
            said.starts_with(&format!("{prefix}{expected}")) && said.is_empty() == expected.is_empty(),
            "{said}"
        );
    }
}

#[test]
fn scripted_agents_need_no_names_but_keep_those_that_are_there() {
    let loaded =
        parse(r#"{"test_command": "t", "builder_provider": "replay"}"#, AgentKind::Scripted).unwrap();
    let roles = loaded.config.roles();
    assert_eq!(roles[&Role::Builder].provider, "replay");
    assert_eq!(roles[&Role::Reviewer].model, "replay");
}

#[test]
fn files_that_cannot_be_read() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join(FILE_NAME);
    let said = || Config::load(&path, root.path()).unwrap_err().to_string();
    assert_eq!(
        said(),
        format!("Config file not found. Looked for {}. Run `checkmate init` to write one.", path.display())
    );
    fs::write(&path, [b'{', 0xff]).unwrap();
    assert!(said().contains("cannot be read (stream did not contain valid UTF-8)"), "{}", said());
    fs::write(&path, " ".repeat(1_000_001)).unwrap();
    assert!(said().contains("is larger than 1 MB"), "{}", said());
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(said().contains("cannot be read (is a directory)"), "{}", said());
}

#[test]
fn addresses_from_the_environment() {
    let env = |name: &str| match name {
        "OPENAI_BASE_URL" => Some(" http://o/v1 ".to_owned()),
        "ANTHROPIC_BASE_URL" => Some(String::new()),
        _ => None,
    };
    assert_eq!(base_url_from_env("openai", &env).as_deref(), Some("http://o/v1"));
    assert_eq!(base_url_from_env("anthropic", &env), None);
    assert_eq!(base_url_from_env("ollama", &env), None);
    let mut config = load(
        r#"{"test_command": "t", "builder": {"provider": "openai", "model": "m", "base_url": "http://mine"},
            "reviewer_provider": "openai", "reviewer_model": "m"}"#,
    )
    .config;
    config.use_environment(&env);
    assert_eq!(config.builder.base_url.as_deref(), Some("http://mine"));
    assert_eq!(config.reviewer.base_url.as_deref(), Some("http://o/v1"));
}

/// Set this variable to have the published schema written anew.
const REWRITE: &str = "CHECKMATE_WRITE_SCHEMA";

#[test]
fn the_published_schema_is_the_one_that_is_checked() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/dualagent.schema.json");
    if std::env::var_os(REWRITE).is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, schema()).unwrap();
    }
    let published = fs::read_to_string(&path).unwrap_or_default();
    assert!(published == schema(), "{} is stale; run this test with {REWRITE}=1", path.display());
}

#[test]
fn the_usual_files_are_valid_for_another_validator() {
    for text in [BASIC, ADVANCED] {
        assert!(agreement::is_valid(text));
        assert_eq!(load(text).warnings, [""; 0]);
    }
    assert!(agreement::is_valid(EVERY_KEY));
}

#[test]
fn every_default_is_a_known_key_with_a_valid_value() {
    let text = include_str!("../../config/defaults.jsonc");
    let document = syntax::parse(text).ok().unwrap();
    assert!(matches!(ast::Value::Object(document.root.clone()), ast::Value::Object(_)));
    let findings = shape::check(&document, &schema::SCHEMA);
    assert_eq!((findings.errors, findings.warnings), (vec![], vec![]));
    // Only a key that is in no file at all may be missing from the defaults.
    let rest = json!({ "test_command": "t" });
    assert!(parse(&rest.to_string(), AgentKind::Scripted).is_ok());
}
