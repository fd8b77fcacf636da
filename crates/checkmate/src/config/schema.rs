//! The JSON Schema of `.dualagent.json`, made from the types that read it.

use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::file::File;
use super::syntax;

/// Every key that has a default, with it.
pub(super) static DEFAULTS: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    let text = include_str!("../../config/defaults.jsonc");
    syntax::parse(text)
        .ok()
        .and_then(|document| document.to_json().as_object().cloned())
        .expect("defaults.jsonc is an object, which a test checks")
});

/// The schema; made once, because every check of a value reads it.
pub(super) static SCHEMA: LazyLock<Value> = LazyLock::new(generate);

/// Returns the JSON Schema (draft 2020-12) of `.dualagent.json`, formatted as it is published.
pub fn schema() -> String {
    let text = serde_json::to_string_pretty(&*SCHEMA).expect("a JSON value can always be written");
    text + "\n"
}

fn generate() -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut generated = generator.into_root_schema_for::<File>().to_value();
    tidy(&mut generated);
    // What the file is comes first, for people who read it.
    let mut schema = json!({});
    for key in ["$schema", "title", "description"] {
        schema[key] = generated[key].take();
    }
    if let (Some(schema), Value::Object(generated)) = (schema.as_object_mut(), generated) {
        schema.extend(generated.into_iter().filter(|(_, value)| !value.is_null()));
    }
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|key| key.as_str().is_none_or(|key| !DEFAULTS.contains_key(key)));
    }
    for (key, default) in &*DEFAULTS {
        if let Some(Value::Object(property)) = schema["properties"].get_mut(key) {
            property.insert("default".into(), default.clone());
        }
    }
    schema
}

/// Removes what is true of the Rust types but not of the file: nulls and the width of integers. Unknown keys are
/// closed, so that an editor marks what the loader warns of.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            object.shift_remove("format");
            if object.get("default").is_some_and(|default| default.is_null() || default.is_object()) {
                object.shift_remove("default");
            }
            if let Some(Value::String(text)) = object.get_mut("description") {
                *text = text.replace('\n', " ");
            }
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|name| name != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    object.insert("type".into(), only);
                }
            }
            if let Some(Value::Array(choices)) = object.get_mut("anyOf") {
                choices.retain(|choice| choice.get("type").is_none_or(|name| name != "null"));
                if let [Value::Object(only)] = choices.as_mut_slice() {
                    let only = std::mem::take(only);
                    object.shift_remove("anyOf");
                    object.extend(only);
                }
            }
            if object.get("properties").is_some_and(Value::is_object) {
                object.insert("additionalProperties".into(), false.into());
            }
            object.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
