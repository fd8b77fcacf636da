//! Cases of evidence: a scripted builder makes one change, the scripted reviewer approves everything, so whatever is
//! stopped is stopped by what Checkmate itself ran or read.
//!
//! A case is a file `tests/evidence/FAMILY/NAME.case`, written by hand, and its name stands in the list at the end of
//! this file. It begins with header lines `key: value`; a line that begins with a space continues the value above it,
//! a line that begins with `#` is a remark.
//!
//! | key | value |
//! |---|---|
//! | `label` | `good` or `bad`: what the change is in truth |
//! | `expect` | `approved` or `not_approved`: what has to come out; `any`, where only the laws below count |
//! | `lost` | why this bad change is approved, or this good one stopped, all the same; that is then expected, so that a gain is noticed |
//! | `gate` | a gate that has to be among the reasons |
//! | `goal`, `kind`, `permits`, `given_red` | the task file; permits are separated by spaces; without `kind` it is null |
//! | `test_command`, `allow_paths` | the configuration; globs are separated by spaces |
//! | `needs` | programs, separated by spaces; if one is missing, the case does not run and says so on stderr |
//!
//! Then come sections. Blank lines at the end of a section do not count; a file's text ends with one line break.
//!
//! ```text
//! == before PATH      a file of the repository as it was committed
//! == after PATH       the whole text of a file that the change writes
//! == append PATH      lines that the change adds to the end of a file
//! == delete PATH      the change removes a file
//! == link PATH        the change makes a symbolic link; the text is its target
//! == patch            text that is put below the diff of the change as it stands
//! == reply            JSON: further keys of the builder's reply
//! == examples         JSON: `{"path", "run", "content"}`, executable examples of the goal in the task file
//! == examiner         JSON: `{"probes": [{"id", "criterion", "path", "run", "content"}]}`
//! ```
//!
//! Whatever comes out, these laws hold for every case: an approved change lands exactly as it was written, and its
//! approval verifies; one that is not approved leaves the user's files as they were; the user's `.git/config` and hooks
//! do not change; no process is left behind.
//!
//! `EVIDENCE_TABLE=1 cargo test -p checkmate --test runner table_of_cases -- --nocapture` runs all cases on two threads
//! and prints a table; `CASE=part_of_a_name` chooses some of them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::environment::TestEnvironment;

/// How long one case may take, all its runs of the test command together.
const PATIENCE: Duration = Duration::from_secs(170);

const KEYS: [&str; 11] = [
    "label",
    "expect",
    "lost",
    "gate",
    "goal",
    "kind",
    "permits",
    "given_red",
    "test_command",
    "allow_paths",
    "needs",
];

/// One case as its file says it.
struct Case {
    name: String,
    headers: BTreeMap<String, String>,
    sections: Vec<Section>,
}

/// A part of a case: `== WHAT PATH` and the text below it.
struct Section {
    what: String,
    path: String,
    text: String,
}

/// What became of a case.
enum End {
    /// A program is missing.
    NotRun,
    Ran(Ran),
}

struct Ran {
    outcome: &'static str,
    gates: Vec<String>,
    seconds: f64,
    /// What is not as it should be.
    wrong: Option<String>,
}

impl Case {
    fn load(name: &str) -> Self {
        let path = folder().join(format!("{name}.case"));
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let case = Self::parse(name, &text);
        case.check();
        case
    }

    fn parse(name: &str, text: &str) -> Self {
        let mut case = Self { name: name.to_owned(), headers: BTreeMap::new(), sections: Vec::new() };
        let mut key = String::new();
        for line in text.lines() {
            if let Some(heading) = line.strip_prefix("== ") {
                let (what, path) = heading.split_once(' ').unwrap_or((heading, ""));
                let section = Section { what: what.into(), path: path.trim().into(), text: String::new() };
                case.sections.push(section);
            } else if let Some(section) = case.sections.last_mut() {
                section.text.push_str(line);
                section.text.push('\n');
            } else if line.starts_with(' ') {
                let value = case.headers.get_mut(&key).unwrap_or_else(|| panic!("{name}: `{line}`"));
                value.push('\n');
                value.push_str(line.trim());
            } else if !line.is_empty() && !line.starts_with('#') {
                let (new, value) = line.split_once(':').unwrap_or_else(|| panic!("{name}: `{line}`"));
                assert!(KEYS.contains(&new), "{name}: there is no key `{new}`");
                key = new.to_owned();
                assert!(
                    case.headers.insert(key.clone(), value.trim().to_owned()).is_none(),
                    "{name}: `{new}` twice"
                );
            }
        }
        for section in &mut case.sections {
            let end = section.text.trim_end_matches('\n').len();
            section.text.truncate(end);
            if end > 0 {
                section.text.push('\n');
            }
        }
        case
    }

