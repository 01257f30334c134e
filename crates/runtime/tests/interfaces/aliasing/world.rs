//! A tracked device with overlapping resources, and the violations found.

use heapwright_d3d12::*;
use heapwright_runtime::aliasing::{AliasingTracking, Rule, Violation};
use heapwright_runtime::{DeviceOptions, HostProfile, Instance};
use windows_core::Interface as _;

use crate::gpu::{self, Queue, buffer_desc, commit, default_heap, placed};
use crate::queues::{barriers, textures};

pub(crate) const KIB_64: u64 = 64 * 1024;

pub(crate) struct World {
    pub(crate) gpu: Instance,
    pub(crate) device: ID3D12Device14,
    pub(crate) queue: Queue,
    /// A buffer of 16 MiB that overlaps nothing, as source and target of copies.
    pub(crate) other: ID3D12Resource,
}

impl World {
    pub(crate) fn new(tracking: AliasingTracking) -> Self {
        Self::of("discrete", tracking)
    }

    pub(crate) fn of(profile: &str, tracking: AliasingTracking) -> Self {
        let options = DeviceOptions { aliasing: Some(tracking), ..DeviceOptions::default() };
        let profile = HostProfile::find(profile).expect("a profile of that name");
        let gpu = Instance::open_with(profile, options).expect("a fresh instance");
        let device: ID3D12Device14 = gpu.device.cast().expect("the newest interface");
        let queue = Queue::direct(&device);
        let other = commit(&device, D3D12_HEAP_TYPE_DEFAULT, 16 << 20);
        Self { gpu, device, queue, other }
    }

    pub(crate) fn heap(&self, size: u64, flags: D3D12_HEAP_FLAGS) -> ID3D12Heap {
        default_heap(&self.device, size, flags)
    }

    pub(crate) fn place(
        &self,
        heap: &ID3D12Heap,
        offset: u64,
        desc: &D3D12_RESOURCE_DESC,
        state: D3D12_RESOURCE_STATES,
        name: &str,
    ) -> ID3D12Resource {
        let resource = placed(&self.device, heap, offset, desc, state).expect("a resource");
        gpu::name(&resource, name);
        resource
    }

    pub(crate) fn buffer(&self, heap: &ID3D12Heap, offset: u64, width: u64, name: &str) -> ID3D12Resource {
        let desc = buffer_desc(width, D3D12_RESOURCE_FLAG_NONE);
        self.place(heap, offset, &desc, D3D12_RESOURCE_STATE_COMMON, name)
    }

    /// Copies bytes into a buffer.
    pub(crate) fn write(&self, buffer: &ID3D12Resource, offset: u64, size: u64) {
        unsafe { self.queue.list.CopyBufferRegion(buffer, offset, &self.other, 0, size) };
    }

    /// Copies bytes out of a buffer.
    pub(crate) fn read(&self, buffer: &ID3D12Resource, offset: u64, size: u64) {
        unsafe { self.queue.list.CopyBufferRegion(&self.other, 8 << 20, buffer, offset, size) };
    }

    /// Copies a subresource of a texture to the other buffer, or from it.
    pub(crate) fn copy_texture(&self, texture: &ID3D12Resource, subresource: u32, is_read: bool) {
        let desc = unsafe { texture.GetDesc() };
        let mut layout = D3D12_PLACED_SUBRESOURCE_FOOTPRINT::default();
        let one = Some(&raw mut layout);
        unsafe { self.device.GetCopyableFootprints(&desc, subresource, 1, 0, one, None, None, None) };
        let texture = textures::subresource(texture, subresource);
        let buffer = D3D12_TEXTURE_COPY_LOCATION {
            pResource: textures::borrow(&self.other),
            Type: D3D12_TEXTURE_COPY_TYPE_PLACED_FOOTPRINT,
            Anonymous: D3D12_TEXTURE_COPY_LOCATION_0 { PlacedFootprint: layout },
        };
        let (to, from) = if is_read { (&buffer, &texture) } else { (&texture, &buffer) };
        unsafe { self.queue.list.CopyTextureRegion(to, 0, 0, 0, from, None) };
    }

    pub(crate) fn alias(&self, before: Option<&ID3D12Resource>, after: Option<&ID3D12Resource>) {
        unsafe { self.queue.list.ResourceBarrier(&[barriers::aliasing(before, after)]) };
    }

    pub(crate) fn transition(
        &self,
        resource: &ID3D12Resource,
        before: D3D12_RESOURCE_STATES,
        after: D3D12_RESOURCE_STATES,
    ) {
        unsafe { self.queue.list.ResourceBarrier(&[barriers::transition(Some(resource), before, after)]) };
    }

    /// Executes the recorded commands and returns the violations found.
    pub(crate) fn run(&self) -> Vec<Violation> {
        self.queue.run();
        let found = self.gpu.aliasing_violations();
        self.gpu.clear_aliasing_violations();
        found
    }

    /// Like [`run`](Self::run), but returns only the rules.
    pub(crate) fn rules(&self) -> Vec<(Rule, Option<Rule>)> {
        self.run().iter().map(|violation| (violation.rule, violation.because)).collect()
    }
}

/// Returns the description of a 2D texture of 256 x 256 texels of four bytes: 256 KiB a slice.
pub(crate) fn texture_desc(slices: u16, mips: u16, flags: D3D12_RESOURCE_FLAGS) -> D3D12_RESOURCE_DESC {
    let desc = gpu::texture_desc(DXGI_FORMAT_R8G8B8A8_UNORM, [256, 256]);
    D3D12_RESOURCE_DESC { DepthOrArraySize: slices, MipLevels: mips, Flags: flags, ..desc }
}
