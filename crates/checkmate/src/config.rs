//! `.dualagent.json`: what the user has decided for a repository.
//!
//! In reading order: `file` has the keys as types, [`schema()`] makes a JSON Schema of them, `syntax` reads the text,
//! `shape` checks every value against the schema, `resolve` checks what takes more than one value, and [`detect`] looks
//! at a repository to propose a first file. The defaults are in `config/defaults.jsonc`.

pub mod detect;
mod file;
mod prompts;
mod resolve;
mod schema;
mod shape;
mod syntax;

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use checkmate_machine::budget::Budget;
use checkmate_machine::command::CommandLine;
use checkmate_machine::ids::Role;
use checkmate_machine::prompt;
use checkmate_machine::spec::{
    EvidenceRules, LandPolicy, PatchForm, Policy, PromptText, ReviewMode, Strictness,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::agents;
use crate::journal::Sandbox;

pub(crate) use self::resolve::millionths;
pub use self::schema::schema;
pub use self::shape::Problem;
pub use self::syntax::Position;
pub use crate::agents::{Effort, Price};

/// The name of the configuration's file, in the repository's root.
pub const FILE_NAME: &str = ".dualagent.json";
/// The most bytes that such a file may have.
pub(crate) const LARGEST: u64 = 1_000_000;

/// What the user has decided, with the defaults for everything else.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The maker.
    pub builder: RoleSettings,
    /// The checker.
    pub reviewer: RoleSettings,
    /// The moderator, if there is one.
    pub moderator: Option<RoleSettings>,
    /// The examiner, if there is one.
    pub examiner: Option<RoleSettings>,
    /// Which evidence is gathered beyond the tests.
    pub evidence: EvidenceRules,
    /// What a run and its roles may use.
    pub budget: Budget,
    /// The command that runs the tests.
    pub test_command: CommandLine,
    /// How many seconds one run of it may take.
    pub test_time_limit_s: u32,
    /// The JUnit XML file that it writes, from the repository's root.
    pub test_report: Option<String>,
    /// Globs of the paths that a change may touch; empty = all that are not protected.
    pub allow_paths: Vec<String>,
    /// Patterns of commands that agents may have run.
    pub allow_commands: Vec<String>,
    /// Environment variables that commands may see although they look secret.
    pub keep_env: Vec<String>,
    /// How commands are confined; `None` if they are not.
    pub sandbox: Option<Sandbox>,
    /// How many runs of mutants go on beside each other.
    pub mutants_at_once: u32,
    /// Paths that a build needs and git does not track, from the repository's root and without a slash at the end.
    pub link_paths: Vec<String>,
    /// How many turns the maker has; 1 to 100.
    pub max_iterations: u32,
    /// When the checker is asked.
    pub review_mode: ReviewMode,
    /// Whether a first green turn is reviewed under [`ReviewMode::Selective`].
    pub review_on_test_pass: bool,
    /// Which findings may block.
    pub review_strictness: Strictness,
    /// Estimated tokens of history above which it is summarised.
    pub context_summary_threshold: u32,
    /// Whether a person is asked about each patch before it is applied.
    pub approve_patches: bool,
    /// What happens to an approved change, if the file says it.
    pub land: Option<LandPolicy>,
    /// The prompts that files of the repository replace, by name.
    pub prompt_files: BTreeMap<String, PromptText>,
}

/// How one role's agent is reached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoleSettings {
    /// The provider's name, as written.
    pub provider: String,
    /// The model's name, as written.
    pub model: String,
    /// The provider's address, if not its usual one.
    pub base_url: Option<String>,
    /// The environment variable that holds the key, if not the provider's usual one.
    pub api_key_env: Option<String>,
    /// The most tokens a reply may have.
    pub max_output_tokens: Option<u32>,
    /// The sampling temperature.
    pub temperature: Option<f64>,
    /// How much the model thinks before it replies.
    pub reasoning_effort: Option<Effort>,
    /// How many seconds one request may take.
    pub time_limit_s: u32,
    /// The form in which the builder is asked for patches, where the file says it; see [`Config::patch_form`].
    pub patch_form: Option<PatchForm>,
    /// What tokens cost, where the file says it.
    pub price: Option<Price>,
}

