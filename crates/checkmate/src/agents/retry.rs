//! Asks again when a request failed for a reason that passes.

use std::time::Duration;

use checkmate_machine::budget::Allowance;
use checkmate_machine::event::{Failure, FailureKind};
use tokio::time::{Instant, sleep, timeout};

/// The longest wait that a provider may ask for.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// A question that can be asked more than once.
pub(super) trait Attempt {
    /// What it asks for.
    type Reply;

    /// Asks once.
    fn attempt(&mut self) -> impl Future<Output = Result<Self::Reply, Fault>> + Send;
}

/// Why one request brought no reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// What to report if this was the last request.
    pub(super) failure: Failure,
    /// Whether the same question may be sent again.
    pub(super) retry: Retry,
    /// Whether it counts as a request.
    pub(super) sent: bool,
}

/// What to do after a [`Fault`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Retry {
    /// The answer would be the same.
    Never,
    /// The question itself has been mended.
    AtOnce,
    /// After a wait, as long as the provider says, if it does.
    Later(Option<Duration>),
}

impl Fault {
    /// Makes a fault that would occur again.
    pub(super) fn lasting(kind: FailureKind, message: String) -> Self {
        Self { failure: Failure { kind, message, requests: 0 }, retry: Retry::Never, sent: true }
    }

    /// Makes a fault of the provider that may pass.
    pub(super) fn passing(message: String) -> Self {
        Self {
            failure: Failure { kind: FailureKind::Provider, message, requests: 0 },
            retry: Retry::Later(None),
            sent: true,
        }
    }

    fn too_slow(who: &str, limit: Duration) -> Self {
        Self::passing(format!(
            "{who} did not finish its reply within {} s. Ask for less at once, choose a faster model or allow more \
             time in the configuration.",
            limit.as_secs_f64().ceil()
        ))
    }
}

/// How often and how long to ask.
#[derive(Debug, Clone, Copy)]
pub(super) struct Policy {
    /// Requests at most, the first included.
    pub(super) max_requests: u32,
    /// The limit for one request.
    pub(super) time_limit: Duration,
    /// The limit for the whole call, waits included.
    pub(super) budget: Duration,
    /// The most that the first wait may take; each further one may take twice as long.
    pub(super) first_wait: Duration,
}

impl Policy {
    /// Returns the policy under a budget, which may leave less time.
    pub(super) fn within(self, allowance: Option<Allowance>) -> Self {
        let seconds = allowance.and_then(|allowance| allowance.seconds).map(Duration::from_secs);
        Self { budget: seconds.map_or(self.budget, |limit| limit.min(self.budget)), ..self }
    }

    /// Returns how long to wait after the given number of requests, or `None` if there is nothing to wait for.
    fn wait(&self, retry: Retry, requests: u32) -> Option<Duration> {
        match retry {
            Retry::Never => None,
            Retry::AtOnce => Some(Duration::ZERO),
            Retry::Later(Some(asked)) => Some(asked.min(LONGEST_WAIT)),
            Retry::Later(None) => {
                let doublings = requests.saturating_sub(1).min(16);
                let most = self.first_wait.saturating_mul(1 << doublings).min(LONGEST_WAIT);
                Some(most.mul_f64(fastrand::f64()))
            }
        }
    }
}

/// Asks until it brings a reply, fails for good, or the policy's limits are reached.
///
/// `who` begins the sentence about a request that took too long. Returns the reply with the number of requests made.
/// Dropping the future ends it at any point, waits included.
pub(super) async fn persist<A: Attempt>(
    policy: &Policy,
    who: &str,
    mut question: A,
) -> Result<(A::Reply, u32), Failure> {
    let start = Instant::now();
    let left = || policy.budget.saturating_sub(start.elapsed());
    let mut requests = 0;
    loop {
        let limit = policy.time_limit.min(left());
        let fault = match timeout(limit, question.attempt()).await {
            Ok(Ok(reply)) => return Ok((reply, requests + 1)),
            Ok(Err(fault)) => fault,
            Err(_) => Fault::too_slow(who, limit),
        };
        requests += u32::from(fault.sent);
        let may_ask = fault.sent && requests < policy.max_requests;
        match policy.wait(fault.retry, requests).filter(|wait| may_ask && *wait < left()) {
            Some(wait) => sleep(wait).await,
            None => return Err(give_up(fault, requests)),
        }
    }
}

