//! Render passes: their beginning and ending accesses, and the commands that they disallow.

use std::mem::ManuallyDrop;
use std::ptr::null;

use heapwright_d3d12::*;
use windows_core::HRESULT;

use super::barriers::{aliasing, global_group, texture_barrier, texture_group, transition, uav};
use super::clears::rect;
use super::resolves::target_desc;
use super::textures::*;
use crate::gpu::*;

const RGBA: DXGI_FORMAT = DXGI_FORMAT_R8G8B8A8_UNORM;

/// How a pass begins and ends.
type Accesses = (D3D12_RENDER_PASS_BEGINNING_ACCESS_TYPE, D3D12_RENDER_PASS_ENDING_ACCESS_TYPE);
const NO_ACCESS: Accesses =
    (D3D12_RENDER_PASS_BEGINNING_ACCESS_TYPE_NO_ACCESS, D3D12_RENDER_PASS_ENDING_ACCESS_TYPE_NO_ACCESS);
const PRESERVE: Accesses =
    (D3D12_RENDER_PASS_BEGINNING_ACCESS_TYPE_PRESERVE, D3D12_RENDER_PASS_ENDING_ACCESS_TYPE_PRESERVE);
const CLEAR: Accesses =
    (D3D12_RENDER_PASS_BEGINNING_ACCESS_TYPE_CLEAR, D3D12_RENDER_PASS_ENDING_ACCESS_TYPE_PRESERVE);
const DISCARD: Accesses =
    (D3D12_RENDER_PASS_BEGINNING_ACCESS_TYPE_DISCARD, D3D12_RENDER_PASS_ENDING_ACCESS_TYPE_DISCARD);

fn clear_to(format: DXGI_FORMAT, value: D3D12_CLEAR_VALUE_0) -> D3D12_RENDER_PASS_BEGINNING_ACCESS_0 {
    let value = D3D12_CLEAR_VALUE { Format: format, Anonymous: value };
    let clear = D3D12_RENDER_PASS_BEGINNING_ACCESS_CLEAR_PARAMETERS { ClearValue: value };
    D3D12_RENDER_PASS_BEGINNING_ACCESS_0 { Clear: clear }
}

/// A render target with its view.
struct Target {
    texture: ID3D12Resource,
    _heap: ID3D12DescriptorHeap,
    view: D3D12_CPU_DESCRIPTOR_HANDLE,
}

impl Target {
    fn new(device: &ID3D12Device14, desc: &D3D12_RESOURCE_DESC) -> Self {
        let texture = create(device, desc);
        let is_depth = desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL != 0;
        let heap_type =
            if is_depth { D3D12_DESCRIPTOR_HEAP_TYPE_DSV } else { D3D12_DESCRIPTOR_HEAP_TYPE_RTV };
        let (heap, view) = view_of(device, heap_type, &texture);
        Self { texture, _heap: heap, view }
    }

    /// Describes the accesses of a pass. Clears use white.
    fn desc(&self, (begins, ends): Accesses) -> D3D12_RENDER_PASS_RENDER_TARGET_DESC {
        let white = clear_to(RGBA, D3D12_CLEAR_VALUE_0 { Color: [1.0; 4] });
        D3D12_RENDER_PASS_RENDER_TARGET_DESC {
            cpuDescriptor: self.view,
            BeginningAccess: D3D12_RENDER_PASS_BEGINNING_ACCESS { Type: begins, Anonymous: white },
            EndingAccess: D3D12_RENDER_PASS_ENDING_ACCESS { Type: ends, ..Default::default() },
        }
    }

