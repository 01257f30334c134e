//! Draws and dispatches: nothing is executed, and the contents that they may have written are unknown.

use heapwright_d3d12::*;
use heapwright_runtime::aliasing::{AliasingTracking, Rule};

use super::world::{KIB_64, World, texture_desc};
use crate::gpu::{Answer, bytes, commit, descriptor_heap, elements_view, slices_view};

const NOT_ZEROED: D3D12_HEAP_FLAGS = D3D12_HEAP_FLAG_CREATE_NOT_ZEROED;
const COMMON: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_COMMON;
const TARGET: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_RENDER_TARGET;
const UNORDERED: D3D12_RESOURCE_FLAGS = D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS;
const VIEWS: D3D12_DESCRIPTOR_HEAP_TYPE = D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV;

/// A device with a heap of 1 MiB that is not zeroed, and descriptor heaps.
struct Scene {
    world: World,
    heap: ID3D12Heap,
    targets: ID3D12DescriptorHeap,
    views: ID3D12DescriptorHeap,
}

impl Scene {
    fn new() -> Self {
        let world = World::new(AliasingTracking::ADVANCED);
        let heap = world.heap(1 << 20, NOT_ZEROED);
        let descriptors =
            |kind, flags| descriptor_heap(&world.device, kind, 4, flags).expect("a descriptor heap");
        let targets = descriptors(D3D12_DESCRIPTOR_HEAP_TYPE_RTV, D3D12_DESCRIPTOR_HEAP_FLAG_NONE);
        let views = descriptors(VIEWS, D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE);
        Self { heap, targets, views, world }
    }

    fn list(&self) -> &ID3D12GraphicsCommandList7 {
        &self.world.queue.list
    }

    fn target(&self, name: &str) -> (ID3D12Resource, D3D12_CPU_DESCRIPTOR_HANDLE) {
        let desc = texture_desc(1, 1, D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET);
        let target = self.world.place(&self.heap, 0, &desc, TARGET, name);
        let handle = unsafe { self.targets.GetCPUDescriptorHandleForHeapStart() };
        unsafe { self.world.device.CreateRenderTargetView(&target, None, handle) };
        (target, handle)
    }

    fn buffer(&self, offset: u64, width: u64, name: &str) -> ID3D12Resource {
        let desc = crate::gpu::buffer_desc(width, UNORDERED);
        self.world.place(&self.heap, offset, &desc, COMMON, name)
    }

    /// Writes a view of 4-byte elements to a shader-visible descriptor.
    fn view(&self, index: u32, buffer: &ID3D12Resource, first: u64, count: u32) {
        let desc = elements_view(DXGI_FORMAT_R32_UINT, first, count);
        let handle = self.descriptor(index);
        unsafe { self.world.device.CreateUnorderedAccessView(buffer, None, Some(&desc), handle) };
    }

    fn descriptor(&self, index: u32) -> D3D12_CPU_DESCRIPTOR_HANDLE {
        let start = unsafe { self.views.GetCPUDescriptorHandleForHeapStart() };
        let step = unsafe { self.world.device.GetDescriptorHandleIncrementSize(VIEWS) };
        D3D12_CPU_DESCRIPTOR_HANDLE { ptr: start.ptr + usize::try_from(index * step).expect("small") }
    }

    fn draw(&self) {
        unsafe { self.list().DrawInstanced(3, 1, 0, 0) };
    }

    fn dispatch(&self) {
        unsafe { self.list().Dispatch(1, 1, 1) };
    }

    fn set_views(&self) {
        unsafe { self.list().SetDescriptorHeaps(&[Some(self.views.clone())]) };
    }

    /// Returns the first bytes of a buffer.
    fn fetch(&self, buffer: &ID3D12Resource, size: u64) -> Vec<u8> {
        let readback = commit(&self.world.device, D3D12_HEAP_TYPE_READBACK, size);
        unsafe { self.list().CopyBufferRegion(&readback, 0, buffer, 0, size) };
        assert_eq!(self.world.rules(), []);
        bytes(&readback).to_vec()
    }

