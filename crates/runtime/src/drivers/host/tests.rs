//! Tests of the simulated GPU without COM objects.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use heapwright_core::GpuVirtualAddress;

use super::profile::SegmentProfile;
use super::*;
use crate::ddi::DeviceArgs;
use crate::ddi::umddi::{D3D12DDI_HEAP_FLAG_0115_IMPLICIT, D3D12DDI_HEAP_FLAG_NONE};
use crate::drivers::driver::DriverDevice;
use crate::drivers::heap::DriverHeap;
use crate::drivers::paging_work::PagingWork;
use crate::residency::PageableKind;

/// Creates a GPU whose addresses begin at the lowest one.
pub(in crate::drivers) fn driver(profile: &str) -> Driver {
    let profile = HostProfile::find(profile).expect("a profile of that name");
    super::driver(&HostProfile { address_seed: Some(0), ..*profile })
}

/// Creation of heaps on a device without reservations.
pub(in crate::drivers) trait MakeHeap {
    fn make_heap(&self, args: &HeapArgs) -> Result<Arc<DriverHeap>, DriverError>;
}

impl MakeHeap for Driver {
    fn make_heap(&self, args: &HeapArgs) -> Result<Arc<DriverHeap>, DriverError> {
        let device = self.create_device(&DeviceArgs::default()).expect("no ranges to reserve");
        self.create_heap(&device, args)
    }
}

fn args(size: ByteSize, memory_pool: MemoryPool, cpu_page_property: CpuPageProperty) -> HeapArgs {
    HeapArgs {
        size,
        alignment: KIB_64,
        cpu_page_property,
        memory_pool,
        flags: D3D12DDI_HEAP_FLAG_NONE,
        existing: None,
        zeroed: true,
        not_resident: false,
        pageable: PageableKind::Heap,
        create_at: None,
    }
}

pub(in crate::drivers) fn video(size: ByteSize) -> HeapArgs {
    args(size, MemoryPool::L1, CpuPageProperty::NotAvailable)
}

pub(super) fn usage(driver: &Driver) -> (u64, u64) {
    let of = |group| driver.video_memory(group).current_usage.get();
    (of(SegmentGroup::Local), of(SegmentGroup::NonLocal))
}

#[test]
fn profiles_are_valid_and_have_unique_names() {
    for (index, profile) in HostProfile::all().iter().enumerate() {
        assert_eq!(HostProfile::find(profile.name), Some(profile), "names are unique");
        assert!(profile.local.budget <= profile.local.capacity);
        assert!(profile.non_local.budget <= profile.non_local.capacity);
        assert!((33..=62).contains(&profile.gpu_va_bits_per_process));
        assert!(profile.gpu_va_bits_per_resource <= profile.gpu_va_bits_per_process);
        assert!((1..=2).contains(&profile.resource_heap_tier));
        assert!(profile.tiled_resources_tier <= 4);
        if profile.architecture.is_uma() {
            assert!(profile.l1_memory_fully_cpu_accessible, "always true on integrated GPUs");
            assert_eq!(profile.non_local.capacity, ByteSize::ZERO);
        }
        if let Some(alignment) = profile.tight_buffer_alignment {
            assert!((8..=256).contains(&alignment.get()), "document TIGHT's bounds");
            assert!(profile.ddi_version >= 111, "the DDI that has the cap");
        }
        let driver = super::driver(profile);
        let other = super::driver(profile);
        assert_ne!(driver.identity().luid, other.identity().luid, "profile {index}");
    }
}

/// Rules depend on these properties, so every value must be available for tests.
#[test]
fn profiles_cover_all_tiled_resources_tiers_and_swizzle_caps() {
    let with = |wanted: &dyn Fn(&HostProfile) -> bool| HostProfile::all().iter().any(wanted);
    for tier in 1..=4 {
        assert!(with(&|profile| profile.tiled_resources_tier == tier), "tier {tier}");
    }
    let default = HostProfile::default_profile();
    assert_eq!((default.tiled_resources_tier, default.has_standard_swizzle), (3, false));
    for profile in HostProfile::all() {
        assert_eq!(profile.has_standard_swizzle, profile.architecture.is_uma(), "{}", profile.name);
    }
}

