//! GPU upload heaps and manual write tracking (document UPLOAD), and what segment groups are charged.

use heapwright_d3d12::*;
use windows_core::Interface;

use crate::answer::{Stop, Verdict, require, require_eq};
use crate::check::{Check, Need, check};
use crate::com::device::{self, Home};
use crate::com::{adapter, memory};
use crate::context::Context;
use crate::desc::{KIB, MIB, buffer, buffer_heap, custom, properties, rgba, tight_buffer, with_flags};

const TYPE: &str = "UPLOAD, Support GPU upload heaps with D3D12_HEAP_TYPE_GPU_UPLOAD";
const CUSTOM: &str = "UPLOAD, Support GPU upload heaps with custom heaps";
const CAPS: &str = "UPLOAD, How to find if GPU upload heaps are supported";
const RESTRICTIONS: &str = "UPLOAD, Restrictions";
const VALIDATIONS: &str = "UPLOAD, Validations";
const TRACKING: &str = "UPLOAD, Detect modifications to the GPU Upload Heaps";
const BUDGET: &str = "DXGI, IDXGIAdapter3::QueryVideoMemoryInfo";

const YES: &[Need] = &[Need::GpuUploadHeaps];
const NO: &[Need] = &[Need::NoGpuUploadHeaps];
const GPU: D3D12_HEAP_TYPE = D3D12_HEAP_TYPE_GPU_UPLOAD;
const LOCAL: DXGI_MEMORY_SEGMENT_GROUP = DXGI_MEMORY_SEGMENT_GROUP_LOCAL;
const NON_LOCAL: DXGI_MEMORY_SEGMENT_GROUP = DXGI_MEMORY_SEGMENT_GROUP_NON_LOCAL;

