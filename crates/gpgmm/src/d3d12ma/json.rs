//! The string of statistics: JSON in the form that D3D12MA's tools read.

use heapwright::d3d12::*;
use heapwright::report::heap_flag_names;
use heapwright::{Architecture, SegmentGroup};
use serde_json::{Map, Value, json};

use super::allocation::lock;
use super::descriptors::pool_flag;
use super::state::State;
use super::statistics::{Block, DetailedStatistics, HEAP_TYPES, Range, Snapshot, Used};
use crate::debug_name::decode_terminated;

const TYPE_NAMES: [&str; HEAP_TYPES] = ["DEFAULT", "UPLOAD", "READBACK", "CUSTOM", "GPU_UPLOAD"];

/// Returns the string of a virtual block.
pub(super) fn of_virtual_block(of: &Block) -> String {
    text(&block(of, |used| json!({ "Size": used.size, "CustomData": used.private_data })))
}

/// Returns the string of an allocator, which begins with a byte order mark.
pub(super) fn of_allocator(state: &State, is_detailed: bool) -> String {
    let snapshot = Snapshot::of(state, is_detailed);
    let mut members = json!({
        "General": general(state),
        "Total": statistics(&snapshot.sum(|_| true)),
        "MemoryInfo": memory_info(state, &snapshot),
    });
    if is_detailed {
        members["DefaultPools"] = default_pools(state, &snapshot);
        members["CustomPools"] = custom_pools(state, &snapshot);
    }
    format!("\u{feff}{}", text(&members))
}

/// Returns the text, in which slashes are escaped as in D3D12MA's. They are in strings alone.
fn text(value: &Value) -> String {
    format!("{value:#}").replace('/', "\\/")
}

fn statistics(sum: &DetailedStatistics) -> Value {
    let mut members = json!({
        "BlockCount": sum.stats.block_count,
        "BlockBytes": sum.stats.block_bytes,
        "AllocationCount": sum.stats.allocation_count,
        "AllocationBytes": sum.stats.allocation_bytes,
        "UnusedRangeCount": sum.unused_range_count,
    });
    if sum.stats.allocation_count > 1 {
        members["AllocationSizeMin"] = sum.allocation_size_min.into();
        members["AllocationSizeMax"] = sum.allocation_size_max.into();
    }
    if sum.unused_range_count > 1 {
        members["UnusedRangeSizeMin"] = sum.unused_range_size_min.into();
        members["UnusedRangeSizeMax"] = sum.unused_range_size_max.into();
    }
    members
}

fn block(block: &Block, allocation: impl Fn(&Used) -> Value) -> Value {
    let ranges = block.ranges();
    let used: u64 = block.allocations.iter().map(|used| used.size).sum();
    let range = |range: &Range<'_>| match *range {
        Range::Used(used) => {
            let mut members = allocation(used);
            members["Offset"] = used.offset.into();
            members
        }
        Range::Unused(offset, size) => json!({ "Offset": offset, "Type": "FREE", "Size": size }),
    };
    json!({
        "TotalBytes": block.size,
        "UnusedBytes": block.size.saturating_sub(used),
        "Allocations": block.allocations.len(),
        "UnusedRanges": ranges.len() - block.allocations.len(),
        "Suballocations": ranges.iter().map(range).collect::<Value>(),
    })
}

fn general(state: &State) -> Value {
    let (desc, options, caps) = (&state.adapter_desc, &state.options, state.allocator.caps());
    let name = desc.Description.split(|&unit| unit == 0).next().unwrap_or_default();
    json!({
        "API": "Direct3D 12",
        "GPU": String::from_utf16_lossy(name),
        "DedicatedVideoMemory": desc.DedicatedVideoMemory,
        "DedicatedSystemMemory": desc.DedicatedSystemMemory,
        "SharedSystemMemory": desc.SharedSystemMemory,
        "ResourceHeapTier": options.ResourceHeapTier,
        "ResourceBindingTier": options.ResourceBindingTier,
        "TiledResourcesTier": options.TiledResourcesTier,
        "UMA": caps.architecture != Architecture::Discrete,
        "CacheCoherentUMA": caps.architecture == Architecture::CacheCoherentUma,
        "GPUUploadHeapSupported": caps.gpu_upload_heaps,
        "TightAlignmentSupported": caps.tight_alignment_tier > 0,
    })
}

