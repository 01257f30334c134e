//! The string of statistics: JSON in the form that D3D12MA's tools read.

use std::fmt::{Display, Write as _};

use heapwright::d3d12::*;
use heapwright::report::heap_flag_names;
use heapwright::{Architecture, SegmentGroup};

use super::allocation::lock;
use super::descriptors::pool_flag;
use super::pool::PoolState;
use super::state::State;
use super::statistics::{Block, DetailedStatistics, HEAP_TYPES, Range, Snapshot, Used};
use crate::debug_name::decode_terminated;

/// A text of JSON that is being written: objects and lists of values.
#[derive(Default)]
pub(super) struct Json {
    text: String,
    /// Whether the next value or name is the first one.
    is_first: bool,
}

impl Json {
    fn separate(&mut self) {
        if !std::mem::take(&mut self.is_first) && !self.text.is_empty() {
            self.text.push_str(", ");
        }
    }

    fn within(&mut self, [open, close]: [char; 2], write: impl FnOnce(&mut Self)) {
        self.text.push(open);
        self.is_first = true;
        write(self);
        self.text.push(close);
        self.is_first = false;
    }

    fn quoted(&mut self, text: &str) {
        self.text.push('"');
        for character in text.chars() {
            match character {
                '"' | '\\' | '/' => self.text.extend(['\\', character]),
                '\n' => self.text.push_str("\\n"),
                '\r' => self.text.push_str("\\r"),
                '\t' => self.text.push_str("\\t"),
                control if control < ' ' => self.number(format_args!("\\u{:04x}", u32::from(control))),
                other => self.text.push(other),
            }
        }
        self.text.push('"');
    }

    fn number(&mut self, number: impl Display) {
        // Writing to a string cannot fail.
        let _ = write!(self.text, "{number}");
    }

    fn name(&mut self, name: &str) {
        self.separate();
        self.quoted(name);
        self.text.push_str(": ");
    }

    /// Writes a member that is a number or a truth value.
    fn value(&mut self, name: &str, number: impl Display) {
        self.name(name);
        self.number(number);
    }

    fn string(&mut self, name: &str, text: &str) {
        self.name(name);
        self.quoted(text);
    }

    fn object(&mut self, name: &str, write: impl FnOnce(&mut Self)) {
        self.name(name);
        self.within(['{', '}'], write);
    }

    fn list(&mut self, name: &str, write: impl FnOnce(&mut Self)) {
        self.name(name);
        self.within(['[', ']'], write);
    }

    /// Writes an element of a list.
    fn element(&mut self, write: impl FnOnce(&mut Self)) {
        self.separate();
        self.within(['{', '}'], write);
    }

    fn statistics(&mut self, name: &str, sum: &DetailedStatistics) {
        self.object(name, |json| {
            json.value("BlockCount", sum.stats.block_count);
            json.value("BlockBytes", sum.stats.block_bytes);
            json.value("AllocationCount", sum.stats.allocation_count);
            json.value("AllocationBytes", sum.stats.allocation_bytes);
            json.value("UnusedRangeCount", sum.unused_range_count);
            if sum.stats.allocation_count > 1 {
                json.value("AllocationSizeMin", sum.allocation_size_min);
                json.value("AllocationSizeMax", sum.allocation_size_max);
            }
            if sum.unused_range_count > 1 {
                json.value("UnusedRangeSizeMin", sum.unused_range_size_min);
                json.value("UnusedRangeSizeMax", sum.unused_range_size_max);
            }
        });
    }

    /// Writes the members of a block.
    fn block(&mut self, block: &Block, allocation: impl Fn(&mut Self, &Used)) {
        let ranges = block.ranges();
        let used: u64 = block.allocations.iter().map(|used| used.size).sum();
        self.value("TotalBytes", block.size);
        self.value("UnusedBytes", block.size.saturating_sub(used));
        self.value("Allocations", block.allocations.len());
        self.value("UnusedRanges", ranges.len() - block.allocations.len());
        self.list("Suballocations", |json| {
            for range in &ranges {
                json.element(|json| match range {
                    Range::Used(used) => {
                        json.value("Offset", used.offset);
                        allocation(json, used);
                    }
                    Range::Unused(offset, size) => {
                        json.value("Offset", offset);
                        json.string("Type", "FREE");
                        json.value("Size", size);
                    }
                });
            }
        });
    }
}