    /// Returns the smallest range that covers all non-zero bytes of a buffer.
    fn changed(&self, buffer: &ID3D12Resource, size: u64) -> std::ops::Range<usize> {
        let seen = self.fetch(buffer, size);
        let first = seen.iter().position(|&byte| byte != 0).unwrap_or(0);
        first..seen.iter().rposition(|&byte| byte != 0).map_or(first, |last| last + 1)
    }
}

#[test]
fn a_draw_leaves_a_render_target_unknown() {
    let scene = Scene::new();
    let (target, handle) = scene.target("target");
    let bind = || unsafe { scene.list().OMSetRenderTargets(1, Some(&raw const handle), false, None) };
    bind();
    scene.draw();
    assert_eq!(scene.world.rules(), [(Rule::I4, None)], "nobody has initialised it");
    unsafe {
        scene.list().DiscardResource(&target, None);
        scene.world.transition(&target, TARGET, D3D12_RESOURCE_STATE_COPY_SOURCE);
        scene.world.copy_texture(&target, 0, true);
        assert_eq!(scene.world.rules(), [(Rule::I8, None)], "nobody has written it");
        scene.world.transition(&target, D3D12_RESOURCE_STATE_COPY_SOURCE, TARGET);
        scene.list().ClearRenderTargetView(handle, &[0.0; 4], &[]);
        // A list's bindings are cleared when it is reset.
        scene.draw();
        scene.world.copy_texture(&target, 0, true);
        assert_eq!(scene.world.rules(), []);
        assert_eq!(scene.changed(&scene.world.other, KIB_64), 0..0, "as it was cleared");
        scene.list().DiscardResource(&target, None);
        bind();
        scene.draw();
        scene.world.copy_texture(&target, 0, true);
        assert_eq!(scene.world.rules(), []);
        assert_ne!(scene.changed(&scene.world.other, KIB_64), 0..0, "overwritten");
    }
}

#[test]
fn a_draw_writes_the_mip_level_and_the_slice_of_its_view() {
    let scene = Scene::new();
    let desc = texture_desc(2, 2, D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET);
    let target = scene.world.place(&scene.heap, 0, &desc, TARGET, "target");
    let view = slices_view(DXGI_FORMAT_R8G8B8A8_UNORM, 1, 1, 1);
    unsafe {
        let handle = scene.targets.GetCPUDescriptorHandleForHeapStart();
        scene.world.device.CreateRenderTargetView(&target, Some(&view), handle);
        scene.list().DiscardResource(&target, None);
        scene.list().OMSetRenderTargets(1, Some(&raw const handle), false, None);
    }
    scene.draw();
    scene.world.transition(&target, TARGET, D3D12_RESOURCE_STATE_COPY_SOURCE);
    // The other subresources have been discarded, and not written since.
    for subresource in 0..4 {
        scene.world.copy_texture(&target, subresource, true);
        let expected = if subresource == 3 { vec![] } else { vec![(Rule::I8, None)] };
        assert_eq!(scene.world.rules(), expected, "subresource {subresource}");
    }
}

#[test]
fn a_draw_takes_memory_over() {
    let scene = Scene::new();
    let (target, handle) = scene.target("target");
    let buffer = scene.buffer(0, KIB_64, "buffer");
    let draw = || unsafe {
        scene.list().OMSetRenderTargets(1, Some(&raw const handle), false, None);
        scene.draw();
    };
    unsafe { scene.list().ClearRenderTargetView(handle, &[0.0; 4], &[]) };
    draw();
    scene.world.alias(Some(&target), Some(&buffer));
    scene.world.write(&buffer, 0, KIB_64);
    assert_eq!(scene.world.rules(), []);
    draw();
    assert_eq!(scene.world.rules(), [(Rule::I3, Some(Rule::I9))]);
    scene.world.read(&buffer, 0, 16);
    assert_eq!(scene.world.rules(), [(Rule::I2, Some(Rule::H2))]);
    // Within one submission, a barrier is required between the two.
    scene.world.write(&buffer, 0, KIB_64);
    unsafe { scene.list().DiscardResource(&target, None) };
    draw();
    assert_eq!(scene.world.rules(), [(Rule::B1, None)]);
}