#[test]
fn heaps_are_charged_in_64_kib_and_implicit_ones_in_4_kib() {
    let driver = driver("discrete");
    let heap = driver.make_heap(&video(ByteSize::new(1))).expect("the request fits");
    assert_eq!(usage(&driver).0, 64 * 1024);
    drop(heap);
    let implicit = HeapArgs { flags: D3D12DDI_HEAP_FLAG_0115_IMPLICIT, ..video(ByteSize::new(1)) };
    let _heap = driver.make_heap(&implicit).expect("the request fits");
    assert_eq!(usage(&driver).0, 4 * 1024);
}

#[test]
fn failed_allocations_charge_nothing() {
    let driver = driver("discrete-2gib");
    let held = driver.make_heap(&video(ByteSize::from_mib(1500))).expect("the request fits");
    let error = driver.make_heap(&video(ByteSize::from_mib(1500))).err();
    let capacity = ByteSize::from_gib(2);
    let (requested, usage_now) = (ByteSize::from_mib(1500), ByteSize::from_mib(1500));
    assert_eq!(error, Some(DriverError::OutOfMemory { requested, usage: usage_now, capacity }));
    for size in [u64::MAX, u64::MAX - 70_000, 1 << 50] {
        assert!(driver.make_heap(&video(ByteSize::new(size))).is_err());
    }
    assert_eq!(usage(&driver).0, usage_now.get());
    drop(held);
    assert_eq!(usage(&driver), (0, 0));
    let whole = driver.make_heap(&video(capacity)).expect("the whole capacity fits");
    drop(whole);
}

/// The same for memory that becomes resident after it was evicted or created not resident; and back, once there is
/// room.
#[test]
fn gpu_upload_heaps_fall_back_to_system_memory_when_made_resident() {
    let driver = driver("discrete");
    let gib = 1 << 30;
    for page in [CpuPageProperty::WriteCombine, CpuPageProperty::NotAvailable] {
        let desc = args(ByteSize::from_gib(1), MemoryPool::L1, page);
        let heap = driver.make_heap(&desc).expect("within budget");
        let absent = driver
            .make_heap(&HeapArgs { not_resident: true, ..desc })
            .expect("a heap that is not resident uses no memory");
        assert_eq!(usage(&driver), (gib, 0));
        evict(&heap);
        let full = driver.make_heap(&video(ByteSize::from_gib(16))).expect("all of video memory");
        if page == CpuPageProperty::NotAvailable {
            // There is no fallback without CPU access.
            assert!(heap.make_resident().is_err() && absent.make_resident().is_err());
            assert_eq!(usage(&driver), (16 * gib, 0));
            continue;
        }
        for heap in [&heap, &absent] {
            assert!(heap.make_resident().is_ok(), "in system memory");
            assert_eq!(heap.segment_group(), SegmentGroup::NonLocal);
        }
        assert_eq!(usage(&driver), (16 * gib, 2 * gib));
        evict(&heap);
        drop(full);
        assert_eq!(usage(&driver), (0, gib));
        assert!(heap.make_resident().is_ok());
        assert_eq!((usage(&driver), heap.segment_group()), ((gib, gib), SegmentGroup::Local));
    }
}

