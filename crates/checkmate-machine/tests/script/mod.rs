//! Plays a script against a cycle and takes down what happens.

mod receipt;
mod shorthand;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;

use checkmate_machine::budget::Limits;
use checkmate_machine::command::CommandLine;
use checkmate_machine::cycle::Cycle;
use checkmate_machine::effect::{Action, CheckKind, Landing, Purpose, Question, short_hash};
use checkmate_machine::event::{
    Answer, Called, Candidate, Change, ChangeKind, Command, Failure, FailureKind, FileFact, FileText,
    Prepared, Usage,
};
use checkmate_machine::facts::Inspection;
use checkmate_machine::ids::{CommitId, RunId, TreeId};
use checkmate_machine::notice::Notice;
use checkmate_machine::outcome::Outcome;
use checkmate_machine::patch;
use checkmate_machine::spec::{
    Earlier, EvidenceRules, LandPolicy, PatchForm, Policy, Product, ReviewMode, Spec, Strictness, Task,
};
use serde_json::{Value, json};

use receipt::receipt;

/// Returns the trace of a script, and what its prompts should have held.
pub(crate) fn play(text: &str) -> (String, Vec<String>) {
    let mut script = Script::new(text);
    let mut cycle = Cycle::new(spec(&section(text, "policy")));
    loop {
        script.ask(&cycle);
        let pending = cycle.pending();
        let Some(&(effect, part, action)) = pending.first() else {
            match script.commands.pop_front() {
                Some(command) => {
                    script.outcome(&cycle);
                    writeln!(script.trace, "! {}", command.split(' ').next().unwrap()).unwrap();
                    let notices = cycle.command(&said(&command));
                    script.tell(&notices);
                    continue;
                }
                None => break,
            }
        };
        if let Some(command) = script.meanwhile(action) {
            writeln!(script.trace, "! {}", command.split(' ').next().unwrap()).unwrap();
            let notices = cycle.command(&said(&command));
            script.tell(&notices);
            script.outcome(&cycle);
            continue;
        }
        let answer = script.answer(&action.clone());
        let notices = cycle.answer(effect, part, &answer);
        script.tell(&notices);
        assert!(script.trace.len() < 20_000, "it does not end:\n{}", script.trace);
    }
    script.outcome(&cycle);
    for (kind, rest) in &script.queues {
        if !rest.is_empty() {
            script.wrong.push(format!("{} answers of kind `{kind}` are left: {rest:?}", rest.len()));
        }
    }
    script.check_prompts(&section(text, "prompts"));
    (script.trace, script.wrong)
}

struct Script {
    queues: BTreeMap<String, VecDeque<String>>,
    commands: VecDeque<String>,
    /// Which file has which text on which tree.
    trees: BTreeMap<TreeId, BTreeSet<String>>,
    prompts: Vec<(String, String)>,
    asked: u32,
    trace: String,
    wrong: Vec<String>,
}

impl Script {
    fn new(text: &str) -> Self {
        let mut script = Self {
            queues: BTreeMap::new(),
            commands: VecDeque::new(),
            trees: BTreeMap::new(),
            prompts: Vec::new(),
            asked: 0,
            trace: String::new(),
            wrong: Vec::new(),
        };
        for line in section(text, "world") {
            if let Some(command) = line.strip_prefix("! ") {
                script.commands.push_back(command.into());
            } else {
                let (kind, rest) = line.split_once(' ').unwrap_or((&line, ""));
                script.queues.entry(kind.into()).or_default().push_back(rest.trim().into());
            }
        }
        script
    }

    fn next(&mut self, kind: &str) -> Option<String> {
        self.queues.get_mut(kind)?.pop_front()
    }

    /// Takes down a new effect.
    fn ask(&mut self, cycle: &Cycle) {
        for (effect, _, action) in cycle.pending() {
            if effect <= self.asked {
                return;
            }
            writeln!(self.trace, "> {}", name(action)).unwrap();
            if let Action::Call(call) = action {
                let prompt = format!("{}\n{}", call.prompt.system, call.prompt.user);
                self.prompts.push((purpose(call.purpose).into(), prompt));
            }
        }
        self.asked = cycle.pending().first().map_or(self.asked, |(effect, _, _)| *effect);
    }