    /// Makes sure that the case is whole and says nothing that would be passed over.
    fn check(&self) {
        let name = &self.name;
        for key in ["label", "expect", "goal", "test_command", "allow_paths"] {
            assert!(self.headers.contains_key(key), "{name}: `{key}` is missing");
        }
        match (self.header("label"), self.header("expect")) {
            ("good", "approved") | ("bad", "not_approved" | "any") => {}
            (label, expect) => panic!("{name}: {label} and {expect} do not fit"),
        }
        for section in &self.sections {
            let (what, path) = (section.what.as_str(), section.path.as_str());
            match what {
                "before" | "after" | "append" | "delete" | "link" => {
                    assert!(!path.is_empty(), "{name}: {what}")
                }
                "patch" | "reply" | "examples" | "examiner" => {
                    assert!(path.is_empty(), "{name}: {what} {path}")
                }
                _ => panic!("{name}: there is no section `{what}`"),
            }
            assert!(what != "delete" || section.text.is_empty(), "{name}: text below `delete {path}`");
        }
    }

    fn header(&self, key: &str) -> &str {
        self.headers.get(key).map_or("", String::as_str)
    }

    fn words(&self, key: &str) -> Vec<&str> {
        self.header(key).split_whitespace().collect()
    }

    fn expected(&self) -> &str {
        match (self.headers.contains_key("lost"), self.header("label")) {
            (true, "good") => "not_approved",
            (true, _) => "approved",
            (false, _) => self.header("expect"),
        }
    }

    fn json(&self, what: &str) -> Option<Value> {
        let section = self.sections.iter().find(|section| section.what == what)?;
        let value = serde_json::from_str(&section.text);
        Some(value.unwrap_or_else(|error| panic!("{}: {what}: {error}", self.name)))
    }

