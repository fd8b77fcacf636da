use checkmate_machine::spec::TaskKind;

use super::*;

/// Discovers, and returns the message of the error.
fn refusal(scene: &Scene, directory: &Path) -> String {
    Repository::discover_in(directory, &scene.environment()).unwrap_err().to_string()
}

#[test]
fn what_cannot_be_worked_on_says_what_to_do() {
    let check = |message: &str, expected: &[&str]| {
        for part in expected {
            assert!(message.contains(part), "{message:?} does not say {part:?}");
        }
    };
    let scene = Scene::empty();
    check(&refusal(&scene, &scene.root()), &["not in a git repository", "git init"]);

    scene.git(&["init", "-q"]);
    check(&refusal(&scene, &scene.root()), &["no commits yet", "git commit"]);

    let scene = Scene::with(&[("a", "1\n")]);
    check(&refusal(&scene, &scene.root().join(".git")), &["inside a git directory"]);

    scene.git(&["clone", "-q", "--bare", ".", "../bare.git"]);
    check(&refusal(&scene, &scene.folder.path().join("bare.git")), &["bare repository", "git worktree add"]);

    scene.git(&["checkout", "-q", "-b", "other"]);
    scene.write("a", "2\n");
    scene.commit("Other");
    scene.git(&["checkout", "-q", "main"]);
    scene.write("a", "3\n");
    scene.commit("Main");
    let merge = Command::new("git").args(["merge", "other"]).current_dir(scene.root()).output().unwrap();
    assert!(!merge.status.success());
    let unmerged = scene.discover().unwrap().refuse_unmerged().unwrap_err().to_string();
    check(&unmerged, &["unmerged changes: a", "git add"]);

    let scene = Scene::with(&[("a", "1\n")]);
    scene.git(&["config", "core.worktree", scene.home().to_str().unwrap()]);
    check(&refusal(&scene, &scene.root()), &["core.worktree"]);

    let nowhere = Environment::of([("PATH".into(), "/nonexistent".into())]);
    let error = Repository::discover_in(&scene.root(), &nowhere).unwrap_err();
    check(&error.to_string(), &["`git` program was not found"]);
}

#[test]
fn detached_nested_linked_and_submodule_work_trees_are_worked_on() {
    let scene = Scene::with(&[("sub/a", "1\n")]);
    let repository = Repository::discover_in(&scene.root().join("sub"), &scene.environment()).unwrap();
    assert_eq!(repository.root(), scene.root().canonicalize().unwrap());
    assert_eq!(repository.at_head().unwrap().branch.as_deref(), Some("main"));
    assert!(repository.state_key().starts_with("repo-"), "{}", repository.state_key());

    scene.git(&["worktree", "add", "-q", "nested", "-b", "side"]);
    let nested = scene.workspace_of(&scene.root().join("nested"));
    assert_eq!(nested.repository().at_head().unwrap().branch.as_deref(), Some("side"));
    scene.write("nested/sub/b", "2\n");
    let prepared = nested.prepare(&[]).unwrap();
    assert_eq!(prepared.files.iter().map(|f| f.path.as_str()).collect::<Vec<_>>(), ["sub/a", "sub/b"]);
    let tree = nested.restore(&prepared.base, &[]).unwrap();
    assert_eq!(scene.git_in(&tree, &["rev-parse", "--abbrev-ref", "HEAD"]), "side");

    let outer = scene.workspace().prepare(&[]).unwrap();
    assert_eq!(outer.files.len(), 1, "{:?}", outer.files);
    assert!(
        outer.notes.iter().any(|note| note.contains("`nested` is a repository of its own")),
        "{:?}",
        outer.notes
    );

    scene.git(&["checkout", "-q", "--detach"]);
    assert_eq!(scene.discover().unwrap().at_head().unwrap().branch, None);
    assert_eq!(scene.workspace().prepare(&[]).unwrap().branch, None);
}

