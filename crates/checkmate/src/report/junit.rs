//! JUnit XML, as pytest, Maven, Gradle, jest-junit, node and many others write it.

use std::collections::BTreeSet;

use checkmate_machine::evidence::TestReport;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::{Counts, Names};

/// Elements within elements deeper than this are no report.
const MAX_DEPTH: usize = 64;

/// One open `testsuite`: what it declares, and what was counted when it opened.
#[derive(Debug, Default)]
struct Suite {
    name: String,
    declared: u32,
    before: u32,
}

/// One open `testcase`.
#[derive(Debug, Default)]
struct Case {
    name: String,
    failed: bool,
    error: bool,
    skipped: bool,
    flaky: bool,
}

#[derive(Debug, Default)]
struct File {
    pytest: bool,
    root: bool,
    depth: usize,
    suites: Vec<Suite>,
    case: Option<Case>,
    /// What passed so far; pytest writes a test that was run again once per run.
    passed: BTreeSet<String>,
    counts: Counts,
    failing: Names,
    flaky: Names,
}

/// Reads a file; one that is not well-formed, or no JUnit report, gives `None`.
pub(super) fn read(xml: &str) -> Option<TestReport> {
    let mut reader = Reader::from_str(xml);
    let mut file = File::default();
    loop {
        match reader.read_event().ok()? {
            Event::Start(element) => file.open(&element)?,
            Event::Empty(element) => {
                file.open(&element)?;
                file.close(element.local_name().as_ref());
            }
            Event::End(element) => file.close(element.local_name().as_ref()),
            Event::Eof => break,
            Event::Text(_)
            | Event::CData(_)
            | Event::Comment(_)
            | Event::Decl(_)
            | Event::PI(_)
            | Event::DocType(_)
            | Event::GeneralRef(_) => {}
        }
    }
    let complete = file.root && file.depth == 0;
    complete
        .then(|| file.counts.report(if file.pytest { "pytest" } else { "junit" }, file.failing, file.flaky))
}

impl File {
    /// Takes the start of an element; `None` when this cannot be a report.
    fn open(&mut self, element: &BytesStart<'_>) -> Option<()> {
        let name = element.local_name();
        let name = name.as_ref();
        if self.depth == 0 {
            self.root = matches!(name, b"testsuites" | b"testsuite");
            if !self.root {
                return None;
            }
        }
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        match name {
            b"testsuite" => {
                let count = |key| attribute(element, key).and_then(|n| n.parse::<u32>().ok()).unwrap_or(0);
                let name = attribute(element, "name").unwrap_or_default();
                self.pytest |= name == "pytest";
                let declared = count("failures").saturating_add(count("errors"));
                self.suites.push(Suite { name, declared, before: self.counts.red() });
            }
            b"testcase" => {
                let name = attribute(element, "name").unwrap_or_default();
                let class = attribute(element, "classname").unwrap_or_default();
                let name = if class.is_empty() { name } else { format!("{class}::{name}") };
                self.case = Some(Case { name, ..Case::default() });
            }
            _ => {
                if let Some(case) = &mut self.case {
                    match name {
                        b"failure" => case.failed = true,
                        b"error" => case.error = true,
                        b"skipped" => case.skipped = true,
                        b"flakyFailure" | b"flakyError" => case.flaky = true,
                        _ => {}
                    }
                }
            }
        }
        Some(())
    }

    fn close(&mut self, name: &[u8]) {
        self.depth = self.depth.saturating_sub(1);
        match name {
            b"testcase" => {
                if let Some(case) = self.case.take() {
                    self.count(&case);
                }
            }
            b"testsuite" => {
                if let Some(suite) = self.suites.pop() {
                    // Some writers count failures of fixtures without a test case for them.
                    let counted = self.counts.red() - suite.before;
                    let uncounted = suite.declared.saturating_sub(counted);
                    if uncounted > 0 {
                        self.counts.errors = self.counts.errors.saturating_add(uncounted);
                        self.failing.push(&suite.name);
                    }
                }
            }
            _ => {}
        }
    }

    fn count(&mut self, case: &Case) {
        let field = if case.error {
            &mut self.counts.errors
        } else if case.failed {
            &mut self.counts.failed
        } else if case.skipped {
            &mut self.counts.skipped
        } else if self.pytest && !self.passed.insert(case.name.clone()) {
            return;
        } else {
            &mut self.counts.passed
        };
        *field = field.saturating_add(1);
        if case.error || case.failed {
            self.failing.push(&case.name);
        } else if case.flaky {
            self.flaky.push(&case.name);
        }
    }
}

fn attribute(element: &BytesStart<'_>, key: &str) -> Option<String> {
    let attribute = element.try_get_attribute(key).ok()??;
    Some(attribute.unescape_value().map_or_else(
        |_| String::from_utf8_lossy(&attribute.value).into_owned(),
        std::borrow::Cow::into_owned,
    ))
}
