//! What a run may use: calls, tokens, money and minutes, for the whole run and for each role.
//!
//! A call is reserved before it is made: what it could use at most has to fit into what is left, and its reply gets no
//! more room than that. So a budget is kept, not noticed afterwards. The clock of a run is the shell's; when it has run
//! out, it says so with a command.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::effect::Call;
use crate::event::Usage;
use crate::ids::Role;

/// Output tokens that are set aside for a call of a role that has no output limit of its own.
const USUAL_OUTPUT: u64 = 32_000;
/// With less room than this no reply is worth its call, in tokens.
const LEAST_OUTPUT: u64 = 1_000;

/// The most that something may use; `None` = no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// Requests to agents, retries included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<u32>,
    /// Tokens sent and received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Money in millionths of a US dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micro_usd: Option<u64>,
    /// Minutes: of a run those in which it was driven, of a role those in which it was waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minutes: Option<u32>,
}

/// Prices in millionths of a US dollar for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// For input that the provider had to read.
    pub input: u64,
    /// For input that it took from its cache.
    pub cached: u64,
    /// For output.
    pub output: u64,
}

/// What a role may use, and what is known of its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RoleBudget {
    /// Its limits.
    #[serde(default)]
    pub limits: Limits,
    /// What its tokens cost, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// The most tokens that one of its replies may have, where that is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
}

/// The budget of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Budget {
    /// Of all roles together.
    #[serde(default)]
    pub run: Limits,
    /// Of each.
    #[serde(default)]
    pub roles: BTreeMap<Role, RoleBudget>,
}

/// What one call may use; the shell keeps it to that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allowance {
    /// The most tokens that the reply may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// The most seconds that the call may take, retries and waits included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
}

/// What was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spent {
    /// Requests.
    pub calls: u32,
    /// Tokens and money; one unknown price makes the sum of the money unknown.
    pub usage: Usage,
    /// The money that is known, in millionths of a US dollar. It counts although other prices are not known.
    known_micro_usd: u64,
    /// Milliseconds that were waited for replies.
    pub ms: u64,
}

impl Default for Spent {
    fn default() -> Self {
        Self { calls: 0, usage: Usage::NOTHING, known_micro_usd: 0, ms: 0 }
    }
}

impl Spent {
    /// Adds a call.
    pub fn add(&mut self, calls: u32, usage: &Usage, ms: u64) {
        self.calls = self.calls.saturating_add(calls);
        self.usage.add(usage);
        self.known_micro_usd = self.known_micro_usd.saturating_add(usage.cost_micro_usd.unwrap_or(0));
        self.ms = self.ms.saturating_add(ms);
    }

    fn tokens(&self) -> u64 {
        self.usage.input_tokens.saturating_add(self.usage.output_tokens)
    }
}

impl Limits {
    /// Tells whether nothing is limited.
    pub fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }

    /// Takes every limit that `other` names.
    pub fn replace(&mut self, other: Limits) {
        self.calls = other.calls.or(self.calls);
        self.tokens = other.tokens.or(self.tokens);
        self.cost_micro_usd = other.cost_micro_usd.or(self.cost_micro_usd);
        self.minutes = other.minutes.or(self.minutes);
    }
}

impl Price {
    /// Returns what a call cost in millionths of a US dollar, rounded up.
    pub fn of(self, usage: &Usage) -> u64 {
        let product = |price: u64, tokens: u64| u128::from(price) * u128::from(tokens);
        let fresh = usage.input_tokens.saturating_sub(usage.cached_tokens);
        let sum = product(self.input, fresh)
            .saturating_add(product(self.cached, usage.cached_tokens))
            .saturating_add(product(self.output, usage.output_tokens));
        u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }

    /// Returns how many output tokens an amount buys beside an input; `None` if not even the input.
    fn output_for(self, micro_usd: u64, input_tokens: u64) -> Option<u64> {
        let input = self.of(&Usage { input_tokens, ..Usage::default() });
        let left = micro_usd.checked_sub(input)?;
        let bought = (u128::from(left) * 1_000_000).checked_div(u128::from(self.output));
        // Output that costs nothing is not limited by money.
        Some(bought.map_or(u64::MAX, |bought| u64::try_from(bought).unwrap_or(u64::MAX)))
    }
}

/// A budget that leaves no room for a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Full {
    /// Whose; `None` = the whole run's.
    pub(crate) role: Option<Role>,
    /// One sentence that says which limit leaves none.
    pub(crate) reason: String,
}

/// Sets aside what calls may use at most, one after the other.
#[derive(Debug)]
pub(crate) struct Reserve<'a> {
    budget: &'a Budget,
    run: Spent,
    roles: BTreeMap<Role, Spent>,
}

