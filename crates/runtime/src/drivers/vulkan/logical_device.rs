//! The logical device, its queues, and whether it is lost.

use std::collections::BTreeMap;
use std::ffi::c_char;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use ash::vk;
use heapwright_d3d12::DXGI_ERROR_DEVICE_REMOVED;

use super::error::VulkanError;
use super::hardware::{Hardware, OWN_MEMORY};
use super::instance::VulkanInstance;
use crate::ddi::DriverError;
use crate::drivers::removal_sink::RemovalSink;

/// The open devices, by their index in the loader's order.
struct OpenDevices(Mutex<BTreeMap<usize, Arc<LogicalDevice>>>);

/// The devices that the D3D12 devices of the process share. They stay open: vkDestroyDevice of NVIDIA's driver (580)
/// may wait forever if another thread that used the driver ends at the same time, and a device takes a third of a
/// second to open.
static OPEN: OpenDevices = OpenDevices(Mutex::new(BTreeMap::new()));

impl OpenDevices {
    /// Returns the device with an index. Opens it if it is not open, or is lost.
    fn get(&self, index: usize) -> Result<Arc<LogicalDevice>, VulkanError> {
        let mut devices = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(device) = devices.get(&index).filter(|device| device.lost().is_none()) {
            return Ok(Arc::clone(device));
        }
        let instance = VulkanInstance::load()?;
        let mut hardware = instance.hardware()?;
        let count = hardware.len();
        if count == 0 {
            return Err(VulkanError::NoDevice);
        }
        if index >= count {
            return Err(VulkanError::NoSuchDevice { index, count });
        }
        let device = LogicalDevice::open_with(instance, hardware.swap_remove(index), ash::Device::clone)?;
        devices.insert(index, Arc::clone(&device));
        Ok(device)
    }
}

/// A logical device, destroyed when dropped.
pub(super) struct LogicalDevice {
    functions: ash::Device,
    hardware: Hardware,
    queues: Vec<Mutex<vk::Queue>>,
    next_queue: AtomicUsize,
    set_priority: Option<vk::PFN_vkSetDeviceMemoryPriorityEXT>,
    types_to_import: Option<vk::PFN_vkGetMemoryHostPointerPropertiesEXT>,
    /// The first call that lost the device.
    lost: Mutex<Option<String>>,
    /// The D3D12 devices, which are removed when the device is lost.
    removals: Mutex<Vec<Weak<dyn RemovalSink>>>,
    mapping: Mutex<()>,
    instance: &'static VulkanInstance,
}

/// The number of queues that the driver uses at most. D3D12 queues share them.
const MAX_QUEUES: u32 = 8;

/// How often a wait that runs out of memory is repeated, a millisecond apart, before the device counts as lost.
const RETRIES: u32 = 1000;

impl LogicalDevice {
    /// Returns the process's device with an index in the loader's order. Opens it if it is not open, or is lost.
    pub(super) fn of_process(index: usize) -> Result<Arc<Self>, VulkanError> {
        OPEN.get(index)
    }

    /// Opens a device whose functions `replace` may replace.
    pub(super) fn open_with(
        instance: &'static VulkanInstance,
        hardware: Hardware,
        replace: impl FnOnce(&ash::Device) -> ash::Device,
    ) -> Result<Arc<Self>, VulkanError> {
        hardware.check()?;
        let (family, count) = hardware.queue_family.unwrap_or((0, 1));
        let priorities = vec![1.0; usize::try_from(count.min(MAX_QUEUES)).unwrap_or(1)];
        let families =
            [vk::DeviceQueueCreateInfo::default().queue_family_index(family).queue_priorities(&priorities)];
        let features =
            vk::PhysicalDeviceFeatures::default().texture_compression_bc(hardware.has_block_compression);
        let mut vulkan12 = vk::PhysicalDeviceVulkan12Features::default()
            .timeline_semaphore(true)
            .buffer_device_address(hardware.has_capture_replay)
            .buffer_device_address_capture_replay(hardware.has_capture_replay);
        let mut vulkan13 =
            vk::PhysicalDeviceVulkan13Features::default().maintenance4(true).synchronization2(true);
        let mut priority = vk::PhysicalDeviceMemoryPriorityFeaturesEXT::default().memory_priority(true);
        let mut pageable = vk::PhysicalDevicePageableDeviceLocalMemoryFeaturesEXT::default()
            .pageable_device_local_memory(true);
        let mut names: Vec<*const c_char> = Vec::new();
        let mut info = vk::DeviceCreateInfo::default()
            .queue_create_infos(&families)
            .enabled_features(&features)
            .push_next(&mut vulkan12)
            .push_next(&mut vulkan13);
        if hardware.extensions.memory_budget {
            names.push(ash::ext::memory_budget::NAME.as_ptr());
        }
        if hardware.extensions.memory_priority {
            names.push(ash::ext::memory_priority::NAME.as_ptr());
            info = info.push_next(&mut priority);
        }
        if hardware.extensions.pageable_device_local_memory {
            names.push(ash::ext::pageable_device_local_memory::NAME.as_ptr());
            info = info.push_next(&mut pageable);
        }
        if hardware.import_alignment.is_some() {
            names.push(ash::ext::external_memory_host::NAME.as_ptr());
        }
        let info = info.enabled_extension_names(&names);
        // SAFETY: the physical device belongs to the instance, which lives as long as the process, and has the features
        // and extensions that are enabled; all structures outlive the call.
        let functions = unsafe { instance.functions().create_device(hardware.device, &info, None) }
            .map_err(VulkanError::of("vkCreateDevice"))?;
        let functions = replace(&functions);
        Ok(Arc::new(Self::new(instance, hardware, functions, (family, priorities.len()))))
    }

