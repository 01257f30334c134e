//! Records from bytes.

use super::encode::{Previous, tag};
use super::heap_type::HeapType;
use super::record::{Action, Allocation, Counter, Heap, Record, ResourceKind};
use super::request::{Asked, BareMemory, Description, Placement, PlacementReason, Refusal};
use super::varint::{NOT_FILLED, add, take, too_large};
use super::{MAX_CONTENTS_LEN, MAX_HEAP_TYPES, MAX_LIST_LEN, MAX_NAME_LEN, MAX_OPTIONS};
use crate::csv::ZERO_SIZE;
use crate::error::Fault;

/// Removes a record from the start of `bytes`.
pub(super) fn decode(bytes: &mut &[u8], previous: &mut Previous) -> Result<Record, Fault> {
    let tag = take_byte(bytes)?;
    let elapsed = take(bytes)?;
    let time_us = previous.time_us.checked_add(elapsed).ok_or_else(|| too_large(64))?;
    previous.time_us = time_us;
    let Previous { allocation: last_allocation, heap: last_heap, set: last_set, .. } = previous;
    let action = match tag {
        tag::ALLOCATE => {
            let id = take_id(bytes, last_allocation)?;
            let size = take(bytes)?;
            if size == 0 {
                return Err(ZERO_SIZE.into());
            }
            let kind = take_kind(bytes)?;
            let heap_type = take_heap_type(bytes)?;
            let (flags, name) = (take_u32(bytes)?, take_name(bytes)?);
            Action::Allocate(Allocation { id, size, kind, heap_type, flags, name })
        }
        tag::FREE => Action::Free { allocation: take_id(bytes, last_allocation)? },
        tag::CREATE_HEAP => Action::CreateHeap(Heap {
            id: take_id(bytes, last_heap)?,
            size: take(bytes)?,
            alignment: take(bytes)?,
            heap_type: take_heap_type(bytes)?,
            flags: take_u32(bytes)?,
            name: take_name(bytes)?,
        }),
        tag::DESTROY_HEAP => Action::DestroyHeap { heap: take_id(bytes, last_heap)? },
        tag::PLACE => Action::Place {
            allocation: take_id(bytes, last_allocation)?,
            heap: take_id(bytes, last_heap)?,
            offset: take(bytes)?,
        },
        tag::CONTENTS => {
            let (allocation, offset) = (take_id(bytes, last_allocation)?, take(bytes)?);
            let len = take_len(bytes, "contents", MAX_CONTENTS_LEN)?;
            Action::Contents { allocation, offset, bytes: take_bytes(bytes, len)?.to_vec() }
        }
        tag::DEFINE_SET => {
            Action::DefineSet { set: take_id(bytes, last_set)?, heaps: take_ids(bytes, last_heap)? }
        }
        tag::SUBMIT => Action::Submit {
            queue: take(bytes)?,
            fence_value: take(bytes)?,
            sets: take_ids(bytes, last_set)?,
        },
        tag::HEAP_ADDRESS => Action::HeapAddress {
            heap: take_id(bytes, last_heap)?,
            address: take(bytes)?,
            size: take(bytes)?,
        },
        tag::ALLOCATION_ADDRESS => Action::AllocationAddress {
            allocation: take_id(bytes, last_allocation)?,
            address: take(bytes)?,
            size: take(bytes)?,
        },
        tag::DESCRIBE => Action::Describe(Box::new(take_description(bytes, last_allocation)?)),
        tag::NAME => Action::Name {
            allocation: take_id(bytes, last_allocation)?,
            name: take_name(bytes)?.unwrap_or_default(),
        },
        tag::SELECT_ALLOCATOR => Action::SelectAllocator { allocator: take(bytes)? },
        tag::SET_OPTION => Action::SetOption {
            name: take_name(bytes)?.unwrap_or_default(),
            value: take_name(bytes)?.unwrap_or_default(),
        },
        tag::FRAME => Action::Frame,
        tag::IDLE_PERIOD => Action::IdlePeriod,
        tag::RELEASE_HEAPS => Action::ReleaseHeaps { bytes: take(bytes)? },
        tag::MAKE_RESIDENT => Action::MakeResident { heap: take_id(bytes, last_heap)? },
        tag::EVICT => Action::Evict { heap: take_id(bytes, last_heap)? },
        tag::COUNT => {
            let counter = take_byte(bytes)?;
            let found = Counter::ALL.get(usize::from(counter)).copied();
            let counter = found.ok_or_else(|| unknown("counter", counter))?;
            Action::Count { counter, value: take(bytes)? }
        }
        tag::NEST_ALLOCATOR => Action::NestAllocator { parent: take(bytes)? },
        tag::DROP_ALLOCATOR => Action::DropAllocator,
        tag::CREATE_POOL => Action::CreatePool { pool: take(bytes)?, options: take_options(bytes)? },
        tag::DROP_POOL => Action::DropPool { pool: take(bytes)? },
        tag::USE_POOL => Action::UsePool { allocation: take_id(bytes, last_allocation)?, pool: take(bytes)? },
        tag::RELEASE_POOL => Action::ReleasePool { pool: take(bytes)? },
        tag::HEAP_TIME => Action::HeapTime {
            heap_type: take_heap_type(bytes)?,
            is_free: take_bool(bytes)?,
            nanoseconds: take(bytes)?,
        },
        tag::PREFETCH_HEAP => Action::PrefetchHeap {
            heap: take_id(bytes, last_heap)?,
            is_shared: take_bool(bytes)?,
            pool: take_optional(bytes)?,
        },
        tag::REASON => {
            let allocation = take_id(bytes, last_allocation)?;
            let byte = take_byte(bytes)?;
            let found = PlacementReason::ALL.into_iter().find(|&reason| reason as u8 == byte);
            Action::Reason { allocation, reason: found.ok_or_else(|| unknown("reason", byte))? }
        }
        tag::ASK => Action::Ask { allocation: take_id(bytes, last_allocation)?, request: take_asked(bytes)? },
        tag::REFUSE => Action::Refuse(Box::new(Refusal {
            description: take_description(bytes, &mut 0)?,
            resource_flags: take_u32(bytes)?,
            request: take_asked(bytes)?,
            pool: take_optional(bytes)?,
            is_out_of_memory: take_bool(bytes)?,
        })),
        tag::REFUSE_POOL => Action::RefusePool { options: take_options(bytes)? },
        tag::BEGIN_DEFRAGMENTATION => {
            Action::BeginDefragmentation { run: take(bytes)?, pool: take_optional(bytes)? }
        }
        tag::STEP_DEFRAGMENTATION => Action::StepDefragmentation {
            run: take(bytes)?,
            moves: take_u32(bytes)?,
            bytes: take(bytes)?,
            planned: take_u32(bytes)?,
            time_checks: take_optional(bytes)?,
        },
        tag::COMPLETE_MOVE => Action::CompleteMove {
            run: take(bytes)?,
            number: take(bytes)?,
            allocation: take_id(bytes, last_allocation)?,
        },
        tag::ABANDON_MOVE => Action::AbandonMove { run: take(bytes)?, number: take(bytes)? },
        tag::END_DEFRAGMENTATION => Action::EndDefragmentation { run: take(bytes)? },
        tag::RESERVE => Action::Reserve {
            resource: take(bytes)?,
            tiles: take_u32(bytes)?,
            kind: take_kind(bytes)?,
            name: take_name(bytes)?,
        },
        tag::MAP_TILES => Action::MapTiles {
            resource: take(bytes)?,
            first: take_u32(bytes)?,
            count: take_u32(bytes)?,
            memory: match take_bool(bytes)? {
                true => Some((take_id(bytes, last_allocation)?, take_u32(bytes)?)),
                false => None,
            },
        },
        tag::UNRESERVE => Action::Unreserve { resource: take(bytes)? },
        value => return Err(unknown("action", value)),
    };
    Ok(Record { time_us, action })
}

