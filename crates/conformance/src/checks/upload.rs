//! GPU upload heaps and manual write tracking (document UPLOAD), and the usage of segment groups.

use heapwright_d3d12::hresult::Named;
use heapwright_d3d12::*;
use windows_core::Interface;

use crate::answer::{Stop, Verdict, each, ensure, failed, require, require_eq, skipped};
use crate::check::{Check, Need, check, validation};
use crate::com::device::{self, Home};
use crate::com::{adapter, memory};
use crate::context::{Context, pageable};
use crate::desc::*;

const TYPE: &str = "UPLOAD, Support GPU upload heaps with D3D12_HEAP_TYPE_GPU_UPLOAD";
const CUSTOM: &str = "UPLOAD, Support GPU upload heaps with custom heaps";
const CAPS: &str = "UPLOAD, How to find if GPU upload heaps are supported as a developer";
const RESTRICTIONS: &str = "UPLOAD, Restrictions";
const VALIDATIONS: &str = "UPLOAD, Validations";
const TRACKING: &str = "UPLOAD, Detect modifications to the GPU Upload Heaps";
const BUDGET: &str = "Learn, IDXGIAdapter3::QueryVideoMemoryInfo";
const ALL_VISIBLE: &str =
    "UPLOAD, How do we detect if GPU upload heaps are supported, all of video memory is visible";
const INTEGRATED: &str = "UPLOAD, How do we detect if GPU upload heaps are supported, integrated GPUs";
const LOCKABLE: &str = "UPLOAD, Support for VRAM-only lockable surfaces";
const RESERVATION: &str = "Learn, IDXGIAdapter3::SetVideoMemoryReservation";
const OVER_BUDGET: &str = "UPLOAD, How to find if GPU upload heaps are supported as a developer, over budget";
const OPAQUE: &str = "UPLOAD, Detect modifications to the GPU Upload Heaps, opaque textures";
const SUPPORT: &str = "UPLOAD, Background";
const STATES: &str = "UPLOAD, Validations; Learn, initial states";

const YES: &[Need] = &[Need::GpuUploadHeaps];
const NO: &[Need] = &[Need::NoGpuUploadHeaps];
const LOCAL: DXGI_MEMORY_SEGMENT_GROUP = DXGI_MEMORY_SEGMENT_GROUP_LOCAL;
const NON_LOCAL: DXGI_MEMORY_SEGMENT_GROUP = DXGI_MEMORY_SEGMENT_GROUP_NON_LOCAL;
const TIGHT: &[Need] = &[Need::GpuUploadHeaps, Need::TightAlignment];
const NO_DISCRETE: &[Need] = &[Need::NoGpuUploadHeaps, Need::Discrete];
const BUDGETED: &[Need] = &[Need::GpuUploadHeaps, Need::Adapter];
const VIDEO_MEMORY: &[Need] = &[Need::GpuUploadHeaps, Need::Discrete, Need::Adapter];
const UMA: &[Need] = &[Need::Uma, Need::GpuUploadHeapType];
const TEXTURES: &[Need] = &[Need::GpuUploadHeaps, Need::Textures];

