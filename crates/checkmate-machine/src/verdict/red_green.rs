//! A new behaviour shows in a test that is red without it: on the old code, or where names are new, on stubs of them.

use super::GateName;
use super::evidence::{Evidence, Opinion, Reddened, Want, added_lines, listed, reddened};
use crate::effect::CheckKind;
use crate::evidence::{Ended, Receipt, Signal, TestReport};
use crate::facts::FileRole;
use crate::spec::{Level, TaskKind};
use crate::task::identifiers;

pub(super) fn wants(evidence: &Evidence<'_>) -> Vec<Want> {
    if !applies(evidence) {
        return Vec::new();
    }
    if !turned_green(evidence).is_empty() {
        let kind = CheckKind::Reverted;
        let open = doubtful(evidence) && evidence.receipt(kind).is_none();
        return open.then(|| want(evidence, kind)).into_iter().collect();
    }
    next(evidence).map(|kind| want(evidence, kind)).into_iter().collect()
}

pub(super) fn opinion(evidence: &Evidence<'_>) -> Opinion {
    if !applies(evidence) {
        return Opinion::Absent("The task asks for no new behaviour.".into());
    }
    if !changes_more_than_tests(evidence) {
        return Opinion::Blocked(
            "Nothing but tests, comments and text changed, so no behaviour did. Change the code.".into(),
        );
    }
    let turned = turned_green(evidence);
    if !turned.is_empty() {
        if doubtful(evidence) && evidence.receipt(CheckKind::Reverted).is_none() {
            return Opinion::Pending(format!("It needs {}.", name(CheckKind::Reverted)));
        }
        return given(evidence, &turned);
    }
    if evidence.task.given_red {
        return Opinion::Blocked(
            "The task says that failing tests are there already, but none of them turned green.".into(),
        );
    }
    if let Some(kind) = next(evidence) {
        return Opinion::Pending(format!("It needs {}.", name(kind)));
    }
    let runs: Vec<(CheckKind, Reddened)> = [CheckKind::NewTests, CheckKind::Reverted]
        .into_iter()
        .filter_map(|kind| Some((kind, red(evidence, evidence.receipt(kind)?))))
        .collect();
    // With stubs in their place the functions are there, but wrong: whoever brings his own for want of them is red then.
    let stubbed = |(kind, run): &_| *kind == CheckKind::Reverted && matches!(run, Reddened::ByTest(_));
    let green = |(kind, run): &_| *kind == CheckKind::NewTests && *run == Reddened::Not;
    if runs.iter().any(stubbed) && runs.iter().any(green) && ran_whole(evidence) && brings(evidence) {
        return object(
            evidence,
            "The new tests pass on the old code as well: where what they test is missing, they put something else in its \
             place. Let them fail without the change.",
        );
    }
    let by_test = runs.iter().find_map(|(kind, run)| match run {
        Reddened::ByTest(names) => Some((*kind, names)),
        Reddened::ByLoading | Reddened::Not | Reddened::Unknown(_) => None,
    });
    if by_test.is_some() && skips_more(evidence) {
        return Opinion::Blocked(
            "More tests are skipped on the change than before it, and no more pass. Let the new tests run."
                .into(),
        );
    }
    if let Some((kind, names)) = by_test {
        let on = if kind == CheckKind::Reverted {
            "with the changed functions taken back"
        } else {
            "on the old code"
        };
        let names =
            if names.is_empty() { "a test".to_owned() } else { listed(names.iter().map(String::as_str)) };
        return Opinion::Passed(format!("Red {on}, green on the change: {names}."));
    }
    if let Some((_, Reddened::Unknown(reason))) =
        runs.iter().find(|(_, run)| matches!(run, Reddened::Unknown(_)))
    {
        return Opinion::Blocked(format!(
            "Whether a test is red without the change could not be seen. {reason}"
        ));
    }
    let loading = runs.iter().any(|(_, run)| *run == Reddened::ByLoading);
    let green = runs.iter().any(|(_, run)| *run == Reddened::Not);
    match (loading, green) {
        (true, false) => Opinion::Passed(
            "The new tests do not even load without the change; no test failed by itself.".into(),
        ),
        (true, true) => object(
            evidence,
            "The new tests miss nothing but a name on the old code: with empty functions of that name they pass. Assert \
             what the functions return or do.",
        ),
        (false, _) if runs.is_empty() && more_tests(evidence) => {
            let text = "More tests ran than before, but which of them are new cannot be told from their files, so nothing \
                        shows that one fails without the change. Say which one does and how that can be seen.";
            Opinion::Objected(vec![evidence.objection(GateName::RedGreen, "unknown tests", text.into())])
        }
        (false, _) => {
            let text = if runs.is_empty() {
                "The change adds or changes no test that runs. Add one that fails without the change and passes with it."
            } else {
                "No new or changed test fails without the change: they all pass on the old code as well, or do not run. \
                 Add one that fails without the change and passes with it."
            };
            object(evidence, text)
        }
    }
}