/// If system memory is full, video memory above the budget is used.
#[test]
fn memory_without_a_system_memory_fallback_stays_in_video_memory() {
    let none = SegmentProfile::EMPTY;
    let driver = super::driver(&HostProfile { non_local: none, ..*HostProfile::default_profile() });
    let gpu_upload = |gib| args(ByteSize::from_gib(gib), MemoryPool::L1, CpuPageProperty::WriteCombine);
    let heap = driver.make_heap(&gpu_upload(16)).expect("above the budget, within the capacity");
    assert_eq!(heap.segment_group(), SegmentGroup::Local);
    let error = driver.make_heap(&gpu_upload(1)).err();
    assert!(matches!(error, Some(DriverError::OutOfMemory { .. })), "{error:?}");
}

/// Caps and the DDI versions that introduced them (tight alignment and GPU upload heaps specifications).
#[test]
fn caps_begin_with_their_ddi_versions() {
    let caps =
        |ddi_version, profile: &HostProfile| *super::driver(&HostProfile { ddi_version, ..*profile }).caps();
    let discrete = HostProfile::default_profile();
    let has =
        |caps: &DriverCaps| [caps.has_gpu_upload_heaps(), caps.has_tight_alignment(), caps.has_recreate_at()];
    for (version, expected) in [
        (88, [false; 3]),
        (97, [false; 3]),
        (98, [true, false, false]),
        (110, [true, false, false]),
        (111, [true; 3]),
        (115, [true; 3]),
    ] {
        assert_eq!(has(&caps(version, discrete)), expected, "DDI {version}");
    }
    let user = super::driver(&HostProfile { developer_mode: false, ..*discrete });
    assert_eq!(has(user.caps()), [false, true, false]);
    // The CPU sees all of an integrated GPU's memory.
    for name in ["uma", "cache-coherent-uma"] {
        let uma = HostProfile::find(name).expect("a profile of that name");
        let hidden = HostProfile { l1_memory_fully_cpu_accessible: false, ..*uma };
        assert!(caps(98, &hidden).has_gpu_upload_heaps());
    }
}

/// Tight alignment specification, *Committed Resources*: 4 KiB start with tight alignment, DDI 0111, not with the flag
/// of 0115.
#[test]
fn committed_resources_are_charged_in_4_kib_from_the_ddi_of_tight_alignment_on() {
    for (ddi_version, tight, implicit) in
        [(88, 64, 64), (110, 64, 64), (111, 4, 64), (114, 4, 64), (115, 4, 4)]
    {
        let driver = super::driver(&HostProfile { ddi_version, ..*HostProfile::default_profile() });
        let small = HeapArgs { alignment: KIB_4, ..video(ByteSize::new(100)) };
        let heap = driver.make_heap(&small).expect("the request fits");
        assert_eq!(usage(&driver).0, tight * 1024, "DDI {ddi_version}");
        drop(heap);
        let marked = HeapArgs { flags: D3D12DDI_HEAP_FLAG_0115_IMPLICIT, ..video(ByteSize::new(100)) };
        let _heap = driver.make_heap(&marked).expect("the request fits");
        assert_eq!(usage(&driver).0, implicit * 1024, "DDI {ddi_version}");
    }
}

pub(super) fn addresses(start: u64, size: u64) -> GpuVirtualAddressRange {
    let start = GpuVirtualAddress::new(start).expect("not zero");
    GpuVirtualAddressRange { start, size: ByteSize::new(size) }
}

pub(super) fn device(
    driver: &Driver,
    reserve_ranges: &[GpuVirtualAddressRange],
) -> Result<DriverDevice, DriverError> {
    driver.create_device(&DeviceArgs::new(reserve_ranges))
}

/// The address of the first heap of a new GPU with seed 0.
pub(super) const FIRST: u64 = 1 << 32;

