//! The commands of a frame's passes, and the contents that they must read.
//!
//! Every pass does what it declares: it clears, draws (a clear of a part, and then of all), copies to, or copies from
//! its resources. Each read is compared with a committed resource that was written in the same way.

use std::collections::BTreeMap;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use heapwright::d3d12::*;
use heapwright_runtime::aliasing::Violation;
use heapwright_transient::{
    FrameResourceId, PassId, QueueKind, TransientFrame, TransientHeaps, TransientResources, Use,
};
use windows_core::Interface;

use super::world::{LeftOut, Queue, World};

/// A resource and what it is filled with.
struct Item {
    desc: D3D12_RESOURCE_DESC,
    /// The bytes of its first subresource, as the GPU lays them out in a buffer.
    expected: Vec<u8>,
    /// Bytes for copies to it.
    upload: ID3D12Resource,
    /// The target of reads, if the resource is multisampled.
    sink: Option<ID3D12Resource>,
}

/// One declared use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Declared {
    pub(crate) pass: PassId,
    pub(crate) resource: FrameResourceId,
    pub(crate) how: Use,
}

/// A frame that can be executed.
pub(crate) struct Program<'a> {
    world: &'a World,
    pub(crate) frame: TransientFrame,
    pub(crate) heaps: TransientHeaps,
    kinds: Vec<QueueKind>,
    queues: Vec<Queue>,
    items: Vec<Item>,
    uses: Vec<Declared>,
    skipped: Vec<PassId>,
    targets: ID3D12DescriptorHeap,
    depths: ID3D12DescriptorHeap,
    /// Read by the CPU, and visible to shaders.
    unordered: [ID3D12DescriptorHeap; 2],
    /// Values that each queue's fence had signalled at the end of the frame before.
    values: Vec<u64>,
}

/// The first differing read of a frame.
pub(crate) type Mismatch = Option<(PassId, FrameResourceId)>;

impl<'a> Program<'a> {
    pub(crate) fn new(world: &'a World) -> Self {
        let heap = |kind, flags| {
            let desc =
                D3D12_DESCRIPTOR_HEAP_DESC { Type: kind, NumDescriptors: 1, Flags: flags, NodeMask: 0 };
            // SAFETY: the device is alive, and the description outlives the call.
            unsafe { world.device.CreateDescriptorHeap(&desc) }.expect("a descriptor heap")
        };
        Self {
            world,
            frame: TransientFrame::new(),
            heaps: world.heaps(),
            kinds: Vec::new(),
            queues: Vec::new(),
            items: Vec::new(),
            uses: Vec::new(),
            skipped: Vec::new(),
            targets: heap(D3D12_DESCRIPTOR_HEAP_TYPE_RTV, D3D12_DESCRIPTOR_HEAP_FLAG_NONE),
            depths: heap(D3D12_DESCRIPTOR_HEAP_TYPE_DSV, D3D12_DESCRIPTOR_HEAP_FLAG_NONE),
            unordered: [D3D12_DESCRIPTOR_HEAP_FLAG_NONE, D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE]
                .map(|flags| heap(D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV, flags)),
            values: Vec::new(),
        }
    }

    pub(crate) fn queue(&mut self, kind: QueueKind) -> heapwright_transient::QueueId {
        self.kinds.push(kind);
        self.queues.push(Queue::new(self.world, kind));
        self.values.push(0);
        self.frame.add_queue(kind)
    }

