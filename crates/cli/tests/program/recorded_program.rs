//! Programs that make random calls and are recorded.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use heapwright::d3d12::*;
use heapwright::defragmentation::{Defragmentation, DefragmentationBudget, DefragmentationDesc, Move};
use heapwright::{
    Alignment, BufferUses, ByteSize, EmptyHeapPolicy, Error, HeapType, HeapTypePreference, MemoryAllocation,
    Pool, PoolDesc, RecordFlags, RecordOptions, ResourceAllocation, ResourceAllocationDesc,
    ResourceAllocationFlags, ResourceAllocator, ResourceAllocatorDesc, ResourceAllocatorFlags, ResourceKind,
    SuballocationAlgorithm, buffer_desc,
};
use heapwright_runtime::{HostProfile, Instance};
use heapwright_transient::{QueueKind, TransientFrame, TransientHeaps, TransientResources, Use};

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
    try_any_allocation(allocator, numbers, ResourceAllocationFlags::empty(), BufferUses::empty()).unwrap()
}

/// Asks for an allocation of any placement, with these flags and uses in addition.
fn try_any_allocation(
    allocator: &ResourceAllocator,
    numbers: &mut Numbers,
    more: ResourceAllocationFlags,
    uses: BufferUses,
) -> Result<ResourceAllocation, Error> {
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
    let flags = flags | more;
    let allocation = ResourceAllocationDesc { flags, uses, ..ResourceAllocationDesc::new(heap_type) };
    allocator.create_resource(&allocation, &desc, state, None)
}

/// Records everything to a file.
pub(crate) fn record_to(file: &Path) -> RecordOptions {
    RecordOptions { flags: RecordFlags::ALL, trace_file: Some(file.to_owned()), ..Default::default() }
}

/// The set of calls that a random program makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Does {
    /// Allocators that are nested and dropped, pools of all kinds, and prefetching.
    Usual,
    /// Also defragmentation, frames with transient resources, requests that fail, imports, memory without a resource,
    /// and requests of all other kinds.
    Everything,
}

/// A program that makes random calls.
pub(crate) struct Program {
    numbers: Numbers,
    does: Does,
    has_unified_memory: bool,
    gpu: heapwright_loader::Gpu,
    record_options: RecordOptions,
    /// Freed before the last allocators are dropped.
    live: Vec<ResourceAllocation>,
    memory: Vec<MemoryAllocation>,
    moves: Vec<Move>,
    /// Resources of frames that the GPU may still use.
    transient: Vec<Arc<TransientResources>>,
    /// Defragmentations, and the places of their allocators; also heaps of frames, and pools.
    runs: Vec<(usize, Defragmentation)>,
    frames: Vec<(usize, TransientHeaps)>,
    allocators: Vec<ResourceAllocator>,
    pools: Vec<(usize, Pool)>,
    pub(crate) done: Done,
}

const UNIFIED: &str = "cache-coherent-uma";

/// Returns the simulated GPU of a program.
pub(crate) fn profile_of(seed: u64, does: Does) -> &'static str {
    if does == Does::Everything && seed.is_multiple_of(4) {
        UNIFIED
    } else {
        HostProfile::default_profile().name
    }
}

/// Number of calls of some kinds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Done {
    pub(crate) completed: u32,
    pub(crate) abandoned: u32,
    pub(crate) frames: u32,
    pub(crate) failed: u32,
    pub(crate) failed_pools: u32,
    pub(crate) imported: u32,
    /// Memory without a resource, and its moves.
    pub(crate) memory: u32,
    pub(crate) moved_memory: u32,
    /// Heaps that were prefetched and used.
    pub(crate) prefetched: u64,
}

