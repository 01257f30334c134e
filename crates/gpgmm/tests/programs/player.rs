//! GPGMM's capture replay of January 2024, by its rules: the names, fields, types and order of the events that it
//! reads, and the five tests that it makes of each trace.

use std::collections::HashMap;
use std::path::Path;

use heapwright::d3d12::*;
use heapwright::residency::{
    ResidencyHeap, ResidencyHeapDesc, ResidencyList, ResidencyManager, ResidencyManagerDesc,
};
use heapwright::{
    ByteSize, ClearValue, EmptyHeapPolicy, FenceValue, HeapType, ResourceAllocation, ResourceAllocationDesc,
    ResourceAllocationFlags, ResourceAllocator, ResourceAllocatorDesc, ResourceAllocatorFlags,
    SuballocationAlgorithm,
};
use heapwright_runtime::{HostProfile, Instance};
use serde_json::Value;
use windows_core::Interface as _;

/// Whose settings the allocators have.
#[derive(Clone, Copy, Debug)]
enum Profile {
    Captured,
    Default,
}

/// What a test changes.
#[derive(Clone, Copy, Debug, Default)]
struct Changes {
    allows_prefetch: bool,
    never_suballocates: bool,
    never_allocates: bool,
}

/// What a replay has made.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Played {
    pub(super) allocations: usize,
    pub(super) heaps: usize,
    /// Number of heaps in residency lists.
    pub(super) submitted: usize,
    captured_peak: u64,
    replayed_peak: u64,
}

/// Makes the five tests of a trace on a simulated GPU, with its settings and with the defaults, and returns what the
/// first one has made.
pub(super) fn play(profile: &str, file: &Path) -> Played {
    let root: Value = serde_json::from_slice(&std::fs::read(file).expect("written")).expect("JSON");
    let replay = |of, changes| {
        let gpu = Instance::open(HostProfile::find(profile).expect("a profile")).expect("a fresh instance");
        let about = || format!("{profile}, {}, {of:?}, {changes:?}", file.display());
        let played = Player::new(&gpu, of, changes).play(&root);
        (played, about())
    };
    let mut first = None;
    // Other algorithms have other heaps.
    let is_usual = |event: &Value| {
        let snapshot = &event["args"]["snapshot"];
        event["name"] != "IResourceAllocator" || number(snapshot, "SubAllocationAlgorithm") == 0
    };
    let is_usual = root["traceEvents"].as_array().expect("events").iter().all(is_usual);
    let profiles = [Some(Profile::Captured), is_usual.then_some(Profile::Default)];
    for of in profiles.into_iter().flatten() {
        // Replay, PeakUsage
        let (played, about) = replay(of, Changes::default());
        assert!(played.replayed_peak <= played.captured_peak, "{about}: {played:?}");
        first.get_or_insert(played);
        // AllowPrefetch
        replay(of, Changes { allows_prefetch: true, ..Default::default() });
        // DisableSuballocation
        let (played, about) = replay(of, Changes { never_suballocates: true, ..Default::default() });
        assert!(played.replayed_peak <= played.captured_peak, "{about}: {played:?}");
        // NeverAllocate
        let (played, about) = replay(of, Changes { never_allocates: true, ..Default::default() });
        assert_eq!(played.replayed_peak, 0, "{about}");
    }
    first.expect("a profile")
}

/// Returns a number as JsonCpp does: nothing is 0, a Boolean is 0 or 1, and anything else is an error.
fn number(value: &Value, name: &str) -> u64 {
    match &value[name] {
        Value::Null => 0,
        Value::Bool(bool) => u64::from(*bool),
        Value::Number(number) => number.as_u64().unwrap_or_else(|| panic!("{name} is {number}")),
        other => panic!("{name} is {other}, which is no number"),
    }
}

/// As [`number`], of 32 bits with a sign.
fn int(value: &Value, name: &str) -> i32 {
    i32::try_from(number(value, name)).unwrap_or_else(|_| panic!("{name} has more than 31 bits"))
}

