//! Holds the pages for users against the program: messages that they quote, names that they list, links.

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use checkmate_machine::command::CommandLine;
use checkmate_machine::cycle::Cycle;
use checkmate_machine::effect::{Action, Call, CheckKind, Prompt, Purpose};
use checkmate_machine::event::{Answer, Called, Candidate, Change, ChangeKind, Command, Prepared, Usage};
use checkmate_machine::evidence::{Ended, Output, Receipt, Signal, TestReport};
use checkmate_machine::facts::{Entry, FileFacts, FileRole, Inspection, Reading, Section, TestFunction};
use checkmate_machine::finding::Status;
use checkmate_machine::gate::paths::Allowlist;
use checkmate_machine::ids::{CommitId, Role, RunId, TaskId, TreeId};
use checkmate_machine::notice::Notice;
use checkmate_machine::outcome::{Outcome, StoppedBy};
use checkmate_machine::probe::{Probe, Probes};
use checkmate_machine::prompt;
use checkmate_machine::reply::{BlockReason, DecisionKind, ReviewVerdict, Shape};
use checkmate_machine::run::{PlannedTask, Run};
use checkmate_machine::spec::{
    EvidenceRules, LandPolicy, PatchForm, Policy, Product, ReviewMode, Spec, Strictness, Task, TaskKind,
};
use checkmate_machine::task;
use checkmate_machine::verdict::evidence::Evidence;
use checkmate_machine::verdict::{Decision, GateName, State, plan};
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::agents::{AgentError, AgentSettings, Agents, Script};
use crate::config::ConfigError;
use crate::journal::JournalError;
use crate::ui;
use crate::wire;
use crate::workspace::WorkspaceError;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn page(name: &str) -> String {
    fs::read_to_string(root().join("docs").join(name)).unwrap()
}

fn quotes(page_name: &str, message: &str) {
    assert!(page(page_name).contains(message), "docs/{page_name} does not have this message:\n{message}");
}

#[test]
fn troubleshooting_quotes_the_errors_of_the_program() {
    let repository = PathBuf::from("/home/you/project");
    let journal = PathBuf::from("/state/journal.jsonl");
    let run = RunId::new("20261121-233700-zajc");
    let syntax = serde_json::from_str::<serde_json::Value>("x").unwrap_err().to_string();
    let prepare = Action::Prepare.digest();
    let called = Action::Call(call()).digest();
    for message in [
        ConfigError::NotFound { path: repository.join(".dualagent.json") }.to_string(),
        agents("openai", |_| None).unwrap_err(),
        agents("opnai", |_| None).unwrap_err(),
        AgentError::UntrustedHost {
            role: Role::Builder,
            variable: "OPENAI_API_KEY".into(),
            host: "gate.example".into(),
        }
        .to_string(),
        WorkspaceError::NotARepository { directory: repository.clone() }.to_string(),
        WorkspaceError::GitTooOld { found: "2.37.9".into() }.to_string(),
        WorkspaceError::NoCommits { root: repository.clone() }.to_string(),
        WorkspaceError::Unmerged { paths: vec!["src/a.js".into()] }.to_string(),
        WorkspaceError::Staged { paths: vec!["src/a.js".into()] }.to_string(),
        WorkspaceError::Locked { lock: repository.join(".git/HEAD.lock") }.to_string(),
        WorkspaceError::DiskFull {
            command: "hash-object".into(),
            said: "fatal: unable to write loose object file: No space left on device.".into(),
        }
        .to_string(),
        JournalError::Locked { holder: "4711".into() }.to_string(),
        JournalError::Foreign {
            path: journal.clone(),
            found: PathBuf::from("/home/you/other"),
            root: repository.clone(),
        }
        .to_string(),
        JournalError::Differs { run, seq: 4, found: called, expected: prepare }.to_string(),
        JournalError::Version { path: journal.clone(), found: 2 }.to_string(),
        JournalError::Damaged { path: journal, line: 3, reason: syntax }.to_string(),
        refused("lib/x.js"),
        refused(".dualagent.json"),
    ] {
        quotes("troubleshooting.md", &message);
    }
}

