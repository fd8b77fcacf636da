//! The rules that need more than one value, or more than its shape.

use std::collections::BTreeMap;
use std::path::Path;

use checkmate_machine::budget::{Budget, Limits, RoleBudget};
use checkmate_machine::command::CommandLine;
use checkmate_machine::gate::paths::{Allowlist, check_path};
use checkmate_machine::ids::Role;
use checkmate_machine::prompt;
use checkmate_machine::spec::{EvidenceRules, Level, PromptText, ReviewMode};
use checkmate_machine::verdict::GateName;

use super::file::{
    BudgetFile, EvidenceFile, EvidenceLevel, Examiner, File, Limited, MoreFile, PriceFile, RoleFile,
    SandboxFile, Toggle,
};

use super::shape::{Findings, Problem, nearest};
use super::syntax::Position;
use super::{AgentKind, Config, Price, RoleSettings, prompts};
use crate::journal::Sandbox;
use crate::process::confine::Support;

/// Where a key would stand that is not in the file.
const TOP: Position = Position { line: 1, column: 1 };
/// What stands for provider and model of scripted agents that the file says nothing about.
const SCRIPTED: &str = "replay";

/// Turns a file whose values have the right shapes into a configuration. What is wrong goes to `findings`, and then
/// the result is not to be used.
pub(super) fn resolve(file: File, findings: &mut Findings, root: &Path, kind: AgentKind) -> Config {
    let mut resolver = Resolver { findings, kind, time_limit_s: file.agent_time_limit_s };
    resolver.without_effect(&file);
    resolver.patterns(&file);
    let test_command = resolver.test_command(file.test_command.as_deref());
    let link_paths = resolver.link_paths(&file.link_paths);
    let test_report = file.test_report.as_deref().and_then(|path| resolver.path("test_report", path));
    // Names that there are no prompts for have been warned of.
    let shipped = prompt::shipped();
    let replaced = file.prompts.iter().filter(|(name, _)| shipped.contains_key(*name));
    let prompt_files = replaced.filter_map(|(name, path)| {
        let read = prompts::read(name, path, root);
        let read = read.map_err(|error| resolver.error("prompts", format!("`prompts.{name}`: {error}")));
        Some((name.clone(), read.ok()?))
    });
    let prompt_files: BTreeMap<String, PromptText> = prompt_files.collect();
    let limits = role_limits(&file);
    let builder = resolver.role(Role::Builder, file.builder_provider, file.builder_model, file.builder);
    let reviewer = resolver.role(Role::Reviewer, file.reviewer_provider, file.reviewer_model, file.reviewer);
    let moderator = file.enable_moderator.then(|| {
        resolver.role(Role::Moderator, file.moderator_provider, file.moderator_model, file.moderator)
    });
    let own = prompt_files.get("builder").filter(|prompt| !prompt.text.contains(prompt::FORM_MARK));
    if own.is_some() && builder.patch_form.is_some() {
        resolver.warn(
            "builder",
            format!(
                "`builder.patch_form` has no effect, because the file of `prompts.builder` has no `{}` in it. Write that \
                 where the form is to be explained.",
                prompt::FORM_MARK
            ),
        );
    }
    let examiner = resolver.examiner(file.examiner, &reviewer);
    let evidence = resolver.evidence(file.evidence.as_ref());
    let roles = [(Role::Builder, Some(&builder)), (Role::Reviewer, Some(&reviewer))];
    let others = [(Role::Moderator, moderator.as_ref()), (Role::Examiner, examiner.as_ref())];
    let roles = roles.into_iter().chain(others).filter_map(|(role, settings)| Some((role, settings?)));
    let budget = resolver.budget(file.budget.as_ref(), &limits, roles);
    let sandbox = resolver.sandbox(file.sandbox.as_ref(), file.network);
    Config {
        builder,
        reviewer,
        moderator,
        examiner,
        evidence,
        budget,
        sandbox,
        test_command,
        test_time_limit_s: file.test_time_limit_s,
        test_report,
        allow_paths: file.allow_paths,
        allow_commands: file.allow_commands,
        mutants_at_once: file.mutants_at_once,
        keep_env: file.keep_env,
        link_paths,
        max_iterations: file.max_iterations,
        review_mode: file.review_mode,
        review_on_test_pass: file.review_on_test_pass,
        review_strictness: file.review_strictness,
        context_summary_threshold: file.context_summary_threshold,
        approve_patches: file.approve_patches,
        land: file.land,
        prompt_files,
    }
}

struct Resolver<'a> {
    findings: &'a mut Findings,
    kind: AgentKind,
    time_limit_s: u32,
}