fn take_description(bytes: &mut &[u8], last_allocation: &mut u64) -> Result<Description, Fault> {
    let allocation = take_id(bytes, last_allocation)?;
    let byte = take_byte(bytes)?;
    let placement = Placement::ALL.into_iter().find(|&placement| placement as u8 == byte);
    if placement.is_none() && byte != 0 {
        return Err(unknown("placement", byte));
    }
    Ok(Description {
        allocation,
        placement,
        allocation_flags: take_u32(bytes)?,
        heap_flags: take_u32(bytes)?,
        padding: take(bytes)?,
        strategy: take_byte(bytes)?,
        initial_state: take_u32(bytes)?,
        dimension: take_u32(bytes)?,
        alignment: take(bytes)?,
        width: take(bytes)?,
        height: take_u32(bytes)?,
        depth_or_array_size: take_u16(bytes)?,
        mip_levels: take_u16(bytes)?,
        format: take_u32(bytes)?,
        sample_count: take_u32(bytes)?,
        sample_quality: take_u32(bytes)?,
        layout: take_u32(bytes)?,
    })
}

type Options = Vec<(Box<str>, Box<str>)>;

fn take_options(bytes: &mut &[u8]) -> Result<Options, Fault> {
    let len = take_len(bytes, "a list of options", MAX_OPTIONS)?;
    (0..len)
        .map(|_| Ok((take_name(bytes)?.unwrap_or_default(), take_name(bytes)?.unwrap_or_default())))
        .collect()
}

