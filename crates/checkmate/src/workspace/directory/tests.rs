use super::super::tests::{patch, photograph};
use super::*;
use std::fs;

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn change() -> String {
    [
        patch("a", Some("1\n"), Some("2\n")),
        patch("d/e/new", None, Some("x\n")),
        patch("gone/only", Some("1\n"), None),
        patch("swap", Some("1\n"), None),
        patch("swap/inner", None, Some("y\n")),
    ]
    .concat()
}

const FILES: &[(&str, &str)] = &[("a", "1\n"), ("gone/only", "1\n"), ("swap", "1\n"), ("b", "1\n")];
const AFTER: &[(&str, &str)] = &[("a", "2\n"), ("d/e/new", "x\n"), ("swap/inner", "y\n"), ("b", "1\n")];

#[test]
fn a_patch_is_applied_without_git_or_only_checked() {
    let notes = tempfile::tempdir().unwrap();
    let folder = folder(FILES);
    let before = photograph(folder.path());
    for check_only in [true, false] {
        assert_eq!(photograph(folder.path()), before);
        let wish = DirectoryWish { check_only, pictures: check_only };
        let (answer, pictures) = apply_to_directory(folder.path(), &change(), wish, notes.path()).unwrap();
        assert_eq!(pictures.is_empty(), !check_only);
        let DirectoryApply::Applied { files, .. } = answer else { panic!("{answer:?}") };
        assert_eq!(files, ["a", "d/e/new", "gone/only", "swap", "swap/inner"]);
    }
    assert_eq!(photograph(folder.path()), photograph(self::folder(AFTER).path()));
}

#[test]
fn what_cannot_be_placed_touches_nothing() {
    let notes = tempfile::tempdir().unwrap();
    let folder = folder(&[("a", "1\n"), ("Readme", "1\n"), ("dir/x", "1\n")]);
    let outside = self::folder(&[("x", "precious\n")]);
    std::os::unix::fs::symlink(outside.path(), folder.path().join("out")).unwrap();
    std::os::unix::fs::symlink("a", folder.path().join("link")).unwrap();
    let before = photograph(folder.path());
    for (name, text) in [
        ("does not match", patch("a", Some("9\n"), Some("2\n"))),
        ("one of two", [patch("a", Some("1\n"), Some("2\n")), patch("b", Some("1\n"), Some("2\n"))].concat()),
        ("through a symlink", patch("out/x", Some("precious\n"), Some("2\n"))),
        ("new behind a symlink", patch("out/y", None, Some("2\n"))),
        ("a symlink", patch("link", Some("1\n"), Some("2\n"))),
        ("a folder", patch("dir", None, Some("2\n"))),
        ("below a file", patch("a/b", None, Some("2\n"))),
        ("case of a file", patch("README", None, Some("2\n"))),
        ("case of a folder", patch("DIR/y", None, Some("2\n"))),
        ("case of each other", [patch("new", None, Some("2\n")), patch("NEW", None, Some("2\n"))].concat()),
        ("outside", patch("../x", None, Some("2\n"))),
        ("our own folder in capitals", patch(".Checkmate-Apply/x", None, Some("{}\n"))),
        ("our own folder", patch(".checkmate-apply/landing.json", None, Some("{}\n"))),
    ] {
        let (answer, _) =
            apply_to_directory(folder.path(), &text, DirectoryWish::default(), notes.path()).unwrap();
        assert!(
            matches!(&answer, DirectoryApply::Rejected(reasons) if !reasons.is_empty()),
            "{name}: {answer:?}"
        );
        assert_eq!(photograph(folder.path()), before, "{name}");
        assert_eq!(fs::read_to_string(outside.path().join("x")).unwrap(), "precious\n", "{name}");
        assert!(!outside.path().join("y").exists(), "{name}");
    }
}

#[test]
fn a_patch_that_was_cut_off_is_finished_by_the_next_call() {
    let notes = tempfile::tempdir().unwrap();
    for cut in 0.. {
        let folder = folder(FILES);
        let before = photograph(folder.path());
        let fuse = Fuse::default();
        fuse.set(cut);
        let cut_off =
            apply(folder.path(), &change(), DirectoryWish::default(), notes.path(), &mut Vec::new(), &fuse);
        if cut_off.is_ok() {
            assert!(cut > 6, "the plug was pulled too late");
            break;
        }
        let next = patch("b", Some("1\n"), Some("1\n1\n"));
        let checked = DirectoryWish { check_only: true, pictures: false };
        let half = photograph(folder.path());
        let checked = apply_to_directory(folder.path(), &next, checked, notes.path());
        assert!(matches!(checked, Err(WorkspaceError::Unfinished)), "{cut}: {checked:?}");
        assert_eq!(photograph(folder.path()), half, "who only checks writes nothing");
        let nothing = apply_to_directory(folder.path(), "", DirectoryWish::default(), notes.path()).unwrap();
        assert!(matches!(nothing.0, DirectoryApply::Rejected(_)));
        let now = photograph(folder.path());
        let whole = photograph(self::folder(AFTER).path());
        assert!(now == whole || now == before, "{cut}: {now:?}");
    }
}

#[test]
fn what_a_folder_brings_along_is_nobodys_wish() {
    let notes = tempfile::tempdir().unwrap();
    let above =
        folder(&[("precious", "mine\n"), ("repo/a", "1\n"), ("repo/.checkmate-apply/files/x", "evil\n")]);
    let repo = above.path().join("repo");
    let step =
        |path: &str| Step { path: path.to_owned(), old: State::Absent, new: State::file(b"evil\n", false) };
    let planted = Intent { stage: repo.join(".checkmate-apply/files"), steps: vec![step("x"), step("../x")] };
    save(&repo.join(".checkmate-apply/landing.json"), &planted).unwrap();
    let before = photograph(above.path());
    for check_only in [true, false] {
        let wish = DirectoryWish { check_only, pictures: false };
        let change = patch("a", Some("1\n"), Some("2\n"));
        let (answer, _) = apply_to_directory(&repo, &change, wish, notes.path()).unwrap();
        match answer {
            DirectoryApply::Applied { .. } => assert!(check_only),
            DirectoryApply::Rejected(why) => assert!(why[0].contains("is in the way"), "{why:?}"),
        }
        assert_eq!(photograph(above.path()), before);
    }
}