#[test]
fn troubleshooting_quotes_the_gates_of_evidence() {
    let files = [
        facts("test/math.test.js", FileRole::Test),
        facts("pytest.ini", FileRole::TestConfig),
        facts("package.json", FileRole::Manifest),
    ];
    let red = Receipt {
        report: Some(TestReport {
            runner: "tap".into(),
            passed: 1,
            failed: 1,
            failing: vec!["lists keys".into()],
            ..TestReport::default()
        }),
        stderr: Output { text: "AssertionError: 0\n".into(), ..Output::default() },
        ..receipt(Ended::Exited { code: 1 })
    };
    let green = receipt(Ended::Exited { code: 0 });
    let mut receipts = vec![(CheckKind::Repeat(1), red.clone()), (CheckKind::RepeatBase(1), green.clone())];
    receipts.extend((2..=4).map(|seed| (CheckKind::Repeat(seed), green.clone())));
    receipts.extend([CheckKind::Probe(0), CheckKind::ProbeAgain(0)].map(|kind| (kind, red.clone())));
    let probe = ["zero", "zero is one", "zero.py", "python3 zero.py", "assert f(0)"].map(str::to_owned);
    let [id, criterion, path, run, content] = probe;
    let spec = spec();
    let policy = Policy { evidence: EvidenceRules::usual(), ..spec.policy };
    let task = Task { kind: Some(TaskKind::Feature), ..spec.task };
    let candidate = Candidate { tree: TreeId::new("tree"), changes: Vec::new(), diff: String::new() };
    let evidence = Evidence {
        policy: &policy,
        task: &task,
        kind: task::kind(&task),
        permits: &task::Permits::of(&task),
        base: &TreeId::new("base"),
        candidate: &candidate,
        read: true,
        inspection: &Inspection { files: files.to_vec(), ..Inspection::default() },
        baseline: Some(&green),
        tests: Some(&green),
        receipts: &receipts,
        probes: &Probes::new(vec![Probe { id, criterion, path, run, content }]),
        answers: &[],
        risks: &[],
        files: &[],
        nonce: "nonce",
    };
    let said: Vec<String> = plan::blocked(&evidence);
    assert_eq!(said.len(), 6, "{said:#?}");
    for message in said {
        quotes("troubleshooting.md", &message);
    }
}

fn facts(path: &str, role: FileRole) -> FileFacts {
    let test = TestFunction {
        name: "zero".into(),
        line: 1,
        body: "b".into(),
        skipped: None,
        shadowed: false,
        assertions: Vec::new(),
        mentions: Vec::new(),
        rows: Vec::new(),
    };
    let entry = Entry {
        section: Section::Dependency,
        name: "dependencies.qs".into(),
        before: String::new(),
        after: "1".into(),
    };
    FileFacts {
        path: path.into(),
        role,
        reading: Reading::Tree,
        effective: true,
        code_differs: true,
        tests_before: if role == FileRole::Test { vec![test] } else { Vec::new() },
        tests_after: Vec::new(),
        spots: Vec::new(),
        entries: if role == FileRole::Manifest { vec![entry] } else { Vec::new() },
    }
}

/// What stands in the page about evidence for each gate and level is what the program knows.
#[test]
fn the_page_about_evidence_names_every_gate_and_permit() {
    let page = page("evidence.md");
    let others = [GateName::Tests, GateName::Baseline, GateName::Review, GateName::Findings];
    for gate in GateName::SWITCHED.into_iter().chain(others) {
        assert!(page.contains(&format!("\n| `{}` | ", gate.name())), "no row for {}", gate.name());
    }
    for permit in [
        task::Permission::ChangeTests,
        task::Permission::DeleteTests,
        task::Permission::Config,
        task::Permission::Deps,
    ] {
        assert!(page.contains(&format!("\n| `{}` | ", permit.name())), "no row for {}", permit.name());
    }
    for example in page.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap()) {
        if example.contains("\"goal\"") {
            let task = serde_json::from_str::<Task>(example).unwrap();
            let permits = task::Permits::of(&task);
            assert!(permits.allow(task::Permission::DeleteTests, ["test_legacy_parse_empty"]), "{example}");
        } else {
            let text = format!(r#"{{"test_command": "true", {}"#, example.trim().trim_start_matches('{'));
            crate::config::Config::parse(
                &text,
                Path::new("x"),
                Path::new("/"),
                crate::config::AgentKind::Scripted,
            )
            .unwrap();
        }
    }
}

#[test]
fn troubleshooting_quotes_the_ends_of_runs() {
    let missing = Ended::NotStarted { reason: "there is no program `mytest` on PATH".into() };
    let unusable = ["no", "no", "no"].map(|text| Answer::Called(reply(text)));
    let patch =
        r#"{"plan":[],"patch":"--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+b\n","tests":[],"run":[],"risks":[]}"#;
    let rejected = Answer::Rejected { reasons: vec!["It does not match.".into()] };
    let circle = [Answer::Called(reply(patch)), rejected, Answer::Called(reply(patch))];
    for (baseline, answers, part_of_the_end) in [
        (missing, &[Answer::Called(reply(patch))][..], None),
        (Ended::Exited { code: 0 }, &unusable[..], None),
        (Ended::Exited { code: 0 }, &circle[..], Some("The builder sent the same patch as in turn 1.")),
    ] {
        let said = end(baseline, answers);
        match part_of_the_end {
            None => quotes("troubleshooting.md", &said),
            Some(part) => {
                assert!(said.contains(part), "{said}");
                quotes("troubleshooting.md", part);
            }
        }
    }
}

