//! The maker's half of a turn: what it is shown, what it answers.

use super::exam::After;
use super::rounds::{Rounds, Summary};
use super::{Cycle, Step};
use crate::effect::{Action, CheckKind, Purpose};
use crate::event::{Answer, Called, FileText};
use crate::evidence::Signal;
use crate::excerpt;
use crate::gate::paths;
use crate::ids::Role;
use crate::notice::Notice;
use crate::outcome::StoppedBy;
use crate::patch;
use crate::prompt;
use crate::record::{TurnEnd, TurnRecord};
use crate::reply::{AnswerKind, BuilderReply, Problem, Reply, Shape};
use crate::spec::{Level, Product};
use crate::task::Permission;
use crate::verdict::{self, GateName, plan};

/// How often a maker may ask for files in one turn.
const READS: u32 = 4;
/// How many files one request may name.
const FILES: usize = 20;
/// How many files a prompt shows without being asked.
const SHOWN: usize = 8;

impl Cycle {
    pub(super) fn on_prepared(&mut self, answers: Vec<Answer>) {
        let Some(Answer::Prepared(prepared)) = answers.into_iter().next() else { return };
        let commit: String = prepared.head.as_str().chars().take(10).collect();
        self.status(format!("Working on {} files, from the commit {commit}.", prepared.files.len()));
        for note in &prepared.notes {
            self.notices.push(Notice::Status { message: note.clone(), passing: false });
        }
        self.prepared = Some(prepared);
        self.baseline = None;
        self.candidate = None;
        self.evidence = None;
        self.verdict = None;
        self.settled_by.clear();
        self.confirmed_among = 0;
        if let Product::Given { patch } = self.spec.product.clone() {
            return self.apply_given(patch);
        }
        self.begin_turn();
    }

    /// Begins the next turn: first everything that its prompt shows.
    pub(super) fn begin_turn(&mut self) {
        self.turn += 1;
        self.rounds = Rounds { landings: self.rounds.landings, ..Rounds::default() };
        self.correction = None;
        self.notices.push(Notice::TurnStarted { turn: self.turn, of: self.spec.policy.max_iterations });
        let mut parts = Vec::new();
        let summary = self.needs_summary();
        if summary {
            self.doing("Summarising the earlier turns.");
            parts.push(self.call(Role::Builder, Purpose::Summarise));
        }
        let paths = self.paths_to_show();
        if !paths.is_empty() {
            parts.push(Action::Read { tree: self.present_tree(), paths });
        }
        self.shown.clear();
        if parts.is_empty() {
            self.ask_builder();
        } else {
            self.emit(Step::Gathering, parts);
        }
    }

    /// Ends the turn and begins the next, or ends the run at the limit.
    pub(super) fn end_turn(&mut self, end: TurnEnd) {
        // A moderator's word after the last turn can lead to more evidence, and that ends the same turn once more.
        self.turns.retain(|record| record.turn != self.turn);
        self.turns.push(TurnRecord {
            turn: self.turn,
            reply: self.reply.clone().unwrap_or_default(),
            refusals: std::mem::take(&mut self.refusals),
            end,
        });
        if self.turn < self.spec.policy.max_iterations {
            self.begin_turn();
        } else {
            self.at_the_limit();
        }
    }

    pub(super) fn on_gathered(&mut self, answers: Vec<Answer>) {
        for answer in answers {
            if let Answer::Called(called) = answer {
                self.take_summary(&called);
            } else if let Answer::Files { files } = answer {
                self.shown = files;
            }
        }
        self.ask_builder();
    }

    /// Asks the maker; the baseline runs beside its first call.
    pub(super) fn ask_builder(&mut self) {
        self.told = self.comments.len();
        let parts = self.building();
        self.emit(Step::Building, parts);
        self.working(Role::Builder);
    }

    /// Returns the call of the maker, and behind it the baseline where it is not known yet.
    fn building(&self) -> Vec<Action> {
        let mut parts = vec![self.call(Role::Builder, Purpose::Build)];
        if self.baseline.is_none() {
            parts.push(self.baseline_check());
        }
        parts.extend(self.examiner_call());
        parts
    }

