//! Replays a plan of a frame on a simulated device that tracks aliasing.
//!
//! From the offsets of a plan, the planner derives the barriers and initialisations of each pass. Several frames with
//! them are recorded and executed as a program does it, and the tracker judges them. Of offsets and sizes, only the
//! order matters: the bytes from a start or end to the next one become 64 KiB.

#![expect(
    unsafe_code,
    reason = "calls of COM, each on live objects of one device and with pointers that are valid during the call"
)]

use std::mem::ManuallyDrop;

use heapwright::d3d12::windows_core::{Interface as _, Result};
use heapwright::d3d12::*;
use heapwright::{ByteSize, buffer_desc};
use heapwright_aliasing::frame::{FramePlan, Initialisation, QueueKind, ResourceKind, Submission, Use};
use heapwright_runtime::aliasing::{AliasingTracking, Severity, Violation};
use heapwright_runtime::{DeviceOptions, HostProfile, Instance};

use super::frame::NamedFrame;

/// Frames that are replayed, and whether each leaves out the passes that may be skipped. The second frame finds the
/// memory as the first one left it.
const FRAMES: [bool; 3] = [false, true, false];

/// The size of all that lies between a start or end of a resource and the next one.
const UNIT: u64 = 64 << 10;

/// The width of textures: a row of them has a unit.
const WIDTH: u32 = 16 << 10;

/// Returns the first violation of the rules by a plan of the frame, or `None` if there is none.
pub(super) fn violation(frame: &NamedFrame, plan: &FramePlan) -> Result<Option<Violation>> {
    let mut replay = Replay::new(frame, plan)?;
    for skips in FRAMES {
        replay.submit(skips, None)?;
    }
    Ok(replay.finish()?.into_iter().find(|violation| violation.severity <= Severity::Warning))
}

/// A command that a pass records. Resources are named by their indices in the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Barrier { before: usize, after: usize },
    Discard(usize),
    Use(usize, Use),
}

struct Queue {
    kind: QueueKind,
    queue: ID3D12CommandQueue,
    fence: ID3D12Fence,
    /// The last value of the fence.
    signalled: u64,
}

/// Queues and resources of a frame on a device.
struct Replay<'a> {
    frame: &'a NamedFrame,
    plan: &'a FramePlan,
    gpu: Instance,
    queues: Vec<Queue>,
    resources: Vec<ID3D12Resource>,
    /// A buffer that overlaps nothing, at the other end of copies.
    outside: ID3D12Resource,
    /// Room for one descriptor each: lists read it when they record.
    targets: D3D12_CPU_DESCRIPTOR_HANDLE,
    depths: D3D12_CPU_DESCRIPTOR_HANDLE,
    _descriptors: [ID3D12DescriptorHeap; 2],
}