/// Returns the string of a virtual block.
pub(super) fn of_virtual_block(block: &Block) -> String {
    let mut json = Json::default();
    json.within(['{', '}'], |json| {
        json.block(block, |json, used| {
            json.value("Size", used.size);
            json.value("CustomData", used.details.as_ref().map_or(0, |details| details.private_data));
        });
    });
    json.text
}

/// Returns the string of an allocator, which begins with a byte order mark.
pub(super) fn of_allocator(state: &State, is_detailed: bool) -> String {
    let snapshot = Snapshot::of(state, is_detailed);
    let mut json = Json::default();
    json.within(['{', '}'], |json| {
        json.object("General", |json| general(json, state));
        json.statistics("Total", &snapshot.sum(|_| true));
        json.object("MemoryInfo", |json| memory_info(json, state, &snapshot));
        if is_detailed {
            let pools = state.pools();
            json.object("DefaultPools", |json| default_pools(json, state, &snapshot));
            json.object("CustomPools", |json| custom_pools(json, &snapshot, &pools));
        }
    });
    json.text.insert(0, '\u{feff}');
    json.text
}

const TYPE_NAMES: [&str; HEAP_TYPES] = ["DEFAULT", "UPLOAD", "READBACK", "CUSTOM", "GPU_UPLOAD"];

fn general(json: &mut Json, state: &State) {
    let (desc, options, caps) = (&state.adapter_desc, &state.options, state.allocator.caps());
    let name = desc.Description.split(|&unit| unit == 0).next().unwrap_or_default();
    json.string("API", "Direct3D 12");
    json.string("GPU", &String::from_utf16_lossy(name));
    json.value("DedicatedVideoMemory", desc.DedicatedVideoMemory);
    json.value("DedicatedSystemMemory", desc.DedicatedSystemMemory);
    json.value("SharedSystemMemory", desc.SharedSystemMemory);
    json.value("ResourceHeapTier", options.ResourceHeapTier);
    json.value("ResourceBindingTier", options.ResourceBindingTier);
    json.value("TiledResourcesTier", options.TiledResourcesTier);
    json.value("UMA", caps.architecture != Architecture::Discrete);
    json.value("CacheCoherentUMA", caps.architecture == Architecture::CacheCoherentUma);
    json.value("GPUUploadHeapSupported", caps.gpu_upload_heaps);
    json.value("TightAlignmentSupported", caps.tight_alignment_tier > 0);
}

fn memory_info(json: &mut Json, state: &State, snapshot: &Snapshot) {
    // Memory pools are numbered from the CPU's on.
    let levels: &[_] = match state.allocator.caps().architecture {
        Architecture::Discrete => &[("L0", SegmentGroup::NonLocal), ("L1", SegmentGroup::Local)],
        _ => &[("L0", SegmentGroup::Local)],
    };
    for &(name, group) in levels {
        let (usage, budget) = state.usage_and_budget(group);
        json.object(name, |json| {
            json.object("Budget", |json| {
                json.value("BudgetBytes", budget);
                json.value("UsageBytes", usage);
            });
            json.statistics("Stats", &snapshot.sum(|block| block.group == group));
            json.object("MemoryPools", |json| {
                for (index, name) in TYPE_NAMES.into_iter().enumerate() {
                    let is_of = |block: &Block| block.group == group && block.heap_type == index;
                    if index == 3 || snapshot.blocks.iter().any(is_of) {
                        json.object(name, |json| json.statistics("Stats", &snapshot.sum(is_of)));
                    }
                }
            });
        });
    }
}

