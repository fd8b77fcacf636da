//! Looks at a repository to propose a first configuration for it.

mod languages;
mod render;
mod survey;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

use checkmate_machine::gate::paths::{Allowlist, check_path};
use globset::{Glob, GlobSet, GlobSetBuilder};

use self::languages::Project;
use self::survey::Survey;

pub use self::render::render;

/// What builds need and git usually ignores. Not `target`: tests write to it.
const LINKS: [&str; 4] = ["node_modules", ".venv", "venv", "vendor/bundle"];
/// Where texts about a project live.
const DOCS: [&str; 3] = ["docs", "doc", "documentation"];

/// What was found in a repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Detected {
    /// The languages, those of the repository's root first.
    pub languages: Vec<Language>,
    /// The command that runs the tests, if one was found.
    pub test_command: Option<String>,
    /// Globs of where source, tests and documentation live.
    pub allow_paths: Vec<String>,
    /// Paths that a build needs and git ignores.
    pub link_paths: Vec<String>,
    /// One sentence per finding.
    pub findings: Vec<String>,
}

/// The languages that are recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Language {
    /// Rust, built by cargo.
    Rust,
    /// JavaScript or TypeScript.
    JavaScript,
    /// Python.
    Python,
    /// Go.
    Go,
    /// Java, Kotlin and others that Maven or Gradle builds.
    Jvm,
}

impl Language {
    /// Every language, in the order in which they are looked for.
    pub const ALL: [Language; 5] =
        [Language::Rust, Language::JavaScript, Language::Python, Language::Go, Language::Jvm];

    /// Returns the name for people.
    pub fn name(self) -> &'static str {
        match self {
            Language::Rust => "Rust",
            Language::JavaScript => "JavaScript",
            Language::Python => "Python",
            Language::Go => "Go",
            Language::Jvm => "Java",
        }
    }

    fn extensions(self) -> &'static [&'static str] {
        match self {
            Language::Rust => &["rs"],
            Language::JavaScript => &["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "vue", "svelte"],
            Language::Python => &["py", "pyi"],
            Language::Go => &["go"],
            Language::Jvm => &["java", "kt", "scala", "groovy"],
        }
    }

    /// Where tests are usually added, so that a repository without tests can get some.
    fn customary_tests(self) -> Option<&'static str> {
        match self {
            Language::Rust | Language::Python => Some("tests"),
            Language::JavaScript => Some("test"),
            // Tests stand beside the source or below `src`.
            Language::Go | Language::Jvm => None,
        }
    }
}

/// Looks at the repository at `root`. What cannot be read is passed over; nothing of the repository is run.
pub fn detect(root: &Path) -> Detected {
    let survey = Survey::of(root);
    let projects = languages::projects(&survey);
    let mut detected = Detected::default();
    for project in &projects {
        if !detected.languages.contains(&project.language) {
            detected.languages.push(project.language);
        }
        detected.findings.extend(project.findings.clone());
    }
    detected.test_command = test_command(&survey, &projects, &mut detected.findings);
    detected.allow_paths = allow_paths(&survey, &projects);
    if detected.allow_paths.is_empty() {
        detected.findings.push(
            "No source was found, so agents may change every path that is not protected; list paths in `allow_paths` \
             to narrow that."
                .into(),
        );
    } else {
        detected.findings.push(format!(
            "Source, tests and documentation live in {}; agents may change only these.",
            quoted(&detected.allow_paths)
        ));
    }
    detected.link_paths = link_paths(root, &projects);
    let (there, missing): (Vec<String>, Vec<String>) =
        detected.link_paths.iter().cloned().partition(|path| root.join(path).exists());
    if !there.is_empty() {
        detected.findings.push(format!(
            "Git ignores {}, which tests may need; each run gets a link to it.",
            quoted(&there)
        ));
    }
    if !missing.is_empty() {
        detected
            .findings
            .push(format!("Each run gets a link to {} as well, once it is there.", quoted(&missing)));
    }
    detected
}

/// Looks at the repository at `root` and writes a configuration for it to `path`.
pub fn write(root: &Path, path: &Path) -> std::io::Result<Detected> {
    let detected = detect(root);
    std::fs::write(path, render(&detected))?;
    Ok(detected)
}

/// Chooses one command that runs all tests, and says why.
fn test_command(survey: &Survey, projects: &[Project], findings: &mut Vec<String>) -> Option<String> {
    let known = projects.iter().any(|project| project.test_command.is_some() && !project.guessed);
    let meant = projects.iter().filter(|project| !(known && project.guessed));
    let commands: Vec<&str> = meant.filter_map(|project| project.test_command.as_deref()).collect();
    let make = ["GNUmakefile", "makefile", "Makefile"]
        .into_iter()
        .any(|name| survey.read(name).is_some_and(|text| has_test_target(&text)));
    let (command, why) = match (commands.as_slice(), make) {
        ([], false) => {
            let looked = if projects.is_empty() {
                "there is no Cargo.toml, package.json, pyproject.toml, go.mod, pom.xml or build.gradle in the root or \
                 near it, and no Makefile with a target `test`"
            } else {
                "nothing names one, and there is no Makefile with a target `test`"
            };
            findings.push(format!(
                "No test command was found: {looked}. Set `test_command` before the first run; until then it is a command \
                 that fails and says so."
            ));
            return None;
        }
        ([], true) => {
            ("make test".to_owned(), "nothing else was found, and the Makefile has a target `test`")
        }
        ([only], _) => ((*only).to_owned(), "that is how its tests are run"),
        ([_, ..], true) => {
            ("make test".to_owned(), "there is more than one project, and the Makefile has a target `test`")
        }
        (several, false) => (
            several.join(" && "),
            "there is more than one project; if only one of them is meant, leave the others out",
        ),
    };
    findings.push(format!("The test command is `{command}`: {why}."));
    Some(command)
}

