//! Dumps of other allocators as reports: D3D12 Memory Allocator (`Allocator::BuildStatsString`) and Vulkan Memory
//! Allocator (`vmaBuildStatsString`), versions 2 and 3, and their virtual blocks.
//!
//! | in the dump | in the report |
//! |---|---|
//! | a block | a heap |
//! | a dedicated or committed allocation | a committed resource |
//! | `Name`, or `CustomData` without one | the name |
//! | a custom pool | a pool |
//! | `Budget` of `L0`, `L1`, `Heap N` | budget and usage of the segment group |
//! | a memory type of Vulkan, by its flags | the heap type that is most like it |
//!
//! A dump without the map of its blocks (`DetailedMap` of false) has only sums.

use std::collections::BTreeMap;

use heapwright::report::{
    AllocationKind, AllocationReport, AllocatorReport, DeviceReport, HeapReport, HeapTypeName, PoolReport,
    ResourceReport, SegmentGroupReport,
};
use heapwright::{ByteSize, HeapOffset, SegmentGroup};
use heapwright_trace::DumpedBy;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::json::parse;
use crate::{ReportError, check};

/// Converts the JSON of a dump to a report and [checks](check()) it.
///
/// # Errors
///
/// Returns an error if the text is not valid JSON, has no map of blocks, or lists allocations that overlap or are
/// outside of their block.
pub fn from_dump(json: &str, library: DumpedBy) -> Result<AllocatorReport, ReportError> {
    let dump: Dump = parse(json.as_bytes())?;
    let mut report = Builder::new(library, &dump).build(dump)?;
    report.recount();
    check(&report)?;
    Ok(report)
}

