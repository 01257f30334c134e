//! Replacements for methods of queues and command lists.

use std::cell::Cell;
use std::ffi::c_void;

use heapwright_d3d12::*;
use windows_core::Interface;

use crate::intercept::{behind, identity, intercept, is_intercepted};
use crate::lies::{Command, Lies, Refused};
use crate::{barriers, fences};

/// The newest command list interface, whose method table contains those of all older ones.
type NewestList = ID3D12GraphicsCommandList10;
pub(crate) type NewestListTable = ID3D12GraphicsCommandList10_Vtbl;

/// Replaces methods of a queue, a list or a fence that a creation call made.
///
/// # Safety
///
/// `object` must be null, or point to null or to an interface pointer of one of these.
pub(crate) unsafe fn intercept_made(object: *mut *mut c_void, lies: &'static Lies) {
    // SAFETY: the caller upholds the contract of this function.
    let raw = unsafe { object.as_ref() }.copied().unwrap_or_default();
    // SAFETY: as above; the reference stays the caller's.
    let Some(unknown) = (unsafe { windows_core::IUnknown::from_raw_borrowed(&raw) }) else { return };
    if let Ok(queue) = unknown.cast::<ID3D12CommandQueue>() {
        if !is_intercepted(&queue) {
            intercept(&queue, lies, |table| {
                fences::replace_queue(table);
                table.ExecuteCommandLists = execute;
                table.UpdateTileMappings = update_tile_mappings;
                table.CopyTileMappings = copy_tile_mappings;
            });
        }
    } else if let Ok(fence) = unknown.cast::<ID3D12Fence1>() {
        if !is_intercepted(&fence) {
            intercept(&fence, lies, fences::replace);
        }
    } else if let Ok(list) = unknown.cast::<NewestList>()
        && !is_intercepted(&list)
    {
        intercept(&list, lies, |table| {
            let first = first_mut(table);
            first.CopyBufferRegion = copy_buffer_region;
            first.CopyResource = copy_resource;
            first.CopyTextureRegion = copy_texture_region;
            first.CopyTiles = copy_tiles;
            first.ClearRenderTargetView = clear_render_target;
            first.ClearDepthStencilView = clear_depth;
            first.ClearUnorderedAccessViewUint = clear_unordered;
            first.ResolveSubresource = resolve;
            first.SetDescriptorHeaps = set_descriptor_heaps;
            first.DrawInstanced = draw;
            first.Dispatch = dispatch;
            let fourth = &mut table.base__.base__.base__.base__.base__.base__;
            fourth.BeginRenderPass = begin_pass;
            fourth.EndRenderPass = end_pass;
            fourth.base__.base__.base__.ResolveSubresourceRegion = resolve_region;
            barriers::replace(table);
        });
    }
}

/// Returns the part of the newest interface's table that belongs to the first command list interface.
pub(crate) fn first(table: &NewestListTable) -> &ID3D12GraphicsCommandList_Vtbl {
    &table.base__.base__.base__.base__.base__.base__.base__.base__.base__.base__
}

pub(crate) fn first_mut(table: &mut NewestListTable) -> &mut ID3D12GraphicsCommandList_Vtbl {
    &mut table.base__.base__.base__.base__.base__.base__.base__.base__.base__.base__
}

// The methods below are only in the tables of intercepted objects. They pass their arguments on unchanged
// or as a lie changed them, and have the contracts of the original methods.

unsafe extern "system" fn execute(this: *mut c_void, count: u32, lists: *const *mut c_void) {
    // SAFETY: the contract of the original method; the array has `count` lists.
    unsafe {
        let (lies, table) = behind::<ID3D12CommandQueue_Vtbl>(this);
        if lies.closes_lists {
            for raw in std::slice::from_raw_parts(lists, usize::try_from(count).unwrap_or(0)) {
                let list = ID3D12CommandList::from_raw_borrowed(raw).expect("the suite's lists are there");
                // Closing a closed list only fails.
                let _ = list.cast::<ID3D12GraphicsCommandList>().expect("a list of commands").Close();
            }
        }
        (table.ExecuteCommandLists)(this, count, lists);
    }
}