fn memory_info(state: &State, snapshot: &Snapshot) -> Value {
    // Memory pools are numbered from the CPU's on.
    let groups: &[_] = match state.allocator.caps().architecture {
        Architecture::Discrete => &[SegmentGroup::NonLocal, SegmentGroup::Local],
        _ => &[SegmentGroup::Local],
    };
    let of_group = |&group: &SegmentGroup| {
        let (usage, budget) = state.usage_and_budget(group);
        let mut pools = Map::new();
        for (index, name) in TYPE_NAMES.into_iter().enumerate() {
            let is_of = |block: &Block| block.group == group && block.heap_type == index;
            if index == 3 || snapshot.blocks.iter().any(is_of) {
                pools.insert(name.into(), json!({ "Stats": statistics(&snapshot.sum(is_of)) }));
            }
        }
        json!({
            "Budget": { "BudgetBytes": budget, "UsageBytes": usage },
            "Stats": statistics(&snapshot.sum(|block| block.group == group)),
            "MemoryPools": pools,
        })
    };
    groups.iter().enumerate().map(|(level, group)| (format!("L{level}"), of_group(group))).collect()
}

fn default_pools(state: &State, snapshot: &Snapshot) -> Value {
    let mut pools = Map::new();
    for (index, name) in TYPE_NAMES.into_iter().enumerate() {
        let is_of = |block: &&Block| block.pool.is_none() && block.heap_type == index;
        let mut blocks = snapshot.blocks.iter().filter(is_of).peekable();
        if blocks.peek().is_some() {
            let preferred = state.allocator.desc().preferred_heap_size.map_or(0, |size| size.get());
            pools.insert(name.into(), pool(&[], preferred, blocks));
        }
    }
    pools.into()
}

fn custom_pools(state: &State, snapshot: &Snapshot) -> Value {
    let (mut by_type, pools) = (Map::new(), state.pools());
    for (number, type_name) in (1..).zip(TYPE_NAMES) {
        let of_type = pools.iter().filter(|pool| pool.desc.properties.Type == number).enumerate();
        let of_type = of_type.map(|(index, custom)| {
            let name = lock(&custom.name).as_deref().map(decode_terminated);
            let mut flags = heap_flag_names(custom.desc.heap_flags);
            if custom.desc.flags & pool_flag::LINEAR != 0 {
                flags.push("ALGORITHM_LINEAR".into());
            }
            let is_of = |block: &&Block| block.pool == Some(custom.pool.number());
            let mut members = pool(&flags, custom.desc.block_size, snapshot.blocks.iter().filter(is_of));
            members["Name"] = name.map_or(format!("{index}"), |name| format!("{index} - {name}")).into();
            members
        });
        let of_type: Vec<_> = of_type.collect();
        if !of_type.is_empty() {
            by_type.insert(type_name.into(), of_type.into());
        }
    }
    by_type.into()
}

fn pool<'a>(flags: &[String], preferred: u64, blocks: impl Iterator<Item = &'a Block>) -> Value {
    let (committed, heaps): (Vec<_>, Vec<_>) = blocks.partition(|block| block.is_committed);
    let numbered = |(index, heap): (usize, &&Block)| (index.to_string(), block(heap, allocation));
    json!({
        "Flags": flags,
        "PreferredBlockSize": preferred,
        "Blocks": heaps.iter().enumerate().map(numbered).collect::<Value>(),
        "DedicatedAllocations": committed.iter().flat_map(|block| &block.allocations).map(allocation).collect::<Value>(),
    })
}

/// Returns the members of an allocation, apart from its offset.
fn allocation(used: &Used) -> Value {
    let dimension = used.resource.map_or(D3D12_RESOURCE_DIMENSION_UNKNOWN, |desc| desc.Dimension);
    let names = ["UNKNOWN", "BUFFER", "TEXTURE1D", "TEXTURE2D", "TEXTURE3D"];
    let name = names.get(dimension.cast_unsigned() as usize).copied().unwrap_or("UNKNOWN");
    let mut members = json!({ "Type": name, "Size": used.size });
    if let Some(desc) = used.resource {
        members["Usage"] = desc.Flags.into();
        members["Layout"] = desc.Layout.into();
    }
    if used.private_data != 0 {
        members["CustomData"] = format!("{:#x}", used.private_data).into();
    }
    if let Some(name) = &used.name {
        members["Name"] = name.as_str().into();
    }
    members
}
