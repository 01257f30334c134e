//! Contents of each kind of resource: where it is placed, what copies and paging leave of it, and what its twin
//! inherits.
//!
//! * `kinds`: the kinds of resources, and the table of checks that each of them has.
//! * `stage`: bytes on their way to resources and back.

mod kinds;
mod stage;

use heapwright_d3d12::*;

pub(super) use self::kinds::{ALIASING, COPIES, PLACEMENT, QUEUES, RESIDENCY};
use self::stage::Stage;
use crate::answer::{Stop, Verdict};
use crate::com::{commands, object};
use crate::context::{Context, pageable};
use crate::desc::{COMMON, COPY_DEST, COPY_SOURCE, DEFAULT, MIB, properties};

/// Creates a heap for resources of a description.
fn heap_for(
    ctx: &Context,
    desc: &D3D12_RESOURCE_DESC,
    size: u64,
    flags: D3D12_HEAP_FLAGS,
) -> Result<ID3D12Heap, Stop> {
    let targets = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET | D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
    let allowed = match desc.Dimension {
        D3D12_RESOURCE_DIMENSION_BUFFER => D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS,
        _ if desc.Flags & targets != 0 => D3D12_HEAP_FLAG_ALLOW_ONLY_RT_DS_TEXTURES,
        _ => D3D12_HEAP_FLAG_ALLOW_ONLY_NON_RT_DS_TEXTURES,
    };
    let desc = D3D12_HEAP_DESC {
        SizeInBytes: size,
        Properties: properties(DEFAULT),
        Alignment: if desc.SampleDesc.Count > 1 { 4 * MIB } else { 0 },
        Flags: allowed | flags,
    };
    ctx.create_heap(&desc).ok(format!("{size} bytes"))
}

fn place(
    ctx: &Context,
    heap: &ID3D12Heap,
    offset: u64,
    desc: &D3D12_RESOURCE_DESC,
) -> Result<ID3D12Resource, Stop> {
    ctx.place(heap, offset, desc).ok(format!("offset {offset:#x}"))
}

/// Returns the size of a resource with the gap that its alignment leaves behind it.
fn step(ctx: &Context, desc: &D3D12_RESOURCE_DESC) -> Result<u64, Stop> {
    let found = ctx.valid_allocation("a resource", desc)?;
    Ok(found.size.next_multiple_of(found.alignment))
}

/// Writes three resources that are adjacent in a heap, the middle one last, and reads them.
fn between_neighbours(ctx: &Context, desc: &D3D12_RESOURCE_DESC) -> Verdict {
    let step = step(ctx, desc)?;
    let heap = heap_for(ctx, desc, 3 * step, D3D12_HEAP_FLAG_NONE)?;
    let placed =
        [place(ctx, &heap, 0, desc)?, place(ctx, &heap, step, desc)?, place(ctx, &heap, 2 * step, desc)?];
    let stage = Stage::new(ctx, desc, 3, D3D12_COMMAND_LIST_TYPE_DIRECT)?;
    for index in [0, 2, 1] {
        stage.write(index, &placed[index])?;
    }
    for (index, resource) in placed.iter().enumerate() {
        stage.expect(index, resource)?;
    }
    Ok(format!("3 of them {step} bytes apart"))
}

/// Writes a resource far from the beginning of its heap, after one at the beginning.
fn far_from_the_beginning(ctx: &Context, desc: &D3D12_RESOURCE_DESC) -> Verdict {
    let step = step(ctx, desc)?;
    let far = (4 * MIB).next_multiple_of(ctx.valid_allocation("a resource", desc)?.alignment);
    let heap = heap_for(ctx, desc, far + step, D3D12_HEAP_FLAG_NONE)?;
    let (first, last) = (place(ctx, &heap, 0, desc)?, place(ctx, &heap, far, desc)?);
    let stage = Stage::new(ctx, desc, 2, D3D12_COMMAND_LIST_TYPE_DIRECT)?;
    stage.write(1, &last)?;
    stage.write(0, &first)?;
    stage.expect(1, &last)?;
    stage.expect(0, &first)?;
    Ok(format!("at {far:#x}"))
}

