use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicI32, AtomicU64};

use super::*;
use crate::drivers::vulkan::fault_tests::{self, open_with};
use std::sync::{MutexGuard, OnceLock};

#[test]
fn sizes_are_few_and_hold_what_is_asked_for() {
    let (least, most) = SIZES;
    for size in [1, 4096, least, least + 1, 3 << 20, most - 1, most, most + 1, 5 * most, 100 << 20] {
        let own: Vec<_> = part_sizes(size).collect();
        assert!(own.iter().all(|own| own.is_power_of_two() && (least..=most).contains(own)), "{size}");
        let sum: u64 = own.iter().sum();
        assert!(sum >= size, "{size} is held");
        let surplus = own.last().expect("one part or more") / 2;
        assert!(sum - size < surplus.max(least), "{size}: the last part alone has a surplus");
    }
}

/// The device's vkAllocateMemory.
static REAL: AtomicUsize = AtomicUsize::new(0);

/// The number of imports, and their result unless they succeed.
static IMPORTS: AtomicUsize = AtomicUsize::new(0);
static REFUSAL: AtomicI32 = AtomicI32::new(0);

fn refuse(result: vk::Result) {
    REFUSAL.store(result.as_raw(), Ordering::SeqCst);
}

/// The number of allocations to fail that are no imports.
static TO_FAIL: AtomicUsize = AtomicUsize::new(0);

/// Held by a test that uses these.
static COUNTING: Mutex<()> = Mutex::new(());

fn counting() -> MutexGuard<'static, ()> {
    let one = COUNTING.lock().unwrap_or_else(PoisonError::into_inner);
    refuse(vk::Result::SUCCESS);
    TO_FAIL.store(0, Ordering::SeqCst);
    one
}

