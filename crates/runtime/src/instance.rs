//! A simulated GPU with its adapter and device, in one safe call.

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
use crate::ddi::{DeviceArgs, Driver, GpuVirtualAddressRange, SegmentGroup};
use crate::debug::{DebugSettings, MessageLog};
use crate::drivers::host::HostDriver;
use crate::drivers::host::profile::HostProfile;
use crate::residency::ResidencyReport;
use crate::rules::{Options, recreate};

/// Where D3D12 changed its rules, and a device can follow either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeviceOptions {
    /// A non-zero `Alignment` beside the tight alignment flag is a floor, as headers from SDK 1.619.4 on have it, and not an
    /// error, as document TIGHT has it. Off by default.
    pub alignment_is_floor: bool,
    /// What is tracked of [aliasing](crate::aliasing) from the beginning; nothing by default.
    pub aliasing: Option<AliasingTracking>,
}

impl From<DeviceOptions> for Options {
    fn from(options: DeviceOptions) -> Self {
        Self { alignment_is_floor: options.alignment_is_floor, ..Self::default() }
    }
}

/// A GPU of one's own: its factory, adapter and device.
///
/// Two instances share nothing, not even when they come from the same profile.
#[derive(Clone)]
pub struct Instance {
    /// The factory that enumerates the adapter and nothing else.
    pub factory: IDXGIFactory4,
    /// The adapter; it accounts for the memory of its devices. [`HostProfile::has_adapter`] says whether a program that opens
    /// the profile by name is to use it.
    pub adapter: IDXGIAdapter3,
    /// A device on the adapter. The debug layer is on: the device is an `ID3D12InfoQueue1` with its messages, unless its
    /// profile is one of [the first generation](HostProfile::is_first_generation).
    pub device: ID3D12Device,
    gpu: Arc<HostDriver>,
    log: Arc<MessageLog>,
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instance").field("device", &self.device).finish_non_exhaustive()
    }
}

impl Instance {
    /// Opens a fresh GPU that `profile` describes.
    ///
    /// # Errors
    ///
    /// Passes on what the driver answers to the creation of a device, and the objects to QueryInterface. Neither fails for
    /// what is asked here.
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

