//! Traces of each kind of recording, replayed as GPGMM does.

use std::path::Path;

use heapwright::d3d12::*;
use heapwright::residency::{ResidencyList, ResidencyManager, ResidencyManagerDesc};
use heapwright::{
    ByteSize, ClearValue, EmptyHeapPolicy, HeapType, RecordFlags, RecordOptions, ResourceAllocation,
    ResourceAllocationDesc, ResourceAllocationFlags, ResourceAllocator, ResourceAllocatorDesc,
    ResourceAllocatorFlags, buffer_desc,
};
use heapwright_runtime::{HostProfile, Instance};
use windows_core::Interface as _;

use crate::player::play;

const PROFILES: [&str; 4] = ["discrete", "uma", "cache-coherent-uma", "heap-tier-1"];
const COMMON: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_COMMON;

/// A description with the defaults of the C++ API.
fn desc(record_options: RecordOptions) -> ResourceAllocatorDesc {
    ResourceAllocatorDesc {
        flags: ResourceAllocatorFlags::NEVER_TIGHT_ALIGNMENT,
        empty_heap_policy: EmptyHeapPolicy::SegmentedPool,
        record_options,
        ..Default::default()
    }
}

fn texture(size: u32, flags: D3D12_RESOURCE_FLAGS) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        Width: size.into(),
        Height: size,
        DepthOrArraySize: 1,
        MipLevels: 1,
        Format: DXGI_FORMAT_R8G8B8A8_UNORM,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        Flags: flags,
        ..Default::default()
    }
}

fn buffer(
    allocator: &ResourceAllocator,
    heap_type: HeapType,
    flags: ResourceAllocationFlags,
    size: u64,
) -> ResourceAllocation {
    let state = match heap_type {
        HeapType::Upload => D3D12_RESOURCE_STATE_GENERIC_READ,
        HeapType::Readback => D3D12_RESOURCE_STATE_COPY_DEST,
        _ => COMMON,
    };
    let asked = ResourceAllocationDesc { flags, ..ResourceAllocationDesc::new(heap_type) };
    allocator.create_resource(&asked, &buffer_desc(ByteSize::new(size)), state, None).expect("there is room")
}

/// Buffers and textures of each placement, with clear values, imported, mapped, named, refused, and freed.
fn use_allocator(allocator: &ResourceAllocator) -> Vec<ResourceAllocation> {
    let (none, own) = (ResourceAllocationFlags::empty(), ResourceAllocationFlags::NEVER_SUBALLOCATE_HEAP);
    let (committed, within) = (
        ResourceAllocationFlags::ALWAYS_COMMITTED,
        ResourceAllocationFlags::ALLOW_SUBALLOCATE_WITHIN_RESOURCE,
    );
    let mut made = Vec::new();
    for heap_type in [HeapType::Default, HeapType::Upload, HeapType::Readback] {
        for flags in [none, own, committed] {
            made.push(buffer(allocator, heap_type, flags, 300_000));
        }
    }
    made.push(buffer(allocator, HeapType::Upload, within, 100));
    let plain = D3D12_RESOURCE_FLAG_NONE;
    for (flags, clears) in [(D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET, true), (plain, false)] {
        let desc = texture(64, flags);
        let clear = ClearValue::Color { format: desc.Format, color: [0.5, 0.25, 0.0, 1.0] };
        for flags in [none, own, committed] {
            let asked = ResourceAllocationDesc { flags, ..ResourceAllocationDesc::new(HeapType::Default) };
            let texture = allocator.create_resource(&asked, &desc, COMMON, Some(clear).filter(|_| clears));
            made.push(texture.expect("there is room"));
        }
    }
    let resource = made[2].resource().clone();
    // SAFETY: nothing maps the resource.
    drop(unsafe { allocator.import(&ResourceAllocationDesc::default(), &resource) }.expect("imported"));
    drop(made[3].map().expect("mapped"));
    made[0].set_debug_name("a name").expect("named");
    for width in [0, 1 << 50] {
        let refused = D3D12_RESOURCE_DESC { Width: width, ..buffer_desc(ByteSize::new(1)) };
        allocator.create_resource(&Default::default(), &refused, COMMON, None).expect_err("refused");
    }
    allocator.end_frame();
    let _ = allocator.stats();
    drop(made.swap_remove(1));
    // Memory that was used is used again.
    made.push(buffer(allocator, HeapType::Default, none, 200_000));
    made
}