    /// Adds a resource that `first` writes, and determines what reads of it must see.
    pub(crate) fn resource(&mut self, desc: &D3D12_RESOURCE_DESC, first: Use) -> FrameResourceId {
        let id = self.frame.add_resource(desc, None);
        let (layouts, size) = self.footprints(desc);
        let upload = self.world.buffer(D3D12_HEAP_TYPE_UPLOAD, size);
        let value = u8::try_from(id.0 % 200).expect("below 200") + 17;
        with_bytes(&upload, size, |bytes| bytes.fill(value));
        let is_comparable = desc.SampleDesc.Count == 1;
        let sink = (!is_comparable)
            .then(|| self.world.commit(D3D12_HEAP_TYPE_DEFAULT, desc, D3D12_RESOURCE_STATE_COPY_DEST));
        self.items.push(Item { desc: *desc, expected: Vec::new(), upload, sink });
        if is_comparable {
            // The twin: a committed resource that is written in the same way.
            let (state, how) = match desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL {
                _ if first == Use::CopyAll => (D3D12_RESOURCE_STATE_COPY_DEST, first),
                _ if first == Use::WriteUnordered => (D3D12_RESOURCE_STATE_UNORDERED_ACCESS, first),
                0 => (D3D12_RESOURCE_STATE_RENDER_TARGET, Use::Clear),
                _ => (D3D12_RESOURCE_STATE_DEPTH_WRITE, Use::Clear),
            };
            let is_buffer = desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER;
            let created = if is_buffer { D3D12_RESOURCE_STATE_COMMON } else { state };
            let twin = self.world.commit(D3D12_HEAP_TYPE_DEFAULT, desc, created);
            let size = layouts[0].1;
            let readback = self.world.buffer(D3D12_HEAP_TYPE_READBACK, size);
            let queue = Queue::new(self.world, QueueKind::Direct);
            let (_commands, list) = queue.list(self.world);
            self.write(&list, &twin, id, how);
            transition(&list, &twin, state, D3D12_RESOURCE_STATE_COPY_SOURCE);
            self.read(&list, &twin, id, &readback, 0);
            // SAFETY: the list is open.
            unsafe { list.Close() }.ok().expect("a valid list");
            execute(&queue, &list);
            wait(&queue, 1);
            with_bytes(&readback, size, |bytes| self.items[id.0].expected = bytes.to_vec());
            assert_eq!(self.world.violations(), []);
        }
        id
    }

    pub(crate) fn add_use(
        &mut self,
        pass: PassId,
        resource: FrameResourceId,
        how: Use,
    ) -> Result<(), heapwright::Error> {
        self.frame.add_use(pass, resource, how, self.state(resource, how))?;
        self.uses.push(Declared { pass, resource, how });
        Ok(())
    }

    pub(crate) fn state(&self, resource: FrameResourceId, how: Use) -> D3D12_RESOURCE_STATES {
        let flags = self.items[resource.0].desc.Flags;
        match how {
            Use::Read => D3D12_RESOURCE_STATE_COPY_SOURCE,
            Use::CopyAll => D3D12_RESOURCE_STATE_COPY_DEST,
            Use::WriteUnordered => D3D12_RESOURCE_STATE_UNORDERED_ACCESS,
            _ if flags & D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL != 0 => D3D12_RESOURCE_STATE_DEPTH_WRITE,
            _ => D3D12_RESOURCE_STATE_RENDER_TARGET,
        }
    }

    /// Returns the uses, sorted by pass within each resource.
    pub(crate) fn uses(&self) -> &[Declared] {
        &self.uses
    }

    /// Returns whether a pass reads a resource.
    pub(crate) fn is_read(&self, resource: FrameResourceId) -> bool {
        self.uses.iter().any(|used| used.resource == resource && used.how == Use::Read)
    }

    pub(crate) fn is_buffer(&self, resource: FrameResourceId) -> bool {
        self.items[resource.0].desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER
    }

    /// Skips passes in the next frames.
    pub(crate) fn skip(&mut self, passes: Vec<PassId>) {
        self.skipped = passes;
    }

