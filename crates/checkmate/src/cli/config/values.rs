//! Every setting with its value and where it comes from.

use std::collections::BTreeMap;

use checkmate_machine::budget::Limits;
use checkmate_machine::ids::Role;
use checkmate_machine::spec::{EvidenceRules, LandPolicy, Level, ReviewMode, Strictness};
use checkmate_machine::verdict::GateName;

use crate::agents::{self, Price};
use crate::config::{Config, Position, RoleSettings, base_url_from_env};
use crate::journal::Sandbox;

/// One setting.
pub(super) struct Row {
    /// The names under which the file may set it, the shown one first.
    keys: Vec<String>,
    value: String,
    /// Where it comes from, if not from the file and no default.
    other: Option<String>,
}

impl Row {
    fn from(&self, set: &BTreeMap<String, Position>, file: &str) -> String {
        match (&self.other, self.keys.iter().find_map(|key| set.get(key))) {
            (Some(other), _) => other.clone(),
            (None, Some(at)) => format!("{file}:{}", at.line),
            (None, None) => "default".into(),
        }
    }

    /// Returns the line: name, value, and the file's line, `default`, `environment` or `command line`.
    pub(super) fn line(&self, set: &BTreeMap<String, Position>, file: &str) -> String {
        let from = self.from(set, file);
        let name = self.keys.first().map(String::as_str).unwrap_or_default();
        format!("{name:<28} {:<44} {from}\n", self.value)
    }
}

impl Row {
    /// Returns name, value, and where it comes from, as [`Row::line`] does.
    fn parts(self, set: &BTreeMap<String, Position>, file: &str) -> (String, String, String) {
        let from = self.from(set, file);
        (self.keys.into_iter().next().unwrap_or_default(), self.value, from)
    }
}

/// Returns every setting that is in force without a command line: its name, its value, and where it comes from.
pub(crate) fn settings(
    config: &Config,
    set: &BTreeMap<String, Position>,
    file: &str,
    env: &dyn Fn(&str) -> Option<String>,
) -> Vec<(String, String, String)> {
    let flags = Flags { land: None, budget: Limits::default() };
    rows(config, &flags, env).into_iter().map(|row| row.parts(set, file)).collect()
}

/// What the command line says of settings.
pub(super) struct Flags {
    pub(super) land: Option<LandPolicy>,
    pub(super) budget: Limits,
}

fn row(keys: &[&str], value: impl Into<String>) -> Row {
    Row { keys: keys.iter().map(|key| (*key).to_owned()).collect(), value: value.into(), other: None }
}

/// Returns every setting that is in force, in the order of the documentation.
pub(super) fn rows(config: &Config, flags: &Flags, env: &dyn Fn(&str) -> Option<String>) -> Vec<Row> {
    let mut rows = agent(Role::Builder, &config.builder, env);
    rows.push(row(&["builder.patch_form"], config.patch_form().name()));
    rows.extend(agent(Role::Reviewer, &config.reviewer, env));
    rows.push(row(&["enable_moderator"], config.moderator.is_some().to_string()));
    rows.extend(config.moderator.iter().flat_map(|settings| agent(Role::Moderator, settings, env)));
    rows.push(row(&["examiner"], config.examiner.as_ref().map_or_else(|| "none".into(), described)));
    let examiner = config.examiner.iter().flat_map(|settings| agent(Role::Examiner, settings, env));
    // What it has of the reviewer is not in the object.
    rows.extend(
        examiner
            .skip(2)
            .map(|row| Row { keys: row.keys.into_iter().chain(["examiner".to_owned()]).collect(), ..row }),
    );
    rows.extend([
        row(&["test_command"], config.test_command.text.clone()),
        row(&["test_time_limit_s"], format!("{} s", config.test_time_limit_s)),
        row(&["test_report"], config.test_report.clone().unwrap_or_else(|| "none".into())),
        row(&["allow_paths"], list(&config.allow_paths, "every path that is not protected")),
        row(&["allow_commands"], list(&config.allow_commands, "only the test command")),
        row(&["max_iterations"], config.max_iterations.to_string()),
        row(&["review_mode"], mode(config.review_mode)),
        row(&["review_on_test_pass"], config.review_on_test_pass.to_string()),
        row(&["review_strictness"], strictness(config.review_strictness)),
        row(&["context_summary_threshold"], format!("{} tokens", config.context_summary_threshold)),
        row(&["evidence"], evidence(&config.evidence)),
        row(&["mutants_at_once"], config.mutants_at_once.to_string()),
    ]);
    rows.extend(budget("budget", &config.budget.run, &flags.budget));
    for (role, own) in config.budget.roles.iter().filter(|(_, own)| !own.limits.is_unlimited()) {
        rows.extend(budget(&format!("{role}.budget"), &own.limits, &Limits::default()));
    }
    rows.extend(sandbox(config.sandbox.as_ref()));
    rows.extend([
        row(&["approve_patches"], config.approve_patches.to_string()),
        landing(flags.land, config.land),
        row(&["link_paths"], list(&config.link_paths, "none")),
        row(&["keep_env"], list(&config.keep_env, "none")),
        row(&["prompts"], list(&config.prompt_files.keys().cloned().collect::<Vec<_>>(), "the shipped ones")),
    ]);
    rows
}