    fn depth_desc(&self, depth: Accesses, stencil: Accesses) -> D3D12_RENDER_PASS_DEPTH_STENCIL_DESC {
        let value = D3D12_DEPTH_STENCIL_VALUE { Depth: 0.5, Stencil: 9 };
        let clear = clear_to(DXGI_FORMAT_D32_FLOAT_S8X24_UINT, D3D12_CLEAR_VALUE_0 { DepthStencil: value });
        let begins = |kind| D3D12_RENDER_PASS_BEGINNING_ACCESS { Type: kind, Anonymous: clear };
        let ends = |kind| D3D12_RENDER_PASS_ENDING_ACCESS { Type: kind, ..Default::default() };
        D3D12_RENDER_PASS_DEPTH_STENCIL_DESC {
            cpuDescriptor: self.view,
            DepthBeginningAccess: begins(depth.0),
            StencilBeginningAccess: begins(stencil.0),
            DepthEndingAccess: ends(depth.1),
            StencilEndingAccess: ends(stencil.1),
        }
    }
}

/// Returns a texture's first texel.
fn texel(queue: &Queue, readback: &ID3D12Resource, texture: &ID3D12Resource, plane: u32) -> [u8; 4] {
    let desc = unsafe { texture.GetDesc() };
    let format = match (desc.Format, plane) {
        (DXGI_FORMAT_D32_FLOAT_S8X24_UINT, 0) => DXGI_FORMAT_R32_TYPELESS,
        (DXGI_FORMAT_D32_FLOAT_S8X24_UINT, _) => DXGI_FORMAT_R8_TYPELESS,
        (format, _) => format,
    };
    let width = u32::try_from(desc.Width).expect("small");
    download(&queue.list, (texture, plane), (readback, 0), format, [width, desc.Height, 1], 256);
    queue.run();
    bytes(readback)[..4].try_into().expect("four bytes")
}

#[test]
fn a_pass_begins_with_clears() {
    let (device, queue) = open_direct();
    let readback = commit(&device, D3D12_HEAP_TYPE_READBACK, 4096);
    let [first, second, third] =
        [1, 1, 4].map(|samples| Target::new(&device, &target_desc(RGBA, [4, 4], samples)));
    let depth_desc = D3D12_RESOURCE_DESC {
        Flags: D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL,
        ..texture_desc(DXGI_FORMAT_D32_FLOAT_S8X24_UINT, [4, 4])
    };
    let depth = Target::new(&device, &depth_desc);
    let resolved = create(&device, &target_desc(RGBA, [4, 4], 1));
    unsafe {
        let list = &queue.list;
        list.ClearRenderTargetView(second.view, &[0.4; 4], &[]);
        let targets = [first.desc(CLEAR), second.desc(PRESERVE), third.desc(CLEAR)];
        let depth_stencil = depth.depth_desc(CLEAR, NO_ACCESS);
        list.BeginRenderPass(Some(&targets), Some(&raw const depth_stencil), D3D12_RENDER_PASS_FLAG_NONE);
        list.EndRenderPass();
        // Two passes in a row, without render targets.
        let depth_stencil = depth.depth_desc(PRESERVE, CLEAR);
        let flags = D3D12_RENDER_PASS_FLAG_ALLOW_UAV_WRITES;
        list.BeginRenderPass(None, Some(&raw const depth_stencil), flags);
        list.EndRenderPass();
        list.ResolveSubresource(&resolved, 0, &third.texture, 0, RGBA);
    }
    let read = |texture, plane| texel(&queue, &readback, texture, plane);
    assert_eq!(read(&first.texture, 0), [255; 4]);
    assert_eq!(read(&second.texture, 0), [102; 4]);
    assert_eq!(read(&resolved, 0), [255; 4], "every sample");
    assert_eq!(read(&depth.texture, 0), 0.5_f32.to_le_bytes());
    assert_eq!(read(&depth.texture, 1)[0], 9);
}