    /// Takes a command that comes while an answer is waited for: `tests meanwhile cancel enough`.
    fn meanwhile(&mut self, action: &Action) -> Option<String> {
        let queue = self.queues.get_mut(kind(action))?;
        let command = queue.front()?.strip_prefix("meanwhile ")?.to_owned();
        queue.pop_front();
        Some(command)
    }

    fn answer(&mut self, action: &Action) -> Answer {
        let kind = kind(action);
        let script = self.next(kind);
        let line = script.as_deref().unwrap_or("");
        if let Some(failure) = line.strip_prefix("failed ") {
            return failed(failure);
        }
        match action {
            Action::Prepare => Answer::Prepared(prepared()),
            Action::Read { paths, .. } => Answer::Files {
                files: paths
                    .iter()
                    .map(|path| FileText { path: path.clone(), text: Ok(format!("the text of {path}\n")) })
                    .collect(),
            },
            Action::Call(call) => match (script, call.purpose) {
                (Some(line), _) => called(&reply(kind, &line)),
                (None, purpose) => {
                    self.wrong.push(format!("nobody answers the call for {purpose:?}"));
                    Answer::Failed(failure(FailureKind::Account))
                }
            },
            Action::Apply { onto, base, patch } => self.apply(line, onto, base, patch),
            Action::Store { base, path, text } => Answer::Applied(candidate(
                TreeId::new(short_hash(text)),
                std::slice::from_ref(path),
                base.as_str(),
            )),
            Action::Inspect { .. } => Answer::Inspected(Box::new(inspection(line))),
            Action::Check { kind, command, tree, .. } => Answer::Ran(receipt(line, *kind, command, tree)),
            Action::Ask(_) => Answer::Said { yes: !line.starts_with("no"), text: line.into() },
            Action::Land { .. } => match line.split_once(' ').unwrap_or((line, "")) {
                ("conflict", path) => {
                    Answer::Conflict { target: TreeId::new("user"), paths: vec![path.into()] }
                }
                ("moved", tree) => Answer::TargetMoved {
                    target: TreeId::new(format!("user-{tree}")),
                    merged: candidate(TreeId::new(tree), &["src/a.txt".into()], "merged"),
                },
                (_, _) => Answer::Landed { commit: None, files: vec!["src/a.txt".into()] },
            },
        }
    }

    /// Places a patch; `rejected REASON` refuses it, `tree NAME` says what comes of it.
    fn apply(&mut self, line: &str, onto: &TreeId, base: &TreeId, text: &str) -> Answer {
        if let Some(reason) = line.strip_prefix("rejected ") {
            return Answer::Rejected { reasons: vec![reason.into()] };
        }
        let patch = match patch::parse(text) {
            Ok(patch) => patch,
            Err(rejections) => {
                return Answer::Rejected { reasons: rejections.iter().map(ToString::to_string).collect() };
            }
        };
        let tree = match line.strip_prefix("tree ") {
            Some("base") => base.clone(),
            Some(name) => TreeId::new(name),
            None => TreeId::new(short_hash(&format!("{onto}{}", patch.normalised()))),
        };
        let mut paths = self.trees.get(onto).cloned().unwrap_or_default();
        paths.extend(patch.paths().into_iter().map(str::to_owned));
        paths.retain(|path| !text.contains(&format!("--- a/{path}\n+++ /dev/null")));
        let all: Vec<String> = paths.iter().cloned().collect();
        self.trees.insert(tree.clone(), paths);
        Answer::Applied(candidate(tree, &all, "x"))
    }

    fn tell(&mut self, notices: &[Notice]) {
        for notice in notices {
            if let Some(line) = told(notice) {
                writeln!(self.trace, "  {line}").unwrap();
            }
        }
    }

    fn outcome(&mut self, cycle: &Cycle) {
        let line = match cycle.outcome() {
            None => "= it stands still".to_owned(),
            Some(Outcome::Approved { .. }) => "= approved".to_owned(),
            Some(Outcome::Applied { .. }) => "= applied".to_owned(),
            Some(Outcome::NotApproved { stopped_by, reason }) => {
                format!("= {}: {}", stopped_by.name(), reason.lines().next().unwrap_or(""))
            }
            Some(Outcome::Error { message }) => format!("= error: {message}"),
        };
        writeln!(self.trace, "{line}").unwrap();
    }

