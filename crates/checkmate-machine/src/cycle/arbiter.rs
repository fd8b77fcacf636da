//! A disputed finding is settled by a test, not by repetition.
//!
//! The maker writes a test that states the checker's claim, in new files of its own. The checker confirms that it
//! does before anybody knows the result. Then it runs on the candidate and, alone, on the tree before the change:
//! red on the candidate confirms the finding; green there and not green on the old tree refutes it; everything else
//! (it does not run, no test ran, it passes everywhere) is invalid.

use super::checks::said;
use super::{Cycle, Step};
use crate::effect::{Action, CheckKind, Layer, Purpose, Question};
use crate::event::{Answer, Candidate};
use crate::evidence::{self, Receipt, Signal, Standing};
use crate::finding::Status;
use crate::gate::paths::Allowlist;
use crate::ids::Role;
use crate::notice::{ArbiterIssue, ArbiterOutcome, ArbiterResult, IssueText, Notice};
use crate::patch;
use crate::prompt;
use crate::record::{Dispute, TurnEnd};
use crate::reply::{Problem, Reply, Shape};

/// How many tests a maker may write for one finding.
const ATTEMPTS: u32 = 2;

/// How far the arbiter is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stage {
    Writing(Dispute),
    Placing(Dispute),
    Asking(Dispute, Box<Candidate>),
    Confirming(Dispute, Box<Candidate>),
    Running(Dispute, Box<Candidate>),
}

impl Stage {
    pub(super) fn dispute(&self) -> &Dispute {
        match self {
            Stage::Writing(dispute)
            | Stage::Placing(dispute)
            | Stage::Asking(dispute, _)
            | Stage::Confirming(dispute, _)
            | Stage::Running(dispute, _) => dispute,
        }
    }
}

impl Cycle {
    /// Begins to settle a finding.
    pub(super) fn arbitrate(&mut self, id: &str) {
        let Some(finding) = self.findings.get_mut(id) else { return };
        finding.arbitrated = true;
        let issue = finding.issue.clone();
        self.status(format!(
            "Arbiter mode: `{id}` was raised in two consecutive reviews; a test will settle it."
        ));
        self.notices.push(Notice::ArbiterMode {
            issue: ArbiterIssue {
                issue_id: id.to_owned(),
                issue: IssueText {
                    severity: issue.severity,
                    description: issue.description,
                    how_to_verify: issue.how_to_verify,
                },
            },
        });
        self.ask_for_test(Dispute {
            finding: id.to_owned(),
            patch: String::new(),
            invalid: None,
            attempt: 1,
        });
    }

    fn ask_for_test(&mut self, dispute: Dispute) {
        self.step = Step::Arbiter(Stage::Writing(dispute));
        let call = self.call(Role::Builder, Purpose::ArbiterTest);
        let step = self.step.clone();
        self.emit(step, vec![call]);
    }

    fn ask_to_confirm(&mut self, dispute: Dispute, candidate: Box<Candidate>) {
        self.step = Step::Arbiter(Stage::Confirming(dispute, candidate));
        let call = self.call(Role::Reviewer, Purpose::ConfirmTest);
        let step = self.step.clone();
        self.emit(step, vec![call]);
    }

    pub(super) fn on_arbiter(&mut self, stage: Stage, answers: Vec<Answer>) {
        match stage {
            Stage::Writing(dispute) => self.on_test_written(dispute, answers),
            Stage::Placing(dispute) => self.on_test_placed(dispute, answers),
            Stage::Asking(dispute, candidate) => self.on_asked_about_test(dispute, candidate, &answers),
            Stage::Confirming(dispute, candidate) => self.on_test_confirmed(dispute, candidate, answers),
            Stage::Running(dispute, candidate) => self.on_test_ran(&dispute, &candidate, answers),
        }
    }

