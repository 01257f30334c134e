//! A Chrome trace can be replayed by GPGMM's capture replay of January 2024: names, fields, types and order.
//!
//! [`Replay`] walks the events as that replay does: it makes each object anew and panics where the replay fails.

use std::collections::HashMap;
use std::path::Path;

use heapwright::d3d12::*;
use heapwright::residency::{
    ResidencyHeap, ResidencyHeapDesc, ResidencyList, ResidencyManager, ResidencyManagerDesc,
};
use heapwright::*;
use serde_json::Value;
use windows_core::Interface as _;

use crate::gpu::*;

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

fn fraction(value: &Value, name: &str) -> Option<f64> {
    match &value[name] {
        Value::Null => None,
        found => Some(found.as_f64().unwrap_or_else(|| panic!("{name} is {found}"))).filter(|it| *it != 0.0),
    }
}

/// The objects of a replay.
struct Replay<'a, G> {
    gpu: &'a G,
    managers: HashMap<String, ResidencyManager>,
    allocators: HashMap<String, ResourceAllocator>,
    allocations: HashMap<String, ResourceAllocation>,
    heaps: HashMap<String, ResidencyHeap>,
    current_manager: String,
    current_allocator: String,
    allocation_without_id: Option<ResourceAllocation>,
    heap_without_id: Option<ResidencyHeap>,
    /// Number of replayed allocations, heaps, and heaps of submissions.
    counts: [usize; 3],
}

