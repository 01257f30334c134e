//! The cost of aliasing tracking. One iteration executes a frame of 1,000 copies and 200 aliasing barriers over 500
//! overlapping resources and waits for it, with the tracker off, on, and on with undefined contents overwritten. The
//! difference between the first two is the cost of the validation.
#![allow(missing_docs, reason = "a bench")]
#![allow(clippy::undocumented_unsafe_blocks, reason = "every call here is one of D3D12's, on live objects")]

use std::mem::ManuallyDrop;

use criterion::{Criterion, criterion_group, criterion_main};
use heapwright_d3d12::*;
use heapwright_runtime::aliasing::AliasingTracking;
use heapwright_runtime::{DeviceOptions, HostProfile, Instance};
use windows_core::Interface;

const RESOURCES: usize = 500;
const BARRIERS: usize = 200;
/// Number of copies that follow each barrier: 1,000 in all.
const COPIES_EACH: usize = 5;
/// Number of resources that start in each place.
const LAYERS: usize = 10;
const PLACE: u64 = 512 << 10;

struct Frame {
    gpu: Instance,
    queue: ID3D12CommandQueue,
    fence: ID3D12Fence,
    lists: [Option<ID3D12CommandList>; 1],
    value: std::cell::Cell<u64>,
    /// Objects that the commands refer to; they must outlive the execution.
    _kept: Vec<windows_core::IUnknown>,
}

fn desc(is_buffer: bool) -> D3D12_RESOURCE_DESC {
    let sample = DXGI_SAMPLE_DESC { Count: 1, Quality: 0 };
    let common =
        D3D12_RESOURCE_DESC { DepthOrArraySize: 1, MipLevels: 1, SampleDesc: sample, ..Default::default() };
    if is_buffer {
        return D3D12_RESOURCE_DESC {
            Dimension: D3D12_RESOURCE_DIMENSION_BUFFER,
            Width: PLACE,
            Height: 1,
            Layout: D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
            ..common
        };
    }
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        Width: 256,
        Height: 256,
        Format: DXGI_FORMAT_R8G8B8A8_UNORM,
        ..common
    }
}

impl Frame {
    fn new(tracking: Option<AliasingTracking>) -> Self {
        let options = DeviceOptions { aliasing: tracking, ..DeviceOptions::default() };
        let gpu = Instance::open_with(HostProfile::default_profile(), options).expect("a fresh instance");
        let device = gpu.device.clone();
        let list_type = D3D12_COMMAND_LIST_TYPE_DIRECT;
        let queue_desc = D3D12_COMMAND_QUEUE_DESC { Type: list_type, ..Default::default() };
        let properties = D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_DEFAULT, ..Default::default() };
        let heap_desc = D3D12_HEAP_DESC {
            SizeInBytes: (RESOURCES / LAYERS + 1) as u64 * PLACE,
            Properties: properties,
            ..Default::default()
        };
        let mut kept: Vec<windows_core::IUnknown> = Vec::new();
        let (mut heap, mut staging): (Option<ID3D12Heap>, Option<ID3D12Resource>) = (None, None);
        let (queue, fence, list) = unsafe {
            device.CreateHeap(&heap_desc, &mut heap).expect("created");
            let state = D3D12_RESOURCE_STATE_COMMON;
            device
                .CreateCommittedResource(
                    &properties,
                    D3D12_HEAP_FLAG_NONE,
                    &desc(true),
                    state,
                    None,
                    &mut staging,
                )
                .expect("created");
            let queue: ID3D12CommandQueue = device.CreateCommandQueue(&queue_desc).expect("created");
            let fence: ID3D12Fence = device.CreateFence(0, D3D12_FENCE_FLAG_NONE).expect("created");
            let allocator: ID3D12CommandAllocator =
                device.CreateCommandAllocator(list_type).expect("created");
            let list: ID3D12GraphicsCommandList =
                device.CreateCommandList(0, list_type, &allocator, None).expect("created");
            kept.push(allocator.into());
            (queue, fence, list)
        };
        let (heap, staging) = (heap.expect("created"), staging.expect("created"));
        let resources: Vec<(bool, ID3D12Resource)> = (0..RESOURCES)
            .map(|index| {
                // Every other resource starts half a place further, so that neighbours overlap as well.
                let offset = (index / LAYERS) as u64 * PLACE + (index % 2) as u64 * PLACE / 2;
                let is_buffer = index % 3 != 0;
                let mut made: Option<ID3D12Resource> = None;
                let state = D3D12_RESOURCE_STATE_COMMON;
                unsafe {
                    device.CreatePlacedResource(&heap, offset, &desc(is_buffer), state, None, &mut made)
                }
                .expect("created");
                (is_buffer, made.expect("created"))
            })
            .collect();
        for barrier in 0..BARRIERS {
            let (is_buffer, resource) = &resources[barrier * 7 % RESOURCES];
            alias(&list, resource);
            for copy in 0..COPIES_EACH as u64 {
                unsafe {
                    if *is_buffer {
                        list.CopyBufferRegion(resource, copy * 65536, &staging, copy * 256, 256);
                    } else {
                        copy_rows(&list, resource, &staging);
                    }
                }
            }
        }
        unsafe { list.Close() }.ok().expect("closed");
        kept.push(heap.into());
        kept.push(staging.into());
        kept.extend(resources.into_iter().map(|(_, resource)| resource.into()));
        let lists = [Some(list.cast().expect("a command list"))];
        Self { gpu, queue, fence, lists, value: std::cell::Cell::new(0), _kept: kept }
    }

    fn run(&self) {
        let value = self.value.get() + 1;
        self.value.set(value);
        unsafe {
            self.queue.ExecuteCommandLists(&self.lists);
            self.queue.Signal(&self.fence, value).ok().expect("signalled");
            self.fence.SetEventOnCompletion(value, HANDLE::default()).ok().expect("a null event blocks");
        }
    }
}

