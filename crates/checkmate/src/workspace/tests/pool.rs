use std::collections::BTreeSet;

use super::*;

const FILES: &[(&str, &str)] = &[("a", "one\n"), ("src/b", "1\n"), (".gitignore", "target\nnode_modules/\n")];

fn run(scene: &Scene, name: &str) -> Workspace {
    Workspace::open(
        Repository::discover_in(&scene.root(), &scene.environment()).unwrap(),
        name,
        &scene.folder.path().join(name),
    )
    .unwrap()
}

fn inode(workspace: &Workspace) -> u64 {
    std::os::unix::fs::MetadataExt::ino(&fs::metadata(workspace.tree_dir().join("a")).unwrap())
}

#[test]
fn the_next_run_takes_the_files_and_nothing_else_of_the_last() {
    let scene = Scene::with(FILES);
    let pool = scene.folder.path().join("pool");
    fs::create_dir_all(scene.root().join("node_modules/x")).unwrap();
    let (first, links) = (run(&scene, "r1"), ["node_modules".to_owned()]);
    first.take_files(&pool);
    let base = first.prepare(&links).unwrap().base;
    let tree = first.restore(&base, &[]).unwrap();
    let picture = photograph(&tree);
    let known = inode(&first);
    // What a command did: a build, junk, and a file of the tree that looks as if nobody had touched it.
    fs::create_dir_all(tree.join("target/debug")).unwrap();
    fs::write(tree.join("target/debug/poison"), "x").unwrap();
    fs::write(tree.join("junk"), "x").unwrap();
    let time = fs::metadata(tree.join("src/b")).unwrap().modified().unwrap();
    fs::write(tree.join("src/b"), "2\n").unwrap();
    fs::File::options().write(true).open(tree.join("src/b")).unwrap().set_modified(time).unwrap();
    first.give_files(&pool).unwrap();
    assert!(!first.tree_dir().exists());
    assert!(scene.root().join("node_modules/x").is_dir(), "what is linked is the user's");

    let (second, third) = (run(&scene, "r2"), run(&scene, "r3"));
    second.take_files(&pool);
    third.take_files(&pool);
    assert!(!third.tree_dir().exists(), "one folder goes to one run");
    assert!(!second.tree_dir().join("target").exists() && !second.tree_dir().join("junk").exists());
    for (number, workspace) in [&second, &third].into_iter().enumerate() {
        assert_eq!(workspace.prepare(&links).unwrap().base, base);
        assert_eq!(photograph(&workspace.restore(&base, &[]).unwrap()), picture);
        assert_eq!(inode(workspace) == known, number == 0);
    }
}

#[test]
fn few_folders_wait_and_half_of_one_is_none() {
    let scene = Scene::with(FILES);
    let pool = scene.folder.path().join("pool");
    for name in ["r1", "r2", "r3"] {
        let workspace = run(&scene, name);
        let base = workspace.prepare(&[]).unwrap().base;
        workspace.restore(&base, &[]).unwrap();
        workspace.give_files(&pool).unwrap();
        // There is nothing left to give.
        workspace.give_files(&pool).unwrap();
    }
    let names = |folder: &Path| -> BTreeSet<String> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        entries.map(|name| name.to_string_lossy().into_owned()).collect()
    };
    assert_eq!(names(&pool), ["r2", "r3"].map(str::to_owned).into());
    fs::remove_file(pool.join("r2/index")).unwrap();
    fs::create_dir_all(pool.join("new-r0/tree")).unwrap();
    let workspace = run(&scene, "r4");
    workspace.take_files(&pool);
    assert_eq!(names(&pool), ["new-r0".to_owned()].into());
    let base = workspace.prepare(&[]).unwrap().base;
    workspace.restore(&base, &[]).unwrap();
    assert_eq!(photograph(&workspace.tree_dir()).len(), FILES.len() + 1);
}