    fn check_prompts(&mut self, lines: &[String]) {
        for line in lines {
            let words: Vec<&str> = line.splitn(4, ' ').collect();
            let [purpose, number, verb, text] = words[..] else { panic!("{line}") };
            let mut calls = self.prompts.iter().filter(|(of, _)| of == purpose);
            let Some((_, prompt)) = calls.nth(number.parse::<usize>().unwrap() - 1) else {
                self.wrong.push(format!("there is no prompt {purpose} {number}"));
                continue;
            };
            let text = text.replace("\\n", "\n");
            if prompt.contains(&text) != (verb == "has") {
                self.wrong.push(format!("the prompt {purpose} {number} {verb} not {text:?}:\n{prompt}"));
            }
        }
    }
}

/// Returns the lines of a section without empty ones and comments.
fn section(text: &str, name: &str) -> Vec<String> {
    let mut lines = text.lines().skip_while(|line| *line != format!("== {name}"));
    lines.next();
    lines
        .take_while(|line| !line.starts_with("== "))
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
        .map(str::to_owned)
        .collect()
}

fn spec(lines: &[String]) -> Spec {
    let mut policy = Policy {
        max_iterations: 3,
        review_mode: ReviewMode::Always,
        review_on_test_pass: true,
        strictness: Strictness::Balanced,
        patch_form: PatchForm::default(),
        moderator: false,
        context_summary_threshold: 2000,
        allow_paths: Vec::new(),
        allow_commands: Vec::new(),
        test_command: CommandLine::from_user("npm test").unwrap(),
        approve_patches: false,
        interactive: false,
        land: LandPolicy::Apply,
        evidence: EvidenceRules::default(),
        examiner: false,
        budget: Default::default(),
    };
    let (mut goal, mut kind, mut permits) = ("Sum the numbers.".to_owned(), None, Vec::new());
    let (mut follows, mut product) = (None, Product::Patch);
    for line in lines {
        let (key, value) = line.split_once(' ').unwrap_or((line, ""));
        let quoted = Value::String(value.to_owned());
        match key {
            "max_iterations" => policy.max_iterations = value.parse().unwrap(),
            "review_mode" => policy.review_mode = serde_json::from_value(quoted).unwrap(),
            "review_on_test_pass" => policy.review_on_test_pass = value == "true",
            "strictness" => policy.strictness = serde_json::from_value(quoted).unwrap(),
            "patch_form" => policy.patch_form = serde_json::from_value(quoted).unwrap(),
            "moderator" => policy.moderator = true,
            "context_summary_threshold" => policy.context_summary_threshold = value.parse().unwrap(),
            "allow_path" => policy.allow_paths.push(value.into()),
            "allow_command" => policy.allow_commands.push(value.into()),
            "approve_patches" => policy.approve_patches = true,
            "interactive" => policy.interactive = true,
            "evidence" => policy.evidence = EvidenceRules::usual(),
            "budget" => policy.budget.run.replace(limits(value)),
            "budget_of" => {
                let (role, value) = value.split_once(' ').unwrap();
                let role = serde_json::from_value(role.into()).unwrap();
                policy.budget.roles.entry(role).or_default().limits.replace(limits(value));
            }
            "examiner" => policy.examiner = true,
            "goal" => goal = value.into(),
            "follows" => {
                follows = Some(Earlier {
                    run: RunId::new("before"),
                    goal: value.into(),
                    outcome: Some(Outcome::Approved { commit: None, files: Vec::new() }),
                    diff: "+earlier line".into(),
                });
            }
            "given" => {
                product = {
                    let patch = format!("--- /dev/null\n+++ b/{value}\n@@ -0,0 +1 @@\n+given\n");
                    Product::Given { patch }
                }
            }
            "kind" => kind = Some(serde_json::from_value(quoted).unwrap()),
            "permit" => permits.push(value.into()),
            "land" => policy.land = serde_json::from_value(quoted).unwrap(),
            unknown => panic!("no rule is called {unknown}"),
        }
    }
    Spec {
        task: Task { goal, kind, permits, given_red: false, examples: None, follows },
        product,
        policy,
        prompts: checkmate_machine::prompt::shipped(),
    }
}

