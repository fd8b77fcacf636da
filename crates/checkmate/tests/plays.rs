//! Runs that take every path of the cycle, for those who kill them on the way.
//!
//! A play is a world, a script and the commands that a user gives, one after the other. What it comes to does not depend on
//! when it is killed: where the user edits files meanwhile, the test command does it, at a candidate and not at a time.

use serde_json::{Value, json};

use crate::environment::TestEnvironment;
use crate::script::{
    Script, adds, approves, asks_for, builds, builds_with, issue, replaces, reshout, shout, shout_line,
};

/// A command of the user with the exit code that it comes to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    /// The command's arguments; those of the first step are further ones of `checkmate run`.
    pub(crate) arguments: &'static [&'static str],
    /// How it ends.
    pub(crate) code: i32,
}

/// A run with what comes before and after it.
#[derive(Clone, Copy)]
pub(crate) struct Play {
    /// Its name.
    pub(crate) name: &'static str,
    /// Of a hundred moments, how many are tried in it.
    pub(crate) share: u32,
    /// What the agents say.
    pub(crate) script: fn() -> Script,
    /// Keys of the configuration.
    pub(crate) keys: fn() -> Value,
    /// Writes further files into the repository.
    pub(crate) files: fn(&TestEnvironment),
    /// A file that the user edits meanwhile.
    pub(crate) edited: Option<&'static str>,
    /// The commands.
    pub(crate) steps: &'static [Step],
}

impl Play {
    /// Makes a repository in the middle of the user's own work.
    pub(crate) fn world(&self) -> TestEnvironment {
        let environment = TestEnvironment::new();
        environment.write("src/old.sh", "old() { :; }\n");
        (self.files)(&environment);
        environment.config((self.keys)());
        environment.write("staged.txt", "staged\n");
        environment.git(&["add", "staged.txt"]);
        environment.write("staged.txt", "staged and edited\n");
        environment.write("untracked.bin", [0, 255, 13, 10]);
        environment
    }
}

const APPLIED: &[Step] = &[Step { arguments: &[], code: 0 }, UNDONE];
const UNDONE: Step = Step { arguments: &["undo", "latest"], code: 0 };
/// Where the lines of the play are as short as in most tests.
const NOTHING: Play = Play {
    name: "",
    share: 0,
    script: Script::approved,
    keys: || json!({}),
    files: |_| {},
    edited: None,
    steps: APPLIED,
};

/// Two turns with requested files, diagnostics, a busy model and a claim that a test refutes; a landing that adds,
/// changes and deletes.
pub(crate) const REFUTED: Play = Play {
    name: "refuted",
    share: 14,
    script: refuted,
    keys: || json!({"allow_commands": ["cat *"]}),
    ..NOTHING
};

/// A claim that a test confirms, and the mending.
pub(crate) const CONFIRMED: Play = Play { name: "confirmed", share: 8, script: confirmed, ..NOTHING };

/// A red turn, then a green one, and the landing as a commit beside the user's staged and unstaged edits.
pub(crate) const COMMITTED: Play = Play {
    name: "committed",
    share: 12,
    script: red_first,
    steps: &[Step { arguments: &["--land", "commit"], code: 0 }, UNDONE],
    ..NOTHING
};

/// A circle that the moderator ends.
pub(crate) const MODERATED: Play = Play {
    name: "moderated",
    share: 8,
    script: moderated,
    keys: || json!({"enable_moderator": true, "moderator_provider": "anthropic", "moderator_model": "m"}),
    ..NOTHING
};

/// Evidence, with a probe of the examiner that the second turn mends.
pub(crate) const EXAMINED: Play = Play {
    name: "examined",
    share: 8,
    script: examined,
    keys: || json!({"allow_commands": ["cat *"], "evidence": true, "examiner": true}),
    ..NOTHING
};