#[tokio::test]
async fn troubleshooting_quotes_the_faults_of_providers() {
    let said = |message: &str| format!(r#"{{"error":{{"message":"{message}"}}}}"#);
    for (status, body) in [
        (401, "{}".to_owned()),
        (404, said("The model does not exist")),
        (429, r#"{"error":{"code":"insufficient_quota","message":"Pay"}}"#.to_owned()),
        (400, said("maximum context length is 8192 tokens")),
        (403, "<!DOCTYPE html><html></html>".to_owned()),
        (
            200,
            "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"length\"}]}\n\ndata: [DONE]\n\n"
                .to_owned(),
        ),
        (503, said("overloaded")),
    ] {
        let address = provider_of(vec![(status, body)]);
        let error = agent_at(&address).call(&call(), &mut |_: &str| {}).await.unwrap_err();
        let message = error.message.replace(&address, "127.0.0.1:8080");
        quotes("troubleshooting.md", &message);
    }
}

/// What is said while a run goes on.
#[tokio::test]
async fn troubleshooting_quotes_the_notes_of_providers() {
    let refusal = r#"{"error":{"message":"Unknown parameter: 'response_format'."}}"#.to_owned();
    let whole = "data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let address = provider_of(vec![(400, refusal), (200, whole.to_owned())]);
    let mut call = call();
    call.prompt.shape = Shape::Decision;
    let called = agent_at(&address).call(&call, &mut |_: &str| {}).await.unwrap();
    quotes("troubleshooting.md", &called.notes[0]);
}

fn agent_at(address: &str) -> Agents {
    let mut settings = AgentSettings::new("openai", "m");
    settings.base_url = Some(format!("http://{address}/v1"));
    let key = |name: &str| (name == "OPENAI_API_KEY").then(|| "sk-x".to_owned());
    Agents::live([(Role::Builder, settings)].into(), &key).unwrap()
}

#[test]
fn every_event_has_an_example_that_is_one() {
    let page = page("events.md");
    let section = page.split("\n## ").find(|section| section.starts_with("Events")).unwrap();
    let mut shown = BTreeSet::new();
    for example in section.lines().filter(|line| line.starts_with('{')) {
        let frame: serde_json::Map<String, serde_json::Value> = serde_json::from_str(example).unwrap();
        for key in ["run", "task", "seq", "at"] {
            assert!(frame.contains_key(key), "{example}");
        }
        let kind = frame["type"].as_str().unwrap().to_owned();
        if kind != "stream_chunk" {
            let notice: Notice = serde_json::from_str(example).unwrap();
            assert_eq!(kind, name_of(&notice));
            let written = serde_json::to_value(&notice).unwrap();
            for key in written.as_object().unwrap().keys() {
                assert_eq!(written[key], frame[key], "`{key}` of the example of {kind}");
            }
        }
        assert!(section.contains(&format!("\n### `{kind}`\n")));
        shown.insert(kind);
    }
    assert_eq!(shown.len(), 15, "an event has no example: {shown:?}");
}

/// A new event has to be named here, and then the count above asks for its example.
fn name_of(notice: &Notice) -> &'static str {
    match notice {
        Notice::Status { .. } => "status",
        Notice::PatchReady { .. } => "patch_ready",
        Notice::TestsOutput { .. } => "tests_output",
        Notice::ReviewReady { .. } => "review_ready",
        Notice::ModeratorDecision { .. } => "moderator_decision",
        Notice::ArbiterMode { .. } => "arbiter_mode",
        Notice::ArbiterResult { .. } => "arbiter_result",
        Notice::DiagnosticRun { .. } => "diagnostic_run",
        Notice::CycleComplete { .. } => "cycle_complete",
        Notice::Error { .. } => "error",
        Notice::TurnStarted { .. } => "turn_started",
        Notice::BuilderReady { .. } => "builder_ready",
        Notice::Verdict { .. } => "verdict",
        Notice::Outcome { .. } => "outcome",
    }
}

/// Words of closed enums that programs read: a new one has to be described.
#[test]
fn every_word_that_programs_read_is_described() {
    for (name, words) in [
        ("events.md", words::<StoppedBy>(&json!("?"))),
        ("events.md", words::<CheckKind>(&json!("?"))),
        ("events.md", words::<Ended>(&json!({"ended": "?"}))),
        ("events.md", words::<Signal>(&json!({"signal": "?"}))),
        ("events.md", words::<Status>(&json!({"status": "?"}))),
        ("events.md", words::<Decision>(&json!("?"))),
        ("events.md", words::<State>(&json!("?"))),
        ("events.md", words::<GateName>(&json!("?"))),
        ("events.md", words::<DecisionKind>(&json!("?"))),
        ("events.md", words::<ReviewVerdict>(&json!("?"))),
        ("events.md", words::<BlockReason>(&json!("?"))),
        ("events.md", words::<Role>(&json!("?"))),
        ("protocol.md", words::<wire::Message>(&json!({"type": "?"}))),
        ("protocol.md", words::<wire::RunEvent>(&json!({"type": "?"}))),
        ("protocol.md", words::<wire::Reply>(&json!({"type": "?"}))),
        ("protocol.md", words::<wire::Work>(&json!({"work": "?"}))),
        ("protocol.md", words::<wire::Standing>(&json!("?"))),
        ("protocol.md", words::<wire::AnswerWord>(&json!("?"))),
        ("protocol.md", words::<wire::Side>(&json!("?"))),
        ("journal.md", words::<Answer>(&json!({"answer": "?"}))),
        ("journal.md", words::<Command>(&json!({"command": "?"}))),
    ] {
        let page = page(name);
        let stands = |word: &str| {
            [format!("`{word}`"), format!("`{{\"{word}\":N}}`")].iter().any(|shown| page.contains(shown))
        };
        let missing: Vec<String> = words.into_iter().filter(|word| !stands(word)).collect();
        assert!(missing.is_empty(), "docs/{name} does not have {missing:?}");
    }
}

/// Returns the names of an enum's variants, as the error for one that it does not have lists them.
fn words<T: DeserializeOwned>(unknown: &serde_json::Value) -> Vec<String> {
    let error = T::deserialize(unknown).err().unwrap().to_string();
    let (_, known) = error.split_once("expected ").unwrap_or_else(|| panic!("{error}"));
    known.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn the_example_of_a_result_has_the_fields_of_one() {
    let task = TaskId::new("main");
    let run =
        Run::new(vec![PlannedTask { id: task.clone(), depends_on: Vec::new(), spec: spec() }], 1).unwrap();
    let shell = serde_json::from_value(json!({"time_limit_s": 1})).unwrap();
    let summary = serde_json::to_value(ui::summary(&RunId::new("r"), &run, &task, &shell)).unwrap();
    let page = page("events.md");
    let section = page.split("\n## ").find(|section| section.starts_with("The result")).unwrap();
    let example = section.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    let example: serde_json::Value = serde_json::from_str(example).unwrap();
    for (real, shown) in [(&summary, &example), (&summary["usage"], &example["usage"])] {
        let fields =
            |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(fields(real), fields(shown));
        for field in fields(real) {
            assert!(section.contains(&format!("`{field}`")), "{field}");
        }
    }
    serde_json::from_value::<Receipt>(example["evidence"][0]["receipt"].clone()).unwrap();
}

#[test]
fn the_examples_of_scripts_and_tasks_are_accepted() {
    for name in ["events.md", "guide.md"] {
        let page = page(name);
        let blocks = page.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap());
        let scripts: Vec<&str> = blocks.filter(|block| block.contains("\"replay\":")).collect();
        assert!(!scripts.is_empty(), "{name}");
        for script in scripts {
            Script::parse(script).unwrap();
        }
    }
    let page = page("events.md");
    let section = page.split("\n## ").find(|section| section.starts_with("The task file")).unwrap();
    let example = section.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    serde_json::from_str::<Task>(example).unwrap();
}

#[test]
fn every_relative_link_of_the_pages_leads_somewhere() {
    let root = root();
    let pages = [root.clone(), root.join("docs"), root.join("examples")].into_iter().flat_map(|folder| {
        fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|end| end == "md"))
    });
    let mut links = 0;
    for path in pages {
        let text = fs::read_to_string(&path).unwrap();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if target.contains("://") {
                continue;
            }
            links += 1;
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            assert!(file.exists(), "{} links to {target}, which is not there", path.display());
            if !anchor.is_empty() {
                assert!(
                    anchors(&file).contains(&anchor.to_owned()),
                    "{}: no heading {target}",
                    path.display()
                );
            }
        }
    }
    assert!(links > 10, "the pages have links");
}