fn uint(value: &Value, name: &str) -> u32 {
    u32::try_from(number(value, name)).unwrap_or_else(|_| panic!("{name} has more than 32 bits"))
}

fn size(value: &Value, name: &str) -> Option<ByteSize> {
    Some(ByteSize::new(number(value, name))).filter(|size| !size.is_zero())
}

fn fraction(value: &Value, name: &str) -> Option<f64> {
    match &value[name] {
        Value::Null => None,
        found => Some(found.as_f64().unwrap_or_else(|| panic!("{name} is {found}"))).filter(|it| *it != 0.0),
    }
}

/// JsonCpp's `empty`: null, or without members.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        Value::Array(elements) => elements.is_empty(),
        _ => false,
    }
}

/// Whether the event is a message, which has the name of its object.
fn is_message(args: &Value) -> bool {
    !args["Description"].is_null() && !args["ID"].is_null()
}

/// The objects of a replay.
struct Player<'a> {
    gpu: &'a Instance,
    profile: Profile,
    changes: Changes,
    managers: HashMap<String, ResidencyManager>,
    allocators: HashMap<String, ResourceAllocator>,
    allocations: HashMap<String, ResourceAllocation>,
    heaps: HashMap<String, ResidencyHeap>,
    current_manager: String,
    current_allocator: String,
    allocation_without_id: Option<ResourceAllocation>,
    heap_without_id: Option<ResidencyHeap>,
    captured_usage: u64,
    played: Played,
}

impl<'a> Player<'a> {
    fn new(gpu: &'a Instance, profile: Profile, changes: Changes) -> Self {
        Self {
            gpu,
            profile,
            changes,
            managers: HashMap::new(),
            allocators: HashMap::new(),
            allocations: HashMap::new(),
            heaps: HashMap::new(),
            current_manager: String::new(),
            current_allocator: String::new(),
            allocation_without_id: None,
            heap_without_id: None,
            captured_usage: 0,
            played: Played::default(),
        }
    }

    fn play(mut self, root: &Value) -> Played {
        let events = root["traceEvents"].as_array().expect("events");
        assert!(!events.is_empty());
        events.iter().for_each(|event| self.event(event));
        assert!(self.allocations.is_empty() && self.allocators.is_empty() && self.managers.is_empty());
        assert!(self.heaps.is_empty(), "each heap is deleted");
        self.played
    }

    fn event(&mut self, event: &Value) {
        let id = || event["id"].as_str().expect("an id is text").to_owned();
        let args = &event["args"];
        let snapshot = &args["snapshot"];
        match (event["name"].as_str().expect("a name"), event["ph"].as_str().expect("a phase")) {
            ("IResidencyManager", "N") => self.current_manager = id(),
            ("IResidencyManager", "O") if !self.managers.contains_key(&id()) => {
                self.managers.insert(id(), self.manager(snapshot));
            }
            ("IResidencyManager", "D") => drop(self.managers.remove(&id())),
            ("IResourceAllocator", "N") => self.current_allocator = id(),
            ("IResourceAllocator", "O") if !self.allocators.contains_key(&id()) => {
                self.allocators.insert(id(), self.allocator(snapshot));
            }
            ("IResourceAllocator", "D") => drop(self.allocators.remove(&id())),
            ("ResourceAllocator.CreateResource", "i") => self.create_resource(args),
            ("IResourceAllocation", "N") => {
                if let Some(made) = self.allocation_without_id.take() {
                    assert!(self.allocations.insert(id(), made).is_none(), "an id is used twice");
                    self.played.allocations += 1;
                }
            }
            ("IResourceAllocation", "D") => drop(self.allocations.remove(&id())),
            ("Heap.CreateResidencyHeap", "i") => self.create_heap(args),
            ("IResidencyHeap", "N") => {
                if let Some(made) = self.heap_without_id.take() {
                    assert!(self.heaps.insert(id(), made).is_none(), "an id is used twice");
                    self.played.heaps += 1;
                }
            }
            ("IResidencyHeap", "D") => {
                if let Some(heap) = self.heaps.remove(&id()) {
                    self.captured_usage -= heap.size().get();
                }
            }
            ("ResidencyManager.ExecuteCommandLists", "i") => self.execute(args),
            _ => {}
        }
    }