/// A dump of any version. Version 2 of D3D12 Memory Allocator has the map in an object of its own.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct Dump {
    general: General,
    memory_info: BTreeMap<String, MemoryHeap>,
    budget: Option<OldBudgets>,
    #[serde(flatten)]
    map: Map,
    detailed_map: Option<Map>,
    /// Memory heaps of version 2 of Vulkan Memory Allocator: `Heap 0` and so on.
    #[serde(flatten)]
    others: BTreeMap<String, Other>,
    /// A virtual block.
    total_bytes: Option<u64>,
    suballocations: Vec<Suballocation>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct General {
    #[serde(rename = "GPU")]
    gpu: String,
    #[serde(rename = "UMA")]
    uma: bool,
    #[serde(rename = "ResourceHeapTier")]
    resource_heap_tier: Option<u8>,
    #[serde(rename = "GPUUploadHeapSupported")]
    gpu_upload_heap_supported: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct MemoryHeap {
    flags: Vec<Flag>,
    budget: Option<Budget>,
    memory_pools: BTreeMap<String, MemoryType>,
    /// Memory types of version 2: `Type 0` and so on.
    #[serde(flatten)]
    others: BTreeMap<String, Other>,
}

/// A flag by name, or the rest of the flags as a number.
#[derive(Deserialize)]
#[serde(untagged)]
enum Flag {
    Name(String),
    Number(u64),
}

impl Flag {
    fn is(&self, name: &str) -> bool {
        matches!(self, Self::Name(found) if found == name)
    }
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct MemoryType {
    flags: Vec<Flag>,
}

/// What has a name that is not known before.
#[derive(Deserialize)]
#[serde(untagged)]
enum Other {
    Heap(MemoryHeap),
    Skipped(IgnoredAny),
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Budget {
    #[serde(alias = "Budget")]
    budget_bytes: u64,
    #[serde(alias = "Usage")]
    usage_bytes: u64,
}

#[derive(Deserialize)]
struct OldBudgets {
    #[serde(rename = "GPU")]
    gpu: Option<Budget>,
    #[serde(rename = "CPU")]
    cpu: Option<Budget>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct Map {
    default_pools: Option<BTreeMap<String, Pool>>,
    custom_pools: Option<BTreeMap<String, Vec<Pool>>>,
    /// Custom pools of version 2 of Vulkan Memory Allocator, by number.
    pools: BTreeMap<String, Pool>,
    /// Version 2 of D3D12 Memory Allocator.
    committed_allocations: BTreeMap<String, Vec<Suballocation>>,
    /// Version 2 of Vulkan Memory Allocator.
    dedicated_allocations: BTreeMap<String, Vec<Suballocation>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct Pool {
    name: Option<String>,
    flags: Vec<Flag>,
    memory_type_index: Option<u32>,
    blocks: BTreeMap<String, Block>,
    dedicated_allocations: Vec<Suballocation>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct Block {
    total_bytes: u64,
    suballocations: Vec<Suballocation>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct Suballocation {
    offset: u64,
    #[serde(rename = "Type")]
    kind: String,
    size: u64,
    usage: u64,
    name: Option<String>,
    #[serde(alias = "UserData")]
    custom_data: Option<CustomData>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum CustomData {
    Text(String),
    Number(u64),
}

/// Heap type and segment group of a pool's memory.
type Memory = (HeapTypeName, SegmentGroup);

struct Builder {
    library: DumpedBy,
    is_uma: bool,
    /// Memory types of Vulkan, by name.
    memory_types: BTreeMap<String, Memory>,
    report: AllocatorReport,
}

impl Builder {
    fn new(library: DumpedBy, dump: &Dump) -> Self {
        let name = match library {
            DumpedBy::D3d12ma => "D3D12 Memory Allocator",
            DumpedBy::Vma => "Vulkan Memory Allocator",
            DumpedBy::VirtualBlock => "virtual block",
        };
        let description =
            if dump.general.gpu.is_empty() { name.to_owned() } else { dump.general.gpu.clone() };
        let device = DeviceReport {
            description,
            architecture: format!("{name}{}", if dump.general.uma { ", unified memory" } else { "" }),
            resource_heap_tier: dump.general.resource_heap_tier,
            gpu_upload_heaps: dump.general.gpu_upload_heap_supported,
            ..DeviceReport::default()
        };
        let report = AllocatorReport::new(device);
        Self { library, is_uma: dump.general.uma, memory_types: BTreeMap::new(), report }
    }

    fn build(mut self, dump: Dump) -> Result<AllocatorReport, ReportError> {
        if let Some(size) = dump.total_bytes {
            let memory = (HeapTypeName::Custom, SegmentGroup::Local);
            let pool = self.pool("virtual block".to_owned(), memory);
            self.heap(pool, memory, "suballocations", size, Vec::new(), dump.suballocations);
            return Ok(self.report);
        }
        let old_heaps = dump.others.into_iter().filter_map(|(name, other)| match other {
            Other::Heap(heap) if name.starts_with("Heap ") => Some((name, heap)),
            _ => None,
        });
        let memory_info: Vec<(String, MemoryHeap)> = dump.memory_info.into_iter().chain(old_heaps).collect();
        let old_budgets = dump.budget.map(|OldBudgets { gpu, cpu }| [gpu, cpu]);
        self.budgets(&memory_info, old_budgets);
        self.find_memory_types(memory_info);
        let map = dump.detailed_map.unwrap_or(dump.map);
        let Some(default_pools) = map.default_pools else {
            let rule = "is missing: the dump has no map of its blocks; create it with the argument for the detailed map";
            return Err(ReportError::at("DefaultPools", rule));
        };
        // On heap tier 1, the pools of one heap type (`DEFAULT - Buffers`) each list all of its committed allocations.
        let mut listed = std::collections::BTreeSet::new();
        for (name, mut pool) in default_pools {
            let heap_type = name.split(" - ").next().unwrap_or(&name).to_owned();
            if !listed.insert(heap_type.clone()) {
                pool.dedicated_allocations.clear();
            }
            let memory = self.memory_of(&heap_type);
            self.add_pool(format!("default {name}"), memory, pool);
        }
        for (heap_type, pools) in map.custom_pools.unwrap_or_default() {
            let memory = self.memory_of(&heap_type);
            for mut pool in pools {
                let name = pool.name.take().unwrap_or_default();
                self.add_pool(name, memory, pool);
            }
        }
        for (name, pool) in map.pools {
            let memory = self.memory_of(&format!("Type {}", pool.memory_type_index.unwrap_or(u32::MAX)));
            self.add_pool(name, memory, pool);
        }
        let outside = map.committed_allocations.into_iter().chain(map.dedicated_allocations);
        for (heap_type, allocations) in outside {
            let memory = self.memory_of(&heap_type);
            self.committed(memory, allocations);
        }
        Ok(self.report)
    }

    /// Adds up the budgets of the memory heaps of each segment group.
    fn budgets(&mut self, memory_info: &[(String, MemoryHeap)], old: Option<[Option<Budget>; 2]>) {
        let mut sums: [Option<(u64, u64)>; 2] = [None; 2];
        let mut add = |group: SegmentGroup, budget: Budget| {
            let (budget_bytes, usage) = sums[group as usize].unwrap_or_default();
            sums[group as usize] = Some((
                budget_bytes.saturating_add(budget.budget_bytes),
                usage.saturating_add(budget.usage_bytes),
            ));
        };
        for (name, heap) in memory_info {
            let group = match self.library {
                DumpedBy::Vma if heap.flags.iter().any(|flag| flag.is("DEVICE_LOCAL")) => SegmentGroup::Local,
                DumpedBy::Vma => SegmentGroup::NonLocal,
                // L0 is the memory of the system, which is the local one if there is no other.
                _ if name == "L0" && !self.is_uma => SegmentGroup::NonLocal,
                _ => SegmentGroup::Local,
            };
            heap.budget.into_iter().for_each(|budget| add(group, budget));
        }
        let groups = [SegmentGroup::Local, SegmentGroup::NonLocal];
        for (group, budget) in groups.into_iter().zip(old.into_iter().flatten()) {
            budget.into_iter().for_each(|budget| add(group, budget));
        }
        self.report.segment_groups = groups
            .into_iter()
            .zip(sums)
            .filter_map(|(segment_group, sum)| {
                let (budget, usage) = sum?;
                Some(SegmentGroupReport {
                    segment_group,
                    budget: Some(ByteSize::new(budget)),
                    current_usage: Some(ByteSize::new(usage)),
                    ..SegmentGroupReport::default()
                })
            })
            .collect();
    }

    fn find_memory_types(&mut self, memory_info: Vec<(String, MemoryHeap)>) {
        for (_, heap) in memory_info {
            let old = heap.others.into_iter().filter_map(|(name, other)| match other {
                Other::Heap(MemoryHeap { flags, .. }) if name.starts_with("Type ") => {
                    Some((name, MemoryType { flags }))
                }
                _ => None,
            });
            for (name, MemoryType { flags }) in heap.memory_pools.into_iter().chain(old) {
                let has = |name: &str| flags.iter().any(|flag| flag.is(name));
                let memory = match (has("DEVICE_LOCAL"), has("HOST_VISIBLE"), has("HOST_CACHED")) {
                    (true, false, _) => (HeapTypeName::Default, SegmentGroup::Local),
                    (true, true, _) => (HeapTypeName::GpuUpload, SegmentGroup::Local),
                    (false, true, true) => (HeapTypeName::Readback, SegmentGroup::NonLocal),
                    (false, true, false) => (HeapTypeName::Upload, SegmentGroup::NonLocal),
                    (false, false, _) => (HeapTypeName::Custom, SegmentGroup::NonLocal),
                };
                self.memory_types.insert(name, memory);
            }
        }
    }

    /// Returns the memory of a heap type of Direct3D 12, or of a memory type of Vulkan.
    fn memory_of(&self, name: &str) -> Memory {
        if let Some(&memory) = self.memory_types.get(name).filter(|_| self.library == DumpedBy::Vma) {
            return memory;
        }
        let system = if self.is_uma { SegmentGroup::Local } else { SegmentGroup::NonLocal };
        match name {
            "DEFAULT" => (HeapTypeName::Default, SegmentGroup::Local),
            "UPLOAD" => (HeapTypeName::Upload, system),
            "READBACK" => (HeapTypeName::Readback, system),
            "GPU_UPLOAD" => (HeapTypeName::GpuUpload, SegmentGroup::Local),
            _ => (HeapTypeName::Custom, SegmentGroup::Local),
        }
    }

    fn pool(&mut self, name: String, (heap_type, _): Memory) -> usize {
        self.report.pools.push(PoolReport { name, heap_type: Some(heap_type), ..PoolReport::default() });
        self.report.pools.len() - 1
    }

    /// Adds the blocks of a pool. A pool without any is left out.
    fn add_pool(&mut self, name: String, memory: Memory, pool: Pool) {
        let flags: Vec<String> = pool
            .flags
            .into_iter()
            .map(|flag| match flag {
                Flag::Name(name) => name,
                Flag::Number(bits) => format!("{bits:#x}"),
            })
            .collect();
        if !pool.blocks.is_empty() {
            let index = self.pool(name, memory);
            let mut blocks: Vec<(String, Block)> = pool.blocks.into_iter().collect();
            // Blocks have numbers as names.
            blocks.sort_by_key(|(name, _)| name.parse().unwrap_or(u64::MAX));
            for (number, block) in blocks {
                let algorithm = format!("block {number}");
                self.heap(index, memory, &algorithm, block.total_bytes, flags.clone(), block.suballocations);
            }
        }
        self.committed(memory, pool.dedicated_allocations);
    }

    fn heap(
        &mut self,
        pool: usize,
        (heap_type, segment_group): Memory,
        algorithm: &str,
        size: u64,
        flags: Vec<String>,
        suballocations: Vec<Suballocation>,
    ) {
        let is_used = |suballocation: &Suballocation| suballocation.kind != "FREE" && suballocation.size > 0;
        let allocations = suballocations.into_iter().filter(is_used).map(|suballocation| AllocationReport {
            offset: HeapOffset::new(suballocation.offset),
            size: ByteSize::new(suballocation.size),
            kind: self.kind(&suballocation),
            name: name(suballocation),
            ..AllocationReport::default()
        });
        let allocations = allocations.collect();
        let heap = HeapReport {
            pool,
            heap_type,
            segment_group,
            algorithm: algorithm.to_owned(),
            size: ByteSize::new(size),
            flags,
            allocations,
            ..HeapReport::default()
        };
        self.report.heaps.push(heap);
    }

    fn committed(&mut self, (heap_type, segment_group): Memory, allocations: Vec<Suballocation>) {
        for allocation in allocations {
            let (kind, size) = (self.kind(&allocation), ByteSize::new(allocation.size));
            let name = name(allocation);
            self.report.committed.push(ResourceReport {
                heap_type,
                segment_group,
                kind,
                size,
                name,
                user_data: None,
            });
        }
    }

    /// Returns the kind by the type, and by the flags of Direct3D 12's or Vulkan's usage.
    fn kind(&self, allocation: &Suballocation) -> AllocationKind {
        // ALLOW_RENDER_TARGET, ALLOW_DEPTH_STENCIL; COLOR_ATTACHMENT, DEPTH_STENCIL_ATTACHMENT.
        let targets = if self.library == DumpedBy::Vma { 0x10 | 0x20 } else { 0x1 | 0x2 };
        match allocation.kind.as_str() {
            "BUFFER" => AllocationKind::Buffer,
            kind if kind.starts_with("TEXTURE") || kind.starts_with("IMAGE") => {
                if allocation.usage & targets == 0 {
                    AllocationKind::Texture
                } else {
                    AllocationKind::RenderTarget
                }
            }
            _ => AllocationKind::Unknown,
        }
    }
}

fn name(allocation: Suballocation) -> Option<String> {
    allocation.name.or_else(|| {
        allocation.custom_data.map(|data| match data {
            CustomData::Text(text) => text,
            CustomData::Number(number) => format!("{number:#x}"),
        })
    })
}
