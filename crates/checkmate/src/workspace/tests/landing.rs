use checkmate_machine::effect::Landing;
use checkmate_machine::ids::CommitId;

use super::*;
use crate::workspace::{LandAnswer, UndoAnswer};

const LINES: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";

fn landed(answer: LandAnswer) -> (Option<CommitId>, Vec<String>) {
    match answer {
        LandAnswer::Landed { commit, files } => (commit, files),
        LandAnswer::Conflict { .. } | LandAnswer::TargetMoved { .. } => panic!("not landed: {answer:?}"),
    }
}

fn moved(answer: LandAnswer) -> (TreeId, TreeId) {
    match answer {
        LandAnswer::TargetMoved { target, merged } => (target, merged),
        LandAnswer::Conflict { .. } | LandAnswer::Landed { .. } => panic!("not moved: {answer:?}"),
    }
}

/// A user in the middle of work: staged, unstaged and untracked edits beside the files that the change touches.
fn busy() -> Scene {
    let scene = Scene::with(&[
        ("a", LINES),
        ("gone", "1\n"),
        ("mine", "1\n"),
        ("staged", "1\n"),
        ("swap", "1\n"),
        ("dir/x", "1\n"),
        (".gitignore", "ignored\n"),
    ]);
    scene.write("staged", "2\n");
    scene.git(&["add", "staged"]);
    scene.write("mine", "2\n");
    scene.write("untracked", "1\n");
    scene.write("ignored", "1\n");
    fs::set_permissions(scene.root().join("a"), fs::Permissions::from_mode(0o755)).unwrap();
    scene
}

/// Edits, adds, deletes, and turns a file into a folder and a folder into a file.
fn change() -> String {
    [
        patch("a", Some("1\n"), Some("one\n")),
        patch("deep/er/new", None, Some("new\n")),
        patch("gone", Some("1\n"), None),
        patch("swap", Some("1\n"), None),
        patch("swap/inner", None, Some("x\n")),
        patch("dir/x", Some("1\n"), None),
        patch("dir", None, Some("y\n")),
    ]
    .concat()
}

fn after(mut picture: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let text = |text: &str| format!("{text:?}");
    for path in ["gone", "dir/x"] {
        picture.remove(path);
    }
    let a = picture["a"].replacen('1', "one", 1);
    picture.extend([
        ("a".to_owned(), a),
        ("deep".to_owned(), "folder".to_owned()),
        ("deep/er".to_owned(), "folder".to_owned()),
        ("deep/er/new".to_owned(), text("new\n")),
        ("swap".to_owned(), "folder".to_owned()),
        ("swap/inner".to_owned(), text("x\n")),
        ("dir".to_owned(), text("y\n")),
    ]);
    picture
}

#[test]
fn a_change_lands_in_the_files_and_is_taken_back_exactly() {
    let scene = busy();
    let workspace = scene.workspace();
    assert_eq!(workspace.undo().unwrap(), UndoAnswer::NothingLanded);
    let base = workspace.prepare(&[]).unwrap().base;
    let tree = candidate(&workspace, &base, &change()).tree;
    let (before, index) = (scene.photograph(), scene.index());
    for _ in 0..2 {
        let (commit, files) = landed(workspace.land(&base, &tree, Landing::Apply, "Change").unwrap());
        assert_eq!(commit, None);
        assert_eq!(files, ["a", "deep/er/new", "dir", "dir/x", "gone", "swap", "swap/inner"]);
        assert_eq!(scene.photograph(), after(before.clone()));
        assert_eq!(scene.index(), index);
    }
    assert!(matches!(workspace.undo().unwrap(), UndoAnswer::Undone { commit: None, .. }));
    assert_eq!(scene.photograph(), before);
    assert_eq!(scene.index(), index);
    assert_eq!(workspace.undo().unwrap(), UndoAnswer::AlreadyUndone);
    assert_eq!(scene.photograph(), before);
}