impl<'a> Replay<'a> {
    fn new(frame: &'a NamedFrame, plan: &'a FramePlan) -> Result<Self> {
        let options =
            DeviceOptions { aliasing: Some(AliasingTracking::ADVANCED), ..DeviceOptions::default() };
        let gpu = Instance::open_with(HostProfile::default_profile(), options)?;
        let device = &gpu.device;
        let (mut resources, mut longest) = (Vec::new(), 1);
        let heaps = (0..plan.heaps.len()).map(|heap| Heap::new(device, frame, plan, heap));
        let heaps = heaps.collect::<Result<Vec<_>>>()?;
        for (number, resource) in frame.resources.iter().enumerate() {
            let heap = &heaps[plan.placements[number].heap];
            let [start, end] = extent(frame, plan, number).map(|at| heap.offset(at));
            let (desc, state) = described(resource.desc.kind, end - start);
            let name: Vec<u16> = resource.name.encode_utf16().chain([0]).collect();
            let mut placed: Option<ID3D12Resource> = None;
            // SAFETY: see the module.
            let placed = unsafe {
                device.CreatePlacedResource(&heap.heap, start, &desc, state, None, &mut placed)?;
                let placed = placed.expect("S_OK comes with a resource");
                placed.SetName(PCWSTR(name.as_ptr())).ok()?;
                placed
            };
            resources.push(placed);
            longest = longest.max(end - start);
        }
        let (mut outside, properties) = (None::<ID3D12Resource>, default_heap());
        let (desc, state) = described(ResourceKind::Buffer, longest);
        let descriptors = |kind| {
            let desc = D3D12_DESCRIPTOR_HEAP_DESC { Type: kind, NumDescriptors: 1, ..Default::default() };
            // SAFETY: see the module.
            unsafe { device.CreateDescriptorHeap::<ID3D12DescriptorHeap>(&desc) }
        };
        let descriptors =
            [descriptors(D3D12_DESCRIPTOR_HEAP_TYPE_RTV)?, descriptors(D3D12_DESCRIPTOR_HEAP_TYPE_DSV)?];
        // SAFETY: see the module.
        let [targets, depths] = unsafe {
            let flags = D3D12_HEAP_FLAG_NONE;
            device.CreateCommittedResource(&properties, flags, &desc, state, None, &mut outside)?;
            descriptors.each_ref().map(|heap| heap.GetCPUDescriptorHandleForHeapStart())
        };
        let outside = outside.expect("S_OK comes with a resource");
        let queues = frame.frame.queues().iter().map(|&kind| Queue::new(device, kind));
        let queues = queues.collect::<Result<Vec<_>>>()?;
        let mut setup = Queue::new(device, QueueKind::Direct)?;
        let replay =
            Self { frame, plan, gpu, queues, resources, outside, targets, depths, _descriptors: descriptors };
        // What shares no memory is initialised once, before the first frame, by another queue.
        let kept: Vec<_> =
            plan.not_aliased.iter().map(|&(kept, _)| Step::Use(kept.0, Use::CopyAll)).collect();
        replay.execute(&mut setup, &kept)?;
        for queue in &replay.queues {
            queue.wait(&setup, setup.signalled)?;
        }
        Ok(replay)
    }

    /// Submits a frame without the step with the number `left_out`.
    fn submit(&mut self, skips: bool, left_out: Option<usize>) -> Result<()> {
        let mut queues = std::mem::take(&mut self.queues);
        let previous: Vec<u64> = queues.iter().map(|queue| queue.signalled).collect();
        let (mut signals, mut first) = (Vec::new(), 0);
        for submission in &self.plan.submissions {
            let number = submission.queue.0;
            for other in &submission.after_previous_frame {
                queues[number].wait(&queues[other.0], previous[other.0])?;
            }
            for &other in &submission.after {
                let (other, value): (usize, u64) = signals[other];
                queues[number].wait(&queues[other], value)?;
            }
            let mut steps = self.steps(submission, skips);
            let count = steps.len();
            if let Some(place) =
                left_out.and_then(|left_out| left_out.checked_sub(first)).filter(|&at| at < count)
            {
                steps.remove(place);
            }
            first += count;
            self.execute(&mut queues[number], &steps)?;
            signals.push((number, queues[number].signalled));
        }
        self.queues = queues;
        Ok(())
    }

    /// Waits until all is executed. Returns the violations.
    fn finish(&self) -> Result<Vec<Violation>> {
        for queue in &self.queues {
            // SAFETY: see the module. Without an event, the call returns when the value is reached.
            unsafe { queue.fence.SetEventOnCompletion(queue.signalled, HANDLE::default()) }.ok()?;
        }
        let violations = self.gpu.aliasing_violations();
        self.gpu.clear_aliasing_violations();
        Ok(violations)
    }

    fn steps(&self, submission: &Submission, skips: bool) -> Vec<Step> {
        let mut steps = Vec::new();
        for &id in &submission.passes {
            let pass = &self.frame.passes[id.0];
            if skips && pass.may_be_skipped {
                continue;
            }
            let activations = || self.plan.activations.iter().filter(|activation| activation.pass == id);
            for activation in activations() {
                let after = activation.resource.0;
                steps.extend(activation.after.iter().map(|before| Step::Barrier { before: before.0, after }));
            }
            let discarded =
                activations().filter(|activation| activation.initialisation == Initialisation::Discard);
            steps.extend(discarded.map(|activation| Step::Discard(activation.resource.0)));
            steps.extend(pass.uses.iter().map(|used| Step::Use(used.resource, used.how)));
        }
        steps
    }

