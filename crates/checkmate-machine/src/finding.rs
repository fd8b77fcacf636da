//! Findings: what the checker raised, followed across reviews.
//!
//! A finding blocks only while it stands. Its identity survives a model that renames it.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::excerpt;
use crate::reply::{Category, FindingAnswer, Issue, Severity};
use crate::spec::Strictness;

/// Characters of a finding's name.
const NAME: usize = 80;

/// A finding and its history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Its name in this run; the checker's own where it gave one.
    pub id: String,
    /// The checker's latest wording.
    pub issue: Issue,
    /// Where it stands.
    pub status: Status,
    /// The numbers of the reviews that raised it, from 1.
    pub reviews: Vec<u32>,
    /// The turns in which it was raised.
    pub turns: Vec<u32>,
    /// What the maker said to it.
    pub answers: Vec<FindingAnswer>,
    /// Whether an arbiter's test was asked for already.
    pub arbitrated: bool,
}

/// Where a finding stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Status {
    /// Raised in the latest review.
    Open,
    /// Not raised again by the latest review.
    Gone,
    /// A test that states it is red on the candidate.
    Confirmed {
        /// The test's files.
        tests: Vec<String>,
    },
    /// A test that states it is green on the candidate.
    Refuted {
        /// The test's files.
        tests: Vec<String>,
    },
    /// A person settled it.
    Settled {
        /// Why.
        why: String,
    },
}

/// What a standing finding does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// It blocks until it is dealt with.
    Blocks,
    /// It says not how to reproduce it: it stands while the checker repeats it, but no test can settle it.
    Objection,
    /// It is a suggestion.
    Suggestion,
}

impl Finding {
    /// Weighs a finding under a strictness.
    pub fn weight(&self, strictness: Strictness) -> Weight {
        match &self.status {
            Status::Refuted { .. } | Status::Settled { .. } | Status::Gone => return Weight::Suggestion,
            Status::Confirmed { .. } => return Weight::Blocks,
            Status::Open => {}
        }
        if !level_blocks(&self.issue, strictness) {
            return Weight::Suggestion;
        }
        if self.issue.how_to_verify.as_deref().is_some_and(|how| !how.trim().is_empty()) {
            return Weight::Blocks;
        }
        Weight::Objection
    }

    /// Tells whether it was raised in this review and in the one before.
    pub fn is_stuck(&self, review: u32) -> bool {
        review > 1 && self.reviews.contains(&review) && self.reviews.contains(&(review - 1))
    }
}

/// Tells whether a finding of this severity and kind may block at all.
///
/// `lenient`: critical bugs, security, broken tests. `balanced`: bugs, tests, style. `strict`: everything.
fn level_blocks(issue: &Issue, strictness: Strictness) -> bool {
    let category = issue.category.or_else(|| guess_category(&issue.description));
    match strictness {
        Strictness::Strict => true,
        Strictness::Balanced => match (issue.severity, category) {
            (Severity::Critical, _) => true,
            (Severity::Major, Some(Category::EdgeCase | Category::Performance | Category::Architecture)) => {
                false
            }
            (
                Severity::Major,
                None | Some(Category::Bug | Category::Security | Category::Tests | Category::Style),
            ) => true,
            (Severity::Minor, _) => false,
        },
        Strictness::Lenient => match (issue.severity, category) {
            (Severity::Minor, _) => false,
            (_, Some(Category::Security)) => true,
            (
                Severity::Critical,
                Some(Category::Style | Category::Performance | Category::Architecture | Category::EdgeCase),
            ) => false,
            (Severity::Critical, None | Some(Category::Bug | Category::Tests)) => true,
            (Severity::Major, Some(Category::Tests)) => issue.how_to_verify.is_some(),
            (
                Severity::Major,
                None
                | Some(
                    Category::Bug
                    | Category::Style
                    | Category::EdgeCase
                    | Category::Performance
                    | Category::Architecture,
                ),
            ) => false,
        },
    }
}

/// Recognises a security finding whose checker named no category: missing one would let it pass as a matter of taste.
fn guess_category(description: &str) -> Option<Category> {
    const SECURITY: [&str; 14] = [
        "injection",
        "traversal",
        "xss",
        "cross-site",
        "deserialis",
        "deserializ",
        "hard-coded secret",
        "hardcoded secret",
        "credential",
        "vulnerab",
        "privilege",
        "arbitrary code",
        "remote code",
        "path escape",
    ];
    let text = description.to_lowercase();
    SECURITY.iter().any(|word| text.contains(word)).then_some(Category::Security)
}

/// All findings of a cycle.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Findings {
    all: Vec<Finding>,
    reviews: u32,
}