/// Describes a pass that ends with resolves of `target`.
fn resolving(
    target: &Target,
    [source, resolved]: [&ID3D12Resource; 2],
    parts: &[D3D12_RENDER_PASS_ENDING_ACCESS_RESOLVE_SUBRESOURCE_PARAMETERS],
    keep: bool,
) -> D3D12_RENDER_PASS_RENDER_TARGET_DESC {
    let mut desc = target.desc(CLEAR);
    desc.EndingAccess = D3D12_RENDER_PASS_ENDING_ACCESS {
        Type: D3D12_RENDER_PASS_ENDING_ACCESS_TYPE_RESOLVE,
        Anonymous: D3D12_RENDER_PASS_ENDING_ACCESS_0 {
            Resolve: ManuallyDrop::new(D3D12_RENDER_PASS_ENDING_ACCESS_RESOLVE_PARAMETERS {
                pSrcResource: borrow(source),
                pDstResource: borrow(resolved),
                SubresourceCount: u32::try_from(parts.len()).expect("few"),
                pSubresourceParameters: parts.as_ptr(),
                Format: RGBA,
                ResolveMode: D3D12_RESOLVE_MODE_AVERAGE,
                PreserveResolveSource: keep.into(),
            }),
        },
    };
    desc
}

#[test]
fn a_pass_ends_with_resolves() {
    let (device, queue) = open_direct();
    let readback = commit(&device, D3D12_HEAP_TYPE_READBACK, 4096);
    let source_desc = D3D12_RESOURCE_DESC { DepthOrArraySize: 2, ..target_desc(RGBA, [4, 4], 4) };
    let source = Target::new(&device, &source_desc);
    let resolved = create(&device, &target_desc(RGBA, [8, 4], 1));
    let part = |slice, x, from| D3D12_RENDER_PASS_ENDING_ACCESS_RESOLVE_SUBRESOURCE_PARAMETERS {
        SrcSubresource: slice,
        DstSubresource: 0,
        DstX: x,
        DstY: 0,
        SrcRect: from,
    };
    unsafe {
        // All of slice 0, the right half of slice 1, three texels further, and nothing of slice 1.
        let all = rect(0, 0, 4, 4);
        let parts = [part(0, 0, all), part(1, 6, rect(2, 0, 4, 4)), part(1, 4, RECT::default())];
        let target = resolving(&source, [&source.texture, &resolved], &parts, true);
        queue.list.BeginRenderPass(Some(&[target]), None, D3D12_RENDER_PASS_FLAG_NONE);
        queue.list.EndRenderPass();
    }
    assert_eq!(texel(&queue, &readback, &resolved, 0), [255; 4]);
    let row: Vec<u8> = bytes(&readback)[3 * 256..].chunks_exact(4).take(8).map(|texel| texel[0]).collect();
    assert_eq!(row, [255, 255, 255, 255, 0, 0, 255, 255]);

    let other = Target::new(&device, &source_desc);
    let refused = |resources: [&ID3D12Resource; 2], part| {
        let parts = [part];
        let target = resolving(&source, resources, &parts, false);
        queue.close_after(|list| unsafe {
            list.BeginRenderPass(Some(&[target]), None, D3D12_RENDER_PASS_FLAG_NONE);
            list.EndRenderPass();
        })
    };
    let whole = part(0, 0, rect(0, 0, 4, 4));
    assert_eq!(refused([&source.texture, &resolved], whole), S_OK);
    assert_eq!(refused([&other.texture, &resolved], whole), E_INVALIDARG, "not the resource of the view");
    assert_eq!(refused([&source.texture, &other.texture], whole), E_INVALIDARG, "several samples");
    assert_eq!(refused([&source.texture, &resolved], part(2, 0, RECT::default())), E_INVALIDARG);
    assert_eq!(refused([&source.texture, &resolved], part(0, 5, rect(0, 0, 4, 4))), E_INVALIDARG);
    assert_eq!(refused([&source.texture, &resolved], part(0, 0, rect(3, 0, 5, 1))), E_INVALIDARG);
}