#[test]
fn empty_ranges_reserve_no_addresses_and_a_whole_space_can_be_reserved() {
    let driver = driver("discrete");
    let end = 1_u64 << driver.caps().gpu_va_bits_per_process;
    let empty = [addresses(FIRST, 0), addresses(1, 0), addresses(end, 0), addresses(u64::MAX, 0)];
    let reserved = device(&driver, &empty).expect("the ranges are empty");
    device(&driver, &[empty[0], addresses(FIRST, 65_536), empty[1]]).expect("no range is reserved");
    drop(reserved);
    let all = device(&driver, &[addresses(FIRST, end - FIRST)]).expect("the whole space");
    let full = driver.make_heap(&video(ByteSize::new(1))).err();
    assert_eq!(full, Some(DriverError::OutOfAddressSpace { requested: ByteSize::from_kib(64) }));
    drop(all);
    driver.make_heap(&video(ByteSize::new(1))).expect("the request fits again");
}

#[test]
fn mapped_memory_is_zeroed_and_keeps_its_address() {
    let driver = driver("discrete");
    let size = ByteSize::from_gib(4);
    let heap =
        driver.make_heap(&args(size, MemoryPool::L0, CpuPageProperty::WriteBack)).expect("the request fits");
    let start = heap.map(0, size.get()).expect("CPU-accessible");
    let middle = heap.map(2 << 30, 16).expect("CPU-accessible");
    // SAFETY: both pointers lie in the mapped heap, which lives to the end of the test, and nothing else uses it.
    unsafe {
        assert_eq!(start.add(2 << 30), middle);
        assert_eq!(middle.read(), 0);
        middle.write(7);
        assert_eq!(start.add(2 << 30).read(), 7);
    }
    let beyond = DriverError::HostOutOfMemory { requested: ByteSize::new(1) };
    assert_eq!(heap.map(size.get(), 1).err(), Some(beyond));
    let hidden = driver.make_heap(&video(size)).expect("the request fits");
    assert_eq!(hidden.map(0, 1).err(), Some(DriverError::NotCpuAccessible));
}

/// Returns whether the GPU can access the heap now.
fn is_resident(heap: &DriverHeap) -> bool {
    heap.has_arrived()
}

/// Evicts a heap for the last time, and lets it leave.
fn evict(heap: &DriverHeap) {
    let work = heap.evict().expect("it is resident");
    PagingWork::run_all(work, Instant::now()).1.expect("simulated paging does not fail");
}

/// Creates a heap of 16 MiB on `profile` and evicts it.
fn evicted(profile: &str) -> Arc<DriverHeap> {
    let args = video(ByteSize::from_mib(16));
    let heap = driver(profile).make_heap(&args).expect("the request fits");
    assert!(is_resident(&heap), "resident after creation");
    evict(&heap);
    assert!(!is_resident(&heap));
    heap
}

fn begin(heap: &DriverHeap) -> impl FnOnce() + Send + 'static {
    let work = heap.make_resident().expect("the request fits").expect("it is not paged in yet");
    || {
        PagingWork::run_all([work], Instant::now()).1.expect("simulated paging does not fail");
    }
}

/// Many small heaps take as long as one of their total size: oversleeping does not accumulate. The sum has passed when
/// the works begin, so that a test that waited for it, or for each of its parts, would not end.
#[test]
fn paging_times_of_a_call_are_added_before_they_are_waited_for() {
    let hour = Duration::from_secs(3600);
    // The clock of some systems starts with the system.
    let (start, each) = Instant::now()
        .checked_sub(1000 * hour)
        .map_or_else(|| (Instant::now(), Duration::from_micros(1)), |start| (start, hour));
    let works = (0..1000).map(|_| PagingWork::new(each, || Ok(())));
    assert_eq!(PagingWork::run_all(works, start), (start + 1000 * each, Ok(())));
}