#[test]
fn a_draw_in_a_render_pass_writes_what_the_pass_renders_to() {
    let scene = Scene::new();
    let (target, handle) = scene.target("target");
    let (keep, discard) =
        (D3D12_RENDER_PASS_ENDING_ACCESS_TYPE_PRESERVE, D3D12_RENDER_PASS_ENDING_ACCESS_TYPE_DISCARD);
    let rules_after = |draws: bool, ending| {
        let mut desc = D3D12_RENDER_PASS_RENDER_TARGET_DESC { cpuDescriptor: handle, ..Default::default() };
        desc.BeginningAccess.Type = D3D12_RENDER_PASS_BEGINNING_ACCESS_TYPE_DISCARD;
        desc.EndingAccess.Type = ending;
        unsafe { scene.list().BeginRenderPass(Some(&[desc]), None, D3D12_RENDER_PASS_FLAG_NONE) };
        if draws {
            scene.draw();
        }
        unsafe { scene.list().EndRenderPass() };
        scene.world.copy_texture(&target, 0, true);
        scene.world.rules()
    };
    assert_eq!(rules_after(false, keep), [(Rule::I8, None)]);
    assert_eq!(rules_after(true, keep), []);
    assert_eq!(rules_after(true, discard), [(Rule::I8, None)], "the pass discards what was drawn");
}

#[test]
fn a_draw_leaves_read_only_depth_and_writes_stream_output() {
    let scene = Scene::new();
    let heap_type = D3D12_DESCRIPTOR_HEAP_TYPE_DSV;
    let none = D3D12_DESCRIPTOR_HEAP_FLAG_NONE;
    let views = descriptor_heap(&scene.world.device, heap_type, 1, none).expect("a heap");
    let desc = D3D12_RESOURCE_DESC {
        Format: DXGI_FORMAT_D32_FLOAT,
        ..texture_desc(1, 1, D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL)
    };
    let state = D3D12_RESOURCE_STATE_DEPTH_WRITE;
    let depth = scene.world.place(&scene.heap, 0, &desc, state, "depth");
    let output = scene.buffer(8 * KIB_64, KIB_64, "output");
    let handle = unsafe { views.GetCPUDescriptorHandleForHeapStart() };
    let view = |flags| D3D12_DEPTH_STENCIL_VIEW_DESC {
        Format: DXGI_FORMAT_D32_FLOAT,
        ViewDimension: D3D12_DSV_DIMENSION_TEXTURE2D,
        Flags: flags,
        ..Default::default()
    };
    let rules_after = |flags| {
        unsafe {
            scene.world.device.CreateDepthStencilView(&depth, Some(&view(flags)), handle);
            scene.list().OMSetRenderTargets(0, None, false, Some(&raw const handle));
        }
        scene.draw();
        scene.world.rules()
    };
    assert_eq!(rules_after(D3D12_DSV_FLAG_READ_ONLY_DEPTH), []);
    assert_eq!(rules_after(D3D12_DSV_FLAG_NONE), [(Rule::I4, None)]);
    let address = unsafe { output.GetGPUVirtualAddress() };
    let buffer =
        D3D12_STREAM_OUTPUT_BUFFER_VIEW { BufferLocation: address, SizeInBytes: 256, ..Default::default() };
    scene.world.write(&output, 1024, 16);
    unsafe { scene.list().SOSetTargets(0, Some(&[buffer])) };
    scene.draw();
    scene.world.read(&output, 0, 256);
    assert_eq!(scene.world.rules(), []);
    scene.world.read(&output, 0, 257);
    assert_eq!(scene.world.rules(), [(Rule::I2, None)]);
}

