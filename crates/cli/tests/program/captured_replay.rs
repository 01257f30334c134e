//! `replay --profile captured`: every size, offset and heap is that of the recording.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::time::Duration;

use heapwright::d3d12::*;
use heapwright::{
    Alignment, ByteSize, EmptyHeapPolicy, HeapType, Pool, PoolDesc, RecordFlags, RecordOptions,
    ResourceAllocation, ResourceAllocationDesc, ResourceAllocationFlags, ResourceAllocator,
    ResourceAllocatorDesc, ResourceAllocatorFlags, ResourceKind, SuballocationAlgorithm, buffer_desc,
};
use heapwright_runtime::{HostProfile, Instance};
use heapwright_trace::RecordReader;
use heapwright_trace::session::{Action, Description, Heap};

use crate::support::{Folder, Outcome, command};

/// Deterministic pseudo-random numbers.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

fn texture(numbers: &mut Numbers) -> D3D12_RESOURCE_DESC {
    let kinds = [
        (D3D12_RESOURCE_FLAG_NONE, 1),
        (D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET, 1),
        (D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET, 4),
    ];
    let (flags, samples) = kinds[usize::try_from(numbers.below(3)).unwrap()];
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        Width: 1 + numbers.below(600),
        Height: u32::try_from(1 + numbers.below(600)).unwrap(),
        DepthOrArraySize: 1,
        MipLevels: 1,
        Format: DXGI_FORMAT_R8G8B8A8_UNORM,
        SampleDesc: DXGI_SAMPLE_DESC { Count: samples, Quality: 0 },
        Flags: flags,
        ..Default::default()
    }
}

/// Makes an allocation of any placement.
pub(crate) fn any_allocation(allocator: &ResourceAllocator, numbers: &mut Numbers) -> ResourceAllocation {
    let size = match numbers.below(4) {
        0 => 1 + numbers.below(2000),
        1 => 1 + numbers.below(200_000),
        2 => 1 + numbers.below(3 << 20),
        _ => 1 + numbers.below(12 << 20),
    };
    let (heap_type, state) = match numbers.below(5) {
        0 => (HeapType::Upload, D3D12_RESOURCE_STATE_GENERIC_READ),
        1 => (HeapType::Readback, D3D12_RESOURCE_STATE_COPY_DEST),
        _ => (HeapType::Default, D3D12_RESOURCE_STATE_COMMON),
    };
    let (flags, desc) = match numbers.below(12) {
        0 => (ResourceAllocationFlags::ALWAYS_COMMITTED, buffer_desc(ByteSize::new(size))),
        1 => (ResourceAllocationFlags::NEVER_SUBALLOCATE_HEAP, buffer_desc(ByteSize::new(size))),
        2 | 3 => {
            let flags = ResourceAllocationFlags::ALLOW_SUBALLOCATE_WITHIN_RESOURCE;
            (flags, buffer_desc(ByteSize::new(1 + size % 3000)))
        }
        4 | 5 if heap_type == HeapType::Default => (ResourceAllocationFlags::empty(), texture(numbers)),
        _ => (ResourceAllocationFlags::empty(), buffer_desc(ByteSize::new(size))),
    };
    let allocation = ResourceAllocationDesc { flags, ..ResourceAllocationDesc::new(heap_type) };
    allocator.create_resource(&allocation, &desc, state, None).unwrap()
}

/// Records everything to a file.
pub(crate) fn record_to(file: &Path) -> RecordOptions {
    RecordOptions { flags: RecordFlags::ALL, trace_file: Some(file.to_owned()), ..Default::default() }
}

/// The ids of one kind of object as numbers in the order of their first appearance.
#[derive(Default)]
struct Ids(HashMap<u64, u64>);

impl Ids {
    fn number(&mut self, id: u64) -> u64 {
        let next = self.0.len() as u64;
        *self.0.entry(id).or_insert(next)
    }
}

