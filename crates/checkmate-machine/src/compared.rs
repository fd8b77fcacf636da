//! What the two runs of a [`Comparison`] say about a change.

use std::collections::BTreeMap;

use crate::evidence::Receipt;
use crate::facts::{CallOrigin, ComparedCall, Comparison};

/// So many renamed calls must have given plain values before a change is said to act at literals only.
const SIBLINGS: usize = 4;

/// What the program prints where a call gives another result every time.
const UNSTABLE: &str = "unstable";

/// What the program prints in front of an error.
const RAISES: &str = "raises ";

/// A call whose result differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Its number.
    pub call: u32,
    /// Its result before the change.
    pub before: String,
    /// Its result after the change.
    pub after: String,
}

/// Returns the results by the numbers of their calls.
///
/// Lines that do not start with the token, that name no call of the comparison or that say nothing stable are left
/// out. Where two lines have the same number, neither counts.
pub fn results(comparison: &Comparison, stdout: &str) -> BTreeMap<u32, String> {
    let mut found: BTreeMap<u32, Option<String>> = BTreeMap::new();
    for line in stdout.lines() {
        let rest = line.strip_prefix(comparison.token.as_str()).and_then(|rest| rest.strip_prefix(' '));
        let Some((number, result)) = rest.and_then(|rest| rest.split_once(' ')) else { continue };
        let Ok(number) = number.parse::<u32>() else { continue };
        if call(comparison, number).is_some() {
            let known = found.contains_key(&number);
            found.insert(number, (!known && result != UNSTABLE).then(|| result.to_owned()));
        }
    }
    found.into_iter().filter_map(|(number, result)| Some((number, result?))).collect()
}

/// Returns the calls whose results differ, by number. A call that lacks a result on either side is no difference.
pub fn differences(comparison: &Comparison, base: &Receipt, candidate: &Receipt) -> Vec<Difference> {
    let after = results(comparison, &candidate.stdout.text);
    let before = results(comparison, &base.stdout.text).into_iter();
    before
        .filter_map(|(call, before)| {
            let after = after.get(&call).filter(|after| **after != before)?.clone();
            Some(Difference { call, before, after })
        })
        .collect()
}

/// Returns the test calls that differ although none of their renamed siblings does, by number.
///
/// At least four siblings must have given values, not errors, on both sides.
pub fn calls_only_at_literals(comparison: &Comparison, base: &Receipt, candidate: &Receipt) -> Vec<u32> {
    let (before, after) =
        (results(comparison, &base.stdout.text), results(comparison, &candidate.stdout.text));
    let alone = |number: u32| {
        let siblings =
            numbered(comparison).filter(|(_, call)| call.origin == CallOrigin::Renamed { of: number });
        let results: Vec<(&String, &String)> =
            siblings.filter_map(|(sibling, _)| Some((before.get(&sibling)?, after.get(&sibling)?))).collect();
        let plain = results.iter().filter(|(_, after)| !after.starts_with(RAISES)).count();
        plain >= SIBLINGS && results.iter().all(|(before, after)| before == after)
    };
    let different = differences(comparison, base, candidate).into_iter().map(|difference| difference.call);
    different.filter(|number| is_test(comparison, *number) && alone(*number)).collect()
}

/// Returns the functions whose every differing test call differs at its very literals only, each once, in order.
///
/// Such a change knows the answers of the tests and nothing else. A change that does something else besides is not
/// named; see [`calls_only_at_literals`]. A rule that is about one value looks the same: `yes` means true, 90 is an A,
/// 404 is "not found". Whoever blocks for it should first look whether the goal names the value.
pub fn only_at_literals(comparison: &Comparison, base: &Receipt, candidate: &Receipt) -> Vec<String> {
    let alone = calls_only_at_literals(comparison, base, candidate);
    let mut functions: BTreeMap<&str, bool> = BTreeMap::new();
    for difference in differences(comparison, base, candidate) {
        if let Some(call) = call(comparison, difference.call).filter(|call| call.origin == CallOrigin::Test) {
            *functions.entry(&call.function).or_insert(true) &= alone.contains(&difference.call);
        }
    }
    functions.into_iter().filter(|(_, alone)| *alone).map(|(function, _)| function.to_owned()).collect()
}

