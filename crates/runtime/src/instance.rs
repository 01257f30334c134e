//! A GPU with its adapter and device, created in one safe call.

mod paging;

use std::fmt;
use std::sync::Arc;

use heapwright_core::ByteSize;
use heapwright_d3d12::trim::D3D12_TRIM_NOTIFICATION_FLAGS;
use heapwright_d3d12::{
    D3D12_MESSAGE_SEVERITY, ID3D12Device, ID3D12DeviceFactory, IDXGIAdapter3, IDXGIFactory4,
};

use crate::aliasing::{AliasingTracking, Violation};
use crate::api::adapter::Adapter;
use crate::api::call;
use crate::api::device::Device;
use crate::api::device_factory::DeviceFactory;
use crate::api::factory::Factory;
use crate::ddi::{DeviceArgs, GpuVirtualAddressRange, SegmentGroup};
use crate::debug::{DebugSettings, MessageLog};
use crate::drivers::driver::Driver;
use crate::drivers::host;
use crate::drivers::host::profile::HostProfile;
#[cfg(feature = "vulkan")]
use crate::drivers::vulkan::{self, VulkanError};
use crate::residency::ResidencyReport;
use crate::rules::{Options, Refusal, SdkVersion, recreate};

/// Options for rules that differ between versions of D3D12, and for tracking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeviceOptions {
    /// The Agility SDK whose rules and interfaces the device has; the newest by default.
    ///
    /// | from | the device |
    /// |---|---|
    /// | 618 | answers D3D12_FEATURE_BARRIER_LAYOUT |
    /// | 619 | answers D3D12_FEATURE_D3D12_OPTIONS22 and has views of buffers by byte offsets |
    /// | 619.4 | takes a non-zero `Alignment` beside the tight alignment flag: a power of two from 8 to the largest alignment of the kind of resource. Sizes, alignments and descriptions are those without it, as on Windows. Views by byte offsets may have a size of 0 |
    /// | 721, with the feature `preview` | has texture layouts by GUID, and the heap flag of memory tracking |
    ///
    /// All interfaces exist whatever the version, and so do the features of versions up to 617.
    pub sdk: SdkVersion,
    /// Tracking of [aliasing](crate::aliasing) from the creation of the device on. Off by default.
    pub aliasing: Option<AliasingTracking>,
}

impl From<DeviceOptions> for Options {
    fn from(options: DeviceOptions) -> Self {
        Self { sdk: options.sdk, ..Self::default() }
    }
}

/// A GPU, simulated or real: its factory, adapter and device.
///
/// Two instances share nothing, even if they have the same profile or are of the same Vulkan device.
#[derive(Clone)]
pub struct Instance {
    /// The factory. It enumerates only this adapter.
    pub factory: IDXGIFactory4,
    /// The adapter, which accounts for the memory of its devices. [`HostProfile::has_adapter`] says whether a program
    /// that opens the profile by name should use it.
    pub adapter: IDXGIAdapter3,
    /// A device on the adapter. The debug layer is on: the device implements `ID3D12InfoQueue1` and stores messages. A
    /// device with a profile of [the first generation](HostProfile::is_first_generation) stores messages but does not
    /// have that interface.
    pub device: ID3D12Device,
    gpu: Arc<Driver>,
    log: Arc<MessageLog>,
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instance").field("device", &self.device).finish_non_exhaustive()
    }
}

impl Instance {
    /// Opens a new GPU with the given profile.
    ///
    /// # Errors
    ///
    /// Returns E_INVALIDARG for a profile that [`HostProfile::validate`] refuses, and errors of the driver when it
    /// creates the device.
    ///
    /// ```
    /// use heapwright_runtime::{HostProfile, Instance};
    ///
    /// let gpu = Instance::open(HostProfile::default_profile())?;
    /// // SAFETY: the device is a live COM object.
    /// assert_eq!(unsafe { gpu.device.GetNodeCount() }, 1);
    /// # Ok::<(), windows_core::Error>(())
    /// ```
    pub fn open(profile: &HostProfile) -> windows_core::Result<Self> {
        Self::open_with(profile, DeviceOptions::default())
    }

    /// Opens a new GPU whose device has the given options.
    ///
    /// # Errors
    ///
    /// Same as [`open`](Self::open).
    pub fn open_with(profile: &HostProfile, options: DeviceOptions) -> windows_core::Result<Self> {
        Self::open_reserving(profile, options, &[])
    }

