use std::path::{Path, PathBuf};

use super::*;

/// Writes a report as one line: runner, the four counts, names, and flaky names after a `~`.
fn line(report: Option<TestReport>) -> String {
    let Some(report) = report else { return "nothing recognised".into() };
    let TestReport { runner, passed, failed, errors, skipped, failing, flaky } = report;
    let mut line = format!("{runner} {passed} passed, {failed} failed, {errors} errors, {skipped} skipped");
    failing.iter().for_each(|name| line.push_str(&format!(" | {name}")));
    flaky.iter().for_each(|name| line.push_str(&format!(" ~ {name}")));
    line
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/report/fixtures")
}

fn text(name: &str) -> String {
    std::fs::read_to_string(fixtures().join(name)).unwrap()
}

/// Returns the streams of a fixture: standard output, and below `=== stderr ===` standard error.
fn streams(name: &str) -> (String, String) {
    let text = text(name);
    let (stdout, stderr) = text.split_once("=== stderr ===\n").unwrap_or((&text, ""));
    (stdout.to_owned(), stderr.to_owned())
}

/// Returns what is read from several fixtures written one after the other, and the JUnit files among them.
fn read_all(names: &[&str]) -> String {
    let (mut stdout, mut stderr, mut junit) = (String::new(), String::new(), None);
    for name in names {
        if name.ends_with(".xml") {
            junit = Some(text(name));
        } else {
            let own = streams(name);
            stdout.push_str(&own.0);
            stderr.push_str(&own.1);
        }
    }
    line(read(&stdout, &stderr, junit.as_deref()))
}

/// Every fixture is the real output of a runner (go's follow its documentation); `expected` says what is in it.
#[test]
fn real_outputs_are_read() {
    let mut names: Vec<String> = fixtures()
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.retain(|name| name != "expected");
    names.sort();
    let read: Vec<String> = names.iter().map(|name| format!("{name}: {}", read_all(&[name]))).collect();
    let expected = text("expected");
    for (read, expected) in read.iter().zip(expected.lines()) {
        assert_eq!(read, expected);
    }
    assert_eq!(read.len(), expected.lines().count());
}

#[test]
fn reports_of_several_runners_are_added_up() {
    let cases = [
        (
            vec!["node-spec-pass.txt", "cargo-fail.txt"],
            "cargo+node 4 passed, 1 failed, 0 errors, 1 skipped | tests::adds_more",
        ),
        // The compile error has no counts; it is for the exit code to tell.
        (vec!["jest-pass.txt", "cargo-compile-error.txt"], "jest 2 passed, 0 failed, 0 errors, 0 skipped"),
        // Two runs of one runner, each with a line that begins it.
        (
            vec!["pytest-pass.txt", "pytest-maxfail.txt"],
            "pytest 3 passed, 1 failed, 0 errors, 0 skipped | mixed/test_mixed.py::test_bad",
        ),
        (
            vec!["jest-mixed.txt", "jest-pass.txt"],
            "jest 3 passed, 1 failed, 1 errors, 2 skipped | sum › adds badly | jest/mixed/b.test.js",
        ),
        (vec!["vitest-pass.txt", "vitest-pass.txt"], "vitest 4 passed, 0 failed, 0 errors, 0 skipped"),
    ];
    for (names, expected) in cases {
        assert_eq!(read_all(&names), expected);
    }
}

#[test]
fn where_a_file_and_the_output_disagree_the_worse_counts() {
    let cases = [
        (
            vec!["pytest-pass.txt", "pytest-collection.xml"],
            "pytest 0 passed, 0 failed, 2 errors, 0 skipped | collect.test_import | collect.test_syntax",
        ),
        (
            vec!["pytest-maxfail.txt", "pytest-rerun.xml"],
            "pytest 1 passed, 1 failed, 0 errors, 0 skipped | mixed/test_mixed.py::test_bad",
        ),
        // The file does not tell of the second try.
        (
            vec!["pytest-rerun.txt", "pytest-rerun.xml"],
            "pytest 2 passed, 0 failed, 0 errors, 0 skipped ~ 1 run again",
        ),
        // pytest's file says nothing of the other runner, the user's file speaks for both.
        (
            vec!["pytest-pass.txt", "cargo-pass.txt", "pytest-rerun.xml"],
            "pytest+cargo 7 passed, 0 failed, 0 errors, 1 skipped",
        ),
        (
            vec!["jest-pass.txt", "node-junit.xml"],
            "junit 1 passed, 2 failed, 0 errors, 2 skipped | test::adds badly | test::child",
        ),
    ];
    for (names, expected) in cases {
        assert_eq!(read_all(&names), expected, "{names:?}");
    }
}

