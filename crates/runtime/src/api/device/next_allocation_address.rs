//! `ID3D12DeviceTools`: the address of the next heap or resource that a thread creates (DirectX-Specs, *Recreate At
//! GPUVA*).

use std::cell::RefCell;
use std::sync::{Arc, Weak};

use heapwright_core::GpuVirtualAddress;
use heapwright_d3d12::*;

use super::Device_Impl;
use crate::api::call;

thread_local! {
    /// Addresses set on this thread and not used yet, at most one per device.
    static ADDRESSES: RefCell<Vec<(Weak<Identity>, GpuVirtualAddress)>> = const { RefCell::new(Vec::new()) };
}

/// Identifies a device for as long as a reference to this value exists.
#[derive(Debug, Default)]
struct Identity;

/// The address of a device's next heap or resource, separately for each thread.
///
/// The call that creates an object consumes the address (*Recreate At GPUVA*: "cleared after the object is created"). A
/// call that fails or only checks its parameters leaves it for the next call.
#[derive(Debug, Default)]
pub(super) struct NextAllocationAddress(Arc<Identity>);

impl NextAllocationAddress {
    /// Sets this thread's address; `None` clears it. Cost: O(devices with an unused address on this thread).
    pub(super) fn set(&self, address: Option<GpuVirtualAddress>) {
        // A thread that is ending has no address and creates nothing.
        let _ = ADDRESSES.try_with(|addresses| {
            let mut addresses = addresses.borrow_mut();
            addresses.retain(|(device, _)| device.strong_count() > 0 && !self.is(device));
            addresses.extend(address.map(|address| (Arc::downgrade(&self.0), address)));
        });
    }

    /// Returns this thread's address.
    fn get(&self) -> Option<GpuVirtualAddress> {
        let found = ADDRESSES.try_with(|addresses| {
            addresses.borrow().iter().find(|(device, _)| self.is(device)).map(|&(_, address)| address)
        });
        found.ok().flatten()
    }

    /// Checks whether `device` is this device. The weak reference keeps the allocation of the identity, so no other
    /// device can have it.
    fn is(&self, device: &Weak<Identity>) -> bool {
        std::ptr::eq(device.as_ptr(), Arc::as_ptr(&self.0))
    }
}

impl Device_Impl {
    /// Creates an object at this thread's address, if one is set. Clears the address if the object was created.
    pub(super) fn create_at_next_address(
        &self,
        create: impl FnOnce(Option<GpuVirtualAddress>) -> windows_core::Result<()>,
    ) -> windows_core::Result<()> {
        let address = self.next_allocation_address.get();
        // A call that only checks returns S_FALSE, which is an `Err` here.
        let result = create(address);
        if address.is_some() && result.is_ok() {
            self.next_allocation_address.set(None);
        }
        result
    }
}

impl ID3D12DeviceTools_Impl for Device_Impl {
    fn SetNextAllocationAddress(&self, nextallocationvirtualaddress: D3D12_GPU_VIRTUAL_ADDRESS) {
        call::run_infallible(self.log(), "ID3D12DeviceTools::SetNextAllocationAddress", (), || {
            self.next_allocation_address.set(GpuVirtualAddress::new(nextallocationvirtualaddress.0));
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(value: u64) -> Option<GpuVirtualAddress> {
        GpuVirtualAddress::new(value)
    }

    #[test]
    fn addresses_are_per_device_and_thread() {
        let (first, second) = (NextAllocationAddress::default(), NextAllocationAddress::default());
        first.set(address(1));
        second.set(address(2));
        first.set(address(3));
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!((first.get(), second.get()), (None, None)));
        });
        assert_eq!((first.get(), second.get()), (address(3), address(2)));
        first.set(None);
        assert_eq!((first.get(), second.get()), (None, address(2)));
    }

    #[test]
    fn addresses_of_destroyed_devices_are_removed() {
        let kept = NextAllocationAddress::default();
        for value in 1..100 {
            NextAllocationAddress::default().set(address(value));
            assert_eq!(NextAllocationAddress::default().get(), None, "another device");
        }
        kept.set(address(1));
        assert_eq!(ADDRESSES.with(|addresses| addresses.borrow().len()), 1);
        assert_eq!(kept.get(), address(1));
    }
}
