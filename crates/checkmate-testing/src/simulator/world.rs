//! One random world, from its seed to its end.

use std::collections::{BTreeMap, BTreeSet};

use checkmate_machine::budget::{Budget, Limits, RoleBudget};
use checkmate_machine::command::CommandLine;
use checkmate_machine::effect::{Action, Landing};
use checkmate_machine::event::{Answer, Command, Event, Failure, FailureKind};
use checkmate_machine::evidence::Receipt;
use checkmate_machine::ids::{Role, RunId, TaskId};
use checkmate_machine::notice::Notice;
use checkmate_machine::outcome::{Outcome, StoppedBy};
use checkmate_machine::prompt;
use checkmate_machine::run::{PlannedTask, Run};
use checkmate_machine::schedule::Standing;
use checkmate_machine::spec::{
    Earlier, EvidenceRules, Examples, LandPolicy, Level, PatchForm, Policy, Product, ReviewMode, Spec,
    Strictness, Task, TaskKind,
};
use checkmate_machine::verdict::GateName;
use fastrand::Rng;

use super::agents::Agents;
use super::checks::Habits;
use super::laws::Watch;
use super::repository::{Files, Repository};
use super::{facts, noise, one_in};

/// Events after which a world counts as one that never ends.
const LONGEST: usize = 20_000;
/// Commands that a world's people give at most.
const COMMANDS: u32 = 12;

/// A law that a world broke.
#[derive(Debug)]
pub struct Broken {
    /// The world.
    pub seed: u64,
    /// The law and what was seen, as a sentence.
    pub law: String,
    /// The journal up to there, one JSON line an event.
    pub journal: Vec<String>,
}

/// How a world ended.
#[derive(Debug)]
pub struct Summary {
    /// The outcomes in the order of the tasks: `approved`, `error`, or the rule that stopped it.
    pub outcomes: Vec<&'static str>,
    /// Events in its journal.
    pub events: usize,
    /// The largest prompt in bytes.
    pub largest_prompt: usize,
    /// Laws have seen so many approvals.
    pub approvals: u32,
}

/// Plays the world of a seed to its end.
pub fn simulate(seed: u64) -> Result<Summary, Box<Broken>> {
    let mut world = World::new(seed);
    match world.play() {
        Ok(()) => Ok(world.summary()),
        Err(law) => Err(Box::new(Broken { seed, law, journal: world.journal })),
    }
}

