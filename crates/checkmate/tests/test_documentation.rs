//! The pages for people, word for word: their commands are typed, their outputs are compared, their names are looked up.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Value, json};

use crate::environment::TestEnvironment;
use crate::pages::{Section, page, pages, root, without_comment};
use crate::scenes::{self, World};
use crate::script::Script;

/// Sections whose commands are typed, in this order, into one shell.
#[derive(Clone, Copy)]
struct Play {
    page: &'static str,
    headings: &'static [&'static str],
    world: fn() -> World,
    /// How commands end that begin like this; the others end with 0.
    codes: &'static [(&'static str, i32)],
}

const fn play(page: &'static str, headings: &'static [&'static str], world: fn() -> World) -> Play {
    Play { page, headings, world, codes: &[] }
}

const GUIDE: &str = "docs/guide.md";
const EXAMPLES: &str = "examples/README.md";

/// The plays, in groups that take about as long as each other.
const FIRST_STEPS: [Play; 3] = [
    play(GUIDE, &["Install"], scenes::first_day),
    Play {
        codes: &[("checkmate doctor --offline", 1)],
        ..play(GUIDE, &["A repository of yours", "What a run needs", "The first run"], scenes::calc)
    },
    play(EXAMPLES, &["The demo workspaces"], scenes::first_day),
];
const SEEN: [Play; 4] = [
    Play {
        codes: &[("checkmate run", 2)],
        ..play(
            GUIDE,
            &["Without a key", "Line by line", "The card", "Landing, and taking back"],
            scenes::first_day,
        )
    },
    play(GUIDE, &["While it runs"], scenes::watched),
    play(GUIDE, &["Questions"], scenes::asked),
    play(GUIDE, &["Your own edits"], scenes::edited),
];
const LATER: [Play; 4] = [
    play(GUIDE, &["Going on after a stop"], scenes::interrupted),
    Play { codes: &[("checkmate run", 2)], ..play(GUIDE, &["Budgets and costs"], scenes::priced) },
    play(GUIDE, &["Looking back"], scenes::examined),
    play(GUIDE, &["Scripts and continuous integration"], scenes::priced),
];
const SETTINGS: [Play; 6] = [
    play(GUIDE, &["How strict, and when"], scenes::slow),
    play(GUIDE, &["When they disagree"], scenes::disagreements),
    play(GUIDE, &["Commands that agents ask for"], scenes::commands),
    play(GUIDE, &["Prompts of your own"], scenes::prompts),
    play(GUIDE, &["Agents of your own"], scenes::scripted),
    play(GUIDE, &["The patch applier alone"], scenes::patched),
];
const OTHER_PAGES: [Play; 3] = [
    play("docs/evidence.md", &["The examiner", "Verify an approval later"], scenes::examined),
    play("docs/evidence.md", &["The card"], scenes::shouted),
    play("docs/journal.md", &["Where it lies"], scenes::examined),
];
/// It needs Node.js, which is not on every machine.
const README: [Play; 1] = [play("README.md", &["Use it"], scenes::typescript)];
const PLAYS: [&[Play]; 6] = [&FIRST_STEPS, &SEEN, &LATER, &SETTINGS, &OTHER_PAGES, &README];

/// Commands that no test types, and why.
const NOT_TYPED: [(&str, &str); 19] = [
    (
        "cargo install --locked --path crates/checkmate",
        "it would build the program that is under test once more",
    ),
    ("cargo run --release -- demo", "`./test` plays the demo, and so does `test_demo`"),
    ("./test", "it runs this test"),
    (
        "npm ci --prefix panel && npm run --prefix panel build",
        "it needs Node.js; `./test` checks what it makes",
    ),
    ("checkmate serve", "it serves until it is stopped; `test_serve` starts it"),
    ("cargo nextest run -p checkmate-machine", "`./test` runs it"),
    ("cargo nextest run -p checkmate -E 'test(journal)'", "`./test` runs all of these"),
    ("cargo nextest run -p checkmate -E 'test(bad_days)'", "`./test` runs all of these"),
    ("WORLDS=100000 cargo test --release -p checkmate-testing --test worlds", "it takes hours"),
    ("cargo bench -p checkmate-machine --bench patch", "it takes minutes"),
    ("cargo bench -p checkmate --bench durable_turn", "it takes minutes"),
    ("cargo build --release -p checkmate", "it takes minutes"),
    ("benches/processes", "it takes minutes"),
    ("benches/clients", "it takes minutes"),
    ("KILLS=1000 cargo test -p checkmate --test runner kill_sweep -- --nocapture", "it takes half an hour"),
    ("cd fuzz && cargo +nightly fuzz run -s none patch", "it needs a nightly compiler and has no end"),
    ("ollama pull qwen2.5-coder:32b", "another program's, and 20 GB"),
    ("llama-server -m model.gguf --port 8080 -c 32768 --jinja", "another program's"),
    ("vllm serve Qwen/Qwen2.5-Coder-32B-Instruct", "another program's"),
];

/// Outputs that no run of a test prints in the same words, by how they begin, and why.
const NOT_COMPARED: [(&str, &str); 1] =
    [("$XDG_STATE_HOME/checkmate/repos", "a folder, and another test holds it against a real one")];

#[test]
fn every_command_is_typed_or_named_with_the_reason_why_not() {
    let mut unknown = Vec::new();
    let mut named: BTreeSet<&str> = BTreeSet::new();
    let all = pages();
    for page in &all {
        for section in &page.sections {
            let is_typed = plays_of(&page.name, &section.heading);
            for command in &section.commands {
                let command = without_comment(command);
                match NOT_TYPED.iter().find(|(not_typed, _)| *not_typed == command) {
                    Some((not_typed, _)) => _ = named.insert(not_typed),
                    None if is_typed => {}
                    None => unknown.push(format!("{}, {}: {command}", page.name, section.heading)),
                }
            }
        }
    }
    assert!(unknown.is_empty(), "add a play or a reason for these:\n{}", unknown.join("\n"));
    let gone: Vec<_> = NOT_TYPED.iter().filter(|(command, _)| !named.contains(command)).collect();
    assert!(gone.is_empty(), "no page has these any more: {gone:?}");
}

#[test]
fn the_first_steps_are_as_the_guide_says() {
    typed(&FIRST_STEPS);
}

#[test]
fn what_one_sees_is_as_the_guide_says() {
    typed(&SEEN);
}

#[test]
fn what_one_does_later_is_as_the_guide_says() {
    typed(&LATER);
}

#[test]
fn what_settings_do_is_as_the_guide_says() {
    typed(&SETTINGS);
}

#[test]
fn what_the_other_pages_say_is_so() {
    typed(&OTHER_PAGES);
}

/// The README's run changes a project in TypeScript, so it is tried where Node.js is.
#[test]
fn what_the_readme_says_is_so() {
    let environment = TestEnvironment::empty();
    if environment.command("npm").arg("--version").output().is_ok_and(|output| output.status.success()) {
        typed(&README);
    }
}

fn typed(plays: &[Play]) {
    let problems: Vec<String> = plays.iter().flat_map(problems_of).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
}

/// Types a play and returns what is not as the page says.
fn problems_of(play: &Play) -> Vec<String> {
    let page = page(play.page);
    let sections: Vec<&Section> = play.headings.iter().map(|heading| page.section(heading)).collect();
    let world = (play.world)();
    world.saves(&sections);
    let commands: Vec<String> = sections
        .iter()
        .flat_map(|section| &section.commands)
        .filter(|command| NOT_TYPED.iter().all(|(not_typed, _)| *not_typed != without_comment(command)))
        .cloned()
        .collect();
    let mut problems = Vec::new();
    let mut outputs = world.outputs.clone();
    for typed in world.types(&commands) {
        let code = play
            .codes
            .iter()
            .find(|(start, _)| typed.command.starts_with(start))
            .map_or(0, |(_, code)| *code);
        if typed.code != code {
            problems.push(format!(
                "{}: `{}` ended with {} in place of {code}:\n{}",
                play.page, typed.command, typed.code, typed.output
            ));
        }
        outputs.push(typed.output);
    }
    let printed: Vec<Vec<String>> = outputs.iter().map(|output| comparable(output)).collect();
    for section in sections {
        for shown in &section.outputs {
            let lines = comparable(&world.environment.normal(&shown.replace("/home/you", "$TMP/home")));
            let is_real = printed.iter().any(|printed| is_part(&lines, printed));
            if !is_real && NOT_COMPARED.iter().all(|(start, _)| !shown.trim_start().starts_with(start)) {
                // What comes nearest is enough to see what has changed.
                let alike =
                    |printed: &&Vec<String>| lines.iter().filter(|line| printed.contains(line)).count();
                let nearest = printed.iter().max_by_key(alike).map(|lines| lines.join("\n"));
                problems.push(format!(
                    "{}, {}: no command printed this any more:\n{}\n---- but this:\n{}",
                    play.page,
                    section.heading,
                    lines.join("\n"),
                    nearest.unwrap_or_default()
                ));
            }
        }
    }
    problems
}

/// What of an output is the same on every machine and in every run.
fn comparable(text: &str) -> Vec<String> {
    static RULES: LazyLock<[(Regex, &str); 12]> = LazyLock::new(|| {
        [
            (r"git \d+\.\d+[^;]*;", "git VERSION;"),
            (r"[\d.]+ [KMGT]B left", "SIZE left"),
            (r"starts \S+\.", "starts PROGRAM."),
            (r" = TIMES test runs", ""),
            (r"(\S) +turn (\d)", "$1 turn $2"),
            (r"https?://\S+/v1/", "URL"),
            (r"\b[0-9a-f]{12}\b", "HASH"),
            (r"\b[0-9a-f]{64}\b", "HASH"),
            (r"[\u{2800}-\u{28ff}]", "*"),
            (r" +\d+ s\b", " TIME"),
            (r" +TIME\b", " TIME"),
            // How far a reply has come when it is looked at is chance.
            (r"(\* +reviewer).*chars", "$1"),
        ]
        .map(|(pattern, name)| (Regex::new(pattern).unwrap(), name))
    });
    // The baseline runs beside the builder, and what commands could do is another thing on another machine.
    let differs = ["✓ baseline ", "✓ sandbox ", "! sandbox ", "· Commands can ", "! commands could "];
    text.lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty() && differs.iter().all(|start| !line.trim_start().starts_with(start)))
        .map(|line| {
            RULES
                .iter()
                .fold(line.to_owned(), |line, (rule, name)| rule.replace_all(&line, *name).into_owned())
        })
        .collect()
}