unsafe extern "system" fn update_tile_mappings(
    this: *mut c_void,
    resource: *mut c_void,
    region_count: u32,
    starts: *const D3D12_TILED_RESOURCE_COORDINATE,
    sizes: *const D3D12_TILE_REGION_SIZE,
    heap: *mut c_void,
    range_count: u32,
    range_flags: *const D3D12_TILE_RANGE_FLAGS,
    heap_offsets: *const u32,
    tile_counts: *const u32,
    flags: D3D12_TILE_MAPPING_FLAGS,
) {
    // SAFETY: the contract of the original method; offsets and flags are null or have an element for each
    // range.
    unsafe {
        let (lies, table) = behind::<ID3D12CommandQueue_Vtbl>(this);
        let mut offsets = Vec::new();
        let mut changed = heap_offsets;
        if let (Some(lie), false) = (lies.tile_offset, heap_offsets.is_null()) {
            let given = std::slice::from_raw_parts(heap_offsets, usize::try_from(range_count).unwrap_or(0));
            offsets.extend(given.iter().map(|&offset| lie(offset)));
            changed = offsets.as_ptr();
        }
        let mut other_flags = Vec::new();
        let mut changed_flags = range_flags;
        if let (Some(lie), false) = (lies.tile_flags, range_flags.is_null()) {
            let given = std::slice::from_raw_parts(range_flags, usize::try_from(range_count).unwrap_or(0));
            other_flags.extend(given.iter().map(|&flags| lie(flags)));
            changed_flags = other_flags.as_ptr();
        }
        (table.UpdateTileMappings)(
            this,
            resource,
            region_count,
            starts,
            sizes,
            heap,
            range_count,
            changed_flags,
            changed,
            tile_counts,
            flags,
        );
    }
}

unsafe extern "system" fn copy_tile_mappings(
    this: *mut c_void,
    to: *mut c_void,
    to_start: *const D3D12_TILED_RESOURCE_COORDINATE,
    from: *mut c_void,
    from_start: *const D3D12_TILED_RESOURCE_COORDINATE,
    size: *const D3D12_TILE_REGION_SIZE,
    flags: D3D12_TILE_MAPPING_FLAGS,
) {
    // SAFETY: the contract of the original method; the coordinates are readable.
    unsafe {
        let (lies, table) = behind::<ID3D12CommandQueue_Vtbl>(this);
        let (mut to_changed, mut from_changed) = (to_start.read(), from_start.read());
        if let Some(lie) = lies.copied_tiles {
            lie(&mut to_changed);
            lie(&mut from_changed);
        }
        (table.CopyTileMappings)(this, to, &to_changed, from, &from_changed, size, flags);
    }
}

unsafe extern "system" fn copy_buffer_region(
    this: *mut c_void,
    to: *mut c_void,
    mut to_offset: u64,
    from: *mut c_void,
    mut from_offset: u64,
    mut len: u64,
) {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let (lies, table) = behind::<NewestListTable>(this);
        if let Some(lie) = lies.copy {
            lie(&mut to_offset, &mut from_offset, &mut len);
        }
        (first(table).CopyBufferRegion)(this, to, to_offset, from, from_offset, len);
    }
}

/// Returns the original methods of a list, or `None` if the list drops this command.
///
/// # Safety
///
/// `this` must be an intercepted list.
pub(crate) unsafe fn recorded(
    this: *mut c_void,
    command: Command,
) -> Option<&'static ID3D12GraphicsCommandList_Vtbl> {
    // SAFETY: the caller upholds the contract of this function.
    let (lies, table) = unsafe { behind::<NewestListTable>(this) };
    (lies.forgets != Some(command)).then(|| first(table))
}

/// Returns whether a list refuses a command, so that its `Close` must fail.
///
/// # Safety
///
/// `this` must be an intercepted list.
unsafe fn refuses(this: *mut c_void, refused: Refused, is_that: impl FnOnce() -> bool) -> bool {
    // SAFETY: the caller upholds the contract; a copy without resources is an error that `Close` returns.
    unsafe {
        let (lies, table) = behind::<NewestListTable>(this);
        let is_refused = lies.refuses == Some(refused) && is_that();
        if is_refused {
            (first(table).CopyResource)(this, std::ptr::null_mut(), std::ptr::null_mut());
        }
        is_refused
    }
}

/// Returns the format of a resource.
///
/// # Safety
///
/// `resource` must be a live resource.
unsafe fn format(resource: *mut c_void) -> DXGI_FORMAT {
    // SAFETY: the caller upholds the contract of this function.
    unsafe { ID3D12Resource::from_raw_borrowed(&resource).expect("a resource").GetDesc().Format }
}

unsafe extern "system" fn copy_resource(this: *mut c_void, to: *mut c_void, from: *mut c_void) {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        if refuses(this, Refused::CopiesBetweenFormats, || format(to) != format(from)) {
            return;
        }
        if let Some(table) = recorded(this, Command::CopyResource) {
            (table.CopyResource)(this, to, from);
        }
    }
}

