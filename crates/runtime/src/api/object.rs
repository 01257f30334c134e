//! The common part of all device children: `ID3D12Object` and `ID3D12DeviceChild`.

use std::fmt;
use std::sync::Arc;

use heapwright_d3d12::PCWSTR;
use windows_core::{ComObject, ComObjectInner, IUnknownImpl, Interface};

use super::device::Device;
use super::private_data::PrivateData;
use crate::aliasing::Label;
use crate::debug::{LiveObject, MessageLog, ObjectKind};
use crate::drivers::heap::DriverHeap;
use crate::residency::PageableRecord;
use crate::rules::Refusal;

/// The common part of a COM object that is a child of a device.
pub(super) struct Child {
    pub(super) device: ComObject<Device>,
    pub(super) private_data: PrivateData,
    /// Memory of the object's own, to which `MakeResident` and `Evict` apply. Messages about it contain the object's
    /// name.
    pub(super) memory: Option<Arc<DriverHeap>>,
    /// Residency record of a pageable object without memory. The residency ledger stores the object's name.
    pub(super) residency: Option<Arc<PageableRecord>>,
    /// The object's name, for the aliasing tracker.
    pub(super) label: Option<Arc<Label>>,
    /// Counts the object for `ID3D12DebugDevice::ReportLiveDeviceObjects`.
    pub(super) _live: Option<LiveObject>,
}

impl Child {
    /// Creates a child without memory of its own.
    pub(super) fn new(device: ComObject<Device>) -> Self {
        Self {
            device,
            private_data: PrivateData::default(),
            memory: None,
            residency: None,
            label: None,
            _live: None,
        }
    }

    /// Sets the name for `SetName`.
    ///
    /// # Safety
    ///
    /// `name` is null or a zero-terminated UTF-16 string.
    pub(super) unsafe fn set_name(&self, name: PCWSTR) -> Result<(), Refusal> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.private_data.set_name(name)? };
        if self.memory.is_none() && self.residency.is_none() && self.label.is_none() {
            return Ok(());
        }
        let name = self.private_data.name();
        if let Some(label) = &self.label {
            label.set(name.as_deref());
        }
        if let Some(memory) = &self.memory {
            memory.set_name(name.as_deref());
        }
        if let Some(residency) = &self.residency {
            residency.set_name(name.as_deref());
        }
        Ok(())
    }

    /// Checks whether the object is a child of `device`.
    pub(super) fn belongs_to(&self, device: &Device) -> bool {
        std::ptr::eq(self.device.get(), device)
    }

    /// Counts the child as a live object of `kind`.
    pub(super) fn counted(self, kind: ObjectKind) -> Self {
        Self { _live: Some(self.device.debug().live().created(kind)), ..self }
    }

    /// Returns the log of the device.
    pub(super) fn log(&self) -> &MessageLog {
        self.device.log()
    }
}

/// Implements `ID3D12Object` and `ID3DDestructionNotifier` for an object with methods `log` and `set_object_name` (an
/// `unsafe fn`, whose pointer is null or a zero-terminated UTF-16 string) and with [`PrivateData`] at the field path
/// `$($data).+`.
macro_rules! implement_object {
    ($outer:ty, $($data:ident).+) => {
        impl heapwright_d3d12::ID3D12Object_Impl for $outer {
            fn GetPrivateData(
                &self,
                guid: *const windows_core::GUID,
                pdatasize: *mut u32,
                pdata: *mut std::ffi::c_void,
            ) -> windows_core::Result<()> {
                // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
                unsafe { self.$($data).+.get(self.log(), guid, pdatasize, pdata) }
            }

            fn SetPrivateData(
                &self,
                guid: *const windows_core::GUID,
                datasize: u32,
                pdata: *const std::ffi::c_void,
            ) -> windows_core::Result<()> {
                // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
                unsafe { self.$($data).+.set(self.log(), guid, datasize, pdata) }
            }

            fn SetPrivateDataInterface(
                &self,
                guid: *const windows_core::GUID,
                pdata: windows_core::Ref<'_, windows_core::IUnknown>,
            ) -> windows_core::Result<()> {
                $crate::api::call::run(self.log(), "SetPrivateDataInterface", || {
                    // SAFETY: by the COM contract, guid is null or points to a GUID.
                    unsafe { self.$($data).+.set_interface(guid, pdata) }
                })
            }

            fn SetName(&self, name: &heapwright_d3d12::PCWSTR) -> windows_core::Result<()> {
                $crate::api::call::run(self.log(), "SetName", || {
                    // SAFETY: by the COM contract, the name is null or a zero-terminated UTF-16 string.
                    unsafe { self.set_object_name(*name) }
                })
            }
        }

        impl heapwright_d3d12::ID3DDestructionNotifier_Impl for $outer {
            fn RegisterDestructionCallback(
                &self,
                callbackfn: heapwright_d3d12::PFN_DESTRUCTION_CALLBACK,
                pdata: *const std::ffi::c_void,
                pcallbackid: *mut u32,
            ) -> windows_core::Result<()> {
                $crate::api::call::run(self.log(), "RegisterDestructionCallback", || {
                    // SAFETY: by the COM contract, the callback may be called with this data until it is unregistered,
                    // and pCallbackID is null or points to a writable number.
                    unsafe { self.$($data).+.destruction().register(callbackfn, pdata, pcallbackid.as_mut()) }
                })
            }

            fn UnregisterDestructionCallback(&self, callbackid: u32) -> windows_core::Result<()> {
                $crate::api::call::run(self.log(), "UnregisterDestructionCallback", || {
                    self.$($data).+.destruction().unregister(callbackid)
                })
            }
        }
    };
}