impl<G: Opened> Replay<'_, G> {
    fn event(&mut self, event: &Value) {
        let id = || event["id"].as_str().expect("an id is text").to_owned();
        let args = &event["args"];
        let snapshot = &args["snapshot"];
        match (event["name"].as_str().expect("a name"), event["ph"].as_str().expect("a phase")) {
            ("IResidencyManager", "N") => self.current_manager = id(),
            ("IResidencyManager", "O") if !self.managers.contains_key(&id()) => {
                assert!(snapshot.as_object().is_some_and(|fields| !fields.is_empty()));
                let _ = (int(snapshot, "IsUMA"), int(snapshot, "Flags"));
                let desc = ResidencyManagerDesc {
                    max_pct_of_video_memory_to_budget: fraction(snapshot, "MaxPctOfVideoMemoryToBudget"),
                    min_pct_of_budget_to_reserve: fraction(snapshot, "MinPctOfBudgetToReserve"),
                    max_budget: ByteSize::new(number(snapshot, "MaxBudgetInBytes")),
                    evict_size: ByteSize::new(number(snapshot, "EvictSizeInBytes")),
                    initial_fence_value: FenceValue::new(number(snapshot, "InitialFenceValue")),
                    ..Default::default()
                };
                let manager = ResidencyManager::new(self.gpu.device(), self.gpu.adapter(), desc);
                self.managers.insert(id(), manager.expect("a manager"));
            }
            ("IResidencyManager", "D") => drop(self.managers.remove(&id())),
            ("IResourceAllocator", "N") => self.current_allocator = id(),
            ("IResourceAllocator", "O") if !self.allocators.contains_key(&id()) => {
                assert!(snapshot.as_object().is_some_and(|fields| !fields.is_empty()));
                assert!(
                    int(snapshot, "Flags") <= 0xff && (1..=2).contains(&int(snapshot, "ResourceHeapTier"))
                );
                assert!([0, 1, 2, 5].contains(&int(snapshot, "SubAllocationAlgorithm")));
                assert!([0, 3, 4].contains(&int(snapshot, "PoolAlgorithm")));
                let size = |name| Some(ByteSize::new(number(snapshot, name))).filter(|size| !size.is_zero());
                let desc = ResourceAllocatorDesc {
                    preferred_heap_size: size("PreferredResourceHeapSize"),
                    max_heap_size: size("MaxResourceHeapSize"),
                    heap_fragmentation_limit: fraction(snapshot, "ResourceHeapFragmentationLimit"),
                    heap_growth_factor: fraction(snapshot, "ResourceHeapGrowthFactor"),
                    ..Default::default()
                };
                let (device, adapter) = (self.gpu.device(), self.gpu.adapter());
                let allocator = match self.managers.get(&self.current_manager) {
                    Some(manager) => ResourceAllocator::with_residency(device, adapter, desc, manager),
                    None => ResourceAllocator::new(device, adapter, desc),
                };
                self.allocators.insert(id(), allocator.expect("an allocator"));
            }
            ("IResourceAllocator", "D") => drop(self.allocators.remove(&id())),
            ("ResourceAllocator.CreateResource", "i") => self.create_resource(args),
            ("IResourceAllocation", "N") => {
                if let Some(made) = self.allocation_without_id.take() {
                    assert!(self.allocations.insert(id(), made).is_none(), "an id is used twice");
                    self.counts[0] += 1;
                }
            }
            ("IResourceAllocation", "D") => drop(self.allocations.remove(&id())),
            ("Heap.CreateResidencyHeap", "i") => self.create_heap(args),
            ("IResidencyHeap", "N") => {
                if let Some(made) = self.heap_without_id.take() {
                    assert!(self.heaps.insert(id(), made).is_none(), "an id is used twice");
                    self.counts[1] += 1;
                }
            }
            ("IResidencyHeap", "D") => drop(self.heaps.remove(&id())),
            ("ResidencyManager.ExecuteCommandLists", "i") => {
                let lists = args["ResidencyLists"].as_array().expect("lists");
                assert_eq!(lists.len(), 1, "GPGMM has one list for each call");
                let list = ResidencyList::new();
                for heap in lists[0]["Heaps"].as_array().expect("heaps") {
                    let Some(heap) = self.heaps.get(heap["id_ref"].as_str().expect("an id")) else { break };
                    list.add(heap).expect("added");
                    self.counts[2] += 1;
                }
                self.managers[&self.current_manager].prefetch(&list).expect("resident");
            }
            _ => {}
        }
    }

    fn create_resource(&mut self, args: &Value) {
        assert!(args.as_object().is_some_and(|args| !args.is_empty()));
        let asked = &args["allocationDescriptor"];
        if asked.as_object().is_none_or(serde_json::Map::is_empty) {
            return;
        }
        assert!(int(asked, "Flags") <= 0x3ff && number(asked, "ExtraRequiredResourcePadding") == 0);
        let heap_type = HeapType::ALL
            .into_iter()
            .find(|it| it.to_d3d12() == int(asked, "HeapType"))
            .expect("a heap type");
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
        let clear = clear.as_object().is_some_and(|fields| !fields.is_empty()).then(|| {
            let part =
                |name: &str| serde_json::from_value::<f32>(clear["Color"][name].clone()).expect("a color");
            ClearValue::Color { format: int(clear, "Format"), color: ["R", "G", "B", "A"].map(part) }
        });
        let allocation = ResourceAllocationDesc {
            flags: ResourceAllocationFlags::from_bits_retain(uint(asked, "Flags")),
            extra_required_heap_flags: uint(asked, "ExtraRequiredHeapFlags"),
            ..ResourceAllocationDesc::new(heap_type)
        };
        let state = uint(args, "initialResourceState");
        let made =
            self.allocators[&self.current_allocator].create_resource(&allocation, &resource, state, clear);
        self.allocation_without_id = Some(made.expect("the resource is created again"));
    }

    fn create_heap(&mut self, args: &Value) {
        assert!(args.as_object().is_some_and(|args| !args.is_empty()));
        let heap = &args["Heap"];
        if heap.as_object().is_none_or(serde_json::Map::is_empty) {
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
        let manager = self.managers.get(&self.current_manager).expect("the replay requires a manager");
        let residency = ResidencyHeapDesc { size: ByteSize::new(desc.SizeInBytes), ..Default::default() };
        let made = manager.create_heap(&residency, || {
            let mut heap: Option<ID3D12Heap> = None;
            // SAFETY: a live device; the description outlives the call, and the result is of this interface.
            unsafe { self.gpu.device().CreateHeap(&desc, &mut heap) }?;
            heap.expect("S_OK implies a heap").cast()
        });
        self.heap_without_id = Some(made.expect("the heap is created again"));
    }
}

/// Replays a trace, and returns the counts.
fn replay(gpu: &impl Opened, file: &Path) -> [usize; 3] {
    let root: Value = serde_json::from_slice(&std::fs::read(file).expect("written")).expect("JSON");
    let mut replay = Replay {
        gpu,
        managers: HashMap::new(),
        allocators: HashMap::new(),
        allocations: HashMap::new(),
        heaps: HashMap::new(),
        current_manager: String::new(),
        current_allocator: String::new(),
        allocation_without_id: None,
        heap_without_id: None,
        counts: [0; 3],
    };
    let events = root["traceEvents"].as_array().expect("events");
    assert!(!events.is_empty());
    events.iter().for_each(|event| replay.event(event));
    assert!(replay.allocations.is_empty() && replay.allocators.is_empty() && replay.managers.is_empty());
    assert!(replay.heaps.is_empty(), "each heap is deleted");
    replay.counts
}