    /// Opens a new GPU whose device has the given options and reserves GPU virtual address ranges (DirectX-Specs,
    /// *Recreate At GPUVA*). Reserved addresses are only used by objects that are created at them explicitly, with the
    /// device's `ID3D12DeviceTools`.
    ///
    /// The ranges are typically those that `ID3D12PageableTools::GetAllocation` returned in another run. They may be in
    /// any order, need no alignment, and may be empty or overlap. Equivalent to `ID3D12Tools1` of a
    /// [`device_factory`](Self::device_factory), but for the instance's own device. Cost: O(n log n) in the number of
    /// ranges.
    ///
    /// # Errors
    ///
    /// Returns E_INVALIDARG for a range outside of the GPU's address space. Returns DXGI_ERROR_UNSUPPORTED for a
    /// non-empty range if the profile is older than DDI 0111 or not in developer mode. Also returns the errors of
    /// [`open`](Self::open).
    ///
    /// ```
    /// use heapwright_core::{ByteSize, GpuVirtualAddress};
    /// use heapwright_d3d12::*;
    /// use heapwright_runtime::{GpuVirtualAddressRange, SegmentGroup};
    /// use heapwright_runtime::{DeviceOptions, HostProfile, Instance};
    /// use windows_core::Interface as _;
    ///
    /// // As another run recorded it.
    /// let start = GpuVirtualAddress::new(0x12_3456_0000).expect("not zero");
    /// let heap = GpuVirtualAddressRange { start, size: ByteSize::from_mib(1) };
    ///
    /// let profile = HostProfile::default_profile();
    /// let gpu = Instance::open_reserving(profile, DeviceOptions::default(), &[heap])?;
    /// let tools: ID3D12DeviceTools = gpu.device.cast()?;
    /// // SAFETY: a live COM object.
    /// unsafe { tools.SetNextAllocationAddress(D3D12_GPU_VIRTUAL_ADDRESS(start.get())) };
    /// let again: ID3D12PageableTools = gpu.create_heap(heap.size, SegmentGroup::Local, true)?.cast()?;
    /// let mut found = D3D12_GPU_VIRTUAL_ADDRESS_RANGE::default();
    /// // SAFETY: a live COM object, and room for a range.
    /// unsafe { again.GetAllocation(&mut found) }.ok()?;
    /// assert_eq!((found.StartAddress.0, found.SizeInBytes), (start.get(), 1 << 20));
    /// # Ok::<(), windows_core::Error>(())
    /// ```
    pub fn open_reserving(
        profile: &HostProfile,
        options: DeviceOptions,
        ranges: &[GpuVirtualAddressRange],
    ) -> windows_core::Result<Self> {
        call::run(MessageLog::unattached(), "Instance::open", || {
            profile.validate().map_err(|error| Refusal::invalid(error.to_string()))
        })?;
        Self::over(Arc::new(host::driver(profile)), options, ranges)
    }

    /// Opens a device of the system's Vulkan, by its index in the loader's order ([`VulkanGpu::all`]), as
    /// [`open_reserving`](Self::open_reserving) opens a simulated GPU.
    ///
    /// [`VulkanGpu::all`]: crate::VulkanGpu::all
    ///
    /// # Errors
    ///
    /// Returns a [`VulkanError`] if there is no such device or it cannot be opened. Errors of
    /// [`open_reserving`](Self::open_reserving) are of the variant `Call`.
    #[cfg(feature = "vulkan")]
    pub fn open_vulkan(
        index: usize,
        options: DeviceOptions,
        ranges: &[GpuVirtualAddressRange],
    ) -> Result<Self, VulkanError> {
        Self::over(Arc::new(vulkan::driver(index)?), options, ranges).map_err(|error| {
            let result = format!("{:#}", heapwright_d3d12::hresult::Named(error.code()));
            VulkanError::Call { call: "D3D12CreateDevice", result }
        })
    }