    /// Prepares the frame, names its resources by their numbers, and tells the watch which share memory.
    pub(crate) fn prepare(&mut self) -> Result<Arc<TransientResources>, heapwright::Error> {
        let resources = self.heaps.prepare(&self.frame)?;
        let address = |id| resources.resource(id).map(|resource| resource.as_raw() as usize);
        for activation in &resources.plan().activations {
            // Those of the previous frame are in other submissions.
            let before = activation.predecessors.iter().filter(|predecessor| !predecessor.previous_frame);
            let before = before.map(|predecessor| address(predecessor.resource)).collect::<Result<_, _>>()?;
            self.world.watch.layouts().takes_over(address(activation.resource)?, before);
        }
        for number in 0..self.items.len() {
            let name: Vec<u16> = number.to_string().encode_utf16().chain([0]).collect();
            let resource = resources.resource(FrameResourceId(number))?;
            // SAFETY: the resource is alive, and the name ends with zero.
            unsafe { resource.SetName(PCWSTR(name.as_ptr())) }.ok().expect("a name");
        }
        Ok(resources)
    }

    /// Executes the frame once, without violations, errors, wrong contents and barriers that do not fit together.
    pub(crate) fn run_well(&mut self, name: &str) {
        let (violations, mismatch) = self.run();
        assert!(violations.is_empty(), "{name}: {}", violations[0]);
        assert_eq!(mismatch, None, "{name}");
        assert_eq!(self.world.wrong_layouts(), [""; 0], "{name}");
        assert_eq!(self.world.errors(), [""; 0], "{name}");
    }

    /// Executes the frame once. Returns the violations, and the first read with wrong contents.
    pub(crate) fn run(&mut self) -> (Vec<Violation>, Mismatch) {
        let resources = self.prepare().expect("a frame that can be planned");
        let mut reads: BTreeMap<(PassId, FrameResourceId), u64> = BTreeMap::new();
        let mut total = 0;
        for used in &self.uses {
            if used.how == Use::Read {
                reads.insert((used.pass, used.resource), total);
                total += (self.items[used.resource.0].expected.len() as u64).next_multiple_of(512);
            }
        }
        let readback = self.world.buffer(D3D12_HEAP_TYPE_READBACK, total);
        let before = self.values.clone();
        let mut signalled: Vec<(usize, u64)> = Vec::new();
        let mut lists = Vec::new();
        for submission in resources.submissions() {
            let queue = submission.queue.0;
            let (commands, list) = self.queues[queue].list(self.world);
            for &pass in submission.passes.iter().filter(|&pass| !self.skipped.contains(pass)) {
                self.record(&list, pass, &resources, &readback, &reads);
            }
            for &(other, value) in submission.after.iter().map(|&number| &signalled[number]) {
                self.queue_wait(queue, other, value);
            }
            for other in &submission.after_previous_frame {
                self.queue_wait(queue, other.0, before[other.0]);
            }
            // SAFETY: the list is open.
            unsafe { list.Close() }
                .ok()
                .unwrap_or_else(|error| panic!("{error}: {:#?}", self.world.errors()));
            let value = execute(&self.queues[queue], &list);
            self.values[queue] = value;
            signalled.push((queue, value));
            lists.push((commands, list));
        }
        for (queue, &value) in self.queues.iter().zip(&self.values) {
            wait(queue, value);
        }
        let mut mismatch = None;
        with_bytes(&readback, total, |bytes| {
            mismatch = (reads.iter())
                .filter(|((pass, _), _)| !self.skipped.contains(pass))
                .find(|&(&(_, resource), &start)| {
                    let expected = &self.items[resource.0].expected;
                    let start = usize::try_from(start).expect("small");
                    bytes[start..start + expected.len()] != expected[..]
                })
                .map(|(&read, _)| read);
        });
        (self.world.violations(), mismatch)
    }

    fn record(
        &self,
        list: &ID3D12GraphicsCommandList,
        pass: PassId,
        resources: &TransientResources,
        readback: &ID3D12Resource,
        reads: &BTreeMap<(PassId, FrameResourceId), u64>,
    ) {
        // SAFETY: the list is open, and the passes are recorded and executed as the frame declares. Tests that leave
        // commands out watch the tracker find it.
        unsafe { resources.begin_pass(list, pass) }.expect("a pass of the frame");
        for used in self.uses.iter().filter(|used| used.pass == pass) {
            let resource = resources.resource(used.resource).expect("a resource of the frame");
            self.world.watch.layouts().used(resource.as_raw() as usize, self.state(used.resource, used.how));
            match used.how {
                Use::Read => {
                    self.read(list, resource, used.resource, readback, reads[&(pass, used.resource)]);
                }
                how => self.write(list, resource, used.resource, how),
            }
        }
        // SAFETY: as above.
        unsafe { resources.end_pass(list, pass) }.expect("a pass of the frame");
    }