unsafe extern "system" fn copy_texture_region(
    this: *mut c_void,
    to: *const D3D12_TEXTURE_COPY_LOCATION,
    x: u32,
    y: u32,
    z: u32,
    from: *const D3D12_TEXTURE_COPY_LOCATION,
    source: *const D3D12_BOX,
) {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let textures = |locations: [*const D3D12_TEXTURE_COPY_LOCATION; 2]| {
            let [to, from] = locations.map(|one| &*one);
            let is_texture =
                |one: &D3D12_TEXTURE_COPY_LOCATION| one.Type == D3D12_TEXTURE_COPY_TYPE_SUBRESOURCE_INDEX;
            let raw = |one: &D3D12_TEXTURE_COPY_LOCATION| {
                (*one.pResource).as_ref().map_or(std::ptr::null_mut(), Interface::as_raw)
            };
            let index = |one: &D3D12_TEXTURE_COPY_LOCATION| one.Anonymous.SubresourceIndex;
            let are_textures = is_texture(to) && is_texture(from);
            are_textures.then(|| [(raw(to), index(to)), (raw(from), index(from))])
        };
        let between = || textures([to, from]).is_some_and(|[to, from]| format(to.0) != format(from.0));
        let within = || textures([to, from]).is_some_and(|[to, from]| to == from);
        if refuses(this, Refused::CopiesBetweenFormats, between)
            || refuses(this, Refused::CopiesWithinSubresources, within)
        {
            return;
        }
        if let Some(table) = recorded(this, Command::CopyTextureRegion) {
            (table.CopyTextureRegion)(this, to, x, y, z, from, source);
        }
    }
}

unsafe extern "system" fn copy_tiles(
    this: *mut c_void,
    tiled: *mut c_void,
    start: *const D3D12_TILED_RESOURCE_COORDINATE,
    size: *const D3D12_TILE_REGION_SIZE,
    buffer: *mut c_void,
    offset: u64,
    flags: D3D12_TILE_COPY_FLAGS,
) {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        if refuses(this, Refused::TilesWithoutDirection, || flags == D3D12_TILE_COPY_FLAG_NONE) {
            return;
        }
        if let Some(table) = recorded(this, Command::CopyTiles) {
            (table.CopyTiles)(this, tiled, start, size, buffer, offset, flags);
        }
    }
}

unsafe extern "system" fn clear_render_target(
    this: *mut c_void,
    view: D3D12_CPU_DESCRIPTOR_HANDLE,
    color: *const f32,
    rect_count: u32,
    rects: *const D3D12_RECT,
) {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        if let Some(table) = recorded(this, Command::ClearRenderTargetView) {
            let (rect_count, rects) = rects_of(this, rect_count, rects);
            let mut color = *color.cast::<[f32; 4]>();
            if let Some(lie) = behind::<NewestListTable>(this).0.clear_color {
                color.iter_mut().for_each(lie);
            }
            (table.ClearRenderTargetView)(this, view, color.as_ptr(), rect_count, rects);
        }
    }
}

unsafe extern "system" fn clear_depth(
    this: *mut c_void,
    view: D3D12_CPU_DESCRIPTOR_HANDLE,
    flags: D3D12_CLEAR_FLAGS,
    depth: f32,
    stencil: u8,
    rect_count: u32,
    rects: *const D3D12_RECT,
) {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        if let Some(table) = recorded(this, Command::ClearDepthStencilView) {
            let (rect_count, rects) = rects_of(this, rect_count, rects);
            (table.ClearDepthStencilView)(this, view, flags, depth, stencil, rect_count, rects);
        }
    }
}

thread_local! {
    /// The identity of the list on which this thread set descriptor heaps last.
    static LIST_WITH_HEAPS: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

unsafe extern "system" fn set_descriptor_heaps(this: *mut c_void, count: u32, heaps: *const *mut c_void) {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let (lies, table) = behind::<NewestListTable>(this);
        LIST_WITH_HEAPS.set(identity(this, lies));
        (first(table).SetDescriptorHeaps)(this, count, heaps);
    }
}

unsafe extern "system" fn draw(
    this: *mut c_void,
    vertices: u32,
    instances: u32,
    first_vertex: u32,
    first_instance: u32,
) {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        if !refuses(this, Refused::Draws, || true) {
            let (_, table) = behind::<NewestListTable>(this);
            (first(table).DrawInstanced)(this, vertices, instances, first_vertex, first_instance);
        }
    }
}