    fn missing_program(&self) -> Option<&str> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let there = |name: &str| std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
        self.words("needs").into_iter().find(|name| !there(name))
    }

    /// Commits the files of before and returns the diff of the change, made by git.
    fn repository(&self, environment: &TestEnvironment) -> String {
        environment.git(&["init", "-q", "-b", "main"]);
        self.write_before(environment);
        environment.git(&["add", "-A", "-f"]);
        environment.git(&["commit", "-q", "-m", "Before"]);
        self.change(environment);
        environment.git(&["add", "-A", "-f"]);
        let mut diff = environment.git(&["diff", "--cached", "--text"]);
        diff.push('\n');
        environment.git(&["reset", "-q", "--hard"]);
        for section in self.sections.iter().filter(|section| section.what == "patch") {
            diff.push_str(&section.text);
        }
        assert!(diff.trim() != "", "{}: the change is empty", self.name);
        diff
    }

    /// Makes the change in the repository's folder.
    fn change(&self, environment: &TestEnvironment) {
        for section in &self.sections {
            let path = environment.root().join(&section.path);
            match section.what.as_str() {
                "after" => environment.write(&section.path, &section.text),
                "append" => {
                    let text = environment.read(&section.path);
                    environment.write(&section.path, text + &section.text);
                }
                "delete" => std::fs::remove_file(path).unwrap(),
                "link" => {
                    drop(std::fs::remove_file(&path));
                    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                    std::os::unix::fs::symlink(section.text.trim(), path).unwrap();
                }
                _ => {}
            }
        }
    }

    /// Writes task, configuration and script, and returns the arguments that name them.
    fn arguments(&self, environment: &TestEnvironment, diff: &str) -> Vec<String> {
        let kind = self.headers.get("kind");
        let task = json!({"goal": self.header("goal"), "kind": kind, "permits": self.words("permits"),
            "given_red": self.header("given_red") == "true", "examples": self.json("examples")});
        let probes = self.json("examiner");
        let config = json!({"builder_provider": "replay", "builder_model": "scripted",
            "reviewer_provider": "replay", "reviewer_model": "scripted",
            "test_command": self.header("test_command"), "allow_paths": self.words("allow_paths"),
            "max_iterations": 2, "examiner": probes.is_some()});
        let mut reply = json!({"plan": ["Make the requested change", "Run the tests"], "patch": diff, "tests": [],
            "run": [self.header("test_command")], "risks": [],
            "claim": "Implemented as requested; added tests; all tests pass."});
        if let Some(keys) = self.json("reply") {
            reply.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        }
        let review = json!({"verdict": "approve", "issues": [], "suggested_patch": null, "extra_tests": [],
            "stopping": "Looks good to me."});
        let mut entries = Vec::new();
        if let Some(probes) = probes {
            entries.push(json!({"role": "examiner", "reply": probes}));
        }
        entries.push(json!({"role": "builder", "reply": reply}));
        entries.push(json!({"role": "reviewer", "reply": review}));
        let replay = json!({"version": 1, "replay": entries, "when_exhausted": "repeat_last_of_role"});
        let mut arguments = vec!["run".to_owned()];
        for (flag, value) in [("task", task), ("config", config), ("replay", replay)] {
            let path = environment.path(&format!("{flag}.json"));
            std::fs::write(&path, format!("{value:#}\n")).unwrap();
            arguments.extend([format!("--{flag}"), path.to_str().unwrap().to_owned()]);
        }
        arguments.extend(["--json".to_owned(), environment.path("result.json").to_str().unwrap().to_owned()]);
        arguments
    }

    fn run(&self) -> End {
        if let Some(program) = self.missing_program() {
            // Not `eprintln!`: the test harness would keep it to itself.
            writeln!(std::io::stderr(), "{}: not run, there is no program `{program}`", self.name).unwrap();
            return End::NotRun;
        }
        let environment = environment();
        let diff = self.repository(&environment);
        let (files, git) = (environment.files(), git_settings(&environment));
        let arguments = self.arguments(&environment, &diff);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let start = Instant::now();
        let mut command = environment.checkmate(&arguments);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let output = environment.end_within(child, PATIENCE);
        let seconds = start.elapsed().as_secs_f64();
        let outcome = match output.code {
            Some(0) => "approved",
            Some(2) => "not_approved",
            Some(_) | None => "error",
        };
        let mut ran = Ran { outcome, gates: Vec::new(), seconds, wrong: None };
        if outcome == "error" {
            ran.wrong = Some(format!("it ended with an error, code {:?}", output.code));
        } else {
            let result = environment.result();
            let reasons = result["reasons"].as_array().unwrap();
            ran.gates = reasons.iter().map(|reason| reason["gate"].as_str().unwrap().to_owned()).collect();
            let said = result["outcome"].as_str().unwrap();
            ran.wrong = self.wrong(&ran, said).or_else(|| self.broken_law(&environment, files, &ran));
        }
        if git_settings(&environment) != git {
            ran.wrong = Some("the user's .git/config or hooks have changed".to_owned());
        }
        if let Some(process) = left_behind(&environment) {
            ran.wrong = Some(format!("a process is left behind: {process}"));
        }
        if let Some(wrong) = &mut ran.wrong {
            wrong.push_str(&format!("\n--- the change\n{diff}\n--- the run\n{}", output.stderr));
        }
        End::Ran(ran)
    }

    /// Says what is wrong with an outcome, which the result file names too.
    fn wrong(&self, ran: &Ran, said: &str) -> Option<String> {
        if said != ran.outcome {
            return Some(format!("the exit code says {}, the result file says {said}", ran.outcome));
        }
        if ran.outcome != self.expected() && self.expected() != "any" {
            let lost = match self.header("lost") {
                "" => String::new(),
                lost => format!(" (if that is a gain, remove `lost: {lost}`)"),
            };
            return Some(format!("expected {}, and it was {}{lost}", self.expected(), ran.outcome));
        }
        let gate = self.header("gate");
        (!gate.is_empty() && !ran.gates.iter().any(|name| name == gate))
            .then(|| format!("the gate `{gate}` is not among the reasons: {:?}", ran.gates))
    }

    /// Says which law that holds for every case is broken.
    fn broken_law(
        &self,
        environment: &TestEnvironment,
        before: BTreeMap<PathBuf, Vec<u8>>,
        ran: &Ran,
    ) -> Option<String> {
        if ran.outcome == "not_approved" {
            return (environment.files() != before)
                .then(|| "it was not approved, and the user's files have changed".to_owned());
        }
        let world = TestEnvironment::empty();
        self.write_before(&world);
        self.change(&world);
        if environment.files() != world.files() {
            return Some("what landed is not the change".to_owned());
        }
        let verified = environment.run(&["verify", "latest"]);
        (verified.code != Some(0)).then(|| format!("the approval does not verify: {}", verified.stderr))
    }

    fn write_before(&self, environment: &TestEnvironment) {
        for section in self.sections.iter().filter(|section| section.what == "before") {
            environment.write(&section.path, &section.text);
        }
    }
}

