//! What follows from values, in words.

use checkmate_machine::spec::{LandPolicy, Level, PatchForm, ReviewMode, Strictness};
use checkmate_machine::verdict::GateName;

use super::values::mode;
use crate::config::Config;

/// Returns sentences, each with the key that it is about.
pub(super) fn effects(config: &Config, land: Option<LandPolicy>) -> Vec<(&'static str, String)> {
    let mut effects = vec![
        ("test_command", test_command(config).to_owned()),
        ("builder.patch_form", form(config).to_owned()),
        ("max_iterations", turns(config)),
        ("review_mode", review(config).to_owned()),
        ("review_on_test_pass", on_test_pass(config)),
        ("review_strictness", strictness(config).to_owned()),
        ("enable_moderator", moderator(config)),
        ("evidence", evidence(config)),
        ("examiner", examiner(config).to_owned()),
    ];
    if config.mutants_at_once > 1 && config.evidence.level(GateName::Mutation) == Level::Off {
        effects.push((
            "mutants_at_once",
            "It has no effect, because `evidence` switches `mutation` off: there are no mutants.".into(),
        ));
    }
    effects.push(("budget", budget(config).to_owned()));
    effects.push(("sandbox", sandbox(config).to_owned()));
    effects.push(("network", network(config).to_owned()));
    if config.approve_patches {
        effects.push((
            "approve_patches",
            "You are asked about each patch before it is applied; where nobody is at a terminal, no run begins.".into(),
        ));
    }
    effects.push(("land", landing(land.or(config.land)).to_owned()));
    effects
}

fn test_command(config: &Config) -> &'static str {
    if config.test_command.shell {
        "The test command has shell operators, so it is run by `sh -c`."
    } else {
        "The test command is started directly, without a shell."
    }
}

fn form(config: &Config) -> &'static str {
    match config.patch_form() {
        PatchForm::Diff => {
            "The builder is asked for unified diffs; other forms of patches are understood too."
        }
        PatchForm::SearchReplace => {
            "The builder is asked for SEARCH/REPLACE blocks; other forms of patches are understood too."
        }
        PatchForm::WholeFile => {
            "The builder is asked for whole files; other forms of patches are understood too, and needed for long files."
        }
    }
}

fn turns(config: &Config) -> String {
    let then = match &config.moderator {
        Some(_) => "then the moderator is asked",
        None => "then the run ends without an approval",
    };
    match config.max_iterations {
        1 => format!("The builder has one turn; {then}."),
        turns => format!("The builder has {turns} turns; {then}."),
    }
}

fn review(config: &Config) -> &'static str {
    match config.review_mode {
        ReviewMode::Always => "The reviewer is asked after every turn whose tests are green.",
        ReviewMode::Selective if config.review_on_test_pass => {
            "The reviewer is asked after every turn whose tests are green, as with \"always\", because \
             `review_on_test_pass` is true."
        }
        ReviewMode::Selective => {
            "The reviewer is asked after turns whose tests are green, but not after the first one, because \
             `review_on_test_pass` is false."
        }
        ReviewMode::FinalOnly => {
            "The reviewer is asked only when the run would otherwise end: when tests and evidence are complete, or after \
             the last turn."
        }
    }
}

fn on_test_pass(config: &Config) -> String {
    let value = config.review_on_test_pass;
    match (config.review_mode, value) {
        (ReviewMode::Selective, true) => "A first turn with green tests is reviewed like any other.".into(),
        (ReviewMode::Selective, false) => {
            "A first turn with green tests and complete evidence is approved without a review, and the card says so."
                .into()
        }
        (other @ (ReviewMode::Always | ReviewMode::FinalOnly), _) => format!(
            "{value} has no effect, because `review_mode` is \"{}\"; only \"selective\" reads it.",
            mode(other)
        ),
    }
}

fn strictness(config: &Config) -> &'static str {
    match config.review_strictness {
        Strictness::Lenient => "Only critical bugs, security holes and broken tests block.",
        Strictness::Balanced => {
            "Critical and major bugs, security holes, tests and style block; minor findings do not."
        }
        Strictness::Strict => "Every finding blocks, minor ones included.",
    }
}

fn moderator(config: &Config) -> String {
    match &config.moderator {
        Some(settings) => format!(
            "The moderator, {} of {}, decides when builder and reviewer go in circles or the turns are used up.",
            settings.model, settings.provider
        ),
        None => "Without a moderator, a circle or the turn limit ends the run for a person to decide; the keys of a \
                 moderator have no effect."
            .into(),
    }
}

fn evidence(config: &Config) -> String {
    if !config.evidence.any() {
        return "Nothing beyond the tests is examined, because `evidence` is off: a green change is approved by its own \
                tests and the reviewer."
            .into();
    }
    let of = |wanted: Level| {
        let gates = GateName::SWITCHED.into_iter().filter(|gate| config.evidence.level(*gate) == wanted);
        gates.map(|gate| format!("`{}`", gate.name())).collect::<Vec<_>>().join(", ")
    };
    let mut said = String::from(
        "A green change is examined further before it is reviewed: does a test fail without it, do the old tests pass on \
         it, do its tests notice small changes of the code?",
    );
    let (budget, off) = (of(Level::Budget), of(Level::Off));
    if !budget.is_empty() {
        said.push_str(&format!(" Within a budget of test runs: {budget}."));
    }
    if !off.is_empty() {
        said.push_str(&format!(" Not looked at, because `evidence` switches it off: {off}."));
    }
    said
}

fn examiner(config: &Config) -> &'static str {
    match &config.examiner {
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
    }
}

fn budget(config: &Config) -> &'static str {
    let limited = !config.budget.run.is_unlimited()
        || config.budget.roles.values().any(|own| !own.limits.is_unlimited());
    if limited {
        "Room is set aside before each call; where it is not left, the run ends without an approval and can be resumed."
    } else {
        "Nothing limits what a run may use but its turns and time limits."
    }
}

fn sandbox(config: &Config) -> &'static str {
    match &config.sandbox {
        Some(_) => {
            "Commands read and write only the run's tree and what tools need; `checkmate doctor` says what this machine \
             cannot keep them from."
        }
        None => "Commands may read and write whatever you can, because `sandbox` is off.",
    }
}

fn network(config: &Config) -> &'static str {
    match &config.sandbox {
        None => "It has no effect, because `sandbox` is off: commands may use the network.",
        Some(sandbox) if sandbox.network => "Commands may use the network.",
        Some(_) => "Commands have no network but their own loopback: tests that download something fail.",
    }
}

fn landing(land: Option<LandPolicy>) -> &'static str {
    match land {
        Some(LandPolicy::Apply) => "An approved change goes into your working tree, uncommitted.",
        Some(LandPolicy::Commit) => "An approved change is committed on the present branch.",
        Some(LandPolicy::Ask) => {
            "You are asked whether an approved change lands; where nobody is, it waits for `checkmate land`."
        }
        None => {
            "You are asked whether an approved change lands; where nobody is, it goes into your working tree."
        }
    }
}