    fn queue_wait(&self, queue: usize, other: usize, value: u64) {
        // SAFETY: queue and fence are alive.
        unsafe { self.queues[queue].queue.Wait(&self.queues[other].fence, value) }.ok().expect("a wait");
    }

    /// Writes all of a resource.
    fn write(
        &self,
        list: &ID3D12GraphicsCommandList,
        resource: &ID3D12Resource,
        id: FrameResourceId,
        how: Use,
    ) {
        let Item { desc, upload, .. } = &self.items[id.0];
        let initialises = matches!(how, Use::Clear | Use::CopyAll);
        if initialises && LeftOut::is_next(&self.world.watch.left_out.initialisation) {
            return;
        }
        let part = RECT { left: 0, top: 0, right: 1, bottom: 1 };
        let parts: &[&[RECT]] = if how == Use::Clear { &[&[]] } else { &[&[part], &[]] };
        if how == Use::CopyAll {
            self.copy(list, resource, desc, upload);
        } else if how == Use::WriteUnordered {
            self.clear_unordered(list, resource, id);
        } else if desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL != 0 {
            self.clear_depth(list, resource, id, parts);
        } else {
            self.clear_target(list, resource, id, parts);
        }
    }

    fn copy(
        &self,
        list: &ID3D12GraphicsCommandList,
        resource: &ID3D12Resource,
        desc: &D3D12_RESOURCE_DESC,
        upload: &ID3D12Resource,
    ) {
        if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER {
            // SAFETY: both buffers are alive and at least that large.
            unsafe { list.CopyBufferRegion(resource, 0, upload, 0, desc.Width) };
            return;
        }
        for (number, (layout, _)) in (0..).zip(self.footprints(desc).0) {
            let (to, from) = (subresource(resource, number), footprint(upload, layout));
            // SAFETY: the resources are alive until the test has waited for the GPU.
            unsafe { list.CopyTextureRegion(&to, 0, 0, 0, &from, None) };
        }
    }

    fn clear_target(
        &self,
        list: &ID3D12GraphicsCommandList,
        resource: &ID3D12Resource,
        id: FrameResourceId,
        parts: &[&[RECT]],
    ) {
        let Item { desc, .. } = &self.items[id.0];
        let value = f32::from(u8::try_from(id.0 % 50).expect("below 50")) / 64.0 + 0.125;
        for mip in 0..u32::from(desc.MipLevels) {
            let view = (desc.SampleDesc.Count == 1).then(|| D3D12_RENDER_TARGET_VIEW_DESC {
                Format: desc.Format,
                ViewDimension: D3D12_RTV_DIMENSION_TEXTURE2DARRAY,
                Anonymous: D3D12_RENDER_TARGET_VIEW_DESC_0 {
                    Texture2DArray: D3D12_TEX2D_ARRAY_RTV {
                        MipSlice: mip,
                        ArraySize: desc.DepthOrArraySize.into(),
                        ..Default::default()
                    },
                },
            });
            // SAFETY: the resource is a render target with that mip; a list reads a descriptor when it records.
            unsafe {
                let handle = self.targets.GetCPUDescriptorHandleForHeapStart();
                self.world.device.CreateRenderTargetView(
                    resource,
                    view.as_ref().map(std::ptr::from_ref),
                    handle,
                );
                for part in parts {
                    list.ClearRenderTargetView(handle, &[value, value / 2.0, value / 4.0, 1.0], part);
                }
            }
        }
    }