/// Implements `IDXGIObject` for an object with a field `private_data`. `$parent` is its `GetParent`.
macro_rules! implement_dxgi_object {
    ($outer:ty: $parent:item) => {
        impl IDXGIObject_Impl for $outer {
            fn SetPrivateData(&self, name: *const GUID, datasize: u32, pdata: *const c_void) -> Result<()> {
                // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
                unsafe { self.private_data.set(MessageLog::unattached(), name, datasize, pdata) }
            }

            fn SetPrivateDataInterface(&self, name: *const GUID, punknown: Ref<'_, IUnknown>) -> Result<()> {
                call::run(MessageLog::unattached(), "SetPrivateDataInterface", || {
                    // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
                    unsafe { self.private_data.set_interface(name, punknown) }
                })
            }

            fn GetPrivateData(&self, name: *const GUID, pdatasize: *mut u32, pdata: *mut c_void) -> Result<()> {
                // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
                unsafe { self.private_data.get(MessageLog::unattached(), name, pdatasize, pdata) }
            }

            $parent
        }
    };
}

/// Implements `ID3D12Object` and `ID3D12DeviceChild` for an object with a field `child`.
macro_rules! implement_child {
    ($outer:ty) => {
        $crate::api::object::implement_object!($outer, child.private_data);

        impl $crate::api::object::Owned for $outer {
            fn child(&self) -> &$crate::api::object::Child {
                &self.child
            }
        }

        impl $outer {
            /// # Safety
            ///
            /// `name` is null or a zero-terminated UTF-16 string.
            unsafe fn set_object_name(
                &self,
                name: heapwright_d3d12::PCWSTR,
            ) -> Result<(), $crate::rules::Refusal> {
                // SAFETY: guaranteed by the caller.
                unsafe { self.child.set_name(name) }
            }
        }

        impl $outer {
            /// Returns the log of the object's device.
            fn log(&self) -> &$crate::debug::MessageLog {
                self.child.log()
            }
        }

        impl heapwright_d3d12::ID3D12DeviceChild_Impl for $outer {
            fn GetDevice(
                &self,
                riid: *const windows_core::GUID,
                ppvdevice: *mut *mut std::ffi::c_void,
            ) -> windows_core::Result<()> {
                $crate::api::call::run(self.log(), "GetDevice", || {
                    let device = $crate::api::device::Device::shown(&self.child.device);
                    // SAFETY: by the COM contract, riid is null or points to a GUID, ppvDevice to writable space for a
                    // pointer.
                    unsafe { $crate::api::call::hand_out(&device, riid, ppvdevice) }
                })
            }
        }
    };
}

/// Implements `ID3D12Object`, `ID3D12DeviceChild` and `ID3D12Pageable` for an object with a field `child`.
macro_rules! implement_pageable {
    ($outer:ty) => {
        $crate::api::object::implement_child!($outer);

        impl heapwright_d3d12::ID3D12Pageable_Impl for $outer {}
    };
}

/// Implements `ID3D12PageableTools` for an object with a field `child` and a method `allocation`.
macro_rules! implement_pageable_tools {
    ($outer:ty) => {
        impl heapwright_d3d12::ID3D12PageableTools_Impl for $outer {
            fn GetAllocation(
                &self,
                pallocation: *mut heapwright_d3d12::D3D12_GPU_VIRTUAL_ADDRESS_RANGE,
            ) -> windows_core::Result<()> {
                $crate::api::call::run(self.log(), "ID3D12PageableTools::GetAllocation", || {
                    // SAFETY: by the COM contract, pAllocation is null or points to writable space for a range.
                    let out = unsafe { pallocation.as_mut() };
                    let out = out.ok_or_else(|| $crate::rules::Refusal::invalid("pAllocation is null"))?;
                    let found = self.allocation();
                    *out = heapwright_d3d12::D3D12_GPU_VIRTUAL_ADDRESS_RANGE {
                        StartAddress: heapwright_d3d12::D3D12_GPU_VIRTUAL_ADDRESS(found.start.get()),
                        SizeInBytes: found.size.get(),
                    };
                    Ok(())
                })
            }
        }
    };
}

pub(super) use {
    implement_child, implement_dxgi_object, implement_object, implement_pageable, implement_pageable_tools,
};

/// A COM object that is a child of a device.
pub(super) trait Owned {
    /// Returns the common part of the child.
    fn child(&self) -> &Child;
}

/// Returns this runtime's object behind an interface that the application passed as `name`.
///
/// # Errors
///
/// Returns E_INVALIDARG for null, for an object of another runtime or kind, and for an object of another device.
pub(super) fn own<'a, T>(
    device: &Device,
    interface: Option<&'a impl Interface>,
    name: impl fmt::Display,
) -> Result<&'a T::Outer, Refusal>
where
    T: ComObjectInner,
    T::Outer: Owned + IUnknownImpl<Impl = T> + 'static,
{
    let interface = interface.ok_or_else(|| Refusal::invalid(format!("{name} is null")))?;
    let object = interface.cast_object_ref::<T>().map_err(|_| {
        Refusal::invalid(format!("{name} has the wrong type or was not created by this runtime"))
    })?;
    if !object.child().belongs_to(device) {
        return Err(Refusal::invalid(format!("{name} belongs to another device")));
    }
    Ok(object)
}
