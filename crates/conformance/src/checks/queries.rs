//! Query heaps that the CPU resolves (SDK 1.619).

use heapwright_d3d12::sdk_619::*;
use heapwright_d3d12::trim::ID3D12Device15;
use heapwright_d3d12::*;

use crate::answer::{Stop, require, require_eq};
use crate::check::{Check, check, validation};
use crate::com::commands;
use crate::context::Context;
use crate::desc::DIRECT;

const QUERIES: &str = "DirectX-Specs, D3D12 CPU Timeline Query Resolution";

const TIMESTAMPS: D3D12_QUERY_HEAP_DESC =
    D3D12_QUERY_HEAP_DESC { Type: D3D12_QUERY_HEAP_TYPE_TIMESTAMP, Count: 4, NodeMask: 0 };

const CPU: D3D12_QUERY_HEAP_FLAGS = D3D12_QUERY_HEAP_FLAG_CPU_RESOLVE;

pub(super) const CHECKS: &[Check] = &[
    validation("queries/cpu-resolve-flags", QUERIES, &[], |ctx| {
        let device = newest(ctx)?;
        commands::create_query_heap1(&device, &TIMESTAMPS, D3D12_QUERY_HEAP_FLAG_NONE).taken("no flag")?;
        commands::create_query_heap1(&device, &TIMESTAMPS, CPU).taken("CPU_RESOLVE")?;
        commands::create_query_heap1(&device, &TIMESTAMPS, CPU | 0x40).refused("an undefined flag")
    }),
    validation("queries/cpu-resolve-needs-the-flag", QUERIES, &[], |ctx| {
        let device = newest(ctx)?;
        let heap = commands::create_query_heap1(&device, &TIMESTAMPS, D3D12_QUERY_HEAP_FLAG_NONE);
        let heap = heap.ok("a heap that commands resolve")?;
        commands::resolve_timestamps(&device, &heap, 0, 1).map(|_| ()).refused("a heap without CPU_RESOLVE")
    }),
    check("queries/cpu-resolve-of-timestamps", QUERIES, &[], |ctx| {
        let device = newest(ctx)?;
        let heap = commands::create_query_heap1(&device, &TIMESTAMPS, CPU).ok("CPU_RESOLVE")?;
        ctx.queue(DIRECT)?.run(|list| {
            list.end_timestamp(&heap, 1);
            list.end_timestamp(&heap, 2);
        })?;
        let found = commands::resolve_timestamps(&device, &heap, 1, 2).ok("two timestamps")?;
        require(found[0] != 0 && found[1] >= found[0], || format!("not a sequence of times: {found:?}"))
    }),
    check("queries/cpu-resolve-past-the-end-refused", QUERIES, &[], |ctx| {
        let device = newest(ctx)?;
        let heap = commands::create_query_heap1(&device, &TIMESTAMPS, CPU).ok("CPU_RESOLVE")?;
        let found = commands::resolve_timestamps(&device, &heap, 3, 2).implemented()?.is_ok();
        require_eq("the fifth of four timestamps is resolved", found, false)
    }),
];

/// Returns the interface that has the calls.
fn newest(ctx: &Context) -> Result<ID3D12Device15, Stop> {
    ctx.interface("ID3D12Device15")
}
