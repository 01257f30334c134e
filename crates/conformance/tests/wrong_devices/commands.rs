//! Replacements for methods of queues and command lists.

use std::cell::Cell;
use std::ffi::c_void;

use heapwright_d3d12::*;
use heapwright_intercept::{Methods, intercept, method};
use windows_core::Interface;

use crate::lies::{Command, Liar, Lies, OfKind, Refused, identity};
use crate::{barriers, fences};

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
    // SAFETY: these are the newest interfaces of their chains, and nobody else uses a fresh object.
    unsafe {
        if let Ok(queue) = unknown.cast::<ID3D12CommandQueue>() {
            intercept(&queue, lies, |methods| {
                fences::replace_queue(methods);
                replace_queue(methods);
            });
        } else if let Ok(fence) = unknown.cast::<ID3D12Fence1>() {
            intercept(&fence, lies, |methods| fences::replace(methods));
        } else if let Ok(list) = unknown.cast::<ID3D12GraphicsCommandList10>() {
            intercept(&list, lies, |methods| {
                replace_list(methods);
                barriers::replace(methods);
            });
        }
    }
}

unsafe fn replace_queue(methods: &Methods<Lies>) {
    // SAFETY: the methods are those of a queue; the replacements pass on what their callers promise.
    unsafe {
        let queue = methods.of::<ID3D12CommandQueue>();
        queue.replace(method!(ExecuteCommandLists), |call, (count, lists)| {
            if call.data.closes_lists {
                for raw in std::slice::from_raw_parts(lists, usize::try_from(count).unwrap_or(0)) {
                    let list =
                        ID3D12CommandList::from_raw_borrowed(raw).expect("the suite's lists are there");
                    // Closing a closed list only fails.
                    let _ = list.cast::<ID3D12GraphicsCommandList>().expect("a list of commands").Close();
                }
            }
            (call.original.ExecuteCommandLists)(call.this, count, lists);
        });
        queue.replace(
            method!(UpdateTileMappings),
            |call,
             (
                resource,
                region_count,
                starts,
                sizes,
                heap,
                range_count,
                range_flags,
                heap_offsets,
                tile_counts,
                flags,
            )| {
                if call.data.drops_tiles {
                    return;
                }
                let offsets = falsified(call.data.tile_offset, range_count, heap_offsets);
                let other_flags = falsified(call.data.tile_flags, range_count, range_flags);
                (call.original.UpdateTileMappings)(
                    call.this,
                    resource,
                    region_count,
                    starts,
                    sizes,
                    heap,
                    range_count,
                    other_flags.as_ref().map_or(range_flags, |flags| flags.as_ptr()),
                    offsets.as_ref().map_or(heap_offsets, |offsets| offsets.as_ptr()),
                    tile_counts,
                    flags,
                );
            },
        );
        queue.replace(method!(CopyTileMappings), |call, (to, to_start, from, from_start, size, flags)| {
            if call.data.drops_copied_tiles {
                return;
            }
            let (mut to_changed, mut from_changed) = (to_start.read(), from_start.read());
            if let Some(lie) = call.data.copied_tiles {
                lie(&mut to_changed);
                lie(&mut from_changed);
            }
            (call.original.CopyTileMappings)(call.this, to, &to_changed, from, &from_changed, size, flags);
        });
    }
}

/// Applies a lie to each element of an array, if there are both.
unsafe fn falsified<T: Copy>(lie: Option<fn(T) -> T>, count: u32, array: *const T) -> Option<Vec<T>> {
    let lie = lie.filter(|_| !array.is_null())?;
    // SAFETY: the caller passes null or an array of count elements.
    let given = unsafe { std::slice::from_raw_parts(array, usize::try_from(count).unwrap_or(0)) };
    Some(given.iter().map(|&element| lie(element)).collect())
}