/// Evidence with mutants of a function.
pub(crate) const MUTATED: Play = Play {
    name: "mutated",
    share: 2,
    script: mutated,
    keys: || json!({"evidence": true, "test_command": "python3 -m unittest", "allow_paths": []}),
    files: |environment| {
        let test =
            "import unittest\n\n\nclass Old(unittest.TestCase):\n    def test_old(self):\n        pass\n";
        environment.write("test_old.py", test);
    },
    ..NOTHING
};

/// The user adds a file meanwhile: the change is merged and verified again.
pub(crate) const MERGED: Play = Play {
    name: "merged",
    share: 10,
    script: red_first,
    files: |environment| {
        let edit = "mine=$HOME/../repo/src/mine.sh\nif [ -e src/shout.sh ] && [ ! -e $mine ]; then echo 'mine() { :; }' > $mine; fi\n";
        environment.write("test/edit_test.sh", edit);
    },
    edited: Some("src/mine.sh"),
    ..NOTHING
};

/// The user changes the same line meanwhile: the builder makes the change again.
pub(crate) const CONTRADICTED: Play = Play {
    name: "contradicted",
    share: 8,
    script: contradicted,
    files: |environment| {
        let edit = "if grep -q 'echo \"$1\" | tr a-z' src/text.sh; then cat test/mine.txt > $HOME/../repo/src/text.sh; fi\n";
        environment.write("test/edit_test.sh", edit);
        environment.write("test/mine.txt", format!("{MINE}\n"));
    },
    edited: Some("src/text.sh"),
    ..NOTHING
};

/// Approved, and landed by a command of its own.
pub(crate) const LATER: Play = Play {
    name: "landed later",
    share: 10,
    keys: || json!({"land": "ask"}),
    steps: &[Step { arguments: &[], code: 2 }, Step { arguments: &["land", "latest"], code: 0 }, UNDONE],
    ..NOTHING
};

/// The same as a commit.
pub(crate) const COMMITTED_LATER: Play = Play {
    name: "committed later",
    share: 8,
    keys: || json!({"land": "ask"}),
    steps: &[
        Step { arguments: &[], code: 2 },
        Step { arguments: &["land", "latest", "--commit"], code: 0 },
        UNDONE,
    ],
    ..NOTHING
};

/// The budget ends it, and it goes on with a larger one.
pub(crate) const LIMITED: Play = Play {
    name: "limited",
    share: 6,
    script: red_first,
    steps: &[
        Step { arguments: &["--max-calls", "2"], code: 2 },
        Step { arguments: &["resume", "latest", "--max-calls", "9"], code: 0 },
        UNDONE,
    ],
    ..NOTHING
};

/// The model refuses for so long that the run ends with an error, and it goes on later.
pub(crate) const FAILED: Play = Play {
    name: "failed",
    share: 6,
    script: failed,
    steps: &[Step { arguments: &[], code: 1 }, Step { arguments: &["resume", "latest"], code: 0 }, UNDONE],
    ..NOTHING
};

const UPPER: &str = "upper() { printf '%s\\n' \"$1\" | tr a-z A-Z; }";
const ECHOED: &str = "upper() { echo \"$1\" | tr a-z A-Z; }";
const MINE: &str = "upper() { printf '%s\\n' \"$1\" | tr '[:lower:]' '[:upper:]'; }";

fn refuted() -> Script {
    let change = format!(
        "{}{}{}{}",
        adds("src/shout.sh", &[&shout_line("$1!")]),
        replaces("src/text.sh", UPPER, ECHOED),
        "--- a/src/old.sh\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-old() { :; }\n",
        adds("test/deep/er/notes.txt", &["shouting is tested"]),
    );
    let unsure = json!({"verdict": "block", "block_reason": "uncertainty", "issues": [],
        "diagnostics_needed": ["cat src/shout.sh", "whoami"], "stopping": "I want to see it."});
    Script::new()
        .builder(json!({"files_needed": ["src/old.sh"]}))
        .builder(builds(&change))
        .reviewer(unsure)
        .entry(json!({"role": "reviewer", "fail": "rate_limit"}))
        .reviewer(asks_for(&[claim()]))
        .builder(disagrees())
        .reviewer(asks_for(&[claim()]))
        .builder(builds(&claim_test("!")))
        .reviewer(confirms())
}