fn anchors(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap();
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let kept = line.trim_start_matches('#').trim().to_lowercase();
            kept.chars()
                .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
                .collect::<String>()
                .replace(' ', "-")
        })
        .collect()
}

fn refused(path: &str) -> String {
    let change = Change {
        path: path.into(),
        kind: ChangeKind::Added,
        old_mode: "000000".into(),
        new_mode: "100644".into(),
        added: 1,
        removed: 0,
    };
    Allowlist::new(&["src/**".into(), "test/**".into()]).unwrap().verdict(&change).unwrap_err()
}

fn agents(provider: &str, env: fn(&str) -> Option<String>) -> Result<Agents, String> {
    let settings = AgentSettings::new(provider, "m");
    Agents::live([(Role::Builder, settings)].into(), &env).map_err(|error| error.to_string())
}

fn call() -> Call {
    let prompt = Prompt { system: "s".into(), user: "u".into(), shape: Shape::Text, version: "v".into() };
    Call {
        role: Role::Builder,
        purpose: Purpose::Build,
        turn: 1,
        attempt: 0,
        about: None,
        prompt,
        allowance: None,
    }
}

fn reply(text: &str) -> Called {
    Called {
        text: text.into(),
        model: "m".into(),
        usage: Usage::default(),
        requests: 1,
        duration_ms: 1,
        notes: Vec::new(),
    }
}