#[test]
fn edits_of_the_user_in_the_meantime_are_never_lost() {
    let scene = busy();
    let workspace = scene.workspace();
    let base = workspace.prepare(&[]).unwrap().base;
    let tree = candidate(&workspace, &base, &patch("a", Some("1\n"), Some("one\n"))).tree;
    let edits: &[(&str, &str, &str, Option<&str>)] = &[
        ("another file", "mine", "3\n", Some("one\n2\n3\n4\n5\n6\n7\n8\n9\n")),
        ("other lines", "a", "1\n2\n3\n4\n5\n6\n7\n8\nnine\n", Some("one\n2\n3\n4\n5\n6\n7\n8\nnine\n")),
        ("the same line", "a", "uno\n2\n3\n4\n5\n6\n7\n8\n9\n", None),
    ];
    for (name, path, text, expected) in edits {
        let kept = scene.text(path);
        scene.write(path, text);
        let before = scene.photograph();
        let answer = workspace.land(&base, &tree, Landing::Apply, "Change").unwrap();
        assert_eq!(scene.photograph(), before, "{name}: nothing is touched");
        match expected {
            None => {
                let LandAnswer::Conflict { paths, .. } = answer else { panic!("{name}: {answer:?}") };
                assert_eq!(paths, ["a"], "{name}");
            }
            Some(expected) => {
                let (target, merged) = moved(answer);
                landed(workspace.land(&target, &merged, Landing::Apply, "Change").unwrap());
                assert_eq!(scene.text("a"), *expected, "{name}");
                assert_eq!(scene.text(path), if *path == "a" { expected } else { *text }, "{name}");
                // Edited again since: undo keeps that, too.
                scene.write("a", format!("{expected}ten\n"));
                assert!(matches!(workspace.undo().unwrap(), UndoAnswer::Undone { .. }), "{name}");
                assert_eq!(scene.text("a"), format!("{}ten\n", expected.replacen("one", "1", 1)), "{name}");
            }
        }
        scene.write("a", LINES);
        scene.write(path, kept);
    }
    landed(workspace.land(&base, &tree, Landing::Apply, "Change").unwrap());
    scene.write("a", LINES.replacen('1', "eins", 1));
    assert_eq!(workspace.undo().unwrap(), UndoAnswer::Conflict { paths: vec!["a".to_owned()] });
    assert_eq!(scene.text("a"), LINES.replacen('1', "eins", 1));
}

#[test]
fn an_ignored_file_of_the_user_is_not_overwritten() {
    let scene = busy();
    let workspace = scene.workspace();
    let base = workspace.prepare(&[]).unwrap().base;
    for (path, blocked) in [("ignored", "ignored"), ("ignored/x", "ignored/x")] {
        let tree = candidate(&workspace, &base, &patch(path, None, Some("theirs\n"))).tree;
        let answer = workspace.land(&base, &tree, Landing::Apply, "Change").unwrap();
        let LandAnswer::Conflict { paths, .. } = answer else { panic!("{path}: {answer:?}") };
        assert_eq!(paths, [blocked]);
        assert_eq!(scene.text("ignored"), "1\n");
    }
    fs::remove_file(scene.root().join("ignored")).unwrap();
    let tree = candidate(&workspace, &base, &patch("ignored", None, Some("theirs\n"))).tree;
    for _ in 0..2 {
        landed(workspace.land(&base, &tree, Landing::Apply, "Change").unwrap());
        assert_eq!(scene.text("ignored"), "theirs\n");
    }
    assert!(matches!(workspace.undo().unwrap(), UndoAnswer::Undone { .. }));
    assert!(!scene.root().join("ignored").exists());
}

#[test]
fn a_symlink_in_the_users_folder_is_not_written_through() {
    let scene = Scene::with(&[("a", "1\n")]);
    scene.write(".gitignore", "out\n");
    let workspace = scene.workspace();
    let base = workspace.prepare(&[]).unwrap().base;
    let tree = candidate(&workspace, &base, &patch("out/x", None, Some("x\n"))).tree;
    std::os::unix::fs::symlink(scene.home(), scene.root().join("out")).unwrap();
    let answer = workspace.land(&base, &tree, Landing::Apply, "Change").unwrap();
    assert!(matches!(answer, LandAnswer::Conflict { .. }), "{answer:?}");
    assert!(!scene.home().join("x").exists());
}