    fn execute(&self, queue: &mut Queue, steps: &[Step]) -> Result<()> {
        let kind = list_type(queue.kind);
        // SAFETY: see the module. The device keeps what its queues execute alive.
        unsafe {
            let allocator: ID3D12CommandAllocator = self.gpu.device.CreateCommandAllocator(kind)?;
            let list: ID3D12GraphicsCommandList =
                self.gpu.device.CreateCommandList(0, kind, &allocator, None)?;
            for &step in steps {
                self.record(&list, queue.kind, step);
            }
            list.Close().ok()?;
            queue.queue.ExecuteCommandLists(&[Some(list.cast()?)]);
            queue.signalled += 1;
            queue.queue.Signal(&queue.fence, queue.signalled).ok()
        }
    }

    fn record(&self, list: &ID3D12GraphicsCommandList, queue: QueueKind, step: Step) {
        let (number, how) = match step {
            Step::Barrier { before, after } => {
                let [before, after] = [before, after].map(|number| borrowed(&self.resources[number]));
                let aliasing =
                    D3D12_RESOURCE_ALIASING_BARRIER { pResourceBefore: before, pResourceAfter: after };
                let barrier = D3D12_RESOURCE_BARRIER {
                    Type: D3D12_RESOURCE_BARRIER_TYPE_ALIASING,
                    Flags: D3D12_RESOURCE_BARRIER_FLAG_NONE,
                    Anonymous: D3D12_RESOURCE_BARRIER_0 { Aliasing: ManuallyDrop::new(aliasing) },
                };
                // SAFETY: see the module.
                return unsafe { list.ResourceBarrier(&[barrier]) };
            }
            // SAFETY: see the module.
            Step::Discard(number) => return unsafe { list.DiscardResource(&self.resources[number], None) },
            Step::Use(number, how) => (number, how),
        };
        let (resource, kind) = (&self.resources[number], self.frame.resources[number].desc.kind);
        let device = &self.gpu.device;
        // Draws are not executed. A clear of a part needs the same, and one of all writes as much.
        let part = [RECT { left: 0, top: 0, right: 1, bottom: 1 }];
        let clears: &[&[RECT]] = if how == Use::Clear { &[&[]] } else { &[&part, &[]] };
        // SAFETY: see the module. A view of a kind is of a resource that permits it.
        unsafe {
            match (how, kind) {
                (Use::Clear | Use::Render, ResourceKind::RenderTarget { .. })
                    if queue == QueueKind::Direct =>
                {
                    device.CreateRenderTargetView(resource, None, self.targets);
                    for rects in clears {
                        list.ClearRenderTargetView(self.targets, &[0.0; 4], rects);
                    }
                }
                (Use::Clear | Use::Render, ResourceKind::DepthStencil) => {
                    device.CreateDepthStencilView(resource, None, self.depths);
                    for rects in clears {
                        list.ClearDepthStencilView(self.depths, D3D12_CLEAR_FLAG_DEPTH, 1.0, 0, rects);
                    }
                }
                // Everything else reads or writes all of the resource.
                _ => self.copy(list, resource, how != Use::Read),
            }
        }
    }

