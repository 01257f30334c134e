//! Residency of heaps that queues use.

use std::sync::{LazyLock, mpsc};
use std::time::Instant;

use heapwright_core::Alignment;

use super::*;
use crate::ddi::umddi::D3D12DDI_HEAP_FLAG_NONE;
use crate::ddi::{DeviceArgs, MemoryPool};
use crate::drivers::address_owners::AddressOwners;
use crate::drivers::address_space::AddressSpace;
use crate::drivers::driver::Driver;
use crate::drivers::host::profile::{HostProfile, SegmentProfile};
use crate::drivers::segment::{Residence, Segments};
use crate::drivers::{KIB_64, host};
use crate::residency::{Call, PageableKind};

/// The drivers of a simulated GPU and of the first Vulkan device, if there is one.
fn drivers() -> impl Iterator<Item = Driver> {
    #[cfg(feature = "vulkan")]
    let vulkan = crate::drivers::vulkan::fault_tests::or_skip(crate::drivers::vulkan::driver(0));
    #[cfg(not(feature = "vulkan"))]
    let vulkan = None;
    [host::driver(HostProfile::default_profile())].into_iter().chain(vulkan)
}

/// Creates heaps of 64 KiB.
pub(in crate::drivers) fn heaps<const N: usize>(driver: &Driver) -> [Arc<DriverHeap>; N] {
    let device = driver.create_device(&DeviceArgs::default()).expect("no ranges to reserve");
    let args = HeapArgs {
        size: ByteSize::from_kib(64),
        alignment: KIB_64,
        cpu_page_property: CpuPageProperty::NotAvailable,
        memory_pool: MemoryPool::L0,
        flags: D3D12DDI_HEAP_FLAG_NONE,
        existing: None,
        zeroed: true,
        not_resident: false,
        pageable: PageableKind::Heap,
        create_at: None,
    };
    std::array::from_fn(|_| driver.create_heap(&device, &args).expect("64 KiB"))
}

fn run(work: Option<PagingWork>) {
    run_all(work);
}

fn run_all(works: impl IntoIterator<Item = PagingWork>) {
    PagingWork::run_all(works, Instant::now()).1.expect("the device works");
}

/// A list uses two heaps. The application evicts one and releases the other while the list is executed. Evicting waits
/// for the queue without the ledger's lock, which the queue takes to release the other heap.
#[test]
fn eviction_does_not_hold_the_ledger_while_it_waits_for_a_queue() {
    for driver in drivers() {
        let [released, evicted] = heaps(&driver);
        for heap in [&released, &evicted] {
            heap.begin_use(heap.gpu_virtual_address().get()).expect("resident");
        }
        let batch = driver.residency().begin(Call::Evict);
        let (sender, evict) = mpsc::channel();
        std::thread::scope(|scope| {
            let evicted = &evicted;
            scope.spawn(move || sender.send(evicted.evict()));
            let work = evict.recv_timeout(Duration::from_secs(10));
            if work.is_err() {
                // The thread must end for the test to fail.
                evicted.end_use();
            }
            let work = work.expect("evicting only counts while the batch lasts").expect("it is resident");
            batch.evicted(std::iter::once(evicted.record()));
            assert!(!evicted.has_arrived(), "accesses fault from now on");
            let queue = scope.spawn(|| {
                released.end_use();
                drop(released);
                evicted.end_use();
            });
            run(work);
            queue.join().expect("the queue's part ends");
        });
        assert!(evicted.residency().uses == 0);
        run(evicted.make_resident().expect("64 KiB"));
        assert!(evicted.has_arrived());
    }
}

/// A heap that becomes resident again before it is paged out stays.
#[test]
fn work_of_an_ended_eviction_does_nothing() {
    for driver in drivers() {
        let [heap] = heaps(&driver);
        let leave = heap.evict().expect("it is resident");
        let arrive = heap.make_resident().expect("64 KiB");
        run(leave);
        run(arrive);
        assert!(heap.has_arrived() && heap.residency().charge.is_some());
    }
}