    /// Opens a GPU over its driver.
    pub(crate) fn over(
        gpu: Arc<Driver>,
        options: DeviceOptions,
        ranges: &[GpuVirtualAddressRange],
    ) -> windows_core::Result<Self> {
        let driver = Arc::clone(&gpu);
        let factory = Factory::create(vec![Arc::clone(&driver)], 0);
        let adapter = Adapter::create(Arc::clone(&driver), factory.clone());
        let device = call::run(MessageLog::unattached(), "Instance::open", || {
            recreate::check_ranges(ranges, driver.caps())?;
            let args = DeviceArgs::new(ranges);
            Ok(Device::create(driver, &args, DebugSettings::ON, options.into())?)
        })?;
        device.aliasing().set(options.aliasing);
        let log = Arc::clone(device.log());
        let device = Device::shown(&device);
        Ok(Self { factory: factory.cast()?, adapter: adapter.cast()?, device, gpu, log })
    }

    /// Returns a device factory, or `None` if the profile is of
    /// [the first generation](HostProfile::is_first_generation). Pass this instance's [adapter](Self::adapter) to its
    /// `CreateDevice`; its tools (`ID3D12Tools1`) reserve address ranges (DirectX-Specs, *Recreate At GPUVA*).
    ///
    /// The factory starts with the process's debug settings and no ranges to reserve.
    ///
    /// ```
    /// use heapwright_d3d12::{CLSID_D3D12Tools, ID3D12Tools1};
    /// use heapwright_runtime::{HostProfile, Instance};
    ///
    /// let gpu = Instance::open(HostProfile::default_profile())?;
    /// let factory = gpu.device_factory().expect("the profile is new enough");
    /// // SAFETY: a live COM object.
    /// let tools: ID3D12Tools1 = unsafe { factory.GetConfigurationInterface(&CLSID_D3D12Tools) }?;
    /// # Ok::<(), windows_core::Error>(())
    /// ```
    #[must_use]
    pub fn device_factory(&self) -> Option<ID3D12DeviceFactory> {
        (!self.gpu.caps().is_first_generation).then(|| DeviceFactory::create().into_interface())
    }

    /// Returns the stored messages of the debug layer, oldest first, as severity and text.
    ///
    /// Equivalent to reading them through the device's `ID3D12InfoQueue`, but also works for devices without that
    /// interface. Cost: O(messages), under the log's lock.
    ///
    /// ```
    /// use heapwright_d3d12::{D3D12_MESSAGE_SEVERITY_ERROR, ID3D12Heap};
    /// use heapwright_runtime::{HostProfile, Instance};
    ///
    /// let gpu = Instance::open(HostProfile::find("first-generation").expect("it is one of them"))?;
    /// assert!(gpu.messages().is_empty());
    /// let mut heap: Option<ID3D12Heap> = None;
    /// // SAFETY: a live COM object; a null description is one of D3D12's mistakes to make.
    /// unsafe { gpu.device.CreateHeap(std::ptr::null(), &mut heap) }.expect_err("no description");
    /// assert_eq!(gpu.messages()[0].0, D3D12_MESSAGE_SEVERITY_ERROR);
    /// # Ok::<(), windows_core::Error>(())
    /// ```
    #[must_use]
    pub fn messages(&self) -> Vec<(D3D12_MESSAGE_SEVERITY, String)> {
        self.log.stored()
    }

    /// Returns the violations of the rules of [aliasing](crate::aliasing) that the device has found since tracking
    /// began or since the last [`clear_aliasing_violations`](Self::clear_aliasing_violations): the first 4,096, in
    /// order of occurrence.
    ///
    /// Work on queues is checked when it executes, so wait for a fence before calling this. Cost: O(violations), under
    /// the tracker's lock.
    #[must_use]
    pub fn aliasing_violations(&self) -> Vec<Violation> {
        Device::behind(&self.device).map(|device| device.aliasing().violations()).unwrap_or_default()
    }

    /// Discards the aliasing violations found so far.
    pub fn clear_aliasing_violations(&self) {
        if let Some(device) = Device::behind(&self.device) {
            device.aliasing().clear_violations();
        }
    }

    /// Checks the consistency of the aliasing tracker's state; for fuzzing. Cost: O(state), under the tracker's lock.
    ///
    /// # Errors
    ///
    /// Returns a description of the inconsistency.
    #[doc(hidden)]
    #[cfg(debug_assertions)]
    pub fn audit_aliasing(&self) -> Result<(), String> {
        Device::behind(&self.device).map_or(Ok(()), |device| device.aliasing().audit())
    }

    /// Makes the device defective: from the next time that tracking is turned on, it checks aliasing without this law.
    /// Returns whether the law exists. For tests of checks.
    #[cfg(feature = "mutation")]
    #[doc(hidden)]
    pub fn forget_aliasing_law(&self, law: &str) -> bool {
        Device::behind(&self.device).is_some_and(|device| device.aliasing().forget(law))
    }

