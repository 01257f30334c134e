//! Bytes of records.

use super::MAX_NAME_LEN;
use super::record::{Action, Allocation, Heap, Record};
use super::request::{Asked, BareMemory, Description, Refusal};
use super::varint::{difference, push};

/// Values of the previous record, from which times and ids are counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Previous {
    pub(super) time_us: u64,
    pub(super) allocation: u64,
    pub(super) heap: u64,
    pub(super) set: u64,
}

/// Bytes that stand for actions.
pub(super) mod tag {
    pub(in crate::session) const ALLOCATE: u8 = 1;
    pub(in crate::session) const FREE: u8 = 2;
    pub(in crate::session) const CREATE_HEAP: u8 = 3;
    pub(in crate::session) const DESTROY_HEAP: u8 = 4;
    pub(in crate::session) const PLACE: u8 = 5;
    pub(in crate::session) const CONTENTS: u8 = 6;
    pub(in crate::session) const DEFINE_SET: u8 = 7;
    pub(in crate::session) const SUBMIT: u8 = 8;
    pub(in crate::session) const HEAP_ADDRESS: u8 = 9;
    pub(in crate::session) const ALLOCATION_ADDRESS: u8 = 10;
    pub(in crate::session) const DESCRIBE: u8 = 11;
    pub(in crate::session) const NAME: u8 = 12;
    pub(in crate::session) const SELECT_ALLOCATOR: u8 = 13;
    pub(in crate::session) const SET_OPTION: u8 = 14;
    pub(in crate::session) const FRAME: u8 = 15;
    pub(in crate::session) const IDLE_PERIOD: u8 = 16;
    pub(in crate::session) const RELEASE_HEAPS: u8 = 17;
    pub(in crate::session) const MAKE_RESIDENT: u8 = 18;
    pub(in crate::session) const EVICT: u8 = 19;
    pub(in crate::session) const COUNT: u8 = 20;
    pub(in crate::session) const NEST_ALLOCATOR: u8 = 21;
    pub(in crate::session) const DROP_ALLOCATOR: u8 = 22;
    pub(in crate::session) const CREATE_POOL: u8 = 23;
    pub(in crate::session) const DROP_POOL: u8 = 24;
    pub(in crate::session) const USE_POOL: u8 = 25;
    pub(in crate::session) const RELEASE_POOL: u8 = 26;
    pub(in crate::session) const PREFETCH_HEAP: u8 = 27;
    pub(in crate::session) const HEAP_TIME: u8 = 28;
    pub(in crate::session) const REASON: u8 = 29;
    pub(in crate::session) const ASK: u8 = 30;
    pub(in crate::session) const REFUSE: u8 = 31;
    pub(in crate::session) const REFUSE_POOL: u8 = 32;
    pub(in crate::session) const BEGIN_DEFRAGMENTATION: u8 = 33;
    pub(in crate::session) const STEP_DEFRAGMENTATION: u8 = 34;
    pub(in crate::session) const COMPLETE_MOVE: u8 = 35;
    pub(in crate::session) const ABANDON_MOVE: u8 = 36;
    pub(in crate::session) const END_DEFRAGMENTATION: u8 = 37;
    pub(in crate::session) const RESERVE: u8 = 38;
    pub(in crate::session) const MAP_TILES: u8 = 39;
    pub(in crate::session) const UNRESERVE: u8 = 40;
}

