use std::collections::BTreeMap;

use super::*;
use crate::command::CommandLine;
use crate::patch::{self, Original, Write};
use crate::spec::{LandPolicy, Policy, ReviewMode};

const FORMS: [PatchForm; 3] = [PatchForm::Diff, PatchForm::SearchReplace, PatchForm::WholeFile];
/// The files that the examples of the forms are about.
const OLD: &str = "def invoice(order):\n    \"\"\"Returns what an order costs.\"\"\"\n    total = 0\n    for item in order.items:\n        total += item.price\n    if order.discount:\n        total -= order.discount\n    return total\n";
const TEST: &str = "from shop.invoice import invoice\nfrom shop.order import Item, Order\n\ndef test_every_item_is_counted():\n    assert invoice(Order([Item(price=2, count=3)])) == 6\n";

#[test]
fn every_form_has_a_text_and_the_name_that_is_written() {
    let shipped = shipped();
    for form in FORMS {
        assert_eq!(serde_json::to_value(form).unwrap(), form.name());
        let text = &shipped[form.name()].text;
        assert!(text.contains("An example:\n"), "{text}");
        assert!(!text.contains(FORM_MARK), "{text}");
    }
    let marked = |(_, prompt): &(&String, &PromptText)| prompt.text.matches(FORM_MARK).count() == 1;
    let marked: Vec<&str> = shipped.iter().filter(marked).map(|(name, _)| name.as_str()).collect();
    assert_eq!(marked, ["arbiter_test", "builder"]);
}

/// Returns what the example of a form makes of the old files.
fn applied(form: PatchForm) -> BTreeMap<String, String> {
    let text = shipped().remove(form.name()).unwrap().text;
    let (_, example) = text.split_once("An example:\n").unwrap();
    let patch = patch::parse(example).unwrap();
    let original = |path: &str| match path {
        "shop/invoice.py" => Original::File { bytes: OLD.into(), executable: false },
        _ => Original::Absent,
    };
    let originals = patch.paths().into_iter().map(|path| (path.to_owned(), original(path))).collect();
    let plan = patch::plan(&patch, &originals).unwrap();
    let written = plan.writes.into_iter().map(|write| match write {
        Write::Put { path, bytes, .. } => (path, String::from_utf8(bytes).unwrap()),
        Write::Delete { path } => panic!("{path} is deleted"),
    });
    written.collect()
}

#[test]
fn the_examples_of_all_forms_make_the_same_change() {
    let new = OLD.replace("item.price", "item.price * item.count");
    let expected =
        [("shop/invoice.py".to_owned(), new), ("tests/test_invoice.py".to_owned(), TEST.to_owned())];
    let expected = BTreeMap::from(expected);
    for form in FORMS {
        assert_eq!(applied(form), expected, "{form:?}");
    }
}

#[test]
fn rules_from_before_there_was_a_choice_ask_for_diffs() {
    let policy = Policy {
        max_iterations: 1,
        review_mode: ReviewMode::Always,
        review_on_test_pass: true,
        strictness: Strictness::Balanced,
        patch_form: PatchForm::WholeFile,
        moderator: false,
        context_summary_threshold: 2000,
        allow_paths: Vec::new(),
        allow_commands: Vec::new(),
        test_command: CommandLine::from_user("npm test").unwrap(),
        approve_patches: false,
        interactive: false,
        land: LandPolicy::Apply,
        evidence: crate::spec::EvidenceRules::default(),
        examiner: false,
        budget: Default::default(),
    };
    let mut old = serde_json::to_value(&policy).unwrap();
    assert_eq!(old["patch_form"], "whole_file");
    old.as_object_mut().unwrap().remove("patch_form");
    let read: Policy = serde_json::from_value(old).unwrap();
    assert_eq!(read, Policy { patch_form: PatchForm::Diff, ..policy });
}
