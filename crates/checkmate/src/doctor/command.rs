//! Is the program of the test command there, by the search that runs use?

use super::{Finding, Subject};
use crate::process;

const CHECK: &str = "test command";

pub(super) fn check(subject: &mut Subject) -> Vec<Finding> {
    let (project, loaded) = match subject.ready(CHECK) {
        Ok(ready) => ready,
        Err(finding) => return vec![*finding],
    };
    let config = &loaded.config;
    let command = &config.test_command;
    let programs = process::programs(command, project.repository.root(), &config.keep_env);
    let missing: Vec<&(String, Result<_, String>)> =
        programs.iter().filter(|(_, found)| found.is_err()).collect();
    if let Some((name, Err(reason))) = missing.first() {
        let next = "Install it, or correct `test_command` in the configuration.";
        let message = format!("`{}` cannot start `{name}`: {reason}.", command.text);
        // A shell line may do without, as in `a || b`.
        let finding = if command.shell {
            Finding::warn(CHECK, message, next)
        } else {
            Finding::fail(CHECK, message, next)
        };
        return vec![finding];
    }
    let files: Vec<String> =
        programs.iter().filter_map(|(_, found)| Some(found.as_ref().ok()?.display().to_string())).collect();
    let how = if command.shell { "is run by `sh -c` and starts" } else { "starts" };
    vec![match files.as_slice() {
        [] => Finding::ok(CHECK, format!("`{}` is run by `sh -c`.", command.text)),
        files => Finding::ok(CHECK, format!("`{}` {how} {}.", command.text, files.join(", "))),
    }]
}
