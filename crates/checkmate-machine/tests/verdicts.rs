//! Facts and runs on one side, the verdict on the other.
//!
//! A fixture lies in the folder of the gate that it is about and has these sections; none of them is needed.
//!
//! - `== task`: `goal TEXT`, `kind bugfix`, `permit config`, `given_red`, `example PATH | RUN | TEXT`, and the rules:
//!   `level mutation on`, `only scope secrets`, `command npm test`, `strictness strict`.
//! - `== facts`: what reading the change finds out, in the words of `script/shorthand.rs`.
//! - `== diff`: the change as a diff; `{token}`, `{literal}` and `{private_key}` stand for what looks like a secret.
//! - `== runs`: what commands say, one a line, in the words of `verdicts/world.rs`. Whatever is asked and not said is pleasant, but for
//!   `nothing else`, which leaves it unanswered. The baseline is `pass 3` and the tests are `pass 4` unless said.
//! - `== probes`: `ID | CRITERION | PATH | RUN | TEXT`, and `dismissed ID`.
//! - `== risks`: what the builder calls risks, one a line.
//! - `== answers`: `GATE justified TEXT` answers all objections of a gate, `GATE-1a2b …` one.
//! - `== findings`: `ID SEVERITY TEXT`, and `confirmed ID`; a `~` at the end leaves out how to verify it.
//! - `== review`: `done`, which it is unless said, `missing`, `skipped` or `moderated`.
//! - `== expect`: what was asked, round by round; the decision; every gate that does not simply pass, and the one that
//!   the fixture is about. `BLESS=1` writes this section anew.

mod world;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::shorthand::{self, enumerated};
use checkmate_machine::command::CommandLine;
use checkmate_machine::effect::CheckKind;
use checkmate_machine::event::{Candidate, FileFact};
use checkmate_machine::evidence::{Receipt, Standing, standing};
use checkmate_machine::facts::Inspection;
use checkmate_machine::finding::{Finding, Findings, Status};
use checkmate_machine::ids::TreeId;
use checkmate_machine::probe::{Probe, Probes};
use checkmate_machine::reply::{AnswerKind, FindingAnswer, Issue};
use checkmate_machine::spec::{
    EvidenceRules, Examples, LandPolicy, Level, PatchForm, Policy, ReviewMode, Strictness, Task,
};
use checkmate_machine::task::{self, Permits};
use checkmate_machine::verdict::evidence::Evidence;
use checkmate_machine::verdict::{Case, GateName, ReviewState, State, Verdict, judge, plan};
use world::World;

/// How many rounds of questions there may be.
const ROUNDS: usize = 60;