fn take_asked(bytes: &mut &[u8]) -> Result<Asked, Fault> {
    let len = take_len(bytes, "a list of heap types", MAX_HEAP_TYPES)?;
    let heap_types = (0..len).map(|_| take_heap_type(bytes)).collect::<Result<_, _>>()?;
    let uses = take_u32(bytes)?;
    Ok(Asked { heap_types, uses, memory: take_bool(bytes)?.then(|| take_memory(bytes)).transpose()? })
}

fn take_memory(bytes: &mut &[u8]) -> Result<BareMemory, Fault> {
    Ok(BareMemory { resources: take_byte(bytes)?, alignment: take(bytes)? })
}

fn take_kind(bytes: &mut &[u8]) -> Result<ResourceKind, Fault> {
    let kind = take_byte(bytes)?;
    ResourceKind::from_byte(kind).ok_or_else(|| unknown("resource kind", kind))
}

/// Removes whether there is a value, and the value.
fn take_optional(bytes: &mut &[u8]) -> Result<Option<u64>, Fault> {
    take_bool(bytes)?.then(|| take(bytes)).transpose()
}

fn take_bool(bytes: &mut &[u8]) -> Result<bool, Fault> {
    match take_byte(bytes)? {
        0 => Ok(false),
        1 => Ok(true),
        value => Err(unknown("truth value", value)),
    }
}

fn unknown(what: &str, value: u8) -> Fault {
    format!("unknown {what} {value}").into()
}

fn take_byte(bytes: &mut &[u8]) -> Result<u8, Fault> {
    take_bytes(bytes, 1).map(|first| first[0])
}

fn take_bytes<'a>(bytes: &mut &'a [u8], len: usize) -> Result<&'a [u8], Fault> {
    let (first, rest) = bytes.split_at_checked(len).ok_or(NOT_FILLED)?;
    *bytes = rest;
    Ok(first)
}

fn take_u16(bytes: &mut &[u8]) -> Result<u16, Fault> {
    take(bytes)?.try_into().map_err(|_| too_large(16))
}

fn take_u32(bytes: &mut &[u8]) -> Result<u32, Fault> {
    take(bytes)?.try_into().map_err(|_| too_large(32))
}

fn take_len(bytes: &mut &[u8], what: &str, limit: usize) -> Result<usize, Fault> {
    let len = take(bytes)?;
    let within = usize::try_from(len).ok().filter(|&len| len <= limit);
    within.ok_or_else(|| format!("{what} has length {len}, which exceeds the limit of {limit}").into())
}

fn take_id(bytes: &mut &[u8], previous: &mut u64) -> Result<u64, Fault> {
    *previous = add(*previous, take(bytes)?);
    Ok(*previous)
}

fn take_ids(bytes: &mut &[u8], previous: &mut u64) -> Result<Vec<u64>, Fault> {
    let len = take_len(bytes, "a list", MAX_LIST_LEN)?;
    // Every id has at least one byte, so that a wrong length allocates no more than the block.
    if len > bytes.len() {
        return Err(NOT_FILLED.into());
    }
    // Collecting results would not reserve the memory.
    let mut ids = Vec::with_capacity(len);
    for _ in 0..len {
        ids.push(take_id(bytes, previous)?);
    }
    Ok(ids)
}

fn take_heap_type(bytes: &mut &[u8]) -> Result<HeapType, Fault> {
    let value = take_byte(bytes)?;
    HeapType::from_d3d12(value).ok_or_else(|| unknown("heap type", value))
}

fn take_name(bytes: &mut &[u8]) -> Result<Option<Box<str>>, Fault> {
    let len = take_len(bytes, "a name", MAX_NAME_LEN)?;
    let name = str::from_utf8(take_bytes(bytes, len)?).map_err(|_| "a name is not valid UTF-8")?;
    Ok((!name.is_empty()).then(|| name.into()))
}