impl Program {
    pub(crate) fn new(file: &Path, seed: u64, does: Does) -> Self {
        let gpu = Instance::open(HostProfile::find(profile_of(seed, does)).unwrap()).unwrap();
        let gpu = heapwright_loader::Gpu { device: gpu.device, adapter: Some(gpu.adapter) };
        let mut program = Self {
            numbers: Numbers(seed),
            does,
            has_unified_memory: profile_of(seed, does) == UNIFIED,
            gpu,
            record_options: record_to(file),
            live: Vec::new(),
            memory: Vec::new(),
            moves: Vec::new(),
            transient: Vec::new(),
            allocators: Vec::new(),
            pools: Vec::new(),
            runs: Vec::new(),
            frames: Vec::new(),
            done: Done::default(),
        };
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
        if self.does == Does::Everything {
            let mib = |size| Some(ByteSize::from_mib(size));
            desc.limits.default = self.one_of(&[None, mib(48), mib(24)]);
            desc.limits.upload = self.one_of(&[None, mib(16)]);
            if self.has_unified_memory && self.numbers.below(2) == 0 {
                desc.flags |= ResourceAllocatorFlags::ALLOW_UNIFIED_MEMORY;
            }
        }
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
        match self.allocators[place].create_pool(desc) {
            Ok(pool) => self.pools.push((place, pool)),
            Err(error) => {
                self.done.failed_pools += 1;
                assert!(self.does == Does::Everything && error.is_out_of_memory(), "{error}");
            }
        }
    }

    fn allocate(&mut self) {
        if self.pools.is_empty() || self.numbers.below(3) > 0 {
            let place = self.place(self.allocators.len());
            if self.does == Does::Everything {
                return self.ask(place);
            }
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
        self.keep(made);
    }

    /// Keeps an allocation, unless it failed for want of memory.
    fn keep(&mut self, made: Result<ResourceAllocation, Error>) {
        match made {
            Ok(made) => self.live.push(made),
            Err(error) => {
                self.done.failed += u32::from(error.is_out_of_memory());
                assert!(self.does == Does::Everything && !error.is_device_removed(), "{error}");
            }
        }
    }

    /// Makes a request of any kind.
    fn ask(&mut self, place: usize) {
        let size = ByteSize::new(1 + self.numbers.below(4 << 20));
        let any = HeapTypePreference::first(HeapType::Readback).or(HeapType::Default);
        let desc = match self.numbers.below(14) {
            12.. => return self.take_memory(place, size),
            0 => ResourceAllocationDesc::default(),
            1 => ResourceAllocationDesc::new(HeapTypePreference::GPU_UPLOAD_OR_UPLOAD),
            2 => ResourceAllocationDesc::new(any),
            3 => ResourceAllocationDesc {
                custom_heap: Some((D3D12_CPU_PAGE_PROPERTY_NOT_AVAILABLE, D3D12_MEMORY_POOL_L1)),
                ..Default::default()
            },
            4 => return self.import(place, size),
            number => {
                let flags = match number {
                    5 => ResourceAllocationFlags::NEVER_ALLOCATE_HEAP,
                    6 => ResourceAllocationFlags::NEVER_FALLBACK,
                    _ => ResourceAllocationFlags::empty(),
                };
                let uses = self.one_of(&[BufferUses::empty(), BufferUses::all(), BufferUses::RAW_VIEW]);
                if flags == ResourceAllocationFlags::NEVER_ALLOCATE_HEAP {
                    let desc = ResourceAllocationDesc { flags, uses, ..Default::default() };
                    return self.create(place, &desc, size);
                }
                let made = try_any_allocation(&self.allocators[place], &mut self.numbers, flags, uses);
                return self.keep(made);
            }
        };
        self.create(place, &desc, size);
    }

    /// Takes memory without a resource, of a pool or of the allocator's own heaps, some of which are for it alone.
    fn take_memory(&mut self, place: usize, size: ByteSize) {
        let pool = self.pools.iter().find(|(of, _)| *of == place).filter(|_| self.numbers.below(3) == 0);
        let mut desc =
            ResourceAllocationDesc { pool: pool.map(|(_, pool)| pool), ..ResourceAllocationDesc::default() };
        match self.numbers.below(8) {
            0 => desc.extra_required_heap_flags = D3D12_HEAP_FLAG_SHARED,
            1 => desc.flags = ResourceAllocationFlags::NEVER_ALLOCATE_HEAP,
            2 if desc.pool.is_none() => {
                desc.custom_heap = Some((D3D12_CPU_PAGE_PROPERTY_NOT_AVAILABLE, D3D12_MEMORY_POOL_L1));
            }
            3 if desc.pool.is_none() => desc.heap_type = Some(HeapType::Upload.into()),
            _ => {}
        }
        let resources = match (self.numbers.below(6), desc.heap_type) {
            (0, None) => ResourceKind::Textures,
            (1, None) => ResourceKind::RenderTargets,
            (2, None) => ResourceKind::Any,
            _ => ResourceKind::Buffers,
        };
        let alignment = match self.numbers.below(8) {
            0 => 256,
            1 => 4 << 20,
            _ => 64 << 10,
        };
        let alignment = Alignment::new(alignment).unwrap();
        match self.allocators[place].allocate_memory(&desc, resources, size, alignment) {
            Ok(made) => {
                self.done.memory += 1;
                self.memory.push(made);
            }
            Err(error) => {
                self.done.failed += u32::from(error.is_out_of_memory());
                assert!(!error.is_device_removed(), "{error}");
            }
        }
    }

    fn create(&mut self, place: usize, desc: &ResourceAllocationDesc<'_>, size: ByteSize) {
        let made = self.allocators[place].create_resource(
            desc,
            &buffer_desc(size),
            D3D12_RESOURCE_STATE_COMMON,
            None,
        );
        self.keep(made);
    }

    #[expect(unsafe_code, reason = "creates a resource, and imports it")]
    fn import(&mut self, place: usize, size: ByteSize) {
        let properties = D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_DEFAULT, ..Default::default() };
        let mut resource: Option<ID3D12Resource> = None;
        // SAFETY: the device is a live COM object, the descriptions outlive the call, and the result is of the
        // interface that is asked for. Nothing maps the resource.
        let imported = unsafe {
            self.gpu
                .device
                .CreateCommittedResource(
                    &properties,
                    D3D12_HEAP_FLAG_NONE,
                    &buffer_desc(size),
                    D3D12_RESOURCE_STATE_COMMON,
                    None,
                    &mut resource,
                )
                .unwrap();
            self.allocators[place].import(&Default::default(), resource.as_ref().unwrap())
        };
        self.live.push(imported.unwrap());
        self.done.imported += 1;
    }

