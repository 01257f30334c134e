use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::*;
use crate::drivers::heap::NORMAL_PRIORITY;
use crate::drivers::heap::tests::heaps;
use crate::drivers::vulkan::VulkanBackend;
use crate::drivers::vulkan::fault_tests::open_with;
use crate::drivers::vulkan::recorder::buffer_of;

/// The device's function behind `allocate`.
static REAL: AtomicUsize = AtomicUsize::new(0);

/// The size of each allocation, and the buffer that it is dedicated to, or null.
static REQUESTS: Mutex<Vec<(u64, vk::Buffer)>> = Mutex::new(Vec::new());

fn requests() -> Vec<(u64, vk::Buffer)> {
    std::mem::take(&mut *REQUESTS.lock().unwrap_or_else(PoisonError::into_inner))
}

unsafe extern "system" fn allocate(
    device: vk::Device,
    info: *const vk::MemoryAllocateInfo<'_>,
    callbacks: *const vk::AllocationCallbacks<'_>,
    memory: *mut vk::DeviceMemory,
) -> vk::Result {
    // SAFETY: the driver passes a structure with a chain of structures, each of the type that its first field says.
    let request = unsafe {
        let mut buffer = vk::Buffer::null();
        let mut next = (*info).p_next.cast::<vk::BaseInStructure<'_>>();
        while let Some(structure) = next.as_ref() {
            if structure.s_type == vk::StructureType::MEMORY_DEDICATED_ALLOCATE_INFO {
                buffer = (*next.cast::<vk::MemoryDedicatedAllocateInfo<'_>>()).buffer;
            }
            next = structure.p_next;
        }
        ((*info).allocation_size, buffer)
    };
    REQUESTS.lock().unwrap_or_else(PoisonError::into_inner).push(request);
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

/// The memory of each buffer is dedicated to it, that of heaps too.
#[test]
fn memory_is_dedicated_to_its_buffer() {
    let Some(device) = open_with(replace) else { return };
    let driver = VulkanBackend::over(Arc::clone(&device)).expect("a driver");
    requests();
    let (kind, none) = (driver.types.upload, DeviceAddress::None);
    let buffer = Buffer::create(&device, 100_000, kind, NORMAL_PRIORITY, none).expect("100,000 bytes");
    let size = none.requirements(&device, 100_000).size;
    assert_eq!(requests(), [(size, buffer.handle())]);
    let [heap] = heaps(&driver.driver());
    let usable = heap.begin_use(0).expect("resident");
    let size = heap.charged().get();
    assert_eq!(requests(), [(size, buffer_of(usable))]);
    heap.end_use();
}
