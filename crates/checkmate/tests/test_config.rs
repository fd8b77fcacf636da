//! The configuration as a run meets it.

use serde_json::{Value, json};

use crate::environment::{TestEnvironment, assert_has, assert_has_not};
use crate::script::{Script, adds, approves, builds, shout};

/// Reviews `src/**/*.ts` only, as both examples below do.
const TYPESCRIPT: &str = "export const shout = (text: string): string => `${text}!`;";

#[test]
fn the_usual_configurations_load_without_a_warning() {
    let basic = json!({
        "builder_provider": "openai", "builder_model": "gpt-4-turbo-preview",
        "reviewer_provider": "anthropic", "reviewer_model": "claude-3-opus-20240229",
        "allow_paths": ["src/**/*.ts", "src/**/*.js", "test/**/*.ts", "test/**/*.test.js"], "max_iterations": 3
    });
    let advanced = json!({
        "builder_provider": "openai", "builder_model": "gpt-4-turbo-preview",
        "reviewer_provider": "anthropic", "reviewer_model": "claude-3-opus-20240229",
        "allow_paths": ["src/**/*.ts", "test/**/*.ts"], "max_iterations": 3,
        "review_mode": "selective", "review_on_test_pass": false, "review_strictness": "balanced",
        "enable_moderator": true, "moderator_provider": "anthropic", "moderator_model": "claude-3-5-sonnet-20241022",
        "context_summary_threshold": 2000
    });
    for config in [basic, advanced] {
        let environment = TestEnvironment::new();
        environment.config(config);
        let script = Script::new().builder(builds(&adds("src/shout.ts", &[TYPESCRIPT]))).reviewer(approves());
        let output = environment.cycle(&script);
        assert_has_not(output.ended(0), &["warning"]);
    }
}

#[test]
fn a_missing_file_says_where_it_was_looked_for_and_what_to_do() {
    let environment = TestEnvironment::new();
    std::fs::remove_file(environment.root().join(".dualagent.json")).unwrap();
    let output = environment.cycle(&Script::approved());
    insta::assert_snapshot!(output.ended(1), @"checkmate: Config file not found. Looked for $TMP/repo/.dualagent.json. Run `checkmate init` to write one.");
    assert!(environment.runs().is_empty());
    assert_eq!(environment.result()["outcome"], "error");
}

