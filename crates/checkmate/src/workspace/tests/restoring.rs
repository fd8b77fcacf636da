use checkmate_machine::effect::Layer;

use super::*;

const FILES: &[(&str, &str)] = &[
    ("a", "one\n"),
    ("src/b", "1\n"),
    (".gitignore", "target\nnode_modules/\nleftover\n__pycache__/\n"),
    ("run", "#!/bin/sh\n"),
];

/// What a command does to the run's files.
type Mess<'a> = &'a dyn Fn(&Path);

fn start() -> (Scene, Workspace, TreeId, BTreeMap<String, String>) {
    let scene = Scene::with(FILES);
    fs::set_permissions(scene.root().join("run"), fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("a", scene.root().join("link")).unwrap();
    let workspace = scene.workspace();
    let base =
        workspace.prepare(&["node_modules".to_owned(), "a".to_owned(), "missing".to_owned()]).unwrap().base;
    let picture = scene.photograph();
    (scene, workspace, base, picture)
}

#[test]
fn whatever_a_command_did_is_gone_after_a_restore() {
    let (scene, workspace, base, picture) = start();
    let outside = scene.folder.path().join("outside");
    fs::create_dir_all(&outside).unwrap();
    fs::write(outside.join("b"), "precious\n").unwrap();
    let mess: &[(&str, Mess<'_>)] = &[
        ("nothing", &|_| {}),
        ("same size, same time", &|tree| {
            let time = fs::metadata(tree.join("a")).unwrap().modified().unwrap();
            fs::write(tree.join("a"), "two\n").unwrap();
            fs::File::options().write(true).open(tree.join("a")).unwrap().set_modified(time).unwrap();
        }),
        ("deleted", &|tree| fs::remove_dir_all(tree.join("src")).unwrap()),
        ("no longer executable", &|tree| {
            fs::set_permissions(tree.join("run"), fs::Permissions::from_mode(0o644)).unwrap();
        }),
        ("read-only folder with junk", &|tree| {
            fs::write(tree.join("src/junk"), "").unwrap();
            fs::create_dir_all(tree.join("x/y")).unwrap();
            fs::write(tree.join("x/y/z"), "").unwrap();
            for folder in ["src", "x/y", "x"] {
                fs::set_permissions(tree.join(folder), fs::Permissions::from_mode(0o500)).unwrap();
            }
        }),
        ("an ignored file that says that all is well", &|tree| {
            fs::write(tree.join("leftover"), "ok").unwrap();
            fs::create_dir_all(tree.join("src/leftover")).unwrap();
        }),
        ("folder became a symlink", &|tree| {
            fs::remove_dir_all(tree.join("src")).unwrap();
            std::os::unix::fs::symlink(&outside, tree.join("src")).unwrap();
        }),
        ("file became a folder", &|tree| {
            fs::remove_file(tree.join("a")).unwrap();
            fs::create_dir_all(tree.join("a/deep")).unwrap();
            fs::write(tree.join("a/deep/x"), "").unwrap();
        }),
        ("folder became a file", &|tree| {
            fs::remove_dir_all(tree.join("src")).unwrap();
            fs::write(tree.join("src"), "").unwrap();
        }),
        ("socket", &|tree| drop(std::os::unix::net::UnixListener::bind(tree.join("s")).unwrap())),
        ("pipe in place of a file", &|tree| {
            fs::remove_file(tree.join("a")).unwrap();
            let made = Command::new("mkfifo").arg(tree.join("a")).status().unwrap();
            assert!(made.success());
        }),
        ("bytecode", &|tree| {
            fs::create_dir_all(tree.join("src/__pycache__")).unwrap();
            fs::write(tree.join("src/__pycache__/b.pyc"), "").unwrap();
        }),
        ("junk that hides itself", &|tree| {
            fs::write(tree.join("src/.gitignore"), "*\n").unwrap();
            fs::write(tree.join("src/conftest.py"), "evil").unwrap();
            fs::write(tree.join(".gitignore"), "*\n").unwrap();
        }),
        ("repository in a folder", &|tree| {
            let made =
                Command::new("git").args(["init", "-q"]).current_dir(tree.join("src")).status().unwrap();
            assert!(made.success());
        }),
        ("git directory in place of the pointer", &|tree| {
            fs::remove_file(tree.join(".git")).unwrap();
            fs::create_dir(tree.join(".git")).unwrap();
            fs::write(tree.join(".git/config"), "[core]\n\tfsmonitor = touch marker\n").unwrap();
        }),
        ("everything replaced by a symlink", &|tree| {
            fs::remove_dir_all(tree).unwrap();
            std::os::unix::fs::symlink(&outside, tree).unwrap();
        }),
    ];
    workspace.restore(&base, &[]).unwrap();
    for (name, act) in mess {
        act(&workspace.tree_dir());
        let tree = workspace.restore(&base, &[]).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(photograph(&tree), picture, "{name}");
        assert_eq!(
            scene.git_in(&tree, &["status", "--porcelain", "--untracked-files=all"]).lines().count(),
            2,
            "{name}"
        );
        assert_eq!(photograph(&outside).len(), 1, "{name}");
        assert_eq!(fs::read_to_string(outside.join("b")).unwrap(), "precious\n", "{name}");
    }
    assert_eq!(scene.photograph(), picture);
}

#[test]
fn trees_follow_each_other_and_ignored_folders_stay() {
    let (scene, workspace, base, _) = start();
    scene.write("node_modules/dep/index.js", "1\n");
    let swap = [
        patch("a", Some("one\n"), None),
        patch("a/inner", None, Some("x\n")),
        patch("src/b", Some("1\n"), None),
        patch("src", None, Some("y\n")),
    ];
    let other = candidate(&workspace, &base, &swap.concat());
    let tree = workspace.restore(&base, &[]).unwrap();
    fs::create_dir(tree.join("target")).unwrap();
    fs::write(tree.join("target/cache"), "warm").unwrap();
    for _ in 0..2 {
        workspace.restore(&other.tree, &[]).unwrap();
        assert_eq!(fs::read_to_string(tree.join("a/inner")).unwrap(), "x\n");
        assert_eq!(fs::read_to_string(tree.join("src")).unwrap(), "y\n");
        workspace.restore(&base, &[]).unwrap();
        assert_eq!(fs::read_to_string(tree.join("src/b")).unwrap(), "1\n");
    }
    assert_eq!(fs::read_to_string(tree.join("target/cache")).unwrap(), "warm");
    let link = scene.root().canonicalize().unwrap().join("node_modules");
    assert_eq!(fs::read_link(tree.join("node_modules")).unwrap(), link);
    assert!(fs::symlink_metadata(tree.join("a")).unwrap().is_file(), "a tracked path is never linked");
    assert!(fs::symlink_metadata(tree.join("missing")).is_err());
}

#[test]
fn a_link_never_leads_out_of_the_repository() {
    let (scene, workspace, _, _) = start();
    std::os::unix::fs::symlink(scene.home(), scene.root().join("node_modules")).unwrap();
    let prepared = workspace.prepare(&["node_modules".to_owned()]).unwrap();
    assert!(
        prepared.notes.iter().any(|note| note.contains("leads out of the repository")),
        "{:?}",
        prepared.notes
    );
    let tree = workspace.restore(&prepared.base, &[]).unwrap();
    assert!(fs::symlink_metadata(tree.join("node_modules")).is_err());
}

#[test]
fn an_overlay_lies_over_one_command_only() {
    let (_scene, workspace, base, picture) = start();
    let test = [
        patch("tests/t", None, Some("test\n")),
        patch("leftover", None, Some("ignored\n")),
        patch("a", Some("one\n"), Some("two\n")),
    ];
    let from = candidate(&workspace, &base, &test.concat()).tree;
    let paths = vec!["tests/t".to_owned(), "leftover".to_owned()];
    let tree = workspace.restore(&base, &[Layer::Files { from: from.clone(), paths }]).unwrap();
    assert_eq!(fs::read_to_string(tree.join("tests/t")).unwrap(), "test\n");
    assert_eq!(fs::read_to_string(tree.join("leftover")).unwrap(), "ignored\n");
    assert_eq!(fs::read_to_string(tree.join("a")).unwrap(), "one\n");
    workspace.restore(&base, &[]).unwrap();
    assert_eq!(photograph(&tree), picture);
    let missing = Layer::Files { from, paths: vec!["nowhere".to_owned()] };
    assert!(matches!(workspace.restore(&base, &[missing]), Err(WorkspaceError::NotInTree { .. })));
}

#[test]
fn git_in_the_runs_files_cannot_write_into_the_users_repository() {
    let (scene, workspace, base, _) = start();
    scene.git(&["tag", "v1"]);
    let tree = workspace.restore(&base, &[]).unwrap();
    let before = scene.git(&["for-each-ref"]);
    let index = scene.index();
    assert_eq!(scene.git_in(&tree, &["log", "--format=%s", "v1"]), "First");
    scene.git_in(&tree, &["config", "core.hooksPath", "/tmp"]);
    scene.git_in(
        &tree,
        &["-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "--allow-empty", "-m", "Agent"],
    );
    scene.git_in(&tree, &["branch", "agent"]);
    scene.git_in(&tree, &["update-ref", "-d", "refs/tags/v1"]);
    assert_eq!(scene.git(&["for-each-ref"]), before);
    assert_eq!(scene.index(), index);
    assert_eq!(scene.git(&["config", "--get", "core.bare"]), "false");
    workspace.restore(&base, &[]).unwrap();
    assert_eq!(scene.git_in(&tree, &["log", "-1", "--format=%s"]), "First");
    assert_eq!(scene.git_in(&tree, &["tag"]), "v1");
}

#[test]
fn a_patch_becomes_a_measured_candidate_or_reasons() {
    let (_scene, workspace, base, _) = start();
    let change = [
        patch("a", Some("one\n"), Some("two\nthree\n")),
        patch("new/ü", None, Some("x\n")),
        patch("src/b", Some("1\n"), None),
    ];
    let made = candidate(&workspace, &base, &change.concat());
    let facts: Vec<String> = made
        .changes
        .iter()
        .map(|c| format!("{} {:?} {} {} +{} -{}", c.path, c.kind, c.old_mode, c.new_mode, c.added, c.removed))
        .collect();
    assert_eq!(
        facts,
        [
            "a Modified 100644 100644 +2 -1",
            "new/ü Added 000000 100644 +1 -0",
            "src/b Deleted 100644 000000 +0 -1",
        ]
    );
    assert!(made.diff.contains("--- a/a\n+++ b/a\n") && made.diff.contains("+++ b/new/ü\n"), "{}", made.diff);
    // The next turn edits this one, measured against the same base.
    let Applied::Candidate(next) =
        workspace.apply(&base, &made.tree, &patch("a", Some("two\n"), Some("2\n"))).unwrap()
    else {
        panic!("the second turn was rejected")
    };
    assert_eq!(next.changes.len(), 3);

    let reject = |text: &str| match workspace.apply(&base, &base, text).unwrap() {
        Applied::Rejected(reasons) => reasons.join(" "),
        Applied::Candidate(_) => panic!("placed: {text}"),
    };
    for text in [
        patch("a", Some("nowhere\n"), Some("x\n")),
        patch("a/below", None, Some("x\n")),
        patch("src", None, Some("x\n")),
        patch("link", Some("a\n"), Some("b\n")),
        patch("link/x", None, Some("b\n")),
        patch(".git/config", None, Some("x\n")),
        patch("../x", None, Some("x\n")),
        "no patch at all".to_owned(),
    ] {
        assert!(!reject(&text).is_empty(), "{text}");
    }
}
