//! What happened before what: submissions of queues, ordered by fences.

/// The agent that the CPU is; queues are numbered from 1 on.
pub(super) const CPU: u32 = 0;

/// A submission of a queue, or an access by the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Epoch {
    /// The queue, or [`CPU`].
    pub(super) agent: u32,
    /// Numbered from 1 on.
    pub(super) number: u64,
}

/// Of each agent, how many of its epochs have happened before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Clock(Vec<u64>);

impl Clock {
    /// Whether `epoch` happened before, or is itself what the clock has come to.
    pub(super) fn has_seen(&self, epoch: Epoch) -> bool {
        self.at(epoch.agent) >= epoch.number
    }

    /// What happened before `other` happened before this, too.
    pub(super) fn join(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            *own = (*own).max(*other);
        }
    }

    /// The agent's next epoch.
    pub(super) fn advance(&mut self, agent: u32) -> Epoch {
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

/// Which clock came with which value of a fence.
#[derive(Debug, Default)]
pub(crate) struct FenceHistory {
    /// The oldest first.
    signals: std::collections::VecDeque<(u64, Clock)>,
}

/// As many signals of a fence are remembered; who waits for an older one is given the oldest of these, which knows more.
const MAX_SIGNALS: usize = 256;

impl FenceHistory {
    /// Of a fence that begins at `value`: who waits for that learns nothing.
    pub(crate) fn new(value: u64) -> Self {
        Self { signals: [(value, Clock::default())].into() }
    }

    /// The fence is about to be set to `value` by who has come to `clock`.
    pub(super) fn signalled(&mut self, value: u64, clock: &Clock) {
        if self.signals.len() == MAX_SIGNALS {
            self.signals.pop_front();
        }
        self.signals.push_back((value, clock.clone()));
    }

    /// What happened before the fence reached `value`.
    pub(crate) fn reached(&self, value: u64) -> Option<&Clock> {
        // A fence may be set back: what it reached after that counts, and what it reached before only where nothing else does.
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
    fn a_fence_carries_what_happened_before_the_signal_and_no_more() {
        let (mut first, mut second) = (Clock::default(), Clock::default());
        let early = first.advance(1);
        let mut fence = FenceHistory::default();
        fence.signalled(5, &first);
        let late = first.advance(1);
        fence.signalled(6, &first);
        assert!(!second.has_seen(early));
        second.join(fence.reached(5).expect("it was signalled"));
        assert!(second.has_seen(early) && !second.has_seen(late));
        second.join(fence.reached(6).expect("it was signalled"));
        assert!(second.has_seen(late));
        assert!(fence.reached(7).is_none());
        let own = second.advance(2);
        assert!(second.has_seen(own) && !first.has_seen(own));
    }
}