/// Appends a record, whose time is not less than the previous one.
pub(super) fn encode(bytes: &mut Vec<u8>, previous: &mut Previous, record: &Record) {
    let Record { time_us, action } = record;
    bytes.push(match action {
        Action::Allocate(_) => tag::ALLOCATE,
        Action::Free { .. } => tag::FREE,
        Action::CreateHeap(_) => tag::CREATE_HEAP,
        Action::DestroyHeap { .. } => tag::DESTROY_HEAP,
        Action::Place { .. } => tag::PLACE,
        Action::Contents { .. } => tag::CONTENTS,
        Action::DefineSet { .. } => tag::DEFINE_SET,
        Action::Submit { .. } => tag::SUBMIT,
        Action::HeapAddress { .. } => tag::HEAP_ADDRESS,
        Action::AllocationAddress { .. } => tag::ALLOCATION_ADDRESS,
        Action::Describe(_) => tag::DESCRIBE,
        Action::Name { .. } => tag::NAME,
        Action::SelectAllocator { .. } => tag::SELECT_ALLOCATOR,
        Action::SetOption { .. } => tag::SET_OPTION,
        Action::Frame => tag::FRAME,
        Action::IdlePeriod => tag::IDLE_PERIOD,
        Action::ReleaseHeaps { .. } => tag::RELEASE_HEAPS,
        Action::MakeResident { .. } => tag::MAKE_RESIDENT,
        Action::Evict { .. } => tag::EVICT,
        Action::Count { .. } => tag::COUNT,
        Action::NestAllocator { .. } => tag::NEST_ALLOCATOR,
        Action::DropAllocator => tag::DROP_ALLOCATOR,
        Action::CreatePool { .. } => tag::CREATE_POOL,
        Action::DropPool { .. } => tag::DROP_POOL,
        Action::UsePool { .. } => tag::USE_POOL,
        Action::ReleasePool { .. } => tag::RELEASE_POOL,
        Action::PrefetchHeap { .. } => tag::PREFETCH_HEAP,
        Action::HeapTime { .. } => tag::HEAP_TIME,
        Action::Reason { .. } => tag::REASON,
        Action::Ask { .. } => tag::ASK,
        Action::Refuse(_) => tag::REFUSE,
        Action::RefusePool { .. } => tag::REFUSE_POOL,
        Action::BeginDefragmentation { .. } => tag::BEGIN_DEFRAGMENTATION,
        Action::StepDefragmentation { .. } => tag::STEP_DEFRAGMENTATION,
        Action::CompleteMove { .. } => tag::COMPLETE_MOVE,
        Action::AbandonMove { .. } => tag::ABANDON_MOVE,
        Action::EndDefragmentation { .. } => tag::END_DEFRAGMENTATION,
        Action::Reserve { .. } => tag::RESERVE,
        Action::MapTiles { .. } => tag::MAP_TILES,
        Action::Unreserve { .. } => tag::UNRESERVE,
    });
    push(bytes, time_us - previous.time_us);
    previous.time_us = *time_us;
    let Previous { allocation: last_allocation, heap: last_heap, set: last_set, .. } = previous;
    match action {
        Action::Allocate(Allocation { id, size, kind, heap_type, flags, name }) => {
            push_id(bytes, last_allocation, *id);
            push(bytes, *size);
            bytes.extend([*kind as u8, *heap_type as u8]);
            push(bytes, (*flags).into());
            push_name(bytes, name.as_deref());
        }
        Action::Free { allocation } => push_id(bytes, last_allocation, *allocation),
        Action::CreateHeap(Heap { id, size, alignment, heap_type, flags, name }) => {
            push_id(bytes, last_heap, *id);
            push(bytes, *size);
            push(bytes, *alignment);
            bytes.push(*heap_type as u8);
            push(bytes, (*flags).into());
            push_name(bytes, name.as_deref());
        }
        Action::DestroyHeap { heap } => push_id(bytes, last_heap, *heap),
        Action::Place { allocation, heap, offset } => {
            push_id(bytes, last_allocation, *allocation);
            push_id(bytes, last_heap, *heap);
            push(bytes, *offset);
        }
        Action::Contents { allocation, offset, bytes: contents } => {
            push_id(bytes, last_allocation, *allocation);
            push(bytes, *offset);
            push(bytes, contents.len() as u64);
            bytes.extend(contents);
        }
        Action::DefineSet { set, heaps } => {
            push_id(bytes, last_set, *set);
            push(bytes, heaps.len() as u64);
            heaps.iter().for_each(|&heap| push_id(bytes, last_heap, heap));
        }
        Action::Submit { queue, fence_value, sets } => {
            push(bytes, *queue);
            push(bytes, *fence_value);
            push(bytes, sets.len() as u64);
            sets.iter().for_each(|&set| push_id(bytes, last_set, set));
        }
        Action::HeapAddress { heap, address, size } => {
            push_id(bytes, last_heap, *heap);
            push(bytes, *address);
            push(bytes, *size);
        }
        Action::AllocationAddress { allocation, address, size } => {
            push_id(bytes, last_allocation, *allocation);
            push(bytes, *address);
            push(bytes, *size);
        }
        Action::Describe(description) => push_description(bytes, last_allocation, description),
        Action::Name { allocation, name } => {
            push_id(bytes, last_allocation, *allocation);
            push_name(bytes, Some(name));
        }
        Action::SelectAllocator { allocator } => push(bytes, *allocator),
        Action::SetOption { name, value } => {
            push_name(bytes, Some(name));
            push_name(bytes, Some(value));
        }
        Action::NestAllocator { parent } => push(bytes, *parent),
        Action::CreatePool { pool, options } => {
            push(bytes, *pool);
            push_options(bytes, options);
        }
        Action::RefusePool { options } => push_options(bytes, options),
        Action::DropPool { pool } | Action::ReleasePool { pool } => push(bytes, *pool),
        Action::HeapTime { heap_type, is_free, nanoseconds } => {
            bytes.extend([*heap_type as u8, u8::from(*is_free)]);
            push(bytes, *nanoseconds);
        }
        Action::UsePool { allocation, pool } => {
            push_id(bytes, last_allocation, *allocation);
            push(bytes, *pool);
        }
        Action::PrefetchHeap { heap, pool, is_shared } => {
            push_id(bytes, last_heap, *heap);
            bytes.push(u8::from(*is_shared));
            push_optional(bytes, *pool);
        }
        Action::Reason { allocation, reason } => {
            push_id(bytes, last_allocation, *allocation);
            bytes.push(*reason as u8);
        }
        Action::Ask { allocation, request } => {
            push_id(bytes, last_allocation, *allocation);
            push_asked(bytes, request);
        }
        Action::Refuse(refusal) => {
            let Refusal { description, resource_flags, request, pool, is_out_of_memory } = &**refusal;
            // No allocation, so that its id is not one from which others are counted.
            push_description(bytes, &mut 0, description);
            push(bytes, (*resource_flags).into());
            push_asked(bytes, request);
            push_optional(bytes, *pool);
            bytes.push(u8::from(*is_out_of_memory));
        }
        Action::BeginDefragmentation { run, pool } => {
            push(bytes, *run);
            push_optional(bytes, *pool);
        }
        Action::StepDefragmentation { run, moves, bytes: size, time_checks, planned } => {
            for value in [*run, (*moves).into(), *size, (*planned).into()] {
                push(bytes, value);
            }
            push_optional(bytes, *time_checks);
        }
        Action::CompleteMove { run, number, allocation } => {
            push(bytes, *run);
            push(bytes, *number);
            push_id(bytes, last_allocation, *allocation);
        }
        Action::AbandonMove { run, number } => {
            push(bytes, *run);
            push(bytes, *number);
        }
        Action::EndDefragmentation { run } => push(bytes, *run),
        Action::Reserve { resource, tiles, kind, name } => {
            push(bytes, *resource);
            push(bytes, (*tiles).into());
            bytes.push(*kind as u8);
            push_name(bytes, name.as_deref());
        }
        Action::MapTiles { resource, first, count, memory } => {
            push(bytes, *resource);
            push(bytes, (*first).into());
            push(bytes, (*count).into());
            bytes.push(u8::from(memory.is_some()));
            if let Some((allocation, tile)) = memory {
                push_id(bytes, last_allocation, *allocation);
                push(bytes, (*tile).into());
            }
        }
        Action::Unreserve { resource } => push(bytes, *resource),
        Action::DropAllocator | Action::Frame | Action::IdlePeriod => {}
        Action::ReleaseHeaps { bytes: released } => push(bytes, *released),
        Action::MakeResident { heap } | Action::Evict { heap } => push_id(bytes, last_heap, *heap),
        Action::Count { counter, value } => {
            bytes.push(*counter as u8);
            push(bytes, *value);
        }
    }
}

