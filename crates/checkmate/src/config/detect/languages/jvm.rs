//! Projects of Maven and Gradle.

use std::collections::BTreeSet;

use super::{Manifest, join};
use crate::config::detect::survey::Survey;

pub(super) fn manifest(survey: &Survey, dir: &str) -> Option<Manifest> {
    let rows = [
        ("pom.xml", "mvnw", "mvn"),
        ("build.gradle", "gradlew", "gradle"),
        ("build.gradle.kts", "gradlew", "gradle"),
        ("settings.gradle", "gradlew", "gradle"),
        ("settings.gradle.kts", "gradlew", "gradle"),
    ];
    let (name, wrapper, program) = rows.into_iter().find(|(name, ..)| survey.has(&join(dir, name)))?;
    let (evidence, start) = if survey.has(&join(dir, wrapper)) {
        (format!("{name} and its wrapper `{wrapper}`"), format!("./{wrapper}"))
    } else {
        (name.to_owned(), program.to_owned())
    };
    // Modules are the directories that have their own `src`.
    let modules = survey.below(dir).filter_map(|file| file.split_once("/src/"));
    let mut members: BTreeSet<String> = modules
        .map(|(module, _)| module.strip_prefix(dir).unwrap_or(module).trim_start_matches('/').to_owned())
        .filter(|module| !module.contains("src/"))
        .map(|module| globset::escape(&module))
        .collect();
    let several = members.len() > 1;
    members.insert(String::new());
    let mut notes = Vec::new();
    if several {
        let one = match program {
            "mvn" => format!("{start} test -pl MODULE -am"),
            _ => format!("{start} :MODULE:test"),
        };
        notes.push(format!("All modules are tested; for a single one, write `{one}`."));
    }
    notes.push(match program {
        "mvn" => {
            "Tests have no network, so let Maven download what it needs once by hand: the same command in your own terminal."
                .into()
        }
        _ => "Tests have no network, and Gradle writes to its home: run the same command once in your own terminal, and if \
              `checkmate doctor` says that it may not write there, add `\"sandbox\": { \"write\": [\"~/.gradle\"] }`."
            .to_owned(),
    });
    let written = |extension: &str| survey.below(dir).any(|file| file.ends_with(extension));
    let name = match (written(".java"), written(".kt"), written(".scala")) {
        (false, true, false) => Some("Kotlin"),
        (false, _, true) => Some("Scala"),
        (_, _, _) => None,
    };
    Some(Manifest {
        name,
        evidence,
        command: Some(format!("{start} test")),
        members: members.into_iter().collect(),
        notes,
        ..Manifest::default()
    })
}
