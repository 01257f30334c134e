//! Full check of the invariants that the module page lists.

use super::super::slots::SlotIndex;
use super::live_ranges::{Chain, LiveRange, LiveRanges};

pub(super) fn check(holds: bool, finding: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(finding()) }
}

/// Checks the links, stamps and counters, and returns the live ranges of each chain from oldest to newest.
pub(super) fn chains<const CHAINS: usize>(
    live: &LiveRanges,
    which: [Chain; CHAINS],
) -> Result<[Vec<LiveRange>; CHAINS], String> {
    let mut found = [const { Vec::new() }; CHAINS];
    for (chain, found) in which.into_iter().zip(&mut found) {
        *found = chain_of(live, chain)?;
    }
    let count = found.iter().map(Vec::len).sum::<usize>();
    check(u64::try_from(count) == Ok(live.count()), || {
        format!("found {count} linked ranges, recorded {}", live.count())
    })?;
    let used: u64 = found.iter().flatten().map(|range| range.size).sum();
    check(used == live.used, || format!("found {used} used bytes, recorded {}", live.used))?;
    live.slots.audit_vacant()?;
    Ok(found)
}

fn chain_of(live: &LiveRanges, chain: Chain) -> Result<Vec<LiveRange>, String> {
    let note = |index: SlotIndex| {
        live.slots.get(index).copied().ok_or_else(|| format!("{index:?} is not in the table"))
    };
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

/// Checks that the ranges lie between two offsets, in ascending order and without overlap.
pub(super) fn ascending<'a>(
    ranges: impl Iterator<Item = &'a LiveRange>,
    from: u64,
    to: u64,
) -> Result<(), String> {
    let mut end = from;
    for range in ranges {
        check(range.start >= end, || format!("{range:?} starts before {end:#x}"))?;
        end = range.end();
    }
    check(end <= to, || format!("the ranges end at {end:#x}, which exceeds {to:#x}"))
}