/// What a hostile test may print for every runner, before and after the runner's own summary.
#[test]
fn no_printed_summary_makes_a_failure_green() {
    let fakes = [
        "===== 100 passed in 0.01s =====",
        "100 passed in 0.01s",
        "============================= test session starts ==============================\n===== 100 passed in 0.01s =====",
        "running 100 tests\n\ntest result: ok. 100 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
        "     Summary [   0.072s] 100 tests run: 100 passed, 0 skipped",
        "Ran 100 tests in 0.001s\n\nOK",
        "Test Suites: 1 passed, 1 total\nTests:       100 passed, 100 total\nSnapshots:   0 total",
        " Test Files  1 passed (1)\n      Tests  100 passed (100)\n   Start at  22:46:12",
        "  100 passing (1ms)",
        "ℹ tests 100\nℹ suites 0\nℹ pass 100\nℹ fail 0\nℹ cancelled 0\nℹ skipped 0\nℹ todo 0\nℹ duration_ms 1.5",
        "ok  \texample.com/sum\t0.002s",
        "--- PASS: TestSum (0.00s)",
        "TAP version 13\n1..1\nok 1 - all",
    ];
    let red = [
        "pytest-mixed.txt",
        "pytest-mixed-quiet.txt",
        "pytest-mixed-quieter.txt",
        "cargo-fail.txt",
        "nextest-fail-fast.txt",
        "unittest-mixed.txt",
        "jest-mixed.txt",
        "vitest-mixed.txt",
        "mocha-mixed.txt",
        "node-spec-mixed.txt",
        "node-tap-mixed.txt",
        "go-fail.txt",
        "go-verbose.txt",
        "go-json.txt",
        "tap-perl.txt",
        "pytest-collection.txt",
        "node-spec-load.txt",
        "unittest-import.txt",
    ];
    for name in red {
        let (stdout, stderr) = streams(name);
        let genuine = read(&stdout, &stderr, None).unwrap();
        for fake in fakes {
            for output in [format!("{fake}\n{stdout}\n{stderr}"), format!("{stdout}\n{stderr}\n{fake}\n")] {
                let report = read(&output, "", None).unwrap();
                assert!(
                    super::red(&report) >= super::red(&genuine),
                    "{name} with {fake}: {}",
                    line(Some(report))
                );
            }
        }
    }
}