/// Runs a cycle with these answers, the baseline's first, and returns how it ended.
fn end(baseline: Ended, answers: &[Answer]) -> String {
    let mut cycle = Cycle::new(spec());
    let prepared = Prepared {
        base: TreeId::new("base"),
        head: CommitId::new("head"),
        branch: None,
        files: Vec::new(),
        notes: Vec::new(),
        nonce: String::new(),
    };
    let mut told: Vec<Notice> = cycle.answer(1, 0, &Answer::Prepared(prepared));
    told.extend(cycle.answer(2, 1, &Answer::Ran(receipt(baseline))));
    for answer in answers {
        let (effect, part, _) = cycle.pending()[0];
        told.extend(cycle.answer(effect, part, answer));
    }
    match cycle.outcome() {
        Some(Outcome::NotApproved { reason, .. }) => reason.clone(),
        Some(Outcome::Error { message }) => message.clone(),
        other => panic!("it did not end: {other:?} after {told:?}"),
    }
}

fn receipt(ended: Ended) -> Receipt {
    Receipt {
        tree: TreeId::new("base"),
        saw: None,
        seed: None,
        argv: vec!["mytest".into()],
        shell: false,
        of_repository: true,
        ended,
        report: Some(TestReport { runner: "tap".into(), passed: 1, ..TestReport::default() }),
        stdout: Output::default(),
        stderr: Output::default(),
        duration_ms: 1,
        cached: false,
    }
}

fn spec() -> Spec {
    let policy = Policy {
        max_iterations: 3,
        review_mode: ReviewMode::Always,
        review_on_test_pass: true,
        strictness: Strictness::Balanced,
        patch_form: PatchForm::default(),
        moderator: false,
        context_summary_threshold: 2000,
        allow_paths: Vec::new(),
        allow_commands: Vec::new(),
        test_command: CommandLine::from_user("mytest").unwrap(),
        approve_patches: false,
        interactive: false,
        land: LandPolicy::Apply,
        evidence: EvidenceRules::default(),
        examiner: false,
        budget: Default::default(),
    };
    let task = Task::of("go");
    Spec { task, product: Product::Patch, policy, prompts: prompt::shipped() }
}

/// Starts a server that gives POST requests these answers, the last one for ever, and returns its address. It ends with
/// the test.
fn provider_of(answers: Vec<(u16, String)>) -> String {
    use std::io::{Read as _, Write as _};

    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let mut answers = VecDeque::from(answers);
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let mut request = Vec::new();
            let mut buffer = [0; 4096];
            // A request is whole when its body, whose length is in the head, is there.
            while !is_whole(&request) {
                let read = connection.read(&mut buffer).unwrap_or(0);
                if read == 0 {
                    break;
                }
                request.extend_from_slice(&buffer[..read]);
            }
            let (status, body) = match answers.len() {
                _ if request.starts_with(b"GET") => (404, String::new()),
                1 => answers[0].clone(),
                _ => answers.pop_front().unwrap(),
            };
            let head = format!(
                "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\nretry-after: 0\r\nconnection: close\r\n"
            );
            write!(connection, "{head}content-length: {}\r\n\r\n{body}", body.len()).ok();
        }
    });
    address
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"))
        .and_then(|n| n.trim().parse().ok());
    body.len() >= length.unwrap_or(0)
}