/// Whether models are asked or a replay script is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentKind {
    /// Models; the file has to name the builder's and the reviewer's.
    Live,
    /// A script; roles that the file leaves out have the provider and model `replay`.
    Scripted,
}

/// A configuration and what is odd about its file.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    /// Full sentences, each behind the file and place that it is about.
    pub warnings: Vec<String>,
    /// The keys that the file sets, those in objects with a dot before their name, and where; every other value is a
    /// default.
    pub set: BTreeMap<String, Position>,
}

/// Why there is no configuration.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// There is no file.
    #[error("Config file not found. Looked for {}. Run `checkmate init` to write one.", .path.display())]
    NotFound {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// There is one, but it cannot be read.
    #[error("The configuration {} cannot be read ({error}). Check that it is a text file that you may read.", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        error: std::io::Error,
    },
    /// It is too large to have been written by a person.
    #[error("The configuration {} is larger than 1 MB. Check that this is the right file.", .path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// It is not JSON.
    #[error(
        "{}:{at}: {what}. The file has to be JSON, where comments and commas before a closing bracket are also fine. \
         Correct this place and start again.", .path.display()
    )]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Where.
        at: Position,
        /// What is wrong there.
        what: String,
    },
    /// Its values are wrong; all that are wrong are listed.
    #[error("{}", list(.path, .problems))]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong, in the order of the file; never empty.
        problems: Vec<Problem>,
    },
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

fn list(path: &Path, problems: &[Problem]) -> String {
    let lines: Vec<String> = problems.iter().map(|problem| located(path, problem)).collect();
    lines.join("\n")
}

fn located(path: &Path, problem: &Problem) -> String {
    format!("{}:{}: {}", path.display(), problem.at, problem.message)
}

/// Reads the text of a configuration. It comes with a repository, so what stands there may be a pipe, or have no end.
pub(crate) fn read(path: &Path) -> Result<String, ConfigError> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let failed = |error| ConfigError::Read { path: path.to_owned(), error };
    let nonblock = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = match std::fs::File::options().read(true).custom_flags(nonblock).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(ConfigError::NotFound { path: path.to_owned() });
        }
        Err(error) => return Err(failed(error)),
    };
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_dir() {
        return Err(failed(std::io::ErrorKind::IsADirectory.into()));
    }
    if !metadata.is_file() {
        return Err(failed(std::io::Error::other("it is no plain file")));
    }
    let mut text = String::new();
    file.take(LARGEST + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > LARGEST {
        return Err(ConfigError::TooLarge { path: path.to_owned() });
    }
    Ok(text)
}

impl Config {
    /// Reads the file at `path` for runs with real models; `root` is the repository's root.
    pub fn load(path: &Path, root: &Path) -> Result<Loaded, ConfigError> {
        Self::load_for(path, root, AgentKind::Live)
    }

    /// Reads the file at `path`; see [`Config::parse`].
    pub fn load_for(path: &Path, root: &Path, kind: AgentKind) -> Result<Loaded, ConfigError> {
        Self::parse(&read(path)?, path, root, kind)
    }

    /// Reads a file's text. `path` is only named in messages; prompt files are read from `root`.
    ///
    /// An error lists everything that is wrong, not only the first.
    pub fn parse(text: &str, path: &Path, root: &Path, kind: AgentKind) -> Result<Loaded, ConfigError> {
        let document = syntax::parse(text).map_err(|fault| ConfigError::Syntax {
            path: path.to_owned(),
            at: fault.at,
            what: fault.what,
        })?;
        let mut findings = shape::check(&document, &schema::SCHEMA);
        // What is broken is replaced by its default, so that the rest can be judged as well.
        let mut values = schema::DEFAULTS.clone();
        if let Value::Object(written) = document.to_json() {
            values.extend(written.into_iter().filter(|(key, _)| !findings.broken.contains(key)));
        }
        let config = match serde_json::from_value::<file::File>(Value::Object(values)) {
            Ok(file) => Some(resolve::resolve(file, &mut findings, root, kind)),
            Err(error) => {
                let at = Position { line: 1, column: 1 };
                findings.errors.push(Problem { at, message: format!("The file cannot be used: {error}.") });
                None
            }
        };
        let mut problems = findings.errors;
        problems.sort();
        problems.dedup();
        findings.warnings.sort();
        match config {
            Some(config) if problems.is_empty() => Ok(Loaded {
                config,
                warnings: findings.warnings.iter().map(|problem| located(path, problem)).collect(),
                set: findings.places,
            }),
            Some(_) | None => Err(ConfigError::Invalid { path: path.to_owned(), problems }),
        }
    }