pub(super) const CHECKS: &[Check] = &[
    check("upload/heap", TYPE, YES, |ctx| {
        let heap = ctx.create_heap(&buffer_heap(GPU, MIB)).ok("1 MiB")?;
        let found = memory::heap_desc(&heap).Properties.Type;
        require_eq("Type", found, GPU)?;
        Ok("1 MiB".to_owned())
    }),
    check("upload/committed-buffer", TYPE, YES, |ctx| {
        let resource = ctx.commit(GPU, &buffer(1000)).ok("1000 bytes")?;
        let found = ctx.answer("GetHeapProperties", memory::heap_properties(&resource)).ok("a resource")?.0;
        require_eq("Type", found.Type, GPU)?;
        Ok("GPU_UPLOAD".to_owned())
    }),
    check("upload/buffer-is-mapped", "UPLOAD, How to use this feature", YES, |ctx| {
        let resource = ctx.commit(GPU, &buffer(1000)).ok("1000 bytes")?;
        let mapping = ctx.map(&resource).ok("a GPU_UPLOAD buffer")?;
        mapping.write(0, &[3; 1000]);
        require_eq("bytes", mapping.read(0, 1000), vec![3; 1000])?;
        Ok("1000 bytes written and read".to_owned())
    }),
    check("upload/placed-buffer-is-mapped", "UPLOAD, How to use this feature", YES, |ctx| {
        let heap = ctx.create_heap(&buffer_heap(GPU, 128 * KIB)).ok("128 KiB")?;
        let resource = ctx.place(&heap, 64 * KIB, &buffer(1000)).ok("1000 bytes")?;
        let mapping = ctx.map(&resource).ok("a placed GPU_UPLOAD buffer")?;
        mapping.write(0, b"placed");
        require_eq("bytes", mapping.read(0, 6), b"placed".to_vec())?;
        Ok("written and read".to_owned())
    }),
    check("upload/new-heap-is-zero", "D3D12, D3D12_HEAP_FLAG_CREATE_NOT_ZEROED", YES, |ctx| {
        for _ in 0..4 {
            let resource = ctx.commit(GPU, &buffer(64 * KIB)).ok("64 KiB")?;
            let mapping = ctx.map(&resource).ok("a GPU_UPLOAD buffer")?;
            let len = 64 * 1024;
            require(mapping.read(0, len).iter().all(|&byte| byte == 0), || {
                "new memory is not zero".to_owned()
            })?;
            mapping.write(0, &vec![0xa5; len]);
        }
        Ok("64 KiB, 4 times, after dirty ones were released".to_owned())
    }),
    check("upload/second-subresource-is-not-mapped", "D3D12, ID3D12Resource::Map, Subresource", YES, |ctx| {
        let resource = ctx.commit(GPU, &buffer(1000)).ok("1000 bytes")?;
        ctx.answer("Map", memory::map_raw(&resource, 1, None)).refused("subresource 1 of a buffer")?;
        Ok("E_INVALIDARG".to_owned())
    })
    .validates(),
    check(
        "upload/tight-buffers",
        "TIGHT, Placed Resources",
        &[Need::GpuUploadHeaps, Need::TightAlignment],
        |ctx| {
            let alignment = ctx.valid_allocation("a tight buffer", &tight_buffer(8))?.alignment;
            let heap = ctx.create_heap(&buffer_heap(GPU, 64 * KIB)).ok("64 KiB")?;
            ctx.place(&heap, alignment, &tight_buffer(8)).ok(format!("offset {alignment}"))?;
            Ok(format!("at offset {alignment}"))
        },
    ),
    check("upload/initial-states", "UPLOAD, Validations; D3D12, initial states", YES, |ctx| {
        let home = properties(GPU);
        for state in
            [D3D12_RESOURCE_STATE_COMMON, D3D12_RESOURCE_STATE_COPY_SOURCE, D3D12_RESOURCE_STATE_COPY_DEST]
        {
            let committed = Home::Committed(&home, D3D12_HEAP_FLAG_NONE);
            ctx.create_resource(committed, &buffer(256), state, None).ok(format!("state {state:#x}"))?;
        }
        Ok("COMMON, COPY_SOURCE and COPY_DEST".to_owned())
    }),
    check("upload/page-property-refused", TYPE, YES, |ctx| {
        for page in [D3D12_CPU_PAGE_PROPERTY_WRITE_COMBINE, D3D12_CPU_PAGE_PROPERTY_WRITE_BACK] {
            let home = D3D12_HEAP_PROPERTIES { CPUPageProperty: page, ..properties(GPU) };
            refused(ctx, home, D3D12_HEAP_FLAG_NONE, &format!("CPUPageProperty {page}"))?;
        }
        Ok("E_INVALIDARG".to_owned())
    }),
    check("upload/pool-refused", TYPE, YES, |ctx| {
        for pool in [D3D12_MEMORY_POOL_L0, D3D12_MEMORY_POOL_L1] {
            let home = D3D12_HEAP_PROPERTIES { MemoryPoolPreference: pool, ..properties(GPU) };
            refused(ctx, home, D3D12_HEAP_FLAG_NONE, &format!("MemoryPoolPreference {pool}"))?;
        }
        Ok("E_INVALIDARG".to_owned())
    }),
    check("upload/shared-refused", RESTRICTIONS, YES, |ctx| {
        refused(ctx, properties(GPU), D3D12_HEAP_FLAG_SHARED, "SHARED")
    }),
    check("upload/shared-cross-adapter-refused", RESTRICTIONS, YES, |ctx| {
        let flags = D3D12_HEAP_FLAG_SHARED | D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER;
        refused(ctx, properties(GPU), flags, "SHARED_CROSS_ADAPTER")
    }),
    check("upload/display-refused", RESTRICTIONS, YES, |ctx| {
        refused(ctx, properties(GPU), D3D12_HEAP_FLAG_ALLOW_DISPLAY, "ALLOW_DISPLAY")
    }),
    check("upload/custom-equivalent", CUSTOM, YES, |ctx| {
        let home = device::custom_heap_properties(ctx.device(), 0, GPU);
        let heap = ctx
            .create_heap(&D3D12_HEAP_DESC { Properties: home, ..buffer_heap(0, 64 * KIB) })
            .ok("the custom properties of GPU_UPLOAD")?;
        let resource = ctx.place(&heap, 0, &buffer(1000)).ok("1000 bytes")?;
        let mapping = ctx.map(&resource).ok("a buffer in custom GPU_UPLOAD")?;
        mapping.write(0, b"equivalent");
        require_eq("bytes", mapping.read(0, 10), b"equivalent".to_vec())?;
        Ok("a custom heap that the CPU writes to".to_owned())
    }),
    check("upload/custom-write-combine-in-l1", CUSTOM, &[Need::GpuUploadHeaps, Need::Discrete], |ctx| {
        let home = custom(D3D12_CPU_PAGE_PROPERTY_WRITE_COMBINE, D3D12_MEMORY_POOL_L1);
        ctx.commit_with(&home, D3D12_HEAP_FLAG_NONE, &buffer(256)).ok("WRITE_COMBINE in L1")?;
        Ok("taken".to_owned())
    }),
    check("upload/custom-write-back-in-l1-refused", CUSTOM, YES, |ctx| {
        let home = custom(D3D12_CPU_PAGE_PROPERTY_WRITE_BACK, D3D12_MEMORY_POOL_L1);
        refused(ctx, home, D3D12_HEAP_FLAG_NONE, "WRITE_BACK in L1")
    }),
    check("upload/custom-equivalent-shared-refused", RESTRICTIONS, YES, |ctx| {
        let home = device::custom_heap_properties(ctx.device(), 0, GPU);
        refused(ctx, home, D3D12_HEAP_FLAG_SHARED, "SHARED in the custom equivalent")
    }),
    check("upload/unsupported-heap-refused", VALIDATIONS, NO, |ctx| {
        // The document says that creation fails; which error it is it leaves open.
        ctx.create_heap(&buffer_heap(GPU, MIB)).fails("GPU_UPLOAD without GPUUploadHeapSupported")?;
        Ok("refused".to_owned())
    }),
    check("upload/unsupported-committed-refused", VALIDATIONS, NO, |ctx| {
        ctx.commit(GPU, &buffer(1000)).fails("GPU_UPLOAD without GPUUploadHeapSupported")?;
        Ok("refused".to_owned())
    }),
    check(
        "upload/unsupported-write-combine-in-l1-refused",
        VALIDATIONS,
        &[Need::NoGpuUploadHeaps, Need::Discrete],
        |ctx| {
            let home = custom(D3D12_CPU_PAGE_PROPERTY_WRITE_COMBINE, D3D12_MEMORY_POOL_L1);
            refused(ctx, home, D3D12_HEAP_FLAG_NONE, "WRITE_COMBINE in L1")
        },
    ),
    check(
        "upload/large-heap",
        "UPLOAD, How do we detect, all of video memory is visible",
        &[Need::GpuUploadHeaps, Need::Adapter],
        |ctx| {
            // A BAR of 256 MiB would not hold it.
            let free = free(ctx, LOCAL)?;
            let size = 512 * MIB;
            if free < size {
                return crate::answer::skipped("less than 512 MiB of the local budget are free");
            }
            let heap = ctx.create_heap(&buffer_heap(GPU, size)).ok("512 MiB")?;
            let resource = ctx.place(&heap, size - 64 * KIB, &buffer(64 * KIB)).ok("its last 64 KiB")?;
            ctx.map(&resource).ok("its last 64 KiB")?.write(0, &[1; 64]);
            Ok("512 MiB, mapped at the end".to_owned())
        },
    ),
    check(
        "upload/all-of-video-memory",
        "UPLOAD, How do we detect, all of video memory is visible",
        &[Need::GpuUploadHeaps, Need::Discrete, Need::Adapter],
        |ctx| {
            // A budget that changes meanwhile, as another program comes or goes, says nothing.
            for _ in 0..8 {
                if let Some(found) = fill_video_memory(ctx)? {
                    return Ok(found);
                }
            }
            crate::answer::skipped("the local budget does not stay")
        },
    ),
    check(
        "upload/uma-has-gpu-upload-heaps",
        "UPLOAD, How do we detect, integrated GPUs",
        &[Need::Uma, Need::GpuUploadHeapType],
        |ctx| {
            // Without developer mode the document has no device support them.
            require(ctx.caps().gpu_upload_heaps, || {
                "GPUUploadHeapSupported is FALSE on UMA, where the CPU sees all memory (is developer mode off?)"
                    .to_owned()
            })?;
            Ok("GPUUploadHeapSupported".to_owned())
        },
    ),
    check(
        "upload/falls-back-when-made-resident",
        "UPLOAD, Support for VRAM-only lockable surfaces",
        &[Need::GpuUploadHeaps, Need::Discrete, Need::Adapter],
        |ctx| {
            // Evicted, then made resident where video memory has no room left within the budget.
            let (size, step) = (64 * MIB, 256 * MIB);
            let (local, system) = (free(ctx, LOCAL)?, free(ctx, NON_LOCAL)?);
            if local > 64 * 1024 * MIB || system < 2 * size || local < 2 * step {
                return crate::answer::skipped("the budget cannot be exceeded with system memory to spare");
            }
            let heap = ctx.create_heap(&buffer_heap(GPU, size)).ok("64 MiB")?;
            let objects = [Some(
                heap.cast::<ID3D12Pageable>().or_else(|_| crate::answer::failed("no ID3D12Pageable"))?,
            )];
            ctx.evict(&objects).ok("a heap")?;
            let mut held = Vec::new();
            // As much as video memory gives, which is a little more than the budget.
            for _ in 0..local / step * 9 / 8 + 2 {
                match ctx.create_heap(&buffer_heap(D3D12_HEAP_TYPE_DEFAULT, step)).implemented()? {
                    Ok(heap) => held.push(heap),
                    Err(_) => break,
                }
            }
            ctx.make_resident(&objects).ok("CPU-visible memory, with video memory full")?;
            let part = ctx.place(&heap, 0, &buffer(64 * KIB)).ok("64 KiB")?;
            ctx.map(&part).ok("GPU_UPLOAD")?.write(0, &[1; 64]);
            Ok("resident, with video memory full".to_owned())
        },
    ),
    check("upload/charged-to-local", CAPS, &[Need::GpuUploadHeaps, Need::Adapter], |ctx| {
        charged(ctx, GPU, LOCAL)
    }),
    check("upload/default-charged-to-local", BUDGET, &[Need::Adapter], |ctx| {
        charged(ctx, D3D12_HEAP_TYPE_DEFAULT, LOCAL)
    }),
    check("upload/upload-charged-to-non-local", BUDGET, &[Need::Discrete, Need::Adapter], |ctx| {
        charged(ctx, D3D12_HEAP_TYPE_UPLOAD, NON_LOCAL)
    }),
    check("upload/readback-charged-to-non-local", BUDGET, &[Need::Discrete, Need::Adapter], |ctx| {
        charged(ctx, D3D12_HEAP_TYPE_READBACK, NON_LOCAL)
    }),
    check("upload/everything-is-local-on-uma", BUDGET, &[Need::Uma, Need::Adapter], |ctx| {
        for heap_type in [D3D12_HEAP_TYPE_DEFAULT, D3D12_HEAP_TYPE_UPLOAD, D3D12_HEAP_TYPE_READBACK] {
            charged(ctx, heap_type, LOCAL)?;
        }
        Ok("DEFAULT, UPLOAD and READBACK".to_owned())
    }),
    check("upload/non-local-is-empty-on-uma", BUDGET, &[Need::Uma, Need::Adapter], |ctx| {
        let info = info(ctx, NON_LOCAL)?;
        require_eq("Budget of the non-local segment group", info.Budget, 0)?;
        Ok("no budget".to_owned())
    }),
    check("upload/budget-is-there", BUDGET, &[Need::Adapter], |ctx| {
        let info = info(ctx, LOCAL)?;
        require(info.Budget > 0, || "Budget of the local segment group is 0".to_owned())?;
        Ok("there is a budget".to_owned())
    }),
    check("upload/unknown-segment-group-refused", BUDGET, &[Need::Adapter], |ctx| {
        ctx.answer("QueryVideoMemoryInfo", adapter::video_memory(ctx.adapter()?, 0, 2))
            .fails("segment group 2")?;
        ctx.answer("QueryVideoMemoryInfo", adapter::video_memory(ctx.adapter()?, 64, LOCAL))
            .fails("node 64")?;
        Ok("refused".to_owned())
    }),
    check(
        "upload/reservation-is-bounded",
        "DXGI, IDXGIAdapter3::SetVideoMemoryReservation",
        &[Need::Adapter],
        |ctx| {
            let before = info(ctx, LOCAL)?;
            let adapter = ctx.adapter()?;
            let reserve =
                |bytes| ctx.answer("SetVideoMemoryReservation", adapter::reserve(adapter, LOCAL, bytes));
            let some = before.AvailableForReservation / 2;
            reserve(some).ok("half of what is available")?;
            let during = info(ctx, LOCAL)?.CurrentReservation;
            reserve(before.CurrentReservation).ok("what was reserved before")?;
            require_eq("CurrentReservation", during, some)?;
            Ok("half of what is available".to_owned())
        },
    ),
    check(
        "upload/reservation-of-too-much-refused",
        "DXGI, IDXGIAdapter3::SetVideoMemoryReservation",
        &[Need::Adapter],
        |ctx| {
            let available = info(ctx, LOCAL)?.AvailableForReservation;
            let answer = adapter::reserve(ctx.adapter()?, LOCAL, available.saturating_add(MIB));
            ctx.answer("SetVideoMemoryReservation", answer).fails("more than is available")
        },
    ),
    check(
        "upload/over-budget-falls-back",
        "UPLOAD, How to find, over budget",
        &[Need::GpuUploadHeaps, Need::Discrete, Need::Adapter],
        |ctx| {
            // Over the local budget the memory may come from system memory, so the heap is made as long as there is some.
            let (local, system) = (free(ctx, LOCAL)?, free(ctx, NON_LOCAL)?);
            let step = 256 * MIB;
            if local > 64 * 1024 * MIB || system < 2 * step {
                return crate::answer::skipped("the budget cannot be exceeded with system memory to spare");
            }
            let mut held = Vec::new();
            for _ in 0..=local / step {
                held.push(ctx.create_heap(&buffer_heap(GPU, step)).ok("256 MiB over the local budget")?);
            }
            Ok("heaps of 256 MiB, more than the local budget".to_owned())
        },
    ),
    check(
        "upload/texture-maps-without-a-pointer",
        "UPLOAD, Detect modifications, opaque textures",
        &[Need::GpuUploadHeaps, Need::Textures],
        |ctx| {
            let texture = ctx.commit(GPU, &rgba(64, 64)).ok("64 by 64")?;
            ctx.answer("Map", memory::map_without_pointer(&texture, 0)).ok("without a pointer")?;
            memory::unmap(&texture, 0);
            ctx.answer("Map", memory::map_raw(&texture, 0, None))
                .refused("an opaque texture with a pointer")?;
            Ok("S_OK without a pointer, E_INVALIDARG with one".to_owned())
        },
    )
    .validates(),
    check(
        "upload/texture-by-write-to-subresource",
        "UPLOAD, Detect modifications, opaque textures",
        &[Need::GpuUploadHeaps, Need::Textures],
        |ctx| {
            let texture = ctx.commit(GPU, &rgba(16, 16)).ok("16 by 16")?;
            ctx.answer("Map", memory::map_without_pointer(&texture, 0)).ok("without a pointer")?;
            let bytes: Vec<u8> = (0..=255).cycle().take(16 * 16 * 4).collect();
            ctx.answer("WriteToSubresource", memory::write_to_subresource(&texture, 0, &bytes, 64))
                .ok("16 by 16")?;
            let read = memory::read_from_subresource(&texture, 0, bytes.len(), 64);
            require_eq("texels", ctx.answer("ReadFromSubresource", read).ok("16 by 16")?, bytes)?;
            memory::unmap(&texture, 0);
            Ok("1024 bytes written and read".to_owned())
        },
    ),
    check(
        "upload/render-target",
        "UPLOAD, Support GPU upload heaps",
        &[Need::GpuUploadHeaps, Need::Textures],
        |ctx| {
            let desc = with_flags(rgba(64, 64), D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET);
            ctx.commit(GPU, &desc).ok("a render target")?;
            Ok("taken".to_owned())
        },
    ),
    check("upload/simultaneous-access-buffer-refused", "D3D12, D3D12_RESOURCE_FLAGS", YES, |ctx| {
        let desc = with_flags(buffer(256), D3D12_RESOURCE_FLAG_ALLOW_SIMULTANEOUS_ACCESS);
        ctx.commit(GPU, &desc).refused("ALLOW_SIMULTANEOUS_ACCESS")?;
        Ok("E_INVALIDARG".to_owned())
    }),
    check("upload/write-tracking-refused", TRACKING, &[Need::GpuUploadHeaps, Need::NoWriteTracking], |ctx| {
        let flags = D3D12_HEAP_FLAG_TOOLS_USE_MANUAL_WRITE_TRACKING;
        refused(ctx, properties(GPU), flags, "TOOLS_USE_MANUAL_WRITE_TRACKING without a tool")
    }),
    check("upload/write-tracking-interface-is-absent", TRACKING, &[Need::NoWriteTracking], |ctx| {
        let resource = ctx.commit(D3D12_HEAP_TYPE_UPLOAD, &buffer(256)).ok("256 bytes")?;
        let tracking = resource.cast::<ID3D12ManualWriteTrackingResource>();
        require(tracking.is_err(), || "ID3D12ManualWriteTrackingResource answers without a tool".to_owned())?;
        Ok("E_NOINTERFACE".to_owned())
    }),
    check("upload/write-tracking-flag-needs-the-cap", TRACKING, &[Need::NoWriteTracking], |ctx| {
        let flags = D3D12_HEAP_FLAG_TOOLS_USE_MANUAL_WRITE_TRACKING;
        refused(
            ctx,
            properties(D3D12_HEAP_TYPE_UPLOAD),
            flags,
            "TOOLS_USE_MANUAL_WRITE_TRACKING without a tool",
        )
    })
    .validates(),
];