pub(super) const CHECKS: &[Check] = &[
    check("upload/heap", TYPE, YES, |ctx| {
        let heap = ctx.create_heap(&buffer_heap(GPU_UPLOAD, MIB)).ok("1 MiB")?;
        let found = memory::heap_desc(&heap).Properties.Type;
        require_eq("Type", found, GPU_UPLOAD)
    }),
    check("upload/committed-buffer", TYPE, YES, |ctx| {
        let resource = ctx.commit(GPU_UPLOAD, &buffer(1000)).holds_bytes("1000 bytes")?;
        let found = memory::heap_properties(&resource).ok("a resource")?.0;
        require_eq("Type", found.Type, GPU_UPLOAD)
    }),
    check("upload/placed-buffer-is-mapped", "UPLOAD, How to use this feature", YES, |ctx| {
        let heap = ctx.create_heap(&buffer_heap(GPU_UPLOAD, 128 * KIB)).ok("128 KiB")?;
        let resource = ctx.place(&heap, 64 * KIB, &buffer(1000)).holds_bytes("1000 bytes")?;
        let mapping = ctx.map(&resource).ok("a placed GPU_UPLOAD buffer")?;
        mapping.write(0, b"placed");
        require_eq("bytes", mapping.read(0, 6), b"placed".to_vec())
    }),
    check(
        "upload/new-heap-is-zero",
        "Learn, D3D12_HEAP_FLAGS, D3D12_HEAP_FLAG_CREATE_NOT_ZEROED",
        YES,
        |ctx| {
            for _ in 0..4 {
                let resource = ctx.commit(GPU_UPLOAD, &buffer(64 * KIB)).ok("64 KiB")?;
                let mapping = ctx.map(&resource).ok("a GPU_UPLOAD buffer")?;
                let len = 64 * 1024;
                ensure!(mapping.read(0, len).iter().all(|&byte| byte == 0), "new memory is not zero");
                mapping.write(0, &vec![0xa5; len]);
            }
            Ok("64 KiB, 4 times, after dirty ones were released".to_owned())
        },
    ),
    validation(
        "upload/second-subresource-is-not-mapped",
        "Learn, ID3D12Resource::Map, Subresource",
        YES,
        |ctx| {
            let resource = ctx.commit(GPU_UPLOAD, &buffer(1000)).holds_bytes("1000 bytes")?;
            memory::map_raw(&resource, 1, None).refused("subresource 1 of a buffer")
        },
    ),
    check("upload/tight-buffers", "TIGHT, Placed Resources", TIGHT, |ctx| {
        let alignment = ctx.valid_allocation("a tight buffer", &tight_buffer(8))?.alignment;
        let heap = ctx.create_heap(&buffer_heap(GPU_UPLOAD, 64 * KIB)).ok("64 KiB")?;
        ctx.place(&heap, alignment, &tight_buffer(8)).holds_bytes(format!("offset {alignment}"))?;
        Ok(format!("at offset {alignment}"))
    }),
    check("upload/initial-states", STATES, YES, |ctx| {
        each([COMMON, COPY_SOURCE, COPY_DEST], |state| {
            let committed = Home::of(GPU_UPLOAD);
            ctx.create_resource(committed, &buffer(256), state, None).ok(format!("state {state:#x}"))
        })
    }),
    check("upload/page-property-refused", TYPE, YES, |ctx| {
        each([D3D12_CPU_PAGE_PROPERTY_WRITE_COMBINE, D3D12_CPU_PAGE_PROPERTY_WRITE_BACK], |page| {
            let home = D3D12_HEAP_PROPERTIES { CPUPageProperty: page, ..properties(GPU_UPLOAD) };
            refused(ctx, home, D3D12_HEAP_FLAG_NONE, &format!("CPUPageProperty {page}"))
        })
    }),
    check("upload/pool-refused", TYPE, YES, |ctx| {
        each([D3D12_MEMORY_POOL_L0, D3D12_MEMORY_POOL_L1], |pool| {
            let home = D3D12_HEAP_PROPERTIES { MemoryPoolPreference: pool, ..properties(GPU_UPLOAD) };
            refused(ctx, home, D3D12_HEAP_FLAG_NONE, &format!("MemoryPoolPreference {pool}"))
        })
    }),
    check("upload/shared-refused", RESTRICTIONS, YES, |ctx| {
        refused(ctx, properties(GPU_UPLOAD), D3D12_HEAP_FLAG_SHARED, "SHARED")
    }),
    check("upload/shared-cross-adapter-refused", RESTRICTIONS, YES, |ctx| {
        let flags = D3D12_HEAP_FLAG_SHARED | D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER;
        refused(ctx, properties(GPU_UPLOAD), flags, "SHARED_CROSS_ADAPTER")
    }),
    check("upload/display-refused", RESTRICTIONS, YES, |ctx| {
        refused(ctx, properties(GPU_UPLOAD), D3D12_HEAP_FLAG_ALLOW_DISPLAY, "ALLOW_DISPLAY")
    }),
    check("upload/custom-equivalent", CUSTOM, YES, |ctx| {
        let home = device::custom_heap_properties(ctx.device(), 0, GPU_UPLOAD);
        let heap = ctx
            .create_heap(&D3D12_HEAP_DESC { Properties: home, ..buffer_heap(0, 64 * KIB) })
            .ok("the custom properties of GPU_UPLOAD")?;
        let resource = ctx.place(&heap, 0, &buffer(1000)).holds_bytes("1000 bytes")?;
        let mapping = ctx.map(&resource).ok("a buffer in custom GPU_UPLOAD")?;
        mapping.write(0, b"equivalent");
        require_eq("bytes", mapping.read(0, 10), b"equivalent".to_vec())
    }),
    check("upload/custom-write-combine-in-l1", CUSTOM, &[Need::GpuUploadHeaps, Need::Discrete], |ctx| {
        let home = custom(D3D12_CPU_PAGE_PROPERTY_WRITE_COMBINE, D3D12_MEMORY_POOL_L1);
        ctx.commit_with(&home, D3D12_HEAP_FLAG_NONE, &buffer(256)).taken("WRITE_COMBINE in L1")
    }),
    check("upload/custom-write-back-in-l1-refused", CUSTOM, YES, |ctx| {
        let home = custom(D3D12_CPU_PAGE_PROPERTY_WRITE_BACK, D3D12_MEMORY_POOL_L1);
        refused(ctx, home, D3D12_HEAP_FLAG_NONE, "WRITE_BACK in L1")
    }),
    check("upload/custom-equivalent-shared-refused", RESTRICTIONS, YES, |ctx| {
        let home = device::custom_heap_properties(ctx.device(), 0, GPU_UPLOAD);
        refused(ctx, home, D3D12_HEAP_FLAG_SHARED, "SHARED in the custom equivalent")
    }),
    check("upload/unsupported-heap-refused", VALIDATIONS, NO, |ctx| {
        // The document says that creation fails; which error it is it leaves open.
        ctx.create_heap(&buffer_heap(GPU_UPLOAD, MIB)).fails("GPU_UPLOAD without GPUUploadHeapSupported")
    }),
    check("upload/unsupported-committed-refused", VALIDATIONS, NO, |ctx| {
        ctx.commit(GPU_UPLOAD, &buffer(1000)).fails("GPU_UPLOAD without GPUUploadHeapSupported")
    }),
    check("upload/unsupported-write-combine-in-l1-refused", VALIDATIONS, NO_DISCRETE, |ctx| {
        let home = custom(D3D12_CPU_PAGE_PROPERTY_WRITE_COMBINE, D3D12_MEMORY_POOL_L1);
        refused(ctx, home, D3D12_HEAP_FLAG_NONE, "WRITE_COMBINE in L1")
    }),
    check("upload/large-heap", ALL_VISIBLE, BUDGETED, |ctx| {
        // A BAR of 256 MiB would not hold it.
        let free = free(ctx, LOCAL)?;
        let size = 512 * MIB;
        if free < size {
            return skipped("less than 512 MiB of the local budget is free");
        }
        let heap = ctx.create_heap(&buffer_heap(GPU_UPLOAD, size)).ok("512 MiB")?;
        let resource = ctx.place(&heap, size - 64 * KIB, &buffer(64 * KIB)).holds_bytes("its last 64 KiB")?;
        ctx.map(&resource).ok("its last 64 KiB")?.write(0, &[1; 64]);
        Ok("512 MiB, mapped at the end".to_owned())
    }),
    check("upload/all-of-video-memory", ALL_VISIBLE, VIDEO_MEMORY, |ctx| {
        // A budget that changes meanwhile, as another program comes or goes, says nothing.
        for _ in 0..8 {
            if let Some(found) = fill_video_memory(ctx)? {
                return Ok(found);
            }
        }
        skipped("the local budget changes too often")
    }),
    check("upload/uma-has-gpu-upload-heaps", INTEGRATED, UMA, |ctx| {
        // Without developer mode the document has no device support them.
        require(ctx.caps().gpu_upload_heaps, || {
            "GPUUploadHeapSupported is FALSE on UMA; developer mode may be off".to_owned()
        })
    }),
    check("upload/falls-back-when-made-resident", LOCKABLE, VIDEO_MEMORY, |ctx| {
        // Evicted, then made resident where video memory has no room left within the budget.
        let (size, step) = (64 * MIB, 256 * MIB);
        let (local, system) = (free(ctx, LOCAL)?, free(ctx, NON_LOCAL)?);
        if local > 64 * 1024 * MIB || system < 2 * size || local < 2 * step {
            return skipped("too little system memory is free to exceed the local budget");
        }
        let heap = ctx.create_heap(&buffer_heap(GPU_UPLOAD, size)).ok("64 MiB")?;
        let objects = pageable(&heap)?;
        ctx.evict(&objects).ok("a heap")?;
        let mut held = Vec::new();
        // As much as video memory gives, which is a little more than the budget.
        for _ in 0..local / step * 9 / 8 + 2 {
            match ctx.create_heap(&buffer_heap(DEFAULT, step)).implemented()? {
                Ok(heap) => held.push(heap),
                Err(_) => break,
            }
        }
        ctx.make_resident(&objects).ok("CPU-visible memory, with video memory full")?;
        let part = ctx.place(&heap, 0, &buffer(64 * KIB)).holds_bytes("64 KiB")?;
        ctx.map(&part).ok("GPU_UPLOAD")?.write(0, &[1; 64]);
        Ok("resident, with video memory full".to_owned())
    }),
    check("upload/charged-to-local", CAPS, BUDGETED, |ctx| charged(ctx, GPU_UPLOAD, LOCAL)),
    check("upload/default-charged-to-local", BUDGET, &[Need::Adapter], |ctx| charged(ctx, DEFAULT, LOCAL)),
    check("upload/upload-charged-to-non-local", BUDGET, &[Need::Discrete, Need::Adapter], |ctx| {
        charged(ctx, UPLOAD, NON_LOCAL)
    }),
    check("upload/readback-charged-to-non-local", BUDGET, &[Need::Discrete, Need::Adapter], |ctx| {
        charged(ctx, READBACK, NON_LOCAL)
    }),
    check("upload/everything-is-local-on-uma", BUDGET, &[Need::Uma, Need::Adapter], |ctx| {
        each(HEAP_TYPES, |heap_type| charged(ctx, heap_type, LOCAL))
    }),
    check("upload/non-local-is-empty-on-uma", BUDGET, &[Need::Uma, Need::Adapter], |ctx| {
        let info = info(ctx, NON_LOCAL)?;
        require_eq("Budget of the non-local segment group", info.Budget, 0)
    }),
    check("upload/budget-is-there", BUDGET, &[Need::Adapter], |ctx| {
        let info = info(ctx, LOCAL)?;
        ensure!(info.Budget > 0, "Budget of the local segment group is 0");
        Ok("the budget is not 0".to_owned())
    }),
    check("upload/unknown-segment-group-refused", BUDGET, &[Need::Adapter], |ctx| {
        adapter::video_memory(ctx.adapter()?, 0, 2).fails("segment group 2")?;
        adapter::video_memory(ctx.adapter()?, 64, LOCAL).fails("node 64")
    }),
    check("upload/reservation-is-bounded", RESERVATION, &[Need::Adapter], |ctx| {
        let before = info(ctx, LOCAL)?;
        let adapter = ctx.adapter()?;
        let reserve = |bytes| adapter::reserve(adapter, LOCAL, bytes);
        let some = before.AvailableForReservation / 2;
        reserve(some).ok("half of the available reservation")?;
        let during = info(ctx, LOCAL)?.CurrentReservation;
        reserve(before.CurrentReservation).ok("the previous reservation")?;
        require_eq("CurrentReservation", during, some)
    }),
    check("upload/reservation-of-too-much-refused", RESERVATION, &[Need::Adapter], |ctx| {
        let available = info(ctx, LOCAL)?.AvailableForReservation;
        adapter::reserve(ctx.adapter()?, LOCAL, available.saturating_add(MIB)).fails("more than is available")
    }),
    check("upload/over-budget-falls-back", OVER_BUDGET, VIDEO_MEMORY, |ctx| {
        // Over the local budget the memory may come from system memory, so the heap is made as long as there is some.
        let (local, system) = (free(ctx, LOCAL)?, free(ctx, NON_LOCAL)?);
        let step = 256 * MIB;
        if local > 64 * 1024 * MIB || system < 2 * step {
            return skipped("too little system memory is free to exceed the local budget");
        }
        // The document speaks of memory. Heaps need addresses as well, of which a process has others, too.
        let addresses = 1_u64.checked_shl(ctx.caps().gpu_va_bits_per_process).unwrap_or(u64::MAX);
        if local + step > addresses / 2 {
            return skipped("the GPU virtual addresses of a process end before the local budget does");
        }
        let mut held = Vec::new();
        for _ in 0..=local / step {
            held.push(ctx.create_heap(&buffer_heap(GPU_UPLOAD, step)).ok("256 MiB over the local budget")?);
        }
        Ok("heaps of 256 MiB, more than the local budget".to_owned())
    }),
    validation("upload/texture-maps-without-a-pointer", OPAQUE, TEXTURES, |ctx| {
        let texture = ctx.commit(GPU_UPLOAD, &rgba(64, 64)).holds_bytes("64 by 64")?;
        memory::map_without_pointer(&texture, 0).ok("without a pointer")?;
        memory::unmap(&texture, 0);
        memory::map_raw(&texture, 0, None).refused("an opaque texture with a pointer")
    }),
    check("upload/texture-by-write-to-subresource", OPAQUE, TEXTURES, |ctx| {
        let texture = ctx.commit(GPU_UPLOAD, &rgba(16, 16)).holds_bytes("16 by 16")?;
        memory::map_without_pointer(&texture, 0).ok("without a pointer")?;
        let bytes: Vec<u8> = (0..=255).cycle().take(16 * 16 * 4).collect();
        memory::write_to_subresource(&texture, 0, &bytes, 64).ok("16 by 16")?;
        let read = memory::read_from_subresource(&texture, 0, bytes.len(), 64);
        require_eq("texels", read.ok("16 by 16")?, bytes)?;
        memory::unmap(&texture, 0);
        Ok("1024 bytes written and read".to_owned())
    }),
    check("upload/render-target", SUPPORT, TEXTURES, |ctx| {
        let desc = with_flags(rgba(64, 64), D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET);
        ctx.commit(GPU_UPLOAD, &desc).taken("a render target")
    }),
    check("upload/simultaneous-access-buffer-refused", "Learn, D3D12_RESOURCE_FLAGS", YES, |ctx| {
        let desc = with_flags(buffer(256), D3D12_RESOURCE_FLAG_ALLOW_SIMULTANEOUS_ACCESS);
        ctx.commit(GPU_UPLOAD, &desc).refused("ALLOW_SIMULTANEOUS_ACCESS")
    }),
    check("upload/write-tracking-refused", TRACKING, &[Need::GpuUploadHeaps, Need::NoWriteTracking], |ctx| {
        let flags = D3D12_HEAP_FLAG_TOOLS_USE_MANUAL_WRITE_TRACKING;
        refused(ctx, properties(GPU_UPLOAD), flags, "TOOLS_USE_MANUAL_WRITE_TRACKING without a tool")
    }),
    check("upload/write-tracking-interface-is-absent", TRACKING, &[Need::NoWriteTracking], |ctx| {
        let resource = ctx.commit(UPLOAD, &buffer(256)).holds_bytes("256 bytes")?;
        let tracking = resource.cast::<ID3D12ManualWriteTrackingResource>();
        ensure!(tracking.is_err(), "the resource has ID3D12ManualWriteTrackingResource without a tool");
        Ok("E_NOINTERFACE".to_owned())
    }),
    validation("upload/write-tracking-flag-needs-the-cap", TRACKING, &[Need::NoWriteTracking], |ctx| {
        let flags = D3D12_HEAP_FLAG_TOOLS_USE_MANUAL_WRITE_TRACKING;
        refused(ctx, properties(UPLOAD), flags, "TOOLS_USE_MANUAL_WRITE_TRACKING without a tool")
    }),
];