fn alias(list: &ID3D12GraphicsCommandList, after: &ID3D12Resource) {
    let mut barrier = D3D12_RESOURCE_BARRIER {
        Type: D3D12_RESOURCE_BARRIER_TYPE_ALIASING,
        Flags: D3D12_RESOURCE_BARRIER_FLAG_NONE,
        Anonymous: D3D12_RESOURCE_BARRIER_0 {
            Aliasing: ManuallyDrop::new(D3D12_RESOURCE_ALIASING_BARRIER {
                pResourceBefore: ManuallyDrop::new(None),
                pResourceAfter: ManuallyDrop::new(Some(after.clone())),
            }),
        },
    };
    unsafe {
        list.ResourceBarrier(std::slice::from_ref(&barrier));
        ManuallyDrop::drop(&mut (*barrier.Anonymous.Aliasing).pResourceAfter);
    }
}

/// Copies 16 by 16 texels into a texture.
fn copy_rows(list: &ID3D12GraphicsCommandList, texture: &ID3D12Resource, staging: &ID3D12Resource) {
    let mut to = D3D12_TEXTURE_COPY_LOCATION {
        pResource: ManuallyDrop::new(Some(texture.clone())),
        Type: D3D12_TEXTURE_COPY_TYPE_SUBRESOURCE_INDEX,
        Anonymous: D3D12_TEXTURE_COPY_LOCATION_0 { SubresourceIndex: 0 },
    };
    let footprint = D3D12_PLACED_SUBRESOURCE_FOOTPRINT {
        Offset: 0,
        Footprint: D3D12_SUBRESOURCE_FOOTPRINT {
            Format: DXGI_FORMAT_R8G8B8A8_UNORM,
            Width: 16,
            Height: 16,
            Depth: 1,
            RowPitch: 256,
        },
    };
    let mut from = D3D12_TEXTURE_COPY_LOCATION {
        pResource: ManuallyDrop::new(Some(staging.clone())),
        Type: D3D12_TEXTURE_COPY_TYPE_PLACED_FOOTPRINT,
        Anonymous: D3D12_TEXTURE_COPY_LOCATION_0 { PlacedFootprint: footprint },
    };
    unsafe {
        list.CopyTextureRegion(&to, 0, 0, 0, &from, None);
        ManuallyDrop::drop(&mut to.pResource);
        ManuallyDrop::drop(&mut from.pResource);
    }
}

fn frame(criterion: &mut Criterion) {
    let scrambled = AliasingTracking::ADVANCED;
    let plain = AliasingTracking { scramble_seed: None, ..scrambled };
    for (name, tracking) in
        [("off", None), ("on", Some(plain)), ("on, undefined contents overwritten", Some(scrambled))]
    {
        let frame = Frame::new(tracking);
        criterion.bench_function(&format!("a frame of 1,000 copies, tracker {name}"), |bencher| {
            bencher.iter(|| frame.run());
        });
        let found = frame.gpu.aliasing_violations();
        assert!(found.is_empty(), "{}", found[0]);
    }
}

criterion_group!(benches, frame);
criterion_main!(benches);
