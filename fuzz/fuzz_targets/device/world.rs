//! The objects that the calls of one input use.

use std::ffi::c_void;
use std::ptr::null_mut;

use heapwright_d3d12::*;
use heapwright_runtime::exports::D3D12CreateDevice;
use heapwright_runtime::{HostProfile, Instance};
use windows_core::{GUID, IUnknown, Interface};

use crate::sharing::Handles;
use crate::tracking::Tool;

pub const IIDS: [GUID; 13] = [
    ID3D12Heap::IID,
    ID3D12Heap1::IID,
    ID3D12Resource::IID,
    ID3D12Resource2::IID,
    ID3D12Pageable::IID,
    ID3D12Object::IID,
    ID3D12DeviceChild::IID,
    IUnknown::IID,
    ID3D12Device14::IID,
    ID3D12Fence::IID,
    ID3D12Fence1::IID,
    ID3D12ManualWriteTrackingResource::IID,
    GUID::from_u128(0x1234_5678),
];

/// A GPU, its devices and the created objects.
pub struct World {
    pub gpu: Instance,
    /// A second device on the adapter, created on demand.
    pub second: Option<ID3D12Device>,
    pub objects: Objects,
    pub handles: Handles,
    pub tool: Tool,
}

/// Live objects.
pub struct Objects(Vec<IUnknown>);

impl Objects {
    pub fn pick(&self, index: u8) -> Option<&IUnknown> {
        self.0.get(usize::from(index) % self.0.len().max(1))
    }

    pub fn pick_as<T: Interface>(&self, index: u8) -> Option<T> {
        self.pick(index)?.cast().ok()
    }

    /// Stores the object that a call returned.
    pub fn take(&mut self, raw: *mut c_void) {
        if !raw.is_null() {
            // SAFETY: a creating call returns an interface pointer with a reference, or null.
            self.0.push(unsafe { IUnknown::from_raw(raw) });
        }
    }

    pub fn release(&mut self, index: u8) {
        if !self.0.is_empty() {
            self.0.swap_remove(usize::from(index) % self.0.len());
        }
    }
}

impl World {
    /// Opens a new GPU of the profile with this number.
    pub fn open(profile: u8, has_tool: bool) -> Self {
        let profiles = HostProfile::all();
        // The first six have every interface, which the calls below require. The profile whose budget changes
        // by itself would start a thread for each input.
        let profile = profiles
            .iter()
            .filter(|profile| profile.budget_schedule.is_empty())
            .nth(usize::from(profile) % 6);
        let mut tool = Tool::default();
        tool.install(has_tool);
        Self {
            gpu: Instance::open(profile.expect("six and more")).expect("a fresh instance"),
            second: None,
            objects: Objects(Vec::new()),
            handles: Handles::default(),
            tool,
        }
    }

    /// Returns the first device, or the second.
    pub fn device(&mut self, second: bool) -> ID3D12Device {
        if !second {
            return self.gpu.device.clone();
        }
        let adapter = self.gpu.adapter.as_raw();
        self.second
            .get_or_insert_with(|| {
                let mut device = null_mut();
                let (level, iid) = (D3D_FEATURE_LEVEL_11_0, &ID3D12Device::IID);
                // SAFETY: the adapter is live, and on S_OK the result is a device with a reference.
                unsafe {
                    assert_eq!(D3D12CreateDevice(adapter, level, iid, &mut device), S_OK);
                    ID3D12Device::from_raw(device)
                }
            })
            .clone()
    }

    /// Releases everything and checks that nothing is left.
    pub fn close(self) {
        let Self { gpu, second, objects, handles, tool } = self;
        drop(tool);
        drop(objects);
        handles.close(&gpu.device);
        for group in [DXGI_MEMORY_SEGMENT_GROUP_LOCAL, DXGI_MEMORY_SEGMENT_GROUP_NON_LOCAL] {
            let mut info = DXGI_QUERY_VIDEO_MEMORY_INFO::default();
            // SAFETY: the structure is writable.
            unsafe { gpu.adapter.QueryVideoMemoryInfo(0, group, &mut info) }.ok().expect("answered");
            assert_eq!(info.CurrentUsage, 0, "memory was leaked");
        }
        let Instance { device, .. } = gpu;
        for device in second.into_iter().chain([device]) {
            let raw = device.into_raw();
            // SAFETY: the last reference is released by hand, to check that it is the last.
            let left =
                unsafe { (IUnknown::from_raw_borrowed(&raw).expect("not null").vtable().Release)(raw) };
            assert_eq!(left, 0, "an object still holds the device");
        }
    }
}