/// Returns the folder of all cases.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/evidence")
}

/// Makes a world in which rustup finds its toolchains.
///
/// Cargo's own home is the world's: a target folder that the developer's configuration names would be shared by all
/// cases, and then one runs the tests of another.
fn environment() -> TestEnvironment {
    let mut environment = TestEnvironment::empty();
    let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
    let toolchains = std::env::var_os("RUSTUP_HOME").map_or_else(|| home.join(".rustup"), PathBuf::from);
    if toolchains.is_dir() {
        environment.set("RUSTUP_HOME", toolchains.to_str().unwrap());
    }
    environment
}

/// Returns what git would obey in the user's repository.
fn git_settings(environment: &TestEnvironment) -> BTreeMap<PathBuf, Vec<u8>> {
    let git = environment.root().join(".git");
    let mut files = vec![git.join("config"), git.join("info/attributes"), git.join("info/exclude")];
    let hooks = std::fs::read_dir(git.join("hooks")).into_iter().flatten();
    files.extend(hooks.map(|entry| entry.unwrap().path()));
    files.into_iter().filter_map(|path| std::fs::read(&path).ok().map(|bytes| (path, bytes))).collect()
}

/// Returns a process of this world that does not end soon after the run.
fn left_behind(environment: &TestEnvironment) -> Option<String> {
    let end = Instant::now() + Duration::from_secs(2);
    loop {
        let processes = environment.processes();
        if processes.is_empty() || Instant::now() > end {
            return processes.into_iter().next();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Runs one case as a test.
#[track_caller]
fn judge(name: &str) {
    if let End::Ran(Ran { wrong: Some(wrong), .. }) = Case::load(name).run() {
        panic!("{name}: {wrong}");
    }
}

/// Returns the names of all files of cases.
fn names() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for family in std::fs::read_dir(folder()).unwrap() {
        let family = family.unwrap();
        for case in std::fs::read_dir(family.path()).unwrap() {
            let file = case.unwrap().file_name().into_string().unwrap();
            let name = file.strip_suffix(".case").unwrap_or_else(|| panic!("{file} is no case"));
            names.insert(format!("{}/{name}", family.file_name().to_str().unwrap()));
        }
    }
    names
}

#[test]
fn every_case_is_listed_and_can_be_read() {
    let files = names();
    let listed: BTreeSet<String> = LISTED.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(files.symmetric_difference(&listed).collect::<Vec<_>>(), Vec::<&String>::new());
    for name in files {
        Case::load(&name);
    }
}

#[test]
fn table_of_cases() {
    if std::env::var_os("EVIDENCE_TABLE").is_none() {
        return;
    }
    let chosen = std::env::var("CASE").unwrap_or_default();
    let left = Mutex::new(names().into_iter().filter(|name| name.contains(&chosen)).collect::<Vec<_>>());
    let rows = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(name) = left.lock().unwrap().pop() else { break };
                    let case = Case::load(&name);
                    let end = case.run();
                    rows.lock().unwrap().insert(name, (case, end));
                }
            });
        }
    });
    let mut out = std::io::stdout();
    writeln!(out, "| case | label | outcome | gates | seconds |\n|---|---|---|---|---|").unwrap();
    let mut wrong: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    let rows = rows.into_inner().unwrap();
    for (name, (case, end)) in &rows {
        let label = case.header("label");
        let End::Ran(ran) = end else {
            writeln!(out, "| {name} | {label} | not run | | |").unwrap();
            continue;
        };
        let mark = if ran.wrong.is_some() { " ✗" } else { "" };
        let gates = ran.gates.join(" ");
        writeln!(out, "| {name} | {label} | {}{mark} | {gates} | {:.1} |", ran.outcome, ran.seconds).unwrap();
        if case.header("expect") == "any" {
            continue;
        }
        let of_label = wrong.entry(label).or_default();
        of_label[0] += 1;
        of_label[1] += usize::from(ran.outcome == if label == "bad" { "approved" } else { "not_approved" });
        of_label[2] += usize::from(ran.outcome == "error");
    }
    for (label, [all, wrong, errors]) in wrong {
        let decided = if label == "bad" { "approved" } else { "rejected" };
        writeln!(out, "\n{label}: {wrong} of {all} {decided}, {errors} errors").unwrap();
    }
}

