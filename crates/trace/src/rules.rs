//! Rules of traces that involve several events.

use heapwright_core::ByteSize;

use crate::error::{Fault, Position};
use crate::event::{AllocationIndex, Event, EventKind};
use crate::ids::{IdNames, Ids};
use crate::session::{MAX_EVENTS, MAX_LIVE};

/// State of the checks that involve several events.
pub(crate) struct Rules {
    /// Converts the number of a line or event to a position for messages.
    position: fn(u64) -> Position,
    previous_time_us: u64,
    ids: Ids,
    /// Lifetimes by allocation index.
    lifetimes: Vec<Lifetime>,
    live_count: u32,
    live_bytes: u64,
    peak_live_bytes: u64,
}

/// Size of an allocation, and the numbers of the lines or events that create and free it.
struct Lifetime {
    size_bytes: u64,
    alloc: u32,
    /// 0 while the allocation is live.
    free: u32,
}

impl Rules {
    pub(crate) fn new(position: fn(u64) -> Position) -> Self {
        Self {
            position,
            previous_time_us: 0,
            ids: Ids::default(),
            lifetimes: Vec::new(),
            live_count: 0,
            live_bytes: 0,
            peak_live_bytes: 0,
        }
    }

    pub(crate) fn peak_live(&self) -> ByteSize {
        ByteSize::new(self.peak_live_bytes)
    }

    pub(crate) fn allocation_count(&self) -> usize {
        self.lifetimes.len()
    }

    pub(crate) fn into_id_names(self) -> IdNames {
        self.ids.into_names()
    }

    /// Checks an allocation. `number` is that of its line or event, counted from 1.
    pub(crate) fn allocate(
        &mut self,
        number: u32,
        time_us: u64,
        id: u64,
        size_bytes: u64,
    ) -> Result<Event, Fault> {
        self.advance(time_us)?;
        let index = self.ids.insert(id).map_err(|first| {
            let first = (self.position)(self.lifetimes[first.as_usize()].alloc.into());
            format!("id {id} was already allocated on {first}; ids must be unique")
        })?;
        self.lifetimes.push(Lifetime { size_bytes, alloc: number, free: 0 });
        self.live_count += 1;
        if self.live_count > MAX_LIVE {
            let limit = MAX_LIVE;
            return Err(format!("the trace exceeds the limit of {limit} live allocations").into());
        }
        let live = self.live_bytes.checked_add(size_bytes);
        self.live_bytes = live.ok_or("the sum of the sizes of all live allocations exceeds 64 bits")?;
        self.peak_live_bytes = self.peak_live_bytes.max(self.live_bytes);
        Ok(event(time_us, size_bytes, index, EventKind::Alloc))
    }

    /// Checks a free. `size_bytes` is the size if the format repeats it.
    pub(crate) fn free(
        &mut self,
        number: u32,
        time_us: u64,
        id: u64,
        size_bytes: Option<u64>,
    ) -> Result<Event, Fault> {
        self.advance(time_us)?;
        let never = || format!("free of id {id}, which was never allocated");
        let index = self.ids.find(id).ok_or_else(never)?;
        let lifetime = &mut self.lifetimes[index.as_usize()];
        let &mut Lifetime { size_bytes: allocated, alloc, free } = lifetime;
        if free != 0 {
            let freed = (self.position)(free.into());
            return Err(format!("free of id {id}, which was already freed on {freed}").into());
        }
        if let Some(found) = size_bytes.filter(|&found| found != allocated) {
            let on = (self.position)(alloc.into());
            let rule = format!(
                "free of id {id} has size_bytes {found}, but {allocated} bytes were allocated on {on}"
            );
            return Err(rule.into());
        }
        lifetime.free = number;
        self.live_count -= 1;
        self.live_bytes -= lifetime.size_bytes;
        Ok(event(time_us, lifetime.size_bytes, index, EventKind::Free))
    }

    fn advance(&mut self, time_us: u64) -> Result<(), Fault> {
        if time_us < self.previous_time_us {
            return Err(time_goes_back(self.previous_time_us, time_us));
        }
        self.previous_time_us = time_us;
        Ok(())
    }
}

pub(crate) fn too_many_events() -> Fault {
    format!("the trace exceeds the limit of {MAX_EVENTS} events").into()
}

pub(crate) fn time_goes_back(previous: u64, found: u64) -> Fault {
    format!("time_us decreases from {previous} to {found}; events must be in order of time").into()
}

fn event(time_us: u64, size_bytes: u64, allocation: AllocationIndex, kind: EventKind) -> Event {
    Event { time_us, size: ByteSize::new(size_bytes), allocation, kind }
}