fn default_pools(json: &mut Json, state: &State, snapshot: &Snapshot) {
    for (index, name) in TYPE_NAMES.into_iter().enumerate() {
        let is_of = |block: &&Block| block.pool.is_none() && block.heap_type == index;
        if snapshot.blocks.iter().any(|block| is_of(&block)) {
            let preferred = state.allocator.desc().preferred_heap_size.map_or(0, |size| size.get());
            json.object(name, |json| {
                contents(json, &[], preferred, snapshot.blocks.iter().filter(is_of));
            });
        }
    }
}

fn custom_pools(json: &mut Json, snapshot: &Snapshot, pools: &[std::sync::Arc<PoolState>]) {
    for (number, name) in (1..).zip(TYPE_NAMES) {
        let mut of_type = pools.iter().filter(|pool| pool.desc.properties.Type == number).peekable();
        if of_type.peek().is_none() {
            continue;
        }
        json.list(name, |json| {
            for (index, pool) in of_type.enumerate() {
                json.element(|json| {
                    let name = lock(&pool.name).as_deref().map(decode_terminated);
                    let separator = if name.is_some() { " - " } else { "" };
                    json.string("Name", &format!("{index}{separator}{}", name.unwrap_or_default()));
                    let mut flags = heap_flag_names(pool.desc.heap_flags);
                    if pool.has(pool_flag::LINEAR) {
                        flags.push("ALGORITHM_LINEAR".into());
                    }
                    let is_of = |block: &&Block| block.pool == Some(pool.pool.number());
                    contents(json, &flags, pool.desc.block_size, snapshot.blocks.iter().filter(is_of));
                });
            }
        });
    }
}

/// Writes the members of a pool.
fn contents<'a>(json: &mut Json, flags: &[String], preferred: u64, blocks: impl Iterator<Item = &'a Block>) {
    let (committed, heaps): (Vec<_>, Vec<_>) = blocks.partition(|block| block.is_committed);
    json.list("Flags", |json| {
        for flag in flags {
            json.separate();
            json.quoted(flag);
        }
    });
    json.value("PreferredBlockSize", preferred);
    json.object("Blocks", |json| {
        for (index, block) in heaps.iter().enumerate() {
            json.object(&index.to_string(), |json| json.block(block, allocation));
        }
    });
    json.list("DedicatedAllocations", |json| {
        for used in committed.iter().flat_map(|block| &block.allocations) {
            json.element(|json| allocation(json, used));
        }
    });
}

/// Writes the members of an allocation, apart from its offset.
fn allocation(json: &mut Json, used: &Used) {
    let Some(details) = &used.details else { return };
    let resource = details.resource.as_ref();
    json.string(
        "Type",
        match resource.map(|desc| desc.Dimension) {
            Some(D3D12_RESOURCE_DIMENSION_BUFFER) => "BUFFER",
            Some(D3D12_RESOURCE_DIMENSION_TEXTURE1D) => "TEXTURE1D",
            Some(D3D12_RESOURCE_DIMENSION_TEXTURE2D) => "TEXTURE2D",
            Some(D3D12_RESOURCE_DIMENSION_TEXTURE3D) => "TEXTURE3D",
            _ => "UNKNOWN",
        },
    );
    json.value("Size", used.size);
    if let Some(desc) = resource {
        json.value("Usage", desc.Flags);
        json.value("Layout", desc.Layout);
    }
    if details.private_data != 0 {
        json.string("CustomData", &format!("{:#x}", details.private_data));
    }
    if let Some(name) = &details.name {
        json.string("Name", name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped_and_members_separated() {
        let mut json = Json::default();
        json.within(['{', '}'], |json| {
            json.string("a/b", "\"\\\n\r\t\u{1}ü");
            json.list("l", |json| {
                json.element(|json| json.value("x", 1));
                json.element(|_| {});
            });
            json.value("t", true);
        });
        let expected = "{\"a\\/b\": \"\\\"\\\\\\n\\r\\t\\u0001ü\", \"l\": [{\"x\": 1}, {}], \"t\": true}";
        assert_eq!(json.text, expected);
        serde_json::from_str::<serde_json::Value>(&json.text).expect("JSON");
    }
}