fn record_options(file: &Path, flags: RecordFlags) -> RecordOptions {
    RecordOptions { flags, trace_file: Some(file.to_owned()), ..Default::default() }
}

/// Buffers and textures of each placement, with a clear value, imported, moved out of the way, and freed.
fn use_allocator(gpu: &impl Opened, allocator: &ResourceAllocator) -> Vec<ResourceAllocation> {
    let none = ResourceAllocationFlags::empty();
    let mut made = vec![
        buffer(allocator, &place(HeapType::Default, none), 1000),
        buffer(allocator, &place(HeapType::Default, ResourceAllocationFlags::NEVER_SUBALLOCATE_HEAP), MIB),
        buffer(allocator, &place(HeapType::Default, ResourceAllocationFlags::ALWAYS_COMMITTED), 1000),
        buffer(
            allocator,
            &place(HeapType::Upload, ResourceAllocationFlags::ALLOW_SUBALLOCATE_WITHIN_RESOURCE),
            100,
        ),
    ];
    let mut target = texture(64, 32);
    target.Flags = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET;
    let clear = ClearValue::Color { format: target.Format, color: [0.5, 0.25, 0.0, 1.0] };
    for flags in [none, ResourceAllocationFlags::ALWAYS_COMMITTED] {
        let place = place(HeapType::Default, flags);
        let texture = allocator.create_resource(&place, &target, COMMON, Some(clear));
        made.push(texture.expect("there is room"));
        made.push(allocator.create_resource(&place, &texture_of(16), COMMON, None).expect("there is room"));
    }
    let committed = made[2].resource().clone();
    // SAFETY: nothing maps the resource.
    made.push(unsafe { allocator.import(&ResourceAllocationDesc::default(), &committed) }.expect("imported"));
    made[0].set_debug_name("a name").expect("named");
    let _ = (allocator.stats(), gpu.device());
    made.remove(1);
    made
}

fn texture_of(size: u32) -> D3D12_RESOURCE_DESC {
    texture(u64::from(size), size)
}

#[test]
fn gpgmms_replay_repeats_a_trace() {
    let folder = tempfile::tempdir().expect("a folder");
    for profile in ["discrete", "uma"] {
        let gpu = open(profile);
        let file = folder.path().join(format!("{profile}.json"));
        let options = || record_options(&file, RecordFlags::CAPTURE);
        let manager = ResidencyManagerDesc { record_options: options(), ..Default::default() };
        let manager = ResidencyManager::new(gpu.device(), gpu.adapter(), manager).expect("a manager");
        let desc = ResourceAllocatorDesc { record_options: options(), ..Default::default() };
        let allocator = ResourceAllocator::with_residency(gpu.device(), gpu.adapter(), desc, &manager);
        let allocator = allocator.expect("an allocator");
        let made = use_allocator(&gpu, &allocator);
        let (first, second) = (ResidencyList::new(), ResidencyList::new());
        first.add_allocation(&made[0]).expect("added");
        second.add_allocation(&made[1]).expect("added");
        submit(&gpu, &manager, &[&first, &second]);
        let heaps: std::collections::HashSet<_> =
            made.iter().filter_map(|it| it.memory()).map(std::ptr::from_ref).collect();
        let (live, heap_count) = (made.len(), heaps.len());
        drop((made, first, second, allocator, manager));
        let [allocations, replayed_heaps, submitted] = replay(&gpu, &file);
        // All but the imported one, and one that was freed.
        assert_eq!(allocations, live, "{profile}");
        assert!(replayed_heaps >= heap_count && submitted == 2, "{profile}: {replayed_heaps} {submitted}");
    }
}

/// Executes an empty command list for each residency list.
fn submit(gpu: &impl Opened, manager: &ResidencyManager, lists: &[&ResidencyList]) {
    let device = gpu.device();
    let direct = D3D12_COMMAND_LIST_TYPE_DIRECT;
    // SAFETY: a live device, and closed lists that use nothing.
    unsafe {
        let queue: ID3D12CommandQueue =
            device.CreateCommandQueue(&D3D12_COMMAND_QUEUE_DESC::default()).expect("a queue");
        let recorded: Vec<ID3D12CommandList> = lists
            .iter()
            .map(|_| {
                let commands: ID3D12CommandAllocator =
                    device.CreateCommandAllocator(direct).expect("an allocator");
                let list: ID3D12GraphicsCommandList =
                    device.CreateCommandList(0, direct, &commands, None).expect("a list");
                list.Close().ok().expect("closed");
                list.cast().expect("a command list")
            })
            .collect();
        let pairs: Vec<_> = recorded.iter().zip(lists.iter().copied()).collect();
        manager.execute_command_lists(&queue, &pairs).expect("executed");
        let fence: ID3D12Fence = device.CreateFence(0, D3D12_FENCE_FLAG_NONE).expect("a fence");
        queue.Signal(&fence, 1).ok().expect("signalled");
        wait_until(|| fence.GetCompletedValue() >= 1);
    }
}

