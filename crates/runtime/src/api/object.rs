//! What all children of a device share: `ID3D12Object` and `ID3D12DeviceChild`.

use windows_core::ComObject;

use super::device::Device;
use super::private_data::PrivateData;
use crate::debug::{LiveObject, MessageLog, ObjectKind};

/// The part of a COM object that belongs to every child of a device.
pub(super) struct Child {
    pub(super) device: ComObject<Device>,
    pub(super) private_data: PrivateData,
    /// Counts the object for `ID3D12DebugDevice::ReportLiveDeviceObjects`.
    _live: Option<LiveObject>,
}

impl Child {
    pub(super) fn new(device: ComObject<Device>) -> Self {
        Self { device, private_data: PrivateData::default(), _live: None }
    }

    /// The same child, which counts as a live object of `kind`.
    pub(super) fn counted(self, kind: ObjectKind) -> Self {
        Self { _live: Some(self.device.debug().live().created(kind)), ..self }
    }

    /// The log of the device.
    pub(super) fn log(&self) -> &MessageLog {
        self.device.log()
    }
}

/// Implements `ID3D12Object` for an object that has a method `log`, and [`PrivateData`] at the field path `$($data).+`.
macro_rules! implement_object {
    ($outer:ty, $($data:ident).+) => {
        impl heapwright_d3d12::ID3D12Object_Impl for $outer {
            fn GetPrivateData(
                &self,
                guid: *const windows_core::GUID,
                pdatasize: *mut u32,
                pdata: *mut std::ffi::c_void,
            ) -> windows_core::Result<()> {
                $crate::api::call::run(self.log(), "GetPrivateData", || self.$($data).+.get(guid, pdatasize, pdata))
            }

            fn SetPrivateData(
                &self,
                guid: *const windows_core::GUID,
                datasize: u32,
                pdata: *const std::ffi::c_void,
            ) -> windows_core::Result<()> {
                $crate::api::call::run(self.log(), "SetPrivateData", || self.$($data).+.set(guid, datasize, pdata))
            }

            fn SetPrivateDataInterface(
                &self,
                guid: *const windows_core::GUID,
                pdata: windows_core::Ref<'_, windows_core::IUnknown>,
            ) -> windows_core::Result<()> {
                $crate::api::call::run(self.log(), "SetPrivateDataInterface", || {
                    self.$($data).+.set_interface(guid, pdata)
                })
            }

            fn SetName(&self, name: &windows_core::PCWSTR) -> windows_core::Result<()> {
                $crate::api::call::run(self.log(), "SetName", || self.$($data).+.set_name(*name))
            }
        }
    };
}

/// Implements `ID3D12Object`, `ID3D12DeviceChild` and `ID3D12Pageable` for an object with a field `child`.
macro_rules! implement_pageable {
    ($outer:ty) => {
        $crate::api::object::implement_object!($outer, child.private_data);

        impl $outer {
            /// Where the calls of this object report to: the log of its device.
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
                    $crate::api::call::hand_out(&self.child.device, riid, ppvdevice)
                })
            }
        }

        impl heapwright_d3d12::ID3D12Pageable_Impl for $outer {}
    };
}

pub(super) use {implement_object, implement_pageable};