/// Returns the names of the tests that are red without the change and green on it; the test command's where its runner
/// gives no names.
pub(super) fn shown(evidence: &Evidence<'_>) -> Vec<String> {
    if !applies(evidence) || evidence.tests.is_none() {
        return Vec::new();
    }
    let turned = turned_green(evidence);
    if !turned.is_empty() {
        return turned;
    }
    let runs = [CheckKind::NewTests, CheckKind::Reverted].into_iter().filter_map(|kind| {
        match red(evidence, evidence.receipt(kind)?) {
            Reddened::ByTest(names) => Some(names),
            Reddened::ByLoading | Reddened::Not | Reddened::Unknown(_) => None,
        }
    });
    match runs.into_iter().next() {
        Some(names) if names.is_empty() => vec![evidence.policy.test_command.text.clone()],
        Some(names) => names,
        None => Vec::new(),
    }
}

/// Tells whether the task asks for a new behaviour, or does not say.
pub(super) fn applies(evidence: &Evidence<'_>) -> bool {
    match evidence.kind.kind {
        Some(TaskKind::Feature | TaskKind::Bugfix) | None => true,
        Some(TaskKind::Refactor | TaskKind::Docs | TaskKind::Tests | TaskKind::Chore) => false,
    }
}

/// Tells whether the change turns tests off rather than green.
fn skips_more(evidence: &Evidence<'_>) -> bool {
    let report = |receipt: Option<&Receipt>| receipt.and_then(|receipt| receipt.report.clone());
    let (Some(before), Some(after)) = (report(evidence.baseline), report(evidence.tests)) else {
        return false;
    };
    after.skipped > before.skipped && after.passed <= before.passed
}

/// Tells whether anything changed effectively beside tests and text, as far as files were read.
fn changes_more_than_tests(evidence: &Evidence<'_>) -> bool {
    let files = &evidence.inspection.files;
    files.is_empty()
        || files.iter().any(|file| match file.role {
            FileRole::Test | FileRole::TestSupport | FileRole::Docs => false,
            FileRole::Code
            | FileRole::TestConfig
            | FileRole::BuildConfig
            | FileRole::Ci
            | FileRole::Manifest
            | FileRole::Lock
            | FileRole::Environment
            | FileRole::Git
            | FileRole::Other => file.effective,
        })
}

/// Tells whether more tests passed than before the change.
fn more_tests(evidence: &Evidence<'_>) -> bool {
    let passed = |receipt: Option<&Receipt>| {
        receipt.and_then(|receipt| receipt.report.as_ref()).map_or(0, |report| report.passed)
    };
    passed(evidence.tests) > passed(evidence.baseline)
}

/// A task that says in so many words what it is leaves no way out; where the goal only hints at it, a reason is heard.
fn object(evidence: &Evidence<'_>, text: &str) -> Opinion {
    if evidence.kind.sure {
        return Opinion::Blocked(text.into());
    }
    Opinion::Objected(vec![evidence.objection(GateName::RedGreen, "no red test", text.into())])
}

/// Returns the next run that could show a red test; nothing more is run once one showed it.
fn next(evidence: &Evidence<'_>) -> Option<CheckKind> {
    let inspection = evidence.inspection;
    let (tests, code) = (!inspection.new_tests.is_empty(), !inspection.reverted.is_empty());
    // A new name is missing on the old code whatever a test asserts; a stub of it tells more.
    let first = if code && (!inspection.added_symbols.is_empty() || !tests) {
        CheckKind::Reverted
    } else if tests {
        CheckKind::NewTests
    } else {
        return None;
    };
    let second = if first == CheckKind::Reverted {
        tests.then_some(CheckKind::NewTests)
    } else {
        code.then_some(CheckKind::Reverted)
    };
    let Some(receipt) = evidence.receipt(first) else { return Some(first) };
    let again = match (first, red(evidence, receipt)) {
        (CheckKind::Reverted, Reddened::ByTest(_)) => brings(evidence),
        (_, Reddened::ByTest(_)) => false,
        // With old bodies and stubs nothing was red; the old code may show what they cannot take back.
        (CheckKind::Reverted, Reddened::Not) | (_, Reddened::ByLoading | Reddened::Unknown(_)) => true,
        (_, Reddened::Not) => false,
    };
    second.filter(|kind| again && evidence.receipt(*kind).is_none())
}

/// Tells whether the new tests ran on the old code at all: as many as on the change, as far as their runner tells.
fn ran_whole(evidence: &Evidence<'_>) -> bool {
    let ran =
        |receipt: Option<&Receipt>| receipt.and_then(|receipt| receipt.report.as_ref()).map(TestReport::ran);
    ran(evidence.receipt(CheckKind::NewTests)) >= ran(evidence.tests)
}

