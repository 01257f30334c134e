//! Residency: `MakeResident`, `Evict` and their reference counts.

use std::time::{Duration, Instant};

use heapwright_d3d12::*;
use windows_core::Interface;

use crate::answer::{Verdict, each, ensure, require, require_eq};
use crate::check::{Check, Need, check};
use crate::com::{commands, object, views};
use crate::context::{Context, pageable};
use crate::desc::{DEFAULT, KIB, MIB, UPLOAD, buffer, buffer_heap};

const RESIDENCY: &str = "Learn, ID3D12Device::MakeResident and Evict";
const ENQUEUE: &str = "Learn, ID3D12Device3::EnqueueMakeResident";
const USAGE: &str = "Learn, IDXGIAdapter3::QueryVideoMemoryInfo, CurrentUsage";
const COUNTED_USAGE: &str = "Learn, ID3D12Device::MakeResident, reference counting; Learn, DXGI_QUERY_VIDEO_MEMORY_INFO, CurrentUsage";
const NOT_RESIDENT_USAGE: &str = "Learn, D3D12_HEAP_FLAGS, D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT; Learn, DXGI_QUERY_VIDEO_MEMORY_INFO, CurrentUsage";
const COUNTED: &str = "Learn, ID3D12Device::MakeResident, reference counting";
const NOT_RESIDENT: &str = "Learn, D3D12_HEAP_FLAGS, D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT";