    /// Turns the tracking of aliasing on or off, or changes its rules.
    ///
    /// Resources created and lists recorded while tracking was off are not checked. Violations found so far are
    /// discarded.
    pub fn track_aliasing(&self, tracking: Option<AliasingTracking>) {
        if let Some(device) = Device::behind(&self.device) {
            device.aliasing().set(tracking);
        }
    }

    /// Returns a report on the residency of the GPU's objects since it was opened: calls of `MakeResident` and `Evict`,
    /// objects paged in and out, and objects with a count above one. See [`residency`](crate::residency) for the
    /// relation between the numbers.
    ///
    /// Cost: O(objects with a count above one), under the ledger's lock.
    ///
    /// ```
    /// use heapwright_d3d12::{D3D12_HEAP_DESC, D3D12_HEAP_PROPERTIES, D3D12_HEAP_TYPE_DEFAULT};
    /// use heapwright_d3d12::{ID3D12Heap, ID3D12Pageable};
    /// use heapwright_runtime::{HostProfile, Instance};
    /// use windows_core::Interface as _;
    ///
    /// let gpu = Instance::open(HostProfile::default_profile())?;
    /// let properties = D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_DEFAULT, ..Default::default() };
    /// let desc = D3D12_HEAP_DESC { SizeInBytes: 1 << 20, Properties: properties, ..Default::default() };
    /// let mut heap: Option<ID3D12Heap> = None;
    /// // SAFETY: the device is a live COM object; description and result outlive the call.
    /// unsafe { gpu.device.CreateHeap(&desc, &mut heap) }?;
    /// let objects = [Some(heap.expect("S_OK comes with a heap").cast::<ID3D12Pageable>()?)];
    /// // SAFETY: device and heap are live COM objects.
    /// unsafe { gpu.device.Evict(&objects) }.ok()?;
    ///
    /// let residency = gpu.residency();
    /// assert_eq!(residency.paged_out.bytes.get(), 1 << 20);
    /// assert_eq!((residency.resident.objects, residency.alive_with_zero), (0, 1));
    /// residency.check_balance().expect("evicted as often as made resident");
    /// # Ok::<(), windows_core::Error>(())
    /// ```
    #[must_use]
    pub fn residency(&self) -> ResidencyReport {
        self.gpu.residency().report()
    }

    /// Calls the trim notification callbacks that are registered with the device's `ID3D12Device15`, as the operating
    /// system does periodically and when usage exceeds the budget. Returns the number of callbacks called. They are
    /// called on this thread.
    ///
    /// `bytes` is the number of bytes to trim for `D3D12_TRIM_NOTIFICATION_FLAG_TRIM_TO_BUDGET`. No callbacks are
    /// called if the profile [does not support trim notifications](HostProfile::has_trim_notifications). Unregistering
    /// a callback waits while callbacks run.
    ///
    /// # Errors
    ///
    /// Returns E_INVALIDARG for flags that do not exist or exclude each other, and if called from a callback.
    ///
    /// ```
    /// use heapwright_core::ByteSize;
    /// use heapwright_d3d12::trim::D3D12_TRIM_NOTIFICATION_FLAG_PERIODIC_TRIM;
    /// use heapwright_runtime::{HostProfile, Instance};
    ///
    /// let gpu = Instance::open(HostProfile::default_profile())?;
    /// let called = gpu.trim(D3D12_TRIM_NOTIFICATION_FLAG_PERIODIC_TRIM, ByteSize::ZERO)?;
    /// assert_eq!(called, 0, "no callback is registered");
    /// # Ok::<(), windows_core::Error>(())
    /// ```
    pub fn trim(&self, flags: D3D12_TRIM_NOTIFICATION_FLAGS, bytes: ByteSize) -> windows_core::Result<usize> {
        call::run(&self.log, "Instance::trim", || match Device::behind(&self.device) {
            Some(device) => device.trim_notifications().raise(flags, bytes),
            None => Ok(0),
        })
    }

    /// Changes the budget of a segment group, as the operating system does when other programs start or exit.
    ///
    /// Events registered for budget changes are signalled. Usage may exceed the new budget.
    pub fn set_budget(&self, group: SegmentGroup, budget: ByteSize) {
        self.gpu.set_budget(group, budget);
    }
}