    fn manager(&self, snapshot: &Value) -> ResidencyManager {
        assert!(!is_empty(snapshot));
        let _ = (int(snapshot, "IsUMA"), int(snapshot, "Flags"));
        let desc = ResidencyManagerDesc {
            max_pct_of_video_memory_to_budget: fraction(snapshot, "MaxPctOfVideoMemoryToBudget"),
            min_pct_of_budget_to_reserve: fraction(snapshot, "MinPctOfBudgetToReserve"),
            max_budget: ByteSize::new(number(snapshot, "MaxBudgetInBytes")),
            evict_size: ByteSize::new(number(snapshot, "EvictSizeInBytes")),
            initial_fence_value: FenceValue::new(number(snapshot, "InitialFenceValue")),
            ..Default::default()
        };
        ResidencyManager::new(&self.gpu.device, Some(&self.gpu.adapter), desc).expect("a manager")
    }

    fn allocator(&self, snapshot: &Value) -> ResourceAllocator {
        assert!(!is_empty(snapshot));
        let flags = int(snapshot, "Flags");
        assert!(flags <= 0xff && (1..=2).contains(&int(snapshot, "ResourceHeapTier")));
        let algorithm = match int(snapshot, "SubAllocationAlgorithm") {
            0 => SuballocationAlgorithm::Default,
            1 => SuballocationAlgorithm::Slab,
            2 => SuballocationAlgorithm::BuddySystem,
            5 => SuballocationAlgorithm::Dedicated,
            other => panic!("algorithm {other}"),
        };
        assert!([0, 3, 4].contains(&int(snapshot, "PoolAlgorithm")));
        // The defaults of the C++ API.
        let mut desc = ResourceAllocatorDesc {
            flags: ResourceAllocatorFlags::NEVER_TIGHT_ALIGNMENT,
            empty_heap_policy: EmptyHeapPolicy::SegmentedPool,
            ..Default::default()
        };
        if let Profile::Captured = self.profile {
            desc.flags |= ResourceAllocatorFlags::from_bits_retain(flags.cast_unsigned());
            desc.suballocation_algorithm = algorithm;
            desc.preferred_heap_size = size(snapshot, "PreferredResourceHeapSize");
            desc.max_heap_size = size(snapshot, "MaxResourceHeapSize");
            desc.heap_fragmentation_limit = fraction(snapshot, "ResourceHeapFragmentationLimit");
            desc.heap_growth_factor = fraction(snapshot, "ResourceHeapGrowthFactor");
        }
        desc.flags.set(ResourceAllocatorFlags::ALLOW_PREFETCH, self.changes.allows_prefetch);
        let (device, adapter) = (&self.gpu.device, Some(&self.gpu.adapter));
        let allocator = match self.managers.get(&self.current_manager) {
            Some(manager) => ResourceAllocator::with_residency(device, adapter, desc, manager),
            None => ResourceAllocator::new(device, adapter, desc),
        };
        allocator.expect("an allocator")
    }

