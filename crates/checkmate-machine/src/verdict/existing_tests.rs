//! Existing tests stay: not deleted, skipped, weakened, shadowed or made unreachable.

use std::collections::BTreeMap;

use super::GateName;
use super::evidence::{Evidence, Objection, Opinion, added_lines, listed};
use crate::facts::{FileFacts, FileRole, Reading, SpotKind, Strength, TestFunction};
use crate::task::Permission;

pub(super) fn opinion(evidence: &Evidence<'_>) -> Opinion {
    let mut wrong = Vec::new();
    for file in &evidence.inspection.files {
        for test in &file.tests_before {
            let said = complaint(evidence, file, test);
            // Under its new name it may be all that it was.
            let renamed = renamed(test, &evidence.task.goal).filter(|_| said.is_some());
            let stands = renamed.is_some_and(|test| complaint(evidence, file, &test).is_none());
            wrong.extend(said.filter(|_| !stands));
        }
        wrong.extend(unread(evidence, file));
        wrong.extend(steered(evidence, file));
    }
    if !wrong.is_empty() {
        return Opinion::Blocked(format!(
            "{} Put that back as it was, and add tests of your own beside it. If the goal and an existing test \
             contradict each other, say so in `conflict`.",
            wrong.join(" ")
        ));
    }
    let shadowed: Vec<String> = evidence
        .fresh_tests()
        .into_iter()
        .filter(|(_, test)| test.shadowed)
        .map(|(file, test)| format!("`{}` in {}", test.name, file.path))
        .collect();
    if !shadowed.is_empty() {
        let text = format!(
            "New tests are replaced by later ones of the same name, so they never run: {}. Give each a name of its own.",
            listed(shadowed.iter().map(String::as_str))
        );
        return Opinion::Objected(vec![evidence.objection(
            GateName::ExistingTests,
            &shadowed.join(" "),
            text,
        )]);
    }
    let objections: Vec<Objection> = lost_rows(evidence).into_iter().chain(thinned(evidence)).collect();
    if !objections.is_empty() {
        return Opinion::Objected(objections);
    }
    if !skips_more(evidence) {
        return passed();
    }
    let skipped: Vec<String> = evidence
        .fresh_tests()
        .into_iter()
        .filter_map(|(file, test)| {
            Some(format!("`{}` in {} ({})", test.name, file.path, test.skipped.as_ref()?))
        })
        .collect();
    if skipped.is_empty() {
        return passed();
    }
    let text = format!(
        "The change adds tests that do not run: {}. Let them run, or say why they cannot.",
        listed(skipped.iter().map(String::as_str))
    );
    Opinion::Objected(vec![evidence.objection(GateName::ExistingTests, &skipped.join(" "), text)])
}

fn passed() -> Opinion {
    Opinion::Passed("No existing test was deleted, skipped, weakened or shadowed.".into())
}

/// Tells whether more tests are skipped than before: a marker for another machine keeps none from running here. Where the
/// runner does not tell, the marker counts.
fn skips_more(evidence: &Evidence<'_>) -> bool {
    let skipped = |receipt: Option<&crate::evidence::Receipt>| {
        receipt.and_then(|receipt| receipt.report.as_ref()).map(|report| report.skipped)
    };
    match (skipped(evidence.baseline), skipped(evidence.tests)) {
        (Some(before), Some(after)) => after > before,
        (_, _) => true,
    }
}

/// Returns a test as it reads once the goal's renaming is done.
fn renamed(test: &TestFunction, goal: &str) -> Option<TestFunction> {
    let words: Vec<&str> = goal
        .split_whitespace()
        .map(|word| word.trim_matches(|c: char| !(c.is_alphanumeric() || c == '_')))
        .collect();
    let at = words.iter().position(|word| word.eq_ignore_ascii_case("rename"))?;
    let to = at + words.iter().skip(at).take(8).position(|word| *word == "to")?;
    let (old, new) = (words.get(to.checked_sub(1)?)?, words.get(to + 1)?);
    let long = old.len() > 2 && new.len() > 2 && old != new;
    long.then(|| {
        let with = |text: &String| text.replace(old, new);
        let mut test = test.clone();
        test.name = with(&test.name);
        test.mentions = test.mentions.iter().map(with).collect();
        test.rows = test.rows.iter().map(with).collect();
        for assertion in &mut test.assertions {
            assertion.text = with(&assertion.text);
        }
        test
    })
}