    /// Opens a fresh GPU whose device follows `options`.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn open_with(profile: &HostProfile, options: DeviceOptions) -> windows_core::Result<Self> {
        Self::open_reserving(profile, options, &[])
    }

    /// Opens a fresh GPU whose device follows `options` and reserves GPU virtual addresses (document RECREATE): nothing is given
    /// them but what is created there, with the device's `ID3D12DeviceTools`.
    ///
    /// The ranges are as `ID3D12PageableTools::GetAllocation` answered them in another run: in any order, aligned to nothing, and
    /// one may be empty or overlap another. The same as [`device_factory`](Self::device_factory) with `ID3D12Tools1`, for the instance's own
    /// device. O(n log n) in the ranges.
    ///
    /// # Errors
    ///
    /// E_INVALIDARG for a range that is not within the GPU's address space; DXGI_ERROR_UNSUPPORTED for any range that is not empty
    /// where the profile is older than DDI 0111 or not in developer mode; as [`open`](Self::open).
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
        let gpu = Arc::new(HostDriver::new(profile));
        let driver: Arc<dyn Driver> = Arc::clone(&gpu) as Arc<dyn Driver>;
        let factory = Factory::create(vec![Arc::clone(&driver)], 0);
        let adapter = Adapter::create(Arc::clone(&driver), factory.clone());
        let device = call::run(MessageLog::unattached(), "Instance::open", || {
            recreate::check_ranges(ranges, driver.caps())?;
            let args = DeviceArgs { reserve_ranges: ranges };
            Ok(Device::create(driver, &args, DebugSettings::ON, options.into())?)
        })?;
        device.aliasing().set(options.aliasing);
        let log = Arc::clone(device.log());
        let device = Device::shown(&device);
        Ok(Self { factory: factory.cast()?, adapter: adapter.cast()?, device, gpu, log })
    }

    /// A device factory, whose `CreateDevice` takes this instance's [adapter](Self::adapter) and whose tools reserve addresses
    /// (`ID3D12Tools1`, document RECREATE); `None` where the profile [is older](HostProfile::is_first_generation).
    ///
    /// It begins with the process's debug settings and nothing to reserve.
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

    /// What the debug layer has said and still stores: severity and text, the oldest first.
    ///
    /// The same as through the device's `ID3D12InfoQueue`, and there also where the device does not answer to that interface.
    /// O(messages) under the log's lock.
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

    /// What the device has found against the rules of [aliasing](crate::aliasing) since it began to track them, or since the last
    /// [`clear_aliasing_violations`](Self::clear_aliasing_violations): the first 4,096, in the order in which they happened.
    ///
    /// What queues do is judged when they do it: wait for a fence before asking. O(violations) under the tracker's lock.
    #[must_use]
    pub fn aliasing_violations(&self) -> Vec<Violation> {
        Device::behind(&self.device).map(|device| device.aliasing().violations()).unwrap_or_default()
    }

    /// Forgets what was found against the rules of aliasing.
    pub fn clear_aliasing_violations(&self) {
        if let Some(device) = Device::behind(&self.device) {
            device.aliasing().clear_violations();
        }
    }

    /// Whether what the tracker of aliasing knows fits together; for fuzzing. O(all that it knows), under its lock.
    ///
    /// # Errors
    ///
    /// What does not fit, in words.
    #[doc(hidden)]
    #[cfg(debug_assertions)]
    pub fn audit_aliasing(&self) -> Result<(), String> {
        Device::behind(&self.device).map_or(Ok(()), |device| device.aliasing().audit())
    }

    /// Makes the device a wrong one, which judges aliasing by all laws but this one from the next time on that it is told to track;
    /// returns whether there is such a law. For tests of checks.
    #[cfg(feature = "mutation")]
    #[doc(hidden)]
    pub fn forget_aliasing_law(&self, law: &str) -> bool {
        Device::behind(&self.device).is_some_and(|device| device.aliasing().forget(law))
    }

    /// Begins to track aliasing, goes on by other rules, or ends.
    ///
    /// Resources that were created, and lists that were recorded, while nothing was tracked are not judged. What was found so
    /// far is forgotten.
    pub fn track_aliasing(&self, tracking: Option<AliasingTracking>) {
        if let Some(device) = Device::behind(&self.device) {
            device.aliasing().set(tracking);
        }
    }

    /// All that happened to the residency of the GPU's objects since it was opened: calls of `MakeResident` and `Evict`, what was
    /// paged in and out, and objects whose count is above one. [`residency`](crate::residency) says how the numbers relate.
    ///
    /// O(objects with a count above one), under the ledger's lock.
    ///
    /// ```
    /// use heapwright_d3d12::{D3D12_HEAP_DESC, D3D12_HEAP_PROPERTIES, D3D12_HEAP_TYPE_DEFAULT, ID3D12Heap, ID3D12Pageable};
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

    /// Tells whoever registered with the device's `ID3D12Device15` that trimming is advisable, as the operating system does at
    /// intervals and when usage is above the budget. Answers how many callbacks were called; they are called on this thread.
    ///
    /// `bytes` goes with `D3D12_TRIM_NOTIFICATION_FLAG_TRIM_TO_BUDGET`. Zero callbacks where the profile
    /// [has no such notifications](HostProfile::has_trim_notifications). Registrations do not end while a callback runs.
    ///
    /// # Errors
    ///
    /// E_INVALIDARG for flags that do not exist or exclude each other, and in a callback.
    ///
    /// ```
    /// use heapwright_core::ByteSize;
    /// use heapwright_d3d12::trim::D3D12_TRIM_NOTIFICATION_FLAG_PERIODIC_TRIM;
    /// use heapwright_runtime::{HostProfile, Instance};
    ///
    /// let gpu = Instance::open(HostProfile::default_profile())?;
    /// assert_eq!(gpu.trim(D3D12_TRIM_NOTIFICATION_FLAG_PERIODIC_TRIM, ByteSize::ZERO)?, 0, "nobody registered");
    /// # Ok::<(), windows_core::Error>(())
    /// ```
    pub fn trim(&self, flags: D3D12_TRIM_NOTIFICATION_FLAGS, bytes: ByteSize) -> windows_core::Result<usize> {
        call::run(&self.log, "Instance::trim", || match Device::behind(&self.device) {
            Some(device) => device.trim_notifications().raise(flags, bytes),
            None => Ok(0),
        })
    }

    /// Changes the budget of a segment group, as the operating system does when other programs come and go.
    ///
    /// Whoever registered for budget changes is told. Usage may be above the budget from then on.
    pub fn set_budget(&self, group: SegmentGroup, budget: ByteSize) {
        self.gpu.set_budget(group, budget);
    }
}
