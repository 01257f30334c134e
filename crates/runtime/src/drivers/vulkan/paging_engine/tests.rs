use std::collections::BTreeMap;
use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use ash::vk::Handle as _;

use super::*;
use crate::ddi::{Driver as _, Eviction, PagingWork};
use crate::drivers::vulkan::VulkanDriver;
use crate::drivers::vulkan::fault_tests::open_with;
use crate::drivers::vulkan::heap::tests::heaps;

/// The device's functions behind `bind` and `wait`.
static REAL: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

fn real(index: usize) -> *const c_void {
    std::ptr::with_exposed_provenance(REAL[index].load(Ordering::SeqCst))
}

/// What was signalled by sparse binding.
#[derive(Default)]
struct Signals {
    /// The last value that a submission signals, by semaphore.
    last: BTreeMap<u64, u64>,
    /// The largest value that the CPU waited for, by semaphore.
    waited: BTreeMap<u64, u64>,
    /// The number of submissions that signal a value after another, and those of them that wait for nothing before.
    after_another: usize,
    unordered: Vec<(u64, u64)>,
}

static SIGNALS: Mutex<Signals> = Mutex::new(Signals {
    last: BTreeMap::new(),
    waited: BTreeMap::new(),
    after_another: 0,
    unordered: Vec::new(),
});

unsafe extern "system" fn bind(
    queue: vk::Queue,
    count: u32,
    infos: *const vk::BindSparseInfo<'_>,
    fence: vk::Fence,
) -> vk::Result {
    assert_eq!(count, 1);
    {
        // SAFETY: the engine passes one structure, with the values of its timelines as its first extension, and as many values
        // as semaphores.
        let (waits, signals) = unsafe {
            let info = &*infos;
            let values = &*info.p_next.cast::<vk::TimelineSemaphoreSubmitInfo<'_>>();
            assert!(values.s_type == vk::StructureType::TIMELINE_SEMAPHORE_SUBMIT_INFO);
            let pairs = |semaphores: *const vk::Semaphore, values: *const u64, count: u32| {
                let count = if semaphores.is_null() { 0 } else { usize::try_from(count).expect("few") };
                let pair = |index| (semaphores.add(index).read().as_raw(), values.add(index).read());
                (0..count).map(pair).collect::<Vec<_>>()
            };
            (
                pairs(info.p_wait_semaphores, values.p_wait_semaphore_values, info.wait_semaphore_count),
                pairs(
                    info.p_signal_semaphores,
                    values.p_signal_semaphore_values,
                    info.signal_semaphore_count,
                ),
            )
        };
        let mut known = SIGNALS.lock().unwrap_or_else(PoisonError::into_inner);
        for (semaphore, value) in signals {
            let Some(before) = known.last.insert(semaphore, value) else { continue };
            known.after_another += 1;
            let is_done = known.waited.get(&semaphore).is_some_and(|&done| done >= before);
            let is_ordered = is_done || waits.iter().any(|&wait| wait.0 == semaphore && wait.1 >= before);
            if value <= before || !is_ordered {
                known.unordered.push((before, value));
            }
        }
    }
    // SAFETY: the device returned this function for this name; the arguments are the engine's.
    unsafe {
        std::mem::transmute::<*const c_void, vk::PFN_vkQueueBindSparse>(real(0))(queue, count, infos, fence)
    }
}

unsafe extern "system" fn wait(
    device: vk::Device,
    info: *const vk::SemaphoreWaitInfo<'_>,
    timeout: u64,
) -> vk::Result {
    // SAFETY: as above.
    let result = unsafe {
        std::mem::transmute::<*const c_void, vk::PFN_vkWaitSemaphores>(real(1))(device, info, timeout)
    };
    if result == vk::Result::SUCCESS {
        // SAFETY: the driver waits for one semaphore at a time.
        let (semaphore, value) = unsafe { ((*info).p_semaphores.read(), (*info).p_values.read()) };
        let mut known = SIGNALS.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = known.waited.entry(semaphore.as_raw()).or_default();
        *waited = value.max(*waited);
    }
    result
}

fn replace(name: &CStr, own: *const c_void) -> *const c_void {
    let (index, replacement) = match name.to_bytes() {
        b"vkQueueBindSparse" => (0, bind as vk::PFN_vkQueueBindSparse as *const c_void),
        b"vkWaitSemaphores" => (1, wait as vk::PFN_vkWaitSemaphores as *const c_void),
        _ => return own,
    };
    REAL[index].store(own.expose_provenance(), Ordering::SeqCst);
    replacement
}

/// Vulkan requires that a timeline rises with each signal, and sparse binding does not end in the order of submission, even on
/// one queue. New heaps are bound on another queue than those that are evicted and return.
#[test]
fn each_binding_waits_for_the_one_whose_value_is_below_its_own() {
    let Some(device) = open_with(replace) else { return };
    let driver = VulkanDriver::over(device, PART).expect("a driver");
    if driver.caps().eviction == Eviction::Keeps {
        return;
    }
    let run = |work: Option<PagingWork>| PagingWork::run_all(work, Instant::now()).1.expect("paged");
    let [first, _second] = heaps(&driver);
    let leave = first.evict().expect("resident");
    let [_third] = heaps(&driver);
    run(leave);
    let [_fourth] = heaps(&driver);
    run(first.make_resident().expect("64 KiB"));
    let known = SIGNALS.lock().unwrap_or_else(PoisonError::into_inner);
    assert_eq!(known.unordered, [], "values that are signalled without waiting for those before");
    assert_eq!(known.after_another, 5, "of four heaps, an eviction and a return");
}