    /// Returns the rules of a run. `land` is the flag on the command line, which goes before the file; where neither
    /// says anything, a person is asked if one is there, and the change is applied elsewhere.
    pub fn policy(&self, land: Option<LandPolicy>, interactive: bool) -> Policy {
        let usual = if interactive { LandPolicy::Ask } else { LandPolicy::Apply };
        Policy {
            max_iterations: self.max_iterations,
            review_mode: self.review_mode,
            review_on_test_pass: self.review_on_test_pass,
            strictness: self.review_strictness,
            patch_form: self.patch_form(),
            moderator: self.moderator.is_some(),
            context_summary_threshold: self.context_summary_threshold,
            allow_paths: self.allow_paths.clone(),
            allow_commands: self.allow_commands.clone(),
            test_command: self.test_command.clone(),
            approve_patches: self.approve_patches,
            interactive,
            land: land.or(self.land).unwrap_or(usual),
            evidence: self.evidence.clone(),
            examiner: self.examiner.is_some(),
            budget: self.budget.clone(),
        }
    }

    /// Returns what is wrong with `--max-usd`, if it cannot be kept because a price is not known.
    pub fn unknown_price(&self) -> Option<String> {
        self.budget.run.cost_micro_usd?;
        let unknown = self.roles().into_iter().find(|(_, settings)| settings.price.is_none());
        unknown.map(|(role, _)| resolve::unknown_price("--max-usd", role))
    }

    /// Returns the form in which the builder is asked for patches: the file's, or what suits its provider's models.
    pub fn patch_form(&self) -> PatchForm {
        self.builder.patch_form.unwrap_or_else(|| agents::patch_form(&self.builder.provider))
    }

    /// Returns the prompt of each purpose: the shipped ones, replaced where the file names another.
    pub fn prompts(&self) -> BTreeMap<String, PromptText> {
        let mut prompts = prompt::shipped();
        prompts.extend(self.prompt_files.clone());
        prompts
    }

    /// Returns the settings of every role that takes part.
    pub fn roles(&self) -> BTreeMap<Role, RoleSettings> {
        let moderator = self.moderator.as_ref().map(|settings| (Role::Moderator, settings));
        let examiner = self.examiner.as_ref().map(|settings| (Role::Examiner, settings));
        [(Role::Builder, &self.builder), (Role::Reviewer, &self.reviewer)]
            .into_iter()
            .chain(moderator)
            .chain(examiner)
            .map(|(role, settings)| (role, settings.clone()))
            .collect()
    }

    /// Takes addresses from the environment for the roles whose file names none; see [`base_url_from_env`].
    pub fn use_environment(&mut self, env: &dyn Fn(&str) -> Option<String>) {
        for role in [&mut self.builder, &mut self.reviewer]
            .into_iter()
            .chain(&mut self.moderator)
            .chain(&mut self.examiner)
        {
            role.base_url = role.base_url.take().or_else(|| base_url_from_env(&role.provider, env));
        }
    }
}

/// Returns the address that the environment names for a provider: `OPENAI_BASE_URL` or `ANTHROPIC_BASE_URL`.
pub fn base_url_from_env(provider: &str, env: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let variable = match provider {
        "openai" => "OPENAI_BASE_URL",
        "anthropic" => "ANTHROPIC_BASE_URL",
        _ => return None,
    };
    env(variable).map(|url| url.trim().to_owned()).filter(|url| !url.is_empty())
}

#[cfg(test)]
mod agreement;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;