/// Sizes, heaps and offsets in order, which must be identical. The ids count objects, as a replay creates allocators earlier.
fn memory_actions(file: &Path) -> Vec<Action> {
    let mut reader = RecordReader::new(file, File::open(file).unwrap()).unwrap();
    let (mut allocations, mut heaps, mut pools) = (Ids::default(), Ids::default(), Ids::default());
    let mut found = Vec::new();
    for record in reader.by_ref() {
        let action = record.unwrap().action;
        found.push(match action {
            Action::Allocate(mut allocation) => {
                allocation.id = allocations.number(allocation.id);
                Action::Allocate(allocation)
            }
            Action::Free { allocation } => Action::Free { allocation: allocations.number(allocation) },
            Action::Describe(description) => {
                let allocation = allocations.number(description.allocation);
                Action::Describe(Box::new(Description { allocation, ..*description }))
            }
            Action::Reason { allocation, reason } => {
                Action::Reason { allocation: allocations.number(allocation), reason }
            }
            Action::UsePool { allocation, pool } => {
                Action::UsePool { allocation: allocations.number(allocation), pool: pools.number(pool) }
            }
            Action::Place { allocation, heap, offset } => {
                Action::Place { allocation: allocations.number(allocation), heap: heaps.number(heap), offset }
            }
            Action::CreateHeap(heap) => Action::CreateHeap(Heap { id: heaps.number(heap.id), ..heap }),
            Action::DestroyHeap { heap } => Action::DestroyHeap { heap: heaps.number(heap) },
            Action::CreatePool { pool, options } => Action::CreatePool { pool: pools.number(pool), options },
            Action::DropPool { pool } => Action::DropPool { pool: pools.number(pool) },
            Action::ReleasePool { pool } => Action::ReleasePool { pool: pools.number(pool) },
            Action::PrefetchHeap { heap, pool, is_shared } => Action::PrefetchHeap {
                heap: heaps.number(heap),
                pool: pool.map(|pool| pools.number(pool)),
                is_shared,
            },
            // The last allocators and pools are dropped at the end of the program, and not in a replay, which asks what they hold.
            step @ (Action::Frame
            | Action::IdlePeriod
            | Action::ReleaseHeaps { .. }
            | Action::HeapTime { .. }) => step,
            _ => continue,
        });
    }
    assert_eq!(reader.truncated_at(), None);
    found
}

/// Replays a recording as captured while a recording is made, and compares the two up to the last free. Returns the actions.
fn replay_is_identical(file: &Path, name: &str) -> Vec<Action> {
    let again = file.with_extension("again.hws");
    let mut replay = command();
    replay.args(["replay", "--profile", "captured"]).arg(file).env("HEAPWRIGHT_RECORD", &again);
    Outcome::from_output(replay.output().unwrap()).ok();
    let (mut first, mut second) = (memory_actions(file), memory_actions(&again));
    // After the last free, the allocators themselves are dropped.
    let is_free = |action: &Action| matches!(action, Action::Free { .. });
    first.truncate(first.iter().rposition(is_free).unwrap());
    second.truncate(first.len());
    for (index, (first, second)) in first.iter().zip(&second).enumerate() {
        assert_eq!(first, second, "{name}, action {index}");
    }
    assert_eq!(first.len(), second.len(), "{name}");
    first
}

/// A program with allocators that are nested and dropped, with pools of all kinds, and with prefetching.
struct Program {
    numbers: Numbers,
    gpu: heapwright_loader::Gpu,
    record_options: RecordOptions,
    /// Freed before the last allocators are dropped.
    live: Vec<ResourceAllocation>,
    allocators: Vec<ResourceAllocator>,
    /// Pools, and the places of their allocators.
    pools: Vec<(usize, Pool)>,
}

impl Program {
    fn new(file: &Path, seed: u64) -> Self {
        let gpu = Instance::open(HostProfile::default_profile()).unwrap();
        let gpu = heapwright_loader::Gpu { device: gpu.device, adapter: Some(gpu.adapter) };
        let record_options = record_to(file);
        let (allocators, pools, live) = (Vec::new(), Vec::new(), Vec::new());
        let mut program = Self { numbers: Numbers(seed), gpu, record_options, allocators, pools, live };
        program.add_allocator();
        program
    }

    fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.place(of.len())]
    }

    fn place(&mut self, len: usize) -> usize {
        usize::try_from(self.numbers.below(len as u64)).unwrap()
    }

    fn add_allocator(&mut self) {
        use SuballocationAlgorithm::{BuddySystem, Dedicated, Slab};
        let usual = SuballocationAlgorithm::Default;
        let mut desc =
            ResourceAllocatorDesc { record_options: self.record_options.clone(), ..Default::default() };
        desc.suballocation_algorithm = self.one_of(&[usual, usual, Slab, BuddySystem, Dedicated]);
        desc.empty_heap_policy = self.one_of(&[
            EmptyHeapPolicy::Default,
            EmptyHeapPolicy::LeastMemory,
            EmptyHeapPolicy::SegmentedPool,
        ]);
        let flags = [ResourceAllocatorFlags::ALLOW_PREFETCH, ResourceAllocatorFlags::NEVER_TIGHT_ALIGNMENT];
        desc.flags = self.one_of(&[ResourceAllocatorFlags::empty(), flags[0], flags[1], flags[0] | flags[1]]);
        desc.preferred_heap_size = self.one_of(&[None, None, Some(ByteSize::from_mib(1))]);
        let parent = self.place(2 * self.allocators.len().max(1));
        let allocator = match self.allocators.get(parent) {
            Some(parent) => parent.create_nested(desc),
            None => ResourceAllocator::new(&self.gpu.device, self.gpu.adapter.as_ref(), desc),
        };
        self.allocators.push(allocator.unwrap());
    }

    fn add_pool(&mut self) {
        use SuballocationAlgorithm::{BuddySystem, Dedicated, Linear, Slab};
        let usual = SuballocationAlgorithm::Default;
        let place = self.place(self.allocators.len());
        let algorithm = self.one_of(&[usual, Slab, BuddySystem, Dedicated, Linear]);
        let sizes = [None, Some(ByteSize::from_mib(1)), Some(ByteSize::from_mib(4))];
        let heap_size = if algorithm == Dedicated { None } else { self.one_of(&sizes) };
        let desc = PoolDesc {
            name: format!("pool {}", self.numbers.below(100)),
            heap_type: self.one_of(&[HeapType::Default, HeapType::Upload]),
            resources: self.one_of(&[ResourceKind::Buffers, ResourceKind::Any]),
            algorithm,
            heap_size,
            min_heap_count: if heap_size.is_some() { self.one_of(&[0, 2]) } else { 0 },
            min_alignment: self.one_of(&[Alignment::ONE, Alignment::new(1024).unwrap()]),
            ..Default::default()
        };
        self.pools.push((place, self.allocators[place].create_pool(desc).unwrap()));
    }

    fn allocate(&mut self) {
        if self.pools.is_empty() || self.numbers.below(3) > 0 {
            let place = self.place(self.allocators.len());
            self.live.push(any_allocation(&self.allocators[place], &mut self.numbers));
            return;
        }
        let place = self.place(self.pools.len());
        let size = self.one_of(&[100, 3000, 70_000, 600_000]) + self.numbers.below(1000);
        let always = [ResourceAllocationFlags::empty(), ResourceAllocationFlags::ALWAYS_PREFETCH_HEAP];
        let flags = self.one_of(&always);
        let (allocator, pool) = &self.pools[place];
        let desc = ResourceAllocationDesc {
            pool: Some(pool),
            flags,
            ..ResourceAllocationDesc::new(pool.heap_type())
        };
        let state = match pool.heap_type() {
            HeapType::Upload => D3D12_RESOURCE_STATE_GENERIC_READ,
            _ => D3D12_RESOURCE_STATE_COMMON,
        };
        let made = self.allocators[*allocator].create_resource(
            &desc,
            &buffer_desc(ByteSize::new(size)),
            state,
            None,
        );
        self.live.push(made.unwrap());
    }

    /// Waits for heaps that are being prefetched: until they exist, they keep the pool alive for which they are, and the recording.
    fn wait_for_prefetching(&self) {
        self.allocators.iter().for_each(|allocator| allocator.audit().unwrap());
    }

    fn step(&mut self, step: u64) {
        let is_shrinking = (step / 150) % 2 == 1;
        match self.numbers.below(100) {
            0 if self.allocators.len() < 4 => self.add_allocator(),
            // Its allocations may be live.
            1 if self.allocators.len() > 1 => {
                self.wait_for_prefetching();
                let place = self.place(self.allocators.len());
                self.pools.retain(|(of, _)| *of != place);
                self.pools.iter_mut().for_each(|(of, _)| *of -= usize::from(*of > place));
                drop(self.allocators.remove(place));
            }
            2..=4 if self.pools.len() < 6 => self.add_pool(),
            5 if !self.pools.is_empty() => {
                self.wait_for_prefetching();
                let place = self.place(self.pools.len());
                drop(self.pools.swap_remove(place));
            }
            6 if !self.pools.is_empty() => {
                let place = self.place(self.pools.len());
                self.pools[place].1.release_empty_heaps();
            }
            7 => {
                let place = self.place(self.allocators.len());
                self.allocators[place].end_frame();
            }
            8 => {
                let place = self.place(self.allocators.len());
                self.allocators[place].release_resource_heaps(ByteSize::from_mib(4));
            }
            number if self.live.is_empty() || number < if is_shrinking { 40 } else { 70 } => self.allocate(),
            _ => {
                let place = self.place(self.live.len());
                drop(self.live.swap_remove(place));
            }
        }
    }
}

