//! Names that decide what a file is for.

use checkmate_machine::facts::FileRole;

/// Modules that run tests; a file of such a name takes their place.
pub(super) const RUNNERS: [&str; 10] = [
    "unittest",
    "pytest",
    "_pytest",
    "doctest",
    "pluggy",
    "nose",
    "coverage",
    "xdist",
    "hypothesis",
    "iniconfig",
];

/// Standard modules that test runners and tests import.
pub(super) const STANDARD: [&str; 48] = [
    "abc",
    "argparse",
    "ast",
    "asyncio",
    "builtins",
    "collections",
    "contextlib",
    "copy",
    "dataclasses",
    "datetime",
    "decimal",
    "difflib",
    "enum",
    "fnmatch",
    "fractions",
    "functools",
    "gc",
    "glob",
    "importlib",
    "inspect",
    "io",
    "itertools",
    "json",
    "logging",
    "math",
    "operator",
    "os",
    "pathlib",
    "platform",
    "pprint",
    "random",
    "re",
    "shutil",
    "signal",
    "site",
    "string",
    "struct",
    "subprocess",
    "sys",
    "tempfile",
    "textwrap",
    "threading",
    "time",
    "traceback",
    "types",
    "typing",
    "warnings",
    "weakref",
];

const CODE: [&str; 41] = [
    "py", "pyi", "pyx", "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "rs", "go", "java", "kt",
    "scala", "groovy", "c", "h", "cc", "cpp", "hpp", "cs", "rb", "php", "swift", "m", "pl", "lua", "sh",
    "bash", "zsh", "fish", "ps1", "bat", "sql", "vue", "svelte", "html", "css", "ex",
];

/// Returns the role of a path that decides by itself. Everything is in lower case.
pub(super) fn role(path: &str, name: &str, folders: &[String]) -> Option<FileRole> {
    let below = |wanted: &[&str]| folders.iter().any(|folder| wanted.contains(&folder.as_str()));
    if below(&[".git"]) || matches!(name, ".gitattributes" | ".gitignore" | ".gitmodules" | ".gitconfig") {
        return Some(FileRole::Git);
    }
    if below(&["node_modules", ".venv", "site-packages", "__pypackages__"]) || is_environment(name) {
        return Some(FileRole::Environment);
    }
    if is_ci(path, name, folders) {
        return Some(FileRole::Ci);
    }
    if is_lock(name) {
        return Some(FileRole::Lock);
    }
    if is_manifest(name, folders) {
        return Some(FileRole::Manifest);
    }
    if is_test_config(path, name) {
        return Some(FileRole::TestConfig);
    }
    is_build_config(name).then_some(FileRole::BuildConfig)
}

fn is_environment(name: &str) -> bool {
    let example = [".example", ".sample", ".template", ".dist"].iter().any(|end| name.ends_with(end));
    matches!(
        name,
        "sitecustomize.py" | "usercustomize.py" | ".npmrc" | ".yarnrc" | ".yarnrc.yml" | ".pnp.cjs"
    ) || matches!(name, ".env" | ".envrc" | ".node-options" | "pyvenv.cfg" | "pip.conf" | "pip.ini")
        || name.starts_with(".env.") && !example
        || name.ends_with(".pth")
}

fn is_ci(path: &str, name: &str, folders: &[String]) -> bool {
    let hooks = [".husky", ".circleci", ".buildkite", ".githooks", ".woodpecker", ".gitlab", ".tekton"];
    let github = path.starts_with(".github/");
    folders.iter().any(|folder| hooks.contains(&folder.as_str()))
        || github && (!name.ends_with(".md") || folders.len() > 1 && path.starts_with(".github/workflows"))
        || matches!(
            name,
            ".gitlab-ci.yml" | ".travis.yml" | "azure-pipelines.yml" | "appveyor.yml" | ".appveyor.yml"
        )
        || matches!(
            name,
            "jenkinsfile" | "codeowners" | ".drone.yml" | "bitbucket-pipelines.yml" | ".cirrus.yml"
        )
        || matches!(name, "codecov.yml" | ".codecov.yml" | "renovate.json" | "lefthook.yml" | ".lefthook.yml")
        || name.starts_with(".pre-commit-config.")
        || name.starts_with(".lintstagedrc")
}

fn is_lock(name: &str) -> bool {
    name.ends_with(".lock")
        || matches!(
            name,
            "package-lock.json" | "npm-shrinkwrap.json" | "pnpm-lock.yaml" | "bun.lockb" | "go.sum"
        )
        || matches!(name, "gradle.lockfile" | "go.work.sum" | "pipfile.lock")
}