/// Fails the check unless a heap and a committed resource with these properties are refused.
fn refused(ctx: &Context, home: D3D12_HEAP_PROPERTIES, flags: D3D12_HEAP_FLAGS, what: &str) -> Verdict {
    let desc = buffer_heap(0, 64 * KIB);
    ctx.create_heap(&D3D12_HEAP_DESC { Properties: home, Flags: desc.Flags | flags, ..desc })
        .refused(what)?;
    ctx.commit_with(&home, flags, &buffer(256)).refused(what)
}

/// Fills seven eighths of the local budget with CPU-visible heaps, as far as the device provides them. Returns `None`
/// if the budget changed meanwhile.
///
/// No document promises that much to one process, and an NVIDIA H200 with a BAR as large as its memory gives half of
/// it. A device may therefore refuse a heap for lack of memory, but not the first 512 MiB, which a BAR of 256 MiB would
/// not hold.
fn fill_video_memory(ctx: &Context) -> Result<Option<String>, Stop> {
    let before = info(ctx, LOCAL)?;
    let free = before.Budget.saturating_sub(before.CurrentUsage);
    let step = (free / 64).max(64 * MIB) / MIB * MIB;
    let mut held = Vec::new();
    for _ in 0..(free / 8 * 7) / step {
        let heap = ctx.create_heap(&buffer_heap(GPU_UPLOAD, step));
        let held_bytes = step * u64::try_from(held.len()).unwrap_or(0);
        let is_refusable = held_bytes >= 512 * MIB;
        let heap = match heap.implemented()? {
            Ok(heap) => heap,
            Err(E_OUTOFMEMORY) if is_refusable => break,
            Err(hresult) => {
                return failed(format!(
                    "a heap after {held_bytes} bytes of the local budget: expected S_OK, found {}",
                    Named(hresult)
                ));
            }
        };
        let last = ctx.place(&heap, step - 64 * KIB, &buffer(64 * KIB)).ok("its last 64 KiB")?;
        ctx.map(&last).ok("its last 64 KiB")?.write(0, &[1; 64]);
        held.push((heap, last));
    }
    let wanted = step * u64::try_from(held.len()).unwrap_or(0);
    let after = info(ctx, LOCAL)?;
    if after.Budget != before.Budget {
        return Ok(None);
    }
    let taken = after.CurrentUsage.saturating_sub(before.CurrentUsage);
    ensure!(taken >= wanted, "expected usage to rise by at least {wanted} bytes, found {taken}");
    Ok(Some(format!("{wanted} bytes of a local budget of {}, mapped", before.Budget)))
}