#[test]
fn a_commit_has_the_change_and_nothing_else() {
    let scene = busy();
    let workspace = scene.workspace();
    let base = workspace.prepare(&[]).unwrap().base;
    let tree = candidate(&workspace, &base, &change()).tree;
    let before = scene.photograph();
    let status = scene.git(&["status", "--porcelain"]);
    let head = scene.git(&["rev-parse", "HEAD"]);
    // The user's dirty tree was verified; what would be committed is another one.
    let (target, merged) = moved(workspace.land(&base, &tree, Landing::Commit, "Change").unwrap());
    assert_eq!(target.as_str(), scene.git(&["rev-parse", "HEAD^{tree}"]));
    let (commit, files) =
        landed(workspace.land(&target, &merged, Landing::Commit, "Change\n\nWhy.").unwrap());
    let commit = commit.unwrap();
    assert_eq!(files.len(), 7);
    assert_eq!(scene.git(&["log", "--format=%H %an %s", "-1", "main"]), format!("{commit} Mia Change"));
    assert_eq!(scene.git(&["rev-parse", "HEAD^"]), head);
    assert_eq!(scene.git(&["rev-parse", "HEAD^{tree}"]), merged.as_str());
    assert_eq!(scene.photograph(), after(before.clone()));
    assert_eq!(scene.git(&["status", "--porcelain"]), status);
    assert_eq!(scene.git(&["log", "-g", "--format=%gs", "-1"]), "commit: Change");
    // Once more changes nothing and names the same commit.
    assert_eq!(landed(workspace.land(&target, &merged, Landing::Commit, "Change").unwrap()).0, Some(commit));

    let UndoAnswer::Undone { commit: Some(revert), .. } = workspace.undo().unwrap() else {
        panic!("not undone")
    };
    assert_eq!(scene.git(&["log", "--format=%H %s", "-1"]), format!("{revert} Revert \"Change\""));
    assert_eq!(scene.git(&["rev-parse", "HEAD^{tree}"]), target.as_str());
    assert_eq!(scene.photograph(), before);
    assert_eq!(scene.git(&["status", "--porcelain"]), status);
    assert_eq!(workspace.undo().unwrap(), UndoAnswer::AlreadyUndone);
}

#[test]
fn a_commit_is_refused_where_it_would_mix_things_up() {
    let scene = Scene::with(&[("a", LINES)]);
    let workspace = scene.workspace();
    let base = workspace.prepare(&[]).unwrap().base;
    let tree = candidate(&workspace, &base, &patch("a", Some("1\n"), Some("one\n"))).tree;
    let refused = || workspace.land(&base, &tree, Landing::Commit, "Change").unwrap_err();

    scene.write(".git/index.lock", "");
    assert!(matches!(refused(), WorkspaceError::Locked { .. }));
    fs::remove_file(scene.root().join(".git/index.lock")).unwrap();

    scene.write(".git/MERGE_HEAD", scene.git(&["rev-parse", "HEAD"]));
    assert!(matches!(refused(), WorkspaceError::InProgress { what: "A merge", .. }));
    fs::remove_file(scene.root().join(".git/MERGE_HEAD")).unwrap();

    scene.write("a", format!("{LINES}10\n"));
    scene.git(&["add", "a"]);
    let error = refused();
    assert!(matches!(&error, WorkspaceError::Staged { paths } if *paths == ["a"]), "{error}");
    scene.git(&["reset", "-q", "--hard"]);

    // Unstaged edits of the same file, at other lines, stay unstaged.
    scene.write("a", format!("{LINES}10\n"));
    landed(workspace.land(&base, &tree, Landing::Commit, "Change").unwrap());
    assert_eq!(scene.git(&["show", "HEAD:a"]), LINES.replacen('1', "one", 1).trim_end());
    assert_eq!(scene.text("a"), format!("{}10\n", LINES.replacen('1', "one", 1)));
    assert_eq!(scene.git(&["status", "--porcelain"]), " M a");
}

