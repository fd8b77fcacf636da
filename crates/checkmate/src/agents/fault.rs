//! Says in a sentence why a provider gave no reply, and whether asking again may help.

use std::error::Error;
use std::io;
use std::time::Duration;

use checkmate_machine::event::FailureKind;
use genai::webc::StreamTimeout;
use jiff::Timestamp;
use reqwest::header::{CONTENT_TYPE, HeaderMap, LOCATION, RETRY_AFTER};
use serde_json::Value;

use super::request::Part;
use super::retry::{Fault, Retry};
use super::service::Service;

/// The most that is quoted of a provider's own words, in characters.
const QUOTE: usize = 300;

/// An answer with a status that is not success.
pub(super) struct Response<'a> {
    /// The HTTP status.
    pub(super) status: u16,
    /// The headers.
    pub(super) headers: &'a HeaderMap,
    /// The body, as text.
    pub(super) body: &'a str,
}

/// Returns the provider's answer in an error of genai, if the provider answered.
pub(super) fn response(error: &genai::Error) -> Option<Response<'_>> {
    if let genai::Error::WebStream { error, .. } = error {
        return response(error.downcast_ref()?);
    }
    let genai::Error::HttpError { status, body, headers, .. } = error else { return None };
    Some(Response { status: status.as_u16(), headers, body })
}

/// Judges an error of genai.
pub(super) fn classify(service: &Service, error: &genai::Error) -> Fault {
    if let Some(response) = response(error) {
        return answered(service, &response);
    }
    if let genai::Error::WebStream { error, .. } = error {
        return broken_off(service, error.as_ref());
    }
    if let genai::Error::ChatResponse { body, .. } = error {
        return reported(service, body);
    }
    let builds_request = matches!(
        error,
        genai::Error::WebModelCall { .. } | genai::Error::Resolver { .. } | genai::Error::Internal(_)
    );
    let cause = quote(service, &error.to_string());
    if builds_request {
        let message = format!(
            "No request to {} could be made: {cause}. Check the provider's settings in the configuration.",
            name(service)
        );
        return Fault::lasting(FailureKind::Account, message);
    }
    malformed(service, &cause)
}

/// The stream contained something that the protocol does not allow.
pub(super) fn malformed(service: &Service, cause: &str) -> Fault {
    Fault::passing(format!(
        "The reply of {} was garbled on the way ({}). Try again; if it stays, check what stands between this machine \
         and {}.",
        name(service),
        quote(service, cause),
        service.shown_url()
    ))
}

/// The stream ended without the mark that says it is whole.
pub(super) fn cut_short(service: &Service) -> Fault {
    Fault::passing(format!(
        "The reply of {} ended before it was complete. Try again; if it stays, check that {} speaks the protocol of \
         the provider `{}`.",
        name(service),
        service.shown_url(),
        service.row.name
    ))
}

/// The reply has no end in sight.
pub(super) fn too_large(service: &Service, limit: usize) -> Fault {
    let message = format!(
        "{} sent more than {limit} bytes of text, which no reply needs. Check what answers at {}.",
        capitalised(name(service)),
        service.shown_url()
    );
    Fault::lasting(FailureKind::Provider, message)
}

/// A web page came where a reply was expected.
pub(super) fn web_page(service: &Service) -> Fault {
    let message = format!(
        "{} answers with a web page instead of a model's reply. Check `base_url`, and whether a login page or a proxy \
         of this network stands in between.",
        service.shown_url()
    );
    Fault::lasting(FailureKind::Account, message)
}

/// The model, or a filter around it, declined.
pub(super) fn refusal(service: &Service, words: &str) -> Fault {
    let said = if words.trim().is_empty() { String::new() } else { format!(": {}", quote(service, words)) };
    let message = format!(
        "The model `{}` declined to answer{said}. Word the goal differently or choose another model.",
        service.model
    );
    Fault::lasting(FailureKind::Refusal, message)
}

/// The model used its output limit up before it wrote anything that counts.
pub(super) fn all_thought(service: &Service, limit: Option<u32>) -> Fault {
    let limit =
        limit.map_or_else(|| "its output limit".to_owned(), |limit| format!("its limit of {limit} tokens"));
    let message = format!(
        "{} reached {limit} before it wrote any reply; what it wrote was reasoning. Raise `max_output_tokens` or lower \
         `reasoning_effort` in the configuration, and start a new run.",
        capitalised(name(service))
    );
    Fault::lasting(FailureKind::Account, message)
}

