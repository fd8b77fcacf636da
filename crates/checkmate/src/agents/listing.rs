//! Asks an endpoint which models it has, to name the nearest one where a name is wrong.

use std::time::Duration;

use reqwest::RequestBuilder;
use serde_json::Value;

use super::service::{Secret, Service};
use super::table::Wire;

/// How long the question may take; it is only a help.
const LIMIT: Duration = Duration::from_secs(5);
/// The most bytes of a list that are read.
const LARGEST: usize = 4 << 20;
/// How alike two names have to be for one to be meant by the other.
const ALIKE: f64 = 0.8;
/// So many names are shown where none is alike.
const SHOWN: usize = 5;

/// Returns a sentence about the models that the endpoint has; empty if it does not say.
pub(super) async fn hint(web: &reqwest::Client, service: &Service) -> String {
    let names = tokio::time::timeout(LIMIT, names(web, service)).await.ok().flatten().unwrap_or_default();
    sentence(&service.model, &names)
}

async fn names(web: &reqwest::Client, service: &Service) -> Option<Vec<String>> {
    let mut response = question(web, service)?.send().await.ok()?;
    if !response.status().is_success() {
        return None;
    }
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.ok()? {
        body.extend_from_slice(&piece);
        if body.len() > LARGEST {
            return None;
        }
    }
    Some(read(&serde_json::from_slice(&body).ok()?))
}

fn question(web: &reqwest::Client, service: &Service) -> Option<RequestBuilder> {
    let mut url = service.url.join("models").ok()?;
    match service.row.wire {
        // Without a size, these two send only the first few.
        Wire::Anthropic => url.set_query(Some("limit=1000")),
        Wire::Gemini => url.set_query(Some("pageSize=1000")),
        Wire::OpenAi | Wire::Script => url.set_query(service.url.query()),
    }
    let request = web.get(url);
    let Some(key) = service.key.as_ref().map(Secret::reveal) else { return Some(request) };
    Some(match service.row.wire {
        Wire::Anthropic => request.header("x-api-key", key).header("anthropic-version", "2023-06-01"),
        Wire::Gemini => request.header("x-goog-api-key", key),
        Wire::OpenAi | Wire::Script => request.bearer_auth(key),
    })
}

/// Reads the names out of a list in OpenAI's, Anthropic's or Google's form.
fn read(list: &Value) -> Vec<String> {
    let entries = list["data"].as_array().or_else(|| list["models"].as_array());
    let names = entries.into_iter().flatten().filter_map(|entry| {
        let name = entry["id"].as_str().or_else(|| entry["name"].as_str())?;
        Some(name.strip_prefix("models/").unwrap_or(name).to_owned())
    });
    names.collect()
}

fn sentence(wanted: &str, names: &[String]) -> String {
    if names.iter().any(|name| name == wanted) {
        return String::new();
    }
    let alike = |name: &String| strsim::jaro_winkler(&name.to_lowercase(), &wanted.to_lowercase());
    let nearest = names.iter().max_by(|a, b| alike(a).total_cmp(&alike(b)));
    match nearest {
        Some(name) if alike(name) >= ALIKE => format!(" Did you mean `{name}`?"),
        Some(_) => {
            let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
            let more = if names.len() > SHOWN { " and others" } else { "" };
            format!(" It has {}{more}.", shown.join(", "))
        }
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_of_every_form_are_read() {
        for list in [
            json!({"object": "list", "data": [{"id": "a/b"}, {"id": "c"}]}),
            json!({"data": [{"type": "model", "id": "a/b", "display_name": "A"}, {"id": "c"}], "has_more": false}),
            json!({"models": [{"name": "models/a/b"}, {"name": "models/c"}, {}]}),
        ] {
            assert_eq!(read(&list), ["a/b", "c"]);
        }
        for none in [json!(null), json!({"data": 1}), json!([1])] {
            assert!(read(&none).is_empty());
        }
    }

    #[test]
    fn the_nearest_name_is_named() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        for (wanted, known, said) in [
            ("gpt-5.l", names(&["o3", "gpt-5.1", "gpt-4"]), " Did you mean `gpt-5.1`?"),
            ("GPT-5.1", names(&["gpt-5.1"]), " Did you mean `gpt-5.1`?"),
            ("llama", names(&["qwen3:8b"]), " It has `qwen3:8b`."),
            ("zzz", names(&["a", "b", "c", "d", "e", "f"]), " It has `a`, `b`, `c`, `d`, `e` and others."),
            ("same", names(&["same"]), ""),
            ("any", names(&[]), ""),
        ] {
            assert_eq!(sentence(wanted, &known), said);
        }
    }
}