#[test]
fn another_file_can_be_named() {
    let environment = TestEnvironment::new();
    let other = environment.path("other.json");
    std::fs::write(&other, r#"{"test_command": "sh test/run.sh", "max_iterations": 1}"#).unwrap();
    environment.cycle_with(&Script::approved(), &["--config", other.to_str().unwrap()]).ended(0);
    assert_has(
        environment.cycle_with(&Script::approved(), &["--config", "no.json"]).ended(1),
        &["Config file not found", "no.json"],
    );
}

#[test]
fn keys_are_missed_only_for_roles_that_need_them() {
    let mut environment = TestEnvironment::new();
    let roles = |builder: &str| json!({"builder_provider": builder, "builder_model": "m", "reviewer_provider": "anthropic", "reviewer_model": "m"});
    environment.config(roles("openai"));
    let output = environment.run(&["run", "Add shout"]);
    insta::assert_snapshot!(output.ended(1), @r#"
    checkmate: Missing OPENAI_API_KEY. The builder uses the provider `openai`, which needs a key. Set it and start again:
      export OPENAI_API_KEY="sk-…"
    "#);
    environment.set("OPENAI_API_KEY", "not-a-real-key-at-all");
    assert_has(environment.run(&["run", "Add shout"]).ended(1), &["Missing ANTHROPIC_API_KEY"]);
    environment.config(roles("anthropic"));
    let output = environment.run(&["run", "Add shout"]);
    assert_has(output.ended(1), &["Missing ANTHROPIC_API_KEY"]);
    assert_has_not(&output.stderr, &["OPENAI"]);
    assert!(environment.runs().is_empty());
}

#[test]
fn mistakes_are_named_with_what_would_be_right() {
    for (keys, code, parts) in [
        (json!({"review_mod": "always"}), 0, &["warning: ", "`review_mod`", "review_mode"][..]),
        (json!({"review_mode": "some"}), 1, &["`review_mode` must be", "\"always\"", "\"final_only\""]),
        (
            json!({"builder": {"patch_form": "udiff"}}),
            1,
            &["`builder.patch_form` must be", "\"diff\", \"search_replace\" or \"whole_file\""],
        ),
        (json!({"max_iterations": "3"}), 1, &["`max_iterations` must be a whole number"]),
        (json!({"enable_moderator": true}), 1, &["`moderator_provider`", "`moderator_model`"]),
        (json!({"test_command": null}), 1, &["`test_command` is missing"]),
        (json!({"allow_paths": ["../x/**"]}), 1, &["leads out of the repository"]),
        (json!({"review_on_test_pass": false}), 0, &["`review_on_test_pass` has no effect unless"]),
    ] {
        let environment = TestEnvironment::new();
        environment.config(keys);
        let output = environment.cycle(&Script::approved());
        assert_has(output.ended(code), parts);
    }
}

#[test]
fn an_unknown_provider_is_an_error_with_the_known_ones() {
    let environment = TestEnvironment::new();
    environment
        .config(json!({"builder_provider": "openia", "builder_model": "m", "reviewer_provider": "anthropic",
                              "reviewer_model": "m"}));
    assert_has(environment.run(&["run", "Add shout"]).ended(1), &["openia", "openai", "anthropic"]);
}

#[test]
fn a_prompt_file_of_the_workspace_replaces_the_shipped_one() {
    let environment = TestEnvironment::new();
    environment.write("prompts/builder.md", "You write shell in the style of this house.\n");
    environment.config(json!({"prompts": {"builder": "prompts/builder.md"}}));
    environment.cycle(&Script::new().builder(builds(&shout("$1!"))).reviewer(approves())).ended(0);
    let asked = environment.asked();
    assert_eq!(asked[0].system.trim(), "You write shell in the style of this house.");
    assert!(asked[0].version.starts_with("builder@file:"), "{}", asked[0].version);
    assert_has_not(&asked[0].user, &["Its `patch` is"]);
    assert!(asked[1].version.starts_with("reviewer@3+balanced@3"), "{}", asked[1].version);
}

#[test]
fn the_builder_is_asked_for_the_form_that_the_configuration_names() {
    let environment = TestEnvironment::new();
    environment.config(json!({"builder": {"patch_form": "search_replace"}}));
    environment.cycle(&Script::approved()).ended(0);
    assert_eq!(environment.journal()[0]["tasks"][0]["spec"]["policy"]["patch_form"], "search_replace");
    let asked = environment.asked();
    assert_eq!(asked[0].version, "builder@3+search_replace@3");
    assert_has(&asked[0].system, &["\n<<<<<<< SEARCH\n", "\n=======\n", "\n>>>>>>> REPLACE\n"]);
    assert_has_not(&asked[0].system, &["@@ ... @@", "<file path=", "{{"]);
    assert_has(&asked[0].user, &["Its `patch` is a set of SEARCH/REPLACE blocks."]);
    assert_has_not(&asked[1].system, &["SEARCH"]);
}

#[test]
fn without_the_key_the_form_is_the_one_that_suits_the_provider() {
    for (provider, version) in [
        ("openai", "builder@3+diff@3"),
        ("anthropic", "builder@3+search_replace@3"),
        ("ollama", "builder@3+whole_file@3"),
    ] {
        let environment = TestEnvironment::new();
        environment.config(json!({"builder_provider": provider, "builder_model": "m"}));
        environment.cycle(&Script::approved()).ended(0);
        assert_eq!(environment.asked()[0].version, version);
    }
}

#[test]
fn a_prompt_file_of_the_workspace_says_where_the_form_is_explained() {
    let environment = TestEnvironment::new();
    environment.write("prompts/builder.md", "You write shell.\n\n{{patch_form}}\n\nNo more.\n");
    environment.write("prompts/blocks.md", "Write blocks as we do in this house.\n");
    let prompts = json!({"builder": "prompts/builder.md", "search_replace": "prompts/blocks.md"});
    environment.config(json!({"prompts": prompts, "builder": {"patch_form": "search_replace"}}));
    let output = environment.cycle(&Script::approved());
    assert_has_not(output.ended(0), &["warning"]);
    let asked = environment.asked();
    assert_eq!(asked[0].system, "You write shell.\n\nWrite blocks as we do in this house.\n\nNo more.\n");
    assert!(asked[0].version.contains("+search_replace@file:"), "{}", asked[0].version);
}

/// Returns what `config check` prints for these keys, with models that need no key.
fn checked(keys: &Value, arguments: &[&str]) -> String {
    let model = json!({"provider": "local", "model": "m", "base_url": "http://localhost:1/v1"});
    let environment = TestEnvironment::new();
    let mut all = json!({"builder": model, "reviewer": model});
    all.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    environment.config(all);
    let output = environment.run(&[&["config", "check"], arguments].concat());
    output.ended(0);
    output.stdout
}

/// Returns the line of a setting: the first that begins with its name.
fn line(text: &str, key: &str) -> String {
    let line = text
        .lines()
        .find(|line| line.starts_with(&format!("{key} ")))
        .unwrap_or_else(|| panic!("{key}: {text}"));
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns what follows from a setting.
fn effect(text: &str, key: &str) -> String {
    let (_, effects) = text.split_once("What follows:").unwrap();
    line(effects, key)
}

#[test]
fn config_check_says_which_form_is_asked_for() {
    for (form, expected, from) in [(None, "whole_file", "default"), (Some("diff"), "diff", "file")] {
        let mut keys = json!({});
        if let Some(form) = form {
            keys["builder"] = json!({"provider": "local", "model": "m", "base_url": "http://localhost:1/v1", "patch_form": form});
        }
        let text = checked(&keys, &[]);
        let line = line(&text, "builder.patch_form");
        let expected = format!("builder.patch_form {expected} ");
        assert!(line.starts_with(&expected), "{line}");
        assert_eq!(line.contains("default"), from == "default", "{line}");
        assert_has(&effect(&text, "builder.patch_form"), &["The builder is asked for "]);
    }
}

#[test]
fn config_check_says_where_each_value_comes_from() {
    let mut environment = TestEnvironment::new();
    environment.write(
        ".dualagent.json",
        r#"{
  // Models that need no key.
  "builder_provider": "openai", "builder_model": "m",
  "reviewer": {
    "provider": "anthropic",
    "model": "n", "time_limit_s": 9
  },
  "test_command": "sh test/run.sh",
  "agent_time_limit_s": 77,
  "budget": {"max_minutes": 40}
}"#,
    );
    environment.set("OPENAI_BASE_URL", "http://localhost:1/v1");
    environment.set("ANTHROPIC_API_KEY", "not-a-real-key-at-all");
    let output = environment.run(&["config", "check", "--land", "commit", "--max-calls", "9"]);
    output.ended(0);
    for (key, expected) in [
        ("builder.provider", "openai .dualagent.json:3"),
        ("builder.model", "m .dualagent.json:3"),
        ("builder.base_url", "http://localhost:1/v1 environment (OPENAI_BASE_URL)"),
        ("builder.api_key_env", "OPENAI_API_KEY (not set) default"),
        ("builder.time_limit_s", "77 s .dualagent.json:9"),
        ("reviewer.model", "n .dualagent.json:6"),
        ("reviewer.time_limit_s", "9 s .dualagent.json:6"),
        ("reviewer.base_url", "https://api.anthropic.com/v1/ default"),
        ("reviewer.api_key_env", "ANTHROPIC_API_KEY (set) default"),
        ("reviewer.price", "not set, so no costs are shown default"),
        ("test_command", "sh test/run.sh .dualagent.json:8"),
        ("review_mode", "always default"),
        ("land", "commit command line"),
        ("budget.max_calls", "9 command line"),
        ("budget.max_minutes", "40 .dualagent.json:10"),
        ("budget.max_tokens", "no limit default"),
        ("sandbox", "on default"),
        ("network", "off default"),
    ] {
        assert_eq!(line(&output.stdout, key), format!("{key} {expected}"));
    }
    assert_has_not(&output.stdout, &["not-a-real-key"]);
}

/// Which of the two keys about reviews says what: every mode with every value.
#[test]
fn config_check_explains_every_pair_of_mode_and_flag() {
    for (mode, flag, review, on_test_pass) in [
        (
            "always",
            true,
            "after every turn whose tests are green.",
            "true has no effect, because `review_mode` is \"always\"",
        ),
        (
            "always",
            false,
            "after every turn whose tests are green.",
            "false has no effect, because `review_mode` is \"always\"",
        ),
        (
            "selective",
            true,
            "as with \"always\", because `review_on_test_pass` is true",
            "is reviewed like any other",
        ),
        ("selective", false, "but not after the first one, because", "is approved without a review"),
        (
            "final_only",
            true,
            "only when the run would otherwise end",
            "true has no effect, because `review_mode` is \"final_only\"",
        ),
        (
            "final_only",
            false,
            "only when the run would otherwise end",
            "false has no effect, because `review_mode` is \"final_only\"",
        ),
    ] {
        let text = checked(&json!({"review_mode": mode, "review_on_test_pass": flag}), &[]);
        assert_has(&effect(&text, "review_mode"), &[review]);
        assert_has(&effect(&text, "review_on_test_pass"), &[on_test_pass]);
    }
}

#[test]
fn config_check_explains_what_other_values_lead_to() {
    for (keys, key, expected) in [
        (json!({"review_strictness": "lenient"}), "review_strictness", "Only critical bugs"),
        (json!({"review_strictness": "balanced"}), "review_strictness", "minor findings do not"),
        (json!({"review_strictness": "strict"}), "review_strictness", "minor ones included"),
        (json!({}), "enable_moderator", "the keys of a moderator have no effect"),
        (
            json!({"enable_moderator": true, "moderator": {"provider": "ollama", "model": "big"}}),
            "enable_moderator",
            "The moderator, big of ollama, decides",
        ),
        (json!({"sandbox": false}), "sandbox", "because `sandbox` is off"),
        (json!({"sandbox": false}), "network", "It has no effect, because `sandbox` is off"),
        (json!({"sandbox": true, "network": true}), "network", "Commands may use the network."),
        (json!({"sandbox": true}), "network", "no network but their own loopback"),
        (json!({"land": "ask"}), "land", "it waits for `checkmate land`"),
        (json!({}), "budget", "Nothing limits what a run may use"),
        (json!({"budget": {"max_calls": 5}}), "budget", "Room is set aside before each call"),
        (json!({"mutants_at_once": 2}), "mutants_at_once", "It has no effect, because `evidence`"),
        (json!({"max_iterations": 1}), "max_iterations", "The builder has one turn"),
        (json!({"test_command": "sh test/run.sh && true"}), "test_command", "it is run by `sh -c`"),
    ] {
        let text = checked(&keys, &[]);
        assert_has(&effect(&text, key), &[expected]);
    }
}

#[test]
fn config_check_explains_evidence_and_examiner() {
    let check = |keys: Value| checked(&keys, &[]);
    let usual = check(json!({"evidence": null}));
    assert_eq!(line(&usual, "evidence"), "evidence on; budget: determinism mutation default");
    assert_eq!(line(&usual, "examiner"), "examiner none default");
    assert_has(
        &effect(&usual, "evidence"),
        &["A green change is examined further", "`determinism`, `mutation`"],
    );
    assert_has(&effect(&usual, "examiner"), &["Without an examiner, nobody but the builder"]);
    let off = check(json!({"evidence": false}));
    assert_has(&line(&off, "evidence"), &["evidence off .dualagent.json:"]);
    assert_has(&effect(&off, "evidence"), &["Nothing beyond the tests is examined"]);
    let single = check(json!({"evidence": {"mutation": "off", "determinism": "on"}, "examiner": true}));
    assert_has(&line(&single, "evidence"), &["evidence on; off: mutation .dualagent.json:"]);
    assert_has(&effect(&single, "evidence"), &["because `evidence` switches it off: `mutation`"]);
    assert_has(&line(&single, "examiner"), &["examiner local m at http://localhost:1/v1 .dualagent.json:"]);
    assert_has(
        &effect(&single, "examiner"),
        &["with the reviewer's model; another model sees other mistakes"],
    );
    let few = check(json!({"evidence": {"all": "off", "red_green": "on"}, "examiner": {"time_limit_s": 9}}));
    assert_has(&line(&few, "evidence"), &["on: red_green; off: scope protected"]);
    assert_has(&line(&few, "examiner.time_limit_s"), &["9 s .dualagent.json:"]);
    assert_has(&effect(&few, "examiner"), &["nothing runs them, because `evidence` switches `probes` off"]);
}