    fn begin_run(&mut self) {
        let place = self.place(self.allocators.len());
        let of_pool = self.pools.iter().find(|(of, _)| *of == place).filter(|_| place.is_multiple_of(2));
        let desc = DefragmentationDesc { pool: of_pool.map(|(_, pool)| pool) };
        // Only the default algorithm has it.
        if let Ok(run) = self.allocators[place].defragment(desc) {
            self.runs.push((place, run));
        }
    }

    fn step_run(&mut self) {
        let place = self.place(self.runs.len());
        let budget = DefragmentationBudget {
            moves: self.one_of(&[1, 3, 64]),
            bytes: self.one_of(&[ByteSize::from_mib(1), ByteSize::from_mib(64)]),
            // Independent of the speed of the machine.
            time: self.one_of(&[Duration::MAX, Duration::MAX, Duration::MAX, Duration::ZERO]),
        };
        self.moves.extend(self.runs[place].1.step(budget).moves);
    }

    /// Ends a planned move in one of three ways.
    fn end_move(&mut self) {
        let place = self.place(self.moves.len());
        let mut planned = self.moves.swap_remove(place);
        if let Some(memory) = self.memory.iter_mut().find(|memory| memory.id() == planned.allocation()) {
            match planned.complete_memory(memory) {
                Ok(()) => self.done.moved_memory += 1,
                Err(_) => self.done.abandoned += 1,
            }
            return;
        }
        let of = self.live.iter().position(|live| live.id() == planned.allocation());
        let how = self.numbers.below(8);
        // Dropped, or it stays where it is.
        let Some(of) = of.filter(|_| how > 0) else {
            self.done.abandoned += 1;
            return;
        };
        let live = &mut self.live[of];
        let created = planned.create_resource(live, Default::default(), None, &[]).map(drop);
        // Another run may have moved it since.
        match created.and_then(|()| planned.complete(live)) {
            Ok(()) => self.done.completed += 1,
            Err(_) => self.done.abandoned += 1,
        }
    }