/// Says what happened to a test that was there before.
fn complaint(evidence: &Evidence<'_>, file: &FileFacts, test: &TestFunction) -> Option<String> {
    let mut names = vec![test.name.as_str(), file.path.as_str()];
    names.extend(test.mentions.iter().map(String::as_str));
    let permitted = |permission| evidence.permits.allow(permission, names.iter().copied());
    // Of several with this name the last one is the one that runs.
    let here = file.tests_after.iter().rfind(|after| after.name == test.name);
    let elsewhere = || {
        // A test has moved only where a runner collects it.
        let others = evidence.inspection.files.iter().filter(|other| other.path != file.path);
        others
            .filter(|other| matches!(other.role, FileRole::Test | FileRole::Code))
            .flat_map(|other| &other.tests_after)
            .find(|after| after.name == test.name || after.body == test.body)
    };
    let renamed = || file.tests_after.iter().find(|after| after.body == test.body);
    let Some(after) = here.or_else(renamed).or_else(elsewhere) else {
        let gone = format!("The test `{}` of {} is gone.", test.name, file.path);
        // A permit to delete is none to lose what the goal only moves.
        let deleted = permitted(Permission::DeleteTests) && evidence.permits.deletes();
        let renamed = permitted(Permission::ChangeTests) && has_successor(evidence, file, test);
        return (!deleted && !renamed).then_some(gone);
    };
    let twice = file.tests_after.iter().filter(|other| other.name == test.name && other.shadowed).count();
    let before = file.tests_before.iter().filter(|other| other.name == test.name && other.shadowed).count();
    if twice > before && !permitted(Permission::ChangeTests) {
        return Some(format!(
            "The test `{}` of {} is replaced by another of the same name, so it never runs.",
            test.name, file.path
        ));
    }
    if let (Some(marker), None) = (&after.skipped, &test.skipped) {
        let skipped = format!("The test `{}` of {} does not run any more ({marker}).", test.name, file.path);
        // To change a test is not to take it away.
        let gone = permitted(Permission::DeleteTests) && evidence.permits.deletes();
        return (!gone).then_some(skipped);
    }
    if after.body == test.body {
        return None;
    }
    if permitted(Permission::ChangeTests) {
        return is_thinner(test, after).then(|| {
            format!(
                "The test `{}` of {} may change, but it checks less than before. Let it check as much.",
                test.name, file.path
            )
        });
    }
    let lost = lost_assertions(test, after);
    (!lost.is_empty()).then(|| {
        format!(
            "The test `{}` of {} does not check any more: {}.",
            test.name,
            file.path,
            listed(lost.iter().map(|text| &**text))
        )
    })
}

/// Tells whether a new test of the file does what a test did that is gone: it mentions most of what that did, and checks
/// no less.
fn has_successor(evidence: &Evidence<'_>, file: &FileFacts, gone: &TestFunction) -> bool {
    let known = |after: &TestFunction| file.tests_before.iter().any(|before| before.name == after.name);
    let alike = |after: &TestFunction| {
        let common = gone.mentions.iter().filter(|name| after.mentions.contains(name)).count();
        common * 2 >= gone.mentions.len().max(after.mentions.len())
    };
    let candidates = file.tests_after.iter().filter(|after| after.skipped.is_none() && !known(after));
    let mut candidates = candidates.filter(|after| alike(after) && !is_thinner(gone, after));
    // As many as are gone: one new test takes the place of one.
    candidates.nth(leavers_before(evidence, file, gone)).is_some()
}

/// Counts the tests of a file before this one that are in no file any more, by name or by body.
fn leavers_before(evidence: &Evidence<'_>, file: &FileFacts, test: &TestFunction) -> usize {
    let all = || evidence.inspection.files.iter().flat_map(|file| &file.tests_after);
    let stays = |test: &TestFunction| all().any(|after| after.name == test.name || after.body == test.body);
    let before = file.tests_before.iter().take_while(|other| *other != test);
    before.filter(|other| !stays(other)).count()
}