fn give_up(fault: Fault, requests: u32) -> Failure {
    let mut failure = Failure { requests, ..fault.failure };
    if requests > 1 {
        failure.message = format!("{} This was request {requests} of the same call.", failure.message);
    }
    failure
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: Policy = Policy {
        max_requests: 6,
        time_limit: Duration::from_secs(60),
        budget: Duration::from_secs(60),
        first_wait: Duration::from_millis(1),
    };

    /// Fails in these ways, the last one first, and then replies.
    struct Failing(Vec<Fault>);

    impl Attempt for Failing {
        type Reply = ();

        async fn attempt(&mut self) -> Result<(), Fault> {
            self.0.pop().map_or(Ok(()), Err)
        }
    }

    /// Never replies.
    struct Silent;

    impl Attempt for Silent {
        type Reply = ();

        async fn attempt(&mut self) -> Result<(), Fault> {
            std::future::pending().await
        }
    }

    fn requests(policy: &Policy, question: impl Attempt) -> Result<u32, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(persist(policy, "The agent", question)).map(|(_, requests)| requests)
    }

    fn failing(policy: &Policy, mut faults: Vec<Fault>) -> Result<u32, Failure> {
        faults.reverse();
        requests(policy, Failing(faults))
    }

    fn busy() -> Fault {
        Fault::passing("Busy.".into())
    }

    #[test]
    fn counts_every_request() {
        let mended = Fault { retry: Retry::AtOnce, ..busy() };
        let told = Fault { retry: Retry::Later(Some(Duration::from_millis(1))), ..busy() };
        for (faults, requests) in
            [(vec![], 1), (vec![busy()], 2), (vec![mended, told, busy()], 4), (vec![busy(); 5], 6)]
        {
            assert_eq!(failing(&POLICY, faults), Ok(requests));
        }
    }

    #[test]
    fn stops_where_asking_again_is_no_use() {
        let refused = Fault::lasting(FailureKind::Account, "Refused.".into());
        let unsent = Fault { sent: false, ..refused.clone() };
        let patient = Fault { retry: Retry::Later(Some(Duration::from_secs(50))), ..busy() };
        let poor = Policy { budget: Duration::from_secs(40), ..POLICY };
        for (policy, faults, requests, message) in [
            (POLICY, vec![busy(); 6], 6, "Busy. This was request 6 of the same call."),
            (POLICY, vec![refused.clone()], 1, "Refused."),
            (POLICY, vec![busy(), refused], 2, "Refused. This was request 2 of the same call."),
            (POLICY, vec![unsent], 0, "Refused."),
            (poor, vec![patient], 1, "Busy."),
        ] {
            let error = failing(&policy, faults).unwrap_err();
            assert_eq!((error.requests, error.message.as_str()), (requests, message));
        }
    }

    #[test]
    fn a_request_without_an_end_is_given_up() {
        let policy = Policy { time_limit: Duration::from_millis(5), max_requests: 3, ..POLICY };
        let error = requests(&policy, Silent).unwrap_err();
        assert_eq!(error.requests, 3);
        assert_eq!(error.kind, FailureKind::Provider);
        assert!(error.message.starts_with("The agent did not finish"), "{}", error.message);
    }

    #[test]
    fn waits_grow_up_to_a_limit() {
        let policy = Policy { first_wait: Duration::from_secs(1), ..POLICY };
        for (requests, most) in [(1, 1), (2, 2), (5, 16), (7, 60), (u32::MAX, 60)] {
            for _ in 0..50 {
                let wait = policy.wait(Retry::Later(None), requests).unwrap();
                assert!(wait <= Duration::from_secs(most), "{requests}: {wait:?}");
            }
        }
        let hour = Retry::Later(Some(Duration::from_secs(3600)));
        assert_eq!(policy.wait(hour, 1), Some(LONGEST_WAIT));
        assert_eq!(policy.wait(Retry::Never, 1), None);
    }
}
