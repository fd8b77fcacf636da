//! The reply formats as JSON Schemas, for providers that hold a model to one.
//!
//! Strict modes want every property required and no others; what is optional is nullable instead.

use serde_json::{Map, Value, json};

use super::Shape;
use super::read::{ANSWERS, BLOCK_REASONS, CATEGORIES, DECISIONS, Names, SEVERITIES, VERDICTS};

/// Returns the JSON Schema of a reply, or `None` for plain text.
pub fn schema(shape: Shape) -> Option<Value> {
    match shape {
        Shape::Builder => Some(builder()),
        Shape::Review => Some(review()),
        Shape::Decision => {
            Some(object(false, [("decision", one_of(&DECISIONS, false)), ("reasoning", text())]))
        }
        Shape::Confirmation => {
            Some(object(false, [("states_claim", json!({"type": "boolean"})), ("reason", text())]))
        }
        Shape::Probes => {
            let names = ["id", "criterion", "path", "run", "content"];
            let probe = object(false, names.map(|name| (name, text())));
            Some(object(false, [("probes", json!({"type": "array", "items": probe}))]))
        }
        Shape::Text => None,
    }
}

fn builder() -> Value {
    let answer = object(false, [("to", text()), ("answer", one_of(&ANSWERS, false)), ("text", text())]);
    let conflict = object(true, [("reason", text()), ("evidence", text())]);
    object(
        false,
        [
            ("files_needed", nullable(texts())),
            ("plan", texts()),
            ("patch", text()),
            ("tests", texts()),
            ("run", texts()),
            ("risks", texts()),
            ("answers", json!({"type": ["array", "null"], "items": answer})),
            ("conflict", conflict),
        ],
    )
}

fn review() -> Value {
    let issue = object(
        false,
        [
            ("severity", one_of(&SEVERITIES, false)),
            ("description", text()),
            ("how_to_verify", nullable(text())),
            ("issue_id", nullable(text())),
            ("uncertainty", nullable(text())),
            ("category", one_of(&CATEGORIES, true)),
        ],
    );
    object(
        false,
        [
            ("verdict", one_of(&VERDICTS, false)),
            ("issues", json!({"type": "array", "items": issue})),
            ("suggested_patch", nullable(text())),
            ("extra_tests", nullable(texts())),
            ("stopping", text()),
            ("block_reason", one_of(&BLOCK_REASONS, true)),
            ("diagnostics_needed", nullable(texts())),
        ],
    )
}

fn text() -> Value {
    json!({"type": "string"})
}

fn texts() -> Value {
    json!({"type": "array", "items": {"type": "string"}})
}

fn nullable(mut schema: Value) -> Value {
    let kind = schema["type"].take();
    schema["type"] = json!([kind, "null"]);
    schema
}

fn one_of<T>(names: &Names<'_, T>, or_null: bool) -> Value {
    let mut values: Vec<Value> = names.iter().map(|(name, _)| json!(name)).collect();
    if or_null {
        values.push(Value::Null);
        return json!({"type": ["string", "null"], "enum": values});
    }
    json!({"type": "string", "enum": values})
}

fn object<const N: usize>(or_null: bool, properties: [(&str, Value); N]) -> Value {
    let required: Vec<&str> = properties.iter().map(|(name, _)| *name).collect();
    let kind = if or_null { json!(["object", "null"]) } else { json!("object") };
    let mut schema = json!({"type": kind, "additionalProperties": false, "required": required});
    schema["properties"] = Value::Object(
        properties.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>(),
    );
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the rules of strict mode all the way down.
    fn check(schema: &Value) {
        if let Some(properties) = schema.get("properties") {
            let names: Vec<&String> = properties.as_object().unwrap().keys().collect();
            let required: Vec<&str> =
                schema["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            assert_eq!(names, required, "{schema}");
            assert_eq!(schema["additionalProperties"], json!(false), "{schema}");
            properties.as_object().unwrap().values().for_each(check);
        }
        if let Some(items) = schema.get("items") {
            check(items);
        }
        assert!(schema.get("type").is_some(), "{schema}");
    }

    #[test]
    fn schemas_are_strict() {
        for shape in [Shape::Builder, Shape::Review, Shape::Decision, Shape::Confirmation] {
            check(&schema(shape).unwrap());
        }
        assert_eq!(schema(Shape::Text), None);
    }

    #[test]
    fn names_are_those_of_the_types() {
        let names =
            schema(Shape::Review).unwrap()["properties"]["issues"]["items"]["properties"]["category"].clone();
        assert_eq!(
            names,
            json!({"type": ["string", "null"],
                   "enum": ["bug", "security", "tests", "style", "edge_case", "performance", "architecture", null]})
        );
        for (name, verdict) in VERDICTS {
            assert_eq!(serde_json::to_value(verdict).unwrap(), json!(name));
        }
        for (name, answer) in ANSWERS {
            assert_eq!(serde_json::to_value(answer).unwrap(), json!(name));
        }
        for (name, reason) in BLOCK_REASONS {
            assert_eq!(serde_json::to_value(reason).unwrap(), json!(name));
        }
        for (name, decision) in DECISIONS {
            assert_eq!(serde_json::to_value(decision).unwrap(), json!(name));
        }
        for (name, severity) in SEVERITIES {
            assert_eq!(serde_json::to_value(severity).unwrap(), json!(name));
        }
        for (name, category) in CATEGORIES {
            assert_eq!(serde_json::to_value(category).unwrap(), json!(name));
        }
    }
}
