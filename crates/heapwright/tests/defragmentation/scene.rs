//! An owner of many resources who finds them by number and carries out the moves.

use std::collections::{BTreeMap, VecDeque};

use heapwright_runtime::aliasing::AliasingTracking;

use super::copying_queue::Gpu;
pub(crate) use super::gpu::usage;
use crate::gpu::*;

/// Resources on a simulated GPU by default, or on another device.
pub(crate) struct Scene<O = Instance> {
    pub(crate) instance: O,
    pub(crate) allocator: ResourceAllocator,
    pub(crate) gpu: Gpu,
    pub(crate) things: BTreeMap<u64, ResourceAllocation>,
    next: u64,
    /// Memory that the staging buffers take.
    staging: Option<ByteSize>,
}

/// The outcome of a run.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Figures {
    pub(crate) steps: u64,
    pub(crate) moves: u64,
    pub(crate) live: u64,
    pub(crate) before: u64,
    pub(crate) peak: u64,
    pub(crate) after: u64,
}

pub(crate) fn texture_desc(format: DXGI_FORMAT, width: u32, height: u32, mips: u16) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        Width: width.into(),
        Height: height,
        DepthOrArraySize: 1,
        MipLevels: mips,
        Format: format,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        ..Default::default()
    }
}

pub(crate) fn small_buffer(random: &mut fastrand::Rng) -> D3D12_RESOURCE_DESC {
    buffer_of(8 + random.u64(..(16 << 10) - 7))
}

/// Returns a texture of 64x64 to 1024x1024, large ones rarely, in one of several formats; half of them have
/// mip levels, and some are render targets.
pub(crate) fn any_texture(random: &mut fastrand::Rng) -> D3D12_RESOURCE_DESC {
    let mut side = || 64_u32 << random.u64(..5).min(random.u64(..5));
    let (width, height) = (side(), side());
    let formats = [
        DXGI_FORMAT_R8G8B8A8_UNORM,
        DXGI_FORMAT_BC1_UNORM,
        DXGI_FORMAT_R16G16_FLOAT,
        DXGI_FORMAT_BC3_UNORM,
        DXGI_FORMAT_R8_UNORM,
    ];
    let format = formats[usize::try_from(random.u64(..5)).expect("below 5")];
    let mips = if random.u64(..2) == 0 { 1 } else { 5 };
    let mut desc = texture_desc(format, width, height, mips);
    if format == DXGI_FORMAT_R8G8B8A8_UNORM && random.u64(..3) == 0 {
        desc.Flags = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET;
    }
    desc
}

impl Scene<crate::gpu::Gpu> {
    /// Opens the device that the environment names.
    pub(crate) fn on_any_device() -> Self {
        let opened = any_device();
        let device = opened.device.clone();
        Self::on(opened, &device, Default::default())
    }
}

impl Scene {
    pub(crate) fn open(profile: &str) -> Self {
        Self::with(profile, Default::default())
    }

    pub(crate) fn with(profile: &str, desc: ResourceAllocatorDesc) -> Self {
        let profile = HostProfile::find(profile).expect("a profile of that name");
        // The aliasing tracker checks the moves as well, because a range is reused soon after it was freed.
        let options = DeviceOptions { aliasing: Some(AliasingTracking::ADVANCED), ..Default::default() };
        let instance = Instance::open_with(profile, options).expect("a fresh instance");
        let device = instance.device.clone();
        Self::on(instance, &device, desc)
    }
}

impl<O: Opened> Scene<O> {
    /// Uses `device`, a wrapper of the instance's device.
    pub(crate) fn on(instance: O, device: &ID3D12Device, desc: ResourceAllocatorDesc) -> Self {
        let gpu = Gpu::new(instance.device());
        let staging = counted(&instance);
        let allocator = ResourceAllocator::new(device, instance.adapter(), desc).expect("sound");
        Self { instance, allocator, gpu, things: BTreeMap::new(), next: 1, staging }
    }

    /// Creates a resource and fills it.
    pub(crate) fn create(&mut self, desc: &D3D12_RESOURCE_DESC) -> u64 {
        self.try_create(&in_default(), desc).expect("there is room")
    }

    pub(crate) fn try_create(
        &mut self,
        place: &ResourceAllocationDesc<'_>,
        desc: &D3D12_RESOURCE_DESC,
    ) -> Result<u64, Error> {
        let key = self.next_key();
        let place = ResourceAllocationDesc { user_data: key, ..*place };
        let state = D3D12_RESOURCE_STATE_COMMON;
        let made = self.allocator.create_resource(&place, desc, state, None)?;
        self.gpu.fill(made.resource(), key);
        self.things.insert(key, made);
        Ok(key)
    }