unsafe extern "system" fn allocate(
    device: vk::Device,
    info: *const vk::MemoryAllocateInfo<'_>,
    callbacks: *const vk::AllocationCallbacks<'_>,
    memory: *mut vk::DeviceMemory,
) -> vk::Result {
    // SAFETY: the driver passes a structure with a chain of extensions.
    let mut next = unsafe { (*info).p_next.cast::<vk::BaseInStructure<'_>>() };
    let mut is_import = false;
    while !next.is_null() {
        // SAFETY: as above.
        let own = unsafe { &*next };
        is_import |= own.s_type == vk::StructureType::IMPORT_MEMORY_HOST_POINTER_INFO_EXT;
        next = own.p_next;
    }
    if is_import {
        IMPORTS.fetch_add(1, Ordering::SeqCst);
        let refusal = vk::Result::from_raw(REFUSAL.load(Ordering::SeqCst));
        if refusal != vk::Result::SUCCESS {
            return refusal;
        }
    } else if TO_FAIL.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok() {
        return vk::Result::ERROR_OUT_OF_HOST_MEMORY;
    }
    let real = std::ptr::with_exposed_provenance::<c_void>(REAL.load(Ordering::SeqCst));
    // SAFETY: the device returned this function for the name; the arguments are the driver's.
    unsafe {
        let real = std::mem::transmute::<*const c_void, vk::PFN_vkAllocateMemory>(real);
        real(device, info, callbacks, memory)
    }
}

fn replace(name: &CStr, own: *const c_void) -> *const c_void {
    if name != c"vkAllocateMemory" {
        return own;
    }
    REAL.store(own.expose_provenance(), Ordering::SeqCst);
    allocate as vk::PFN_vkAllocateMemory as *const c_void
}

/// Returns the device whose allocations fail, as if it had never been lost. NVIDIA's driver opens about ten devices in
/// a process.
fn device() -> Option<Arc<LogicalDevice>> {
    static DEVICE: OnceLock<Option<Arc<LogicalDevice>>> = OnceLock::new();
    DEVICE.get_or_init(|| open_with(replace)).clone().inspect(|device| device.find_again())
}

fn opened() -> Option<HostMemory> {
    let device = device()?;
    let types = crate::drivers::vulkan::MemoryTypes::of(
        &device.hardware().memory,
        device.hardware().is_uma(),
        u32::MAX,
    );
    let mut memory = HostMemory::new(&device, types.expect("memory that the CPU accesses").readback);
    memory.available = || None;
    // The first is to find out whether the driver imports.
    IMPORTS.store(0, Ordering::SeqCst);
    Some(memory)
}

/// Several threads provide the memory of several parts. What was given back serves the next request.
#[test]
fn parts_are_provided_once_and_reused() {
    let _one = counting();
    let Some(memory) = opened() else { return };
    let parts = memory.provide(83 << 20).expect("83 MiB");
    let sizes = |parts: &[HostPart]| {
        let mut sizes: Vec<_> = parts.iter().map(HostPart::size).collect();
        sizes.sort_unstable();
        sizes
    };
    let expected = [4, 16, 16, 16, 16, 16].map(|mib| mib << 20);
    assert_eq!(sizes(&parts), expected);
    let imports = IMPORTS.load(Ordering::SeqCst);
    assert_eq!(imports, if memory.import.is_some() { 6 } else { 0 });
    let handles: Vec<_> = parts.iter().map(HostPart::handle).collect();
    drop(parts);
    let again = memory.provide(36 << 20).expect("kept");
    assert_eq!(sizes(&again), expected[..3]);
    assert!(again.iter().all(|part| handles.contains(&part.handle())), "kept");
    assert_eq!(IMPORTS.load(Ordering::SeqCst), imports);
    assert_eq!(memory.provide(0).map(|parts| parts.len()), Ok(0));
}

/// A driver that refuses to import allocates, and is not asked again. If it does not allocate either, it may be for
/// lack of memory.
#[test]
fn memory_that_cannot_be_imported_is_allocated() {
    let _one = counting();
    let Some(memory) = opened() else { return };
    drop(memory.provide(2 << 20).expect("2 MiB"));
    refuse(vk::Result::ERROR_INVALID_EXTERNAL_HANDLE);
    TO_FAIL.store(1, Ordering::SeqCst);
    assert!(memory.create(1 << 20).is_ok());
    assert_eq!(memory.kept.bytes(), 0, "room for what the driver allocates");
    assert!(!memory.refuses.load(Ordering::SeqCst), "there was too little memory");
    let parts = memory.provide(48 << 20).expect("48 MiB");
    assert_eq!(parts.len(), 3);
    assert_eq!(memory.refuses.load(Ordering::SeqCst), memory.import.is_some());
    let imports = IMPORTS.load(Ordering::SeqCst);
    let more = memory.provide(48 << 20).expect("48 MiB");
    assert_eq!((more.len(), IMPORTS.load(Ordering::SeqCst)), (3, imports), "not asked again");
}

/// What was provided before an error is kept.
#[test]
fn an_error_ends_it() {
    let _one = counting();
    let Some(memory) = opened() else { return };
    drop(memory.provide(16 << 20).expect("16 MiB"));
    refuse(vk::Result::ERROR_INVALID_EXTERNAL_HANDLE);
    TO_FAIL.store(usize::MAX, Ordering::SeqCst);
    let requested = ByteSize::from_mib(16);
    assert_eq!(memory.provide(32 << 20).err(), Some(DriverError::HostOutOfMemory { requested }));
    TO_FAIL.store(0, Ordering::SeqCst);
    assert_eq!(memory.kept.bytes(), 16 << 20, "the next eviction may use it");
}

/// An eviction through memory that is imported, and one through memory that is not, bring the bytes back.
#[test]
fn contents_survive_in_imported_memory_and_in_the_drivers() {
    let _one = counting();
    for refuses in [false, true] {
        refuse(if refuses { vk::Result::ERROR_INVALID_EXTERNAL_HANDLE } else { vk::Result::SUCCESS });
        IMPORTS.store(0, Ordering::SeqCst);
        let Some(device) = device() else { return };
        let imports = device.hardware().import_alignment.is_some();
        assert_eq!(fault_tests::without_failures(device), Ok(()));
        let asked = IMPORTS.load(Ordering::SeqCst);
        // Once when the device is opened; and two heaps are evicted.
        let expected = match (imports, refuses) {
            (false, _) => 0,
            (true, true) => 1,
            (true, false) => 3,
        };
        assert_eq!(asked, expected);
    }
}

/// An import is optional: whatever else it fails with, the part is allocated, the device is not lost, and the next part
/// is imported.
#[test]
fn an_import_that_fails_is_replaced() {
    let _one = counting();
    let Some(memory) = opened() else { return };
    let failures = [
        vk::Result::ERROR_OUT_OF_HOST_MEMORY,
        vk::Result::ERROR_OUT_OF_DEVICE_MEMORY,
        vk::Result::ERROR_UNKNOWN,
    ];
    for failure in failures {
        refuse(failure);
        let parts = memory.provide(32 << 20).expect("32 MiB");
        assert!(parts.iter().all(|part| part.buffer.as_ref().is_some_and(|buffer| buffer._own.is_none())));
        drop(parts);
        memory.free_kept();
    }
    assert_eq!(memory.device.lost(), None);
    refuse(vk::Result::SUCCESS);
    let parts = memory.provide(1 << 20).expect("1 MiB");
    let is_own = parts[0].buffer.as_ref().is_some_and(|buffer| buffer._own.is_some());
    assert_eq!(is_own, memory.import.is_some());
    drop(parts);
    memory.free_kept();
    refuse(vk::Result::ERROR_DEVICE_LOST);
    let lost = memory.provide(1 << 20).err();
    let is_lost = matches!(lost, Some(DriverError::DeviceLost { .. }));
    assert_eq!((is_lost, memory.device.lost().is_some()), (memory.import.is_some(), memory.import.is_some()));
}

/// The bytes that the injected query of available memory returns.
static AVAILABLE: AtomicU64 = AtomicU64::new(0);

/// Too little memory for all parts is an error before any is provided. What is kept makes room, and need not be
/// available.
#[test]
fn too_little_memory_is_an_error() {
    let _one = counting();
    let Some(mut memory) = opened() else { return };
    memory.available = || Some(AVAILABLE.load(Ordering::SeqCst));
    let size = 17 << 20;
    let requested = ByteSize::new(size);
    AVAILABLE.store(LEFT + size - 1, Ordering::SeqCst);
    let refused = memory.provide(size).err();
    if memory.import.is_none() {
        assert_eq!(refused, None, "the driver knows");
        return;
    }
    assert_eq!(refused, Some(DriverError::HostOutOfMemory { requested }));
    assert_eq!(IMPORTS.load(Ordering::SeqCst), 0);
    AVAILABLE.store(LEFT + size, Ordering::SeqCst);
    drop(memory.provide(size).expect("17 MiB"));
    AVAILABLE.store(0, Ordering::SeqCst);
    assert_eq!(memory.provide(size).map(|parts| parts.len()), Ok(2), "kept");
    assert!(memory.provide(64 << 20).is_err());
    assert_eq!(memory.kept.bytes(), 16 << 20, "what is kept and of no use makes room");
}

#[test]
fn imported_memory_is_coherent() {
    use vk::MemoryPropertyFlags as Flags;
    let kinds = [Flags::DEVICE_LOCAL, Flags::HOST_CACHED, Flags::HOST_COHERENT, Flags::HOST_COHERENT];
    let types = kinds.map(|flags| vk::MemoryType::default().property_flags(Flags::HOST_VISIBLE | flags));
    assert_eq!(choose_type(&types, 0b1111, 3), Some(3), "the one that is wanted");
    assert_eq!(choose_type(&types, 0b0111, 3), Some(2));
    assert_eq!(choose_type(&types, 0b0011, 3), None);
    assert_eq!(choose_type(&types, 0, 0), None);
}

/// Memory is aligned to the device's alignment, and that of a huge page and more to huge pages.
#[test]
fn less_than_a_huge_page_is_in_small_pages() {
    for (size, alignment) in [(1 << 20, 4096), (1 << 20, 1 << 16), (2 << 20, 4096), (64 << 20, 4096)] {
        let own = OwnPages::new(size, alignment).expect("address space");
        let start = u64::try_from(own.start().expect("committed").addr().get()).expect("64 bits");
        assert!(start.is_multiple_of(if size < HUGE_PAGE { alignment } else { HUGE_PAGE }));
        #[cfg(target_os = "linux")]
        if size < HUGE_PAGE {
            assert_eq!(huge_bytes_at(start), Some(0));
        }
    }
}

/// The number of bytes in huge pages of the mapping with an address.
#[cfg(target_os = "linux")]
fn huge_bytes_at(address: u64) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/smaps").expect("the mappings of this process");
    let mut lines = text.lines().skip_while(|line| {
        let range = line.split(' ').next().and_then(|range| range.split_once('-'));
        let range = range.and_then(|(start, end)| {
            Some(u64::from_str_radix(start, 16).ok()?..u64::from_str_radix(end, 16).ok()?)
        });
        !range.is_some_and(|range| range.contains(&address))
    });
    let huge = lines.find_map(|line| line.strip_prefix("AnonHugePages:"))?;
    huge.trim().strip_suffix(" kB")?.parse().ok()
}