fn is_manifest(name: &str, folders: &[String]) -> bool {
    let text = name.ends_with(".txt") || name.ends_with(".in");
    let required = name.starts_with("requirements") || name.starts_with("constraints");
    text && (required || folders.last().is_some_and(|folder| folder == "requirements"))
        || matches!(
            name,
            "package.json" | "cargo.toml" | "pyproject.toml" | "setup.cfg" | "go.mod" | "go.work"
        )
        || matches!(
            name,
            "pom.xml" | "build.gradle" | "build.gradle.kts" | "settings.gradle" | "settings.gradle.kts"
        )
        || matches!(name, "pipfile" | "composer.json" | "gemfile" | "libs.versions.toml" | "environment.yml")
        || matches!(name, "deno.json" | "deno.jsonc" | "pnpm-workspace.yaml")
        || name.ends_with(".gemspec")
}

fn is_test_config(path: &str, name: &str) -> bool {
    let stems = [
        "jest.config.",
        "jest.setup.",
        "vitest.config.",
        "vitest.setup.",
        "vitest.workspace.",
        ".mocharc",
        "karma.conf.",
        "playwright.config.",
        "cypress.config.",
        "ava.config.",
        ".nycrc",
        ".c8rc",
        "wdio.conf.",
        "setuptests.",
        "jest-setup.",
        "babel-jest",
        "phpunit.xml",
    ];
    stems.iter().any(|stem| name.starts_with(stem))
        || matches!(
            name,
            "conftest.py" | "pytest.ini" | ".pytest.ini" | "pytest.toml" | "tox.ini" | "noxfile.py"
        )
        || matches!(
            name,
            "nose.cfg" | ".noserc" | ".coveragerc" | "mocha.opts" | ".taprc" | ".rspec" | "bunfig.toml"
        )
        || matches!(
            name,
            "nextest.toml" | "junit-platform.properties" | "testng.xml" | "tarpaulin.toml" | ".testr.conf"
        )
        || matches!(path, ".cargo/config.toml" | ".cargo/config")
        || path.ends_with("/.cargo/config.toml")
        || path.ends_with("/.cargo/config")
}

fn is_build_config(name: &str) -> bool {
    let stems = [
        "webpack.config.",
        "rollup.config.",
        "vite.config.",
        "esbuild.",
        "tsconfig",
        "babel.config.",
        ".babelrc",
        "dockerfile",
        "docker-compose",
        "gulpfile.",
        "gruntfile.",
        ".eslintrc",
        "eslint.config.",
        "rust-toolchain",
        "next.config.",
        "svelte.config.",
        "tsup.config.",
        ".prettierrc",
        "prettier.config.",
        ".swcrc",
    ];
    stems.iter().any(|stem| name.starts_with(stem))
        || matches!(
            name,
            "build.rs" | "makefile" | "gnumakefile" | "setup.py" | "jsconfig.json" | "cmakelists.txt"
        )
        || matches!(
            name,
            "meson.build" | "build.xml" | "justfile" | "taskfile.yml" | "gradlew" | "gradle.properties"
        )
        || matches!(
            name,
            "ruff.toml" | ".ruff.toml" | "mypy.ini" | ".flake8" | "clippy.toml" | ".clippy.toml"
        )
        || matches!(
            name,
            "rustfmt.toml" | ".rustfmt.toml" | ".pylintrc" | "pylintrc" | "biome.json" | "manifest.in"
        )
        || matches!(
            name,
            "hatch_build.py" | ".nvmrc" | ".node-version" | ".python-version" | ".tool-versions"
        )
        || matches!(
            name,
            "deny.toml" | ".golangci.yml" | ".golangci.yaml" | "pyrightconfig.json" | "build.zig"
        )
        || name.ends_with(".mk")
        || name.ends_with(".cmake")
}

/// Tells whether an ending is one of code.
pub(super) fn is_code(ending: &str) -> bool {
    CODE.contains(&ending)
}

/// Tells whether a file is text for people.
pub(super) fn is_docs(name: &str, ending: &str, folders: &[String]) -> bool {
    let stem = name.split('.').next().unwrap_or_default();
    let known =
        ["readme", "license", "licence", "changelog", "authors", "contributing", "notice", "copying", "news"];
    matches!(ending, "md" | "markdown" | "rst" | "adoc" | "asciidoc" | "mdx" | "org")
        || known.contains(&stem) && matches!(ending, "" | "txt")
        || folders.iter().any(|folder| folder == "docs" || folder == "doc")
            && matches!(ending, "txt" | "png" | "svg")
}
