//! What a call asserts.

use checkmate_machine::facts::Strength;

use super::JavaScript;
use crate::inspect::outline::Outline;
use crate::inspect::tests::strength::{condition, equality, is_constant};
use crate::inspect::tests::{Scope, by_hand};

pub(super) fn assertion(javascript: &JavaScript, scope: &Scope<'_, '_>, at: usize) -> Option<Strength> {
    let outline = scope.outline;
    match outline.kind(at) {
        "call_expression" => call(javascript, scope, at),
        "throw_statement" => {
            let nearest = outline.above(at).into_iter().take(3).any(|up| outline.kind(up) == "if_statement");
            nearest.then(|| by_hand(outline, at, &["if_statement"]))
        }
        // `expect(x).to.be.true` asserts without a call.
        "expression_statement" => {
            let chain = outline.children(at).first().copied()?;
            if outline.kind(chain) != "member_expression" {
                return None;
            }
            let (root, words) = links(outline, chain);
            let subject = root.filter(|root| outline.kind(*root) == "call_expression")?;
            let function = outline.field_text(subject, "function");
            if function != "expect" || !words.iter().any(|word| matches!(*word, "to" | "be" | "not")) {
                return None;
            }
            let nothing = words.contains(&"exist") || is_constant(argument(outline, subject, 0));
            let exact =
                words.iter().any(|word| matches!(*word, "true" | "false" | "null" | "undefined" | "empty"));
            Some(if nothing {
                Strength::Trivial
            } else if exact && !words.contains(&"not") {
                Strength::Exact
            } else {
                Strength::Loose
            })
        }
        _ => None,
    }
}

/// Returns what a chain of members and calls starts with, and the names of its members, the last first.
fn links<'t>(outline: &Outline<'t>, at: usize) -> (Option<usize>, Vec<&'t str>) {
    let (mut words, mut next) = (Vec::new(), at);
    for _ in 0..12 {
        match outline.kind(next) {
            "member_expression" => {
                words.push(outline.field_text(next, "property"));
                let Some(object) = outline.field(next, "object") else { break };
                next = object;
            }
            "call_expression" => match outline.field(next, "function") {
                Some(function) if outline.kind(function) == "member_expression" => next = function,
                _ => break,
            },
            "await_expression" | "non_null_expression" | "parenthesized_expression" => {
                let Some(inner) = outline.children(next).first().copied() else { break };
                next = inner;
            }
            _ => break,
        }
    }
    (Some(next), words)
}

fn argument<'t>(outline: &Outline<'t>, call: usize, number: usize) -> &'t str {
    let arguments = outline.field(call, "arguments").map(|list| outline.children(list)).unwrap_or_default();
    arguments.get(number).map_or("", |argument| outline.head(*argument, 4000))
}

fn call(javascript: &JavaScript, scope: &Scope<'_, '_>, at: usize) -> Option<Strength> {
    let outline = scope.outline;
    let function = outline.field(at, "function")?;
    // A call in the middle of a chain is judged with its end.
    let inner = outline.parent(at).is_some_and(|up| {
        outline.kind(up) == "member_expression"
            && matches!(outline.parent(up).map(|up| outline.kind(up)), Some("call_expression"))
    });
    if outline.kind(function) == "identifier" {
        let name = outline.text(function);
        if name == "expect" || scope.helpers.contains_key(name) {
            return None;
        }
        return match javascript.asserting.get(name) {
            Some(original) if original.is_empty() => Some(condition(scope, argument(outline, at, 0))),
            Some(original) => named(scope, at, original),
            None if name == "assert" => Some(condition(scope, argument(outline, at, 0))),
            None if name.starts_with("assert") || name.starts_with("expect") => Some(Strength::Loose),
            None => None,
        };
    }
    let (root, words) = links(outline, function);
    let root = root?;
    let last = words.first().copied()?;
    if outline.kind(root) == "call_expression" && outline.field_text(root, "function") == "expect" {
        return (!inner || last.starts_with("to")).then(|| expected(scope, at, root, &words));
    }
    let owner = outline.head(root, 60);
    let asserts = owner == "assert"
        || javascript.asserting.contains_key(owner)
        || words.get(1) == Some(&"assert")
            && matches!(owner, "t" | "ctx" | "chai" | "QUnit" | "test" | "context");
    if asserts {
        return if owner != "expect" { named(scope, at, last) } else { None };
    }
    if words.contains(&"should") && !inner {
        return Some(if words.iter().any(|word| matches!(*word, "equal" | "eql" | "equals" | "eq" | "be")) {
            Strength::Exact
        } else {
            Strength::Loose
        });
    }
    if owner == "console" && last == "assert" {
        return Some(Strength::Trivial);
    }
    if matches!(owner, "t" | "tap" | "assertions") && words.len() == 1 {
        return named(scope, at, last);
    }
    // `request(app).get("/").expect(200)`
    (last == "expect" && !matches!(owner, "expect" | "page")).then_some(Strength::Exact)
}