impl Findings {
    /// Takes over a review: known findings are recognised, new ones get an id, absent ones are gone.
    ///
    /// A refuted finding that comes back unchanged stays refuted; one that comes back with another claim is new. Returns
    /// the finding's id of each issue.
    pub fn review(&mut self, issues: &[Issue], turn: u32) -> Vec<String> {
        self.reviews += 1;
        let mut seen = BTreeSet::new();
        let mut ids = Vec::new();
        for issue in issues {
            let at = match self.recognise(issue, &seen) {
                Some(at) => at,
                None => self.add(issue),
            };
            seen.insert(at);
            let finding = &mut self.all[at];
            ids.push(finding.id.clone());
            if finding.turns.last() != Some(&turn) {
                finding.turns.push(turn);
            }
            finding.reviews.push(self.reviews);
            match finding.status {
                Status::Gone | Status::Open => {
                    finding.status = Status::Open;
                    finding.issue = issue.clone();
                }
                Status::Refuted { .. } | Status::Settled { .. } | Status::Confirmed { .. } => {}
            }
        }
        for (at, finding) in self.all.iter_mut().enumerate() {
            if !seen.contains(&at) && finding.status == Status::Open {
                finding.status = Status::Gone;
            }
        }
        ids
    }

    /// Returns every finding, oldest first.
    pub fn all(&self) -> &[Finding] {
        &self.all
    }

    /// Returns how many reviews there were.
    pub fn reviews(&self) -> u32 {
        self.reviews
    }

    /// Returns the findings that keep a candidate from approval.
    pub fn standing(&self, strictness: Strictness) -> Vec<&Finding> {
        self.all
            .iter()
            .filter(|finding| match finding.weight(strictness) {
                Weight::Blocks | Weight::Objection => true,
                Weight::Suggestion => false,
            })
            .collect()
    }

    /// Returns the finding that an arbiter should settle now: one that blocks, was raised in two consecutive reviews,
    /// can be verified, and was not arbitrated before.
    pub fn to_arbitrate(&self, strictness: Strictness) -> Option<&Finding> {
        self.all.iter().find(|finding| {
            finding.status == Status::Open
                && finding.weight(strictness) == Weight::Blocks
                && finding.is_stuck(self.reviews)
                && !finding.arbitrated
        })
    }

    /// Returns a finding for change.
    pub fn get_mut(&mut self, id: &str) -> Option<&mut Finding> {
        self.all.iter_mut().find(|finding| finding.id == id)
    }

    /// Returns a finding.
    pub fn get(&self, id: &str) -> Option<&Finding> {
        self.all.iter().find(|finding| finding.id == id)
    }

    /// Tells whether a person can settle a finding: it stands, and no test confirms it.
    pub fn can_settle(&self, id: &str) -> bool {
        self.get(id).is_some_and(|finding| finding.status == Status::Open)
    }

    /// Settles a finding by a person's word.
    pub fn settle(&mut self, id: &str, why: &str) {
        if self.can_settle(id)
            && let Some(finding) = self.get_mut(id)
        {
            finding.status = Status::Settled { why: why.to_owned() };
        }
    }

    /// Marks confirmed findings as gone once the tests that confirmed them are green.
    pub fn settle_confirmed(&mut self) {
        for finding in &mut self.all {
            if matches!(finding.status, Status::Confirmed { .. }) {
                finding.status = Status::Gone;
            }
        }
    }

    fn recognise(&self, issue: &Issue, seen: &BTreeSet<usize>) -> Option<usize> {
        let free = |at: &usize| !seen.contains(at);
        let by_id = name(issue)
            .and_then(|id| self.all.iter().position(|finding| finding.id == id))
            .filter(free)
            .filter(|at| match self.all[*at].status {
                // The same name for another claim must not hide behind what was settled.
                Status::Refuted { .. } | Status::Settled { .. } => same_claim(&self.all[*at].issue, issue),
                Status::Open | Status::Gone | Status::Confirmed { .. } => true,
            });
        by_id.or_else(|| (0..self.all.len()).filter(free).find(|at| same_claim(&self.all[*at].issue, issue)))
    }

    fn add(&mut self, issue: &Issue) -> usize {
        let wish = name(issue).unwrap_or_else(|| format!("issue-{}", self.all.len() + 1));
        let id = (1..)
            .map(|n| if n == 1 { wish.clone() } else { format!("{wish}-{n}") })
            .find(|id| self.get(id).is_none())
            .unwrap_or(wish);
        self.all.push(Finding {
            id,
            issue: issue.clone(),
            status: Status::Open,
            reviews: Vec::new(),
            turns: Vec::new(),
            answers: Vec::new(),
            arbitrated: false,
        });
        self.all.len() - 1
    }
}

/// Returns the checker's name for an issue in a form that can stand in a line of a prompt.
fn name(issue: &Issue) -> Option<String> {
    let name = excerpt::line(issue.issue_id.as_deref()?, NAME);
    (!name.is_empty()).then_some(name)
}

