//! Recordings: replayed exactly, under other settings, and by the environment variable.

use std::fs::File;
use std::path::Path;

use heapwright::d3d12::*;
use heapwright::{
    ByteSize, EmptyHeapPolicy, HeapType, RecordFlags, RecordOptions, ResourceAllocation,
    ResourceAllocationDesc, ResourceAllocationFlags, ResourceAllocator, ResourceAllocatorDesc,
    ResourceAllocatorFlags, SuballocationAlgorithm, buffer_desc,
};
use heapwright_runtime::{HostProfile, Instance};
use heapwright_trace::RecordReader;
use heapwright_trace::session::Action;

use crate::support::{Folder, Outcome, command};

/// Deterministic pseudo-random numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

fn texture(numbers: &mut Numbers) -> D3D12_RESOURCE_DESC {
    let kinds = [
        (D3D12_RESOURCE_FLAG_NONE, 1),
        (D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET, 1),
        (D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET, 4),
    ];
    let (flags, samples) = kinds[usize::try_from(numbers.below(3)).unwrap()];
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        Width: 1 + numbers.below(600),
        Height: u32::try_from(1 + numbers.below(600)).unwrap(),
        DepthOrArraySize: 1,
        MipLevels: 1,
        Format: DXGI_FORMAT_R8G8B8A8_UNORM,
        SampleDesc: DXGI_SAMPLE_DESC { Count: samples, Quality: 0 },
        Flags: flags,
        ..Default::default()
    }
}

/// Makes an allocation of any placement.
fn any_allocation(allocator: &ResourceAllocator, numbers: &mut Numbers) -> ResourceAllocation {
    let size = match numbers.below(4) {
        0 => 1 + numbers.below(2000),
        1 => 1 + numbers.below(200_000),
        2 => 1 + numbers.below(3 << 20),
        _ => 1 + numbers.below(12 << 20),
    };
    let (heap_type, state) = match numbers.below(5) {
        0 => (HeapType::Upload, D3D12_RESOURCE_STATE_GENERIC_READ),
        1 => (HeapType::Readback, D3D12_RESOURCE_STATE_COPY_DEST),
        _ => (HeapType::Default, D3D12_RESOURCE_STATE_COMMON),
    };
    let (flags, desc) = match numbers.below(12) {
        0 => (ResourceAllocationFlags::ALWAYS_COMMITTED, buffer_desc(ByteSize::new(size))),
        1 => (ResourceAllocationFlags::NEVER_SUBALLOCATE_HEAP, buffer_desc(ByteSize::new(size))),
        2 | 3 => {
            let flags = ResourceAllocationFlags::ALLOW_SUBALLOCATE_WITHIN_RESOURCE;
            (flags, buffer_desc(ByteSize::new(1 + size % 3000)))
        }
        4 | 5 if heap_type == HeapType::Default => (ResourceAllocationFlags::empty(), texture(numbers)),
        _ => (ResourceAllocationFlags::empty(), buffer_desc(ByteSize::new(size))),
    };
    let allocation = ResourceAllocationDesc { flags, ..ResourceAllocationDesc::new(heap_type) };
    allocator.create_resource(&allocation, &desc, state, None).unwrap()
}

/// Records a program with two allocators.
fn record(file: &Path, desc: &ResourceAllocatorDesc, seed: u64) {
    let gpu = Instance::open(HostProfile::default_profile()).unwrap();
    let record_options =
        RecordOptions { flags: RecordFlags::ALL, trace_file: Some(file.to_owned()), ..Default::default() };
    let allocators = [desc.clone(), ResourceAllocatorDesc::default()].map(|desc| {
        let desc = ResourceAllocatorDesc { record_options: record_options.clone(), ..desc };
        ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), desc).unwrap()
    });
    let mut numbers = Numbers(seed);
    let mut live = Vec::new();
    for step in 0..1500_u64 {
        let of = usize::from(numbers.below(8) == 0);
        // The live set grows and shrinks, so that heaps become empty.
        let is_shrinking = (step / 200) % 2 == 1;
        if numbers.below(10) < if is_shrinking { 3 } else { 7 } || live.is_empty() {
            live.push(any_allocation(&allocators[of], &mut numbers));
        } else {
            let place = usize::try_from(numbers.below(live.len() as u64)).unwrap();
            drop(live.swap_remove(place));
        }
        if seed % 2 == 0 && step % 7 == 0 {
            allocators[of].on_frame();
        }
        if step == 1000 {
            allocators[0].release_resource_heaps(ByteSize::from_mib(8));
        }
    }
}

/// What must be identical: sizes, heaps and offsets, in order.
fn memory_actions(file: &Path) -> Vec<Action> {
    let records = RecordReader::new(file, File::open(file).unwrap()).unwrap();
    let actions = records.map(|record| record.unwrap().action).filter(|action| {
        matches!(
            action,
            Action::Allocate(_)
                | Action::Free { .. }
                | Action::Describe(_)
                | Action::CreateHeap(_)
                | Action::DestroyHeap { .. }
                | Action::Place { .. }
                | Action::SetOption { .. }
        )
    });
    actions.collect()
}

fn run(command: &mut std::process::Command) -> Outcome {
    Outcome::from_output(command.output().unwrap())
}

#[test]
fn a_replay_as_captured_is_identical() {
    let usual = ResourceAllocatorDesc::default;
    let descs = [
        usual(),
        usual(),
        ResourceAllocatorDesc { empty_heap_policy: EmptyHeapPolicy::LeastMemory, ..usual() },
        ResourceAllocatorDesc { suballocation_algorithm: SuballocationAlgorithm::Slab, ..usual() },
        ResourceAllocatorDesc { suballocation_algorithm: SuballocationAlgorithm::BuddySystem, ..usual() },
        ResourceAllocatorDesc { suballocation_algorithm: SuballocationAlgorithm::Dedicated, ..usual() },
        ResourceAllocatorDesc {
            flags: ResourceAllocatorFlags::NEVER_TIGHT_ALIGNMENT,
            preferred_heap_size: Some(ByteSize::from_mib(1)),
            ..usual()
        },
    ];
    let folder = Folder::new();
    for (seed, desc) in (1..).zip(&descs) {
        let file = folder.path().join(format!("{seed}.hws"));
        record(&file, desc, seed);
        let again = folder.path().join(format!("{seed}-again.hws"));
        let mut replay = command();
        replay.args(["replay", "--profile", "captured"]).arg(&file).env("HEAPWRIGHT_RECORD", &again);
        run(&mut replay).ok();
        let (mut first, mut second) = (memory_actions(&file), memory_actions(&again));
        // After the last free, the allocators themselves are dropped.
        let is_free = |action: &Action| matches!(action, Action::Free { .. });
        first.truncate(first.iter().rposition(is_free).unwrap());
        second.truncate(first.len());
        // Ids are numbers in the order of creation, which both have in common.
        for (index, (first, second)) in first.iter().zip(&second).enumerate() {
            assert_eq!(first, second, "seed {seed}, action {index}");
        }
        assert!(first.len() == second.len() && first.len() > 3000, "seed {seed}: {}", first.len());
    }
}