/// Records what a function does, on each GPU and with each selection of events that can be replayed, and replays it.
fn is_replayed(about: &str, expected: [usize; 2], record: impl Fn(&Instance, RecordOptions)) {
    let folder = tempfile::tempdir().expect("a folder");
    for profile in PROFILES {
        for flags in [RecordFlags::CAPTURE, RecordFlags::ALL] {
            let file = folder.path().join(format!("{about}-{profile}-{}.json", flags.bits()));
            let gpu = Instance::open(HostProfile::find(profile).expect("a profile"));
            let gpu = gpu.expect("a fresh instance");
            record(&gpu, RecordOptions { flags, trace_file: Some(file.clone()), ..Default::default() });
            let played = play(profile, Path::new(&file));
            assert_eq!([played.allocations, played.submitted], expected, "{about}, {profile}: {played:?}");
            assert!(played.heaps > 8, "{about}, {profile}: {played:?}");
        }
    }
}

/// Number of allocations of [`use_allocator`], without the imported one and those that were refused.
const MADE: usize = 17;

#[test]
fn an_allocator_alone() {
    is_replayed("alone", [MADE + 1, 0], |gpu, options| {
        let allocator = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), desc(options));
        let allocator = allocator.expect("an allocator");
        drop(use_allocator(&allocator));
        // The last handle of the allocator may go first.
        let made = buffer(&allocator, HeapType::Default, ResourceAllocationFlags::empty(), 1000);
        drop(allocator);
        drop(made);
    });
}

/// Those that are nested, and those without options of their own.
#[test]
fn several_allocators() {
    is_replayed("several", [3 * MADE, 0], |gpu, options| {
        let new = |options| ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), desc(options));
        let first = new(options).expect("an allocator");
        drop(use_allocator(&first));
        drop(use_allocator(&first.create_nested(desc(RecordOptions::default())).expect("an allocator")));
        drop(use_allocator(&new(RecordOptions::default()).expect("an allocator")));
    });
}

#[test]
fn a_manager_with_submissions() {
    is_replayed("managed", [MADE, 6], |gpu, options| {
        let manager = ResidencyManagerDesc { record_options: options.clone(), ..Default::default() };
        let manager = ResidencyManager::new(&gpu.device, Some(&gpu.adapter), manager).expect("a manager");
        let allocator =
            ResourceAllocator::with_residency(&gpu.device, Some(&gpu.adapter), desc(options), &manager);
        let allocator = allocator.expect("an allocator");
        let made = use_allocator(&allocator);
        let lists = [&made[0], &made[2]].map(|allocation| {
            let list = ResidencyList::new();
            list.add_allocation(allocation).expect("added");
            list
        });
        submit(gpu, &manager, &[&lists[0], &lists[1]]);
        submit(gpu, &manager, &[&lists[1]]);
        manager.prefetch(&lists[0]).expect("resident");
        lists[0].reset().expect("closed");
        lists[0].add_allocation(&made[1]).expect("added");
        submit(gpu, &manager, &[&lists[0], &lists[1]]);
        manager.evict_at_least(heapwright::SegmentGroup::Local, ByteSize::MAX);
    });
}

/// Executes an empty command list for each residency list, and waits for the GPU.
fn submit(gpu: &Instance, manager: &ResidencyManager, lists: &[&ResidencyList]) {
    let direct = D3D12_COMMAND_LIST_TYPE_DIRECT;
    // SAFETY: a live device, and closed lists that use nothing.
    unsafe {
        let queue: ID3D12CommandQueue =
            gpu.device.CreateCommandQueue(&D3D12_COMMAND_QUEUE_DESC::default()).expect("a queue");
        let recorded: Vec<ID3D12CommandList> = lists
            .iter()
            .map(|_| {
                let commands: ID3D12CommandAllocator =
                    gpu.device.CreateCommandAllocator(direct).expect("an allocator");
                let list: ID3D12GraphicsCommandList =
                    gpu.device.CreateCommandList(0, direct, &commands, None).expect("a list");
                list.Close().ok().expect("closed");
                list.cast().expect("a command list")
            })
            .collect();
        let pairs: Vec<_> = recorded.iter().zip(lists.iter().copied()).collect();
        let value = manager.execute_command_lists(&queue, &pairs).expect("executed");
        let fence = manager.queue_fence(&queue).expect("a fence");
        // Without an event, the call returns when the value is reached.
        fence.SetEventOnCompletion(value.get(), Default::default()).ok().expect("reached");
    }
}