/// Works begin before the first one completes. One that fails to begin does not complete, and the others do.
#[test]
fn a_failure_at_the_beginning_is_the_result_of_the_work() {
    let error = DriverError::HostOutOfMemory { requested: ByteSize::new(1) };
    let steps: Arc<Mutex<Vec<&str>>> = Arc::default();
    let step = |name, result| {
        let steps = Arc::clone(&steps);
        move || {
            steps.lock().expect("no panics").push(name);
            result
        }
    };
    let work = |[begin, complete]: [&'static str; 2], begun| {
        PagingWork::new(Duration::ZERO, step(complete, Ok(()))).with_beginning(step(begin, begun))
    };
    let mut works =
        vec![work(["begin 1", "complete 1"], Err(error)), work(["begin 2", "complete 2"], Ok(()))];
    assert_eq!(PagingWork::begin_all(&mut works), Err(error));
    assert_eq!(PagingWork::begin_all(&mut works), Err(error), "they begin once");
    assert_eq!(PagingWork::run_all(works, Instant::now()).1, Err(error));
    assert_eq!(*steps.lock().expect("no panics"), ["begin 1", "begin 2", "complete 2"]);
}

/// A GPU has several works at a time, but memory that is evicted is freed before all of it has begun to leave.
#[test]
fn a_few_works_begin_ahead_of_the_one_to_be_completed() {
    let steps: Arc<Mutex<Vec<(bool, usize)>>> = Arc::default();
    let works = (0..20).map(|number| {
        let step = |is_begin| {
            let steps = Arc::clone(&steps);
            move || {
                steps.lock().expect("no panics").push((is_begin, number));
                Ok(())
            }
        };
        PagingWork::new(Duration::ZERO, step(false)).with_beginning(step(true))
    });
    assert_eq!(PagingWork::run_all(works, Instant::now()).1, Ok(()));
    let steps = steps.lock().expect("no panics");
    let numbers = |wanted| steps.iter().filter(move |step| step.0 == wanted).map(|step| step.1);
    assert!(numbers(true).eq(0..20) && numbers(false).eq(0..20), "in order");
    let mut under_way = 0_usize;
    let most = steps.iter().map(|&(is_begin, _)| {
        under_way = if is_begin { under_way + 1 } else { under_way - 1 };
        under_way
    });
    assert_eq!(most.max(), Some(8));
}

#[test]
fn a_heap_becomes_resident_when_paging_completes() {
    for profile in ["discrete", "slow-paging"] {
        let heap = evicted(profile);
        let work = begin(&heap);
        assert!(!is_resident(&heap), "{profile}: enqueued paging is not finished");
        work();
        assert!(is_resident(&heap), "{profile}");
        assert!(heap.make_resident().expect("a resident heap").is_none(), "{profile}: no paging remains");
    }
}

#[test]
fn paging_overtaken_by_evict_has_no_effect() {
    let heap = evicted("discrete");
    let (first, second) = {
        let first = begin(&heap);
        heap.evict().expect("before the heap is paged in");
        (first, begin(&heap))
    };
    first();
    assert!(!is_resident(&heap), "the heap was evicted before it was paged in");
    second();
    assert!(is_resident(&heap));
    heap.evict().expect("it is resident");
    let late = begin(&heap);
    heap.evict().expect("before the heap is paged in");
    late();
    assert!(!is_resident(&heap));
}

#[test]
fn a_second_call_waits_for_the_paging_of_the_first() {
    let heap = evicted("slow-paging");
    let (first, second) = (begin(&heap), begin(&heap));
    let (seen_by, waiting) = (Arc::clone(&heap), std::sync::mpsc::channel());
    let waiter = std::thread::spawn(move || {
        waiting.0.send(()).expect("the receiver is alive");
        second();
        is_resident(&seen_by)
    });
    waiting.1.recv().expect("the thread started");
    first();
    assert!(waiter.join().expect("no panic"), "the wait returned before the heap was resident");
}

#[test]
fn evicting_a_heap_ends_waits_for_its_paging() {
    let heap = evicted("slow-paging");
    let (first, second) = (begin(&heap), begin(&heap));
    let waiter = std::thread::spawn(second);
    heap.evict().expect("one reason");
    heap.evict().expect("the other");
    waiter.join().expect("no panic");
    first();
    assert!(!is_resident(&heap));
}