/// Tells whether a test that may change checks less: fewer assertions that can be noticed, fewer that compare exactly, or
/// any error where a certain one was expected.
fn is_thinner(before: &TestFunction, after: &TestFunction) -> bool {
    let count = |test: &TestFunction, least: Strength| {
        let noticed = test.assertions.iter().filter(|one| one.lost.is_none());
        noticed.filter(|one| one.strength >= least).count()
    };
    let broad = |test: &TestFunction| {
        let any = ["raises(Exception", "raises(BaseException", "Raises(Exception", "Raises(BaseException"];
        test.assertions.iter().filter(|one| any.iter().any(|words| one.text.contains(words))).count()
    };
    count(after, Strength::Loose) < count(before, Strength::Loose)
        || count(after, Strength::Exact) < count(before, Strength::Exact)
        || broad(after) > broad(before)
}

/// Returns an objection to rows that tests do not go through any more. A row may have got a column or stand elsewhere now, so
/// a reason is heard.
fn lost_rows(evidence: &Evidence<'_>) -> Option<Objection> {
    let mut gone: Vec<String> = Vec::new();
    for file in &evidence.inspection.files {
        for test in &file.tests_before {
            let Some(after) = file.tests_after.iter().rfind(|after| after.name == test.name) else {
                continue;
            };
            let mut names = vec![test.name.as_str(), file.path.as_str()];
            names.extend(test.mentions.iter().map(String::as_str));
            let permitted = |permission| evidence.permits.allow(permission, names.iter().copied());
            let may_go = permitted(Permission::ChangeTests)
                || permitted(Permission::DeleteTests) && evidence.permits.deletes();
            // A table that cannot be read any more says nothing.
            if may_go || after.rows.is_empty() {
                continue;
            }
            let stays = |row: &str| after.rows.iter().any(|after| has_row(after, row));
            let lost = test.rows.iter().filter(|row| !stays(row));
            gone.extend(lost.map(|row| format!("`{row}` of `{}` in {}", test.name, file.path)));
        }
    }
    (!gone.is_empty()).then(|| {
        let text = format!(
            "Tests do not go through these rows any more: {}. Put them back, or say why they have to go.",
            listed(gone.iter().take(10).map(String::as_str))
        );
        evidence.objection(GateName::ExistingTests, &gone.join(" "), text)
    })
}

/// Tells whether a row has all the tokens of another in a row.
fn has_row(row: &str, other: &str) -> bool {
    row.match_indices(other).any(|(at, _)| {
        let (before, after) = (row[..at].chars().next_back(), row[at + other.len()..].chars().next());
        before.is_none_or(|c| c == ' ') && after.is_none_or(|c| c == ' ')
    })
}

/// Returns the assertions that could be noticed before and cannot be now, a repeated one as often as it is gone.
fn lost_assertions<'a>(before: &'a TestFunction, after: &TestFunction) -> Vec<&'a str> {
    let mut left: BTreeMap<&str, u32> = BTreeMap::new();
    for assertion in after.assertions.iter().filter(|assertion| assertion.lost.is_none()) {
        *left.entry(assertion.text.as_str()).or_default() += 1;
    }
    let telling = before
        .assertions
        .iter()
        .filter(|assertion| assertion.lost.is_none() && assertion.strength != Strength::Trivial);
    telling
        .filter(|assertion| match left.get_mut(assertion.text.as_str()) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            Some(_) | None => true,
        })
        .map(|assertion| assertion.text.as_str())
        .collect()
}

/// Complains of lines that are gone from a test file that no grammar reads: whether it got weaker cannot be known.
fn unread(evidence: &Evidence<'_>, file: &FileFacts) -> Option<String> {
    if file.role != FileRole::Test || file.reading == Reading::Tree {
        return None;
    }
    if evidence.permits.allow(Permission::ChangeTests, [file.path.as_str()]) {
        return None;
    }
    let change = evidence.candidate.changes.iter().find(|change| change.path == file.path)?;
    if change.old_mode == "000000" {
        return None;
    }
    if change.new_mode == "000000" {
        return Some(format!("The test file {} is gone.", file.path));
    }
    let lines = removed_lines(&evidence.candidate.diff, &file.path);
    let seen = !lines.is_empty();
    let telling = |line: &&str| !line.is_empty() && !line.starts_with('#') && !line.starts_with("//");
    let removed: Vec<&str> = lines.into_iter().filter(telling).collect();
    if !seen && (change.removed > 0 || file.reading == Reading::Unread) {
        return Some(format!("The test file {} changed, and what it lost cannot be read.", file.path));
    }
    (!removed.is_empty()).then(|| {
        format!(
            "Lines of the test file {} are gone or changed: {}.",
            file.path,
            listed(removed.iter().copied())
        )
    })
}