/// Tells whether these lines were printed in this order without others between them, but where `…` stands.
fn is_part(shown: &[String], printed: &[String]) -> bool {
    let mut rest = printed;
    for piece in shown.split(|line| line.trim() == "…").filter(|piece| !piece.is_empty()) {
        match rest.windows(piece.len()).position(|lines| lines == piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    true
}

/// Tells whether what stands below a heading is typed.
fn plays_of(page: &str, heading: &str) -> bool {
    PLAYS.concat().iter().any(|play| play.page == page && play.headings.contains(&heading))
}

/// Every output that a page shows belongs to a play or is named; pages that quote messages have tests of their own.
#[test]
fn every_output_of_the_guide_is_compared() {
    for name in [GUIDE, "docs/evidence.md", "README.md"] {
        for section in page(name).sections {
            assert!(
                section.outputs.is_empty() || plays_of(name, &section.heading),
                "{name}, {}: nothing prints this",
                section.heading
            );
        }
    }
}

#[test]
fn commands_among_words_have_the_flags_that_the_program_has() {
    let environment = TestEnvironment::new();
    let mut seen = BTreeSet::new();
    for page in pages() {
        for code in page.sections.iter().flat_map(|section| &section.inline) {
            let Ok(words) = shell_words::split(code) else { continue };
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            match words.as_slice() {
                ["checkmate", first, rest @ ..] if seen.insert(code.clone()) => {
                    let output = environment.run(&[&[*first], rest, &["--help"]].concat());
                    assert_eq!(output.code, Some(0), "{}: `{code}`: {}", page.name, output.stderr);
                }
                ["git", rest @ ..] if !rest.is_empty() && seen.insert(code.clone()) => {
                    let output = environment.output(environment.command("git").args(rest).arg("-h"));
                    let said = format!("{}{}", output.stdout, output.stderr);
                    assert!(
                        output.code == Some(129) && !said.contains("error: "),
                        "{}: `{code}`: {said}",
                        page.name
                    );
                }
                _ => {}
            }
        }
    }
    assert!(seen.len() > 30, "{seen:?}");
}

/// What cargo is told to build or run is there.
#[test]
fn packages_tests_and_benchmarks_that_the_pages_name_are_there() {
    let mut named = 0;
    for page in pages() {
        let texts = page.sections.iter().flat_map(|section| section.commands.iter().chain(&section.inline));
        for text in texts.filter(|text| text.contains("cargo ")) {
            let words: Vec<&str> = text.split_whitespace().collect();
            for pair in words.windows(2) {
                let places = match pair {
                    ["-p", package] => vec![format!("crates/{package}/Cargo.toml")],
                    ["--test", test] => ["checkmate", "checkmate-testing"]
                        .map(|package| format!("crates/{package}/tests/{test}.rs"))
                        .to_vec(),
                    ["--bench", bench] => ["checkmate", "checkmate-machine"]
                        .map(|package| format!("crates/{package}/benches/{bench}.rs"))
                        .to_vec(),
                    ["--path", path] => vec![format!("{path}/Cargo.toml")],
                    _ => continue,
                };
                named += 1;
                assert!(
                    places.iter().any(|place| root().join(place).exists()),
                    "{}: {text}: {places:?}",
                    page.name
                );
            }
        }
    }
    assert!(named > 4);
}

/// Every subcommand stands in the README's table, and every flag on some page.
#[test]
fn every_subcommand_and_every_flag_is_described() {
    let environment = TestEnvironment::new();
    let help = |arguments: &[&str]| environment.run(&[arguments, &["--help"]].concat()).stdout;
    let commands: Vec<String> = help(&[])
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter(|line| !line.starts_with("   "))
        .map(|line| line.split_whitespace().next().unwrap().to_owned())
        .collect();
    assert!(commands.len() > 10, "{commands:?}");
    let readme = page("README.md");
    let table = &readme.section("Use it").text;
    let all: String =
        pages().iter().flat_map(|page| &page.sections).fold(String::new(), |mut all, section| {
            all.push_str(&section.text);
            all.push_str(&section.commands.join("\n"));
            all
        });
    let flag = Regex::new(r"--[a-z-]+").unwrap();
    let mut missing = Vec::new();
    for command in &commands {
        if !table.contains(&format!("`checkmate {command}")) {
            missing.push(format!("`checkmate {command}` in the README's table"));
        }
        let help = help(&[command]);
        let flags = flag.find_iter(&help).map(|found| found.as_str());
        missing.extend(
            flags
                .filter(|flag| *flag != "--help" && !all.contains(flag))
                .map(|flag| format!("`{flag}` of `{command}`")),
        );
    }
    assert!(missing.is_empty(), "no page describes {}", missing.join(", "));
}

/// Names of fields below `value`, where they are names of our own and not of files or roles.
fn fields(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                into.insert(name.clone());
                if !["calls_by_role", "roles", "prompts", "check"].contains(&name.as_str()) {
                    fields(value, into);
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| fields(value, into)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Makes sure that a page has each of these names as code.
#[track_caller]
fn describes(name: &str, fields: &BTreeSet<String>) {
    let text = fs::read_to_string(root().join(name)).unwrap();
    let missing: Vec<&String> = fields.iter().filter(|field| !text.contains(&format!("`{field}`"))).collect();
    assert!(missing.is_empty(), "{name} does not describe {missing:?}");
}

/// Everything that a rich run writes for programs.
#[test]
fn fields_of_results_events_and_findings_are_described() {
    let environment = TestEnvironment::new();
    environment.config(json!({"evidence": true}));
    let mut names = BTreeSet::new();
    let output = environment.cycle_with(&Script::approved(), &["--events"]);
    output.ended(0);
    for event in output.events() {
        fields(&event, &mut names);
    }
    fields(&environment.result(), &mut names);
    let doctor = environment.run(&["doctor", "--json", "--offline"]);
    fields(&serde_json::from_str(&doctor.stdout).unwrap(), &mut names);
    describes("docs/events.md", &names);
}

/// The fields of the lines of a journal, its notes included, and the files beside it.
#[test]
fn fields_of_the_journal_and_files_of_a_run_are_described() {
    let environment = TestEnvironment::new();
    environment.cycle_with(&Script::approved(), &["--max-calls", "1"]).ended(2);
    environment.run(&["resume", "latest", "--max-calls", "9"]).ended(0);
    let lines = environment.journal();
    let mut names: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for line in &lines {
        let kind = line["record"].as_str().unwrap_or("header");
        let names = names.entry(kind).or_default();
        names.extend(line.as_object().unwrap().keys().cloned());
        for part in [&line["used"], &line["shell"], &line["event"]["command"]] {
            names.extend(part.as_object().into_iter().flat_map(|part| part.keys().cloned()));
        }
        if line["event"]["answer"]["answer"] == "called" {
            fields(&line["event"]["answer"], names);
        }
    }
    assert_eq!(names.keys().copied().collect::<Vec<_>>(), ["asked", "ended", "event", "header", "opened"]);
    let kinds: BTreeSet<String> = lines
        .iter()
        .flat_map(|line| {
            [&line["record"], &line["event"]["answer"]["answer"], &line["event"]["command"]["command"]]
        })
        .filter_map(|kind| kind.as_str().map(str::to_owned))
        .collect();
    describes("docs/journal.md", &names.into_values().flatten().chain(kinds).collect());
    let page = page("docs/journal.md");
    let layout = &page.section("Where it lies").outputs[0];
    for entry in fs::read_dir(environment.run_folder()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(layout.contains(&name), "docs/journal.md does not name {name}");
    }
}

/// What a mistake on the command line or in the configuration brings, in the words of the page about trouble.
#[test]
fn troubleshooting_quotes_mistakes_of_the_first_days() {
    let page = fs::read_to_string(root().join("docs/troubleshooting.md")).unwrap();
    let mut environment = TestEnvironment::new();
    environment.cycle(&Script::approved()).ended(0);
    let model = |provider: &str| json!({"provider": provider, "model": "m"});
    environment.config(json!({"builder": model("anthropic"), "reviewer": model("anthropic")}));
    environment.set("ANTHROPIC_API_KEY", "sk-ant-…");
    for arguments in [
        &["run", "Add shout"][..],
        &["run", "Add shout", "--max-usd", "1"],
        &["init"],
        &["show", "nope"],
        &["show", "latest", "--probes"],
    ] {
        let output = environment.run(arguments);
        assert!(matches!(output.code, Some(1 | 64)), "{arguments:?}: {output:?}");
        let said =
            output.stderr.replace("$TMP/repo", "/home/you/project").replace("RUN", "20261121-233700-zajc");
        let said = said.trim().trim_start_matches("checkmate: ");
        let is_quoted = said.lines().any(|line| {
            let message = line.split_once("json: ").map_or(line, |(_, message)| message);
            page.contains(&format!("\n{message}\n"))
        });
        assert!(is_quoted, "{arguments:?}: docs/troubleshooting.md does not have this:\n{said}");
    }
}