/// Returns the settings of a role, its provider and model first.
fn agent(role: Role, settings: &RoleSettings, env: &dyn Fn(&str) -> Option<String>) -> Vec<Row> {
    let key = |name: &str| format!("{role}.{name}");
    let usual = agents::usual(&settings.provider);
    let own = |name: &str, value: String| Row { keys: vec![key(name)], value, other: None };
    let flat = |name: &str, value: &str| Row {
        keys: vec![key(name), format!("{role}_{name}")],
        value: value.to_owned(),
        other: None,
    };
    let from_environment =
        settings.base_url.is_some() && settings.base_url == base_url_from_env(&settings.provider, env);
    let variable = match settings.provider.as_str() {
        "openai" => "OPENAI_BASE_URL",
        _ => "ANTHROPIC_BASE_URL",
    };
    let usual_url = usual.and_then(|usual| usual.base_url).unwrap_or("none");
    let address = settings.base_url.clone().unwrap_or_else(|| usual_url.to_owned());
    let address = Row {
        other: from_environment.then(|| format!("environment ({variable})")),
        ..own("base_url", address)
    };
    let name = settings.api_key_env.as_deref().or(usual.and_then(|usual| usual.key_variable));
    let api_key = match name {
        Some(name) if env(name).is_some() => format!("{name} (set)"),
        Some(name) => format!("{name} (not set)"),
        None => "none needed".into(),
    };
    let most = settings.max_output_tokens.or(usual.and_then(|usual| usual.max_output_tokens));
    let number = |number: Option<String>, none: &str| number.unwrap_or_else(|| none.to_owned());
    vec![
        flat("provider", &settings.provider),
        flat("model", &settings.model),
        address,
        own("api_key_env", api_key),
        own("max_output_tokens", number(most.map(|most| most.to_string()), "what the model allows")),
        own(
            "temperature",
            number(settings.temperature.map(|warmth| warmth.to_string()), "the provider's own"),
        ),
        Row {
            keys: vec![key("time_limit_s"), "agent_time_limit_s".into()],
            value: format!("{} s", settings.time_limit_s),
            other: None,
        },
        own("price", settings.price.map_or_else(|| "not set, so no costs are shown".into(), price)),
    ]
}

fn price(price: Price) -> String {
    format!(
        "{} in, {} cached, {} out for a million",
        money(price.input),
        money(price.cached),
        money(price.output)
    )
}

fn described(settings: &RoleSettings) -> String {
    let address = settings.base_url.as_ref().map_or_else(String::new, |url| format!(" at {url}"));
    format!("{} {}{address}", settings.provider, settings.model)
}

fn list(items: &[String], none: &str) -> String {
    if items.is_empty() { none.to_owned() } else { items.join(", ") }
}

/// Returns the word of a review mode.
pub(super) fn mode(mode: ReviewMode) -> &'static str {
    match mode {
        ReviewMode::Always => "always",
        ReviewMode::Selective => "selective",
        ReviewMode::FinalOnly => "final_only",
    }
}

fn strictness(strictness: Strictness) -> &'static str {
    match strictness {
        Strictness::Lenient => "lenient",
        Strictness::Balanced => "balanced",
        Strictness::Strict => "strict",
    }
}

fn landing(flag: Option<LandPolicy>, file: Option<LandPolicy>) -> Row {
    let value = match flag.or(file) {
        None => "ask at a terminal, apply elsewhere",
        Some(LandPolicy::Apply) => "apply",
        Some(LandPolicy::Commit) => "commit",
        Some(LandPolicy::Ask) => "ask",
    };
    Row { other: flag.map(|_| "command line".into()), ..row(&["land"], value) }
}

/// Returns the limits of a run or a role; those that `flags` have are the command line's.
fn budget(name: &str, limits: &Limits, flags: &Limits) -> Vec<Row> {
    let dollars = |micro: Option<u64>| micro.map(money);
    [
        ("max_calls", limits.calls.map(|most| most.to_string()), flags.calls.is_some()),
        ("max_tokens", limits.tokens.map(|most| most.to_string()), flags.tokens.is_some()),
        ("max_usd", dollars(limits.cost_micro_usd), flags.cost_micro_usd.is_some()),
        ("max_minutes", limits.minutes.map(|most| most.to_string()), flags.minutes.is_some()),
    ]
    .into_iter()
    .map(|(key, most, flag)| Row {
        keys: vec![format!("{name}.{key}")],
        value: most.unwrap_or_else(|| "no limit".into()),
        other: flag.then(|| "command line".into()),
    })
    .collect()
}

#[expect(clippy::cast_precision_loss, reason = "amounts are far below 2^53 millionths of a dollar")]
fn money(micro: u64) -> String {
    format!("${}", micro as f64 / 1e6)
}

fn sandbox(sandbox: Option<&Sandbox>) -> Vec<Row> {
    let Some(sandbox) = sandbox else {
        return vec![row(&["sandbox"], "off"), row(&["network"], "on, because `sandbox` is off")];
    };
    let unlimited = |number: Option<u64>| number.map_or_else(|| "no limit".into(), |most| most.to_string());
    vec![
        row(&["sandbox"], "on"),
        row(&["sandbox.read"], list(&sandbox.read, "nothing beyond what tools need")),
        row(&["sandbox.write"], list(&sandbox.write, "nothing beyond the run's tree")),
        row(&["sandbox.memory_mb"], unlimited(sandbox.memory_mb)),
        row(&["sandbox.processes"], unlimited(sandbox.processes)),
        row(&["network"], if sandbox.network { "on" } else { "off" }),
    ]
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