#[test]
fn a_dirty_submodule_is_noted_and_its_configuration_runs_nothing() {
    let library = Scene::with(&[("l", "1\n")]);
    let scene = Scene::with(&[("a", "1\n")]);
    let url = library.root();
    scene.git(&["-c", "protocol.file.allow=always", "submodule", "add", "-q", url.to_str().unwrap(), "lib"]);
    scene.commit("Submodule");
    let clean = scene.workspace().prepare(&[]).unwrap();
    assert_eq!(clean.notes, Vec::<String>::new());

    let marker = scene.folder.path().join("marker");
    let lib = scene.root().join("lib");
    scene.git_in(&lib, &["config", "filter.evil.clean", &format!("touch {}; cat", marker.display())]);
    scene.git_in(&lib, &["config", "core.fsmonitor", &format!("touch {}; false", marker.display())]);
    scene.write("lib/.gitattributes", "* filter=evil\n");
    scene.write("lib/l", "2\n");
    let dirty = scene.workspace().prepare(&[]).unwrap();
    assert!(dirty.notes.iter().any(|note| note.contains("submodule `lib` has changes")), "{:?}", dirty.notes);
    assert_eq!(dirty.base, clean.base);
    assert!(!marker.exists());
    let inside = Repository::discover_in(&lib, &scene.environment()).unwrap();
    assert_eq!(inside.root(), lib.canonicalize().unwrap());
}

/// Everything in `.git` that could start a program, armed.
fn arm(scene: &Scene, marker: &Path) {
    let touch = format!("touch {}", marker.display());
    let hooks = scene.root().join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    for hook in ["post-index-change", "reference-transaction", "pre-commit", "post-commit", "post-checkout"] {
        fs::write(hooks.join(hook), format!("#!/bin/sh\n{touch}\n")).unwrap();
        fs::set_permissions(hooks.join(hook), fs::Permissions::from_mode(0o755)).unwrap();
    }
    for (key, value) in [
        ("filter.evil.clean", format!("{touch}; cat")),
        ("filter.evil.smudge", format!("{touch}; cat")),
        ("filter.evil.required", "true".to_owned()),
        ("filter.long=name.process", touch.clone()),
        ("merge.evil.driver", format!("{touch}; true")),
        ("diff.evil.command", touch.clone()),
        ("diff.evil.textconv", touch.clone()),
        ("diff.external", touch.clone()),
        ("core.fsmonitor", touch.clone()),
        ("core.pager", touch.clone()),
        ("core.sshCommand", touch.clone()),
        ("commit.gpgSign", "true".to_owned()),
        ("gpg.program", touch.clone()),
        ("log.showSignature", "true".to_owned()),
    ] {
        scene.git(&["config", key, &value]);
    }
    // What it includes is as little trusted as itself.
    scene.write(".git/included", format!("[filter \"hidden\"]\n\tclean = {touch}\n\tsmudge = {touch}\n"));
    scene.git(&["config", "include.path", "included"]);
    scene.write(
        ".git/info/attributes",
        "* filter=evil merge=evil diff=evil\nb filter=long=name\nc filter=hidden\n",
    );
    fs::remove_file(marker).ok();
}

#[test]
fn nothing_in_the_repositorys_configuration_runs() {
    use crate::workspace::{LandAnswer, UndoAnswer};
    use checkmate_machine::effect::Landing;
    let scene = Scene::with(&[("a", "1\n2\n3\n4\n5\n6\n7\n"), ("b", "1\n")]);
    let marker = scene.folder.path().join("marker");
    arm(&scene, &marker);
    scene.write("b", "dirty\n");
    scene.write("c", "new\n");
    let workspace = scene.workspace();
    let prepared = workspace.prepare(&[]).unwrap();
    assert!(prepared.notes.iter().any(|note| note.contains("filter `evil`")), "{:?}", prepared.notes);
    let base = prepared.base;
    let change = patch("a", Some("1\n"), Some("one\n"));
    let tree = candidate(&workspace, &base, &change).tree;
    workspace.restore(&tree, &[]).unwrap();
    // The user edits the same file elsewhere, so that a merge of contents is needed.
    scene.write("a", "1\n2\n3\n4\n5\n6\nseven\n");
    for how in [Landing::Apply, Landing::Commit] {
        let answer = workspace.land(&base, &tree, how, "Change").unwrap();
        // The repository's merge driver is not trusted with the merge: that is a conflict, not a program.
        if how == Landing::Apply {
            assert!(matches!(answer, LandAnswer::Conflict { .. }), "{answer:?}");
        }
    }
    scene.write("a", "1\n2\n3\n4\n5\n6\n7\n");
    let answer = workspace.land(&base, &tree, Landing::Apply, "Change").unwrap();
    assert!(matches!(answer, LandAnswer::Landed { .. }), "{answer:?}");
    assert!(matches!(workspace.undo().unwrap(), UndoAnswer::Undone { .. }));
    assert!(!marker.exists());
    workspace.discard().unwrap();
    assert!(!marker.exists());
}