fn prepared() -> Prepared {
    let file = |path: &str| FileFact { path: path.into(), bytes: 10, symbols: Vec::new() };
    Prepared {
        base: TreeId::new("base"),
        head: CommitId::new("head"),
        branch: Some("main".into()),
        files: vec![file("package.json"), file("src/old.txt"), file("tests/old.txt")],
        notes: Vec::new(),
        nonce: String::new(),
    }
}

/// Reads the facts of a change as JSON, or in the words of [`shorthand`], `;` between them and `-` before what is in a
/// file; nothing is known where there is none.
fn inspection(line: &str) -> Inspection {
    if line.is_empty() {
        return Inspection::default();
    }
    if !line.starts_with('{') {
        let lines: Vec<String> = line
            .split("; ")
            .map(|one| one.replacen("- ", "  ", usize::from(one.starts_with("- "))))
            .collect();
        return shorthand::read(&lines).inspection;
    }
    let mut facts = serde_json::to_value(Inspection::default()).unwrap();
    let said: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    facts.as_object_mut().unwrap().extend(said.as_object().unwrap().clone());
    serde_json::from_value(facts).unwrap_or_else(|error| panic!("{error}: {line}"))
}

fn candidate(tree: TreeId, paths: &[String], diff: &str) -> Candidate {
    let changes = paths
        .iter()
        .map(|path| Change {
            path: path.clone(),
            kind: if path.contains("old") { ChangeKind::Modified } else { ChangeKind::Added },
            old_mode: if path.contains("old") { "100644" } else { "000000" }.into(),
            new_mode: "100644".into(),
            added: 1,
            removed: 0,
        })
        .collect();
    let parts: String = paths.iter().map(|path| format!("diff --git a/{path} b/{path}\n+x\n")).collect();
    Candidate { tree, changes, diff: format!("the change: {diff}\n{parts}") }
}

fn failed(kind: &str) -> Answer {
    Answer::Failed(failure(serde_json::from_value(Value::String(kind.into())).unwrap()))
}

fn failure(kind: FailureKind) -> Failure {
    Failure { kind, message: "It could not be done.".into(), requests: 1 }
}

fn called(text: &str) -> Answer {
    Answer::Called(Called {
        text: text.into(),
        model: "scripted".into(),
        usage: Usage::default(),
        requests: 1,
        duration_ms: 1,
        notes: Vec::new(),
    })
}

/// Makes a reply of a line: JSON and anything in quotes as it is, else short words.
fn reply(kind: &str, line: &str) -> String {
    if line.starts_with('{') || kind == "summarise" {
        return line.to_owned();
    }
    if let Some(raw) = line.strip_prefix('"') {
        return raw.trim_end_matches('"').to_owned();
    }
    let (said, extra) = line.split_once(" {").map_or((line, None), |(a, b)| (a, Some(format!("{{{b}"))));
    let (word, subject) = said.split_once(' ').unwrap_or((said, ""));
    let mut value = match (kind, word) {
        ("build" | "arbiter_test", _) => builder(word, subject),
        ("review", "approve") => json!({"verdict": "approve", "issues": []}),
        ("review", "issues") => {
            json!({"verdict": "request_changes", "issues": subject.split(" | ").map(issue).collect::<Vec<_>>()})
        }
        ("review", "block") => {
            json!({"verdict": "block", "block_reason": "definite_bug", "issues": [issue(subject)]})
        }
        ("review", "human") => json!({"verdict": "block", "block_reason": "needs_human", "issues": []}),
        ("review", "uncertain") => json!({"verdict": "block", "block_reason": "uncertainty", "issues": [],
            "diagnostics_needed": subject.split(" | ").collect::<Vec<_>>()}),
        ("confirm", word) => json!({"states_claim": word == "yes", "reason": "so it is"}),
        ("moderate", word) => json!({"decision": word, "reasoning": "taste is taste"}),
        (kind, word) => panic!("{kind} does not say {word}"),
    };
    if kind == "review" {
        value["stopping"] = "that is all".into();
    }
    if let Some(extra) = extra {
        let extra: Value = serde_json::from_str(&extra).unwrap_or_else(|error| panic!("{extra}: {error}"));
        value.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    }
    value.to_string()
}

