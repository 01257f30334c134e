//! Vector clocks: the order of submissions to queues, as established by fences.

/// The agent number of the CPU. Queues are numbered from 1 on.
pub(crate) const CPU: u32 = 0;

/// A submission to a queue, or an access by the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Epoch {
    /// The agent: a queue, or [`CPU`].
    pub(crate) agent: u32,
    /// The number of the epoch, from 1 on for each agent.
    pub(crate) number: u64,
}

/// A vector clock: the number of epochs of each agent that happened before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Clock(Vec<u64>);

impl Clock {
    /// Returns whether `epoch` happened before, or is the agent's latest epoch.
    pub(crate) fn has_seen(&self, epoch: Epoch) -> bool {
        self.at(epoch.agent) >= epoch.number
    }

    /// Adds everything that happened before `other`.
    pub(crate) fn join(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            *own = (*own).max(*other);
        }
    }

    /// Starts the agent's next epoch.
    pub(crate) fn advance(&mut self, agent: u32) -> Epoch {
        let index = usize::try_from(agent).unwrap_or(usize::MAX - 1);
        if self.0.len() <= index {
            self.0.resize(index + 1, 0);
        }
        self.0[index] += 1;
        Epoch { agent, number: self.0[index] }
    }

    fn at(&self, agent: u32) -> u64 {
        usize::try_from(agent).ok().and_then(|index| self.0.get(index)).copied().unwrap_or(0)
    }
}

/// The clocks of a fence's signals.
#[derive(Debug, Default)]
pub(crate) struct FenceHistory {
    /// Values and clocks of signals, oldest first.
    signals: std::collections::VecDeque<(u64, Clock)>,
}

/// Maximum number of signals kept per fence. A wait for an older one gets the oldest clock kept, which includes more.
const MAX_SIGNALS: usize = 256;

impl FenceHistory {
    /// Creates the history of a fence with the initial value `value`, which carries no order.
    pub(crate) fn new(value: u64) -> Self {
        Self { signals: [(value, Clock::default())].into() }
    }

    /// Records that an agent with `clock` is about to set the fence to `value`.
    pub(crate) fn signalled(&mut self, value: u64, clock: &Clock) {
        if self.signals.len() == MAX_SIGNALS {
            self.signals.pop_front();
        }
        self.signals.push_back((value, clock.clone()));
    }

    /// Returns the clock of what happened before the fence reached `value`.
    pub(crate) fn reached(&self, value: u64) -> Option<&Clock> {
        // A fence may be set back. Signals after that take precedence over those before it.
        let newest_first = self.signals.iter().rev();
        newest_first
            .skip_while(|(signalled, _)| *signalled < value)
            .take_while(|(signalled, _)| *signalled >= value)
            .last()
            .map(|(_, clock)| clock)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_wait_orders_only_work_before_the_signal() {
        let (mut first, mut second) = (Clock::default(), Clock::default());
        let early = first.advance(1);
        let mut fence = FenceHistory::default();
        fence.signalled(5, &first);
        let late = first.advance(1);
        fence.signalled(6, &first);
        assert!(!second.has_seen(early));
        second.join(fence.reached(5).expect("the value was signalled"));
        assert!(second.has_seen(early) && !second.has_seen(late));
        second.join(fence.reached(6).expect("the value was signalled"));
        assert!(second.has_seen(late));
        assert!(fence.reached(7).is_none());
        let own = second.advance(2);
        assert!(second.has_seen(own) && !first.has_seen(own));
    }
}
