//! The table of model providers. A new one is a new row.

use checkmate_machine::spec::PatchForm;
use genai::adapter::AdapterKind;

/// What is different about one provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    /// The name in the configuration.
    pub(super) name: &'static str,
    /// Which protocol it speaks.
    pub(super) wire: Wire,
    /// Where it listens unless the configuration says otherwise.
    pub(super) base_url: Option<&'static str>,
    /// Where its key comes from.
    pub(super) key: Key,
    /// Whether it accepts a JSON schema for the reply and keeps to it.
    pub(super) strict_schema: bool,
    /// How what stays the same in prompts is paid for once.
    pub(super) caching: Caching,
    /// How it is told how much to think.
    pub(super) reasoning: Reasoning,
    /// Whether it says itself what a call cost.
    pub(super) bills: bool,
    /// The output limit when the configuration names none. `None` takes the largest that the model is known to allow.
    pub(super) max_output_tokens: Option<u32>,
    /// The form of patches that its models write best, where the configuration names none.
    ///
    /// The figures beside the rows are from aider's published benchmarks: the share of tasks in which every edit had the
    /// form that was asked for, and the share that was solved.
    pub(super) patch_form: PatchForm,
}

/// The protocols of model providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    /// OpenAI's chat completions, and whatever imitates them.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
    /// Google's `streamGenerateContent`.
    Gemini,
    /// No network at all: replies come from a replay script.
    Script,
}

/// How a provider caches prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Caching {
    /// Up to marks that the request sets. Strict servers reject unknown marks.
    Marked,
    /// By itself, whatever prefix it has seen lately.
    Automatic,
    /// In the server's own memory; nothing is billed, but the reply begins sooner.
    Memory,
    /// Nobody knows.
    Unknown,
}

/// How a provider is told how much its model should think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reasoning {
    /// By OpenAI's `reasoning_effort`.
    Keyword,
    /// By OpenRouter's object `reasoning`.
    Object,
    /// By OpenAI's keyword, and by arguments of the model's chat template.
    Template,
    /// By Anthropic's effort or thinking budget, or by Gemini's level or budget, as the model knows it.
    Thinking,
    /// Not at all.
    Nothing,
}

/// Where a provider's key comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    /// From this environment variable; `hint` shows what a key looks like.
    Variable {
        /// The variable's name.
        name: &'static str,
        /// How a key begins.
        hint: &'static str,
    },
    /// None is needed unless the configuration names a variable.
    Optional,
}

impl Wire {
    /// Returns genai's adapter, or `None` for a wire that has no network.
    pub(super) fn adapter(self) -> Option<AdapterKind> {
        match self {
            Wire::OpenAi => Some(AdapterKind::OpenAI),
            Wire::Anthropic => Some(AdapterKind::Anthropic),
            Wire::Gemini => Some(AdapterKind::Gemini),
            Wire::Script => None,
        }
    }

    /// Returns the version that the path of a base URL ends with.
    pub(super) fn version(self) -> &'static str {
        match self {
            Wire::OpenAi | Wire::Anthropic => "v1",
            Wire::Gemini => "v1beta",
            Wire::Script => "",
        }
    }
}

impl Row {
    /// Says for the documentation what it can do: wire, schemas, caching, reasoning, list of models, prices.
    #[cfg(test)]
    pub(super) fn capabilities(&self) -> [&'static str; 6] {
        let (wire, schema, models) = match self.wire {
            Wire::OpenAi => ("OpenAI's chat completions", "`response_format`, strict", "`models`"),
            Wire::Anthropic => ("Anthropic's messages", "`output_config.format`", "`models`"),
            Wire::Gemini => ("Google's `streamGenerateContent`", "`responseJsonSchema`", "`models`"),
            Wire::Script => return ["none", "–", "–", "–", "–", "–"],
        };
        let caching = match self.caching {
            Caching::Marked => "marked: the system prompt, and the goal with the file tree",
            Caching::Automatic => "by the provider, from the stable beginning of the prompt",
            Caching::Memory => "in the server's memory",
            Caching::Unknown => "unknown",
        };
        let reasoning = match self.reasoning {
            Reasoning::Keyword => "`reasoning_effort`",
            Reasoning::Object => "`reasoning.effort`",
            Reasoning::Template => "`reasoning_effort` and `chat_template_kwargs`",
            Reasoning::Thinking if self.wire == Wire::Gemini => "thinking level or budget",
            Reasoning::Thinking => "effort or thinking budget",
            Reasoning::Nothing => "–",
        };
        let price = if self.bills { "the provider's bill, else `price`" } else { "`price`" };
        [wire, if self.strict_schema { schema } else { "not asked for" }, caching, reasoning, models, price]
    }
}

const OPENAI_LIKE: Row = Row {
    name: "openai_compatible",
    wire: Wire::OpenAi,
    base_url: None,
    key: Key::Optional,
    strict_schema: false,
    caching: Caching::Unknown,
    reasoning: Reasoning::Keyword,
    bills: false,
    max_output_tokens: Some(16_384),
    // Nobody knows the model behind such an address, and mostly it is a small open one. Those manage whole files where
    // they fail at blocks: Qwen2.5-Coder 32B had the form in 72% with blocks (8% solved) and in 99.6% with whole files
    // (16% solved), its 4-bit version in ollama in 44% with blocks; Qwen3 32B in 94% (41%) and 100% (46%). A large one
    // loses nothing: Qwen3 235B in 95% (61%) and 100% (65%). aider, too, asks unknown models for whole files.
    patch_form: PatchForm::WholeFile,
};

/// A server that people run themselves.
const LOCAL: Row = Row { strict_schema: true, caching: Caching::Memory, ..OPENAI_LIKE };

