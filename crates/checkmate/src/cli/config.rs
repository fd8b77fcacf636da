//! `checkmate config check`: says what the configuration is, where each value comes from, and what follows from it.

use std::path::PathBuf;

use checkmate_machine::spec::{EvidenceRules, LandPolicy, Level, PatchForm, ReviewMode, Strictness};
use checkmate_machine::verdict::GateName;
use clap::Subcommand;

use super::{Place, print};
use crate::agents::Agents;
use crate::config::{AgentKind, Config, FILE_NAME, Loaded, RoleSettings};
use crate::error::CommandError;
use crate::exit_code;
use crate::journal::Sandbox;

/// Look at the configuration
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check the configuration and say where each value comes from and what follows from it
    Check {
        /// The configuration (default: .dualagent.json in the repository's root)
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
    },
}

pub(super) fn main(place: &Place, args: &Args) -> Result<u8, CommandError> {
    let Command::Check { config: given } = &args.command;
    let project = place.project()?;
    let root = project.repository.root();
    let path = given.clone().unwrap_or_else(|| root.join(FILE_NAME));
    let Loaded { mut config, warnings, set } = Config::load_for(&path, root, AgentKind::Live)?;
    config.use_environment(&|name| std::env::var(name).ok());
    let mut text = String::new();
    // Only whole keys of the file are in `set`; this one is in an object, where its absence can be seen.
    let form = config.builder.patch_form.map(|_| "builder.patch_form");
    for (keys, value) in values(&config) {
        let from = match keys.iter().any(|key| set.contains(*key) || form == Some(*key)) {
            true => "file",
            false => "default",
        };
        let name = keys.first().copied().unwrap_or_default();
        text.push_str(&format!("{name:<26} {value:<44} {from}\n"));
    }
    text.push('\n');
    for sentence in consequences(&config) {
        text.push_str(&format!("{sentence}\n"));
    }
    print(&text);
    for warning in warnings {
        anstream::eprintln!("warning: {warning}");
    }
    // The providers' names and keys are judged by the table of the agents, as at the start of a run.
    let settings = config
        .roles()
        .iter()
        .map(|(role, settings)| (*role, crate::session::agent_settings(settings)))
        .collect();
    Agents::live(settings, &|name| std::env::var(name).ok().filter(|value| !value.is_empty()))?;
    Ok(exit_code::DONE)
}

/// Returns every value with the keys that can set it.
fn values(config: &Config) -> Vec<(Vec<&'static str>, String)> {
    let mode = match config.review_mode {
        ReviewMode::Always => "always",
        ReviewMode::Selective => "selective",
        ReviewMode::FinalOnly => "final_only",
    };
    let strictness = match config.review_strictness {
        Strictness::Lenient => "lenient",
        Strictness::Balanced => "balanced",
        Strictness::Strict => "strict",
    };
    let land = match config.land {
        None => "ask at a terminal, apply elsewhere",
        Some(LandPolicy::Apply) => "apply",
        Some(LandPolicy::Commit) => "commit",
        Some(LandPolicy::Ask) => "ask",
    };
    let moderator = config.moderator.as_ref().map_or_else(|| "none".to_owned(), role);
    vec![
        (vec!["builder", "builder_provider", "builder_model"], role(&config.builder)),
        (vec!["builder.patch_form"], config.patch_form().name().into()),
        (vec!["reviewer", "reviewer_provider", "reviewer_model"], role(&config.reviewer)),
        (vec!["moderator", "enable_moderator", "moderator_provider"], moderator),
        (vec!["examiner"], config.examiner.as_ref().map_or_else(|| "none".to_owned(), role)),
        (vec!["evidence"], evidence(&config.evidence)),
        (vec!["test_command"], config.test_command.text.clone()),
        (vec!["test_time_limit_s"], format!("{} s", config.test_time_limit_s)),
        (vec!["mutants_at_once"], config.mutants_at_once.to_string()),
        (vec!["sandbox", "network"], confined(config.sandbox.as_ref())),
        (vec!["test_report"], config.test_report.clone().unwrap_or_else(|| "none".into())),
        (vec!["allow_paths"], list(&config.allow_paths, "every path that is not protected")),
        (vec!["allow_commands"], list(&config.allow_commands, "only the test command")),
        (vec!["max_iterations"], config.max_iterations.to_string()),
        (vec!["review_mode"], mode.into()),
        (vec!["review_on_test_pass"], config.review_on_test_pass.to_string()),
        (vec!["review_strictness"], strictness.into()),
        (vec!["context_summary_threshold"], format!("{} tokens", config.context_summary_threshold)),
        (vec!["land"], land.into()),
        (vec!["link_paths"], list(&config.link_paths, "none")),
        (vec!["keep_env"], list(&config.keep_env, "none")),
        (vec!["prompts"], list(&config.prompt_files.keys().cloned().collect::<Vec<_>>(), "the shipped ones")),
    ]
}

