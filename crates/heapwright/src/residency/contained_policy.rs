//! Eviction policies of the application, whose panics do not leave the manager.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use heapwright_core::ByteSize;
use heapwright_core::residency::ResidencyPlanner;
use heapwright_core::residency::policy::{
    Admission, EvictionPolicy, HeapSlot, Lru, Moment, PolicyKind, Withdrawal,
};

use crate::Error;

/// Creates a planner with policies of a kind, one for each segment group and priority.
///
/// # Errors
///
/// Invalid argument if the application's function that creates them panics.
pub(super) fn create_planner(is_unified: bool, kind: &PolicyKind) -> Result<ResidencyPlanner, Error> {
    let name = kind.name();
    let create = || -> Box<dyn EvictionPolicy> {
        let policy = kind.create();
        match kind {
            PolicyKind::Custom(_) => {
                let (policy, lru, failed) = (Some(policy), Lru::new(), Cell::new(false));
                Box::new(ContainedPolicy { name, policy, lru, failed })
            }
            _ => policy,
        }
    };
    catch(|| ResidencyPlanner::new(is_unified, create)).ok_or_else(|| {
        let rule = format!("creating the custom policy {name:?} panicked");
        Error::invalid_argument("ResidencyManagerDesc::policy", rule)
    })
}

/// Calls the application's code; returns `None` if it panics.
fn catch<T>(call: impl FnOnce() -> T) -> Option<T> {
    // The payload of the panic is not dropped, because that may panic, too.
    catch_unwind(AssertUnwindSafe(call)).map_err(std::mem::forget).ok()
}

/// A policy of the application that is replaced by LRU when it panics.
///
/// LRU receives every event from the beginning, so that it knows the heaps by then.
#[derive(Debug)]
struct ContainedPolicy {
    name: &'static str,
    /// `None` only while it is dropped.
    policy: Option<Box<dyn EvictionPolicy>>,
    lru: Lru,
    /// Whether the policy has panicked.
    failed: Cell<bool>,
}

impl ContainedPolicy {
    /// Records that the policy has panicked if `outcome` is `None`.
    fn check<T>(&self, outcome: Option<T>) -> Option<T> {
        if outcome.is_none() {
            self.failed.set(true);
            tracing::error!(policy = self.name, "eviction policy panicked; using lru instead");
        }
        outcome
    }

    /// Calls the policy unless it has panicked. Returns `None` if it has panicked before or panics now.
    fn ask<T>(&self, call: impl FnOnce(&dyn EvictionPolicy) -> T) -> Option<T> {
        let policy = self.policy.as_deref().filter(|_| !self.failed.get())?;
        self.check(catch(|| call(policy)))
    }

    /// Like [`ask`](Self::ask), for methods that change the policy.
    fn call<T>(&mut self, call: impl FnOnce(&mut dyn EvictionPolicy) -> T) -> Option<T> {
        let failed = self.failed.get();
        let policy = self.policy.as_deref_mut().filter(|_| !failed)?;
        let outcome = catch(|| call(policy));
        self.check(outcome)
    }
}

impl EvictionPolicy for ContainedPolicy {
    fn admit(&mut self, heap: HeapSlot, size: ByteSize, cause: Admission, now: Moment) {
        self.lru.admit(heap, size, cause, now);
        self.call(|policy| policy.admit(heap, size, cause, now));
    }

    fn touch(&mut self, heap: HeapSlot, now: Moment) {
        self.lru.touch(heap, now);
        self.call(|policy| policy.touch(heap, now));
    }

    fn touch_regularly(&mut self, heap: HeapSlot, interval: u64, count: u64, last: Moment) {
        self.lru.touch(heap, last);
        self.call(|policy| policy.touch_regularly(heap, interval, count, last));
    }

    fn may_learn_late(&self) -> bool {
        self.ask(|policy| policy.may_learn_late()).unwrap_or(false)
    }

    fn withdraw(&mut self, heap: HeapSlot, cause: Withdrawal, now: Moment) {
        self.lru.withdraw(heap, cause, now);
        self.call(|policy| policy.withdraw(heap, cause, now));
    }

    fn forget(&mut self, heap: HeapSlot) {
        self.lru.forget(heap);
        self.call(|policy| policy.forget(heap));
    }

    fn choose(&mut self, need: ByteSize, now: Moment, evict: &mut dyn FnMut(HeapSlot) -> Option<ByteSize>) {
        if self.call(|policy| policy.choose(need, now, evict)).is_none() {
            // Heaps that the policy chose before the panic are not chosen again.
            self.lru.choose(need, now, evict);
        }
    }

    fn next_use_in(&self, heap: HeapSlot, now: Moment) -> Option<u64> {
        self.ask(|policy| policy.next_use_in(heap, now)).flatten()
    }

    fn choose_ahead(
        &mut self,
        limit: ByteSize,
        fullness: f64,
        now: Moment,
        evict: &mut dyn FnMut(HeapSlot) -> Option<ByteSize>,
    ) {
        self.call(|policy| policy.choose_ahead(limit, fullness, now, evict));
    }

    fn counts_time(&self) -> bool {
        self.ask(|policy| policy.counts_time()).unwrap_or(false)
    }
}

impl Drop for ContainedPolicy {
    fn drop(&mut self) {
        let policy = self.policy.take();
        if catch(|| drop(policy)).is_none() {
            tracing::error!(policy = self.name, "dropping the eviction policy panicked");
        }
    }
}