/// Evicts a heap, writes another one that may get its memory, makes the first resident, and reads it.
fn paged(ctx: &Context, desc: &D3D12_RESOURCE_DESC, is_enqueued: bool) -> Verdict {
    let size = step(ctx, desc)?;
    let stage = Stage::new(ctx, desc, 2, D3D12_COMMAND_LIST_TYPE_DIRECT)?;
    let heap = heap_for(ctx, desc, size, D3D12_HEAP_FLAG_NONE)?;
    let resource = place(ctx, &heap, 0, desc)?;
    stage.write(0, &resource)?;
    let objects = pageable(&heap)?;
    ctx.evict(&objects).ok("a heap")?;
    let other = heap_for(ctx, desc, size, D3D12_HEAP_FLAG_NONE)?;
    let beside = place(ctx, &other, 0, desc)?;
    stage.write(1, &beside)?;
    // The queue waits for the fence until the resource has been read.
    let fence = ctx.create_fence(0).ok("value 0")?;
    if is_enqueued {
        let newer: ID3D12Device3 = ctx.interface("ID3D12Device3")?;
        object::enqueue_make_resident(&newer, D3D12_RESIDENCY_FLAG_NONE, &objects, &fence, 1).ok("a heap")?;
        commands::queue_wait(&stage.queue.queue, &fence, 1).ok("the paging fence")?;
    } else {
        ctx.make_resident(&objects).ok("a heap")?;
    }
    stage.expect(0, &resource)?;
    stage.expect(1, &beside)
}

/// Copies all of a resource to another one with `CopyResource`.
fn copied_whole(ctx: &Context, desc: &D3D12_RESOURCE_DESC) -> Verdict {
    let step = step(ctx, desc)?;
    let heap = heap_for(ctx, desc, 2 * step, D3D12_HEAP_FLAG_NONE)?;
    let (from, to) = (place(ctx, &heap, 0, desc)?, place(ctx, &heap, step, desc)?);
    let stage = Stage::new(ctx, desc, 2, D3D12_COMMAND_LIST_TYPE_DIRECT)?;
    stage.write(0, &from)?;
    stage.write(1, &to)?;
    stage.queue.run(|list| {
        list.transition(&from, COMMON, COPY_SOURCE);
        list.transition(&to, COMMON, COPY_DEST);
        list.copy_resource(&to, &from);
        list.transition(&from, COPY_SOURCE, COMMON);
        list.transition(&to, COPY_DEST, COMMON);
    })?;
    stage.expect(0, &from)?;
    stage.expect(0, &to)
}

/// Writes and reads a resource on a queue of a type.
fn on_a_queue(ctx: &Context, desc: &D3D12_RESOURCE_DESC, queue: D3D12_COMMAND_LIST_TYPE) -> Verdict {
    let heap = heap_for(ctx, desc, step(ctx, desc)?, D3D12_HEAP_FLAG_NONE)?;
    let resource = place(ctx, &heap, 0, desc)?;
    let stage = Stage::new(ctx, desc, 1, queue)?;
    stage.write(0, &resource)?;
    stage.expect(0, &resource)
}

/// Writes a resource in a shared heap and reads another one of the same description at the same place.
fn twin(ctx: &Context, desc: &D3D12_RESOURCE_DESC, has_barrier: bool) -> Verdict {
    let heap = heap_for(ctx, desc, step(ctx, desc)?, D3D12_HEAP_FLAG_SHARED)?;
    let (one, other) = (place(ctx, &heap, 0, desc)?, place(ctx, &heap, 0, desc)?);
    let stage = Stage::new(ctx, desc, 2, D3D12_COMMAND_LIST_TYPE_DIRECT)?;
    for index in 0..2 {
        stage.write(index, &one)?;
        if has_barrier {
            stage.queue.run(|list| list.alias(Some(&one), Some(&other)))?;
        }
        stage.expect(index, &other)?;
        if has_barrier {
            stage.queue.run(|list| list.alias(Some(&other), Some(&one)))?;
        }
    }
    Ok("its twin has its bytes, twice".to_owned())
}