#[test]
fn prepare_takes_everything_and_touches_nothing() {
    let scene = Scene::with(&[
        ("staged", "1\n"),
        ("unstaged", "1\n"),
        ("gone", "1\n"),
        (".gitignore", "ignored\nlinked\n"),
    ]);
    scene.write("staged", "2\n");
    scene.git(&["add", "staged"]);
    scene.write("unstaged", "2\n");
    scene.write("src/new.rs", "pub fn hello() {}\n");
    scene.write("ignored", "secret\n");
    scene.write("linked/x", "1\n");
    fs::remove_file(scene.root().join("gone")).unwrap();
    let (index, picture, status) = (scene.index(), scene.photograph(), scene.git(&["status", "--porcelain"]));
    let index_after_status = scene.index();
    let workspace = scene.workspace();
    let prepared = workspace.prepare(&["linked".to_owned(), "../outside".to_owned()]).unwrap();
    assert_eq!(scene.index(), index_after_status);
    assert_eq!(scene.photograph(), picture);
    assert_eq!(scene.git(&["status", "--porcelain"]), status);
    assert!(!index.is_empty());

    let files: Vec<(&str, u64)> = prepared.files.iter().map(|f| (f.path.as_str(), f.bytes)).collect();
    assert_eq!(files, [(".gitignore", 15), ("src/new.rs", 18), ("staged", 2), ("unstaged", 2)]);
    assert_eq!(prepared.files[1].symbols, ["hello"]);
    assert!(prepared.notes[0].contains("`../outside`"), "{:?}", prepared.notes);
    assert_eq!(prepared.head.as_str(), scene.git(&["rev-parse", "HEAD"]));

    // Once more: the same answer; and with an edit, the newer base, which survives a collection of garbage.
    assert_eq!(workspace.prepare(&["linked".to_owned()]).unwrap().base, prepared.base);
    scene.write("unstaged", "3\n");
    let again = workspace.prepare(&["linked".to_owned()]).unwrap();
    assert_ne!(again.base, prepared.base);
    scene.git(&["gc", "-q", "--prune=now"]);
    assert_eq!(workspace.read(&again.base, &["unstaged".to_owned()]).unwrap()[0].text, Ok("3\n".to_owned()));

    let run_dir = scene.folder.path().join("state");
    workspace.discard().unwrap();
    assert_eq!(scene.git(&["for-each-ref", "refs/checkmate"]), "");
    assert!(!run_dir.exists());
}

#[test]
fn reading_says_why_there_is_no_text() {
    use std::os::unix::ffi::OsStrExt as _;
    let scene = Scene::with(&[("src/a.txt", "text\n")]);
    scene.write("binary", b"a\0b");
    scene.write("latin", b"caf\xe9\n");
    scene.write("large", "x".repeat(300_000));
    std::os::unix::fs::symlink("/etc/passwd", scene.root().join("link")).unwrap();
    std::os::unix::fs::symlink("/etc", scene.root().join("etc")).unwrap();
    fs::write(scene.root().join(std::ffi::OsStr::from_bytes(b"n\xff")), "x").unwrap();
    let workspace = scene.workspace();
    let prepared = workspace.prepare(&[]).unwrap();
    assert!(prepared.notes.iter().any(|note| note.contains("not UTF-8")), "{:?}", prepared.notes);
    let rows: &[(&str, Result<&str, &str>)] = &[
        ("src/a.txt", Ok("text")),
        ("./src//a.txt", Ok("text")),
        ("A.TXT", Err("there is `src/a.txt`")),
        ("src", Err("is a directory")),
        ("src/a.txt/x", Err("a part of the path is a file")),
        ("binary", Err("is a binary file of 3 bytes")),
        ("latin", Ok("is not UTF-8")),
        ("large", Err("has 300000 bytes")),
        ("link", Err("is a symbolic link")),
        ("etc/passwd", Err("behind a symbolic link")),
        ("/etc/passwd", Err("absolute path")),
        ("../x", Err("inside the repository")),
        ("", Err("inside the repository")),
        ("a\nb", Err("There is no file")),
        ("-x", Err("There is no file")),
    ];
    let paths: Vec<String> = rows.iter().map(|(path, _)| (*path).to_owned()).collect();
    let files = workspace.read(&prepared.base, &paths).unwrap();
    assert_eq!(files.len(), rows.len());
    for (file, (path, expected)) in files.iter().zip(rows) {
        assert_eq!(file.path, *path);
        let fits = match (&file.text, expected) {
            (Ok(text), Ok(part)) | (Err(text), Err(part)) => text.contains(part),
            (Ok(_), Err(_)) | (Err(_), Ok(_)) => false,
        };
        assert!(fits, "{path}: {:?}", file.text);
    }
}