    /// Copies all of a resource from or to the buffer outside.
    fn copy(&self, list: &ID3D12GraphicsCommandList, resource: &ID3D12Resource, is_written: bool) {
        // SAFETY: see the module.
        unsafe {
            let desc = resource.GetDesc();
            if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER {
                let (to, from) =
                    if is_written { (resource, &self.outside) } else { (&self.outside, resource) };
                return list.CopyBufferRegion(to, 0, from, 0, desc.Width);
            }
            let mut footprint = D3D12_PLACED_SUBRESOURCE_FOOTPRINT::default();
            self.gpu.device.GetCopyableFootprints(&desc, 0, 1, 0, Some(&raw mut footprint), None, None, None);
            let texels = D3D12_TEXTURE_COPY_LOCATION {
                pResource: borrowed(resource),
                Type: D3D12_TEXTURE_COPY_TYPE_SUBRESOURCE_INDEX,
                Anonymous: D3D12_TEXTURE_COPY_LOCATION_0 { SubresourceIndex: 0 },
            };
            let bytes = D3D12_TEXTURE_COPY_LOCATION {
                pResource: borrowed(&self.outside),
                Type: D3D12_TEXTURE_COPY_TYPE_PLACED_FOOTPRINT,
                Anonymous: D3D12_TEXTURE_COPY_LOCATION_0 { PlacedFootprint: footprint },
            };
            if is_written {
                return list.CopyTextureRegion(&texels, 0, 0, 0, &bytes, None);
            }
            // A texel stands for all, except of depth-stencil textures, which are copied as a whole.
            let texel = D3D12_BOX { right: 1, bottom: 1, back: 1, ..Default::default() };
            let part = (desc.Format != DXGI_FORMAT_D32_FLOAT).then_some(&raw const texel);
            list.CopyTextureRegion(&bytes, 0, 0, 0, &texels, part);
        }
    }
}

impl Queue {
    fn new(device: &ID3D12Device, kind: QueueKind) -> Result<Self> {
        let desc = D3D12_COMMAND_QUEUE_DESC { Type: list_type(kind), ..Default::default() };
        // SAFETY: see the module.
        let (queue, fence) =
            unsafe { (device.CreateCommandQueue(&desc)?, device.CreateFence(0, D3D12_FENCE_FLAG_NONE)?) };
        Ok(Self { kind, queue, fence, signalled: 0 })
    }

    fn wait(&self, other: &Self, value: u64) -> Result<()> {
        // SAFETY: see the module.
        unsafe { self.queue.Wait(&other.fence, value) }.ok()
    }
}

/// A heap of the plan.
struct Heap {
    heap: ID3D12Heap,
    /// Where resources start and end in the plan, in order.
    bounds: Vec<u64>,
}

impl Heap {
    fn new(device: &ID3D12Device, frame: &NamedFrame, plan: &FramePlan, number: usize) -> Result<Self> {
        let held = (0..plan.placements.len()).filter(|&resource| plan.placements[resource].heap == number);
        let mut bounds: Vec<u64> = held.flat_map(|resource| extent(frame, plan, resource)).collect();
        bounds.sort_unstable();
        bounds.dedup();
        let desc = D3D12_HEAP_DESC {
            SizeInBytes: bounds.len() as u64 * UNIT,
            Properties: default_heap(),
            ..Default::default()
        };
        let mut heap = None;
        // SAFETY: see the module.
        unsafe { device.CreateHeap(&desc, &mut heap) }?;
        Ok(Self { heap: heap.expect("S_OK comes with a heap"), bounds })
    }

    /// Returns the offset on the device of a start or end in the plan.
    fn offset(&self, at: u64) -> u64 {
        self.bounds.partition_point(|&bound| bound < at) as u64 * UNIT
    }
}

/// Returns the bytes that nothing else may share with a resource: those of its granules.
fn extent(frame: &NamedFrame, plan: &FramePlan, resource: usize) -> [u64; 2] {
    let (desc, start) = (&frame.resources[resource].desc, plan.placements[resource].offset.get());
    let granule = desc.granularity.get();
    [start - start % granule, (start + desc.size.get()).next_multiple_of(granule)]
}

fn default_heap() -> D3D12_HEAP_PROPERTIES {
    D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_DEFAULT, ..Default::default() }
}

fn list_type(kind: QueueKind) -> D3D12_COMMAND_LIST_TYPE {
    match kind {
        QueueKind::Direct => D3D12_COMMAND_LIST_TYPE_DIRECT,
        QueueKind::Compute => D3D12_COMMAND_LIST_TYPE_COMPUTE,
        QueueKind::Copy => D3D12_COMMAND_LIST_TYPE_COPY,
    }
}