unsafe extern "system" fn dispatch(this: *mut c_void, x: u32, y: u32, z: u32) {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        if !refuses(this, Refused::Draws, || true) {
            let (_, table) = behind::<NewestListTable>(this);
            (first(table).Dispatch)(this, x, y, z);
        }
    }
}

unsafe extern "system" fn clear_unordered(
    this: *mut c_void,
    visible: D3D12_GPU_DESCRIPTOR_HANDLE,
    view: D3D12_CPU_DESCRIPTOR_HANDLE,
    resource: *mut c_void,
    values: *const u32,
    rect_count: u32,
    rects: *const D3D12_RECT,
) {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let has_heaps = || LIST_WITH_HEAPS.get() == identity(this, behind::<NewestListTable>(this).0);
        if refuses(this, Refused::ClearsWithoutHeaps, || !has_heaps()) {
            return;
        }
        if let Some(table) = recorded(this, Command::ClearUnorderedAccessViewUint) {
            let (rect_count, rects) = rects_of(this, rect_count, rects);
            (table.ClearUnorderedAccessViewUint)(this, visible, view, resource, values, rect_count, rects);
        }
    }
}

/// Returns the rectangles of a clear, or none if the list ignores them.
///
/// # Safety
///
/// `this` must be an intercepted list.
unsafe fn rects_of(this: *mut c_void, count: u32, rects: *const D3D12_RECT) -> (u32, *const D3D12_RECT) {
    // SAFETY: the caller upholds the contract of this function.
    let (lies, _) = unsafe { behind::<NewestListTable>(this) };
    if lies.ignores_rects { (0, std::ptr::null()) } else { (count, rects) }
}

unsafe extern "system" fn resolve(
    this: *mut c_void,
    to: *mut c_void,
    to_index: u32,
    from: *mut c_void,
    from_index: u32,
    as_format: DXGI_FORMAT,
) {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let between = || format(to) != as_format || format(from) != as_format;
        let of_depth = || format(from) == DXGI_FORMAT_D32_FLOAT;
        if refuses(this, Refused::ResolvesBetweenFormats, between)
            || refuses(this, Refused::ResolvesOfDepth, of_depth)
        {
            return;
        }
        if let Some(table) = recorded(this, Command::ResolveSubresource) {
            (table.ResolveSubresource)(this, to, to_index, from, from_index, as_format);
        }
    }
}

unsafe extern "system" fn resolve_region(
    this: *mut c_void,
    to: *mut c_void,
    to_index: u32,
    x: u32,
    y: u32,
    from: *mut c_void,
    from_index: u32,
    rect: *const D3D12_RECT,
    format: DXGI_FORMAT,
    mode: D3D12_RESOLVE_MODE,
) {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let (lies, table) = behind::<NewestListTable>(this);
        if lies.forgets != Some(Command::ResolveSubresourceRegion) {
            let first = &table.base__.base__.base__.base__.base__.base__.base__.base__.base__;
            let resolve = first.ResolveSubresourceRegion;
            resolve(this, to, to_index, x, y, from, from_index, rect, format, mode);
        }
    }
}

unsafe extern "system" fn begin_pass(
    this: *mut c_void,
    count: u32,
    targets: *const D3D12_RENDER_PASS_RENDER_TARGET_DESC,
    depth_stencil: *const D3D12_RENDER_PASS_DEPTH_STENCIL_DESC,
    flags: D3D12_RENDER_PASS_FLAGS,
) {
    // SAFETY: the contract of the original method; the array has `count` elements, whose references stay
    // the caller's, as nothing drops them.
    unsafe {
        let (lies, table) = behind::<NewestListTable>(this);
        if lies.forgets == Some(Command::RenderPass) {
            return;
        }
        let given = std::slice::from_raw_parts(targets, usize::try_from(count).unwrap_or(0));
        let mut changed = given.to_vec();
        if let Some(lie) = lies.pass_ending {
            changed.iter_mut().for_each(|target| lie(&mut target.EndingAccess.Type));
        }
        let begin = table.base__.base__.base__.base__.base__.base__.BeginRenderPass;
        begin(this, count, changed.as_ptr(), depth_stencil, flags);
    }
}

unsafe extern "system" fn end_pass(this: *mut c_void) {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let (lies, table) = behind::<NewestListTable>(this);
        if lies.forgets != Some(Command::RenderPass) {
            (table.base__.base__.base__.base__.base__.base__.EndRenderPass)(this);
        }
    }
}
