//! The cost of `ExecuteCommandLists` through the residency manager when everything is resident, compared with the queue
//! alone, on the host driver, in one run.
//!
//! The heaps of a list are in random order in memory. Managed heaps outside the list show that their number does not
//! matter. `list` is the cost of recording: adding the heaps to a list, and resetting it.
//!
//! Numbers as arguments are those of the heaps in the list that are measured:
//! `cargo bench -p heapwright --bench residency -- 10 100`.
#![allow(missing_docs, reason = "a bench")]
#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

use std::time::{Duration, Instant};

use heapwright::d3d12::*;
use heapwright::residency::PolicyKind;
use heapwright::residency::{
    ResidencyHeap, ResidencyHeapDesc, ResidencyList, ResidencyManager, ResidencyManagerDesc,
};
use heapwright_runtime::{HostProfile, Instance};

const HEAP_SIZE: u64 = 64 * 1024;

struct Bench {
    queue: ID3D12CommandQueue,
    lists: [Option<ID3D12CommandList>; 1],
    fence: ID3D12Fence,
    value: u64,
}

impl Bench {
    fn new(device: &ID3D12Device) -> Self {
        let list_type = D3D12_COMMAND_LIST_TYPE_DIRECT;
        // SAFETY: live COM objects and results of the interfaces that are asked for.
        unsafe {
            let queue = device.CreateCommandQueue(&D3D12_COMMAND_QUEUE_DESC::default()).expect("created");
            let allocator: ID3D12CommandAllocator =
                device.CreateCommandAllocator(list_type).expect("created");
            let list: ID3D12GraphicsCommandList =
                device.CreateCommandList(0, list_type, &allocator, None).expect("created");
            list.Close().ok().expect("closed");
            let fence = device.CreateFence(0, D3D12_FENCE_FLAG_NONE).expect("created");
            Self { queue, lists: [Some(list.into())], fence, value: 0 }
        }
    }

    fn drain(&mut self) {
        self.value += 1;
        // SAFETY: live COM objects; a null event blocks.
        unsafe {
            self.queue.Signal(&self.fence, self.value).ok().expect("signalled");
            self.fence.SetEventOnCompletion(self.value, HANDLE::default()).ok().expect("waited");
        }
    }

    /// Makes the same calls of D3D12 on the queue alone.
    fn alone(&mut self) {
        self.value += 1;
        // SAFETY: live COM objects.
        unsafe {
            self.queue.ExecuteCommandLists(&self.lists);
            self.queue.Signal(&self.fence, self.value).ok().expect("signalled");
        }
    }
}

fn heaps(gpu: &Instance, manager: &ResidencyManager, count: usize) -> Vec<ResidencyHeap> {
    let desc = D3D12_HEAP_DESC {
        SizeInBytes: HEAP_SIZE,
        Properties: D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_DEFAULT, ..Default::default() },
        Alignment: 0,
        Flags: D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS,
    };
    (0..count)
        .map(|_| {
            let mut heap: Option<ID3D12Heap> = None;
            // SAFETY: a live COM object, a description that outlives the call, and a result of the interface that is
            // asked for.
            unsafe { gpu.device.CreateHeap(&desc, &mut heap) }.expect("created");
            manager.manage(&ResidencyHeapDesc::default(), &heap.expect("created").into()).expect("managed")
        })
        .collect()
}

/// Returns the minimum time of one call, in nanoseconds, over some rounds, because other processes also use the
/// machine.
fn least(mut rounds: usize, calls: u32, mut call: impl FnMut(), mut between: impl FnMut()) -> f64 {
    let mut least = Duration::MAX;
    while rounds > 0 {
        let begin = Instant::now();
        for _ in 0..calls {
            call();
        }
        least = least.min(begin.elapsed());
        between();
        rounds -= 1;
    }
    least.as_secs_f64() * 1e9 / f64::from(calls)
}

fn main() {
    let counts: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    println!(
        "policy    in the list   managed   queue alone ns   manager ns   ns per heap   list ns per heap"
    );
    for policy in [PolicyKind::NextUse, PolicyKind::Lru] {
        for (count, managed) in [
            (10, 10),
            (100, 100),
            (1000, 1000),
            (10_000, 10_000),
            (10, 100_000),
            (1000, 100_000),
            (10_000, 100_000),
        ] {
            if !counts.is_empty() && !counts.contains(&count) {
                continue;
            }
            let gpu = Instance::open(HostProfile::default_profile()).expect("a fresh instance");
            let desc = ResidencyManagerDesc { policy, ..Default::default() };
            let manager = ResidencyManager::new(&gpu.device, Some(&gpu.adapter), desc).expect("sound");
            let mut heaps = heaps(&gpu, &manager, managed);
            // A random order: multiplication by an odd number is a permutation.
            let mut order: Vec<usize> = (0..managed).collect();
            order.sort_by_key(|&index| (index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let list = ResidencyList::new();
            let add = || {
                let mut open = list.open().expect("closed");
                open.reset();
                for &index in &order[..count] {
                    open.add(&heaps[index]).expect("of the manager");
                }
            };
            let calls = u32::try_from((200_000 / count).clamp(16, 64)).expect("few");
            let adding = least(40, calls, add, || {});
            add();
            let mut bench = Bench::new(&gpu.device);
            let queue = bench.queue.clone();
            let [commands] = bench.lists.clone().map(|list| list.expect("a list"));
            let manager_ns = least(
                60,
                calls,
                || {
                    // SAFETY: the lists are closed and use nothing.
                    unsafe { manager.execute_command_lists(&queue, &[(&commands, &list)]) }
                        .expect("executed");
                },
                || bench.drain(),
            );
            let mut alone = Bench::new(&gpu.device);
            let alone_ns = {
                let mut least_ns = f64::MAX;
                for _ in 0..60 {
                    let begin = Instant::now();
                    for _ in 0..calls {
                        alone.alone();
                    }
                    least_ns = least_ns.min(begin.elapsed().as_secs_f64() * 1e9 / f64::from(calls));
                    alone.drain();
                }
                least_ns
            };
            let per_heap = (manager_ns - alone_ns) / count as f64;
            println!(
                "{:9} {count:11} {managed:9} {alone_ns:16.0} {manager_ns:12.0} {per_heap:13.1} {:18.1}",
                policy.name(),
                adding / count as f64
            );
            heaps.clear();
        }
    }
}