#[test]
fn beginning_and_ending_accesses_are_checked() {
    let (device, queue) = open_direct();
    let target = Target::new(&device, &target_desc(RGBA, [4, 4], 1));
    let begin = |targets: &[D3D12_RENDER_PASS_RENDER_TARGET_DESC], flags| -> HRESULT {
        queue.close_after(|list| unsafe {
            list.BeginRenderPass(Some(targets), None, flags);
            list.EndRenderPass();
        })
    };
    let accesses = |begins, ends| begin(&[target.desc((begins, ends))], D3D12_RENDER_PASS_FLAG_NONE);
    for both in [PRESERVE, CLEAR, DISCARD, NO_ACCESS] {
        assert_eq!(accesses(both.0, both.1), S_OK);
    }
    messages(&device);
    assert_eq!(accesses(NO_ACCESS.0, PRESERVE.1), E_INVALIDARG);
    assert_eq!(messages(&device)[0].0, D3D12_MESSAGE_ID_RENDER_PASS_MISMATCHING_NO_ACCESS);
    assert_eq!(accesses(CLEAR.0, NO_ACCESS.1), E_INVALIDARG);
    assert_eq!(accesses(7, PRESERVE.1), E_INVALIDARG, "no access");
    assert_eq!(accesses(PRESERVE.0, -1), E_INVALIDARG, "no access");
    let local = D3D12_RENDER_PASS_BEGINNING_ACCESS_TYPE_PRESERVE_LOCAL_SRV;
    assert_eq!(accesses(local, PRESERVE.1), E_NOTIMPL);
    let of = |flags| begin(&[target.desc(PRESERVE)], flags);
    assert_eq!(of(D3D12_RENDER_PASS_FLAG_SUSPENDING_PASS), E_NOTIMPL);
    assert_eq!(of(D3D12_RENDER_PASS_FLAG_RESUMING_PASS), E_NOTIMPL);
    assert_eq!(of(1 << 20), E_INVALIDARG);
    let nine: Vec<_> = (0..9).map(|_| target.desc(PRESERVE)).collect();
    assert_eq!(begin(&nine[..8], D3D12_RENDER_PASS_FLAG_NONE), S_OK);
    assert_eq!(begin(&nine, D3D12_RENDER_PASS_FLAG_NONE), E_INVALIDARG);
    assert_eq!(begin(&[], D3D12_RENDER_PASS_FLAG_NONE), E_INVALIDARG, "neither target nor depth");
    let mut wrong = target.desc(PRESERVE);
    wrong.cpuDescriptor = D3D12_CPU_DESCRIPTOR_HANDLE { ptr: 8 };
    assert_eq!(begin(&[wrong], D3D12_RENDER_PASS_FLAG_NONE), E_INVALIDARG, "no descriptor");
    let as_depth = target.depth_desc(PRESERVE, PRESERVE);
    let wrong_heap = queue.close_after(|list| unsafe {
        list.BeginRenderPass(None, Some(&raw const as_depth), D3D12_RENDER_PASS_FLAG_NONE);
    });
    assert_eq!(wrong_heap, E_INVALIDARG, "a render target view");
    for list_type in [D3D12_COMMAND_LIST_TYPE_COMPUTE, D3D12_COMMAND_LIST_TYPE_COPY] {
        let other = Queue::new(&device, list_type);
        let answer = other.close_after(|list| unsafe {
            list.BeginRenderPass(Some(&[target.desc(PRESERVE)]), None, D3D12_RENDER_PASS_FLAG_NONE);
        });
        assert_eq!(answer, E_INVALIDARG, "list type {list_type}");
    }
    let options = D3D12_FEATURE_DATA_D3D12_OPTIONS5 { RenderPassesTier: 9, ..Default::default() };
    let (result, options) = feature(&device, D3D12_FEATURE_D3D12_OPTIONS5, options);
    assert_eq!((result, options.RenderPassesTier), (S_OK, D3D12_RENDER_PASS_TIER_0));
}

