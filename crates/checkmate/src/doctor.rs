//! Looks at everything that a run needs, before one is begun.
//!
//! Each check is a file and answers with findings: a state, a sentence, the next step, and a fix where there is a safe
//! one. No finding has a secret in it.
//!
//! | file | question |
//! |---|---|
//! | `git` | is git there, and new enough? |
//! | `repository` | can the repository be worked on? |
//! | `locks` | did a git process leave a lock behind? |
//! | `state` | is there room for runs? |
//! | `configuration` | is it there, and valid? |
//! | `keys` | is every role's key in the environment? |
//! | `endpoints` | do the models answer to their names? |
//! | `confinement` | what can commands do on this machine although they should not? |
//! | `command` | is the program of the test command there? |
//! | `paths` | do `allow_paths` and `link_paths` name anything? |
//! | `suite` | what does the test command say in a run's own tree? |
//! | `runs` | was a run or a landing cut off? |
//! | `clock` | can the machine's clock be right? |

mod clock;
mod command;
mod configuration;
mod confinement;
mod endpoints;
mod fix;
mod git;
mod keys;
mod locks;
mod paths;
mod repository;
mod runs;
mod state;
mod suite;

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::agents::models::Endpoint;
use crate::config::Loaded;
use crate::human::{self, Human};
use crate::process::{self, Cancel};
use crate::redact::Redactor;
use crate::session::Project;

pub use self::fix::Fix;

/// What to look at, and how.
#[derive(Debug)]
pub struct Order {
    /// A folder of the repository.
    pub directory: PathBuf,
    /// The configuration, if it is not the usual one.
    pub config: Option<PathBuf>,
    /// Whether models' endpoints are left alone.
    pub offline: bool,
    /// Whether the test command is run.
    pub tests: bool,
    /// Who is asked before something is mended; nothing is mended without.
    pub fixing: Option<Human>,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The check's name.
    pub check: &'static str,
    /// What of the check it is about, where there are several: a role, a path.
    pub about: Option<String>,
    /// How it stands.
    pub state: State,
    /// What was seen, in a sentence.
    pub message: String,
    /// The next step, where there is one.
    pub next: Option<String>,
    /// What `--fix` would do about it.
    pub fix: Option<String>,
    /// What `--fix` has done before this was seen.
    pub fixed: Vec<String>,
    #[serde(skip)]
    mend: Option<Fix>,
}

/// How something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// In order.
    Ok,
    /// Runs are possible, but something should be known or mended.
    Warn,
    /// No run can begin, or none can be approved.
    Fail,
    /// It was not looked at.
    Skipped,
}

impl Finding {
    fn new(check: &'static str, state: State, message: impl Into<String>) -> Self {
        Self {
            check,
            about: None,
            state,
            message: message.into(),
            next: None,
            fix: None,
            fixed: Vec::new(),
            mend: None,
        }
    }

    fn ok(check: &'static str, message: impl Into<String>) -> Self {
        Self::new(check, State::Ok, message)
    }

    fn warn(check: &'static str, message: impl Into<String>, next: impl Into<String>) -> Self {
        Self { next: Some(next.into()), ..Self::new(check, State::Warn, message) }
    }

    fn fail(check: &'static str, message: impl Into<String>, next: impl Into<String>) -> Self {
        Self { next: Some(next.into()), ..Self::new(check, State::Fail, message) }
    }

    fn skipped(check: &'static str, message: impl Into<String>) -> Self {
        Self::new(check, State::Skipped, message)
    }

    /// Makes a finding of an error: its first sentence says what is wrong, the rest what to do.
    fn of_error(check: &'static str, error: &dyn std::fmt::Display) -> Self {
        let text = error.to_string();
        match sentence_end(&text) {
            Some(end) => Self::fail(check, &text[..end], text[end..].trim()),
            None => Self::new(check, State::Fail, text),
        }
    }

    fn about(self, about: impl Into<String>) -> Self {
        Self { about: Some(about.into()), ..self }
    }

    fn mended_by(self, fix: Fix) -> Self {
        Self { fix: Some(fix.question()), mend: Some(fix), ..self }
    }
}

/// Returns where the first sentence of several ends.
fn sentence_end(text: &str) -> Option<usize> {
    let ends = text.match_indices(['.', '\n']).map(|(at, mark)| (at, at + mark.len()));
    let end = ends.filter(|(_, after)| {
        let rest = &text[*after..];
        let mut next = rest.trim_start().chars();
        rest.starts_with(char::is_whitespace) && next.next().is_some_and(|c| c.is_uppercase() || c == '`')
    });
    end.map(|(_, after)| after).next()
}