/// Returns the strength of `assert.NAME(…)`.
fn named(scope: &Scope<'_, '_>, at: usize, name: &str) -> Option<Strength> {
    let outline = scope.outline;
    let (first, second) = (argument(outline, at, 0), argument(outline, at, 1));
    Some(match name {
        "equal"
        | "strictEqual"
        | "deepEqual"
        | "deepStrictEqual"
        | "is"
        | "same"
        | "strictSame"
        | "eq"
        | "eql"
        | "partialDeepStrictEqual"
        | "deepLooseEqual"
        | "propEqual"
        | "looseEqual" => equality(scope, first, second),
        "notEqual" | "notStrictEqual" | "notDeepEqual" | "notDeepStrictEqual" | "not" | "notSame" => {
            let nothing = matches!(second, "null" | "undefined");
            if nothing { Strength::Trivial } else { equality(scope, first, second).min(Strength::Loose) }
        }
        "ok" | "true" | "truthy" | "assert" | "isTrue" | "isOk" => condition(scope, first),
        "false" | "falsy" | "notOk" | "isFalse" => condition(scope, first).min(Strength::Loose),
        "exists" | "isDefined" | "isNotNull" | "isObject" | "isString" | "isNumber" | "isArray"
        | "isFunction" | "instanceOf" | "typeOf" | "pass" | "assertions" | "plan" => {
            return (name != "plan" && name != "pass").then_some(Strength::Trivial);
        }
        "isNull" | "isUndefined" | "lengthOf" | "deepInclude" | "snapshot" | "sameMembers"
        | "fileSnapshot" => Strength::Exact,
        "fail" => by_hand(outline, at, &["if_statement"]),
        "throws" | "rejects" | "match" | "doesNotThrow" | "doesNotReject" | "doesNotMatch" | "ifError"
        | "include" | "includes" | "like" | "regex" | "error" | "isAbove" | "isBelow" | "closeTo"
        | "throwsAsync" | "notThrows" => Strength::Loose,
        name if name.starts_with("is") || name.starts_with("not") || name.contains("qual") => Strength::Loose,
        _ => return None,
    })
}

/// Returns the strength of `expect(root)….words(…)`; the words come last first.
fn expected(scope: &Scope<'_, '_>, at: usize, root: usize, words: &[&str]) -> Strength {
    let outline = scope.outline;
    let (subject, value) = (argument(outline, root, 0), argument(outline, at, 0));
    let negated = words.contains(&"not");
    let strength = match words.first().copied().unwrap_or_default() {
        "toBe" | "toEqual" | "toStrictEqual" | "equal" | "eql" | "equals" | "eq" | "toBeCloseTo"
        | "members" => {
            if negated && matches!(value, "null" | "undefined") {
                return Strength::Trivial;
            }
            equality(scope, subject, value)
        }
        "toBeNull" | "toBeUndefined" | "toBeNaN" if negated => Strength::Trivial,
        "toBeTruthy" | "toBeFalsy" => condition(scope, subject).min(Strength::Loose),
        "toBeTrue" | "toBeFalse" => condition(scope, subject),
        "toBeDefined" | "toBeInstanceOf" | "exist" | "instanceof" | "instanceOf" | "a" | "an"
        | "toBeTypeOf" => Strength::Trivial,
        "toBeNull"
        | "toBeUndefined"
        | "toHaveLength"
        | "toMatchObject"
        | "toMatchSnapshot"
        | "toMatchInlineSnapshot"
        | "toHaveBeenCalledWith"
        | "toHaveBeenLastCalledWith"
        | "toHaveBeenNthCalledWith"
        | "toHaveBeenCalledTimes"
        | "toHaveProperty"
        | "lengthOf"
        | "property"
        | "calledWith"
        | "toBeNaN"
        | "toHaveText"
        | "toHaveCount" => Strength::Exact,
        _ => Strength::Loose,
    };
    if negated || is_constant(subject) && strength == Strength::Loose {
        strength.min(Strength::Loose)
    } else {
        strength
    }
}