pub(super) const CHECKS: &[Check] = &[
    check("residency/heap-round-trip", RESIDENCY, &[], |ctx| {
        let heap = ctx.create_heap(&buffer_heap(DEFAULT, MIB)).ok("1 MiB")?;
        round_trip(ctx, &heap)
    }),
    check("residency/committed-resource-round-trip", RESIDENCY, &[], |ctx| {
        let resource = ctx.commit(DEFAULT, &buffer(MIB)).ok("1 MiB")?;
        round_trip(ctx, &resource)
    }),
    check("residency/descriptor-heap-round-trip", "Learn, ID3D12Pageable, descriptor heaps", &[], |ctx| {
        let desc = D3D12_DESCRIPTOR_HEAP_DESC {
            Type: D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV,
            NumDescriptors: 64,
            Flags: D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE,
            NodeMask: 0,
        };
        let made = views::create_descriptor_heap(ctx.device(), &desc);
        round_trip(ctx, &made.ok("64 descriptors")?)
    }),
    check("residency/query-heap-round-trip", "Learn, ID3D12Pageable, query heaps", &[], |ctx| {
        let desc = D3D12_QUERY_HEAP_DESC { Type: D3D12_QUERY_HEAP_TYPE_TIMESTAMP, Count: 16, NodeMask: 0 };
        let made = commands::create_query_heap(ctx.device(), &desc);
        round_trip(ctx, &made.ok("16 timestamps")?)
    }),
    check("residency/several-at-once", RESIDENCY, &[], |ctx| {
        let mut objects = Vec::new();
        for _ in 0..8 {
            objects.extend(pageable(&ctx.create_heap(&buffer_heap(DEFAULT, 64 * KIB)).ok("64 KiB")?)?);
        }
        ctx.evict(&objects).ok("8 heaps")?;
        ctx.make_resident(&objects).taken("8 heaps")
    }),
    check("residency/counts-nest", COUNTED, &[], |ctx| {
        let one = pageable(&ctx.create_heap(&buffer_heap(DEFAULT, MIB)).ok("1 MiB")?)?;
        for _ in 0..4 {
            ctx.make_resident(&one).ok("again")?;
        }
        for _ in 0..5 {
            ctx.evict(&one).ok("one reference for each MakeResident")?;
        }
        ctx.make_resident(&one).taken("an object without references")
    }),
    check("residency/the-same-object-twice", COUNTED, &[], |ctx| {
        let [heap] = pageable(&ctx.create_heap(&buffer_heap(DEFAULT, MIB)).ok("1 MiB")?)?;
        let twice = [heap.clone(), heap];
        ctx.make_resident(&twice).ok("one object twice")?;
        ctx.evict(&twice).taken("one object twice")
    }),
    check("residency/bytes-stay", RESIDENCY, &[], |ctx| {
        let heap = ctx.create_heap(&buffer_heap(UPLOAD, 64 * KIB)).ok("64 KiB")?;
        let resource = ctx.place(&heap, 0, &buffer(64 * KIB)).ok("the whole heap")?;
        ctx.map(&resource).ok("a mapping to write")?.write(1000, b"paged");
        let one = pageable(&heap)?;
        ctx.evict(&one).ok("a heap")?;
        ctx.make_resident(&one).ok("a heap")?;
        require_eq("bytes", ctx.map(&resource).ok("a mapping to read")?.read(1000, 5), b"paged".to_vec())
    }),
    check("residency/made-not-resident", NOT_RESIDENT, &[], |ctx| {
        ctx.interface::<ID3D12Device8>("ID3D12Device8, which came with the flag")?;
        let desc = buffer_heap(DEFAULT, MIB);
        let desc = D3D12_HEAP_DESC { Flags: desc.Flags | D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT, ..desc };
        let one = pageable(&ctx.create_heap(&desc).ok("1 MiB")?)?;
        ctx.make_resident(&one).ok("for the first time")?;
        ctx.evict(&one).taken("once")
    }),
    check("residency/evicted-memory-is-not-counted", USAGE, &[Need::Adapter], |ctx| {
        let usage = || super::upload::usage(ctx, DXGI_MEMORY_SEGMENT_GROUP_LOCAL);
        let heap = ctx.create_heap(&buffer_heap(DEFAULT, 64 * MIB)).ok("64 MiB")?;
        let one = pageable(&heap)?;
        let resident = usage()?;
        ctx.evict(&one).ok("a heap")?;
        let evicted = usage()?;
        // The memory may be taken away later, but never grow.
        ensure!(evicted <= resident, "usage rises by {} with Evict", evicted - resident);
        ctx.make_resident(&one).ok("a heap")?;
        let again = usage()?;
        ensure!(again >= evicted, "usage falls by {} with MakeResident", evicted - again);
        Ok("usage does not rise with Evict and does not fall with MakeResident".to_owned())
    }),
    check("residency/usage-follows", USAGE, &[Need::Adapter], |ctx| {
        // Less than the heap: other programs come and go.
        let (size, some) = (256 * MIB, 128 * MIB);
        let usage = || super::upload::usage(ctx, DXGI_MEMORY_SEGMENT_GROUP_LOCAL);
        // Systems page on threads of their own, so the figure is asked until it moves.
        let until = |what: &str, is_so: &dyn Fn(u64) -> bool| {
            let mut found = usage()?;
            let start = Instant::now();
            while !is_so(found) && start.elapsed() < commands::PATIENCE {
                std::thread::sleep(Duration::from_millis(1));
                found = usage()?;
            }
            require(is_so(found), || format!("CurrentUsage does not {what}"))?;
            Ok(found)
        };
        let before = usage()?;
        let heap = ctx.create_heap(&buffer_heap(DEFAULT, size)).ok("256 MiB")?;
        let one = pageable(&heap)?;
        let created = until("rise with a heap of 256 MiB", &|now| now >= before + some)?;
        ctx.evict(&one).ok("a heap")?;
        let evicted = until("fall with Evict", &|now| now + some <= created)?;
        ctx.make_resident(&one).ok("a heap")?;
        until("rise with MakeResident", &|now| now >= evicted + some)?;
        Ok("CurrentUsage rises, falls with Evict and rises with MakeResident".to_owned())
    }),
    check("residency/one-of-two-evicts-changes-nothing", COUNTED_USAGE, &[Need::Adapter], |ctx| {
        let usage = || super::upload::usage(ctx, DXGI_MEMORY_SEGMENT_GROUP_LOCAL);
        let heap = ctx.create_heap(&buffer_heap(DEFAULT, 64 * MIB)).ok("64 MiB")?;
        let one = pageable(&heap)?;
        ctx.make_resident(&one).ok("an object that is resident")?;
        let twice = usage()?;
        ctx.evict(&one).ok("one of two references")?;
        let once = usage()?;
        ensure!(once >= twice, "usage falls by {} although one reference is left", twice - once);
        ctx.evict(&one).ok("the last reference")?;
        let evicted = usage()?;
        ensure!(evicted <= once, "usage rises by {} with Evict", evicted - once);
        Ok("usage falls with the last reference".to_owned())
    }),
    check("residency/not-resident-takes-no-memory", NOT_RESIDENT_USAGE, &[Need::Adapter], |ctx| {
        ctx.interface::<ID3D12Device8>("ID3D12Device8, which came with the flag")?;
        let usage = || super::upload::usage(ctx, DXGI_MEMORY_SEGMENT_GROUP_LOCAL);
        let desc = buffer_heap(DEFAULT, 64 * MIB);
        let desc = D3D12_HEAP_DESC { Flags: desc.Flags | D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT, ..desc };
        let before = usage()?;
        let heap = ctx.create_heap(&desc).ok("64 MiB")?;
        let created = usage()?;
        // Less than the heap: the system may need a little for itself.
        require(created < before + 64 * MIB, || {
            format!("usage rises by {} with a heap that is not resident", created - before)
        })?;
        ctx.make_resident(&pageable(&heap)?).ok("for the first time")?;
        let resident = usage()?;
        ensure!(resident >= created, "usage falls by {} with MakeResident", created - resident);
        Ok("usage rises when it becomes resident".to_owned())
    }),
    check("residency/enqueued", ENQUEUE, &[], |ctx| enqueue(ctx, D3D12_RESIDENCY_FLAG_NONE)),
    check("residency/enqueued-deny-overbudget", ENQUEUE, &[], |ctx| {
        enqueue(ctx, D3D12_RESIDENCY_FLAG_DENY_OVERBUDGET)
    }),
    check("residency/priority", "Learn, ID3D12Device1::SetResidencyPriority", &[], |ctx| {
        let newer: ID3D12Device1 = ctx.interface("ID3D12Device1")?;
        let heap = pageable(&ctx.create_heap(&buffer_heap(DEFAULT, MIB)).ok("1 MiB")?)?;
        each(
            [
                D3D12_RESIDENCY_PRIORITY_MINIMUM,
                D3D12_RESIDENCY_PRIORITY_LOW,
                D3D12_RESIDENCY_PRIORITY_NORMAL,
                D3D12_RESIDENCY_PRIORITY_HIGH,
                D3D12_RESIDENCY_PRIORITY_MAXIMUM,
            ],
            |priority| {
                object::set_residency_priority(&newer, &heap, &[priority])
                    .ok(format!("priority {priority:#x}"))
            },
        )
    }),
];

fn round_trip<I: Interface>(ctx: &Context, object: &I) -> Verdict {
    let one = pageable(object)?;
    ctx.make_resident(&one).ok("an object that is resident")?;
    ctx.evict(&one).ok("one of two references")?;
    ctx.evict(&one).ok("the last reference")?;
    ctx.make_resident(&one).taken("an evicted object")
}

fn enqueue(ctx: &Context, flags: D3D12_RESIDENCY_FLAGS) -> Verdict {
    let newer: ID3D12Device3 = ctx.interface("ID3D12Device3")?;
    let one = pageable(&ctx.create_heap(&buffer_heap(DEFAULT, MIB)).ok("1 MiB")?)?;
    let fence = ctx.create_fence(0).ok("value 0")?;
    ctx.evict(&one).ok("a heap")?;
    object::enqueue_make_resident(&newer, flags, &one, &fence, 9).ok("a heap")?;
    require(commands::wait_until(&fence, 9, commands::PATIENCE), || {
        format!("the fence does not reach 9: completed value {}", commands::completed(&fence))
    })
}