/// `add NAME` adds src/NAME.txt, `test NAME` adds tests/NAME.txt, `edit NAME` changes it, `large NAME WORD` is 60 lines
/// of which the last is WORD, `reads PATH…` asks for files.
fn builder(word: &str, subject: &str) -> Value {
    let create = |path: &str, lines: &[String]| {
        let body: String = lines.iter().map(|line| format!("+{line}\n")).collect();
        format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{} @@\n{body}", lines.len())
    };
    let patch = match word {
        "add" => create(&format!("src/{subject}.txt"), &[subject.to_owned()]),
        "test" => create(&format!("tests/{subject}.txt"), &[subject.to_owned()]),
        "path" => create(subject, &["x".to_owned()]),
        "edit" => format!("--- a/{subject}\n+++ b/{subject}\n@@ -1 +1 @@\n-old\n+new\n"),
        "line" => format!("--- a/src/old.txt\n+++ b/src/old.txt\n@@ -1 +1 @@\n-old\n+{subject}\n"),
        "large" => {
            let mut lines: Vec<String> = (0..60).map(|line| format!("line {line}")).collect();
            lines.push(subject.to_owned());
            create("src/large.txt", &lines)
        }
        "delete" => format!("--- a/{subject}\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"),
        "nothing" => String::new(),
        "reads" => return json!({"files_needed": subject.split(' ').collect::<Vec<_>>()}),
        unknown => panic!("no patch is called {unknown}"),
    };
    json!({"plan": [format!("{word} {subject}")], "patch": patch, "tests": [], "run": [], "risks": []})
}

/// Reads `ID SEVERITY WORDS`; `?` instead of the id is none, and a `~` at the end leaves out how to verify it.
fn issue(text: &str) -> Value {
    let words: Vec<&str> = text.splitn(3, ' ').collect();
    let [id, severity, description] = words[..] else { panic!("{text}") };
    let (description, how) = match description.strip_suffix(" ~") {
        Some(description) => (description, Value::Null),
        None => (description, format!("run it and see {description}").into()),
    };
    let id = if id == "?" { Value::Null } else { id.into() };
    json!({"severity": severity, "description": description, "how_to_verify": how, "issue_id": id})
}

fn said(command: &str) -> Command {
    match command.split_once(' ').unwrap_or((command, "")) {
        ("cancel", reason) => Command::Cancel { reason: reason.into() },
        ("retry", _) => Command::Retry,
        ("time_over", _) => Command::TimeOver,
        ("budget", limits) => Command::Budget { role: None, limits: self::limits(limits) },
        ("budget_of", rest) => {
            let (role, limits) = rest.split_once(' ').unwrap();
            let role = serde_json::from_value(role.into()).unwrap();
            Command::Budget { role: Some(role), limits: self::limits(limits) }
        }
        ("comment", text) => match text.split_once(": ") {
            Some((place, text)) => {
                let (path, line) = place.split_once(':').unwrap_or((place, "1"));
                Command::Comment { text: text.into(), path: Some(path.into()), line: line.parse().ok() }
            }
            None => Command::Comment { text: text.into(), path: None, line: None },
        },
        ("dispute", rest) => {
            let (finding, text) = rest.split_once(' ').unwrap();
            Command::Dispute { finding: finding.into(), text: text.into() }
        }
        ("taken_back", _) => Command::TakenBack,
        ("land", _) => Command::Land { how: Landing::Apply },
        (unknown, _) => panic!("no command is called {unknown}"),
    }
}

/// Reads `calls 3` or `tokens 9000`.
fn limits(text: &str) -> Limits {
    let (what, number) = text.split_once(' ').unwrap();
    serde_json::from_value(json!({what: number.parse::<u64>().unwrap()})).unwrap()
}

fn purpose(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Build => "build",
        Purpose::ArbiterTest => "arbiter_test",
        Purpose::ConfirmTest => "confirm",
        Purpose::Review => "review",
        Purpose::Moderate => "moderate",
        Purpose::Summarise => "summarise",
        Purpose::Examine => "examine",
        Purpose::JudgeProbe => "judge_probe",
    }
}