unsafe fn replace_list(methods: &Methods<Lies>) {
    // SAFETY: the methods are those of a list; the replacements pass on what their callers promise.
    unsafe {
        let list = methods.of::<ID3D12GraphicsCommandList>();
        list.replace(
            method!(CopyBufferRegion),
            |call, (to, mut to_offset, from, mut from_offset, mut len)| {
                if let Some(lie) = call.data.copy {
                    lie(&mut to_offset, &mut from_offset, &mut len);
                }
                if !call.data.is_wrong_for(to, OfKind::Dropped) {
                    (call.original.CopyBufferRegion)(call.this, to, to_offset, from, from_offset, len);
                }
            },
        );
        list.replace(method!(CopyResource), |call, (to, from)| {
            let between = || format(to) != format(from);
            if !refuses(call, Refused::CopiesBetweenFormats, between)
                && call.data.records(Command::CopyResource)
                && !call.data.is_wrong_for(to, OfKind::NotCopiedWhole)
            {
                (call.original.CopyResource)(call.this, to, from);
            }
        });
        list.replace(method!(CopyTextureRegion), |call, (to, x, y, z, from, source)| {
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
            if !refuses(call, Refused::CopiesBetweenFormats, between)
                && !refuses(call, Refused::CopiesWithinSubresources, within)
                && call.data.records(Command::CopyTextureRegion)
                && !call.data.is_wrong_for(
                    (*(*to).pResource).as_ref().map_or(std::ptr::null_mut(), Interface::as_raw),
                    OfKind::Dropped,
                )
            {
                (call.original.CopyTextureRegion)(call.this, to, x, y, z, from, source);
            }
        });
        list.replace(method!(CopyTiles), |call, (tiled, start, size, buffer, offset, flags)| {
            let is_undirected = || flags == D3D12_TILE_COPY_FLAG_NONE;
            if !refuses(call, Refused::TilesWithoutDirection, is_undirected)
                && call.data.records(Command::CopyTiles)
            {
                (call.original.CopyTiles)(call.this, tiled, start, size, buffer, offset, flags);
            }
        });
        list.replace(method!(ClearRenderTargetView), |call, (view, color, rect_count, rects)| {
            if call.data.records(Command::ClearRenderTargetView) {
                let (rect_count, rects) = rects_of(call.data, rect_count, rects);
                let mut color = *color.cast::<[f32; 4]>();
                if let Some(lie) = call.data.clear_color {
                    color.iter_mut().for_each(lie);
                }
                (call.original.ClearRenderTargetView)(call.this, view, color.as_ptr(), rect_count, rects);
            }
        });
        list.replace(
            method!(ClearDepthStencilView),
            |call, (view, flags, depth, stencil, rect_count, rects)| {
                if call.data.records(Command::ClearDepthStencilView) {
                    let (rect_count, rects) = rects_of(call.data, rect_count, rects);
                    (call.original.ClearDepthStencilView)(
                        call.this, view, flags, depth, stencil, rect_count, rects,
                    );
                }
            },
        );
        list.replace(
            method!(ClearUnorderedAccessViewUint),
            |call, (visible, view, resource, values, rect_count, rects)| {
                let lacks_heaps = || LIST_WITH_HEAPS.get() != identity(call.this, call.data);
                if !refuses(call, Refused::ClearsWithoutHeaps, lacks_heaps)
                    && call.data.records(Command::ClearUnorderedAccessViewUint)
                {
                    let (rect_count, rects) = rects_of(call.data, rect_count, rects);
                    (call.original.ClearUnorderedAccessViewUint)(
                        call.this, visible, view, resource, values, rect_count, rects,
                    );
                }
            },
        );
        list.replace(method!(ResolveSubresource), |call, (to, to_index, from, from_index, as_format)| {
            let between = || format(to) != as_format || format(from) != as_format;
            let of_depth = || format(from) == DXGI_FORMAT_D32_FLOAT;
            if !refuses(call, Refused::ResolvesBetweenFormats, between)
                && !refuses(call, Refused::ResolvesOfDepth, of_depth)
                && call.data.records(Command::ResolveSubresource)
            {
                (call.original.ResolveSubresource)(call.this, to, to_index, from, from_index, as_format);
            }
        });
        list.replace(method!(SetDescriptorHeaps), |call, (count, heaps)| {
            LIST_WITH_HEAPS.set(identity(call.this, call.data));
            (call.original.SetDescriptorHeaps)(call.this, count, heaps);
        });
        let second = methods.of::<ID3D12GraphicsCommandList2>();
        second.replace(method!(WriteBufferImmediate), |call, (count, parameters, modes)| {
            if call.data.records(Command::WriteBufferImmediate) {
                (call.original.WriteBufferImmediate)(call.this, count, parameters, modes);
            }
        });
        let first = methods.of::<ID3D12GraphicsCommandList1>();
        first.replace(
            method!(ResolveSubresourceRegion),
            |call, (to, to_index, x, y, from, from_index, rect, format, mode)| {
                if call.data.records(Command::ResolveSubresourceRegion) {
                    let resolve = call.original.ResolveSubresourceRegion;
                    resolve(call.this, to, to_index, x, y, from, from_index, rect, format, mode);
                }
            },
        );
    }
}

/// Returns whether a list refuses a command, so that its `Close` must fail.
fn refuses(list: &Liar<ID3D12GraphicsCommandList>, refused: Refused, is_that: impl FnOnce() -> bool) -> bool {
    let is_refused = list.data.refuses == Some(refused) && is_that();
    if is_refused {
        // SAFETY: the list is live. A copy without resources is an error that `Close` returns.
        unsafe { (list.original.CopyResource)(list.this, std::ptr::null_mut(), std::ptr::null_mut()) };
    }
    is_refused
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

thread_local! {
    /// The identity of the list on which this thread set descriptor heaps last.
    static LIST_WITH_HEAPS: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// Returns the rectangles of a clear, or none if the list ignores them.
fn rects_of(lies: &Lies, count: u32, rects: *const D3D12_RECT) -> (u32, *const D3D12_RECT) {
    if lies.ignores_rects { (0, std::ptr::null()) } else { (count, rects) }
}