/// Returns the description of a resource with so many bytes, and its state.
fn described(kind: ResourceKind, size: u64) -> (D3D12_RESOURCE_DESC, D3D12_RESOURCE_STATES) {
    let texture = |format, flags| D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        Width: WIDTH.into(),
        Height: u32::try_from(size / UNIT).unwrap_or(u32::MAX),
        DepthOrArraySize: 1,
        MipLevels: 1,
        Format: format,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        Flags: flags,
        ..Default::default()
    };
    let color = DXGI_FORMAT_R8G8B8A8_UNORM;
    match kind {
        ResourceKind::Buffer => (buffer_desc(ByteSize::new(size)), D3D12_RESOURCE_STATE_COMMON),
        ResourceKind::Texture | ResourceKind::UnorderedAccessTexture => {
            (texture(color, D3D12_RESOURCE_FLAG_NONE), D3D12_RESOURCE_STATE_COMMON)
        }
        ResourceKind::RenderTarget { .. } => {
            (texture(color, D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET), D3D12_RESOURCE_STATE_RENDER_TARGET)
        }
        ResourceKind::DepthStencil => {
            let flags = D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
            (texture(DXGI_FORMAT_D32_FLOAT, flags), D3D12_RESOURCE_STATE_DEPTH_WRITE)
        }
    }
}

/// Returns a resource for a structure that does not release it.
fn borrowed(resource: &ID3D12Resource) -> ManuallyDrop<Option<ID3D12Resource>> {
    // SAFETY: the copy is never dropped, and is used while the original is alive.
    ManuallyDrop::new(Some(unsafe { std::ptr::read(resource) }))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use heapwright_aliasing::frame::FramePlanOptions;
    use heapwright_runtime::aliasing::Rule;

    use super::*;
    use crate::input::read_text;
    use crate::plan::frame_file;

    /// A frame without one of its barriers or initialisations violates the rule of exactly that one. The tests of
    /// `heapwright-transient` have the same for the frames of two engines.
    #[test]
    fn each_barrier_and_each_initialisation_of_a_frame_is_needed() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/frame.json");
        let frame =
            frame_file::read("frame.json", &read_text(&path, "a frame").expect("a file")).expect("a frame");
        let plan = frame.frame.plan(&FramePlanOptions::default(), &mut || false).expect("a plan");
        assert_eq!(violation(&frame, &plan).expect("a frame").map(|found| found.to_string()), None);
        let mut replay = Replay::new(&frame, &plan).expect("resources");
        let all: Vec<Step> =
            plan.submissions.iter().flat_map(|submission| replay.steps(submission, false)).collect();
        let mut run = |left_out| {
            replay.submit(false, left_out).expect("a frame");
            replay.finish().expect("a device that works")
        };
        for _ in 0..2 {
            assert_eq!(run(None), Vec::new());
        }
        let (mut barriers, mut initialisations) = (0, 0);
        for (number, &left_out) in all.iter().enumerate() {
            let (rules, resource, count): (&[Rule], _, _) = match left_out {
                Step::Barrier { after, .. } => (&[Rule::B1, Rule::B4], after, &mut barriers),
                Step::Discard(resource) | Step::Use(resource, Use::Clear | Use::CopyAll) => {
                    (&[Rule::I2, Rule::I3, Rule::I4], resource, &mut initialisations)
                }
                Step::Use(..) => continue,
            };
            let found = run(Some(number));
            // What no other resource has overwritten needs no initialisation after the first frame.
            let is_shared = plan
                .activations
                .iter()
                .any(|activation| activation.resource.0 == resource && !activation.predecessors.is_empty());
            let named = format!("{left_out:?} of {}", frame.resources[resource].name);
            assert_eq!(found.is_empty(), !is_shared, "{named}");
            for violation in found {
                let subject = violation.resource.as_ref().and_then(|subject| subject.name.as_deref());
                assert!(rules.contains(&violation.rule), "{named}: {violation}");
                assert_eq!(subject, Some(&*frame.resources[resource].name), "{named}: {violation}");
            }
            *count += usize::from(is_shared);
        }
        assert!(barriers > 0 && initialisations > 2, "{barriers} {initialisations}");
    }
}