    pub(crate) fn next_key(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// Creates small buffers and textures.
    pub(crate) fn populate(&mut self, buffers: u32, textures: u32, random: &mut fastrand::Rng) {
        for _ in 0..buffers {
            self.create(&small_buffer(random));
        }
        for _ in 0..textures {
            self.create(&any_texture(random));
        }
    }

    /// Begins to defragment the allocator's own heaps.
    pub(crate) fn run(&self) -> Defragmentation {
        self.allocator.defragment(DefragmentationDesc::default()).expect("heaps to defragment")
    }

    /// Frees seven allocations out of ten.
    pub(crate) fn thin_out(&mut self, random: &mut fastrand::Rng) {
        self.gpu.run();
        self.things.retain(|_, _| random.u64(..10) >= 7);
    }

    /// Creates the new resource and records the copy. Drops the move if its owner does not know the
    /// allocation.
    pub(crate) fn begin(&mut self, mut planned: Move) -> Option<Move> {
        let thing = self.things.get(&planned.user_data())?;
        let target = planned.create_resource(thing, InitialState::default(), None, &[]).expect("created");
        self.gpu.copy(target, thing.resource());
        Some(planned)
    }

    pub(crate) fn complete(&mut self, planned: Move) {
        let thing = self.things.get_mut(&planned.user_data()).expect("it lives");
        let (before, size) = (thing.id(), thing.size());
        planned.complete(thing).expect("it is the one");
        assert_ne!(thing.id(), before);
        assert_eq!(thing.size(), size);
        assert_eq!(thing.offset().get() % thing.alignment().get(), 0);
    }

    /// Runs to the end and completes each move `latency` steps after it was planned.
    pub(crate) fn defragment(
        &mut self,
        run: &mut Defragmentation,
        budget: DefragmentationBudget,
        latency: usize,
        most_steps: u64,
    ) -> Figures {
        let reserved = |scene: &Self| scene.allocator.reserved().get();
        let mut figures = Figures { before: reserved(self), ..Default::default() };
        let mut under_way: VecDeque<Vec<Move>> = VecDeque::new();
        loop {
            let step = run.step(budget);
            figures.steps += 1;
            figures.peak = figures.peak.max(reserved(self));
            assert!(figures.steps <= most_steps, "it does not end: {:?} {figures:?}", run.progress());
            let bytes = step.moves.iter().fold(0, |sum, planned| sum + planned.size().get());
            assert!(step.moves.len() <= budget.moves as usize, "{} moves", step.moves.len());
            assert!(bytes <= budget.bytes.get() || step.moves.len() == 1, "{bytes} bytes");
            let moves: Vec<_> = step.moves.into_iter().filter_map(|planned| self.begin(planned)).collect();
            if !moves.is_empty() {
                self.gpu.run();
            }
            under_way.push_back(moves);
            while under_way.len() > latency {
                for planned in under_way.pop_front().into_iter().flatten() {
                    self.complete(planned);
                    figures.moves += 1;
                }
            }
            self.allocator.audit().expect("consistent after each step");
            if step.state == DefragmentationState::Finished {
                break;
            }
        }
        for planned in under_way.into_iter().flatten() {
            self.complete(planned);
            figures.moves += 1;
        }
        self.allocator.audit().expect("consistent in the end");
        figures.live = self.allocator.stats().used.get();
        figures.after = reserved(self);
        figures
    }

    /// Reads back every resource and checks its content, and that no two share a byte.
    pub(crate) fn check_things(&mut self) {
        self.check_places([]);
        for (&key, thing) in &self.things {
            self.gpu.expect(thing.resource(), key);
        }
        self.gpu.finish();
    }

    /// Checks that no two allocations share a byte, nor an allocation and the target of a move.
    pub(crate) fn check_places<'a>(&self, moves: impl IntoIterator<Item = &'a Move>) {
        let things = self.things.values().filter_map(|thing| {
            let start = thing.offset().get() + thing.offset_from_resource().get();
            Some((thing.heap()?.as_raw(), start, start + thing.size().get()))
        });
        let targets = moves.into_iter().filter_map(|planned| {
            let (heap, start) = planned.destination()?;
            Some((heap.as_raw(), start.get(), start.get() + planned.size().get()))
        });
        let mut places: Vec<_> = things.chain(targets).collect();
        places.sort_unstable();
        for pair in places.windows(2) {
            let ((heap, _, end), (next_heap, next_start, _)) = (pair[0], pair[1]);
            assert!(heap != next_heap || end <= next_start, "{pair:?} overlap");
        }
        let mut addresses: Vec<_> = self
            .things
            .values()
            .filter_map(|thing| Some((thing.gpu_virtual_address()?.get(), thing.size().get())))
            .collect();
        addresses.sort_unstable();
        for pair in addresses.windows(2) {
            assert!(pair[0].0 + pair[0].1 <= pair[1].0, "GPU addresses {pair:x?} overlap");
        }
    }

    /// Drops everything, also what a test holds, and checks that nothing is left.
    pub(crate) fn end<T>(self, held: T) {
        drop(held);
        let Self { instance, allocator, gpu, things, staging, .. } = self;
        drop(things);
        allocator.audit().expect("consistent when it is empty");
        assert_eq!(allocator.stats().allocation_count, 0);
        assert_eq!(allocator.stats().used, ByteSize::ZERO);
        allocator.release_empty_heaps();
        assert_eq!(allocator.reserved(), ByteSize::ZERO);
        assert_eq!(counted(&instance), staging, "memory was leaked");
        drop((allocator, gpu));
        assert_usage(&instance, ByteSize::ZERO);
    }
}
