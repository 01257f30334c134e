//! Full check of the invariants that the module page lists.

use super::super::slots::SlotIndex;
use super::Linear;
use super::live_ranges::{Chain, LOWER, LiveRange, LiveRanges, UPPER};

/// Returns the first violated invariant. O(n).
pub(super) fn audit<T>(linear: &Linear<T>) -> Result<(), String> {
    let Linear { live, batches, capacity } = linear;
    let (lower, upper) = (chain(live, LOWER)?, chain(live, UPPER)?);
    let count = lower.len() + upper.len();
    check(u64::try_from(count) == Ok(live.slots.count()), || {
        format!("found {count} linked ranges, recorded {}", live.slots.count())
    })?;
    let used: u64 = lower.iter().chain(&upper).map(|range| range.size).sum();
    check(used == live.used, || format!("found {used} used bytes, recorded {}", live.used))?;
    live.slots.audit_vacant()?;
    let oldest = live.oldest(LOWER).start;
    match lower.iter().position(|range| range.start < oldest) {
        None => ascending(lower.iter().chain(upper.iter().rev()), *capacity)?,
        Some(wrapped) => {
            check(upper.is_empty(), || "a wrapped ring has ranges at the upper end".to_owned())?;
            ascending(lower[..wrapped].iter(), *capacity)?;
            ascending(lower[wrapped..].iter(), oldest)?;
        }
    }
    batches.audit(live.oldest_stamp(), live.next_stamp)
}

fn check(holds: bool, finding: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(finding()) }
}

/// Checks the links and stamps of a chain, and returns its ranges from the oldest to the newest.
fn chain<T>(live: &LiveRanges<T>, chain: Chain) -> Result<Vec<&LiveRange<T>>, String> {
    let note =
        |index: SlotIndex| live.slots.get(index).ok_or_else(|| format!("{index:?} is not in the table"));
    let (mut found, mut stamp) = (Vec::new(), None);
    let (mut older, mut index) = (chain.head(), note(chain.head())?.newer);
    while index != chain.head() {
        let range = note(index)?;
        check(range.older == older, || format!("{range:?} follows {older:?} but does not link back to it"))?;
        check(range.stamp > stamp, || format!("the stamp of {range:?} is not greater than {stamp:?}"))?;
        check(range.stamp < Some(live.next_stamp), || {
            format!("{range:?} has a stamp that was not issued yet")
        })?;
        check(range.size > 0 && range.size <= 1 << 63, || format!("{range:?} has an invalid size"))?;
        found.push(range);
        (older, index, stamp) = (index, range.newer, range.stamp);
    }
    check(note(chain.head())?.older == older, || {
        format!("the newest range of {chain:?} is {older:?}, not the recorded one")
    })?;
    Ok(found)
}

/// Checks that the ranges end at or below `to`, in ascending order and without overlap.
fn ascending<'a, T: 'a>(ranges: impl Iterator<Item = &'a &'a LiveRange<T>>, to: u64) -> Result<(), String> {
    let mut end = 0;
    for range in ranges {
        check(range.start >= end, || format!("{range:?} starts before {end:#x}"))?;
        end = range.end();
    }
    check(end <= to, || format!("the ranges end at {end:#x}, which exceeds {to:#x}"))
}