/// The copies of several heaps are under way at once. One that becomes resident meanwhile returns when its own are
/// done, and is not taken away again.
#[test]
fn heaps_leave_together_and_one_returns_before_the_end() {
    for driver in drivers() {
        let heaps: [_; 3] = heaps(&driver);
        let mut works: Vec<_> =
            heaps.iter().map(|heap| heap.evict().expect("resident").expect("memory")).collect();
        PagingWork::begin_all(&mut works).expect("the device works");
        run(heaps[1].make_resident().expect("64 KiB"));
        run_all(works);
        for (heap, is_here) in heaps.iter().zip([false, true, false]) {
            assert_eq!(heap.has_arrived(), is_here);
            assert_eq!(heap.memory().is_charged(), is_here);
            assert_eq!(heap.residency().charge.is_some(), is_here);
        }
        run_all(heaps.iter().filter_map(|heap| heap.make_resident().expect("64 KiB")));
        assert!(heaps.iter().all(|heap| heap.has_arrived()));
    }
}

/// A failure is the error of every call that waits for it, and the next call pages in.
#[test]
fn paging_in_is_tried_again_after_a_failure() {
    for driver in drivers() {
        let [heap] = heaps(&driver);
        run(heap.evict().expect("it is resident"));
        let _fails = heap.make_resident().expect("64 KiB");
        let waits = heap.make_resident().expect("counted").expect("it is not paged in");
        let error = DriverError::OutOfDeviceMemory { requested: heap.size() };
        heap.residency().failure = Some(error);
        assert_eq!(PagingWork::run_all([waits], Instant::now()).1, Err(error));
        let again = heap.make_resident().expect("counted").expect("it is not paged in");
        assert_eq!(PagingWork::run_all([again], Instant::now()).1, Ok(()));
        assert!(heap.has_arrived());
        assert!(heap.make_resident().expect("counted").is_none());
    }
}

/// `MakeResident` counts with the ledger's lock, for which other calls wait: it does not wait for eviction of the same
/// heap, and allocates nothing.
#[test]
fn counting_waits_for_no_memory() {
    for driver in drivers() {
        let [heap] = heaps(&driver);
        run(heap.evict().expect("it is resident"));
        let (sender, counted) = mpsc::channel();
        std::thread::scope(|scope| {
            // As if it were being paged out.
            let memory = heap.memory();
            scope.spawn(|| sender.send(heap.make_resident()));
            let counted = counted.recv_timeout(Duration::from_secs(10));
            let has_memory = memory.is_charged();
            drop(memory);
            let work = counted.expect("it does not wait").expect("64 KiB");
            assert!(!has_memory);
            assert!(heap.residency().charge.is_some(), "usage that is compared with the budget");
            run(work);
        });
        assert!(heap.has_arrived() && heap.memory().is_charged());
    }
}

/// Creates a heap without memory, at least 2^36 bytes away from all others of this kind, for code that needs only
/// its address.
pub(crate) fn heap_apart() -> Arc<DriverHeap> {
    const DISTANCE: Alignment = crate::drivers::alignment(1 << 36);
    static SPACE: LazyLock<Arc<AddressSpace>> =
        LazyLock::new(|| Arc::new(AddressSpace::new(AddressOwners::new(62, 0), KIB_64)));
    let addresses = AddressRange::new(&SPACE, ByteSize::from_kib(64), DISTANCE, None);
    let addresses = addresses.expect("the address space has room for 2^26 of them");
    let segments = Arc::new(Segments::new(SegmentProfile::EMPTY, SegmentProfile::EMPTY));
    let account = Account { segments, residence: Residence::In(SegmentGroup::Local), size: ByteSize::ZERO };
    let args = HeapArgs {
        size: addresses.size(),
        alignment: DISTANCE,
        cpu_page_property: CpuPageProperty::NotAvailable,
        memory_pool: MemoryPool::L0,
        flags: D3D12DDI_HEAP_FLAG_NONE,
        existing: None,
        zeroed: true,
        not_resident: true,
        pageable: PageableKind::Heap,
        create_at: None,
    };
    let new = NewMemory { memory: Box::new(NoMemory), account, charge: None, paging_time: Duration::ZERO };
    DriverHeap::create(&args, addresses, new, &Arc::default())
}

/// The memory of a heap that has none.
struct NoMemory;

impl HeapMemory for NoMemory {
    fn usable(&self) -> Option<Usable> {
        None
    }

    fn is_charged(&self) -> bool {
        false
    }

    fn map(&self, _: u64, _: u64) -> Result<NonNull<u8>, DriverError> {
        Err(DriverError::NotCpuAccessible)
    }

    fn end_return(&mut self) -> Result<(), DriverError> {
        Ok(())
    }

    fn end_leaving(&mut self) -> Result<(), DriverError> {
        Ok(())
    }
}
