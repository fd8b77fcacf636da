//! The list of models that an endpoint has: how it is asked for and read, and which name is nearest to a wrong one.

use std::collections::BTreeSet;
use std::time::Duration;

use reqwest::{RequestBuilder, Url};
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
    let mut response = question(web, service).send().await.ok()?;
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
    read(&body)
}

/// Returns the question for the models of an endpoint.
pub(super) fn question(web: &reqwest::Client, service: &Service) -> RequestBuilder {
    let mut url = address(service, "models");
    match service.row.wire {
        // Without a size, these two send only the first few.
        Wire::Anthropic => drop(url.query_pairs_mut().append_pair("limit", "1000")),
        Wire::Gemini => drop(url.query_pairs_mut().append_pair("pageSize", "1000")),
        Wire::OpenAi | Wire::Script => {}
    }
    with_key(service, web.get(url))
}

/// Returns an address below that of an endpoint, whose query stays.
pub(super) fn address(service: &Service, name: &str) -> Url {
    let mut url = service.url.clone();
    url.set_path(&format!("{}{name}", service.url.path()));
    url
}

/// Adds the key in the way that the wire wants it.
pub(super) fn with_key(service: &Service, request: RequestBuilder) -> RequestBuilder {
    let Some(key) = service.key.as_ref().map(Secret::reveal) else { return request };
    match service.row.wire {
        Wire::Anthropic => request.header("x-api-key", key).header("anthropic-version", "2023-06-01"),
        Wire::Gemini => request.header("x-goog-api-key", key),
        Wire::OpenAi | Wire::Script => request.bearer_auth(key),
    }
}

/// Reads the names in a list of models, in any of the usual forms and in its order, each once; `None` if it is no list.
pub(super) fn read(body: &[u8]) -> Option<Vec<String>> {
    let answer: Value = serde_json::from_slice(body).ok()?;
    let list = ["data", "models"].iter().find_map(|key| answer.get(key)?.as_array()).or(answer.as_array())?;
    let name = |entry: &Value| {
        let name = ["id", "name", "model"].iter().find_map(|key| entry.get(key)?.as_str())?;
        Some(name.strip_prefix("models/").unwrap_or(name).to_owned())
    };
    let mut seen = BTreeSet::new();
    Some(list.iter().filter_map(name).filter(|name| seen.insert(name.clone())).collect())
}

/// Returns the names and how much they are like a wanted one, the nearest first.
pub(super) fn ranked<'a>(wanted: &str, names: &'a [String]) -> Vec<(f64, &'a str)> {
    let wanted = wanted.to_lowercase();
    let alike = |name: &'a String| (strsim::jaro_winkler(&wanted, &name.to_lowercase()), name.as_str());
    let mut ranked: Vec<(f64, &str)> = names.iter().map(alike).collect();
    ranked.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    ranked
}

fn sentence(wanted: &str, names: &[String]) -> String {
    if names.iter().any(|name| name == wanted) {
        return String::new();
    }
    match ranked(wanted, names).first() {
        Some((alike, name)) if *alike >= ALIKE => format!(" Did you mean `{name}`?"),
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
    use super::*;

    #[test]
    fn lists_of_every_form_are_read() {
        for (body, expected) in [
            (r#"{"object":"list","data":[{"id":"c"},{"id":"a/b"},{"id":"c"}]}"#, Some(&["c", "a/b"][..])),
            (r#"{"data":[{"type":"model","id":"a/b","display_name":"A"}],"has_more":false}"#, Some(&["a/b"])),
            (r#"{"models":[{"name":"models/a/b"},{"name":"models/c"},{}]}"#, Some(&["a/b", "c"])),
            (r#"[{"id":"a"}]"#, Some(&["a"])),
            (r#"{"data":[]}"#, Some(&[])),
            (r#"{"data":1}"#, None),
            (r#"{"error":"no"}"#, None),
            ("OK", None),
        ] {
            let expected = expected.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
            assert_eq!(read(body.as_bytes()), expected, "{body}");
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
