//! The flags that limit what a run may use, for `run` and `resume`.

use checkmate_machine::budget::Limits;

use crate::config::millionths;

/// What a run may use; these go before the configuration.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(super) struct BudgetFlags {
    /// The most requests to agents
    #[arg(long, value_name = "N", help_heading = "Budget")]
    max_calls: Option<u32>,
    /// The most tokens, sent and received
    #[arg(long, value_name = "N", help_heading = "Budget")]
    max_tokens: Option<u64>,
    /// The most money in US dollars; needs the models' prices
    #[arg(long, value_name = "USD", value_parser = amount, help_heading = "Budget")]
    max_usd: Option<f64>,
    /// The most minutes in which the run is driven
    #[arg(long, value_name = "MIN", help_heading = "Budget")]
    max_minutes: Option<u32>,
}

impl BudgetFlags {
    /// Returns the limits that were given.
    pub(super) fn limits(&self) -> Limits {
        Limits {
            calls: self.max_calls,
            tokens: self.max_tokens,
            cost_micro_usd: self.max_usd.map(millionths),
            minutes: self.max_minutes,
        }
    }
}

fn amount(text: &str) -> Result<f64, String> {
    match text.trim_start_matches('$').parse::<f64>() {
        Ok(amount) if (0.0..=1e6).contains(&amount) => Ok(amount),
        Ok(_) | Err(_) => Err("it must be an amount in dollars, such as 1.50".into()),
    }
}