#[test]
fn a_commit_lands_without_identity_and_on_a_detached_head() {
    let scene = Scene::with(&[("a", "1\n")]);
    scene.git(&["config", "--unset", "user.name"]);
    scene.git(&["config", "--unset", "user.email"]);
    scene.git(&["checkout", "-q", "--detach"]);
    let main = scene.git(&["rev-parse", "main"]);
    let workspace = scene.workspace();
    let base = workspace.prepare(&[]).unwrap().base;
    let tree = candidate(&workspace, &base, &patch("a", Some("1\n"), Some("2\n"))).tree;
    let (commit, _) = landed(workspace.land(&base, &tree, Landing::Commit, "Change").unwrap());
    assert_eq!(Some(scene.git(&["rev-parse", "HEAD"])).as_deref(), commit.as_ref().map(CommitId::as_str));
    assert_eq!(scene.git(&["log", "-1", "--format=%an <%ae>"]), "Checkmate <checkmate@localhost>");
    assert_eq!(scene.git(&["rev-parse", "main"]), main);
    assert_eq!(scene.git(&["status", "--porcelain"]), "");
}

#[test]
fn line_endings_and_odd_bytes_survive() {
    let check = |config: &[(&str, &str)], attributes: &str| {
        let scene = Scene::with(&[("other", "1\n")]);
        for (key, value) in config {
            scene.git(&["config", key, value]);
        }
        scene.write(".gitattributes", attributes);
        scene.write("a", b"1\r\n2\r\ncaf\xe9\r\n");
        scene.commit("Windows");
        // Mixed endings that no conversion would bring back.
        scene.write("mixed", "1\r\n2\n3\r\n");
        let before = fs::read(scene.root().join("mixed")).unwrap();
        let workspace = scene.workspace();
        let base = workspace.prepare(&[]).unwrap().base;
        let change = [patch("a", Some("1\n"), Some("one\n")), patch("mixed", Some("1\n"), Some("one\n"))];
        let tree = candidate(&workspace, &base, &change.concat()).tree;
        landed(workspace.land(&base, &tree, Landing::Apply, "Change").unwrap());
        assert_eq!(
            fs::read(scene.root().join("a")).unwrap(),
            b"one\r\n2\r\ncaf\xe9\r\n",
            "{config:?} {attributes:?}"
        );
        workspace.undo().unwrap();
        assert_eq!(
            fs::read(scene.root().join("a")).unwrap(),
            b"1\r\n2\r\ncaf\xe9\r\n",
            "{config:?} {attributes:?}"
        );
        assert_eq!(fs::read(scene.root().join("mixed")).unwrap(), before, "{config:?} {attributes:?}");
    };
    check(&[("core.autocrlf", "true")], "");
    check(&[], "* text eol=crlf\n");
}

#[test]
fn a_landing_that_was_cut_off_is_finished() {
    for how in [Landing::Apply, Landing::Commit] {
        for cut in 0.. {
            let scene = busy();
            scene.git(&["reset", "-q", "--hard"]);
            let workspace = scene.workspace();
            let prepared = workspace.prepare(&[]).unwrap();
            // What lands by commit starts from what is committed.
            fs::remove_file(scene.root().join("untracked")).unwrap();
            let base = workspace.prepare(&[]).unwrap().base;
            assert_ne!(base, prepared.base);
            let tree = candidate(&workspace, &base, &change()).tree;
            let (before, head) = (scene.photograph(), scene.git(&["rev-parse", "HEAD"]));
            workspace.fuse.set(cut);
            let answer = workspace.land(&base, &tree, how, "Change");
            if answer.is_ok() {
                assert!(cut > 8, "the plug was pulled too late");
                break;
            }
            // The process is gone; another one opens the same run.
            let workspace = scene.workspace();
            let recovered = workspace.recover().unwrap();
            assert!(recovered.as_ref().is_none_or(Vec::is_empty), "{how:?} {cut}: {recovered:?}");
            let done = recovered.is_some() || scene.photograph() != before;
            assert_eq!(
                scene.photograph(),
                if done { after(before.clone()) } else { before.clone() },
                "{how:?} {cut}"
            );
            assert_eq!(
                scene.git(&["rev-parse", "HEAD"]) != head,
                done && how == Landing::Commit,
                "{how:?} {cut}"
            );
            assert!(!scene.root().join(".git/checkmate/r1").exists(), "{how:?} {cut}");
            let (commit, _) = landed(workspace.land(&base, &tree, how, "Change").unwrap());
            assert_eq!(commit.is_some(), how == Landing::Commit, "{how:?} {cut}");
            assert_eq!(
                scene.git(&["rev-list", "--count", "HEAD"]),
                if how == Landing::Commit { "2" } else { "1" }
            );
            if how == Landing::Commit {
                assert_eq!(scene.git(&["status", "--porcelain"]), "", "{cut}");
            }
            assert!(matches!(workspace.undo().unwrap(), UndoAnswer::Undone { .. }), "{how:?} {cut}");
            assert_eq!(scene.photograph(), before, "{how:?} {cut}");
        }
    }
}