    fn on_test_written(&mut self, dispute: Dispute, answers: Vec<Answer>) {
        let Some(Answer::Called(called)) = answers.into_iter().next() else { return };
        let again = |cycle: &mut Self| cycle.ask_for_test(dispute.clone());
        let Some(Reply::Builder(reply)) = self.understand(Role::Builder, &called, Shape::Builder, again)
        else {
            return;
        };
        if reply.patch.trim().is_empty() {
            let problem = Problem(format!(
                "`patch` is empty; send the test as {} that adds a new file.",
                prompt::wanted_patch(&self.spec, Purpose::ArbiterTest)
            ));
            return self.send_back(Role::Builder, &called.text, vec![problem], again);
        }
        if let Some(reason) = self.touches_more_than_new_files(&reply.patch) {
            return self.invalid(Dispute { patch: reply.patch, ..dispute }, reason, None);
        }
        let parts =
            vec![Action::Apply { onto: self.present_tree(), base: self.base(), patch: reply.patch.clone() }];
        self.emit(Step::Arbiter(Stage::Placing(Dispute { patch: reply.patch, ..dispute })), parts);
    }

    /// A test that could edit existing files could also change what it is to judge.
    fn touches_more_than_new_files(&self, text: &str) -> Option<String> {
        let patch = match patch::parse(text) {
            Ok(patch) => patch,
            Err(rejections) => {
                return Some(rejections.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "));
            }
        };
        let known = |path: &str| {
            // What the change deleted counts too: a test that brings it back would undo a part of the change.
            let mut changed = self.candidate.iter().flat_map(|candidate| &candidate.changes);
            let mut prepared = self.prepared.iter().flat_map(|prepared| &prepared.files);
            changed.any(|change| change.path == path) || prepared.any(|file| file.path == path)
        };
        let existing = patch.paths().into_iter().find(|path| known(path))?;
        Some(format!("The test has to come in new files only, but the patch edits {existing}."))
    }

    fn on_test_placed(&mut self, dispute: Dispute, answers: Vec<Answer>) {
        let candidate = match answers.into_iter().next() {
            Some(Answer::Applied(candidate)) => candidate,
            Some(Answer::Rejected { reasons }) => return self.invalid(dispute, reasons.join(" "), None),
            Some(_) | None => return,
        };
        let refusals: Vec<String> = match Allowlist::new(&self.spec.policy.allow_paths) {
            Ok(allowlist) => {
                candidate.changes.iter().filter_map(|change| allowlist.verdict(change).err()).collect()
            }
            Err(error) => vec![error.to_string()],
        };
        if !refusals.is_empty() {
            return self.invalid(dispute, refusals.join(" "), None);
        }
        if self.spec.policy.approve_patches {
            let question = Question::Patch { diff: candidate.diff.clone() };
            let stage = Stage::Asking(dispute, Box::new(candidate));
            return self.emit(Step::Arbiter(stage), vec![Action::Ask(question)]);
        }
        self.have_confirmed(dispute, Box::new(candidate));
    }

    fn on_asked_about_test(&mut self, dispute: Dispute, candidate: Box<Candidate>, answers: &[Answer]) {
        match answers.first().map(said) {
            Some((true, _)) => self.have_confirmed(dispute, candidate),
            Some((false, text)) => {
                let reason = prompt::turn_end(&TurnEnd::Declined(text.to_owned()));
                self.invalid(dispute, reason, None);
            }
            None => {}
        }
    }

    fn have_confirmed(&mut self, dispute: Dispute, candidate: Box<Candidate>) {
        self.doing("The reviewer checks that the test states its claim.");
        self.ask_to_confirm(dispute, candidate);
    }

    fn on_test_confirmed(&mut self, dispute: Dispute, candidate: Box<Candidate>, answers: Vec<Answer>) {
        let Some(Answer::Called(called)) = answers.into_iter().next() else { return };
        let again = |cycle: &mut Self| cycle.ask_to_confirm(dispute.clone(), candidate.clone());
        let Some(Reply::Confirmation(confirmation)) =
            self.understand(Role::Reviewer, &called, Shape::Confirmation, again)
        else {
            return;
        };
        if !confirmation.states_claim {
            let reason =
                format!("The reviewer says that the test does not state its claim: {}", confirmation.reason);
            return self.invalid(dispute, reason, None);
        }
        let command = self.spec.policy.test_command.clone();
        let parts = vec![
            Action::Check {
                kind: CheckKind::Arbiter,
                command: command.clone(),
                tree: candidate.tree.clone(),
                layers: Vec::new(),
                vary: None,
                limit_s: None,
            },
            Action::Check {
                kind: CheckKind::ArbiterBase,
                command,
                tree: self.base(),
                layers: vec![Layer::Files {
                    from: candidate.tree.clone(),
                    paths: self.test_files(&candidate),
                }],
                vary: None,
                limit_s: None,
            },
        ];
        self.doing("Running the arbiter's test.");
        self.emit(Step::Arbiter(Stage::Running(dispute, candidate)), parts);
    }

    fn on_test_ran(&mut self, dispute: &Dispute, candidate: &Candidate, answers: Vec<Answer>) {
        let mut receipts = answers.into_iter().filter_map(Answer::ran);
        let (Some(after), Some(before)) = (receipts.next(), receipts.next()) else { return };
        self.keep(CheckKind::Arbiter, &after);
        self.keep(CheckKind::ArbiterBase, &before);
        let (outcome, explanation) = settle(self.evidence.as_ref(), &after, &before, self.baseline.as_ref());
        let passed = match outcome {
            ArbiterOutcome::BugConfirmed => Some(false),
            ArbiterOutcome::BugRefuted => Some(true),
            ArbiterOutcome::TestInvalid => return self.invalid(dispute.clone(), explanation, Some(&after)),
        };
        let tests = self.test_files(candidate);
        self.tell(dispute, passed, outcome, &explanation);
        self.settled_by.extend(tests.iter().cloned());
        self.candidate = Some(candidate.clone());
        self.last_tests = Some(after.clone());
        let confirmed = outcome == ArbiterOutcome::BugConfirmed;
        if let Some(finding) = self.findings.get_mut(&dispute.finding) {
            finding.status = if confirmed { Status::Confirmed { tests } } else { Status::Refuted { tests } };
        }
        if confirmed {
            self.confirmed_among = after.tests_ran().unwrap_or(0);
            self.evidence = None;
            return self.end_turn(TurnEnd::Confirmed(format!("`{}`: {explanation}", dispute.finding)));
        }
        self.evidence = Some(after);
        self.after_review();
    }

    /// A test that settles nothing is written once more; after that the finding stands as it is.
    fn invalid(&mut self, dispute: Dispute, reason: String, ran: Option<&Receipt>) {
        self.tell(&dispute, ran.map(passed), ArbiterOutcome::TestInvalid, &reason);
        self.correction = None;
        if dispute.attempt < ATTEMPTS {
            let dispute = Dispute { invalid: Some(reason), attempt: dispute.attempt + 1, ..dispute };
            return self.ask_for_test(dispute);
        }
        self.after_review();
    }

    fn tell(
        &mut self,
        dispute: &Dispute,
        test_passed: Option<bool>,
        outcome: ArbiterOutcome,
        explanation: &str,
    ) {
        self.notices.push(Notice::ArbiterResult {
            result: ArbiterResult {
                test_added: outcome != ArbiterOutcome::TestInvalid,
                test_patch: Some(dispute.patch.clone()).filter(|patch| !patch.is_empty()),
                test_passed,
                outcome,
                explanation: explanation.to_owned(),
            },
        });
    }

    /// Names the tests that settled a finding and are not in a new candidate as they were: without its test a
    /// confirmed finding would look mended.
    pub(super) fn lost_tests(&self, new: &Candidate) -> Vec<String> {
        let Some(old) = &self.candidate else { return Vec::new() };
        self.settled_by
            .iter()
            .filter(|path| part_of(&old.diff, path) != part_of(&new.diff, path))
            .map(|path| {
                format!(
                    "The test {path} settled a finding and has to stay as it is; change the code instead."
                )
            })
            .collect()
    }

    /// Says that a confirmed finding is not settled, because fewer tests ran than when it was confirmed: green tests
    /// tell nothing about a finding whose test was left out.
    pub(super) fn left_out(&self, tests: &Receipt) -> Option<String> {
        let confirmed =
            self.findings.all().iter().find(|finding| matches!(finding.status, Status::Confirmed { .. }))?;
        let (ran, before) = (tests.tests_ran().unwrap_or(0), self.confirmed_among);
        (ran < before).then(|| {
            format!(
                "{ran} tests ran, but {before} did when one of them confirmed `{}`. Let all of them run, that one too.",
                confirmed.id
            )
        })
    }

    /// Names the files that a candidate with the arbiter's test has beyond the candidate under review.
    fn test_files(&self, with_test: &Candidate) -> Vec<String> {
        let old: Vec<&str> = self
            .candidate
            .iter()
            .flat_map(|candidate| &candidate.changes)
            .map(|change| change.path.as_str())
            .collect();
        with_test
            .changes
            .iter()
            .map(|change| change.path.clone())
            .filter(|path| !old.contains(&path.as_str()))
            .collect()
    }
}

/// Returns what a diff in git's form says about one path, without the header's hashes.
fn part_of<'a>(diff: &'a str, path: &str) -> Vec<&'a str> {
    let head = format!("diff --git a/{path} b/{path}");
    diff.lines()
        .skip_while(|line| *line != head)
        .skip(1)
        .take_while(|line| !line.starts_with("diff --git "))
        .filter(|line| !line.starts_with("index "))
        .collect()
}