fn call(comparison: &Comparison, number: u32) -> Option<&ComparedCall> {
    comparison.calls.get(usize::try_from(number).ok()?)
}

fn is_test(comparison: &Comparison, number: u32) -> bool {
    call(comparison, number).is_some_and(|call| call.origin == CallOrigin::Test)
}

fn numbered(comparison: &Comparison) -> impl Iterator<Item = (u32, &ComparedCall)> {
    (0_u32..).zip(&comparison.calls)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::{Ended, Output};
    use crate::ids::TreeId;

    fn receipt(lines: &[(u32, &str)]) -> Receipt {
        let text: String = lines.iter().map(|(number, result)| format!("t0 {number} {result}\n")).collect();
        Receipt {
            tree: TreeId::new("t"),
            saw: None,
            seed: None,
            argv: vec!["python3".into()],
            shell: false,
            of_repository: true,
            ended: Ended::Exited { code: 0 },
            report: None,
            stdout: Output { bytes: text.len() as u64, sha256: String::new(), text },
            stderr: Output::default(),
            duration_ms: 1,
            cached: false,
        }
    }

    /// Two test calls of one function, with four siblings each.
    fn comparison() -> Comparison {
        let call = |origin| ComparedCall { function: "m.f".into(), text: "f()".into(), origin };
        let calls = (0..10).map(|number| match number {
            0 | 5 => call(CallOrigin::Test),
            1..5 => call(CallOrigin::Renamed { of: 0 }),
            _ => call(CallOrigin::Renamed { of: 5 }),
        });
        Comparison { token: "t0".into(), argv: Vec::new(), layers: Vec::new(), calls: calls.collect() }
    }

    fn all(special: &[(u32, &'static str)]) -> Receipt {
        let result = |number| special.iter().find(|(of, _)| *of == number).map_or("1", |(_, result)| result);
        receipt(&(0..10).map(|number| (number, result(number))).collect::<Vec<_>>())
    }

    #[test]
    fn lines_count_by_token_and_number() {
        let stdout = "t0 0 'a b'\nnoise\nt01 1 x\nt0 2 unstable\nt0 99 x\nt0 x y\nt0 3 1\nt0 3 2\n t0 4 x\n";
        let found = results(&comparison(), stdout);
        assert_eq!(found, BTreeMap::from([(0, "'a b'".to_owned())]));
    }

    #[test]
    fn a_missing_result_is_no_difference() {
        let found =
            differences(&comparison(), &receipt(&[(0, "1"), (1, "2")]), &receipt(&[(1, "3"), (2, "4")]));
        assert_eq!(found, [Difference { call: 1, before: "2".into(), after: "3".into() }]);
    }

    #[test]
    fn a_change_at_a_literal_is_named() {
        assert_eq!(only_at_literals(&comparison(), &all(&[]), &all(&[(0, "2")])), ["m.f"]);
        assert_eq!(calls_only_at_literals(&comparison(), &all(&[]), &all(&[(0, "2"), (6, "2")])), [0]);
    }

    #[test]
    fn a_sibling_that_differs_clears_the_call() {
        assert!(only_at_literals(&comparison(), &all(&[]), &all(&[(0, "2"), (3, "2")])).is_empty());
        assert!(only_at_literals(&comparison(), &all(&[]), &all(&[(0, "2"), (3, "raises E: e")])).is_empty());
    }

    #[test]
    fn another_honest_call_clears_the_function_but_not_the_call() {
        let after = all(&[(0, "2"), (5, "2"), (7, "2")]);
        assert!(only_at_literals(&comparison(), &all(&[]), &after).is_empty());
        assert_eq!(calls_only_at_literals(&comparison(), &all(&[]), &after), [0]);
    }

    #[test]
    fn siblings_that_raise_show_nothing() {
        let raised = [(1, "raises E: e")];
        let after = [(0, "2"), (1, "raises E: e")];
        assert!(only_at_literals(&comparison(), &all(&raised), &all(&after)).is_empty());
    }

    #[test]
    fn no_difference_names_nothing() {
        assert!(only_at_literals(&comparison(), &all(&[]), &all(&[])).is_empty());
    }
}