#[test]
fn what_shaders_see_is_unknown_after_a_dispatch() {
    let scene = Scene::new();
    let [seen, other] =
        [(0, "seen"), (2 * KIB_64, "other")].map(|(offset, name)| scene.buffer(offset, 2 * KIB_64, name));
    scene.view(1, &seen, 0, 0x8000);
    let read_both = || {
        scene.world.read(&seen, 0, 2 * KIB_64);
        scene.world.read(&other, 0, 2 * KIB_64);
        let found = scene.world.run();
        found.iter().map(|found| found.resource.clone().and_then(|it| it.name)).collect::<Vec<_>>()
    };
    let both = [Some("seen".to_owned()), Some("other".to_owned())];
    assert_eq!(read_both(), both);
    scene.dispatch();
    assert_eq!(read_both(), both, "no heap is set");
    scene.set_views();
    assert_eq!(read_both(), both, "nothing is dispatched");
    scene.set_views();
    scene.dispatch();
    assert_eq!(read_both(), both[1..]);
    assert_eq!(scene.world.rules(), []);
}

#[test]
fn only_what_a_view_shows_is_overwritten() {
    let scene = Scene::new();
    let buffer = scene.buffer(0, 2 * KIB_64, "buffer");
    scene.world.write(&buffer, 0, 2 * KIB_64);
    // The view covers the bytes from 0x1000 to 0x11000.
    scene.view(0, &buffer, 0x400, 0x4000);
    // What overwrites a byte is random, thus zero once in 256 times, but it is other bytes after each dispatch.
    let seen = [(); 16].map(|()| {
        scene.set_views();
        scene.dispatch();
        scene.changed(&buffer, 2 * KIB_64)
    });
    let start = seen.iter().map(|range| range.start).min();
    let end = seen.iter().map(|range| range.end).max();
    assert_eq!((start, end), (Some(0x1000), Some(0x11000)));
}

#[test]
fn root_descriptors_name_buffers_by_their_addresses() {
    let scene = Scene::new();
    let [first, second] =
        [(0, "first"), (2 * KIB_64, "second")].map(|(offset, name)| scene.buffer(offset, 2 * KIB_64, name));
    let address = unsafe { second.GetGPUVirtualAddress() }.0 + KIB_64;
    let address = D3D12_GPU_VIRTUAL_ADDRESS(address);
    let list = scene.list();
    let read = |buffer, offset| {
        scene.world.read(buffer, offset, KIB_64);
        scene.world.rules()
    };
    unsafe { list.SetComputeRootUnorderedAccessView(3, address) };
    scene.draw();
    assert_eq!(read(&second, KIB_64), [(Rule::I2, None)], "a draw reads the other root arguments");
    unsafe { list.SetComputeRootUnorderedAccessView(3, address) };
    scene.dispatch();
    assert_eq!(read(&second, KIB_64), []);
    assert_eq!(read(&second, 0), [(Rule::I2, None)], "before the address");
    assert_eq!(read(&first, KIB_64), [(Rule::I2, None)]);
}