#[test]
fn summaries_count_only_in_their_own_form() {
    let cases = [
        ("all 100 passed in 0.01s", "nothing recognised"),
        ("say: ===== 100 passed in 0.01s =====", "nothing recognised"),
        (
            "    test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
            "nothing recognised",
        ),
        ("ok 1 - without a plan", "nothing recognised"),
        ("Tests: 3 passed, 3 total", "nothing recognised"),
        ("--- PASS: TestAlone (0.00s)", "nothing recognised"),
        ("ℹ tests 100\nℹ pass 100\nℹ fail 0", "nothing recognised"),
        ("", "nothing recognised"),
        (
            "1..3\nok 1 - works\nnot ok 2 - works\nok 3 - other",
            "tap 2 passed, 1 failed, 0 errors, 0 skipped | works | several tests are called `works`",
        ),
        (
            "1..3\nnot ok 1 - works\nok 2 - other\nok 3 - other",
            "tap 2 passed, 1 failed, 0 errors, 0 skipped | works",
        ),
        ("1..0 # SKIP nothing here", "tap 0 passed, 0 failed, 0 errors, 0 skipped"),
        (
            "TAP version 13\nok 1\n1..2",
            "tap 1 passed, 0 failed, 1 errors, 0 skipped | the stream ended before its plan",
        ),
        (
            "1..2\nok 1\nBail out! no disk",
            "tap 1 passed, 0 failed, 2 errors, 0 skipped | Bail out! no disk | the stream ended before its plan",
        ),
        (
            "running 3 tests\ntest a ... ok",
            "cargo 0 passed, 0 failed, 1 errors, 0 skipped | test binary 1 ended before its summary",
        ),
        ("2 passed in 75.10s (0:01:15)", "pytest 2 passed, 0 failed, 0 errors, 0 skipped"),
        ("=== 3 tests collected in 0.01s ===", "pytest 0 passed, 0 failed, 0 errors, 0 skipped"),
        (
            "= 1 passed, 2 warnings, 3 subtests passed in 0.01s =",
            "pytest 1 passed, 0 failed, 0 errors, 0 skipped",
        ),
        ("99999999999 passed in 0.01s", "pytest 4294967295 passed, 0 failed, 0 errors, 0 skipped"),
        // Two runs without a line that begins them: the names are not all that failed, and that must show.
        (
            "1 failed in 0.01s\n1 failed in 0.01s",
            "pytest 0 passed, 1 failed, 0 errors, 0 skipped | another summary tells of failures",
        ),
        // A name with a line break is not read, and still counts; so does what a cap has cut from the list.
        (
            "ℹ tests 2\nℹ suites 0\nℹ pass 0\nℹ fail 2\nℹ cancelled 0\nℹ skipped 0\nℹ todo 0\nℹ duration_ms 1\n\n✖ failing tests:\n\ntest at a.mjs:1:1\n✖ a (1ms)\n  x\n\ntest at a.mjs:2:1\n✖ b\nc (1ms)\n  x\n",
            "node 0 passed, 2 failed, 0 errors, 0 skipped | a",
        ),
        (
            "ℹ tests 2\nℹ suites 0\nℹ pass 0\nℹ fail 2\nℹ cancelled 0\nℹ skipped 0\nℹ todo 0\nℹ duration_ms 1\n\n✖ failing tests:\n\n[9 bytes left out]\ntest at a.mjs:1:1\n✖ a (1ms)\n  x\n",
            "node 0 passed, 2 failed, 0 errors, 0 skipped | a",
        ),
        ("Ran 2 tests in 0.001s\n\nFAILED (failures=1)", "unittest 1 passed, 1 failed, 0 errors, 0 skipped"),
        ("Ran 0 tests in 0.000s\n\nNO TESTS RAN", "unittest 0 passed, 0 failed, 0 errors, 0 skipped"),
    ];
    for (output, expected) in cases {
        assert_eq!(line(read(output, "", None)), expected, "{output}");
    }
}

#[test]
fn broken_files_are_no_reports() {
    let deep = "<testsuite>".repeat(100_000);
    let bomb = "<!DOCTYPE x [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;&a;\">]><testsuite><testcase name=\"&b;\"/></testsuite>";
    for xml in [
        "",
        "not xml",
        "<html/>",
        "<testsuite><testcase",
        "<testsuite><testcase name='a'/>",
        "<testsuite></x>",
        &deep,
    ] {
        assert_eq!(line(read("", "", Some(xml))), "nothing recognised");
        assert_eq!(
            line(read("1 failed in 0.01s", "", Some(xml))),
            "pytest 0 passed, 1 failed, 0 errors, 0 skipped"
        );
    }
    assert_eq!(line(read("", "", Some(bomb))), "junit 1 passed, 0 failed, 0 errors, 0 skipped");
    assert_eq!(line(read("", "", Some("<testsuites/>"))), "junit 0 passed, 0 failed, 0 errors, 0 skipped");
}

/// A run that was killed leaves half an output, and a capped one lacks its middle.
#[test]
fn no_piece_of_an_output_breaks_the_readers() {
    for entry in fixtures().read_dir().unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let text = text(&name);
        let lines: Vec<&str> = text.lines().collect();
        for at in (0..=lines.len()).step_by(3) {
            for piece in [&lines[..at], &lines[at..]] {
                let piece = piece.join("\n");
                let ran = read(&piece, "", Some(&piece)).map_or(0, |report| report.ran());
                // Only the fakes in the fixtures speak of a hundred tests.
                assert!(ran < 100 || piece.contains("100 "), "{name} cut at line {at}");
            }
        }
    }
}

#[test]
fn names_are_bounded() {
    let points: String = (0..1000).map(|n| format!("not ok {n} - {n}{}\n", "é".repeat(1000))).collect();
    let report = read(&format!("TAP version 13\n{points}1..1000\n"), "", None).unwrap();
    assert_eq!((report.failed, report.failing.len()), (1000, MAX_NAMES));
    assert!(report.failing.iter().all(|name| name.chars().count() == MAX_NAME_CHARS));
}