impl<'a> Reserve<'a> {
    /// Begins with what each role has used so far.
    pub(crate) fn new(budget: &'a Budget, spent: BTreeMap<Role, Spent>) -> Self {
        let mut run = Spent::default();
        for one in spent.values() {
            run.add(one.calls, &one.usage, one.ms);
        }
        run.known_micro_usd = spent.values().map(|one| one.known_micro_usd).fold(0, u64::saturating_add);
        Self { budget, run, roles: spent }
    }

    /// Sets aside what a call may use.
    pub(crate) fn call(&mut self, call: &Call) -> Result<Option<Allowance>, Full> {
        let role = call.role;
        let usual = RoleBudget::default();
        let own = self.budget.roles.get(&role).unwrap_or(&usual);
        if self.budget.run.is_unlimited() && own.limits.is_unlimited() {
            return Ok(None);
        }
        let spent = self.roles.entry(role).or_default();
        let input = estimate(call);
        let scopes = [(None, &self.budget.run, self.run), (Some(role), &own.limits, *spent)];
        let usual_output = own.output_tokens.unwrap_or(USUAL_OUTPUT);
        let (mut output, mut limited) = (usual_output, false);
        let mut seconds = None;
        for (whose, limits, spent) in scopes {
            let full = |limit: &str| {
                let of = whose.map_or("run", Role::name);
                let reason =
                    format!("The budget of the {of} leaves no room for another call of the {role}: {limit}.");
                Full { role: whose, reason }
            };
            let room = room(limits, &spent, own.price, input).map_err(|limit| full(&limit))?;
            if room.output < output.min(LEAST_OUTPUT) {
                let limit = room.limit.unwrap_or_default();
                return Err(full(&format!("{limit}, and this call sends about {input} tokens")));
            }
            limited |= room.limit.is_some();
            output = output.min(room.output);
            // The minutes of a run are kept by the shell's clock.
            if whose.is_some() {
                seconds = room.seconds;
            }
        }
        let cost = own
            .price
            .map(|price| price.of(&Usage { input_tokens: input, output_tokens: output, ..Usage::default() }));
        let most =
            Usage { input_tokens: input, output_tokens: output, cost_micro_usd: cost, ..Usage::default() };
        for spent in [&mut self.run, spent] {
            spent.add(1, &most, 0);
        }
        let output_tokens = limited.then_some(output);
        Ok((output_tokens.is_some() || seconds.is_some()).then_some(Allowance { output_tokens, seconds }))
    }
}

/// What a scope leaves for one call.
struct Room {
    output: u64,
    /// What limits the output.
    limit: Option<String>,
    seconds: Option<u64>,
}

fn room(limits: &Limits, spent: &Spent, price: Option<Price>, input: u64) -> Result<Room, String> {
    if let Some(calls) = limits.calls.filter(|calls| spent.calls >= *calls) {
        return Err(match calls {
            1 => "its one call is used or set aside".into(),
            _ => format!("its {calls} calls are used or set aside"),
        });
    }
    let mut room = Room { output: u64::MAX, limit: None, seconds: None };
    let mut narrow = |output: u64, limit: String| {
        if output < room.output {
            room.output = output;
            room.limit = Some(limit);
        }
    };
    if let Some(most) = limits.tokens {
        let left = most.saturating_sub(spent.tokens());
        narrow(left.saturating_sub(input), format!("{left} of {most} tokens are left"));
    }
    if let (Some(most), Some(price)) = (limits.cost_micro_usd, price) {
        let left = most.saturating_sub(spent.known_micro_usd);
        let text = format!("{} of {} are left", dollars(left), dollars(most));
        narrow(price.output_for(left, input).unwrap_or(0), text);
    }
    if let Some(minutes) = limits.minutes {
        let left = (u64::from(minutes) * 60_000).saturating_sub(spent.ms) / 1000;
        if left == 0 {
            return Err(format!("its minutes ({minutes}) are over"));
        }
        room.seconds = Some(left);
    }
    Ok(room)
}

/// Estimates the tokens of a prompt, rather too many than too few: three bytes each.
fn estimate(call: &Call) -> u64 {
    let bytes = call.prompt.system.len() + call.prompt.user.len();
    u64::try_from(bytes.div_ceil(3)).unwrap_or(u64::MAX)
}