/// Says that a reply ran into its limit; whether it can be used is for others to judge.
pub(super) fn cut_off(service: &Service, limit: Option<u32>) -> String {
    let limit =
        limit.map_or_else(|| "its output limit".to_owned(), |limit| format!("its limit of {limit} tokens"));
    format!(
        "The reply of {} was cut off at {limit}. If that stays, raise `max_output_tokens` in the configuration.",
        name(service)
    )
}

/// Says that nobody knows how much a call took.
pub(super) fn uncounted(service: &Service) -> String {
    format!(
        "{} does not say how many tokens it counts, so tokens and costs are unknown.",
        capitalised(name(service))
    )
}

/// Bytes come, but nothing that can be read.
pub(super) fn stalled(service: &Service, limit: Duration) -> Fault {
    Fault::passing(format!(
        "{} sent nothing for too long (no event within {} s). Try again, or choose a faster model.",
        capitalised(name(service)),
        limit.as_secs_f64().ceil()
    ))
}

/// Returns the part of a request that an answer objects to, rather than to the question.
pub(super) fn refused_part(response: &Response<'_>, sent: impl Fn(Part) -> bool) -> Option<Part> {
    const SCHEMA: [&str; 5] =
        ["response_format", "output_config", "output_format", "structured output", "schema"];
    let body = response.body.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| body.contains(word));
    // OpenRouter knows no endpoint of that model that takes everything which was asked for.
    if response.status == 404 && says(&["requested parameters"]) {
        return Some(Part::Schema).filter(|part| sent(*part));
    }
    if !matches!(response.status, 400 | 422) || is_too_long(response) {
        return None;
    }
    let objections = [
        (Part::OldLimit, &["max_completion_tokens"][..]),
        (Part::Counts, &["stream_options", "include_usage"]),
        (Part::Schema, &SCHEMA),
        (Part::Temperature, &["temperature"]),
    ];
    objections.into_iter().find_map(|(part, words)| (says(words) && sent(part)).then_some(part))
}

/// Says what a request goes without from now on.
pub(super) fn goes_without(service: &Service, part: Part, response: &Response<'_>) -> String {
    let (name, said) = (capitalised(name(service)), words(service, response));
    let what = match part {
        Part::Schema => "takes no schema for its reply, so the prompt alone asks for the form",
        Part::Temperature => "takes no temperature, so it goes without the configured one",
        Part::OldLimit => "wants its output limit as `max_completion_tokens`, and gets it so",
        Part::Counts => "counts no tokens when asked to, so tokens and costs are unknown",
    };
    format!("{name} {what} from now on ({said}).")
}

/// Whether an answer says that there is no such model.
pub(super) fn misses_model(response: &Response<'_>) -> bool {
    const WORDS: [&str; 5] =
        ["model_not_found", "is not a valid model", "model not found", "no such model", "unknown model"];
    let body = response.body.to_lowercase();
    match response.status {
        404 => !is_html(response.headers, response.body),
        400 => WORDS.iter().any(|word| body.contains(word)),
        _ => false,
    }
}

/// There is no such model; `hint` is a sentence about those that there are, or empty.
pub(super) fn no_model(service: &Service, response: &Response<'_>, hint: &str) -> Fault {
    let message = format!(
        "There is no model `{}` at {} ({}).{} Check the model's name and `base_url` in the configuration.",
        service.model,
        service.shown_url(),
        words(service, response),
        printable(service, hint)
    );
    Fault::lasting(FailureKind::Account, message)
}

/// The names in a hint are the endpoint's.
fn printable(service: &Service, hint: &str) -> String {
    let hint: String = hint.chars().filter(|c| !c.is_control()).take(QUOTE).collect();
    service.scrub(&hint)
}

/// Whether prompt and reply do not fit into what the model can read.
fn is_too_long(response: &Response<'_>) -> bool {
    const WORDS: [&str; 8] = [
        "context_length_exceeded",
        "exceed_context_size",
        "maximum context length",
        "available context size",
        "context window",
        "prompt is too long",
        "exceeds the maximum number of tokens",
        "too many tokens",
    ];
    let body = response.body.to_lowercase();
    response.status == 413
        || (matches!(response.status, 400 | 422) && WORDS.iter().any(|word| body.contains(word)))
}

fn answered(service: &Service, response: &Response<'_>) -> Fault {
    let passes = matches!(response.status, 408 | 409 | 429 | 500..);
    if is_html(response.headers, response.body) && !passes {
        return web_page(service);
    }
    let said = words(service, response);
    if passes && !out_of_quota(response.body) {
        let message = format!(
            "{} is busy or out of order ({said}). Wait a while and try again.",
            capitalised(name(service))
        );
        let retry = Retry::Later(retry_after(response.headers, Timestamp::now()));
        return Fault { retry, ..Fault::passing(message) };
    }
    if misses_model(response) {
        return no_model(service, response, "");
    }
    Fault::lasting(FailureKind::Account, lasting(service, response, &said))
}