    pub(super) fn on_built(&mut self, answers: Vec<Answer>) {
        let mut called = None;
        for answer in answers {
            if let Answer::Called(reply) = answer {
                // The builder's part comes first.
                match called {
                    None => called = Some(reply),
                    Some(_) => self.take_probes(&reply),
                }
            } else if let Answer::Ran(receipt) = answer {
                self.keep(CheckKind::Baseline, &receipt);
                self.baseline = Some(receipt);
            }
        }
        if let Some(reason) = self.unusable_baseline() {
            return self.wait_for_baseline(called, reason);
        }
        if let Some(called) = called {
            self.take_reply(&called);
        }
    }

    fn baseline_check(&self) -> Action {
        Action::Check {
            kind: CheckKind::Baseline,
            command: self.spec.policy.test_command.clone(),
            tree: self.base(),
            layers: Vec::new(),
            vary: None,
            limit_s: None,
        }
    }

    /// Ends the run with an error from which `Retry` runs the baseline again; the maker's reply is kept.
    fn wait_for_baseline(&mut self, called: Option<Called>, reason: String) {
        self.baseline = None;
        let parts = self.building();
        self.emit(Step::Building, parts);
        self.answers.extend(called.map(|called| (0, Answer::Called(called))));
        self.fail(1, reason);
    }

    pub(super) fn on_read_for_builder(&mut self, answers: Vec<Answer>) {
        if let Some(Answer::Files { files }) = answers.into_iter().next() {
            self.show(files);
        }
        self.ask_builder();
    }

    /// Says at once that the tests are red before any change, and what that means.
    pub(super) fn tell_red_baseline(&mut self, part: u32, answer: &Answer) {
        let part = self.effect.as_ref().and_then(|effect| effect.parts.get(part as usize));
        let (Some(Action::Check { kind: CheckKind::Baseline, .. }), Answer::Ran(receipt)) = (part, answer)
        else {
            return;
        };
        if receipt.signal() == Signal::Fail {
            self.status(format!(
                "The tests are red before any change: {} These are not charged to the builder, and they have to be named \
                 by the runner to be told from new failures.",
                verdict::red_message(receipt)
            ));
        }
    }

    /// A test command that cannot run on the unchanged tree will tell nothing about a change either.
    fn unusable_baseline(&self) -> Option<String> {
        match self.baseline.as_ref()?.signal() {
            Signal::Infra { reason } => Some(format!(
                "{reason} This happened on the tree before any change, so no candidate could be judged. If the command \
                 is wrong, correct `test_command` in .dualagent.json and start a new run; if it lacks something of this \
                 machine, provide it and go on with `checkmate resume` (`link_paths` brings in what git does not track)."
            )),
            Signal::Pass { .. } | Signal::Fail | Signal::Absent | Signal::Flaky => None,
        }
    }

    fn take_reply(&mut self, called: &Called) {
        if let Product::Document { path } = self.spec.product.clone() {
            return self.take_document(called, path);
        }
        let Some(Reply::Builder(reply)) =
            self.understand(Role::Builder, called, Shape::Builder, Self::ask_builder)
        else {
            return;
        };
        if !reply.files_needed.is_empty() {
            return self.read_for_builder(&called.text, &reply);
        }
        self.note_answers(&reply);
        self.notices.push(Notice::BuilderReady {
            reply: Box::new(BuilderReply { patch: String::new(), ..reply.clone() }),
            turn: self.turn,
        });
        if let Some(conflict) = &reply.conflict {
            let reason = format!(
                "The builder says that the goal and the tests contradict each other: {} Its evidence: {} Decide which \
                 of them is right, correct it, and start a new run.",
                excerpt::sentence(&conflict.reason),
                excerpt::sentence(&conflict.evidence)
            );
            self.reply = Some(reply);
            return self.stop(StoppedBy::GoalConflict, reason);
        }
        if let Some(dispute) = self.disputed_probe(&reply) {
            return self.judge_probe(&dispute, called, reply);
        }
        self.take_patch(called, reply);
    }