#[test]
fn what_the_user_edits_while_a_landing_is_cut_off_is_left_alone() {
    let scene = Scene::with(&[("a", "1\n"), ("b", "1\n")]);
    let workspace = scene.workspace();
    let base = workspace.prepare(&[]).unwrap().base;
    let change = [patch("a", Some("1\n"), Some("2\n")), patch("b", Some("1\n"), Some("2\n"))];
    let tree = candidate(&workspace, &base, &change.concat()).tree;
    workspace.fuse.set(4);
    assert!(workspace.land(&base, &tree, Landing::Apply, "Change").is_err());
    assert_eq!((scene.text("a"), scene.text("b")), ("2\n".to_owned(), "1\n".to_owned()));
    scene.write("b", "mine\n");
    assert_eq!(scene.workspace().recover().unwrap(), Some(vec!["b".to_owned()]));
    assert_eq!((scene.text("a"), scene.text("b")), ("2\n".to_owned(), "mine\n".to_owned()));
}

#[test]
fn a_sparse_checkout_is_whole_in_the_run_and_refuses_to_land_outside() {
    let scene = Scene::with(&[("in/a", "1\n"), ("out/b", "1\n")]);
    scene.git(&["sparse-checkout", "set", "in"]);
    assert!(!scene.root().join("out/b").exists());
    let workspace = scene.workspace();
    let prepared = workspace.prepare(&[]).unwrap();
    assert_eq!(prepared.base.as_str(), scene.git(&["rev-parse", "HEAD^{tree}"]));
    let tree = workspace.restore(&prepared.base, &[]).unwrap();
    assert!(tree.join("out/b").exists());
    let inside = candidate(&workspace, &prepared.base, &patch("in/a", Some("1\n"), Some("2\n"))).tree;
    let outside = candidate(&workspace, &prepared.base, &patch("out/b", Some("1\n"), Some("2\n"))).tree;
    let error = workspace.land(&prepared.base, &outside, Landing::Apply, "Change").unwrap_err();
    assert!(matches!(&error, WorkspaceError::Sparse { paths } if *paths == ["out/b"]), "{error}");
    landed(workspace.land(&prepared.base, &inside, Landing::Commit, "Change").unwrap());
    assert_eq!(scene.git(&["status", "--porcelain"]), "");
    assert!(!scene.root().join("out/b").exists());
}

#[test]
fn an_undo_that_was_cut_off_is_finished() {
    for how in [Landing::Apply, Landing::Commit] {
        for cut in 0.. {
            let scene = Scene::with(&[("a", LINES), ("gone", "1\n"), ("swap", "1\n"), ("dir/x", "1\n")]);
            let workspace = scene.workspace();
            let base = workspace.prepare(&[]).unwrap().base;
            let tree = candidate(&workspace, &base, &change()).tree;
            let before = scene.photograph();
            landed(workspace.land(&base, &tree, how, "Change").unwrap());
            workspace.fuse.set(cut);
            if workspace.undo().is_ok() {
                assert!(cut > 8, "the plug was pulled too late");
                break;
            }
            let workspace = scene.workspace();
            let recovered = workspace.recover().unwrap();
            assert!(recovered.as_ref().is_none_or(Vec::is_empty), "{how:?} {cut}: {recovered:?}");
            assert_eq!(scene.photograph() == before, recovered.is_some() || cut > 2, "{how:?} {cut}");
            let again = workspace.undo().unwrap();
            let undone = matches!(again, UndoAnswer::Undone { .. });
            assert!(undone || again == UndoAnswer::AlreadyUndone, "{how:?} {cut}: {again:?}");
            assert_eq!(scene.photograph(), before, "{how:?} {cut}");
            let commits = if how == Landing::Commit { "3" } else { "1" };
            assert_eq!(scene.git(&["rev-list", "--count", "HEAD"]), commits, "{how:?} {cut}");
        }
    }
}