#[test]
fn fixtures() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/verdicts");
    let mut paths = Vec::new();
    for gate in listed(&folder) {
        paths.extend(listed(&gate));
    }
    assert!(paths.len() >= 90, "only {} fixtures were found", paths.len());
    let wrong: Vec<String> = paths.iter().filter_map(|path| check(path).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

fn listed(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn check(path: &Path) -> Result<(), String> {
    let text = fs::read_to_string(path).unwrap();
    let gate = path.parent().unwrap().file_name().unwrap().to_string_lossy();
    let (before, expected) = text.split_once("== expect\n").unwrap_or((&text, ""));
    let told = Fixture::new(before).told(&gate);
    if told == expected {
        return Ok(());
    }
    if std::env::var_os("BLESS").is_some() {
        fs::write(path, format!("{before}== expect\n{told}")).unwrap();
        return Ok(());
    }
    let diff = similar::TextDiff::from_lines(expected, &told).unified_diff().to_string();
    Err(format!("{gate}/{} went otherwise:\n{diff}", path.file_stem().unwrap().to_string_lossy()))
}

/// A case as its fixture tells it.
struct Fixture {
    policy: Policy,
    task: Task,
    inspection: Inspection,
    candidate: Candidate,
    files: Vec<FileFact>,
    probes: Probes,
    world: World,
    risks: Vec<String>,
    /// Names of gates or objections, and what is answered to them.
    answers: Vec<(String, AnswerKind, String)>,
    findings: Vec<Finding>,
    review: ReviewState,
    receipts: Vec<(CheckKind, Receipt)>,
}

impl Fixture {
    fn new(text: &str) -> Self {
        let (task, policy) = rules(&section(text, "task"));
        let read = shorthand::read(&section(text, "facts"));
        let diff = secrets(&raw(text, "diff"));
        let world = World::new(&section(text, "runs"), &policy.test_command, &read.inspection);
        Self {
            policy,
            task,
            inspection: read.inspection,
            candidate: Candidate { tree: TreeId::new("candidate"), changes: read.changes, diff },
            files: vec![FileFact { path: "src/old.py".into(), bytes: 10, symbols: Vec::new() }],
            probes: probes(&section(text, "probes")),
            world,
            risks: section(text, "risks"),
            answers: section(text, "answers").iter().map(|line| answer(line)).collect(),
            findings: findings(&section(text, "findings")),
            review: match section(text, "review").first().map_or("done", |line| line.trim()) {
                "done" => ReviewState::Done,
                "missing" => ReviewState::Missing,
                "skipped" => ReviewState::SkippedByConfiguration,
                "moderated" => ReviewState::Moderated,
                unknown => panic!("no review is called {unknown}"),
            },
            receipts: Vec::new(),
        }
    }

    /// Asks what the gates ask, judges, and tells it all.
    fn told(mut self, about: &str) -> String {
        let mut told = String::new();
        let green = self.world.tests.last().is_some_and(|tests| {
            matches!(
                standing(tests, self.world.baseline.as_ref()),
                Standing::Green(_) | Standing::KnownRed(_)
            )
        });
        let permits = Permits::of(&self.task);
        let base = TreeId::new("base");
        // Red tests end a turn before anything else is asked.
        for round in 0.. {
            assert!(round < ROUNDS, "it does not end:\n{told}");
            let wants =
                if green { plan::next(&self.evidence(&permits, &base, green, &[])) } else { Vec::new() };
            if wants.is_empty() {
                break;
            }
            let names: Vec<String> = wants.iter().map(|want| world::name(want.kind)).collect();
            let receipts: Option<Vec<_>> = wants
                .iter()
                .map(|want| self.world.answer(want).map(|receipt| (want.kind, receipt)))
                .collect();
            let Some(receipts) = receipts else {
                writeln!(told, "wants: {}", names.join(", ")).unwrap();
                break;
            };
            writeln!(told, "asked: {}", names.join(", ")).unwrap();
            self.receipts.extend(receipts);
        }
        let answers = self.said(&plan::objections(&self.evidence(&permits, &base, green, &[])));
        let verdict = self.judge(self.evidence(&permits, &base, green, &answers));
        told.push_str(&card(&verdict, about));
        for kind in self.world.left() {
            writeln!(told, "never asked: {kind}").unwrap();
        }
        told
    }

    fn evidence<'a>(
        &'a self,
        permits: &'a Permits,
        base: &'a TreeId,
        green: bool,
        answers: &'a [FindingAnswer],
    ) -> Evidence<'a> {
        Evidence {
            read: true,
            policy: &self.policy,
            task: &self.task,
            kind: task::kind(&self.task),
            permits,
            base,
            candidate: &self.candidate,
            inspection: &self.inspection,
            baseline: self.world.baseline.as_ref(),
            tests: self.world.tests.last().filter(|_| green),
            receipts: &self.receipts,
            probes: &self.probes,
            answers,
            risks: &self.risks,
            files: &self.files,
            nonce: "nonce",
        }
    }

    /// Gives the answers the names of the objections that they are about.
    fn said(&self, objections: &[checkmate_machine::verdict::evidence::Objection]) -> Vec<FindingAnswer> {
        let mut said = Vec::new();
        for (to, answer, text) in &self.answers {
            let meant =
                objections.iter().filter(|one| one.id.rsplit_once('-').unwrap().0 == to || one.id == *to);
            let before = said.len();
            said.extend(meant.map(|one| FindingAnswer {
                to: one.id.clone(),
                answer: *answer,
                text: text.clone(),
            }));
            assert!(said.len() > before, "there is no objection {to} among {objections:?}");
        }
        said
    }

    fn judge(&self, evidence: Evidence<'_>) -> Verdict {
        judge(&Case {
            policy: &self.policy,
            candidate: &self.candidate.tree,
            tests: &self.world.tests.iter().collect::<Vec<_>>(),
            baseline: self.world.baseline.as_ref(),
            review: self.review,
            findings: &self.findings,
            evidence: Some(evidence),
        })
    }
}

/// Writes a verdict down: what does not simply pass, and the gate that the fixture is about.
fn card(verdict: &Verdict, about: &str) -> String {
    let mut told = format!("verdict: {}\n", word(verdict.decision));
    let absent: Vec<&str> = verdict
        .gates
        .iter()
        .filter(|gate| gate.state == State::Absent && gate.gate.name() != about)
        .map(|gate| gate.gate.name())
        .collect();
    for gate in &verdict.gates {
        let shown = gate.gate.name() == about || !matches!(gate.state, State::Passed | State::Absent);
        if shown {
            writeln!(told, "{}: {}: {}", gate.gate.name(), word(gate.state), gate.message).unwrap();
        }
    }
    if !absent.is_empty() {
        writeln!(told, "absent: {}", absent.join(" ")).unwrap();
    }
    told
}

