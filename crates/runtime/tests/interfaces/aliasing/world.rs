//! A tracked device with overlapping resources, and the violations found.

use std::mem::ManuallyDrop;

use heapwright_d3d12::*;
use heapwright_runtime::aliasing::{AliasingTracking, Rule, Violation};
use heapwright_runtime::{DeviceOptions, HostProfile, Instance};
use windows_core::Interface;

use crate::gpu::{Answer, Queue, buffer_desc, commit};

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
        let desc = D3D12_HEAP_DESC {
            SizeInBytes: size,
            Properties: D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_DEFAULT, ..Default::default() },
            Flags: flags,
            ..Default::default()
        };
        let mut heap = None;
        unsafe { self.device.CreateHeap(&desc, &mut heap) }.expect("a heap");
        heap.expect("S_OK comes with a heap")
    }

    pub(crate) fn place(
        &self,
        heap: &ID3D12Heap,
        offset: u64,
        desc: &D3D12_RESOURCE_DESC,
        state: D3D12_RESOURCE_STATES,
        name: &str,
    ) -> ID3D12Resource {
        let mut resource = None;
        unsafe { self.device.CreatePlacedResource(heap, offset, desc, state, None, &mut resource) }
            .expect("a resource");
        let resource: ID3D12Resource = resource.expect("S_OK comes with a resource");
        let name: Vec<u16> = name.encode_utf16().chain([0]).collect();
        unsafe { resource.SetName(PCWSTR(name.as_ptr())) }.succeeds();
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
        self.copy_texture_with(&self.queue.list, texture, subresource, is_read);
    }

    pub(crate) fn copy_texture_with(
        &self,
        list: &ID3D12GraphicsCommandList7,
        texture: &ID3D12Resource,
        subresource: u32,
        is_read: bool,
    ) {
        let desc = unsafe { texture.GetDesc() };
        let mut layout = D3D12_PLACED_SUBRESOURCE_FOOTPRINT::default();
        unsafe {
            self.device.GetCopyableFootprints(
                &desc,
                subresource,
                1,
                0,
                Some(&raw mut layout),
                None,
                None,
                None,
            );
        }
        let mut texture = D3D12_TEXTURE_COPY_LOCATION {
            pResource: ManuallyDrop::new(Some(texture.clone())),
            Type: D3D12_TEXTURE_COPY_TYPE_SUBRESOURCE_INDEX,
            Anonymous: D3D12_TEXTURE_COPY_LOCATION_0 { SubresourceIndex: subresource },
        };
        let mut buffer = D3D12_TEXTURE_COPY_LOCATION {
            pResource: ManuallyDrop::new(Some(self.other.clone())),
            Type: D3D12_TEXTURE_COPY_TYPE_PLACED_FOOTPRINT,
            Anonymous: D3D12_TEXTURE_COPY_LOCATION_0 { PlacedFootprint: layout },
        };
        let (to, from) = if is_read { (&buffer, &texture) } else { (&texture, &buffer) };
        unsafe { list.CopyTextureRegion(to, 0, 0, 0, from, None) };
        unsafe {
            ManuallyDrop::drop(&mut texture.pResource);
            ManuallyDrop::drop(&mut buffer.pResource);
        }
    }

    pub(crate) fn alias(&self, before: Option<&ID3D12Resource>, after: Option<&ID3D12Resource>) {
        let mut barrier = D3D12_RESOURCE_BARRIER {
            Type: D3D12_RESOURCE_BARRIER_TYPE_ALIASING,
            Flags: D3D12_RESOURCE_BARRIER_FLAG_NONE,
            Anonymous: D3D12_RESOURCE_BARRIER_0 {
                Aliasing: ManuallyDrop::new(D3D12_RESOURCE_ALIASING_BARRIER {
                    pResourceBefore: ManuallyDrop::new(before.cloned()),
                    pResourceAfter: ManuallyDrop::new(after.cloned()),
                }),
            },
        };
        unsafe {
            self.queue.list.ResourceBarrier(std::slice::from_ref(&barrier));
            let aliasing = &mut *barrier.Anonymous.Aliasing;
            ManuallyDrop::drop(&mut aliasing.pResourceBefore);
            ManuallyDrop::drop(&mut aliasing.pResourceAfter);
        }
    }

    pub(crate) fn transition(
        &self,
        resource: &ID3D12Resource,
        before: D3D12_RESOURCE_STATES,
        after: D3D12_RESOURCE_STATES,
    ) {
        let mut barrier = D3D12_RESOURCE_BARRIER {
            Type: D3D12_RESOURCE_BARRIER_TYPE_TRANSITION,
            Flags: D3D12_RESOURCE_BARRIER_FLAG_NONE,
            Anonymous: D3D12_RESOURCE_BARRIER_0 {
                Transition: ManuallyDrop::new(D3D12_RESOURCE_TRANSITION_BARRIER {
                    pResource: ManuallyDrop::new(Some(resource.clone())),
                    Subresource: D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES,
                    StateBefore: before,
                    StateAfter: after,
                }),
            },
        };
        unsafe {
            self.queue.list.ResourceBarrier(std::slice::from_ref(&barrier));
            ManuallyDrop::drop(&mut (*barrier.Anonymous.Transition).pResource);
        }
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
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        Width: 256,
        Height: 256,
        DepthOrArraySize: slices,
        MipLevels: mips,
        Format: DXGI_FORMAT_R8G8B8A8_UNORM,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        Flags: flags,
        ..Default::default()
    }
}