    pub(super) fn take_patch(&mut self, called: &Called, reply: BuilderReply) {
        let justified = reply.answers.iter().any(|answer| match answer.answer {
            AnswerKind::Justified | AnswerKind::Disagree => true,
            AnswerKind::Fixed => false,
        });
        let repeated = self.oscillation.repeated_patch(&reply.patch);
        if reply.patch.trim().is_empty() || (repeated.is_some() && (justified || self.gave_reasons())) {
            // Answers without a new change: the candidate stands, and the checker weighs the answers.
            let Some(evidence) = self.evidence.clone() else {
                let problem = Problem(format!(
                    "`patch` is empty or the same as before, and there is no green candidate that it could stand for; \
                     send {}.",
                    prompt::wanted_patch(&self.spec, Purpose::Build)
                ));
                return self.send_back(Role::Builder, &called.text, vec![problem], Self::ask_builder);
            };
            self.reply = Some(reply);
            self.last_tests = Some(evidence);
            return self.examine(After::Green { without_exception: false });
        }
        // Where manifests are read, the gate judges what changed in them and asks for the reasons.
        let judged = self.examines() && self.spec.policy.evidence.level(GateName::Dependencies) != Level::Off;
        let permitted = judged || self.reading.permits.has(Permission::Deps);
        if let Some(problem) = unexplained_dependencies(&reply).filter(|_| !permitted) {
            return self.send_back(Role::Builder, &called.text, vec![problem], Self::ask_builder);
        }
        let patch = reply.patch.clone();
        self.reply = Some(reply);
        let unseen = self.edits_of_secrets(&patch);
        if !unseen.is_empty() {
            self.status(format!("The change was refused: {}", unseen.join(" ")));
            return self.end_turn(TurnEnd::NotAllowed(unseen));
        }
        if let Some(stuck) = repeated {
            return self.stuck(stuck);
        }
        self.oscillation.propose(self.turn, &patch);
        self.emit(
            Step::Applying,
            vec![Action::Apply { onto: self.present_tree(), base: self.base(), patch }],
        );
    }

    /// Tells whether an objection that ended the turn before is met by what the maker says now, without a new change.
    fn gave_reasons(&self) -> bool {
        let Some(TurnEnd::Objected(before)) = self.turns.last().map(|turn| &turn.end) else { return false };
        let now = self.exhibit().map(|exhibit| plan::objections(&exhibit)).unwrap_or_default();
        before.iter().any(|objection| now.iter().all(|one| one.id != objection.id))
    }

    /// Refuses edits of files that agents are not shown, before anything is held against them: a hunk that does not
    /// match is answered with the file's real lines, and one that does goes into the diff that the checker reads.
    pub(super) fn edits_of_secrets(&self, text: &str) -> Vec<String> {
        let Ok(patch) = patch::parse(text) else { return Vec::new() };
        let exists = |path: &str| {
            // Agents may make such a file as an example; a patch that nobody reviews may not.
            self.is_given()
                || self.prepared.iter().flat_map(|prepared| &prepared.files).any(|file| file.path == path)
        };
        let edited = patch.paths().into_iter().filter(|path| exists(path));
        edited.filter_map(|path| paths::check_read(path).err()).collect()
    }

    fn take_document(&mut self, called: &Called, path: String) {
        let Some(Reply::Text(text)) = self.understand(Role::Builder, called, Shape::Text, Self::ask_builder)
        else {
            return;
        };
        self.reply = Some(BuilderReply { patch: text.clone(), ..BuilderReply::default() });
        self.emit(Step::Applying, vec![Action::Store { base: self.base(), path, text }]);
    }

    fn read_for_builder(&mut self, text: &str, reply: &BuilderReply) {
        if self.rounds.reads >= READS {
            let problem = Problem(format!(
                "You asked for files {READS} times in this turn already; answer now with what you have seen, without \
                 `files_needed`."
            ));
            return self.send_back(Role::Builder, text, vec![problem], Self::ask_builder);
        }
        self.rounds.reads += 1;
        self.status(format!("The builder asks to read {}.", reply.files_needed.join(", ")));
        let mut paths = Vec::new();
        for path in distinct(&reply.files_needed).into_iter().take(FILES).map(str::to_owned) {
            match paths::check_read(&path) {
                Ok(()) => paths.push(path),
                Err(reason) => {
                    self.status(&*reason);
                    self.show(vec![FileText { path, text: Err(reason) }]);
                }
            }
        }
        if paths.is_empty() {
            return self.ask_builder();
        }
        self.asked.extend(paths.iter().cloned());
        self.emit(Step::ReadingForBuilder, vec![Action::Read { tree: self.present_tree(), paths }]);
    }