    fn clear_unordered(
        &self,
        list: &ID3D12GraphicsCommandList,
        resource: &ID3D12Resource,
        id: FrameResourceId,
    ) {
        let value = f32::from(u8::try_from(id.0 % 50).expect("below 50")) / 64.0 + 0.125;
        let [hidden, visible] = &self.unordered;
        // SAFETY: the resource has unordered access and one mip; a list reads a descriptor when it records.
        unsafe {
            let handle = hidden.GetCPUDescriptorHandleForHeapStart();
            for handle in [handle, visible.GetCPUDescriptorHandleForHeapStart()] {
                self.world.device.CreateUnorderedAccessView(resource, None, None, handle);
            }
            list.SetDescriptorHeaps(&[Some(visible.clone())]);
            let start = visible.GetGPUDescriptorHandleForHeapStart();
            let values = [value, value / 2.0, value / 4.0, 1.0];
            list.ClearUnorderedAccessViewFloat(start, handle, resource, &values, &[]);
        }
    }

    fn clear_depth(
        &self,
        list: &ID3D12GraphicsCommandList,
        resource: &ID3D12Resource,
        id: FrameResourceId,
        parts: &[&[RECT]],
    ) {
        let Item { desc, .. } = &self.items[id.0];
        let value = f32::from(u8::try_from(id.0 % 50).expect("below 50")) / 64.0 + 0.125;
        let flags = match desc.Format {
            DXGI_FORMAT_D32_FLOAT => D3D12_CLEAR_FLAG_DEPTH,
            _ => D3D12_CLEAR_FLAG_DEPTH | D3D12_CLEAR_FLAG_STENCIL,
        };
        // SAFETY: the resource is a depth-stencil texture of one mip; a list reads a descriptor when it records.
        unsafe {
            let handle = self.depths.GetCPUDescriptorHandleForHeapStart();
            self.world.device.CreateDepthStencilView(resource, None, handle);
            for part in parts {
                list.ClearDepthStencilView(handle, flags, value, 3, part);
            }
        }
    }

    /// Copies the first subresource to a buffer; a multisampled texture to one that is not looked at.
    fn read(
        &self,
        list: &ID3D12GraphicsCommandList,
        resource: &ID3D12Resource,
        id: FrameResourceId,
        readback: &ID3D12Resource,
        start: u64,
    ) {
        let Item { desc, sink, .. } = &self.items[id.0];
        // SAFETY: the resources are alive until the test has waited for the GPU, and the buffer is large enough.
        unsafe {
            if let Some(sink) = sink {
                list.CopyResource(sink, resource);
            } else if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER {
                list.CopyBufferRegion(readback, start, resource, 0, desc.Width);
            } else {
                let mut layout = self.footprints(desc).0[0].0;
                layout.Offset = start;
                let (to, from) = (footprint(readback, layout), subresource(resource, 0));
                list.CopyTextureRegion(&to, 0, 0, 0, &from, None);
            }
        }
    }

    /// Returns the layout of each subresource in a buffer, with the bytes from the first one on, and the size of all.
    fn footprints(
        &self,
        desc: &D3D12_RESOURCE_DESC,
    ) -> (Vec<(D3D12_PLACED_SUBRESOURCE_FOOTPRINT, u64)>, u64) {
        if desc.SampleDesc.Count > 1 {
            return (Vec::new(), 1);
        }
        if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER {
            return (vec![(D3D12_PLACED_SUBRESOURCE_FOOTPRINT::default(), desc.Width)], desc.Width);
        }
        let planes = match desc.Format {
            DXGI_FORMAT_D32_FLOAT_S8X24_UINT | DXGI_FORMAT_D24_UNORM_S8_UINT => 2,
            _ => 1,
        };
        let count = u32::from(desc.MipLevels) * u32::from(desc.DepthOrArraySize) * planes;
        let mut layouts = vec![(D3D12_PLACED_SUBRESOURCE_FOOTPRINT::default(), 0); count as usize];
        let mut end = 0;
        for (number, (layout, size)) in (0..).zip(&mut layouts) {
            let mut total = 0;
            // SAFETY: the device is alive, and the variables outlive the call.
            unsafe {
                self.world.device.GetCopyableFootprints(
                    desc,
                    number,
                    1,
                    end,
                    Some(&raw mut *layout),
                    None,
                    None,
                    Some(&raw mut total),
                );
            }
            *size = total;
            end = (end + total).next_multiple_of(512);
        }
        (layouts, end)
    }
}