#[test]
fn an_edit_in_the_second_of_the_commit_is_seen() {
    let scene = Scene::with(&[("a", "1\n")]);
    // The same size and, to the second, the same times as what the index remembers of the file.
    let indexed = fs::metadata(scene.root().join(".git/index")).unwrap().modified().unwrap();
    scene.write("a", "2\n");
    fs::File::options().write(true).open(scene.root().join("a")).unwrap().set_modified(indexed).unwrap();
    let prepared = scene.workspace().prepare(&[]).unwrap();
    let copied = scene.folder.path().join("copied");
    crate::workspace::snapshot::copy_index(&scene.root().join(".git/index"), &copied).unwrap();
    assert_eq!(fs::metadata(copied).unwrap().modified().unwrap(), indexed);
    let text = scene.workspace().read(&prepared.base, &["a".to_owned()]).unwrap().remove(0).text;
    assert_eq!(text, Ok("2\n".to_owned()));
}

#[test]
fn a_work_tree_without_files_is_a_tree_without_files() {
    let scene = Scene::with(&[("a", "1\n")]);
    fs::remove_file(scene.root().join("a")).unwrap();
    let workspace = scene.workspace();
    let prepared = workspace.prepare(&["node_modules".to_owned()]).unwrap();
    assert_eq!(prepared.files, []);
    let tree = workspace.restore(&prepared.base, &[]).unwrap();
    assert_eq!(photograph(&tree).len(), 0);
    let made = candidate(&workspace, &prepared.base, &patch("b", None, Some("1\n")));
    assert_eq!(made.changes.len(), 1);
}

#[test]
fn a_file_that_changes_after_the_snapshot_is_noticed() {
    let scene = Scene::with(&[("a", "1\n"), ("b", "1\n"), ("*", "1\n")]);
    let workspace = scene.workspace();
    let snapshot = workspace.snapshot(&[]).unwrap();
    let paths = ["a".to_owned(), "*".to_owned(), "absent".to_owned()];
    assert_eq!(snapshot.outdated(&paths).unwrap(), Vec::<String>::new());
    scene.write("a", "2\n");
    scene.write("b", "2\n");
    assert_eq!(snapshot.outdated(&paths).unwrap(), ["a"]);
    assert_eq!(snapshot.outdated(&[]).unwrap(), Vec::<String>::new());
}

#[test]
fn a_file_that_git_cannot_read_is_no_fact_about_a_change() {
    let scene = Scene::with(&[("a.py", "A = 1\n"), ("b.py", "B = 1\n")]);
    let workspace = scene.workspace();
    let base = workspace.prepare(&[]).unwrap().base;
    let empty = TreeId::new("4b825dc642cb6eb9a060e54bf8d69288fbee4904");
    let inspect = || workspace.inspect(&base, &empty, TaskKind::Bugfix, "");
    assert_eq!(inspect().unwrap().files.len(), 2);
    let id = scene.git(&["rev-parse", "HEAD:b.py"]);
    fs::remove_file(scene.root().join(".git/objects").join(&id[..2]).join(&id[2..])).unwrap();
    let message = inspect().unwrap_err().to_string();
    assert!(message.contains(&id), "{message}");
}