impl Resolver<'_> {
    fn test_command(&mut self, line: Option<&str>) -> CommandLine {
        let example = "such as \"npm test\" or \"cargo test\"";
        let Some(line) = line else {
            if !self.findings.broken.contains("test_command") {
                let message =
                    format!("`test_command` is missing. Name the command that runs the tests, {example}.");
                self.error("test_command", message);
            }
            return no_command();
        };
        CommandLine::from_user(line).unwrap_or_else(|error| {
            let message = format!("`test_command` is no command: {error}. Write one, {example}.");
            self.error("test_command", message);
            no_command()
        })
    }

    /// An examiner that says nothing of itself is the reviewer's model; another model of its own is better.
    fn examiner(&mut self, examiner: Option<Examiner>, reviewer: &RoleSettings) -> Option<RoleSettings> {
        match examiner {
            None | Some(Examiner::Switch(false)) => None,
            Some(Examiner::Switch(true)) => Some(reviewer.clone()),
            Some(Examiner::Agent(object)) => {
                let own = object.provider.is_some() || object.model.is_some();
                if own {
                    return Some(self.role(Role::Examiner, None, None, *object));
                }
                let settings = RoleFile {
                    provider: Some(reviewer.provider.clone()),
                    model: Some(reviewer.model.clone()),
                    base_url: object.base_url.or_else(|| reviewer.base_url.clone()),
                    api_key_env: object.api_key_env.or_else(|| reviewer.api_key_env.clone()),
                    ..*object
                };
                Some(self.role(Role::Examiner, None, None, settings))
            }
        }
    }

    fn evidence(&mut self, file: Option<&EvidenceFile>) -> EvidenceRules {
        let gates = match file {
            None | Some(EvidenceFile::Switch(true)) => return EvidenceRules::usual(),
            Some(EvidenceFile::Switch(false)) => return EvidenceRules::default(),
            Some(EvidenceFile::Gates(gates)) => gates,
        };
        let mut rules = match gates.get("all") {
            Some(level) => EvidenceRules { levels: BTreeMap::new(), otherwise: machine_level(*level) },
            None => EvidenceRules::usual(),
        };
        for (name, level) in gates.iter().filter(|(name, _)| *name != "all") {
            match GateName::SWITCHED.into_iter().find(|gate| gate.name() == name) {
                Some(gate) => drop(rules.levels.insert(gate, machine_level(*level))),
                None => {
                    let known = GateName::SWITCHED.iter().map(|gate| gate.name());
                    let hint = nearest(name, known)
                        .map_or_else(String::new, |near| format!(" Did you mean `{near}`?"));
                    self.error("evidence", format!("`evidence.{name}` names no gate.{hint}"));
                }
            }
        }
        rules
    }

    fn patterns(&mut self, file: &File) {
        // One by one, so that each bad entry is reported; good ones can still be too many for one set.
        let each = file.allow_paths.iter().map(std::slice::from_ref);
        let mut errors: Vec<_> = each.filter_map(|entry| Allowlist::new(entry).err()).collect();
        if errors.is_empty() {
            errors.extend(Allowlist::new(&file.allow_paths).err());
        }
        for error in errors {
            self.error("allow_paths", error.to_string());
        }
        for pattern in &file.allow_commands {
            match CommandLine::from_agent(pattern) {
                Ok(command) if !command.env.is_empty() => self.error(
                    "allow_commands",
                    format!(
                        "The entry `{pattern}` of `allow_commands` sets a variable, which no pattern does. Leave it out."
                    ),
                ),
                Ok(command) if command.argv == ["*"] => self.warn(
                    "allow_commands",
                    "The entry `*` of `allow_commands` lets agents have any command run. List the commands that they \
                     need."
                        .into(),
                ),
                Ok(_) => {}
                Err(error) => self.error(
                    "allow_commands",
                    format!("The entry `{pattern}` of `allow_commands` can never match: {error}."),
                ),
            }
        }
        for name in &file.keep_env {
            self.variable("keep_env", name);
        }
    }

    fn link_paths(&mut self, written: &[String]) -> Vec<String> {
        // A slash at the end of a directory's name is only a manner of writing it.
        written.iter().filter_map(|path| self.path("link_paths", path.trim_end_matches('/'))).collect()
    }

    fn path(&mut self, key: &str, path: &str) -> Option<String> {
        match check_path(path) {
            Ok(()) => Some(path.to_owned()),
            Err(error) => {
                self.error(key, format!("`{key}`: {error}"));
                None
            }
        }
    }

    fn variable(&mut self, key: &str, name: &str) {
        let valid = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if !valid {
            let message = format!(
                "`{key}` must hold the name of an environment variable, such as \"OPENAI_API_KEY\", but {name:?} is none."
            );
            self.error(key, message);
        }
    }

    /// Joins the flat keys of a role with its object.
    fn role(
        &mut self,
        role: Role,
        provider: Option<String>,
        model: Option<String>,
        object: RoleFile,
    ) -> RoleSettings {
        let flat = [format!("{role}_provider"), format!("{role}_model")];
        let provider = self.either(&flat[0], provider, &format!("{role}.provider"), object.provider);
        let model = self.either(&flat[1], model, &format!("{role}.model"), object.model);
        self.required(role, &flat, [&provider, &model]);
        let object_key = role.name();
        if role != Role::Builder && object.patch_form.is_some() {
            self.warn(
                object_key,
                format!("`{role}.patch_form` has no effect: only the builder writes patches."),
            );
        }
        if let Some(url) = &object.base_url {
            self.base_url(object_key, url);
        }
        if let Some(name) = &object.api_key_env {
            self.variable(&format!("{role}.api_key_env"), name);
        }
        RoleSettings {
            provider: provider.unwrap_or_else(|| SCRIPTED.into()),
            model: model.unwrap_or_else(|| SCRIPTED.into()),
            base_url: object.base_url,
            api_key_env: object.api_key_env,
            max_output_tokens: object.max_output_tokens,
            temperature: object.temperature,
            reasoning_effort: object.reasoning_effort,
            time_limit_s: object.time_limit_s.unwrap_or(self.time_limit_s),
            patch_form: object.patch_form,
            price: object.price.as_ref().map(price),
        }
    }

    fn either(&mut self, a: &str, left: Option<String>, b: &str, right: Option<String>) -> Option<String> {
        if let (Some(left), Some(right)) = (&left, &right)
            && left != right
        {
            self.error(a, format!("`{a}` is {left:?}, but `{b}` is {right:?}. Keep one of them."));
        }
        left.or(right)
    }

    fn required(&mut self, role: Role, keys: &[String; 2], values: [&Option<String>; 2]) {
        let asked = match role {
            // Whoever enables the moderator has to say who it is, even where nobody is called.
            Role::Moderator => true,
            Role::Builder | Role::Reviewer | Role::Examiner => self.kind == AgentKind::Live,
        };
        let broken = &self.findings.broken;
        let missing: Vec<String> = keys
            .iter()
            .zip(values)
            .filter(|(key, value)| {
                value.is_none() && !broken.contains(key.as_str()) && !broken.contains(role.name())
            })
            .map(|(key, _)| format!("`{key}`"))
            .collect();
        if !asked || missing.is_empty() {
            return;
        }
        let are = if missing.len() == 1 { "is" } else { "are" };
        let missing = missing.join(" and ");
        let message = match role {
            Role::Moderator => format!(
                "`enable_moderator` is true, but {missing} {are} missing. Set `moderator_provider` and \
                 `moderator_model`, or set `enable_moderator` to false."
            ),
            // It has no keys but those of its object.
            Role::Examiner => format!(
                "{} {are} missing. Name both of the examiner's provider and model in `examiner`, or leave both out for \
                 the reviewer's.",
                missing.replace('_', ".")
            ),
            Role::Builder | Role::Reviewer => format!(
                "{missing} {are} missing. Name the {role}'s provider and model, such as \"{role}_provider\": \
                 \"anthropic\"."
            ),
        };
        self.error(if role == Role::Moderator { "enable_moderator" } else { role.name() }, message);
    }

    fn base_url(&mut self, key: &str, url: &str) {
        let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
        let host = rest.map(|rest| rest.split('/').next().unwrap_or_default());
        match host {
            None | Some("") => self.error(
                key,
                format!(
                    "`{key}.base_url` must be an address such as \"http://localhost:8080/v1\", but it is {url:?}."
                ),
            ),
            // The address is not repeated: what stands before the `@` may be a password.
            Some(host) if host.contains('@') => self.error(
                key,
                format!(
                    "`{key}.base_url` has a user or password in it. Take it out, and put the key into an environment \
                     variable that `api_key_env` names."
                ),
            ),
            Some(_) => {}
        }
    }

    /// Joins the budget of the run with those of its roles. Money can only be set aside where prices are known.
    fn budget<'r>(
        &mut self,
        file: Option<&Limited>,
        own: &BTreeMap<Role, BudgetFile>,
        roles: impl Iterator<Item = (Role, &'r RoleSettings)>,
    ) -> Budget {
        let run = match file {
            Some(Limited::Limits(limits)) => machine_limits(limits),
            Some(Limited::Off(_)) | None => Limits::default(),
        };
        let mut budget = Budget { run, roles: BTreeMap::new() };
        for (role, settings) in roles {
            let limits = own.get(&role).map(machine_limits).unwrap_or_default();
            let money = if limits.cost_micro_usd.is_some() {
                Some((role.name(), format!("{role}.budget.max_usd")))
            } else {
                run.cost_micro_usd.map(|_| ("budget", "budget.max_usd".to_owned()))
            };
            if let Some((key, name)) = money
                && settings.price.is_none()
                && self.kind == AgentKind::Live
            {
                self.error(key, unknown_price(&name, role));
            }
            let output_tokens = settings.max_output_tokens.map(u64::from);
            budget.roles.insert(role, RoleBudget { limits, price: settings.price, output_tokens });
        }
        budget
    }

    /// Says how commands are confined; `None` if they are not.
    fn sandbox(&mut self, file: Option<&SandboxFile>, network: Option<Toggle>) -> Option<Sandbox> {
        let more = match file {
            Some(SandboxFile::Switch(switch)) if !switch.is_on() => return None,
            Some(SandboxFile::More(more)) => more.clone(),
            Some(SandboxFile::Switch(_)) | None => MoreFile::default(),
        };
        for (name, paths) in [("read", &more.read), ("write", &more.write)] {
            for path in paths.iter().filter(|path| !path.starts_with('/') && !path.starts_with("~/")) {
                self.error(
                    "sandbox",
                    format!(
                        "`sandbox.{name}` must hold paths that begin with `/` or `~/`, but `{path}` does not."
                    ),
                );
            }
        }
        Some(Sandbox {
            network: network.is_some_and(Toggle::is_on),
            read: more.read,
            write: more.write,
            memory_mb: more.memory_mb,
            processes: more.processes,
            support: Support::default(),
        })
    }

    /// Warns of what is accepted and does nothing.
    fn without_effect(&mut self, file: &File) {
        let confined = !matches!(file.sandbox, Some(SandboxFile::Switch(switch)) if !switch.is_on());
        if !confined && file.network.is_some_and(|network| !network.is_on()) {
            self.warn("network", "`network` has no effect while `sandbox` is off.".to_owned());
        }
        if !file.review_on_test_pass && file.review_mode != ReviewMode::Selective {
            self.warn(
                "review_on_test_pass",
                "`review_on_test_pass` has no effect unless `review_mode` is \"selective\".".into(),
            );
        }
        if !file.enable_moderator {
            for key in ["moderator_provider", "moderator_model", "moderator"] {
                if self.findings.sound.contains_key(key) && !self.findings.broken.contains("enable_moderator")
                {
                    self.warn(key, format!("`{key}` has no effect unless `enable_moderator` is true."));
                }
            }
        }
    }

    fn problem(&self, key: &str, message: String) -> Problem {
        let key = key.split('.').next().unwrap_or(key);
        Problem { at: self.findings.sound.get(key).copied().unwrap_or(TOP), message }
    }

    fn error(&mut self, key: &str, message: String) {
        let problem = self.problem(key, message);
        self.findings.errors.push(problem);
    }

    fn warn(&mut self, key: &str, message: String) {
        let problem = self.problem(key, message);
        self.findings.warnings.push(problem);
    }
}