fn push_description(bytes: &mut Vec<u8>, last_allocation: &mut u64, description: &Description) {
    let it = description;
    push_id(bytes, last_allocation, it.allocation);
    bytes.push(it.placement.map_or(0, |placement| placement as u8));
    for value in [it.allocation_flags.into(), it.heap_flags.into(), it.padding] {
        push(bytes, value);
    }
    bytes.push(it.strategy);
    for value in [it.initial_state.into(), it.dimension.into(), it.alignment, it.width, it.height.into()] {
        push(bytes, value);
    }
    for value in [it.depth_or_array_size, it.mip_levels] {
        push(bytes, value.into());
    }
    for value in [it.format, it.sample_count, it.sample_quality, it.layout] {
        push(bytes, value.into());
    }
}

fn push_asked(bytes: &mut Vec<u8>, asked: &Asked) {
    let Asked { heap_types, uses, memory } = asked;
    push(bytes, heap_types.len() as u64);
    bytes.extend(heap_types.iter().map(|&heap_type| heap_type as u8));
    push(bytes, (*uses).into());
    bytes.push(u8::from(memory.is_some()));
    if let Some(BareMemory { resources, alignment }) = memory {
        bytes.push(*resources);
        push(bytes, *alignment);
    }
}

fn push_options(bytes: &mut Vec<u8>, options: &[(Box<str>, Box<str>)]) {
    push(bytes, options.len() as u64);
    for (name, value) in options {
        push_name(bytes, Some(name));
        push_name(bytes, Some(value));
    }
}

/// Appends whether there is a value, and the value.
fn push_optional(bytes: &mut Vec<u8>, value: Option<u64>) {
    bytes.push(u8::from(value.is_some()));
    if let Some(value) = value {
        push(bytes, value);
    }
}

fn push_id(bytes: &mut Vec<u8>, previous: &mut u64, id: u64) {
    push(bytes, difference(*previous, id));
    *previous = id;
}

fn push_name(bytes: &mut Vec<u8>, name: Option<&str>) {
    let name = name.unwrap_or_default();
    let len = (0..=name.len().min(MAX_NAME_LEN)).rev().find(|&len| name.is_char_boundary(len)).unwrap_or(0);
    push(bytes, len as u64);
    bytes.extend(&name.as_bytes()[..len]);
}