#[test]
fn modes_and_content_that_is_not_text_land() {
    let scene = Scene::with(&[("run", "#!/bin/sh\n")]);
    let workspace = scene.workspace();
    let base = workspace.prepare(&[]).unwrap().base;
    let text = "diff --git a/run b/run\nold mode 100644\nnew mode 100755\n";
    let made = candidate(&workspace, &base, text);
    assert_eq!((made.changes[0].old_mode.as_str(), made.changes[0].new_mode.as_str()), ("100644", "100755"));
    let before = scene.photograph();
    landed(workspace.land(&base, &made.tree, Landing::Apply, "Change").unwrap());
    assert_eq!(scene.photograph()["run"], "x \"#!/bin/sh\\n\"");
    let tree = workspace.restore(&made.tree, &[]).unwrap();
    assert_eq!(photograph(&tree), scene.photograph());
    assert!(matches!(workspace.undo().unwrap(), UndoAnswer::Undone { .. }));
    assert_eq!(scene.photograph(), before);
}

#[test]
fn a_repository_with_longer_hashes_is_like_any_other() {
    let scene = Scene::empty();
    scene.git(&["init", "-q", "-b", "main", "--object-format=sha256"]);
    for path in ["a", "gone"] {
        scene.write(path, "1\n");
    }
    scene.git(&["add", "-A"]);
    scene.git(&["-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "-m", "First"]);
    let workspace = scene.workspace();
    let base = workspace.prepare(&[]).unwrap().base;
    let change = [patch("a", Some("1\n"), Some("2\n")), patch("gone", Some("1\n"), None)];
    let tree = candidate(&workspace, &base, &change.concat()).tree;
    let folder = workspace.restore(&tree, &[]).unwrap();
    assert_eq!(scene.git_in(&folder, &["log", "--format=%s"]), "First");
    landed(workspace.land(&base, &tree, Landing::Commit, "Change").unwrap());
    assert_eq!(scene.git(&["status", "--porcelain"]), "");
    assert_eq!(scene.git(&["ls-files"]), "a");
}

#[test]
fn names_that_git_could_take_for_something_else_land() {
    for how in [Landing::Apply, Landing::Commit] {
        let names = ["-dash", "sp ace", "*", "[x]", "ü/é", "#hash"];
        let scene = Scene::with(&names.map(|name| (name, "1\n")));
        let workspace = scene.workspace();
        let base = workspace.prepare(&[]).unwrap().base;
        let mut tree = base.clone();
        for name in names {
            let blob = workspace.store(&[b"2\n"]).unwrap().remove(0);
            let entry = crate::workspace::listing::Entry { mode: "100644".to_owned(), id: blob };
            tree = workspace.edit(&tree, &BTreeMap::from([(name.to_owned(), Some(entry))])).unwrap();
        }
        workspace.restore(&tree, &[]).unwrap();
        let (_, files) = landed(workspace.land(&base, &tree, how, "Change").unwrap());
        assert_eq!(files.len(), names.len());
        assert!(names.iter().all(|name| scene.text(name) == "2\n"));
        assert_eq!(scene.git(&["status", "--porcelain"]).is_empty(), how == Landing::Commit);
        assert!(matches!(workspace.undo().unwrap(), UndoAnswer::Undone { .. }));
        assert!(names.iter().all(|name| scene.text(name) == "1\n"));
        assert_eq!(scene.git(&["status", "--porcelain"]), "");
    }
}