/// Calls are recorded without objects, also if they fail, and each has a duration.
#[test]
fn calls_are_recorded_whether_they_succeed_or_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let gpu = open("discrete");
    let count = |flags, phase: &str| {
        let file = folder.path().join("calls.json");
        let record_options =
            RecordOptions { scope: RecordScope::PerInstance, ..record_options(&file, flags) };
        let allocator = allocator(&gpu, ResourceAllocatorDesc { record_options, ..Default::default() });
        let mut made = buffer(&allocator, &place(HeapType::Upload, ResourceAllocationFlags::empty()), 100);
        let place = place(HeapType::Default, ResourceAllocationFlags::empty());
        let none = D3D12_RESOURCE_DESC { Width: 0, ..buffer_desc(ByteSize::new(1)) };
        allocator.create_resource(&place, &none, COMMON, None).expect_err("no size");
        drop(made.map().expect("mapped"));
        made.set_debug_name("a name").expect("named");
        let _ = allocator.stats();
        drop((made, allocator));
        let root: Value = serde_json::from_slice(&std::fs::read(&file).expect("written")).expect("JSON");
        ["CreateResource", "Map", "SetDebugName", "QueryStats"].map(|name| {
            let is = |event: &&Value| {
                event["ph"] == phase
                    && event["name"].as_str().is_some_and(|it| it.rsplit('.').next() == Some(name))
            };
            root["traceEvents"].as_array().expect("events").iter().filter(is).count()
        })
    };
    assert_eq!(count(RecordFlags::API_CALLS, "i"), [2, 1, 1, 1]);
    assert_eq!(count(RecordFlags::CAPTURE, "i"), [2, 1, 1, 1]);
    assert_eq!(count(RecordFlags::API_TIMINGS, "X"), [2, 1, 1, 1]);
    assert_eq!(count(RecordFlags::API_OBJECTS, "i"), [0; 4]);
}

/// A file is one file whatever its path, and its extension is its format.
#[test]
fn one_file_has_one_writer() {
    let folder = tempfile::tempdir().expect("a folder");
    let gpu = open("discrete");
    std::fs::create_dir(folder.path().join("x")).expect("a folder");
    let file = folder.path().join("a.hws");
    let make = |path: &Path, scope| {
        let record_options = RecordOptions { scope, ..record_options(path, RecordFlags::ALL) };
        ResourceAllocator::new(
            gpu.device(),
            None,
            ResourceAllocatorDesc { record_options, ..Default::default() },
        )
    };
    let first = make(&file, RecordScope::PerProcess).expect("the first");
    let paths: &[_] = if cfg!(unix) { &["x/../a.hws", "soft.hws", "hard.hws"] } else { &["x/../a.hws"] };
    let paths: Vec<_> = paths.iter().map(|path| folder.path().join(path)).collect();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&file, &paths[1]).expect("a link");
        std::fs::hard_link(&file, &paths[2]).expect("a link");
    }
    let mut others = Vec::new();
    for path in &paths {
        let error = make(path, RecordScope::PerInstance).expect_err("it is being written");
        assert!(error.to_string().ends_with("is being written by another instance"), "{error}");
        others.push(local(&make(path, RecordScope::PerProcess).expect("they share it"), 1000));
    }
    drop((others, first));
    let records = heapwright_trace::RecordReader::new(&file, std::fs::File::open(&file).expect("written"));
    let records: Result<Vec<_>, _> = records.expect("a session").collect();
    let is_allocation = |record: &&heapwright_trace::session::Record| {
        matches!(record.action, heapwright_trace::session::Action::Allocate(_))
    };
    assert_eq!(records.expect("sound").iter().filter(is_allocation).count(), paths.len());

    for name in ["a.txt", "a", "a.hws.gz"] {
        let path = folder.path().join(name);
        let error = make(&path, RecordScope::PerInstance).expect_err("no format");
        assert!(error.is_invalid_argument() && error.to_string().contains("must end with .hws"), "{error}");
        assert!(!path.exists());
    }
}