    fn new(
        instance: &'static VulkanInstance,
        hardware: Hardware,
        functions: ash::Device,
        (family, queues): (u32, usize),
    ) -> Self {
        let queues = (0..).take(queues);
        // SAFETY: the device was created with as many queues of this family.
        let queues = queues.map(|index| Mutex::new(unsafe { functions.get_device_queue(family, index) }));
        let queues = queues.collect();
        let set_priority = hardware.extensions.pageable_device_local_memory.then(|| {
            ash::ext::pageable_device_local_memory::Device::new(instance.functions(), &functions)
                .fp()
                .set_device_memory_priority_ext
        });
        let types_to_import = hardware.import_alignment.is_some().then(|| {
            ash::ext::external_memory_host::Device::new(instance.functions(), &functions)
                .fp()
                .get_memory_host_pointer_properties_ext
        });
        Self {
            functions,
            hardware,
            queues,
            next_queue: AtomicUsize::new(0),
            set_priority,
            types_to_import,
            lost: Mutex::default(),
            removals: Mutex::default(),
            mapping: Mutex::default(),
            instance,
        }
    }

    /// The device's functions.
    pub(super) fn functions(&self) -> &ash::Device {
        &self.functions
    }

    /// The physical device.
    pub(super) fn hardware(&self) -> &Hardware {
        &self.hardware
    }

    /// The instance.
    pub(super) fn instance(&self) -> &VulkanInstance {
        self.instance
    }

    /// Returns the index of the next queue, in turn. The first is left to paging if there are several.
    pub(super) fn choose_queue(&self) -> usize {
        match self.queues.len() {
            0 | 1 => 0,
            count => 1 + self.next_queue.fetch_add(1, Ordering::Relaxed) % (count - 1),
        }
    }

    /// Locks a queue, as Vulkan requires for every submission.
    pub(super) fn queue(&self, index: usize) -> MutexGuard<'_, vk::Queue> {
        self.queues[index].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a queue has no work. If the device is lost, it has none.
    pub(super) fn wait_queue_idle(&self, index: usize) {
        // Locked only for the call, as a loss is reported after it.
        let wait = || {
            let queue = self.queue(index);
            // SAFETY: the queue is the device's, and locked.
            unsafe { self.functions.queue_wait_idle(*queue) }
        };
        // A failure is reported as the loss of the device.
        let _ = self.waiting("vkQueueWaitIdle", wait);
    }

    /// Has priorities told to a function instead of the device.
    #[cfg(test)]
    pub(super) fn tell_priorities_to(&mut self, function: vk::PFN_vkSetDeviceMemoryPriorityEXT) {
        self.set_priority = Some(function);
    }

    /// Sets the priority of memory, if the device supports that.
    pub(super) fn set_priority(&self, memory: vk::DeviceMemory, priority: f32) {
        if let Some(set_priority) = self.set_priority {
            // SAFETY: the memory belongs to the device, and the extension is enabled.
            unsafe { set_priority(self.functions.handle(), memory, priority) };
        }
    }

    /// Returns the memory types, as bits, in which memory of this process can be imported. Returns `None` if there are
    /// none.
    pub(super) fn types_to_import(&self, start: NonNull<u8>) -> Option<u32> {
        let mut properties = vk::MemoryHostPointerPropertiesEXT::default();
        let (device, start) = (self.functions.handle(), start.as_ptr().cast());
        // SAFETY: the extension is enabled, and the driver does not access the memory.
        let queried = unsafe { self.types_to_import?(device, OWN_MEMORY, start, &mut properties) };
        (queried == vk::Result::SUCCESS).then_some(properties.memory_type_bits).filter(|&types| types != 0)
    }