fn word(value: impl serde::Serialize) -> String {
    serde_json::to_value(value).unwrap().as_str().unwrap().to_owned()
}

/// Returns the lines of a section without empty ones and comments.
fn section(text: &str, name: &str) -> Vec<String> {
    let lines = raw(text, name);
    let lines = lines.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    lines.map(str::to_owned).collect()
}

fn raw(text: &str, name: &str) -> String {
    let lines = text.lines().skip_while(|line| *line != format!("== {name}")).skip(1);
    lines.take_while(|line| !line.starts_with("== ")).flat_map(|line| [line, "\n"]).collect()
}

/// Puts secrets in the place of their names; put together here, so that no scanner takes a fixture for a leak.
fn secrets(diff: &str) -> String {
    let literal = ["9fK2mQ7x", "T4bV8nZ1", "cR6wL3pD", "5sH0jG2y"].concat();
    diff.replace("{token}", &["gh", "p_", &literal].concat())
        .replace("{literal}", &literal)
        .replace("{private_key}", &["-----BEGIN RSA PRI", "VATE KEY-----"].concat())
}

fn rules(lines: &[String]) -> (Task, Policy) {
    let mut task = Task {
        goal: "Sum the numbers.".into(),
        kind: None,
        permits: Vec::new(),
        given_red: false,
        examples: None,
        follows: None,
    };
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
        evidence: EvidenceRules::usual(),
        examiner: false,
        budget: Default::default(),
    };
    for line in lines {
        let (key, value) = line.split_once(' ').unwrap_or((line, ""));
        match key {
            "goal" => task.goal = value.into(),
            "kind" => task.kind = Some(enumerated(value)),
            "permit" => task.permits.push(value.into()),
            "given_red" => task.given_red = true,
            "example" => {
                let [path, run, content] = value.splitn(3, " | ").collect::<Vec<_>>()[..] else {
                    panic!("{value}")
                };
                task.examples =
                    Some(Examples { path: path.into(), run: run.into(), content: content.into() });
            }
            "level" => {
                let (gate, level) = value.split_once(' ').unwrap();
                policy.evidence.levels.insert(enumerated::<GateName>(gate), enumerated::<Level>(level));
            }
            "only" => {
                let on = |gate| (enumerated::<GateName>(gate), Level::On);
                let levels = value.split_whitespace().map(on).collect();
                policy.evidence = EvidenceRules { levels, otherwise: Level::Off };
            }
            "command" => policy.test_command = CommandLine::from_user(value).unwrap(),
            "strictness" => policy.strictness = enumerated(value),
            unknown => panic!("nothing of a task is called {unknown}"),
        }
    }
    (task, policy)
}

fn probes(lines: &[String]) -> Probes {
    let (dismissed, written): (Vec<_>, Vec<_>) =
        lines.iter().partition(|line| line.starts_with("dismissed "));
    let probe = |line: &String| {
        let [id, criterion, path, run, content] = line.splitn(5, " | ").collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        Probe {
            id: id.into(),
            criterion: criterion.into(),
            path: path.into(),
            run: run.into(),
            content: content.into(),
        }
    };
    let mut probes = Probes::new(written.into_iter().map(probe).collect());
    for line in dismissed {
        probes.dismiss(line.strip_prefix("dismissed ").unwrap());
    }
    probes
}

fn answer(line: &str) -> (String, AnswerKind, String) {
    let mut words = line.splitn(3, ' ');
    let (to, kind) = (words.next().unwrap(), words.next().unwrap());
    (to.to_owned(), enumerated(kind), words.next().unwrap_or("").to_owned())
}

fn findings(lines: &[String]) -> Vec<Finding> {
    let mut found = Findings::default();
    let (confirmed, raised): (Vec<_>, Vec<_>) = lines.iter().partition(|line| line.starts_with("confirmed "));
    let issues: Vec<Issue> = raised.into_iter().map(|line| issue(line)).collect();
    found.review(&issues, 1);
    for line in confirmed {
        let finding = found.get_mut(line.strip_prefix("confirmed ").unwrap()).unwrap();
        finding.status = Status::Confirmed { tests: vec!["tests/test_arbiter.py".into()] };
    }
    found.all().to_vec()
}

fn issue(line: &str) -> Issue {
    let [id, severity, text] = line.splitn(3, ' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
    let (text, how) = match text.strip_suffix(" ~") {
        Some(text) => (text, None),
        None => (text, Some(format!("run it and see {text}"))),
    };
    Issue {
        severity: enumerated(severity),
        description: text.into(),
        how_to_verify: how,
        issue_id: Some(id.into()),
        uncertainty: None,
        category: None,
    }
}