    /// Adds files to the next prompt, the latest text of a path winning.
    fn show(&mut self, files: Vec<FileText>) {
        self.shown.retain(|old| files.iter().all(|new| new.path != old.path));
        self.shown.extend(files);
    }

    /// Takes down what the maker says to findings and to the tests that the checker misses.
    fn note_answers(&mut self, reply: &BuilderReply) {
        self.said.extend(reply.answers.iter().cloned());
        self.risks.extend(reply.risks.iter().cloned());
        for answer in &reply.answers {
            if let Some(finding) = self.findings.get_mut(&answer.to) {
                finding.answers.push(answer.clone());
            }
            if let Some(test) = self.extra_tests.iter_mut().find(|test| test.id == answer.to) {
                test.answer = Some(answer.text.clone());
            }
        }
        for test in self.extra_tests.iter_mut().filter(|test| test.answer.is_none()) {
            test.answer = reply.tests.iter().find(|written| prompt::is_about(written, &test.text)).cloned();
        }
    }

    /// Names the files that the prompt of this turn shows: what the goal names, what changed, what was asked for.
    fn paths_to_show(&self) -> Vec<String> {
        let Some(prepared) = &self.prepared else { return Vec::new() };
        let mut paths = prompt::named_paths(&self.spec.task.goal, &prepared.files);
        let changed = self.candidate.iter().flat_map(|candidate| &candidate.changes);
        paths.extend(changed.map(|change| change.path.clone()));
        paths.extend(self.asked.iter().cloned());
        let mut seen = std::collections::BTreeSet::new();
        paths.retain(|path| paths::check_read(path).is_ok() && seen.insert(path.clone()));
        paths.truncate(SHOWN);
        paths
    }

    fn needs_summary(&self) -> bool {
        let from = self.summary.as_ref().map_or(0, |summary| summary.turns);
        // The latest turn is always shown whole, so one unsummarised turn is no history yet.
        if self.turns.len() < from + 2 {
            return false;
        }
        let history = prompt::history(&self.turns[from..]);
        excerpt::tokens(&history) > self.spec.policy.context_summary_threshold as usize
    }

    fn take_summary(&mut self, called: &Called) {
        self.account(Role::Builder, called);
        let turns = self.turns.len() - 1;
        // A reply that is no summary (empty, or a whole change) is replaced by a mechanical one: it may cost
        // detail, but never a turn.
        let text = match crate::reply::parse(&called.text, Shape::Text) {
            (Some(Reply::Text(text)), problems)
                if problems.is_empty() && !text.trim_start().starts_with('{') =>
            {
                text
            }
            _ => prompt::history(&self.turns[..turns]),
        };
        let limit = (self.spec.policy.context_summary_threshold as usize).max(200);
        self.summary = Some(Summary { turns, text: excerpt::head_and_tail(&text, limit) });
    }
}

/// Objects to a change of what the project depends on that the maker keeps silent about in `risks`.
fn unexplained_dependencies(reply: &BuilderReply) -> Option<Problem> {
    const MANIFESTS: [&str; 12] = [
        "build.gradle",
        "build.gradle.kts",
        "cargo.toml",
        "composer.json",
        "gemfile",
        "go.mod",
        "package.json",
        "pipfile",
        "pom.xml",
        "pyproject.toml",
        "requirements.txt",
        "setup.py",
    ];
    let patch = patch::parse(&reply.patch).ok()?;
    let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let manifest = patch.paths().into_iter().find(|path| MANIFESTS.contains(&name(path).as_str()))?;
    let explained = reply
        .risks
        .iter()
        .map(|risk| risk.to_lowercase())
        .any(|risk| risk.contains("depend") || risk.contains(&name(manifest)));
    (!explained).then(|| {
        Problem(format!(
            "The patch changes `{manifest}`, but `risks` does not say why. Add no dependency unless the goal demands it; \
             justify in `risks` what the project would depend on from now on, or say that no dependency changes."
        ))
    })
}

/// Returns the commands of a reply that are worth asking the gate about: each once.
pub(super) fn distinct(lines: &[String]) -> Vec<&str> {
    let mut seen = std::collections::BTreeSet::new();
    lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty() && seen.insert(*line)).collect()
}
