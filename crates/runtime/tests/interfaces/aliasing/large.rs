//! Programs whose tables, resources or overlaps are so many that tracking must not cost their product. The steps are
//! counted in `src/aliasing/tests/dispatches.rs` and `src/drivers/noise.rs`; here the programs run as a whole, and
//! their results are compared.

use heapwright_d3d12::*;
use heapwright_runtime::aliasing::{AliasingTracking, Rule};

use super::world::{KIB_64, World, texture_desc};
use crate::gpu::{buffer_desc, bytes, commit, descriptor_heap, elements_view, placed, view_of};
use crate::queues::textures::{footprint, region, subresource};

const UNORDERED: D3D12_RESOURCE_FLAGS = D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS;
const COMMON: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_COMMON;
const TARGET: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_RENDER_TARGET;

/// Hundreds of dispatches, each with the same table of 65,536 views of 256 buffers.
#[test]
fn dispatches_with_a_full_table() {
    const BUFFERS: u32 = 256;
    const VIEWS: u32 = 256;
    let world = World::new(AliasingTracking::ADVANCED);
    let (device, list) = (&world.device, &world.queue.list);
    let kind = D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV;
    let flags = D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE;
    let views = descriptor_heap(device, kind, BUFFERS * VIEWS, flags).expect("a descriptor heap");
    let step = usize::try_from(unsafe { device.GetDescriptorHandleIncrementSize(kind) }).expect("small");
    let mut place = unsafe { views.GetCPUDescriptorHandleForHeapStart() };
    let desc = buffer_desc((VIEWS * 256).into(), UNORDERED);
    let heap = world.heap(u64::from(BUFFERS) * KIB_64, D3D12_HEAP_FLAG_CREATE_NOT_ZEROED);
    let buffers: Vec<_> = (0..BUFFERS)
        .map(|index| placed(device, &heap, u64::from(index) * KIB_64, &desc, COMMON).expect("a buffer"))
        .collect();
    for buffer in &buffers {
        for view in 0..VIEWS {
            let of = elements_view(DXGI_FORMAT_R32_UINT, u64::from(view) * 64, 64);
            unsafe { device.CreateUnorderedAccessView(buffer, None, Some(&of), place) };
            place.ptr += step;
        }
    }
    for _ in 0..8 {
        for _ in 0..64 {
            unsafe {
                list.SetDescriptorHeaps(&[Some(views.clone())]);
                list.Dispatch(1, 1, 1);
            }
        }
        assert_eq!(world.rules(), []);
    }
    // What a shader may have written is unknown, and a copy writes over it.
    let last = buffers.last().expect("many");
    world.write(last, 0, KIB_64);
    let readback = commit(device, D3D12_HEAP_TYPE_READBACK, KIB_64);
    unsafe { list.CopyBufferRegion(&readback, 0, last, 0, KIB_64) };
    assert_eq!(world.rules(), []);
    assert!(bytes(&readback).iter().all(|&byte| byte == 0), "the copy's zeros");
}

/// One list that binds each of thousands of buffers by its address and dispatches.
#[test]
fn dispatches_with_thousands_of_buffers() {
    const BUFFERS: u64 = 4096;
    let world = World::new(AliasingTracking::ADVANCED);
    let (device, list) = (&world.device, &world.queue.list);
    let heap = world.heap(BUFFERS * KIB_64, D3D12_HEAP_FLAG_NONE);
    let desc = buffer_desc(KIB_64, UNORDERED);
    let buffers: Vec<_> = (0..BUFFERS)
        .map(|index| placed(device, &heap, index * KIB_64, &desc, COMMON).expect("a buffer"))
        .collect();
    let signature: ID3D12RootSignature =
        unsafe { device.CreateRootSignature(0, b"DXBC") }.expect("an inert root signature");
    for buffer in &buffers[buffers.len() - 2..] {
        world.write(buffer, 0, KIB_64);
    }
    unsafe { list.SetComputeRootSignature(&signature) };
    for buffer in &buffers[..buffers.len() - 1] {
        unsafe {
            list.SetComputeRootUnorderedAccessView(0, buffer.GetGPUVirtualAddress());
            list.Dispatch(1, 1, 1);
        }
    }
    assert_eq!(world.rules(), []);
    let readback = commit(device, D3D12_HEAP_TYPE_READBACK, 2 * KIB_64);
    unsafe {
        for (at, buffer) in buffers[buffers.len() - 2..].iter().enumerate() {
            list.CopyBufferRegion(&readback, at as u64 * KIB_64, buffer, 0, KIB_64);
        }
    }
    assert_eq!(world.rules(), []);
    let (bound, unbound) = bytes(&readback).split_at(usize::try_from(KIB_64).expect("small"));
    assert!(
        bound.iter().any(|&byte| byte != 0),
        "a shader may have written the buffer, so its contents are unknown"
    );
    assert!(unbound.iter().all(|&byte| byte == 0), "no shader may have written the buffer");
}

/// Large render targets at every place of a heap, each of which overlaps hundreds of others, become the user of their
/// memory one after the other.
#[test]
fn targets_that_overlap_hundreds_of_others() {
    const TARGETS: u64 = 512;
    let world = World::new(AliasingTracking::ADVANCED);
    let (device, list) = (&world.device, &world.queue.list);
    let heap = world.heap((TARGETS + 256) * KIB_64, D3D12_HEAP_FLAG_NONE);
    let desc = texture_desc(1, 1, D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET);
    let desc = D3D12_RESOURCE_DESC { Width: 2048, Height: 2048, ..desc };
    let readback = commit(device, D3D12_HEAP_TYPE_READBACK, TARGETS * 512);
    let targets: Vec<_> = (0..TARGETS)
        .map(|index| {
            let target = placed(device, &heap, index * KIB_64, &desc, TARGET).expect("a target");
            let (views, view) = view_of(device, D3D12_DESCRIPTOR_HEAP_TYPE_RTV, &target);
            (target, views, view)
        })
        .collect();
    for (index, (target, _, view)) in targets.iter().enumerate() {
        let texel = RECT { left: 0, top: 0, right: 1, bottom: 1 };
        let red = f32::from(u8::try_from(index % 251).expect("a remainder")) / 255.0;
        unsafe {
            world.alias(None, Some(target));
            list.DiscardResource(target, None);
            list.ClearRenderTargetView(*view, &[red, 0.0, 0.0, 1.0], &[texel]);
        }
        world.transition(target, TARGET, D3D12_RESOURCE_STATE_COPY_SOURCE);
        let to = footprint(&readback, index as u64 * 512, desc.Format, [1, 1, 1], 256);
        let first = region([0, 0, 0], [1, 1, 1]);
        unsafe { list.CopyTextureRegion(&to, 0, 0, 0, &subresource(target, 0), Some(&first)) };
    }
    let found = world.rules();
    assert!(found.iter().all(|&(rule, _)| rule != Rule::I4), "each target was initialised: {found:?}");
    for (index, texel) in bytes(&readback).chunks(512).enumerate() {
        assert_eq!(usize::from(texel[0]), index % 251, "target {index}");
    }
    for (at, byte) in bytes(&readback).iter().enumerate() {
        assert!(at % 512 < 4 || *byte == 0, "only texels were copied");
    }
}