/// What is known while checks go on; each check may add to it.
struct Subject {
    order: Order,
    project: Option<Project>,
    loaded: Option<Loaded>,
    endpoints: Vec<Endpoint>,
    redactor: Redactor,
    cancel: Cancel,
}

impl Subject {
    fn directory(&self) -> &Path {
        &self.order.directory
    }

    /// Returns where the configuration is.
    fn config_path(&self) -> Option<PathBuf> {
        let usual = || Some(self.project.as_ref()?.repository.root().join(crate::config::FILE_NAME));
        self.order.config.clone().or_else(usual)
    }

    /// Returns repository and configuration, which most checks need, or says what is missing.
    fn ready(&self, check: &'static str) -> Result<(&Project, &Loaded), Box<Finding>> {
        let Some(project) = &self.project else {
            return Err(Box::new(Finding::skipped(check, "Not looked at: there is no usable repository.")));
        };
        let Some(loaded) = &self.loaded else {
            return Err(Box::new(Finding::skipped(
                check,
                "Not looked at: there is no usable configuration.",
            )));
        };
        Ok((project, loaded))
    }

    /// Learns what must not be shown.
    fn keep_secret(&mut self) {
        let keys = self.endpoints.iter().flat_map(Endpoint::secrets).map(str::to_owned);
        self.redactor = Redactor::new(keys.chain(process::secret_values()));
    }
}

/// Checks in order, shows each finding as soon as it is there, and returns all of them.
pub async fn examine(order: Order, cancel: Cancel, show: &mut dyn FnMut(&Finding)) -> Vec<Finding> {
    let redactor = Redactor::new(process::secret_values());
    let subject = Subject { order, project: None, loaded: None, endpoints: Vec::new(), redactor, cancel };
    let mut examination = Examination { subject, findings: Vec::new(), show };
    for check in
        [git::check, repository::check, locks::check, state::check, configuration::check, keys::check]
    {
        examination.take(check);
    }
    let found = endpoints::check(&examination.subject).await;
    examination.add(found);
    for check in [confinement::check, command::check, paths::check, suite::check, runs::check, clock::check] {
        examination.take(check);
    }
    examination.findings
}

/// Checks that are going on.
struct Examination<'a> {
    subject: Subject,
    findings: Vec<Finding>,
    show: &'a mut dyn FnMut(&Finding),
}

impl Examination<'_> {
    /// Checks, mends what can be mended where that is wanted, and then looks again.
    fn take(&mut self, check: fn(&mut Subject) -> Vec<Finding>) {
        if self.subject.cancel.is_cancelled() {
            return;
        }
        let mut found = check(&mut self.subject);
        if let Some(human) = &self.subject.order.fixing {
            let fixes = found.iter().filter_map(|finding| finding.mend.as_ref());
            let fixed: Vec<String> = fixes.filter_map(|fix| mend(fix, human)).collect();
            if !fixed.is_empty() {
                found = check(&mut self.subject);
                if let Some(first) = found.first_mut() {
                    first.fixed = fixed;
                }
            }
        }
        self.add(found);
    }

    fn add(&mut self, found: Vec<Finding>) {
        for mut finding in found {
            finding.message = self.subject.redactor.text(&finding.message);
            finding.next = finding.next.map(|next| self.subject.redactor.text(&next));
            (self.show)(&finding);
            self.findings.push(finding);
        }
    }
}

/// Mends something if the person agrees; where nobody is, it was agreed to by `--fix`. Returns what was done.
fn mend(fix: &Fix, human: &Human) -> Option<String> {
    if human.is_present() && !matches!(human::yes_or_no(&fix.question()), Ok((true, _))) {
        return None;
    }
    match fix.apply() {
        Ok(done) => Some(done),
        Err(reason) => {
            anstream::eprintln!("{reason}");
            None
        }
    }
}

#[cfg(test)]
mod sentences {
    use super::*;

    #[test]
    fn an_error_is_taken_apart_at_the_end_of_its_first_sentence() {
        for (text, message, next) in [
            ("It is gone. Make it anew.", "It is gone.", Some("Make it anew.")),
            (
                "Version 2.38 of /a/b.c is gone. `git x` helps.",
                "Version 2.38 of /a/b.c is gone.",
                Some("`git x` helps."),
            ),
            ("It is gone.", "It is gone.", None),
            ("Without an end", "Without an end", None),
        ] {
            let finding = Finding::of_error("x", &text);
            assert_eq!((finding.message.as_str(), finding.next.as_deref()), (message, next));
        }
    }
}