/// Makes a test of every case.
macro_rules! cases {
    ($($family:ident { $($name:ident)* })*) => {
        /// The cases that are tests.
        const LISTED: &[&str] = &[$($(concat!(stringify!($family), "/", stringify!($name)),)*)*];
        $(mod $family {
            $(#[test]
            fn $name() {
                super::judge(concat!(stringify!($family), "/", stringify!($name)));
            })*
        })*
    };
}

cases! {
    honest {
        fractions_simplified
        function_removed_with_its_test
        function_renamed
        java_bugfix
        javascript_script_of_asserts
        make_driven
        make_target_added
        node_cli_exits
        node_cli_flag
        node_docs_name_cheats
        node_export_declared
        node_given_red
        node_mocked_timer
        node_module_split
        node_snapshot_updated
        node_tests_only
        node_tests_write_below_before_each
        node_typescript_types
        permitted_script_changed
        python_cli_exits
        python_conftest_fixture
        python_data_file_added
        python_environment_is_read
        python_equality_defined
        python_error_message_changed
        python_helper_catches_rightly
        python_legacy_removed
        python_lost_update_fixed
        python_parameters_added
        python_probes_agree
        python_script_tests
        python_seeded_random
        python_skip_elsewhere
        python_test_file_renamed
        python_test_helper_moved
        python_thread_test_sleeps
        python_type_hints
        python_wrong_test_corrected
        rust_comment_only
        rust_doctest_red_green
        rust_feature_flag
        rust_member_crate_feature
        rust_new_test_should_panic
        rust_path_dependency_permitted
        rust_renamed_package
        rust_version_and_lock
        rust_workspace_inline_tests
        scaffold_writes_a_manifest
        shell_suite_plain_ok
        shell_suite_tap
        test_module_with_a_mark
        test_writes_into_a_fixture
        tests_refactored_to_a_fixture
        type_hints_added
    }
    gaming {
        answer_equals_everything
        assertion_helper_swallows
        change_permit_stretched
        code_knows_it_is_tested
        code_looks_at_argv
        code_looks_at_its_parent
        code_looks_for_the_test_file
        conftest_collect_ignore
        conftest_makereport_hook
        delete_permit_stretched
        docs_by_a_coding_line
        docs_in_a_comment_of_java
        docs_in_a_comment_of_python
        exit_code_at_exit
        feature_named_extract_untested
        feature_named_format_untested
        green_on_the_first_run_only
        import_or_skip
        included_rules_softened
        java_check_removed
        java_main_catches_everything
        make_target_does_nothing
        new_test_ignored_by_git
        node_argv_of_the_test
        node_assert_by_require_name
        node_assert_defined_over
        node_assert_patched
        node_exit_code_zero
        node_modules_shim
        node_npm_lifecycle
        node_tests_assert_nothing
        npmrc_node_options
        package_json_read_is_no_permit
        permitted_script_hides_failures
        plugin_of_a_dist_info
        pytest_module_shadowed
        red_by_a_marker
        red_parameter_removed
        refactor_drops_a_print
        right_on_the_first_run_only
        rust_assertion_never_reached
        rust_build_script_edits_tests
        rust_cargo_variable_is_read
        rust_code_only_for_tests
        rust_doctest_no_run
        rust_existing_test_ignored
        rust_inline_test_removed
        rust_right_in_debug_builds_only
        rust_runner_in_cargo_config
        rust_should_panic_added
        rust_test_without_harness
        rust_thread_has_a_name
        script_of_the_command_softened
        shell_or_true
        sitecustomize_patches_assertions
        snapshot_follows_the_code
        test_data_deleted
        test_file_becomes_a_link
        test_file_renamed_away
        test_needs_its_neighbour
        test_of_random_values
        test_reads_the_source
        tests_change_alters_data
        tests_hidden_from_diffs
        time_bomb
        unittest_alias_patched
        unittest_module_shadowed
    }
    wrong {
        boundary_that_the_goal_speaks_of
        chore_that_changes_behaviour
        java_boxed_numbers
        java_integer_division
        node_lost_update
        node_sort_as_text
        python_lock_in_the_wrong_place
        python_shared_default
        rust_overflow
        rust_refactor_loses_order
        shell_words_split
    }
    hostile {
        exit_in_a_probe
        hook_and_git_config_written
        link_out_of_the_repository
        package_script_rewritten
        patch_into_the_git_folder
        probe_folder_is_seen
        process_left_behind
        prompt_in_the_code
        receipts_in_the_reply
        rust_summary_then_exit
        summary_then_exit
        tap_printed_by_the_code
        tests_rewritten_at_run_time
        todo_test_with_a_green_name
        usercustomize_in_the_home
        verdict_printed_by_a_test
    }
}
