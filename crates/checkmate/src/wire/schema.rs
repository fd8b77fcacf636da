//! The JSON Schemas of the protocol, made from the types that speak it.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};

use super::{Envelope, Frame};

/// Returns the published schemas: a file's name and its text.
pub fn schema() -> [(&'static str, String); 2] {
    let settings = SchemaSettings::draft2020_12;
    [
        ("messages.schema.json", written::<Envelope>(settings().for_deserialize().into_generator())),
        ("frames.schema.json", written::<Frame>(settings().for_serialize().into_generator())),
    ]
}

fn written<T: JsonSchema>(generator: SchemaGenerator) -> String {
    let schema = generator.into_root_schema_for::<T>();
    serde_json::to_string_pretty(&schema).expect("a JSON value can always be written") + "\n"
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_published_schemas_are_those_of_the_types() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
        for (name, text) in schema() {
            let path = folder.join(name);
            if std::env::var_os("CHECKMATE_WRITE_SCHEMA").is_some() {
                std::fs::write(&path, &text).unwrap();
            }
            let published = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(
                published == text,
                "{name} is stale; CHECKMATE_WRITE_SCHEMA=1 cargo nextest run -p checkmate schema"
            );
        }
    }
}