    fn create_resource(&mut self, args: &Value) {
        assert!(!is_empty(args));
        let asked = &args["allocationDescriptor"];
        if is_message(args) || is_empty(asked) {
            return;
        }
        assert!(int(asked, "Flags") <= 0x3ff);
        let heap_type = HeapType::ALL.into_iter().find(|it| it.to_d3d12() == int(asked, "HeapType"));
        let (desc, sample) = (&args["resourceDescriptor"], &args["resourceDescriptor"]["SampleDesc"]);
        let small = |name| u16::try_from(uint(desc, name)).expect("16 bits");
        let resource = D3D12_RESOURCE_DESC {
            Dimension: int(desc, "Dimension"),
            Alignment: number(desc, "Alignment"),
            Width: number(desc, "Width"),
            Height: uint(desc, "Height"),
            DepthOrArraySize: small("DepthOrArraySize"),
            MipLevels: small("MipLevels"),
            Format: int(desc, "Format"),
            SampleDesc: DXGI_SAMPLE_DESC { Count: uint(sample, "Count"), Quality: uint(sample, "Quality") },
            Layout: int(desc, "Layout"),
            Flags: uint(desc, "Flags"),
        };
        let clear = &args["clearValue"];
        let clear = (!is_empty(clear)).then(|| {
            let part =
                |name: &str| serde_json::from_value::<f32>(clear["Color"][name].clone()).expect("a color");
            ClearValue::Color { format: int(clear, "Format"), color: ["R", "G", "B", "A"].map(part) }
        });
        let mut allocation = ResourceAllocationDesc {
            flags: ResourceAllocationFlags::from_bits_retain(uint(asked, "Flags")),
            heap_type: heap_type.map(Into::into),
            extra_required_heap_flags: uint(asked, "ExtraRequiredHeapFlags"),
            extra_required_resource_padding: ByteSize::new(number(asked, "ExtraRequiredResourcePadding")),
            ..Default::default()
        };
        let Changes { never_suballocates, never_allocates, .. } = self.changes;
        if never_suballocates {
            allocation.flags |= ResourceAllocationFlags::NEVER_SUBALLOCATE_HEAP;
        }
        if never_allocates {
            allocation.flags |= ResourceAllocationFlags::NEVER_ALLOCATE_HEAP;
        }
        let allocator = &self.allocators[&self.current_allocator];
        let state = uint(args, "initialResourceState");
        match allocator.create_resource(&allocation, &resource, state, clear) {
            Err(_) if never_allocates => return,
            made => self.allocation_without_id = Some(made.expect("the resource is created again")),
        }
        self.played.replayed_peak = self.played.replayed_peak.max(allocator.stats().used_heap_usage.get());
    }

    fn create_heap(&mut self, args: &Value) {
        assert!(!is_empty(args));
        let heap = &args["Heap"];
        if is_empty(heap) {
            return;
        }
        let properties = &heap["Properties"];
        let desc = D3D12_HEAP_DESC {
            SizeInBytes: number(heap, "SizeInBytes"),
            Properties: D3D12_HEAP_PROPERTIES {
                Type: int(properties, "Type"),
                CPUPageProperty: int(properties, "CPUPageProperty"),
                MemoryPoolPreference: int(properties, "MemoryPoolPreference"),
                ..Default::default()
            },
            Alignment: number(heap, "Alignment"),
            Flags: uint(heap, "Flags"),
        };
        let residency = ResidencyHeapDesc { size: ByteSize::new(desc.SizeInBytes), ..Default::default() };
        let create = || {
            let mut heap: Option<ID3D12Heap> = None;
            // SAFETY: a live device; the description outlives the call, and the result is of this interface.
            unsafe { self.gpu.device.CreateHeap(&desc, &mut heap) }?;
            heap.expect("S_OK implies a heap").cast()
        };
        let made = match self.managers.get(&self.current_manager) {
            Some(manager) => manager.create_heap(&residency, create),
            None => ResidencyHeap::create_unmanaged(&residency, create),
        };
        self.heap_without_id = Some(made.expect("the heap is created again"));
        self.captured_usage += desc.SizeInBytes;
        self.played.captured_peak = self.played.captured_peak.max(self.captured_usage);
    }

    fn execute(&mut self, args: &Value) {
        assert!(!is_empty(args));
        if is_message(args) {
            return;
        }
        let lists = args["ResidencyLists"].as_array().expect("lists");
        assert_eq!(lists.len(), 1, "GPGMM has one list for each call");
        let list = ResidencyList::new();
        for heap in lists[0]["Heaps"].as_array().expect("heaps") {
            let Some(heap) = self.heaps.get(heap["id_ref"].as_str().expect("an id")) else { break };
            list.add(heap).expect("added");
            self.played.submitted += 1;
        }
        self.managers[&self.current_manager].prefetch(&list).expect("resident");
    }
}