/// Objects to a script of assertions, without test functions, that may change and has fewer lines that compare exactly than
/// before. Where it may not change, its old lines run on the new code.
fn thinned(evidence: &Evidence<'_>) -> Option<Objection> {
    const EXACT: [&str; 8] =
        ["strictEqual(", "deepEqual(", ".equal(", "assertEqual(", "toBe(", "toEqual(", " == ", " === "];
    const COMMENTS: [&str; 4] = ["//", "#", "/*", "*"];
    // `Strict` goes with a capital in `deepStrictEqual`.
    let exact = |line: &str| {
        let line = line.trim().replace("Strict", "");
        let asserts = ["assert", "expect("].iter().any(|word| line.contains(word));
        asserts
            && !line.contains(".not.")
            && !COMMENTS.iter().any(|start| line.starts_with(start))
            && EXACT.iter().any(|words| line.contains(words))
    };
    let thinner = |path: &str| {
        let before = removed_lines(&evidence.candidate.diff, path).into_iter().filter(|line| exact(line));
        let added = added_lines(&evidence.candidate.diff).into_iter();
        added.filter(|(of, _, line)| *of == path && exact(line)).count() < before.count()
    };
    let permitted = |path: &str| {
        let gone = evidence.permits.allow(Permission::DeleteTests, [path]) && evidence.permits.deletes();
        evidence.permits.has(Permission::ChangeTests) && !gone
    };
    let mut scripts = evidence.inspection.files.iter().filter(|file| {
        let path = file.path.as_str();
        file.role == FileRole::Test && file.tests_before.is_empty() && permitted(path) && thinner(path)
    });
    let path = scripts.next()?.path.as_str();
    let text = format!(
        "The assertions of {path} may change, but fewer of them compare exactly than before. Let them check as much, or say \
         where they do."
    );
    Some(evidence.objection(GateName::ExistingTests, path, text))
}

/// Returns the lines that a diff takes out of a file.
fn removed_lines<'a>(diff: &'a str, path: &str) -> Vec<&'a str> {
    let head = format!("--- a/{path}");
    diff.lines()
        // git marks the end of a path with blanks by a tab.
        .skip_while(|line| line.trim_end_matches('\t') != head)
        .skip(1)
        .take_while(|line| !line.starts_with("diff --git "))
        .filter_map(|line| line.strip_prefix('-'))
        .map(str::trim)
        .collect()
}

/// Complains of what decides in a test file which tests run, or what an assertion means.
fn steered(evidence: &Evidence<'_>, file: &FileFacts) -> Vec<String> {
    let tests = matches!(file.role, FileRole::Test | FileRole::TestSupport | FileRole::TestConfig);
    let permitted = evidence.permits.allow(Permission::ChangeTests, [file.path.as_str()])
        && evidence.permits.has(Permission::Config);
    if permitted {
        return Vec::new();
    }
    let told = |kind: SpotKind| match kind {
        SpotKind::FrameworkPatch => Some("changes what a test framework or an assertion does"),
        SpotKind::CollectionHook if tests => Some("decides which tests run"),
        SpotKind::Exit if tests => Some("ends the process of the test runner"),
        SpotKind::ExitHook if tests => Some("runs behind the test runner's back"),
        SpotKind::AlwaysEqual if tests => Some("makes every comparison true"),
        SpotKind::CollectionHook
        | SpotKind::Exit
        | SpotKind::ExitHook
        | SpotKind::AlwaysEqual
        | SpotKind::TestProbe
        | SpotKind::TreeWrite
        | SpotKind::Sleep
        | SpotKind::Chance
        | SpotKind::SharedLiteral
        | SpotKind::Swallow
        | SpotKind::Silencer => None,
    };
    file.spots
        .iter()
        .filter_map(|spot| {
            Some(format!("`{}` in {}:{} {}.", spot.text, file.path, spot.line, told(spot.kind)?))
        })
        .take(5)
        .collect()
}