/// Returns the result of `Close` and the message IDs of a pass that contains the commands of `record`.
fn inside(
    device: &ID3D12Device14,
    queue: &Queue,
    targets: &[D3D12_RENDER_PASS_RENDER_TARGET_DESC],
    record: impl FnOnce(&ID3D12GraphicsCommandList7),
) -> (HRESULT, Vec<D3D12_MESSAGE_ID>) {
    messages(device);
    let closed = queue.close_after(|list| unsafe {
        list.BeginRenderPass(Some(targets), None, D3D12_RENDER_PASS_FLAG_NONE);
        record(list);
        list.EndRenderPass();
    });
    let mut ids: Vec<_> = messages(device).into_iter().map(|(id, _)| id).collect();
    // The last message is that of Close, which reports that a command was refused.
    if closed != S_OK {
        ids.pop();
    }
    (closed, ids)
}

#[test]
fn passes_do_not_nest_and_end_before_the_list() {
    let (device, queue) = open_direct();
    let target = Target::new(&device, &target_desc(RGBA, [4, 4], 1));
    let targets = [target.desc(PRESERVE)];
    let nested = inside(&device, &queue, &targets, |list| unsafe {
        list.BeginRenderPass(Some(&targets), None, D3D12_RENDER_PASS_FLAG_NONE);
    });
    assert_eq!(nested, (E_INVALIDARG, vec![D3D12_MESSAGE_ID_RENDER_PASS_CANNOT_NEST_RENDER_PASSES]));
    let ended = inside(&device, &queue, &targets, |list| unsafe { list.EndRenderPass() });
    assert_eq!(ended, (E_INVALIDARG, vec![D3D12_MESSAGE_ID_RENDER_PASS_CANNOT_END_WITHOUT_BEGIN]));
    let open = queue.close_after(|list| unsafe {
        list.BeginRenderPass(Some(&targets), None, D3D12_RENDER_PASS_FLAG_NONE);
    });
    assert_eq!(open, E_INVALIDARG);
    assert_eq!(messages(&device)[0].0, D3D12_MESSAGE_ID_RENDER_PASS_CANNOT_CLOSE_COMMAND_LIST);
    // Reset discards the failed pass.
    assert_eq!(queue.close_after(|_| ()), S_OK);
}