/// Tells whether new tests may have something of their own for what is missing: `Bus.prototype.once ?? ((fn) => fn())`, an
/// import whose failure is caught. Only a run on the old code tells whether they do.
fn brings(evidence: &Evidence<'_>) -> bool {
    const WAYS: [&str; 9] =
        ["??", "||", "hasattr", "getattr", "setattr", "typeof ", "except ", "catch", "suppress"];
    // These are so common that they count only beside a name that is new.
    const COMMON: [&str; 3] = ["default=", " or ", " in "];
    let added = &evidence.inspection.added_symbols;
    let is_test = |path: &str| {
        let file = evidence.inspection.files.iter().find(|file| file.path == path);
        file.is_some_and(|file| matches!(file.role, FileRole::Test | FileRole::TestSupport))
    };
    let own = |line: &str| {
        let has = |ways: &[&str]| ways.iter().any(|way| line.contains(way));
        let named = added.iter().any(|name| line.contains(name.rsplit(['.', '#']).next().unwrap_or(name)));
        let comment = ["//", "#", "*", "/*"].iter().any(|start| line.trim_start().starts_with(start));
        !comment && (has(&WAYS) || (named && has(&COMMON)))
    };
    !added.is_empty()
        && added_lines(&evidence.candidate.diff).into_iter().any(|(path, _, line)| is_test(path) && own(line))
}

fn want(evidence: &Evidence<'_>, kind: CheckKind) -> Want {
    let want = if kind == CheckKind::Reverted {
        evidence.want_tests(kind, &evidence.candidate.tree, &evidence.inspection.reverted)
    } else {
        evidence.want_tests(kind, evidence.base, &evidence.inspection.new_tests)
    };
    Want { limit_s: Some(evidence.generous_s()), ..want }
}

fn name(kind: CheckKind) -> &'static str {
    if kind == CheckKind::Reverted {
        "a run with the changed functions taken back"
    } else {
        "a run of the new tests on the old code"
    }
}

/// Holds a run on other code against the baseline. A run that hangs or dies where the baseline did not is red as well: that
/// is how an endless loop shows.
fn red(evidence: &Evidence<'_>, run: &Receipt) -> Reddened {
    let ends = |receipt: &Receipt| matches!(receipt.ended, Ended::Exited { .. });
    if matches!(run.ended, Ended::TimedOut { .. } | Ended::Killed { .. })
        && evidence.baseline.is_some_and(ends)
    {
        return Reddened::ByTest(Vec::new());
    }
    reddened(run, evidence.baseline)
}

/// Returns the tests that were red before and are green now, as their old sources have them; the test command itself where
/// its runner gives no names. A test that nothing loads any more turned no colour, and one that is red with the changed
/// functions taken back as well did not turn by them.
fn turned_green(evidence: &Evidence<'_>) -> Vec<String> {
    let (Some(baseline), Some(after)) = (evidence.baseline, judged(evidence)) else { return Vec::new() };
    let Some(before) = &baseline.report else {
        let turned = baseline.signal() == Signal::Fail && matches!(after.signal(), Signal::Pass { .. });
        return turned.then(|| evidence.policy.test_command.text.clone()).into_iter().collect();
    };
    // A test that is skipped now is not green.
    let sound = |report: &&TestReport| report.errors <= before.errors && report.skipped <= before.skipped;
    let Some(report) = after.report.as_ref().filter(sound) else {
        return Vec::new();
    };
    let without = doubtful(evidence).then(|| evidence.receipt(CheckKind::Reverted)).flatten();
    let still_green = |name: &String| match without {
        None => false,
        Some(without) => match &without.report {
            Some(report) => report.errors <= before.errors && !report.failing.contains(name),
            None => false,
        },
    };
    let turned = before.failing.iter().filter(|name| !report.failing.contains(name) && !still_green(name));
    turned.cloned().collect()
}

/// Tells whether a test that turned green may have done so by chance: the task does not speak of red tests, and the
/// changed functions can be taken back to see.
fn doubtful(evidence: &Evidence<'_>) -> bool {
    !evidence.task.given_red && !evidence.inspection.reverted.is_empty()
}

/// Returns the run of the old tests on the new code.
fn judged<'a>(evidence: &Evidence<'a>) -> Option<&'a Receipt> {
    let off = evidence.level(GateName::OldTests) == Level::Off;
    if evidence.inspection.old_tests.is_empty() || off {
        evidence.tests
    } else {
        evidence.receipt(CheckKind::OldTests)
    }
}

/// Judges tests that the task brought along: those that the goal names have to be green, all of them.
fn given(evidence: &Evidence<'_>, turned: &[String]) -> Opinion {
    let failing = judged(evidence)
        .and_then(|receipt| receipt.report.as_ref())
        .map_or(&[][..], |report| &report.failing);
    let named = identifiers(&evidence.task.goal);
    let meant = |name: &&String| {
        named.iter().any(|word| word.to_lowercase().contains("test") && name.contains(word.as_str()))
    };
    let missed: Vec<&str> = failing.iter().filter(meant).map(String::as_str).collect();
    if !missed.is_empty() {
        return Opinion::Blocked(format!("The goal names tests that still fail: {}.", listed(missed)));
    }
    if evidence.task.given_red && !failing.is_empty() {
        let text = format!(
            "Tests that failed before the change still fail: {}. Make them pass, or say why they do not belong to the goal.",
            listed(failing.iter().map(String::as_str))
        );
        return Opinion::Objected(vec![evidence.objection(GateName::RedGreen, &failing.join(" "), text)]);
    }
    Opinion::Passed(format!(
        "Red before the change, green now: {}.",
        listed(turned.iter().map(String::as_str))
    ))
}