fn passed(receipt: &Receipt) -> bool {
    matches!(receipt.signal(), Signal::Pass { .. })
}

/// Tells whether everything that failed has the name of something that failed before the change.
fn has_only_known_names(after: &Receipt, baseline: Option<&Receipt>) -> bool {
    let reports = after.report.as_ref().zip(baseline.and_then(|baseline| baseline.report.as_ref()));
    reports.is_some_and(|(new, old)| {
        !new.failing.is_empty() && new.failing.iter().all(|name| old.failing.contains(name))
    })
}

/// Judges the facts: `green` is the candidate without the test, `after` with it; `before` is the old tree with only
/// the test, `baseline` the old tree.
fn settle(
    green: Option<&Receipt>,
    after: &Receipt,
    before: &Receipt,
    baseline: Option<&Receipt>,
) -> (ArbiterOutcome, String) {
    use ArbiterOutcome::{BugConfirmed, BugRefuted, TestInvalid};

    let ran = |receipt: Option<&Receipt>| receipt.and_then(Receipt::tests_ran);
    let (Some(with), Some(without)) = (after.tests_ran(), ran(green)) else {
        return (
            TestInvalid,
            format!(
                "`{}` reports no test counts with the new test in place, so it cannot be told whether the test ran. It may not compile or load.",
                after.command()
            ),
        );
    };
    let failed = |receipt: Option<&Receipt>| {
        receipt.and_then(|receipt| receipt.report.as_ref()).map_or(0, |report| report.failed)
    };
    let errors = |receipt: Option<&Receipt>| {
        receipt.and_then(|receipt| receipt.report.as_ref()).map_or(0, |report| report.errors)
    };
    if errors(Some(after)) > errors(green) {
        return (TestInvalid, "The test could not be loaded, so it states nothing.".into());
    }
    if with <= without {
        return (
            TestInvalid,
            format!("The test was not executed: {with} tests ran with it and {without} without."),
        );
    }
    match after.signal() {
        // Next turn its failure could not be told from what was red before, and would pass as that.
        Signal::Fail if failed(Some(after)) > failed(green) && has_only_known_names(after, baseline) => (
            TestInvalid,
            "The test has the name of a test that failed before the change; give it a name of its own."
                .into(),
        ),
        Signal::Fail if failed(Some(after)) > failed(green) => {
            (BugConfirmed, "The test that states the claim is red on the candidate.".into())
        }
        Signal::Fail if evidence::standing(after, baseline) == Standing::Red => (
            TestInvalid,
            format!(
                "With the test in place `{}` ends with an error, though no further test fails.",
                after.command()
            ),
        ),
        Signal::Fail | Signal::Pass { .. } => {
            if let Signal::Infra { reason } = before.signal() {
                return (
                    TestInvalid,
                    format!("The test could not be held against the tree before the change. {reason}"),
                );
            }
            let old_ran = before.tests_ran().unwrap_or(0);
            let base_ran = ran(baseline).unwrap_or(0);
            let green_on_old = failed(Some(before)) <= failed(baseline)
                && errors(Some(before)) <= errors(baseline)
                && old_ran > base_ran;
            if green_on_old {
                (
                    TestInvalid,
                    "The test passes on the tree before the change as well, so it does not depend on the change.".into(),
                )
            } else {
                (BugRefuted, "The test that states the claim is green on the candidate.".into())
            }
        }
        Signal::Flaky => (TestInvalid, "The test passes and fails on the same tree.".into()),
        Signal::Absent => (TestInvalid, "No test ran.".into()),
        Signal::Infra { reason } => (TestInvalid, reason),
    }
}