/// Says what stands in the way until somebody changes it.
fn lasting(service: &Service, response: &Response<'_>, said: &str) -> String {
    let (model, url) = (&service.model, service.shown_url());
    match (response.status, &service.variable) {
        (300..=399, _) => {
            let target =
                response.headers.get(LOCATION).and_then(|value| value.to_str().ok()).unwrap_or("elsewhere");
            format!(
                "{url} redirects to {}, which Checkmate does not follow with a key. Check `base_url`, and whether a \
                 login page of this network stands in between.",
                quote(service, target)
            )
        }
        (401, Some(variable)) => format!(
            "The provider `{}` at {url} did not accept the key in {variable} (HTTP 401). Check the key, set it with \
             `export {variable}=\"…\"` and start again.",
            service.row.name
        ),
        (401, None) => format!(
            "{url} asks for a key (HTTP 401). Name the environment variable that holds it as `api_key_env` in the \
             configuration."
        ),
        (_, variable) if matches!(response.status, 402 | 429) || out_of_quota(response.body) => format!(
            "The account behind {} at {url} has no quota left ({said}). Check its plan and billing, or use another \
             key or provider.",
            variable.as_deref().unwrap_or("the provider")
        ),
        (403, variable) => format!(
            "{} may not use the model `{model}` at {url} ({said}). Check what the account allows, or choose another \
             model.",
            variable.as_ref().map_or("This machine".to_owned(), |variable| format!("The key in {variable}"))
        ),
        (_, _) if is_too_long(response) => format!(
            "The prompt and its reply do not fit into what the model `{model}` at {url} can read ({said}). Choose a model \
             with a longer context, lower `max_output_tokens` or `context_summary_threshold`, or ask for less at once."
        ),
        (_, _) => format!(
            "The provider `{}` at {url} refused the request to the model `{model}` ({said}). Correct the model, \
             `max_output_tokens`, `temperature` or `reasoning_effort` in the configuration.",
            service.row.name
        ),
    }
}

/// Judges an error that came as an event within the stream.
fn reported(service: &Service, body: &Value) -> Fault {
    let error = body.get("error").unwrap_or(body);
    let text = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default();
    let number = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    let status = match (text("type"), number) {
        ("authentication_error", _) => 401,
        ("permission_error", _) => 403,
        ("not_found_error", _) => 404,
        ("invalid_request_error" | "request_too_large", _) => 400,
        ("billing_error" | "insufficient_quota", _) => 402,
        (_, Some(code)) => code,
        (_, None) => 500,
    };
    let body = body.to_string();
    answered(service, &Response { status, headers: &HeaderMap::new(), body: &body })
}

/// Judges a connection that was not made or did not hold.
fn broken_off(service: &Service, error: &(dyn Error + 'static)) -> Fault {
    let who = name(service);
    let url = service.shown_url();
    if error.is::<StreamTimeout>() {
        return Fault::passing(format!(
            "{} sent nothing for too long ({error}). Try again, or choose a faster model.",
            capitalised(who)
        ));
    }
    let cause = quote(service, &root(error).to_string());
    if causes(error).any(is_certificate_error) {
        let message = format!(
            "The certificate of {url} was not accepted: {cause}. Check `base_url`; if a proxy of this network signs \
             its own certificates, name its authority in SSL_CERT_FILE."
        );
        return Fault::lasting(FailureKind::Provider, message);
    }
    let Some(request) = error.downcast_ref::<reqwest::Error>() else { return malformed(service, &cause) };
    if request.is_builder() {
        let message =
            format!("No request to {url} could be made: {cause}. Check `base_url` in the configuration.");
        return Fault::lasting(FailureKind::Account, message);
    }
    if request.is_connect() && causes(error).any(speaks_no_tls) {
        let message = format!(
            "No secure connection to {url} could be made: {cause}. Check `base_url`; a server that speaks no HTTPS is \
             reached by `http://`."
        );
        return Fault::lasting(FailureKind::Provider, message);
    }
    if request.is_connect() {
        return Fault::passing(format!(
            "{url} could not be reached: {cause}. Check `base_url`, the network and, for a model on this machine, \
             that its server is running."
        ));
    }
    Fault::passing(format!("{} broke off the connection: {cause}. Try again.", capitalised(who)))
}

pub(super) fn causes<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

pub(super) fn root<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    causes(error).last().unwrap_or(error)
}