/// Refused for a heap and for a committed resource.
fn refused(ctx: &Context, home: D3D12_HEAP_PROPERTIES, flags: D3D12_HEAP_FLAGS, what: &str) -> Verdict {
    let desc = buffer_heap(0, 64 * KIB);
    ctx.create_heap(&D3D12_HEAP_DESC { Properties: home, Flags: desc.Flags | flags, ..desc })
        .refused(what)?;
    ctx.commit_with(&home, flags, &buffer(256)).refused(what)?;
    Ok("E_INVALIDARG for a heap and for a committed resource".to_owned())
}

/// Nearly all of the local budget, in heaps that the CPU sees; an eighth is left to whoever else has some. `None` where the
/// budget changed meanwhile.
fn fill_video_memory(ctx: &Context) -> Result<Option<String>, Stop> {
    let before = info(ctx, LOCAL)?;
    let free = before.Budget.saturating_sub(before.CurrentUsage);
    let step = (free / 64).max(64 * MIB) / MIB * MIB;
    let mut held = Vec::new();
    for _ in 0..(free / 8 * 7) / step {
        let heap = ctx.create_heap(&buffer_heap(GPU, step)).ok("a part of the local budget")?;
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
    require(taken >= wanted, || {
        format!("heaps of {wanted} bytes raise the usage of video memory by {taken}")
    })?;
    Ok(Some("seven eighths of the local budget, mapped".to_owned()))
}

fn info(ctx: &Context, group: DXGI_MEMORY_SEGMENT_GROUP) -> Result<DXGI_QUERY_VIDEO_MEMORY_INFO, Stop> {
    ctx.answer("QueryVideoMemoryInfo", adapter::video_memory(ctx.adapter()?, 0, group)).ok("node 0")
}

/// What this process uses of a segment group.
pub(super) fn usage(ctx: &Context, group: DXGI_MEMORY_SEGMENT_GROUP) -> Result<u64, Stop> {
    Ok(info(ctx, group)?.CurrentUsage)
}

/// What is left of a segment group's budget.
fn free(ctx: &Context, group: DXGI_MEMORY_SEGMENT_GROUP) -> Result<u64, Stop> {
    let info = info(ctx, group)?;
    Ok(info.Budget.saturating_sub(info.CurrentUsage))
}

/// A heap of 64 MiB raises the usage of `group` by that much, and gives it back.
fn charged(ctx: &Context, heap_type: D3D12_HEAP_TYPE, group: DXGI_MEMORY_SEGMENT_GROUP) -> Verdict {
    let size = 64 * MIB;
    if free(ctx, group)? < 2 * size {
        return crate::answer::skipped("less than 128 MiB of the budget are free");
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
    require(after <= during, || format!("usage rises by {} with the release", after - during))?;
    Ok("usage rises with a heap of 64 MiB, and does not with its release".to_owned())
}