    /// Prepares a frame that may differ from the last one.
    fn frame(&mut self) {
        if self.frames.is_empty() || self.numbers.below(8) == 0 {
            let place = self.place(self.allocators.len());
            self.frames.push((place, TransientHeaps::new(&self.allocators[place])));
        }
        let mut frame = TransientFrame::new();
        let queue = frame.add_queue(QueueKind::Direct);
        let mut last = None;
        for _ in 0..2 + self.numbers.below(3) {
            let size = ByteSize::new(1 + self.numbers.below(6 << 20));
            let desc =
                if self.numbers.below(3) == 0 { texture(&mut self.numbers) } else { buffer_desc(size) };
            let desc = if desc.Flags == 0 { desc } else { buffer_desc(size) };
            let (resource, pass) = (frame.add_resource(&desc, None), frame.add_pass(queue).unwrap());
            frame.add_use(pass, resource, Use::CopyAll, D3D12_RESOURCE_STATE_COPY_DEST).unwrap();
            if let Some(last) = last.replace(resource) {
                frame.add_use(pass, last, Use::Read, D3D12_RESOURCE_STATE_COPY_SOURCE).unwrap();
            }
        }
        let place = self.place(self.frames.len());
        match self.frames[place].1.prepare(&frame) {
            Ok(resources) => {
                self.done.frames += 1;
                self.transient.push(resources);
            }
            Err(error) => {
                self.done.failed += 1;
                assert!(error.is_out_of_memory(), "{error}");
            }
        }
        if self.transient.len() > 3 {
            self.transient.remove(0);
        }
    }

    fn drop_allocator(&mut self, place: usize) {
        fn leave<T>(of_others: &mut Vec<(usize, T)>, place: usize) {
            of_others.retain(|(of, _)| *of != place);
            of_others.iter_mut().for_each(|(of, _)| *of -= usize::from(*of > place));
        }
        leave(&mut self.runs, place);
        leave(&mut self.frames, place);
        leave(&mut self.pools, place);
        drop(self.allocators.remove(place));
    }

    pub(crate) fn step(&mut self, step: u64) {
        let is_shrinking = (step / 150) % 2 == 1;
        let does_everything = self.does == Does::Everything;
        match self.numbers.below(100) {
            0 if self.allocators.len() < 4 => self.add_allocator(),
            // Its allocations may be live.
            1 if self.allocators.len() > 1 => {
                let place = self.place(self.allocators.len());
                self.drop_allocator(place);
            }
            2..=4 if self.pools.len() < 6 => self.add_pool(),
            5 if !self.pools.is_empty() => {
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
            9..=11 if does_everything => self.frame(),
            12 if does_everything && self.frames.len() > 2 => {
                let place = self.place(self.frames.len());
                drop(self.frames.swap_remove(place));
            }
            13 if does_everything && self.runs.len() > 2 => {
                let place = self.place(self.runs.len());
                drop(self.runs.swap_remove(place));
            }
            13..=14 if does_everything => self.begin_run(),
            15..=19 if does_everything && !self.runs.is_empty() => self.step_run(),
            20..=27 if does_everything && !self.moves.is_empty() => self.end_move(),
            28..=29 if !self.memory.is_empty() => {
                let place = self.place(self.memory.len());
                drop(self.memory.swap_remove(place));
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
pub(crate) fn record_program(file: &Path, seed: u64, steps: u64, does: Does) -> Done {
    let mut program = Program::new(file, seed, does);
    (0..steps).for_each(|step| program.step(step));
    let prefetched = |allocator: &ResourceAllocator| allocator.stats().prefetched_heap_misses_eliminated;
    Done { prefetched: program.allocators.iter().map(prefetched).sum(), ..program.done }
}