pub(super) fn is_certificate_error(error: &(dyn Error + 'static)) -> bool {
    wraps(error, &|error| {
        matches!(error.downcast_ref::<rustls::Error>(), Some(rustls::Error::InvalidCertificate(_)))
    })
}

/// Whether what answers is no TLS, or one that has nothing in common with ours.
fn speaks_no_tls(error: &(dyn Error + 'static)) -> bool {
    wraps(error, &|error| {
        matches!(
            error.downcast_ref::<rustls::Error>(),
            Some(rustls::Error::InvalidMessage(_) | rustls::Error::PeerIncompatible(_))
        )
    })
}

/// Whether an error is of a kind, or wraps one: an I/O error does not count what it wraps among its sources.
fn wraps(error: &(dyn Error + 'static), is: &dyn Fn(&(dyn Error + 'static)) -> bool) -> bool {
    let wrapped = || error.downcast_ref::<io::Error>().and_then(|error| error.get_ref());
    is(error) || wrapped().is_some_and(|error| wraps(error, is))
}

/// Reads how long the provider wants to be left alone: milliseconds, seconds or a date.
fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let number = |text: &str| text.parse::<f64>().ok();
    if let Some(milliseconds) = text("retry-after-ms").and_then(number) {
        return Duration::try_from_secs_f64(milliseconds / 1000.0).ok();
    }
    let text = text(RETRY_AFTER.as_str())?;
    if let Some(seconds) = number(text) {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
    Some(Duration::try_from(date.duration_since(now)).unwrap_or(Duration::ZERO))
}

/// A quota that is used up does not come back within a call, although it is reported like a rate limit.
fn out_of_quota(body: &str) -> bool {
    const WORDS: [&str; 3] = ["insufficient_quota", "billing_hard_limit", "credit balance is too low"];
    WORDS.iter().any(|word| body.contains(word))
}

pub(super) fn is_html(headers: &HeaderMap, body: &str) -> bool {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let start: String = body.trim_start().chars().take(20).collect::<String>().to_lowercase();
    content_type.starts_with("text/html") || start.starts_with("<!doctype html") || start.starts_with("<html")
}

/// Returns the status with what the provider says about it.
pub(super) fn words(service: &Service, response: &Response<'_>) -> String {
    let status = response.status;
    if is_html(response.headers, response.body) {
        return format!("HTTP {status}, with a web page");
    }
    let json: Value = serde_json::from_str(response.body).unwrap_or_default();
    let said = ["/error/message", "/message", "/error", "/detail", "/0/error/message"]
        .into_iter()
        .find_map(|pointer| json.pointer(pointer).and_then(Value::as_str))
        .unwrap_or(response.body);
    match quote(service, said) {
        said if said.is_empty() => format!("HTTP {status}"),
        said => format!("HTTP {status}: {said}"),
    }
}

/// Makes foreign words fit for a message: one line, no control characters, not too long, no secrets, no final stop.
pub(super) fn quote(service: &Service, text: &str) -> String {
    let text = service.scrub(text);
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let line = words.collect::<Vec<_>>().join(" ");
    let line = line.trim_end_matches('.');
    match line.char_indices().nth(QUOTE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

fn name(service: &Service) -> String {
    format!("the model `{}` of the provider `{}`", service.model, service.row.name)
}

fn capitalised(text: String) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn every_form_of_retry_after_is_read() {
        let now = "1994-11-06T08:49:30Z".parse().unwrap();
        for (name, value, wait) in [
            ("retry-after", "7", Some(7000)),
            ("retry-after", " 0 ", Some(0)),
            ("retry-after", "1.5", Some(1500)),
            ("retry-after-ms", "250", Some(250)),
            ("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT", Some(7000)),
            ("retry-after", "Sat, 05 Nov 1994 08:49:37 GMT", Some(0)),
            ("retry-after", "-1", None),
            ("retry-after", "NaN", None),
            ("retry-after", "1e300", None),
            ("retry-after", "soon", None),
            ("x-other", "7", None),
        ] {
            let headers = [(HeaderName::from_static(name), HeaderValue::from_static(value))];
            let read = retry_after(&HeaderMap::from_iter(headers), now);
            assert_eq!(read, wait.map(Duration::from_millis), "{name}: {value}");
        }
    }

    #[test]
    fn web_pages_are_recognised_by_either_sign() {
        let html =
            HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"))]);
        for (headers, body, page) in [
            (&html, "", true),
            (&HeaderMap::new(), "\n <!DOCTYPE HTML><p>", true),
            (&HeaderMap::new(), "<html lang=\"en\">", true),
            (&HeaderMap::new(), "{\"error\": \"<html>\"}", false),
            (&HeaderMap::new(), "ümlaut", false),
        ] {
            assert_eq!(is_html(headers, body), page, "{body}");
        }
    }
}