#[test]
fn bundles_and_indirect_commands_write_what_their_commands_do() {
    let scene = Scene::new();
    let [indirect, bundled] =
        [(0, "indirect"), (2 * KIB_64, "bundled")].map(|(offset, name)| scene.buffer(offset, KIB_64, name));
    let kinds = [D3D12_INDIRECT_ARGUMENT_TYPE_UNORDERED_ACCESS_VIEW, D3D12_INDIRECT_ARGUMENT_TYPE_DISPATCH];
    let arguments = kinds.map(|kind| D3D12_INDIRECT_ARGUMENT_DESC { Type: kind, ..Default::default() });
    let desc = D3D12_COMMAND_SIGNATURE_DESC {
        ByteStride: 32,
        NumArgumentDescs: 2,
        pArgumentDescs: arguments.as_ptr(),
        NodeMask: 0,
    };
    let (_target, handle) = scene.target("target");
    let device = &scene.world.device;
    unsafe {
        let kind = D3D12_COMMAND_LIST_TYPE_BUNDLE;
        let allocator: ID3D12CommandAllocator = device.CreateCommandAllocator(kind).expect("an allocator");
        let bundle: ID3D12GraphicsCommandList =
            device.CreateCommandList(0, kind, &allocator, None).expect("a bundle");
        bundle.SetComputeRootUnorderedAccessView(0, bundled.GetGPUVirtualAddress());
        bundle.Dispatch(1, 1, 1);
        bundle.Close().succeeds();
        scene.list().OMSetRenderTargets(1, Some(&raw const handle), false, None);
        scene.list().ExecuteBundle(&bundle);
        scene.world.read(&bundled, 0, KIB_64);
        assert_eq!(scene.world.rules(), [], "the bundle draws nothing");
        scene.world.read(&indirect, 0, KIB_64);
        assert_eq!(scene.world.rules(), [(Rule::I2, None)]);
        let mut signature = None::<ID3D12CommandSignature>;
        device.CreateCommandSignature(&desc, None, &mut signature).expect("a signature");
        scene.list().ExecuteIndirect(&signature.expect("S_OK"), 1, &scene.world.other, 0, None, 0);
        scene.world.read(&indirect, 0, KIB_64);
        assert_eq!(scene.world.rules(), []);
        // A draw of a bundle uses the render targets of the list.
        bundle.Reset(&allocator, None).succeeds();
        bundle.DrawInstanced(3, 1, 0, 0);
        bundle.Close().succeeds();
        scene.list().OMSetRenderTargets(1, Some(&raw const handle), false, None);
        scene.list().ExecuteBundle(&bundle);
        assert_eq!(scene.world.rules(), [(Rule::I3, Some(Rule::H2))]);
    }
}

#[test]
fn who_of_several_wrote_shared_memory_is_not_known() {
    let scene = Scene::new();
    let world = &scene.world;
    let desc = texture_desc(1, 1, UNORDERED);
    let [a, b] = ["a", "b"].map(|name| world.place(&scene.heap, 0, &desc, COMMON, name));
    for (index, texture) in (0..).zip([&a, &b]) {
        unsafe { world.device.CreateUnorderedAccessView(texture, None, None, scene.descriptor(index)) };
    }
    world.copy_texture(&b, 0, false);
    world.alias(Some(&b), Some(&a));
    scene.set_views();
    scene.dispatch();
    assert_eq!(world.rules(), []);
    world.copy_texture(&a, 0, true);
    assert_eq!(world.rules(), [], "a was written since b was used");
    world.copy_texture(&b, 0, false);
    assert_eq!(world.rules(), []);
    world.copy_texture(&a, 0, true);
    assert_eq!(world.rules(), [(Rule::I2, Some(Rule::H1))], "b was used since a was written");
}

#[test]
fn a_slice_that_is_discarded_leaves_the_others_as_they_are() {
    let scene = Scene::new();
    let world = &scene.world;
    let desc = texture_desc(2, 1, D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET);
    let texture = world.place(&scene.heap, 0, &desc, TARGET, "texture");
    let handle = unsafe { scene.targets.GetCPUDescriptorHandleForHeapStart() };
    let region = D3D12_DISCARD_REGION { NumSubresources: 1, ..Default::default() };
    unsafe {
        world.device.CreateRenderTargetView(&texture, None, handle);
        scene.list().ClearRenderTargetView(handle, &[0.0; 4], &[]);
        scene.list().DiscardResource(&texture, Some(&raw const region));
    }
    world.copy_texture(&texture, 1, true);
    assert_eq!(world.rules(), []);
    assert_eq!(scene.changed(&world.other, 4 * KIB_64), 0..0);
}
