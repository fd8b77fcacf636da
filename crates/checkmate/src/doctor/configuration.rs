//! Is the configuration there, and valid?

use super::{Finding, Fix, Subject};
use crate::config::{AgentKind, Config, ConfigError};

const CHECK: &str = "configuration";

pub(super) fn check(subject: &mut Subject) -> Vec<Finding> {
    let (Some(project), Some(path)) = (&subject.project, subject.config_path()) else {
        return vec![Finding::skipped(CHECK, "Not looked at: there is no usable repository.")];
    };
    let root = project.repository.root();
    let loaded = match Config::load_for(&path, root, AgentKind::Live) {
        Ok(loaded) => loaded,
        Err(ConfigError::NotFound { path }) => {
            let finding = Finding::fail(
                CHECK,
                format!("Config file not found. Looked for {}.", path.display()),
                "Run `checkmate init`, or `checkmate doctor --fix`, to write one.",
            );
            // A file that somebody named is theirs to write.
            let named = subject.order.config.is_some();
            let fix = Fix::WriteConfiguration { root: root.to_owned(), path };
            return vec![if named { finding } else { finding.mended_by(fix) }];
        }
        Err(ConfigError::Invalid { path, problems }) => {
            let problem = |problem: &crate::config::Problem| {
                let finding = Finding::of_error(CHECK, &problem.message);
                let place = format!("{}:{}", path.display(), problem.at);
                Finding { message: format!("{place}: {}", finding.message), ..finding }.about(place)
            };
            return problems.iter().map(problem).collect();
        }
        Err(error) => return vec![Finding::of_error(CHECK, &error)],
    };
    let warnings = loaded.warnings.iter().map(|warning| {
        let finding = Finding::of_error(CHECK, warning);
        Finding { state: super::State::Warn, ..finding }
    });
    let mut found = vec![Finding::ok(
        CHECK,
        format!(
            "{} is valid, with {} set.",
            path.display(),
            count(loaded.set.keys().filter(|key| !key.contains('.')).count())
        ),
    )];
    found.extend(warnings);
    let mut loaded = loaded;
    loaded.config.use_environment(&|name| std::env::var(name).ok());
    subject.loaded = Some(loaded);
    found
}

fn count(keys: usize) -> String {
    if keys == 1 { "1 key".into() } else { format!("{keys} keys") }
}