/// Every provider, the best known first.
pub(super) const ROWS: [Row; 10] = [
    Row {
        name: "openai",
        base_url: Some("https://api.openai.com/v1/"),
        key: Key::Variable { name: "OPENAI_API_KEY", hint: "sk-…" },
        strict_schema: true,
        // Trained on `apply_patch`, whose hunks are those of a diff without numbers: three lines of context, `-` and `+`
        // (appendix of OpenAI's GPT-4.1 prompting guide). GPT-4 Turbo left code out of blocks and not of diffs, and the
        // reasoning models have the form of blocks in 91 to 95% only (o1, o3, o4-mini).
        patch_form: PatchForm::Diff,
        caching: Caching::Automatic,
        ..OPENAI_LIKE
    },
    Row {
        name: "anthropic",
        wire: Wire::Anthropic,
        base_url: Some("https://api.anthropic.com/v1/"),
        key: Key::Variable { name: "ANTHROPIC_API_KEY", hint: "sk-ant-…" },
        strict_schema: true,
        caching: Caching::Marked,
        max_output_tokens: None,
        // Trained on a text editor tool that replaces text which stands in the file exactly once, as blocks do
        // (Anthropic's documentation of the tool). Claude 3.5 Sonnet has their form in 99.6%, 3.7 Sonnet in 93 to 98%.
        reasoning: Reasoning::Thinking,
        bills: false,
        patch_form: PatchForm::SearchReplace,
    },
    Row {
        name: "gemini",
        wire: Wire::Gemini,
        base_url: Some("https://generativelanguage.googleapis.com/v1beta/"),
        key: Key::Variable { name: "GEMINI_API_KEY", hint: "AIza…" },
        strict_schema: true,
        // aider asks the Pro models for blocks, and 2.5 Pro has their form in 92% (73% solved); what they get wrong is the
        // fences around them, and ours have none. The Flash models are weaker at it (78 to 85%).
        patch_form: PatchForm::SearchReplace,
        caching: Caching::Automatic,
        reasoning: Reasoning::Thinking,
        ..OPENAI_LIKE
    },
    Row {
        name: "openrouter",
        base_url: Some("https://openrouter.ai/api/v1/"),
        key: Key::Variable { name: "OPENROUTER_API_KEY", hint: "sk-or-…" },
        // Any vendor's models, but seldom small ones for code. Blocks are what they have in common: DeepSeek V3, Grok 3
        // and Claude 3.5 Sonnet 99.6%, GPT-4.1 98%.
        patch_form: PatchForm::SearchReplace,
        // A model that knows no schema is asked without one, after a refusal.
        strict_schema: true,
        // Claude is cached up to marks only; OpenRouter makes each vendor's own of them.
        caching: Caching::Marked,
        reasoning: Reasoning::Object,
        bills: true,
        ..OPENAI_LIKE
    },
    Row { name: "ollama", base_url: Some("http://localhost:11434/v1/"), ..LOCAL },
    Row {
        name: "vllm",
        base_url: Some("http://localhost:8000/v1/"),
        reasoning: Reasoning::Template,
        ..LOCAL
    },
    Row {
        name: "llama_cpp",
        base_url: Some("http://localhost:8080/v1/"),
        reasoning: Reasoning::Template,
        ..LOCAL
    },
    OPENAI_LIKE,
    Row { name: "local", ..OPENAI_LIKE },
    // A script reads no prompt; what people read of it is the form that scripts are written in.
    Row {
        name: "replay",
        wire: Wire::Script,
        reasoning: Reasoning::Nothing,
        patch_form: PatchForm::Diff,
        ..OPENAI_LIKE
    },
];

/// Returns the row of a provider.
pub(super) fn find(name: &str) -> Option<Row> {
    ROWS.into_iter().find(|row| row.name == name)
}

/// Returns the form of patches for a provider's models; what is not in the table is as unknown as a local model.
pub(super) fn patch_form(provider: &str) -> PatchForm {
    find(provider).unwrap_or(OPENAI_LIKE).patch_form
}

/// Returns every provider's name, the ones most like `name` first.
pub(super) fn nearest_first(name: &str) -> Vec<&'static str> {
    let name = name.to_lowercase();
    let mut names: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
    names.sort_by(|a, b| strsim::jaro_winkler(b, &name).total_cmp(&strsim::jaro_winkler(a, &name)));
    names
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        let names: BTreeSet<&str> = ROWS.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), ROWS.len());
        for row in ROWS {
            assert_eq!(find(row.name), Some(row));
        }
        assert_eq!(find("OpenAI"), None);
    }

    #[test]
    fn default_addresses_end_with_the_version_of_their_wire() {
        for row in ROWS {
            if let Some(url) = row.base_url {
                assert!(url.ends_with(&format!("/{}/", row.wire.version())), "{url}");
            }
        }
    }

    #[test]
    fn models_that_nobody_knows_are_asked_for_whole_files() {
        for name in ["local", "ollama", "openai_compatible", "a name that no row has"] {
            assert_eq!(patch_form(name), PatchForm::WholeFile, "{name}");
        }
        assert_eq!(patch_form("openai"), PatchForm::Diff);
        assert_eq!(patch_form("anthropic"), PatchForm::SearchReplace);
    }

    #[test]
    fn nearest_names_come_first() {
        for (typed, nearest) in [
            ("opnai", "openai"),
            ("Anthropic", "anthropic"),
            ("llamacpp", "llama_cpp"),
            ("google gemini", "gemini"),
        ] {
            let names = nearest_first(typed);
            assert_eq!(names.len(), ROWS.len());
            assert!(names[..2].contains(&nearest), "{typed}: {names:?}");
        }
    }
}