/// Stands where a command would be, in a configuration that is not going to be used.
fn no_command() -> CommandLine {
    CommandLine { argv: Vec::new(), env: Vec::new(), shell: false, text: String::new() }
}

fn machine_level(level: EvidenceLevel) -> Level {
    match level {
        EvidenceLevel::Off => Level::Off,
        EvidenceLevel::On => Level::On,
        EvidenceLevel::Budget => Level::Budget,
    }
}

fn price(file: &PriceFile) -> Price {
    Price {
        input: millionths(file.input),
        cached: millionths(file.cached.unwrap_or(file.input)),
        output: millionths(file.output),
    }
}

/// Says why a limit of money cannot be kept.
pub(super) fn unknown_price(limit: &str, role: Role) -> String {
    format!(
        "`{limit}` cannot be kept, because what the {role}'s model costs is not known. Name it in `{role}.price`, in \
         dollars for a million tokens, or limit tokens instead."
    )
}

/// Returns what each role's object says of its budget.
fn role_limits(file: &File) -> BTreeMap<Role, BudgetFile> {
    let mut limits = BTreeMap::from([
        (Role::Builder, file.builder.budget),
        (Role::Reviewer, file.reviewer.budget),
        (Role::Moderator, file.moderator.budget),
    ]);
    if let Some(Examiner::Agent(object)) = &file.examiner {
        limits.insert(Role::Examiner, object.budget);
    }
    limits
}

fn machine_limits(file: &BudgetFile) -> Limits {
    Limits {
        calls: file.max_calls,
        tokens: file.max_tokens,
        cost_micro_usd: file.max_usd.map(millionths),
        minutes: file.max_minutes,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the schema keeps prices between 0 and a million dollars"
)]
pub(crate) fn millionths(dollars: f64) -> u64 {
    (dollars * 1e6).round() as u64
}