/// Writes an amount for people.
pub fn dollars(micro_usd: u64) -> String {
    let cents = micro_usd.div_ceil(10_000);
    if micro_usd > 0 && micro_usd < 100_000 {
        return format!("${}.{:04}", micro_usd / 1_000_000, micro_usd % 1_000_000 / 100);
    }
    format!("${}.{:02}", cents / 100, cents % 100)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effect::{Prompt, Purpose};
    use crate::reply::Shape;

    const PRICE: Price = Price { input: 3_000_000, cached: 300_000, output: 15_000_000 };

    fn call(role: Role, bytes: usize) -> Call {
        let prompt = Prompt {
            system: String::new(),
            user: "x".repeat(bytes),
            shape: Shape::Builder,
            version: String::new(),
        };
        Call { role, purpose: Purpose::Build, turn: 1, attempt: 0, about: None, prompt, allowance: None }
    }

    fn limits(calls: Option<u32>, tokens: Option<u64>, usd: Option<u64>, minutes: Option<u32>) -> Limits {
        Limits { calls, tokens, cost_micro_usd: usd, minutes }
    }

    fn used(calls: u32, usage: Usage, ms: u64) -> Spent {
        let mut spent = Spent::default();
        spent.add(calls, &usage, ms);
        spent
    }

    fn reserve(run: Limits, own: RoleBudget, spent: Spent, bytes: usize) -> Result<Option<Allowance>, Full> {
        let budget = Budget { run, roles: [(Role::Builder, own)].into() };
        Reserve::new(&budget, [(Role::Builder, spent)].into()).call(&call(Role::Builder, bytes))
    }

    #[test]
    fn without_limits_nothing_is_allowed_or_refused() {
        let spent = Spent { calls: 1000, ms: u64::MAX, ..Spent::default() };
        assert_eq!(reserve(Limits::default(), RoleBudget::default(), spent, 3), Ok(None));
    }

    #[test]
    fn a_reply_gets_no_more_room_than_the_budget_leaves() {
        let spent = used(1, Usage { input_tokens: 5_000, output_tokens: 1_000, ..Usage::default() }, 0);
        let allowed = reserve(limits(None, Some(10_000), None, None), RoleBudget::default(), spent, 3_000);
        assert_eq!(allowed, Ok(Some(Allowance { output_tokens: Some(3_000), seconds: None })));
        // $0.05, 1,000 tokens of input for $0.003: 3,133 tokens of output.
        let own = RoleBudget { price: Some(PRICE), ..RoleBudget::default() };
        let allowed = reserve(limits(None, None, Some(50_000), None), own, Spent::default(), 3_000);
        assert_eq!(allowed, Ok(Some(Allowance { output_tokens: Some(3_133), seconds: None })));
    }

    #[test]
    fn a_call_that_may_not_fit_is_refused_with_the_limit_that_refuses_it() {
        let spent = used(4, Usage { cost_micro_usd: Some(995_000), ..Usage::default() }, 59_500);
        let own = |limits| RoleBudget { limits, price: Some(PRICE), output_tokens: None };
        for (run, own, words) in [
            (
                limits(Some(4), None, None, None),
                own(Limits::default()),
                "of the run leaves no room for another call of the builder: its 4 calls",
            ),
            (
                Limits::default(),
                own(limits(Some(3), None, None, None)),
                "of the builder leaves no room for another call of the builder: its 3 calls",
            ),
            (
                limits(None, Some(1_500), None, None),
                own(Limits::default()),
                "1500 of 1500 tokens are left, and this call sends about 1000 tokens",
            ),
            (limits(None, None, Some(1_000_000), None), own(Limits::default()), "$0.0050 of $1.00 are left"),
            (
                Limits::default(),
                own(limits(None, None, None, Some(1))),
                "of the builder leaves no room for another call of the builder: its minutes (1) are over",
            ),
        ] {
            let said = reserve(run, own, spent, 3_000).unwrap_err();
            assert!(said.reason.contains(words), "{}", said.reason);
        }
    }

    #[test]
    fn calls_beside_each_other_share_what_is_left() {
        let budget = Budget { run: limits(None, Some(50_000), None, None), roles: BTreeMap::new() };
        let mut reserve = Reserve::new(&budget, BTreeMap::new());
        let first = reserve.call(&call(Role::Builder, 3_000)).unwrap().unwrap();
        let second = reserve.call(&call(Role::Examiner, 3_000)).unwrap().unwrap();
        assert_eq!((first.output_tokens, second.output_tokens), (Some(32_000), Some(16_000)));
        assert!(reserve.call(&call(Role::Reviewer, 3_000)).is_err());
    }

    #[test]
    fn an_unknown_price_does_not_hide_what_is_known() {
        let mut builder = used(1, Usage { cost_micro_usd: Some(90), ..Usage::default() }, 0);
        builder.add(1, &Usage::default(), 0);
        builder.add(1, &Usage { cost_micro_usd: Some(9), ..Usage::default() }, 0);
        let reviewer = used(1, Usage { input_tokens: 5, ..Usage::default() }, 0);
        assert_eq!((builder.usage.cost_micro_usd, reviewer.usage.cost_micro_usd), (None, None));
        let budget = Budget::default();
        let spent = [(Role::Builder, builder), (Role::Reviewer, reviewer)].into();
        assert_eq!(Reserve::new(&budget, spent).run.known_micro_usd, 99);
    }

    #[test]
    fn amounts_are_rounded_up() {
        for (amount, text) in [
            (0, "$0.00"),
            (1, "$0.0000"),
            (1_234, "$0.0012"),
            (140_000, "$0.14"),
            (999_999, "$1.00"),
            (12_345_678, "$12.35"),
        ] {
            assert_eq!(dollars(amount), text);
        }
    }
}