fn role(settings: &RoleSettings) -> String {
    let address = settings.base_url.as_ref().map_or_else(String::new, |url| format!(" at {url}"));
    format!("{} {}{address}", settings.provider, settings.model)
}

fn list(items: &[String], none: &str) -> String {
    if items.is_empty() { none.to_owned() } else { items.join(", ") }
}

/// Says which gates of evidence have which level.
fn evidence(rules: &EvidenceRules) -> String {
    if !rules.any() {
        return "off".into();
    }
    let of = |wanted: Level| {
        let names = GateName::SWITCHED.into_iter().filter(|gate| rules.level(*gate) == wanted);
        names.map(GateName::name).collect::<Vec<_>>()
    };
    let all = GateName::SWITCHED.len();
    let part = |level: Level, word: &str| match of(level) {
        gates if gates.is_empty() => None,
        gates if gates.len() == all => Some(word.to_owned()),
        gates if level == Level::On && gates.len() > all / 2 => Some(word.to_owned()),
        gates => Some(format!("{word}: {}", gates.join(" "))),
    };
    [part(Level::On, "on"), part(Level::Budget, "budget"), part(Level::Off, "off")]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("; ")
}

/// Says in sentences what follows from values that work together.
fn consequences(config: &Config) -> Vec<String> {
    let review = match (config.review_mode, config.review_on_test_pass) {
        (ReviewMode::Always, _) => {
            "The reviewer is asked after every turn whose tests are green; `review_on_test_pass` has no effect."
        }
        (ReviewMode::Selective, true) => {
            "The reviewer is asked after every turn whose tests are green, because `review_on_test_pass` is true."
        }
        (ReviewMode::Selective, false) => {
            "A first turn with green tests is approved without a review; later turns are reviewed."
        }
        (ReviewMode::FinalOnly, _) => {
            "The reviewer is asked only when the run would otherwise end: when the tests are green, or after the last \
             turn; `review_on_test_pass` has no effect."
        }
    };
    let strictness = match config.review_strictness {
        Strictness::Lenient => "Only critical bugs, security holes and broken tests block.",
        Strictness::Balanced => {
            "Critical and major bugs, security holes, tests and style block; minor findings do not."
        }
        Strictness::Strict => "Every finding blocks, minor ones included.",
    };
    let test = if config.test_command.shell {
        "The test command has shell operators, so it is run by `sh -c`."
    } else {
        "The test command is started directly, without a shell."
    };
    let form = match config.patch_form() {
        PatchForm::Diff => {
            "The builder is asked for unified diffs; other forms of patches are understood too."
        }
        PatchForm::SearchReplace => {
            "The builder is asked for SEARCH/REPLACE blocks; other forms of patches are understood too."
        }
        PatchForm::WholeFile => {
            "The builder is asked for whole files; other forms of patches are understood too, and needed for long files."
        }
    };
    let moderator = match &config.moderator {
        Some(_) => "The moderator decides when builder and reviewer go in circles or the turns are used up.",
        None => "Without a moderator, a circle or the turn limit ends the run for a person to decide.",
    };
    let evidence = if config.evidence.any() {
        "A green change is examined further before it is reviewed: does a test fail without it, do the old tests pass on \
         it, do its tests notice small changes of the code? `evidence` switches single gates."
    } else {
        "Nothing beyond the tests is examined, because `evidence` is off."
    };
    let examiner = match &config.examiner {
        Some(_) if config.evidence.level(GateName::Probes) == Level::Off => {
            "The examiner writes probes, but nothing runs them, because `evidence` switches `probes` off."
        }
        Some(settings)
            if (&settings.provider, &settings.model)
                == (&config.reviewer.provider, &config.reviewer.model) =>
        {
            "The examiner writes probes from the goal alone, with the reviewer's model; another model sees other mistakes."
        }
        Some(_) => {
            "The examiner writes probes from the goal alone; a change on which one fails twice is not approved."
        }
        None => "Without an examiner, nobody but the builder writes tests of the change.",
    };
    [form, review, strictness, test, evidence, examiner, moderator].map(str::to_owned).into()
}

fn confined(sandbox: Option<&Sandbox>) -> String {
    let Some(sandbox) = sandbox else { return "off: commands may do whatever you can".to_owned() };
    let mut said =
        format!("on, {}", if sandbox.network { "with the network" } else { "no network but the loopback" });
    for (what, paths) in [("read", &sandbox.read), ("write", &sandbox.write)] {
        if !paths.is_empty() {
            said.push_str(&format!(", may also {what} {}", paths.join(", ")));
        }
    }
    said
}
