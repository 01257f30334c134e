use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicI32, AtomicU64};

use super::*;
use crate::drivers::vulkan::fault_tests::{self, open_with};

#[test]
fn sizes_are_few_and_hold_what_is_asked_for() {
    let (least, most) = SIZES;
    for size in [1, 4096, least, least + 1, 3 << 20, most - 1, most] {
        let own = rounded(size);
        assert!(own.is_power_of_two() && (least..=most).contains(&own), "{size}");
        assert!(own >= size, "{size} is held");
        assert!(own / 2 < size || own == least, "{size}: no more than twice as large");
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

fn opened() -> Option<HostMemory> {
    let device = open_with(replace)?;
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

/// Provides memory of the given sizes. Returns the caller's numbers, in the order in which they were provided, and the memory.
fn provide(memory: &HostMemory, sizes: &[u64]) -> Result<(Vec<usize>, Vec<HostPart>), DriverError> {
    let (mut numbers, mut parts) = (Vec::new(), Vec::new());
    let sizes = sizes.iter().copied().enumerate();
    memory.provide(sizes, &|| (), |number, part| {
        numbers.push(number);
        parts.push(part);
        Ok(())
    })?;
    Ok((numbers, parts))
}

fn size_of(part: &HostPart) -> u64 {
    part.buffer.as_ref().map_or(0, Kept::size)
}

/// Several threads provide the memory of one part, and one thread that of none. What was given back serves the next request.
#[test]
fn each_size_is_provided_once_and_reused() {
    let _one = counting();
    let Some(memory) = opened() else { return };
    let sizes = [1, 20 << 20, 64 << 20, 3 << 20];
    let (mut numbers, parts) = provide(&memory, &sizes).expect("90 MiB");
    let size = |&number: &usize| rounded(sizes[number]);
    assert_eq!(parts.iter().map(size_of).collect::<Vec<_>>(), numbers.iter().map(size).collect::<Vec<_>>());
    numbers.sort_unstable();
    assert_eq!(numbers, [0, 1, 2, 3]);
    let imports = IMPORTS.load(Ordering::SeqCst);
    assert_eq!(imports, if memory.import.is_some() { 4 } else { 0 });
    let handles: Vec<_> = parts.iter().map(HostPart::handle).collect();
    drop(parts);
    let (_, again) = provide(&memory, &[64 << 20, 1]).expect("kept");
    assert!(again.iter().all(|part| handles.contains(&part.handle())), "kept");
    assert_eq!(IMPORTS.load(Ordering::SeqCst), imports);
    assert_eq!(provide(&memory, &[]).map(|(numbers, _)| numbers), Ok(Vec::new()));
}

/// A driver that refuses to import allocates, and is not asked again. If it does not allocate either, it may be for lack of
/// memory.
#[test]
fn memory_that_cannot_be_imported_is_allocated() {
    let _one = counting();
    let Some(memory) = opened() else { return };
    refuse(vk::Result::ERROR_INVALID_EXTERNAL_HANDLE);
    TO_FAIL.store(1, Ordering::SeqCst);
    let rooms = AtomicUsize::new(0);
    let make_room = || {
        rooms.fetch_add(1, Ordering::SeqCst);
    };
    let buffer = memory.create(&memory.job(0, 1 << 20), &make_room);
    assert!(buffer.is_ok() && rooms.load(Ordering::SeqCst) == 1, "room for what the driver allocates");
    assert!(!memory.refuses.load(Ordering::SeqCst), "there was too little memory");
    let (_, parts) = provide(&memory, &[1 << 20; 3]).expect("3 MiB");
    assert_eq!(parts.len(), 3);
    assert_eq!(memory.refuses.load(Ordering::SeqCst), memory.import.is_some());
    let imports = IMPORTS.load(Ordering::SeqCst);
    let (_, more) = provide(&memory, &[1 << 20; 3]).expect("3 MiB");
    assert_eq!((more.len(), IMPORTS.load(Ordering::SeqCst)), (3, imports), "not asked again");
}

/// The first error ends it, of an allocation or of the caller; what was provided is kept.
#[test]
fn an_error_ends_it() {
    let _one = counting();
    let Some(memory) = opened() else { return };
    refuse(vk::Result::ERROR_INVALID_EXTERNAL_HANDLE);
    TO_FAIL.store(usize::MAX, Ordering::SeqCst);
    let requested = ByteSize::from_mib(1);
    assert_eq!(provide(&memory, &[1 << 20]).err(), Some(DriverError::HostOutOfMemory { requested }));
    TO_FAIL.store(0, Ordering::SeqCst);
    let mut calls = 0;
    let ended = memory.provide((0..8).map(|number| (number, 1 << 20)), &|| (), |_, _part| {
        calls += 1;
        if calls == 3 { Err(DriverError::NotResident) } else { Ok(()) }
    });
    assert_eq!((ended, calls), (Err(DriverError::NotResident), 3));
    assert!(memory.kept.bytes() >= 3 << 20, "the next eviction may use it");
}

/// An eviction through memory that is imported, and one through memory that is not, bring the bytes back.
#[test]
fn contents_survive_in_imported_memory_and_in_the_drivers() {
    let _one = counting();
    for refuses in [false, true] {
        refuse(if refuses { vk::Result::ERROR_INVALID_EXTERNAL_HANDLE } else { vk::Result::SUCCESS });
        IMPORTS.store(0, Ordering::SeqCst);
        let Some(device) = open_with(replace) else { return };
        let imports = device.hardware().import_alignment.is_some() && device.hardware().has_sparse_binding;
        assert_eq!(fault_tests::without_failures(device), Ok(()));
        let asked = IMPORTS.load(Ordering::SeqCst);
        // Once when the device is opened; and the heaps have four parts.
        let expected = match (imports, refuses) {
            (false, _) => 0,
            (true, true) => 1,
            (true, false) => 5,
        };
        assert_eq!(asked, expected);
    }
}

/// An import is optional: whatever else it fails with, the part is allocated, the device is not lost, and the next part is imported.
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
        let (_, parts) = provide(&memory, &[1 << 20; 2]).expect("2 MiB");
        assert!(parts.iter().all(|part| part.buffer.as_ref().is_some_and(|buffer| buffer._own.is_none())));
        memory.free_kept();
        drop(parts);
        memory.free_kept();
    }
    assert_eq!(memory.device.lost(), None);
    refuse(vk::Result::SUCCESS);
    let (_, parts) = provide(&memory, &[1 << 20]).expect("1 MiB");
    let is_own = parts[0].buffer.as_ref().is_some_and(|buffer| buffer._own.is_some());
    assert_eq!(is_own, memory.import.is_some());
    drop(parts);
    memory.free_kept();
    refuse(vk::Result::ERROR_DEVICE_LOST);
    let lost = provide(&memory, &[1 << 20]).err();
    let is_lost = matches!(lost, Some(DriverError::DeviceLost { .. }));
    assert_eq!((is_lost, memory.device.lost().is_some()), (memory.import.is_some(), memory.import.is_some()));
}

/// The bytes that the injected query of available memory returns.
static AVAILABLE: AtomicU64 = AtomicU64::new(0);

/// Too little memory for all parts is an error before any is provided. What is kept makes room, and need not be available.
#[test]
fn too_little_memory_is_an_error() {
    let _one = counting();
    let Some(mut memory) = opened() else { return };
    memory.available = || Some(AVAILABLE.load(Ordering::SeqCst));
    let sizes = [1 << 20, 4 << 20];
    let requested = ByteSize::from_mib(5);
    AVAILABLE.store(LEFT + requested.get() - 1, Ordering::SeqCst);
    let refused = provide(&memory, &sizes).err();
    if memory.import.is_none() {
        assert_eq!(refused, None, "the driver knows");
        return;
    }
    assert_eq!(refused, Some(DriverError::HostOutOfMemory { requested }));
    assert_eq!(IMPORTS.load(Ordering::SeqCst), 0);
    let rooms = AtomicUsize::new(0);
    let make_room = || {
        rooms.fetch_add(1, Ordering::SeqCst);
        AVAILABLE.fetch_add(1, Ordering::SeqCst);
    };
    let mut parts = Vec::new();
    let provided = memory.provide(sizes.into_iter().enumerate(), &make_room, |_, part| {
        parts.push(part);
        Ok(())
    });
    assert_eq!((provided, parts.len(), rooms.load(Ordering::SeqCst)), (Ok(()), 2, 1));
    drop(parts);
    AVAILABLE.store(0, Ordering::SeqCst);
    assert_eq!(provide(&memory, &sizes).map(|(_, parts)| parts.len()), Ok(2), "kept");
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
        own.have_provided(0..size);
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
