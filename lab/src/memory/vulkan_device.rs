//! A Vulkan device without memory that notes the calls that create and free memory.
//!
//! Only the functions exist that VMA and gpu-allocator call for buffers that are never mapped; ash panics in any other.
//! The handle of the device is the address of its [`State`].

use std::collections::BTreeMap;
use std::ffi::{CStr, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ash::vk::{self, Handle as _};
use heapwright_core::ByteSize;
use heapwright_runtime::HostProfile;

use super::meter::{Block, DeviceCall};

/// Alignment of buffers, as on the simulated GPU.
const BUFFER_ALIGNMENT: u64 = 256;

/// The size from which NVIDIA's driver prefers memory of its own for a buffer: driver 580.159.04 on an H200
/// (2026-11-23, tried in steps of 64 KiB).
const PREFERS_DEDICATED: ByteSize = ByteSize::from_mib(32);

/// A Vulkan device. Allocators that use it must be dropped before it.
pub struct VulkanDevice {
    /// Function table of the instance.
    pub instance: ash::Instance,
    /// Function table of the device.
    pub device: ash::Device,
    /// The physical device.
    pub physical_device: vk::PhysicalDevice,
    state: Box<State>,
}

/// The memory of a device.
#[derive(Default)]
struct State(Mutex<Books>);

#[derive(Default)]
struct Books {
    /// The blocks of memory by handle.
    memory: BTreeMap<u64, Block>,
    next_handle: u64,
    held: u64,
    calls: Vec<DeviceCall>,
}

impl VulkanDevice {
    /// Creates a device with the memory of the default simulated GPU.
    #[must_use]
    pub fn open() -> Self {
        let state = Box::<State>::default();
        let address = std::ptr::from_ref::<State>(&state) as u64;
        let device = vk::Device::from_raw(address);
        // Nothing looks behind these two handles, but they must not be null.
        let (instance, physical_device) = (vk::Instance::from_raw(1), vk::PhysicalDevice::from_raw(1));
        // SAFETY: `function` returns null or functions with the signature of their name, whose first argument is the
        // instance, the physical device, or the device above. `state` outlives the table: both are dropped together.
        let (instance, device) = unsafe {
            (ash::Instance::load_with(function, instance), ash::Device::load_with(function, device))
        };
        Self { instance, device, physical_device, state }
    }

    /// Moves the calls since the last time to `calls`, which is emptied.
    pub fn take_calls(&self, calls: &mut Vec<DeviceCall>) {
        calls.clear();
        calls.append(&mut self.state.books().calls);
    }
}

impl State {
    fn books(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the memory of a device.
///
/// # Safety
///
/// The handle must be that of a live [`VulkanDevice`].
unsafe fn state<'a>(device: vk::Device) -> &'a State {
    // SAFETY: the handle is the address of the state, which the caller keeps alive.
    unsafe { &*(device.as_raw() as *const State) }
}

/// Bytes of device memory.
fn capacity() -> u64 {
    HostProfile::default_profile().local.capacity.get()
}

/// Returns the function with a name, or null if the device does not have it.
fn function(name: &CStr) -> *const c_void {
    match name.to_bytes() {
        b"vkGetPhysicalDeviceProperties" => properties as vk::PFN_vkGetPhysicalDeviceProperties as _,
        b"vkGetPhysicalDeviceMemoryProperties" => {
            memory_properties as vk::PFN_vkGetPhysicalDeviceMemoryProperties as _
        }
        b"vkAllocateMemory" => allocate_memory as vk::PFN_vkAllocateMemory as _,
        b"vkFreeMemory" => free_memory as vk::PFN_vkFreeMemory as _,
        b"vkCreateBuffer" => create_buffer as vk::PFN_vkCreateBuffer as _,
        b"vkDestroyBuffer" => destroy_buffer as vk::PFN_vkDestroyBuffer as _,
        b"vkGetBufferMemoryRequirements" => {
            buffer_memory_requirements as vk::PFN_vkGetBufferMemoryRequirements as _
        }
        b"vkGetBufferMemoryRequirements2" => {
            buffer_memory_requirements_2 as vk::PFN_vkGetBufferMemoryRequirements2 as _
        }
        b"vkBindBufferMemory" => bind_buffer_memory as vk::PFN_vkBindBufferMemory as _,
        b"vkBindBufferMemory2" => bind_buffer_memory_2 as vk::PFN_vkBindBufferMemory2 as _,
        _ => std::ptr::null(),
    }
}

unsafe extern "system" fn properties(_: vk::PhysicalDevice, properties: *mut vk::PhysicalDeviceProperties) {
    let limits = vk::PhysicalDeviceLimits::default()
        .max_memory_allocation_count(u32::MAX)
        .buffer_image_granularity(1024)
        .non_coherent_atom_size(64);
    let filled = vk::PhysicalDeviceProperties::default()
        .api_version(vk::API_VERSION_1_3)
        .device_type(vk::PhysicalDeviceType::DISCRETE_GPU)
        .limits(limits);
    // SAFETY: the caller passes memory for the structure.
    unsafe { properties.write(filled) };
}

/// The types of memory of a discrete GPU of NVIDIA: those of the system, and device memory that the CPU sees or not.
unsafe extern "system" fn memory_properties(
    _: vk::PhysicalDevice,
    properties: *mut vk::PhysicalDeviceMemoryProperties,
) {
    use vk::MemoryPropertyFlags as Flags;
    let coherent = Flags::HOST_VISIBLE | Flags::HOST_COHERENT;
    let types = [
        (Flags::empty(), 1),
        (Flags::DEVICE_LOCAL, 0),
        (coherent, 1),
        (coherent | Flags::HOST_CACHED, 1),
        (coherent | Flags::DEVICE_LOCAL, 0),
    ];
    let mut filled = vk::PhysicalDeviceMemoryProperties {
        memory_type_count: types.len().try_into().unwrap_or(0),
        memory_heap_count: 2,
        ..Default::default()
    };
    for (entry, (property_flags, heap_index)) in filled.memory_types.iter_mut().zip(types) {
        *entry = vk::MemoryType { property_flags, heap_index };
    }
    filled.memory_heaps[0] = vk::MemoryHeap { size: capacity(), flags: vk::MemoryHeapFlags::DEVICE_LOCAL };
    filled.memory_heaps[1] = vk::MemoryHeap { size: capacity(), flags: vk::MemoryHeapFlags::empty() };
    // SAFETY: the caller passes memory for the structure.
    unsafe { properties.write(filled) };
}

unsafe extern "system" fn allocate_memory(
    device: vk::Device,
    info: *const vk::MemoryAllocateInfo<'_>,
    _: *const vk::AllocationCallbacks<'_>,
    memory: *mut vk::DeviceMemory,
) -> vk::Result {
    // SAFETY: the caller passes the handle of a live device and a structure. Those that follow in the chain begin as
    // `BaseInStructure` does.
    let (mut books, size, is_dedicated) = unsafe {
        let mut is_dedicated = false;
        let mut next = (*info).p_next.cast::<vk::BaseInStructure<'_>>();
        while !next.is_null() {
            is_dedicated |= (*next).s_type == vk::StructureType::MEMORY_DEDICATED_ALLOCATE_INFO;
            next = (*next).p_next;
        }
        (state(device).books(), (*info).allocation_size, is_dedicated)
    };
    if books.held + size > capacity() {
        return vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
    }
    books.held += size;
    books.next_handle += 1;
    let handle = books.next_handle;
    let block = Block { size: ByteSize::new(size), is_dedicated };
    books.memory.insert(handle, block);
    books.calls.push(DeviceCall::Create(block));
    // SAFETY: the caller passes memory for a handle.
    unsafe { memory.write(vk::DeviceMemory::from_raw(handle)) };
    vk::Result::SUCCESS
}

unsafe extern "system" fn free_memory(
    device: vk::Device,
    memory: vk::DeviceMemory,
    _: *const vk::AllocationCallbacks<'_>,
) {
    // SAFETY: the caller passes the handle of a live device.
    let mut books = unsafe { state(device).books() };
    // The null handle is allowed, and ignored.
    if let Some(block) = books.memory.remove(&memory.as_raw()) {
        books.held -= block.size.get();
        books.calls.push(DeviceCall::Free(block));
    }
}

/// The handle of a buffer is its size.
unsafe extern "system" fn create_buffer(
    _: vk::Device,
    info: *const vk::BufferCreateInfo<'_>,
    _: *const vk::AllocationCallbacks<'_>,
    buffer: *mut vk::Buffer,
) -> vk::Result {
    // SAFETY: the caller passes a structure, and memory for a handle.
    unsafe { buffer.write(vk::Buffer::from_raw((*info).size)) };
    vk::Result::SUCCESS
}

unsafe extern "system" fn destroy_buffer(
    _: vk::Device,
    _: vk::Buffer,
    _: *const vk::AllocationCallbacks<'_>,
) {
}

/// Returns the memory that a buffer needs.
fn requirements(buffer: vk::Buffer) -> vk::MemoryRequirements {
    vk::MemoryRequirements {
        size: buffer.as_raw().next_multiple_of(BUFFER_ALIGNMENT),
        alignment: BUFFER_ALIGNMENT,
        memory_type_bits: 0b1_1111,
    }
}

unsafe extern "system" fn buffer_memory_requirements(
    _: vk::Device,
    buffer: vk::Buffer,
    filled: *mut vk::MemoryRequirements,
) {
    // SAFETY: the caller passes memory for the structure.
    unsafe { filled.write(requirements(buffer)) };
}

unsafe extern "system" fn buffer_memory_requirements_2(
    _: vk::Device,
    info: *const vk::BufferMemoryRequirementsInfo2<'_>,
    filled: *mut vk::MemoryRequirements2<'_>,
) {
    // SAFETY: the caller passes two structures. Those that follow in the chain begin as `BaseOutStructure` does.
    unsafe {
        let needed = requirements((*info).buffer);
        (*filled).memory_requirements = needed;
        let mut next = (*filled).p_next.cast::<vk::BaseOutStructure<'_>>();
        while !next.is_null() {
            if (*next).s_type == vk::StructureType::MEMORY_DEDICATED_REQUIREMENTS {
                let dedicated = next.cast::<vk::MemoryDedicatedRequirements<'_>>();
                (*dedicated).prefers_dedicated_allocation = (needed.size >= PREFERS_DEDICATED.get()).into();
                (*dedicated).requires_dedicated_allocation = vk::FALSE;
            }
            next = (*next).p_next;
        }
    }
}

unsafe extern "system" fn bind_buffer_memory(
    _: vk::Device,
    _: vk::Buffer,
    _: vk::DeviceMemory,
    _: vk::DeviceSize,
) -> vk::Result {
    vk::Result::SUCCESS
}

unsafe extern "system" fn bind_buffer_memory_2(
    _: vk::Device,
    _: u32,
    _: *const vk::BindBufferMemoryInfo<'_>,
) -> vk::Result {
    vk::Result::SUCCESS
}