/// Tells whether two wordings make the same claim: mostly the same words, or some of them and the same way to verify.
fn same_claim(one: &Issue, other: &Issue) -> bool {
    let (a, b) = (words(&one.description), words(&other.description));
    if a.is_empty() || b.is_empty() {
        return one.description.trim() == other.description.trim();
    }
    let how = |issue: &Issue| issue.how_to_verify.as_deref().map(words).filter(|words| words.len() > 2);
    let same_way = how(one).is_some() && how(one) == how(other);
    let (common, all) = (a.intersection(&b).count(), a.union(&b).count());
    // Three of five words: with less, "missing test for A" would equal "missing test for B".
    common * 5 >= all * 3 || (same_way && common * 5 >= all * 2)
}

/// Returns the words of a text that carry meaning, in lower case.
fn words(text: &str) -> BTreeSet<String> {
    const FILLERS: [&str; 20] = [
        "the", "a", "an", "is", "are", "be", "to", "of", "for", "in", "on", "and", "or", "it", "this",
        "that", "with", "when", "should", "still",
    ];
    text.to_lowercase()
        .split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-')
        .filter(|word| !word.is_empty() && !FILLERS.contains(word))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issue(id: Option<&str>, severity: Severity, description: &str) -> Issue {
        Issue {
            severity,
            description: description.into(),
            how_to_verify: Some(format!("run it with {description}")),
            issue_id: id.map(Into::into),
            uncertainty: None,
            category: None,
        }
    }

    fn arbitrated(reviews: &[&[Issue]]) -> Option<String> {
        let mut findings = Findings::default();
        for (turn, review) in (1..).zip(reviews) {
            findings.review(review, turn);
        }
        findings.to_arbitrate(Strictness::Balanced).map(|finding| finding.id.clone())
    }

    #[test]
    fn only_consecutive_reviews_make_an_issue_stuck() {
        let x = issue(Some("x"), Severity::Major, "null crashes the validator");
        let y = issue(Some("y"), Severity::Major, "an empty list is sorted twice");
        assert_eq!(arbitrated(&[std::slice::from_ref(&x), std::slice::from_ref(&x)]).as_deref(), Some("x"));
        assert_eq!(arbitrated(&[std::slice::from_ref(&x), &[y], std::slice::from_ref(&x)]), None);
    }

    #[test]
    fn a_renamed_issue_is_recognised() {
        let x =
            issue(Some("null-check"), Severity::Major, "validate(null) crashes instead of throwing an error");
        let renamed =
            issue(Some("n2"), Severity::Major, "validate(null) still crashes instead of throwing the error");
        assert_eq!(arbitrated(&[&[x], &[renamed]]).as_deref(), Some("null-check"));
    }

    #[test]
    fn two_issues_with_the_same_words_in_one_review_stay_two() {
        let mut findings = Findings::default();
        let x = issue(None, Severity::Major, "missing test for zero");
        findings.review(&[x.clone(), x], 1);
        assert_eq!(findings.all().iter().map(|f| f.id.as_str()).collect::<Vec<_>>(), ["issue-1", "issue-2"]);
    }

    #[test]
    fn a_refuted_finding_cannot_come_back_unchanged() {
        let mut findings = Findings::default();
        let x = issue(Some("x"), Severity::Critical, "null crashes the validator");
        findings.review(std::slice::from_ref(&x), 1);
        findings.get_mut("x").unwrap().status = Status::Refuted { tests: vec![] };
        findings.review(std::slice::from_ref(&x), 2);
        assert!(findings.standing(Strictness::Strict).is_empty());
        let other = issue(Some("x"), Severity::Critical, "negative numbers give a wrong sum of squares");
        findings.review(&[other], 3);
        assert_eq!(findings.standing(Strictness::Strict)[0].id, "x-2");
    }

    #[test]
    fn strictness_decides_what_blocks() {
        let weigh = |severity, category, how: bool, strictness| {
            let mut issue = issue(None, severity, "something");
            issue.category = category;
            if !how {
                issue.how_to_verify = None;
            }
            let mut findings = Findings::default();
            findings.review(&[issue], 1);
            findings.all()[0].weight(strictness)
        };
        use Category::{Performance, Security, Style};
        use Severity::{Critical, Major, Minor};
        use Strictness::{Balanced, Lenient, Strict};
        use Weight::{Blocks, Objection, Suggestion};
        for (severity, category, how, strictness, expected) in [
            (Major, Some(Style), true, Lenient, Suggestion),
            (Major, Some(Style), true, Balanced, Blocks),
            (Major, Some(Style), true, Strict, Blocks),
            (Minor, None, true, Balanced, Suggestion),
            (Minor, None, true, Strict, Blocks),
            (Major, Some(Performance), true, Balanced, Suggestion),
            (Major, Some(Performance), true, Strict, Blocks),
            (Critical, None, true, Lenient, Blocks),
            (Major, None, true, Lenient, Suggestion),
            (Major, Some(Security), true, Lenient, Blocks),
            (Critical, None, false, Balanced, Objection),
        ] {
            assert_eq!(
                weigh(severity, category, how, strictness),
                expected,
                "{severity:?} {category:?} {strictness:?}"
            );
        }
    }
}