#[test]
fn commands_that_passes_disallow_are_refused_in_them() {
    let (device, queue) = open_direct();
    let target = Target::new(&device, &target_desc(RGBA, [4, 4], 1));
    let other = Target::new(&device, &target_desc(RGBA, [4, 4], 1));
    let several = create(&device, &target_desc(RGBA, [4, 4], 2));
    let depth_desc = D3D12_RESOURCE_DESC {
        Flags: D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL,
        ..texture_desc(DXGI_FORMAT_D32_FLOAT, [4, 4])
    };
    let depth = Target::new(&device, &depth_desc);
    let [a, b] = [(); 2].map(|()| commit(&device, D3D12_HEAP_TYPE_DEFAULT, 65536));
    let tiled = reserve(&device, TILE);
    let textures = [subresource(&other.texture, 0), subresource(&target.texture, 0)];
    let gpu = D3D12_GPU_DESCRIPTOR_HANDLE::default();
    let cpu = D3D12_CPU_DESCRIPTOR_HANDLE::default();
    macro_rules! commands {
        ($($method:ident($($argument:expr),*)),* $(,)?) => {
            [$((stringify!($method), &|list| unsafe { list.$method($($argument),*) })),*]
        };
    }
    type Record<'a> = &'a dyn Fn(&ID3D12GraphicsCommandList7);
    let start = D3D12_TILED_RESOURCE_COORDINATE::default();
    let size = D3D12_TILE_REGION_SIZE { NumTiles: 1, ..Default::default() };
    let to_tiles = D3D12_TILE_COPY_FLAG_LINEAR_BUFFER_TO_SWIZZLED_TILED_RESOURCE;
    let average = D3D12_RESOLVE_MODE_AVERAGE;
    let refused: [(&str, Record<'_>); 16] = commands![
        CopyBufferRegion(&a, 0, &b, 0, 4),
        CopyResource(&a, &b),
        CopyTextureRegion(&textures[0], 0, 0, 0, &textures[1], None),
        CopyTiles(&tiled, &start, &size, &a, 0, to_tiles),
        ResolveSubresource(&other.texture, 0, &several, 0, RGBA),
        ResolveSubresourceRegion(&other.texture, 0, 0, 0, &several, 0, None, RGBA, average),
        ClearRenderTargetView(other.view, &[1.0; 4], &[]),
        ClearDepthStencilView(depth.view, D3D12_CLEAR_FLAG_DEPTH, 1.0, 0, &[]),
        ClearUnorderedAccessViewUint(gpu, cpu, &a, &[0; 4], &[]),
        ClearUnorderedAccessViewFloat(gpu, cpu, &a, &[0.0; 4], &[]),
        DiscardResource(&other.texture, None),
        SetDescriptorHeaps(&[]),
        OMSetRenderTargets(0, None, false, None),
        ClearState(None),
        Dispatch(1, 1, 1),
        SetProtectedResourceSession(None),
    ];
    let targets = [target.desc(PRESERVE)];
    for (name, record) in &refused {
        let found = inside(&device, &queue, &targets, record);
        let expected = (E_INVALIDARG, vec![D3D12_MESSAGE_ID_RENDER_PASS_DISALLOWED_API_CALLED]);
        assert_eq!(found, expected, "{name}");
    }
    // Outside of passes most of these commands are valid, and none is reported as inside a pass.
    for (name, record) in &refused[..14] {
        messages(&device);
        let closed = queue.close_after(|list| {
            unsafe {
                list.BeginRenderPass(Some(&targets), None, D3D12_RENDER_PASS_FLAG_NONE);
                list.EndRenderPass();
            }
            record(list);
        });
        let is_expected = closed == S_OK || name.starts_with("ClearUnordered");
        assert!(is_expected, "{name}: {closed}: {:?}", messages(&device));
    }
    let allowed = inside(&device, &queue, &targets, |list| unsafe {
        list.RSSetViewports(&[]);
        let dest = D3D12_GPU_VIRTUAL_ADDRESS(a.GetGPUVirtualAddress().0);
        let immediate = D3D12_WRITEBUFFERIMMEDIATE_PARAMETER { Dest: dest, Value: 1 };
        list.WriteBufferImmediate(1, &raw const immediate, None);
    });
    assert_eq!(allowed, (S_OK, vec![]));
}

#[test]
fn barriers_in_passes_cannot_concern_resources_that_the_pass_writes() {
    let (device, queue) = open_direct();
    let desc = D3D12_RESOURCE_DESC { DepthOrArraySize: 2, ..target_desc(RGBA, [4, 4], 1) };
    let (target, other, unused) =
        (Target::new(&device, &desc), Target::new(&device, &desc), Target::new(&device, &desc));
    // The pass renders to slice 0 only.
    let slice_0 = slices_view(RGBA, 0, 0, 1);
    unsafe { device.CreateRenderTargetView(&target.texture, Some(&slice_0), target.view) };
    let targets = [target.desc(PRESERVE), unused.desc(NO_ACCESS)];
    let refused = (E_INVALIDARG, vec![D3D12_MESSAGE_ID_RENDER_PASS_INVALID_RESOURCE_BARRIER]);
    let allowed = (S_OK, vec![]);
    let legacy =
        |barrier| inside(&device, &queue, &targets, |list| unsafe { list.ResourceBarrier(&[barrier]) });
    let read = |texture: &ID3D12Resource, subresource| {
        let (before, after) =
            (D3D12_RESOURCE_STATE_RENDER_TARGET, D3D12_RESOURCE_STATE_PIXEL_SHADER_RESOURCE);
        let mut barrier = transition(Some(texture), before, after);
        unsafe { (*barrier.Anonymous.Transition).Subresource = subresource };
        legacy(barrier)
    };
    let all = D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES;
    assert_eq!(read(&other.texture, all), allowed, "written before");
    assert_eq!(read(&unused.texture, all), allowed, "NO_ACCESS");
    assert_eq!(read(&target.texture, all), refused);
    assert_eq!(read(&target.texture, 0), refused);
    assert_eq!(read(&target.texture, 1), allowed, "the other slice");
    assert_eq!(legacy(aliasing(None, None)), refused);
    assert_eq!(legacy(uav(None)), refused);

    let enhanced = |change: &dyn Fn(&mut D3D12_TEXTURE_BARRIER)| {
        let mut barrier = D3D12_TEXTURE_BARRIER {
            SyncBefore: D3D12_BARRIER_SYNC_RENDER_TARGET,
            SyncAfter: D3D12_BARRIER_SYNC_PIXEL_SHADING,
            AccessBefore: D3D12_BARRIER_ACCESS_RENDER_TARGET,
            AccessAfter: D3D12_BARRIER_ACCESS_SHADER_RESOURCE,
            LayoutBefore: D3D12_BARRIER_LAYOUT_RENDER_TARGET,
            LayoutAfter: D3D12_BARRIER_LAYOUT_SHADER_RESOURCE,
            ..texture_barrier(&other.texture)
        };
        change(&mut barrier);
        let group = texture_group(&barrier);
        inside(&device, &queue, &targets, |list| unsafe { list.Barrier(&[group]) })
    };
    let slice = |first, count| D3D12_BARRIER_SUBRESOURCE_RANGE {
        NumMipLevels: 1,
        FirstArraySlice: first,
        NumArraySlices: count,
        NumPlanes: 1,
        ..Default::default()
    };
    assert_eq!(enhanced(&|_| ()), allowed);
    assert_eq!(enhanced(&|barrier| barrier.pResource = borrow(&target.texture)), refused);
    let of_slices = |first, count| {
        enhanced(&|barrier| {
            barrier.pResource = borrow(&target.texture);
            barrier.Subresources = slice(first, count);
        })
    };
    assert_eq!((of_slices(0, 2), of_slices(1, 1)), (refused.clone(), allowed.clone()));
    let activated = enhanced(&|barrier| {
        barrier.SyncBefore = D3D12_BARRIER_SYNC_NONE;
        barrier.AccessBefore = D3D12_BARRIER_ACCESS_NO_ACCESS;
        barrier.LayoutBefore = D3D12_BARRIER_LAYOUT_UNDEFINED;
    });
    assert_eq!(activated, refused, "activates a texture");
    let global = |before, after| {
        let barrier = D3D12_GLOBAL_BARRIER {
            SyncBefore: D3D12_BARRIER_SYNC_ALL,
            SyncAfter: D3D12_BARRIER_SYNC_ALL,
            AccessBefore: before,
            AccessAfter: after,
        };
        let group = global_group(&barrier);
        inside(&device, &queue, &targets, |list| unsafe { list.Barrier(&[group]) })
    };
    let unordered = D3D12_BARRIER_ACCESS_UNORDERED_ACCESS;
    assert_eq!(global(unordered, unordered), refused);
    assert_eq!(global(unordered, D3D12_BARRIER_ACCESS_INDIRECT_ARGUMENT), allowed);
    let empty = D3D12_BARRIER_GROUP {
        Type: D3D12_BARRIER_TYPE_BUFFER,
        NumBarriers: 0,
        Anonymous: D3D12_BARRIER_GROUP_0 { pBufferBarriers: null() },
    };
    let none = inside(&device, &queue, &targets, |list| unsafe { list.Barrier(&[empty]) });
    assert_eq!(none, allowed);
}