    /// Locks the mapping of memory.
    pub(super) fn mapping(&self) -> MutexGuard<'_, ()> {
        self.mapping.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a call failed for a reason after which the device's state is unknown, and removes the D3D12 devices
    /// if this is the first such failure.
    pub(super) fn lose(&self, call: &'static str, result: vk::Result) {
        let what = format!("{call} returned {result} ({})", result.as_raw());
        let is_first = {
            let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
            let is_first = lost.is_none();
            lost.get_or_insert(what);
            is_first
        };
        if is_first {
            let removals = std::mem::take(&mut *self.removals());
            removals.iter().filter_map(Weak::upgrade).for_each(|removal| self.remove(removal));
        }
    }

    /// Removes a D3D12 device when this device is lost, for as long as `removal` lives.
    pub(super) fn report_loss(&self, removal: &Arc<dyn RemovalSink>) {
        {
            let mut removals = self.removals();
            removals.retain(|removal| removal.strong_count() > 0);
            removals.push(Arc::downgrade(removal));
        }
        // If the loss came before it could be reported; a device is removed only once.
        self.remove(Arc::clone(removal));
    }

    fn remove(&self, removal: Arc<dyn RemovalSink>) {
        if let Some(what) = self.lost() {
            removal.remove_elsewhere(DXGI_ERROR_DEVICE_REMOVED, format!("the GPU is lost: {what}"));
        }
    }

    fn removals(&self) -> MutexGuard<'_, Vec<Weak<dyn RemovalSink>>> {
        self.removals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the description of the failure that lost the device, if it is lost.
    pub(super) fn lost(&self) -> Option<String> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Undoes the loss of a device whose calls only seemed to fail.
    #[cfg(test)]
    pub(super) fn find_again(&self) {
        *self.lost.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Refuses work for a device that is lost.
    pub(super) fn check_present(&self) -> Result<(), DriverError> {
        match self.lost() {
            None => Ok(()),
            Some(_) => Err(DriverError::DeviceLost { call: "an earlier call" }),
        }
    }

    /// Waits for the GPU by a call of `wait`.
    pub(super) fn waiting(
        &self,
        call: &'static str,
        wait: impl Fn() -> Result<(), vk::Result>,
    ) -> Result<(), DriverError> {
        let mut waited = wait();
        // Nothing that the commands use may be freed before they are done, so running out of memory is no reason to
        // give up at once.
        for _ in 0..RETRIES {
            let (host, device) =
                (vk::Result::ERROR_OUT_OF_HOST_MEMORY, vk::Result::ERROR_OUT_OF_DEVICE_MEMORY);
            if waited != Err(host) && waited != Err(device) {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
            waited = wait();
        }
        waited.map_err(|result| {
            self.lose(call, result);
            DriverError::DeviceLost { call }
        })
    }

    /// Returns a closure for `map_err` that converts the result of a call that creates something of `requested` bytes.
    pub(super) fn creating(
        &self,
        call: &'static str,
        requested: heapwright_core::ByteSize,
    ) -> impl FnOnce(vk::Result) -> DriverError {
        move |result| {
            tracing::debug!(call, %requested, result = result.as_raw(), "a Vulkan call failed");
            match result {
                vk::Result::ERROR_OUT_OF_DEVICE_MEMORY | vk::Result::ERROR_OUT_OF_POOL_MEMORY => {
                    DriverError::OutOfDeviceMemory { requested }
                }
                vk::Result::ERROR_OUT_OF_HOST_MEMORY
                | vk::Result::ERROR_TOO_MANY_OBJECTS
                | vk::Result::ERROR_MEMORY_MAP_FAILED => DriverError::HostOutOfMemory { requested },
                other => {
                    self.lose(call, other);
                    DriverError::DeviceLost { call }
                }
            }
        }
    }
}

impl Drop for LogicalDevice {
    fn drop(&mut self) {
        // SAFETY: everything that was created from the device holds a reference to it and destroyed itself; nothing is
        // in execution, since each submission is waited for. A lost device may be destroyed, too.
        unsafe { self.functions.destroy_device(None) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drivers::vulkan::fault_tests::{keep_open, or_skip};

    #[test]
    fn a_device_is_opened_once_until_it_is_lost() {
        let devices = OpenDevices(Mutex::default());
        let Some(first) = or_skip(devices.get(0)) else { return };
        let again = devices.get(0).expect("it is open");
        assert!(Arc::ptr_eq(&first, &again));
        keep_open(&first);
        first.lose("vkQueueSubmit", vk::Result::ERROR_DEVICE_LOST);
        let second = devices.get(0).expect("opened again");
        keep_open(&second);
        assert_eq!((second.lost(), Arc::ptr_eq(&first, &second)), (None, false));
        let no_device = devices.get(1000).err();
        assert!(matches!(no_device, Some(VulkanError::NoSuchDevice { index: 1000, .. })), "{no_device:?}");
    }
}