fn has_test_target(makefile: &str) -> bool {
    makefile.lines().any(|line| {
        line.split_once(':').is_some_and(|(targets, rest)| {
            !line.starts_with(char::is_whitespace)
                && !rest.starts_with('=')
                && targets.split_whitespace().any(|target| target == "test")
        })
    })
}

fn allow_paths(survey: &Survey, projects: &[Project]) -> Vec<String> {
    let mut globs: Vec<String> = Vec::new();
    let mut add = |glob: String| {
        if !globs.contains(&glob) {
            globs.push(glob);
        }
    };
    for project in projects {
        project_globs(survey, project).into_iter().for_each(&mut add);
    }
    for dir in DOCS {
        if survey.below(dir).next().is_some() {
            add(format!("{dir}/**"));
        }
    }
    if survey.files().any(|file| !file.contains('/') && file.ends_with(".md")) {
        add("*.md".into());
    }
    // Names of directories can be such that no entry may be made of them.
    globs.retain(|glob| Allowlist::new(std::slice::from_ref(glob)).is_ok());
    let all = globs.clone();
    // What lies in a directory that is open as a whole needs no entry of its own.
    let covered = |glob: &str, dir: &str| glob.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'));
    let dirs = || all.iter().filter_map(|other| other.strip_suffix("/**").map(|dir| (other, dir)));
    globs.retain(|glob| !dirs().any(|(other, dir)| other != glob && covered(glob, dir)));
    globs
}

/// Returns globs for the directories of a project's members that have source in them.
fn project_globs(survey: &Survey, project: &Project) -> Vec<String> {
    let extensions = project.language.extensions();
    let is_source = |file: &&str| file.rsplit_once('.').is_some_and(|(_, ext)| extensions.contains(&ext));
    let nested = members(project.members.iter().filter(|member| !member.is_empty()));
    let mut globs = Vec::new();
    for member in &project.members {
        let prefix = if member.is_empty() { String::new() } else { format!("{member}/") };
        let own = members(std::iter::once(member));
        let mut found = BTreeSet::new();
        for file in survey.files().filter(is_source) {
            let inside = if member.is_empty() {
                // What belongs to a member is not the root's.
                (!ancestors(file).any(|dir| nested.is_match(dir))).then_some(file)
            } else {
                ancestors(file).find(|dir| own.is_match(dir)).map(|dir| &file[dir.len() + 1..])
            };
            match inside.map(|inside| inside.split_once('/').ok_or(inside)) {
                Some(Ok((dir, _))) => found.insert(format!("{prefix}{}/**", globset::escape(dir))),
                Some(Err(name)) => {
                    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
                    found.insert(format!("{prefix}*.{extension}"))
                }
                None => false,
            };
        }
        let tested = found.iter().any(|glob| {
            let dir = glob.strip_suffix("/**").and_then(|dir| dir.rsplit('/').next());
            dir.is_some_and(|dir| matches!(dir, "test" | "tests" | "__tests__" | "spec"))
        });
        if let Some(tests) = project.language.customary_tests()
            && !tested
            && !found.is_empty()
        {
            found.insert(format!("{prefix}{tests}/**"));
        }
        globs.extend(found);
    }
    globs
}

/// Returns a set of the directories that patterns of members stand for; patterns that are none match nothing.
fn members<'a>(patterns: impl Iterator<Item = &'a String>) -> GlobSet {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let glob = globset::GlobBuilder::new(pattern).literal_separator(true).build();
        set.add(glob.unwrap_or_else(|_| Glob::new("").expect("an empty glob is valid")));
    }
    set.build().unwrap_or_else(|_| GlobSet::empty())
}

/// Returns the directories that a file is in, the outermost first.
fn ancestors(file: &str) -> impl Iterator<Item = &str> {
    file.match_indices('/').map(|(at, _)| &file[..at])
}

fn link_paths(root: &Path, projects: &[Project]) -> Vec<String> {
    let mut dirs: BTreeSet<&str> =
        projects.iter().flat_map(|project| &project.places).map(String::as_str).collect();
    dirs.insert("");
    let usual = dirs.iter().flat_map(|dir| {
        LINKS.map(|link| if dir.is_empty() { link.to_owned() } else { format!("{dir}/{link}") })
    });
    let mut paths: Vec<String> = usual.filter(|path| root.join(path).is_dir()).collect();
    for need in projects.iter().flat_map(|project| &project.needs) {
        if !paths.contains(need) {
            paths.push(need.clone());
        }
    }
    // A slash at the end says that it is a folder, even before it is there.
    paths.retain(|path| check_path(path).is_ok() && is_ignored(root, &format!("{path}/")));
    paths
}

/// Asks git whether it ignores a path. Outside of a repository it ignores nothing.
fn is_ignored(root: &Path, path: &str) -> bool {
    // Nothing that the repository's own configuration names may be started for this.
    let status = Command::new("git")
        .args([
            "-c",
            "core.fsmonitor=false",
            "-c",
            "core.hooksPath=/dev/null",
            "check-ignore",
            "--quiet",
            "--",
        ])
        .arg(path)
        .current_dir(root)
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

fn quoted(items: &[String]) -> String {
    items.iter().map(|item| format!("`{item}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
