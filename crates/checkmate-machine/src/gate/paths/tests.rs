use super::*;
use crate::event::ChangeKind;

fn change(path: &str, old_mode: &str, new_mode: &str) -> Change {
    Change {
        path: path.into(),
        kind: ChangeKind::Modified,
        old_mode: old_mode.into(),
        new_mode: new_mode.into(),
        added: 1,
        removed: 0,
    }
}

fn allowlist(patterns: &[&str]) -> Result<Allowlist, PatternError> {
    Allowlist::new(&patterns.iter().map(|p| (*p).to_owned()).collect::<Vec<_>>())
}

#[track_caller]
fn check(patterns: &[&str], allowed: &[&str], refused: &[&str]) {
    let list = allowlist(patterns).unwrap();
    for path in allowed {
        assert_eq!(list.verdict(&change(path, "100644", "100644")), Ok(()), "{patterns:?} {path}");
    }
    for path in refused {
        let message = list.verdict(&change(path, "100644", "100644")).unwrap_err();
        assert!(
            message.starts_with(&format!("Path is not in allowlist: `{path}`.")),
            "{patterns:?} {message}"
        );
    }
}

#[test]
fn names_that_leave_the_repository_or_reach_git_are_refused() {
    for path in [
        "src/a.ts",
        ".github/workflows/ci.yml",
        ".gitignore",
        "a b/c",
        "git/x",
        "…/x",
        "ab:c",
        "é/ü.rs",
        "...a",
        ".gitx",
    ] {
        assert_eq!(check_path(path), Ok(()), "{path}");
    }
    let (part, deep) = ("é".repeat(127), "ab/".repeat(600) + "x");
    for (path, too_long) in
        [(format!("{part}/x"), format!("src/{part}éé")), (deep.clone(), format!("{deep}/{deep}"))]
    {
        assert_eq!(check_path(&path), Ok(()), "{path}");
        assert!(check_path(&too_long).unwrap_err().to_string().contains("too long"), "{too_long}");
    }
    let refused = [
        ("", "empty"),
        ("/etc/passwd", "absolute"),
        ("C:/x", "absolute"),
        ("c:x", "absolute"),
        ("../x", "`.` or `..`"),
        ("a/../b", "`.` or `..`"),
        ("./a", "`.` or `..`"),
        ("a/.", "`.` or `..`"),
        ("a/.. /b", "`.` or `..`"),
        ("a/.\u{200d}./b", "`.` or `..`"),
        ("a//b", "empty part"),
        ("a/", "empty part"),
        ("a\\b", "backslash"),
        ("a\nb", "control"),
        ("a\0b", "control"),
        ("a\u{7f}", "control"),
        (".git", "git's own"),
        (".git/hooks/pre-commit", "git's own"),
        ("sub/.git/config", "git's own"),
        ("sub/.GIT/config", "git's own"),
        (".git /config", "git's own"),
        (".git./config", "git's own"),
        (".git. ./config", "git's own"),
        ("git~1/config", "git's own"),
        ("GIT~1", "git's own"),
        (".git::$INDEX_ALLOCATION/config", "git's own"),
        (".g\u{200c}it/config", "git's own"),
        (".\u{feff}git/config", "git's own"),
        (".gi\u{206f}T", "git's own"),
    ];
    for (path, word) in refused {
        let message = check_path(path).unwrap_err().to_string();
        assert!(message.contains(word), "{path:?}: {message}");
        assert!(!message.contains(char::is_control), "{message:?}");
    }
}

#[test]
fn stars_stay_within_a_directory() {
    check(&["src/*.ts"], &["src/a.ts"], &["src/deep/a.ts", "a.ts", "src/a.js", "SRC/a.ts"]);
    check(&["src/**/*.ts"], &["src/a.ts", "src/deep/er/a.ts"], &["lib/a.ts", "src/a.tsx"]);
    check(&["**/*.md"], &["README.md", "docs/a.md"], &["docs/a.txt"]);
    check(&["*.{js,ts}"], &["a.js", "a.ts"], &["a.rs", "b/a.js"]);
    check(&["packages/*"], &["packages/a"], &["packages/a/b"]);
}

#[test]
fn an_entry_that_names_a_directory_allows_all_below_it() {
    check(&["src"], &["src", "src/a", "src/b/c.ts"], &["srcs/a", "lib/src/a"]);
    check(&["src/"], &["src/a", "src/b/c.ts"], &["src", "srcs/a"]);
    check(&["./src//lib/"], &["src/lib/a"], &["src/a"]);
    check(&["src/../test"], &["test/a"], &["src/a"]);
    check(&["."], &["a", "b/c"], &[]);
    check(&[], &["a", "b/c"], &[]);
}

#[test]
fn protected_paths_stay_closed_whatever_is_allowed() {
    let protected = [
        ".dualagent.json",
        ".orchestration/a/b",
        ".checkmate/x",
        ".intentignore",
        "sub/.DualAgent.JSON",
        ".Checkmate/x",
        ".dualagent.json.",
    ];
    check(&["**"], &["a"], &protected);
    check(&[], &["a"], &protected);
    check(&[".checkmate/**", ".dualagent.json"], &[], &protected);
    let message =
        allowlist(&["**"]).unwrap().verdict(&change("a/.git/config", "100644", "100644")).unwrap_err();
    assert!(message.contains("git's own files"), "{message}");
}

#[test]
fn only_regular_files_may_change() {
    let list = allowlist(&["src"]).unwrap();
    assert_eq!(list.verdict(&change("src/run", "100644", "100755")), Ok(()));
    assert_eq!(list.verdict(&change("src/run", "000000", "100644")), Ok(()));
    for (old, new, word) in [
        ("000000", "120000", "symbolic link"),
        ("120000", "000000", "symbolic link"),
        ("000000", "160000", "submodule"),
        ("160000", "160000", "submodule"),
        ("000000", "040000", "only regular files"),
        ("", "100644", "only regular files"),
    ] {
        let message = list.verdict(&change("src/x", old, new)).unwrap_err();
        assert!(message.contains(word), "{message}");
    }
}

#[test]
fn bad_entries_say_what_is_wrong() {
    for (pattern, word) in [
        ("", "is empty"),
        (" ", "is empty"),
        ("!src", "only allow"),
        ("/etc", "leads out"),
        ("../x", "leads out"),
        ("src/../../x", "leads out"),
        ("**/../x", "leads out"),
        ("src/[", "not a valid glob"),
        ("src/{a", "not a valid glob"),
    ] {
        let message = allowlist(&[pattern]).unwrap_err().to_string();
        assert!(message.contains(word), "{pattern}: {message}");
    }
}

#[test]
fn agents_are_not_shown_secrets() {
    for path in [
        ".env.example",
        "a/.env.sample",
        ".env.local.template",
        "src/key.ts",
        "id_rsa.pub",
        "keys.md",
        "environment.ts",
    ] {
        assert_eq!(check_read(path), Ok(()), "{path}");
    }
    for path in [
        ".env",
        "a/.ENV",
        ".env.production",
        ".env.example.local",
        "certs/server.pem",
        "server.KEY",
        "id_rsa",
        ".ssh/id_ed25519",
        ".npmrc",
        ".pypirc",
        ".netrc",
        "credentials.json",
        "x.p12",
        "x.PFX",
        "release.keystore",
        ".env ",
        ".e\u{200b}nv",
    ] {
        let message = check_read(path).unwrap_err();
        assert!(message.contains("holds secrets"), "{path}: {message}");
    }
    for path in ["../.env", "/etc/passwd", ".git/config", "a\0"] {
        assert!(check_read(path).is_err(), "{path:?}");
    }
}