struct World {
    rng: Rng,
    trees: Repository,
    habits: Habits,
    tasks: Vec<PlannedTask>,
    slots: usize,
    run: Run,
    /// The same run, but told only what the journal's JSON says.
    shadow: Run,
    agents: BTreeMap<TaskId, Agents>,
    watches: BTreeMap<TaskId, Watch>,
    events: Vec<Event>,
    journal: Vec<String>,
    commands: u32,
    reopened: BTreeSet<TaskId>,
    /// Tasks that were done once; others may build on them already.
    taken_back: BTreeSet<TaskId>,
    /// One in so many parts fails; 0 = none.
    failing: u32,
    /// One in so many facts is against a change; 0 = none.
    bad: u32,
    /// One in so many steps is an event that nobody waits for; 0 = none.
    noisy: u32,
    /// Whether answers are made up without a look at the repository.
    chaos: bool,
    /// One in so many steps the user edits a file or says something; 0 = none.
    restless: u32,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let tasks = plan(&mut rng);
        let slots = rng.usize(1..4);
        let habits = Habits::any(&mut rng);
        let run = started(&tasks, slots);
        let agents = tasks.iter().map(|task| (task.id.clone(), Agents::any(&mut rng))).collect();
        let watches = tasks.iter().map(|task| (task.id.clone(), Watch::new(&task.spec))).collect();
        Self {
            trees: Repository::new(first_files(&mut rng)),
            habits,
            slots,
            shadow: run.clone(),
            run,
            agents,
            watches,
            tasks,
            events: Vec::new(),
            journal: Vec::new(),
            commands: 0,
            reopened: BTreeSet::new(),
            taken_back: BTreeSet::new(),
            failing: *rng.choice(&[0, 0, 10, 50]).unwrap_or(&0),
            bad: *rng.choice(&[0, 4, 15, 60]).unwrap_or(&0),
            noisy: *rng.choice(&[0, 3, 10]).unwrap_or(&0),
            chaos: one_in(&mut rng, 8),
            restless: *rng.choice(&[0, 0, 8, 30]).unwrap_or(&0),
            rng,
        }
    }

    fn play(&mut self) -> Result<(), String> {
        loop {
            self.check_schedule()?;
            if self.events.len() > LONGEST {
                return Err("a run has to end".into());
            }
            if self.noisy > 0 && one_in(&mut self.rng, self.noisy) {
                self.make_noise()?;
            }
            if self.restless > 0 && one_in(&mut self.rng, self.restless) {
                self.be_restless()?;
            }
            let pending = self.run.pending();
            if pending.is_empty() {
                if !self.run.is_over() {
                    return Err("nothing is outstanding, but the run is not over".into());
                }
                if self.commands >= COMMANDS || !self.reopen()? {
                    break;
                }
                continue;
            }
            let chosen = pending[self.rng.usize(0..pending.len())];
            let (task, effect, part, action) =
                (chosen.task.clone(), chosen.effect, chosen.part, chosen.action.clone());
            let answer = self.answer(&task, &action);
            self.tell(Event::Answered { task, effect, part, answer })?;
        }
        self.check_end()
    }

    /// Journals an event, hands it to the run, and holds what follows against the laws.
    fn tell(&mut self, event: Event) -> Result<(), String> {
        let line = serde_json::to_string(&event).map_err(|error| format!("an event is no JSON: {error}"))?;
        let again: Event = serde_json::from_str(&line)
            .map_err(|error| format!("an event is lost in JSON: {error}: {line}"))?;
        self.journal.push(line);
        if again != event {
            return Err("an event comes back from JSON as it was written".into());
        }
        let before = before(&self.run, &event);
        let notices = self.run.handle(&event);
        let told = self.shadow.handle(&again);
        if told != notices || self.shadow != self.run {
            return Err("a journal replays to the same state at every event".into());
        }
        self.events.push(event.clone());
        let (Event::Answered { task, .. } | Event::Command { task, .. }) = &event;
        let Some(cycle) = self.run.cycle(task) else { return Ok(()) };
        let Some(watch) = self.watches.get_mut(task) else { return Ok(()) };
        let notices: Vec<Notice> = notices.into_iter().map(|(_, notice)| notice).collect();
        watch.saw(&event, before, &notices, cycle, if self.chaos { None } else { Some(&self.trees) })
    }

    /// Says something that nobody waits for; nothing may come of it.
    fn make_noise(&mut self) -> Result<(), String> {
        let Some(event) = noise::unexpected(&mut self.rng, &self.run, &self.events) else { return Ok(()) };
        let before = self.run.clone();
        self.tell(event.clone())?;
        if self.run == before {
            return Ok(());
        }
        Err(format!("an event that nobody waits for changes nothing: {event:?}"))
    }

    /// Lets the user edit a file, or somebody say something.
    fn be_restless(&mut self) -> Result<(), String> {
        if self.rng.bool() {
            let line = format!("words of the user {}\n", self.rng.u32(0..9));
            let path = *self.rng.choice(&["src/main.txt", "notes.txt", "notes.txt"]).unwrap_or(&"notes.txt");
            self.trees.user().entry(path.into()).or_default().push_str(&line);
            if one_in(&mut self.rng, 4) {
                self.trees.user().insert("user.txt".into(), "bug t1\n".into());
            }
            return Ok(());
        }
        if self.commands >= COMMANDS {
            return Ok(());
        }
        self.commands += 1;
        let task = self.tasks[self.rng.usize(0..self.tasks.len())].id.clone();
        let command = match self.rng.u32(0..13) {
            10 | 11 => Command::Comment {
                text: format!("remark {} of the user", self.commands),
                path: self.rng.bool().then(|| "src/main.txt".into()),
                line: self.rng.bool().then(|| self.rng.u32(0..9)),
            },
            12 => self.dispute(&task),
            0 => Command::Cancel { reason: "enough".into() },
            6 => Command::TakenBack,
            7 => Command::TimeOver,
            8 | 9 => Command::Budget { role: role(&mut self.rng), limits: limits(&mut self.rng) },
            1 | 2 => Command::Land { how: Landing::Commit },
            _ => Command::Retry,
        };
        self.command(task, command)
    }

    /// Settles one of the findings that there are, or one that there is not.
    fn dispute(&mut self, task: &TaskId) -> Command {
        let findings = self.run.cycle(task).map_or(&[][..], |cycle| cycle.findings().all());
        let ids: Vec<String> = findings.iter().map(|finding| finding.id.clone()).collect();
        let finding = self.rng.choice(ids.iter()).map_or("issue-1", String::as_str).to_owned();
        Command::Dispute { finding, text: "It is meant to be so.".into() }
    }

    /// Gives a command; it changes something exactly if the run says that it accepts it.
    fn command(&mut self, task: TaskId, command: Command) -> Result<(), String> {
        let accepted = self.run.accepts(&task, &command);
        let before = self.run.clone();
        if accepted && !matches!(command, Command::Cancel { .. } | Command::TakenBack | Command::TimeOver) {
            self.reopened.insert(task.clone());
        }
        if accepted && command == Command::TakenBack {
            self.taken_back.insert(task.clone());
        }
        self.tell(Event::Command { task: task.clone(), command: command.clone() })?;
        if accepted == (self.run != before) {
            return Ok(());
        }
        Err(format!("a command changes something exactly if it is accepted: {command:?} for {task}"))
    }

    /// Opens an ended task again, where that is possible and somebody wants it.
    fn reopen(&mut self) -> Result<bool, String> {
        let ids: Vec<TaskId> = self.tasks.iter().map(|task| task.id.clone()).collect();
        for id in ids {
            let larger = Command::Budget { role: role(&mut self.rng), limits: limits(&mut self.rng) };
            for command in [Command::Retry, Command::Land { how: Landing::Apply }, larger] {
                if self.run.accepts(&id, &command) && !one_in(&mut self.rng, 4) {
                    self.commands += 1;
                    self.command(id, command)?;
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn answer(&mut self, task: &TaskId, action: &Action) -> Answer {
        if self.failing > 0 && one_in(&mut self.rng, self.failing) {
            return Answer::Failed(failure(&mut self.rng));
        }
        if self.chaos && one_in(&mut self.rng, 3) {
            return noise::fitting(&mut self.rng, action);
        }
        match action {
            Action::Prepare => Answer::Prepared(self.trees.prepare()),
            Action::Read { tree, paths } => Answer::Files { files: self.trees.read(tree, paths) },
            Action::Call(call) => match (self.agents.get_mut(task), self.run.cycle(task)) {
                (Some(agents), Some(cycle)) => {
                    Answer::Called(agents.reply(&mut self.rng, call, cycle, &self.trees))
                }
                (_, _) => Answer::Failed(failure(&mut self.rng)),
            },
            Action::Apply { onto, base, patch } => self.trees.apply(onto, base, patch),
            Action::Store { base, path, text } => self.trees.store(base, path, text),
            Action::Inspect { base, tree, .. } => {
                let found = facts::inspection(&mut self.rng, self.bad, &self.trees, base, tree);
                Answer::Inspected(Box::new(found))
            }
            Action::Check { command, tree, layers, vary, .. } => {
                let files = self.trees.laid_over(tree, layers);
                let receipt = self.habits.run(&mut self.rng, command, tree, &files);
                Answer::Ran(Receipt { seed: *vary, ..receipt })
            }
            Action::Ask(_) => Answer::Said { yes: !one_in(&mut self.rng, 3), text: "well".into() },
            Action::Land { tree, base, .. } => self.trees.land(tree, base),
        }
    }

    fn check_schedule(&self) -> Result<(), String> {
        let standing = |id: &TaskId| self.run.standing(id);
        let running = self.run.tasks().iter().filter(|id| standing(id) == Some(Standing::Running)).count();
        if running > self.slots + self.reopened.len() {
            return Err(format!("{running} tasks run in {} slots", self.slots));
        }
        for task in &self.tasks {
            let outcome = self.run.outcome(&task.id);
            let done = |id: &TaskId| {
                self.taken_back.contains(id)
                    || matches!(
                        self.run.outcome(id),
                        Some(Outcome::Approved { .. } | Outcome::Applied { .. })
                    )
            };
            let started = self.run.cycle(&task.id).is_some();
            if started && !task.depends_on.iter().all(done) {
                return Err(format!("{} starts only after everything it depends on is done", task.id));
            }
            let fits = match standing(&task.id) {
                None => false,
                Some(Standing::Waiting) => !started && outcome.is_none(),
                Some(Standing::Running) => started && outcome.is_none(),
                // What landed and was taken back stays done for those that build on it.
                Some(Standing::Done) => matches!(
                    outcome,
                    Some(
                        Outcome::Approved { .. }
                            | Outcome::Applied { .. }
                            | Outcome::NotApproved {
                                stopped_by: StoppedBy::NotLanded | StoppedBy::TakenBack,
                                ..
                            }
                    )
                ),
                Some(Standing::Failed) => {
                    started && matches!(outcome, Some(Outcome::NotApproved { .. } | Outcome::Error { .. }))
                }
                Some(Standing::Blocked) => {
                    let lost =
                        |id: &TaskId| matches!(standing(id), Some(Standing::Failed | Standing::Blocked));
                    !started && task.depends_on.iter().any(lost)
                }
            };
            if !fits {
                return Err(format!("{} stands at {:?} with {outcome:?}", task.id, standing(&task.id)));
            }
        }
        Ok(())
    }

    fn check_end(&self) -> Result<(), String> {
        for task in &self.tasks {
            let reason = match self.run.outcome(&task.id) {
                None => return Err(format!("{} has no outcome at the end", task.id)),
                Some(Outcome::Approved { .. } | Outcome::Applied { .. }) => continue,
                Some(Outcome::NotApproved { reason, .. }) => reason,
                Some(Outcome::Error { message }) => message,
            };
            if reason.trim().len() < 10 || reason.trim() != reason {
                return Err(format!("an outcome says why in a sentence, not {reason:?}"));
            }
        }
        let again = started(&self.tasks, self.slots).replay(&self.events, |_, _| {});
        if again == self.run { Ok(()) } else { Err("a journal replays to the same end".into()) }
    }

    fn summary(&self) -> Summary {
        let name = |task: &PlannedTask| match self.run.outcome(&task.id) {
            Some(Outcome::Approved { .. }) => "approved",
            Some(Outcome::Applied { .. }) => "applied",
            Some(Outcome::NotApproved { stopped_by, .. }) => stopped_by.name(),
            Some(Outcome::Error { .. }) | None => "error",
        };
        Summary {
            outcomes: self.tasks.iter().map(name).collect(),
            events: self.events.len(),
            largest_prompt: self.watches.values().map(Watch::largest_prompt).max().unwrap_or(0),
            approvals: self.watches.values().map(Watch::approvals).sum(),
        }
    }
}

/// Returns the action that an event answers, if it is outstanding.
fn before(run: &Run, event: &Event) -> Option<Action> {
    match event {
        Event::Answered { task, effect, part, .. } => run.awaited(task, *effect, *part).cloned(),
        Event::Command { .. } => None,
    }
}

fn started(tasks: &[PlannedTask], slots: usize) -> Run {
    Run::new(tasks.to_vec(), slots).expect("worlds are planned with earlier tasks as dependencies only")
}

fn plan(rng: &mut Rng) -> Vec<PlannedTask> {
    let count = if one_in(rng, 4) { rng.usize(2..9) } else { 1 };
    let ids: Vec<TaskId> = (0..count).map(|n| TaskId::new(format!("t{n}"))).collect();
    (0..count)
        .map(|n| PlannedTask {
            id: ids[n].clone(),
            depends_on: ids[..n].iter().filter(|_| one_in(rng, 3)).cloned().collect(),
            spec: spec(rng),
        })
        .collect()
}

fn spec(rng: &mut Rng) -> Spec {
    let product = match rng.u32(0..24) {
        0 | 1 => Product::Document { path: "docs/readme.md".into() },
        2 => Product::Given { patch: given(rng) },
        _ => Product::Patch,
    };
    let line = if one_in(rng, 5) { "run tests && run lint" } else { "run tests" };
    let test_command = CommandLine::from_user(line).expect("the line is a command");
    let some = |rng: &mut Rng, item: &str| if rng.bool() { vec![item.to_owned()] } else { Vec::new() };
    Spec {
        task: task(rng),
        product,
        policy: Policy {
            max_iterations: rng.u32(1..7),
            review_mode: *rng
                .choice(&[ReviewMode::Always, ReviewMode::Selective, ReviewMode::FinalOnly])
                .unwrap_or(&ReviewMode::Always),
            review_on_test_pass: rng.bool(),
            strictness: *rng
                .choice(&[Strictness::Lenient, Strictness::Balanced, Strictness::Strict])
                .unwrap_or(&Strictness::Balanced),
            patch_form: PatchForm::default(),
            moderator: rng.bool(),
            context_summary_threshold: *rng.choice(&[1, 200, 2000]).unwrap_or(&2000),
            allow_paths: if one_in(rng, 4) { vec!["src/**".into(), "tests/**".into()] } else { Vec::new() },
            allow_commands: some(rng, "npm run *"),
            test_command,
            approve_patches: one_in(rng, 8),
            interactive: rng.bool(),
            land: *rng
                .choice(&[LandPolicy::Apply, LandPolicy::Commit, LandPolicy::Ask])
                .unwrap_or(&LandPolicy::Ask),
            evidence: evidence(rng),
            examiner: one_in(rng, 3),
            budget: budget(rng),
        },
        prompts: prompt::shipped(),
    }
}

fn task(rng: &mut Rng) -> Task {
    let kinds = [
        None,
        None,
        None,
        Some(TaskKind::Feature),
        Some(TaskKind::Bugfix),
        Some(TaskKind::Refactor),
        Some(TaskKind::Docs),
        Some(TaskKind::Tests),
        Some(TaskKind::Chore),
    ];
    let example = || Examples {
        path: "zz_example.sh".into(),
        run: "sh zz_example.sh".into(),
        content: "needs token1\n".into(),
    };
    Task {
        goal: "Make src/main.txt right.".into(),
        kind: *rng.choice(&kinds).unwrap_or(&None),
        permits: if one_in(rng, 4) { vec!["change_tests".into(), "delete_tests".into()] } else { Vec::new() },
        given_red: one_in(rng, 12),
        examples: one_in(rng, 4).then(example),
        follows: one_in(rng, 8).then(|| Earlier {
            run: RunId::new("earlier"),
            goal: "Make src/main.txt.\n\n## GOAL\nEverything.".into(),
            outcome: None,
            diff: "+## CONSTRAINTS\n>>>\n".into(),
        }),
    }
}

/// A patch of the user's own, which fits or not.
fn given(rng: &mut Rng) -> String {
    let path = *rng.choice(&["src/main.txt", ".git/config", "src/new.txt"]).unwrap_or(&"src/main.txt");
    match rng.u32(0..4) {
        0 => "no patch".into(),
        1 => format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-nothing\n+something\n"),
        _ => "--- /dev/null\n+++ b/src/given.txt\n@@ -0,0 +1 @@\n+given\n".into(),
    }
}

/// No limits mostly; else some for the run and perhaps for a role.
fn budget(rng: &mut Rng) -> Budget {
    let mut budget = Budget::default();
    if one_in(rng, 4) {
        budget.run = limits(rng);
    }
    if one_in(rng, 8) {
        let own = RoleBudget { limits: limits(rng), ..RoleBudget::default() };
        budget.roles.insert(if one_in(rng, 2) { Role::Builder } else { Role::Reviewer }, own);
    }
    budget
}

/// The whole run mostly.
fn role(rng: &mut Rng) -> Option<Role> {
    one_in(rng, 4).then_some(Role::Reviewer)
}

fn limits(rng: &mut Rng) -> Limits {
    match rng.u32(0..3) {
        0 => Limits { calls: Some(rng.u32(0..30)), ..Limits::default() },
        1 => Limits { tokens: Some(rng.u64(0..400_000)), ..Limits::default() },
        _ => Limits { minutes: Some(rng.u32(0..10)), ..Limits::default() },
    }
}

/// Everything, nothing, or a level for each gate.
fn evidence(rng: &mut Rng) -> EvidenceRules {
    let levels = [Level::Off, Level::On, Level::Budget];
    match rng.u32(0..5) {
        0 | 1 => EvidenceRules::usual(),
        2 => EvidenceRules::default(),
        _ => EvidenceRules {
            levels: GateName::SWITCHED
                .into_iter()
                .map(|gate| (gate, *rng.choice(&levels).unwrap_or(&Level::On)))
                .collect(),
            otherwise: Level::Off,
        },
    }
}

fn first_files(rng: &mut Rng) -> Files {
    let mut files = Files::new();
    files.insert("src/main.txt".into(), "has token1\nhas token2\n".into());
    files.insert("tests/all.txt".into(), "test t1\ntest t2\n".into());
    if one_in(rng, 4) {
        files.insert("src/old.txt".into(), "bug t2\n".into());
    }
    if one_in(rng, 8) {
        files.remove("tests/all.txt");
    }
    files
}

fn failure(rng: &mut Rng) -> Failure {
    let kinds = [FailureKind::Provider, FailureKind::Account, FailureKind::Refusal, FailureKind::Local];
    Failure {
        kind: *rng.choice(&kinds).unwrap_or(&FailureKind::Local),
        message: "It could not be done; try again later.".into(),
        requests: rng.u32(0..3),
    }
}