fn info(ctx: &Context, group: DXGI_MEMORY_SEGMENT_GROUP) -> Result<DXGI_QUERY_VIDEO_MEMORY_INFO, Stop> {
    adapter::video_memory(ctx.adapter()?, 0, group).ok("node 0")
}

/// Returns the current usage of a segment group, in bytes.
pub(super) fn usage(ctx: &Context, group: DXGI_MEMORY_SEGMENT_GROUP) -> Result<u64, Stop> {
    Ok(info(ctx, group)?.CurrentUsage)
}

/// Returns the unused part of a segment group's budget, in bytes.
fn free(ctx: &Context, group: DXGI_MEMORY_SEGMENT_GROUP) -> Result<u64, Stop> {
    let info = info(ctx, group)?;
    Ok(info.Budget.saturating_sub(info.CurrentUsage))
}

/// Fails the check unless a heap of 64 MiB raises the usage of `group` by at least its size.
fn charged(ctx: &Context, heap_type: D3D12_HEAP_TYPE, group: DXGI_MEMORY_SEGMENT_GROUP) -> Verdict {
    let size = 64 * MIB;
    if free(ctx, group)? < 2 * size {
        return skipped("less than 128 MiB of the budget is free");
    }
    let before = usage(ctx, group)?;
    let heap = ctx.create_heap(&buffer_heap(heap_type, size)).ok("64 MiB")?;
    let during = usage(ctx, group)?;
    drop(heap);
    let after = usage(ctx, group)?;
    require(during >= before.saturating_add(size), || {
        format!("usage rises by {} with a heap of {size} bytes", during.saturating_sub(before))
    })?;
    // The memory of a released heap may be given back later: only that it does not grow can be asked for.
    ensure!(after <= during, "usage rises by {} with the release", after - during);
    Ok("usage rises with a heap of 64 MiB, but not with its release".to_owned())
}
