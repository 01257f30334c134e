//! Calls of well-known programs that Direct3D 12 leaves undefined, made on a simulated GPU that says so.
//!
//! ```text
//! cargo run -p heapwright-runtime --example findings
//! ```
//!
//! `docs/findings.md` says where the programs make them. An error means that a finding was not seen.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it tells what it finds")]

mod gpu;

use std::process::ExitCode;

use heapwright_core::ByteSize;
use heapwright_d3d12::*;
use heapwright_runtime::aliasing::AliasingTracking;
use heapwright_runtime::{HostProfile, SegmentGroup, SegmentProfile};
use windows_core::{HRESULT, Interface as _};

use self::gpu::{Gpu, Result, buffer, render_target, transition, with_bytes};

const SIZE: u64 = 128 << 10;

/// The name of a finding, and what makes the calls and returns what the runtime says.
type Finding = (&'static str, fn() -> Result<String>);

pub(crate) const FINDINGS: [Finding; 4] = [
    ("D3D12MA's test reads a buffer that nothing wrote", read_after_aliasing),
    ("GPGMM's queue does not wait for paging", no_wait_for_paging),
    ("D3DX12Residency adds the budgets of both segment groups", summed_budgets),
    ("wgpu's first use of a placed render target is a resolve", resolve_first),
];

fn main() -> ExitCode {
    for (name, run) in FINDINGS {
        match run() {
            Ok(said) => println!("{name}:\n  {}", said.replace('\n', "\n  ")),
            Err(error) => {
                eprintln!("error: {name}: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

/// A buffer is filled and released; another one at its place is read before anything wrote to it.
fn read_after_aliasing() -> Result<String> {
    let gpu = Gpu::open(HostProfile::default_profile(), AliasingTracking::SIMPLE)?;
    let (source, target) = (D3D12_RESOURCE_STATE_GENERIC_READ, D3D12_RESOURCE_STATE_COPY_DEST);
    let upload = gpu.committed(D3D12_HEAP_TYPE_UPLOAD, &buffer(SIZE), source)?;
    let readback = gpu.committed(D3D12_HEAP_TYPE_READBACK, &buffer(SIZE), target)?;
    with_bytes(&upload, |bytes| bytes.fill(1))?;
    let heap = gpu.heap(SIZE, D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS)?;
    let first = gpu.placed(&heap, &buffer(SIZE), target, "first")?;
    // SAFETY: the lists are open, and everything lives until `wait` returns.
    gpu.execute(|list| unsafe { list.CopyBufferRegion(&first, 0, &upload, 0, SIZE) })?;
    gpu.wait()?;
    drop(first);
    let second = gpu.placed(&heap, &buffer(SIZE), D3D12_RESOURCE_STATE_COPY_SOURCE, "second")?;
    // SAFETY: as above.
    gpu.execute(|list| unsafe { list.CopyBufferRegion(&readback, 0, &second, 0, SIZE) })?;
    gpu.wait()?;
    let read = with_bytes(&readback, |bytes| bytes[..4].to_vec())?;
    let said = gpu.violations().pop().ok_or("the read broke no rule")?;
    Ok(format!("{said}\nread: {read:x?}, neither zeros nor what the first buffer held"))
}

/// The paging of a heap signals a fence, for which the queue does not wait before it uses the heap.
fn no_wait_for_paging() -> Result<String> {
    // Paging takes an hour, so that the queue is first on any machine.
    let slow = HostProfile { paging_nanos_per_mib: 3_600_000_000_000, ..*HostProfile::default_profile() };
    let waits = |profile, waits: bool| -> Result<(Gpu, Option<HRESULT>)> {
        let gpu = Gpu::open(profile, AliasingTracking::ADVANCED)?;
        let evicted = D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS | D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT;
        let heap = gpu.heap(1 << 20, evicted)?;
        let target = gpu.placed(&heap, &buffer(SIZE), D3D12_RESOURCE_STATE_COPY_DEST, "target")?;
        let source = D3D12_RESOURCE_STATE_GENERIC_READ;
        let upload = gpu.committed(D3D12_HEAP_TYPE_UPLOAD, &buffer(SIZE), source)?;
        // SAFETY: the device is a live COM object.
        let paged: ID3D12Fence = unsafe { gpu.device.CreateFence(0, D3D12_FENCE_FLAG_NONE) }?;
        // SAFETY: all of them are live COM objects.
        unsafe {
            let heaps = [Some(heap.cast()?)];
            gpu.device.EnqueueMakeResident(D3D12_RESIDENCY_FLAG_NONE, &heaps, &paged, 1).ok()?;
            if waits {
                gpu.queue.Wait(&paged, 1).ok()?;
            }
        }
        // SAFETY: the list is open, and everything lives until `wait` returns.
        gpu.execute(|list| unsafe { list.CopyBufferRegion(&target, 0, &upload, 0, SIZE) })?;
        let reason = gpu.wait()?;
        Ok((gpu, reason))
    };
    if let (gpu, Some(reason)) = waits(HostProfile::default_profile(), true)? {
        let messages = gpu.instance.messages();
        return Err(format!("a queue that waits lost its device: {reason:?}, {messages:?}").into());
    }
    let (gpu, reason) = waits(&slow, false)?;
    if reason.is_none() {
        return Err("the queue used evicted memory unnoticed".into());
    }
    gpu.message_with("page fault").ok_or_else(|| "no message names the page fault".into())
}

/// An idle heap fills the local budget. By the sum of both budgets, another one fits beside it.
fn summed_budgets() -> Result<String> {
    const HEAP: ByteSize = ByteSize::from_mib(64);
    let small = HostProfile {
        local: SegmentProfile { capacity: ByteSize::from_mib(96), budget: HEAP },
        ..*HostProfile::default_profile()
    };
    let gpu = Gpu::open(&small, AliasingTracking::ADVANCED)?;
    let buffers = D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS;
    let idle = gpu.heap(HEAP.get(), buffers)?;
    let next = gpu.heap(HEAP.get(), buffers | D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT)?;
    let mut sums = [0; 2];
    for group in [DXGI_MEMORY_SEGMENT_GROUP_LOCAL, DXGI_MEMORY_SEGMENT_GROUP_NON_LOCAL] {
        let mut info = DXGI_QUERY_VIDEO_MEMORY_INFO::default();
        // SAFETY: the adapter is a live COM object, and the structure is writable.
        unsafe { gpu.instance.adapter.QueryVideoMemoryInfo(0, group, &mut info) }.ok()?;
        sums = [sums[0] + info.CurrentUsage, sums[1] + info.Budget];
    }
    let [usage, budget] = sums;
    if usage + HEAP.get() > budget {
        return Err("by the sum, the heap does not fit either".into());
    }
    // SAFETY: all of them are live COM objects.
    let enqueue = || unsafe {
        let paged: ID3D12Fence = gpu.device.CreateFence(0, D3D12_FENCE_FLAG_NONE)?;
        gpu.device.EnqueueMakeResident(D3D12_RESIDENCY_FLAG_NONE, &[Some(next.cast()?)], &paged, 1).ok()
    };
    let refused = enqueue().err().ok_or("the heap fits")?;
    let local = gpu.instance.current_usage(SegmentGroup::Local);
    // By the local budget alone, the idle heap is evicted first, and the call succeeds.
    gpu.instance.evict(&[Some(idle.cast()?)])?;
    enqueue().map_err(|error| format!("even without the idle heap: {error}"))?;
    gpu.wait()?;
    Ok(format!(
        "{HEAP} more fit by the sum ({} of {} used), so nothing is evicted; EnqueueMakeResident: {:?}, with {local} of {HEAP} used locally",
        ByteSize::new(usage),
        ByteSize::new(budget),
        refused.code()
    ))
}

/// A placed render target gets its first contents from a resolve.
fn resolve_first() -> Result<String> {
    let gpu = Gpu::open(HostProfile::default_profile(), AliasingTracking::ADVANCED)?;
    let from = D3D12_RESOURCE_STATE_RESOLVE_SOURCE;
    let samples = gpu.committed(D3D12_HEAP_TYPE_DEFAULT, &render_target(4), from)?;
    let heap = gpu.heap(64 << 10, D3D12_HEAP_FLAG_ALLOW_ONLY_RT_DS_TEXTURES)?;
    let state = D3D12_RESOURCE_STATE_RENDER_TARGET;
    let target = gpu.placed(&heap, &render_target(1), state, "resolve target")?;
    gpu.execute(|list| {
        transition(list, &target, state, D3D12_RESOURCE_STATE_RESOLVE_DEST);
        // SAFETY: the list is open, and both textures live until `wait` returns.
        unsafe { list.ResolveSubresource(&target, 0, &samples, 0, DXGI_FORMAT_R8G8B8A8_UNORM) };
    })?;
    gpu.wait()?;
    gpu.violations().pop().ok_or_else(|| "the resolve broke no rule".into())
}