/// Returns a location that borrows its resource: it is not released with the location.
fn location(
    resource: &ID3D12Resource,
    kind: D3D12_TEXTURE_COPY_TYPE,
    which: D3D12_TEXTURE_COPY_LOCATION_0,
) -> D3D12_TEXTURE_COPY_LOCATION {
    // SAFETY: the copy is never dropped, and is used while the original is alive.
    let borrowed = ManuallyDrop::new(Some(unsafe { std::ptr::read(resource) }));
    D3D12_TEXTURE_COPY_LOCATION { pResource: borrowed, Type: kind, Anonymous: which }
}

fn subresource(resource: &ID3D12Resource, index: u32) -> D3D12_TEXTURE_COPY_LOCATION {
    let which = D3D12_TEXTURE_COPY_LOCATION_0 { SubresourceIndex: index };
    location(resource, D3D12_TEXTURE_COPY_TYPE_SUBRESOURCE_INDEX, which)
}

fn footprint(
    buffer: &ID3D12Resource,
    layout: D3D12_PLACED_SUBRESOURCE_FOOTPRINT,
) -> D3D12_TEXTURE_COPY_LOCATION {
    let which = D3D12_TEXTURE_COPY_LOCATION_0 { PlacedFootprint: layout };
    location(buffer, D3D12_TEXTURE_COPY_TYPE_PLACED_FOOTPRINT, which)
}

fn transition(
    list: &ID3D12GraphicsCommandList,
    resource: &ID3D12Resource,
    before: D3D12_RESOURCE_STATES,
    after: D3D12_RESOURCE_STATES,
) {
    let barrier = D3D12_RESOURCE_BARRIER {
        Type: D3D12_RESOURCE_BARRIER_TYPE_TRANSITION,
        Flags: D3D12_RESOURCE_BARRIER_FLAG_NONE,
        Anonymous: D3D12_RESOURCE_BARRIER_0 {
            Transition: ManuallyDrop::new(D3D12_RESOURCE_TRANSITION_BARRIER {
                // SAFETY: the copy is never dropped, and is used while the original is alive.
                pResource: ManuallyDrop::new(Some(unsafe { std::ptr::read(resource) })),
                Subresource: D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES,
                StateBefore: before,
                StateAfter: after,
            }),
        },
    };
    // SAFETY: the list is open.
    unsafe { list.ResourceBarrier(&[barrier]) };
}

/// Executes a list and signals the queue's fence. Returns the value.
fn execute(queue: &Queue, list: &ID3D12GraphicsCommandList) -> u64 {
    // SAFETY: the list is closed and of the queue's type; what it uses lives until the test has waited.
    unsafe { queue.queue.ExecuteCommandLists(&[Some(list.cast().expect("its base"))]) };
    queue.signal()
}

fn wait(queue: &Queue, value: u64) {
    // SAFETY: the fence is alive. Without an event, the call returns when the fence reaches the value.
    unsafe { queue.fence.SetEventOnCompletion(value, HANDLE::default()) }.ok().expect("the fence is reached");
}

/// Calls `act` with the bytes of a buffer that the CPU can access.
fn with_bytes(buffer: &ID3D12Resource, size: u64, act: impl FnOnce(&mut [u8])) {
    let size = usize::try_from(size).expect("small");
    let mut start = std::ptr::null_mut();
    // SAFETY: the buffer is mapped here alone, has at least that many bytes, and the GPU is idle.
    unsafe {
        buffer.Map(0, None, &raw mut start).ok().expect("it can be mapped");
        act(std::slice::from_raw_parts_mut(start.cast::<u8>(), size));
        buffer.Unmap(0, None);
    }
}