fn check(kind: CheckKind) -> &'static str {
    match kind {
        CheckKind::Baseline => "baseline",
        CheckKind::Tests => "tests",
        CheckKind::BuilderRun => "run",
        CheckKind::Diagnostic => "diagnostic",
        CheckKind::Arbiter => "arbiter",
        CheckKind::ArbiterBase => "arbiter_base",
        CheckKind::Merged => "merged",
        CheckKind::OldTests => "old_tests",
        CheckKind::BrokenTests => "broken_tests",
        CheckKind::BrokenBase => "broken_base",
        CheckKind::NewTests => "new_tests",
        CheckKind::Reverted => "reverted",
        CheckKind::Repeat(_) => "repeat",
        CheckKind::RepeatBase(_) => "repeat_base",
        CheckKind::Example => "example",
        CheckKind::Probe(_) => "probe",
        CheckKind::ProbeAgain(_) => "probe_again",
        CheckKind::ProbeBase(_) => "probe_base",
        CheckKind::CompareBase => "compare_base",
        CheckKind::Compare => "compare",
        CheckKind::Mutant(_) => "mutant",
        CheckKind::CompareMutant(_) => "compare_mutant",
    }
}

fn kind(action: &Action) -> &'static str {
    match action {
        Action::Prepare => "prepare",
        Action::Read { .. } => "read",
        Action::Call(call) => purpose(call.purpose),
        Action::Apply { .. } => "apply",
        Action::Store { .. } => "store",
        Action::Inspect { .. } => "inspect",
        Action::Check { kind, .. } => check(*kind),
        Action::Ask(_) => "ask",
        Action::Land { .. } => "land",
    }
}

fn name(action: &Action) -> String {
    let kind = kind(action);
    match action {
        Action::Read { paths, .. } => format!("{kind} {}", paths.join(" ")),
        Action::Call(call) if call.attempt > 0 => format!("{kind}, correction {}", call.attempt),
        Action::Check { kind: CheckKind::BuilderRun | CheckKind::Diagnostic, command, .. } => {
            let env: String = command.env.iter().map(|(name, value)| format!("{name}={value} ")).collect();
            format!("{kind} {env}{}", command.argv.join(" "))
        }
        Action::Ask(Question::Command { line, .. }) => format!("{kind} {line}"),
        Action::Ask(Question::Patch { .. }) => format!("{kind} whether to apply"),
        Action::Ask(Question::Land) => format!("{kind} whether to land"),
        Action::Prepare
        | Action::Call(_)
        | Action::Apply { .. }
        | Action::Store { .. }
        | Action::Inspect { .. }
        | Action::Check { .. }
        | Action::Land { .. } => kind.to_owned(),
    }
}

/// Returns the notices that say what was decided.
fn told(notice: &Notice) -> Option<String> {
    match notice {
        Notice::TurnStarted { turn, of } => Some(format!("turn {turn} of {of}")),
        Notice::ArbiterMode { issue } => Some(format!("arbiter mode: {}", issue.issue_id)),
        Notice::ArbiterResult { result } => {
            let outcome = serde_json::to_value(result.outcome).unwrap();
            Some(format!("{}: {}", outcome.as_str().unwrap(), result.explanation))
        }
        Notice::ModeratorDecision { decision } => Some(format!("moderator: {:?}", decision.decision)),
        Notice::DiagnosticRun { commands } => Some(format!("diagnostics: {}", commands.join(" | "))),
        Notice::Verdict { verdict, .. } => {
            let gates: Vec<String> = verdict
                .gates
                .iter()
                .filter(|gate| {
                    !gate.passed || gate.message.contains("skipped by") || gate.message.contains("moderator")
                })
                .map(|gate| format!("; {}: {}", gate.gate.name(), gate.message))
                .collect();
            Some(format!("verdict: {:?}{}", verdict.decision, gates.concat()))
        }
        Notice::Status { message, .. } => {
            let starts = [
                "Oscillation",
                "The tests are red",
                "The change was refused",
                "The patch could not",
                "Refused",
                "$ ",
                "The user's later",
                "The evidence",
                "The examiner",
                "The builder disputes",
                "The probe",
                "Merged with",
            ];
            starts
                .iter()
                .any(|start| message.starts_with(start))
                .then(|| message.lines().collect::<Vec<_>>().join(" / "))
        }
        Notice::PatchReady { .. }
        | Notice::TestsOutput { .. }
        | Notice::ReviewReady { .. }
        | Notice::CycleComplete { .. }
        | Notice::Error { .. }
        | Notice::BuilderReady { .. }
        | Notice::Outcome { .. } => None,
    }
}