fn confirmed() -> Script {
    Script::new()
        .builder(builds(&shout("$1!")))
        .reviewer(asks_for(&[claim()]))
        .builder(disagrees())
        .reviewer(asks_for(&[claim()]))
        .builder(builds(&claim_test("?!")))
        .reviewer(confirms())
        .builder(builds(&reshout("$1!", "${1:-?}!")))
        .reviewer(approves())
}

fn claim() -> Value {
    issue("empty", "major", "shout of an empty word prints no single mark")
}

fn disagrees() -> Value {
    builds_with("", json!({"answers": [{"to": "empty", "answer": "disagree", "text": "It does."}]}))
}

fn claim_test(expected: &str) -> String {
    adds("test/claim_test.sh", &[&format!("expect \"shout of nothing\" \"$(shout '')\" '{expected}'")])
}

fn confirms() -> Value {
    json!({"states_claim": true, "reason": "It calls shout with nothing."})
}

fn red_first() -> Script {
    Script::new().builder(builds(&shout("$1?"))).builder(builds(&reshout("$1?", "$1!"))).reviewer(approves())
}

fn moderated() -> Script {
    Script::new()
        .builder(builds(&shout("$1!")))
        .reviewer(asks_for(&[issue("loud", "major", "not loud enough")]))
        .builder(builds(&shout("$1!")))
        .moderator(json!({"decision": "accept_builder", "reasoning": "I weighed both sides."}))
}

fn examined() -> Script {
    let content =
        ". ./src/shout.sh\n[ \"$(shout '')\" = '!' ] || { echo 'AssertionError: no mark' >&2; exit 1; }\n";
    let probe = json!({"id": "empty", "criterion": "shout ends with a mark", "path": "zz_probe.sh",
        "run": "sh zz_probe.sh", "content": content});
    let first = "shout() { [ -z \"$1\" ] || echo \"$1!\"; }";
    let old = "--- a/src/old.sh\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-old() { :; }\n";
    let test = adds("test/shout_test.sh", &["expect shout \"$(shout hey)\" 'hey!'"]);
    Script::new()
        .entry(json!({"role": "examiner", "reply": "I have no idea."}))
        .entry(json!({"role": "examiner", "reply": {"probes": [probe]}}))
        .builder(builds(&format!("{}{test}{old}", adds("src/shout.sh", &[first]))))
        .builder(builds(&replaces("src/shout.sh", first, "shout() { echo \"$1!\"; }")))
        .reviewer(approves())
}

fn mutated() -> Script {
    let test = [
        "import unittest",
        "",
        "from shout import shout",
        "",
        "",
        "class Shout(unittest.TestCase):",
        "    def test_shout(self):",
        "        self.assertEqual([shout(1), shout(2), shout(3)], [False, True, True])",
    ];
    let code = adds("shout.py", &["def shout(count):", "    return count > 1"]);
    Script::new().builder(builds(&format!("{code}{}", adds("test_shout.py", &test)))).reviewer(approves())
}

fn contradicted() -> Script {
    Script::new()
        .builder(builds(&replaces("src/text.sh", UPPER, ECHOED)))
        .reviewer(approves())
        .builder(builds(&replaces(
            "src/text.sh",
            MINE,
            "upper() { echo \"$1\" | tr '[:lower:]' '[:upper:]'; }",
        )))
        .reviewer(approves())
}

fn failed() -> Script {
    let busy = json!({"role": "reviewer", "fail": "overloaded"});
    (0..18)
        .fold(Script::new().builder(builds(&shout("$1!"))), |script, _| script.entry(busy.clone()))
        .reviewer(approves())
}