/// Records a program that makes random calls.
pub(crate) fn record_program(file: &Path, seed: u64, steps: u64) {
    let mut program = Program::new(file, seed);
    (0..steps).for_each(|step| program.step(step));
    program.wait_for_prefetching();
}

#[test]
fn every_algorithm_policy_pool_nesting_and_prefetch_is_repeated() {
    let folder = Folder::new();
    let (mut pools, mut prefetched, mut drops) = (0, 0, 0);
    for seed in 1..=48 {
        let file = folder.path().join(format!("program-{seed}.hws"));
        record_program(&file, seed, 500);
        let actions = replay_is_identical(&file, &format!("seed {seed}"));
        let count = |is: fn(&Action) -> bool| actions.iter().filter(|action| is(action)).count();
        pools += count(|action| matches!(action, Action::UsePool { .. }));
        prefetched += count(|action| matches!(action, Action::PrefetchHeap { .. }));
        drops += count(|action| matches!(action, Action::DropPool { .. }));
    }
    // Otherwise the programs do not use them.
    assert!(pools > 2000 && prefetched > 50 && drops > 80, "{pools} {prefetched} {drops}");
}

/// Periods of the clock end between any two calls, if the program stops for a while.
#[test]
fn pauses_are_repeated() {
    let folder = Folder::new();
    let file = folder.path().join("pauses.hws");
    let mut program = Program::new(&file, 320);
    for step in 0..400 {
        if step % 80 == 79 {
            std::thread::sleep(Duration::from_millis(450));
        }
        program.step(step);
    }
    program.wait_for_prefetching();
    drop(program);
    let actions = replay_is_identical(&file, "pauses");
    assert!(actions.iter().any(|action| matches!(action, Action::IdlePeriod)));
}

/// Each allocator has periods of its own: a nested one that was created between two periods of its parent does not count the parent's.
#[test]
fn idle_periods_are_repeated() {
    let folder = Folder::new();
    let file = folder.path().join("idle.hws");
    let gpu = Instance::open(HostProfile::default_profile()).unwrap();
    let desc = || ResourceAllocatorDesc { record_options: record_to(&file), ..Default::default() };
    let parent = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), desc()).unwrap();
    parent.on_time(Duration::from_secs(1));
    let nested = parent.create_nested(desc()).unwrap();
    let mut numbers = Numbers(1);
    for step in 0..40_u64 {
        let mut live: Vec<_> = (0..20).map(|_| any_allocation(&parent, &mut numbers)).collect();
        live.extend((0..20).map(|_| any_allocation(&nested, &mut numbers)));
        drop(live);
        parent.on_time(Duration::from_millis(1_000 + 200 * step));
    }
    drop((nested, parent));
    let actions = replay_is_identical(&file, "idle periods");
    let periods = actions.iter().filter(|action| matches!(action, Action::IdlePeriod)).count();
    assert!(periods > 30, "{periods}");
}

/// Allocators are created when they are first used, those in which they are nested before them.
#[test]
fn an_allocator_is_nested_in_one_that_does_nothing() {
    let folder = Folder::new();
    let file = folder.path().join("nested.hws");
    let gpu = Instance::open(HostProfile::default_profile()).unwrap();
    let desc = || ResourceAllocatorDesc { record_options: record_to(&file), ..Default::default() };
    let outermost = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), desc()).unwrap();
    let middle = outermost.create_nested(desc()).unwrap();
    let innermost = middle.create_nested(desc()).unwrap();
    drop(any_allocation(&innermost, &mut Numbers(1)));
    drop((innermost, middle, outermost));
    replay_is_identical(&file, "nested");
    let replayed = file.with_extension("again.hws");
    let records = RecordReader::new(&replayed, File::open(&replayed).unwrap()).unwrap();
    let actions = records.map(|record| record.unwrap().action);
    assert_eq!(actions.filter(|action| matches!(action, Action::NestAllocator { .. })).count(), 2);
}
