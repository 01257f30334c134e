//! `ID3D12DeviceTools`: where the next heap or resource that a thread creates is to be (document RECREATE).

use std::cell::RefCell;
use std::ffi::c_void;
use std::sync::{Arc, Weak};

use heapwright_core::GpuVirtualAddress;
use heapwright_d3d12::*;

use super::Device_Impl;
use crate::api::call;

thread_local! {
    /// What was set on this thread and not used yet, at most one address for each device.
    static ADDRESSES: RefCell<Vec<(Weak<Identity>, GpuVirtualAddress)>> = const { RefCell::new(Vec::new()) };
}

/// Tells one device from another, for as long as anybody remembers it.
#[derive(Debug, Default)]
struct Identity;

/// The address that a device's next heap or resource is to have, for each thread its own.
///
/// The call that creates an object takes the address, whether it succeeds or not: an address that stayed after a refused call
/// would go to whatever is created next. A call that only checks takes nothing and is checked with the address.
#[derive(Debug, Default)]
pub(super) struct NextAllocationAddress(Arc<Identity>);

impl NextAllocationAddress {
    /// Sets this thread's address; `None` clears it. O(devices whose address this thread has set and not used).
    pub(super) fn set(&self, address: Option<GpuVirtualAddress>) {
        // A thread that ends has no address any more, and creates nothing.
        let _ = ADDRESSES.try_with(|addresses| {
            let mut addresses = addresses.borrow_mut();
            addresses.retain(|(device, _)| device.strong_count() > 0 && !self.is(device));
            addresses.extend(address.map(|address| (Arc::downgrade(&self.0), address)));
        });
    }

    /// This thread's address, which is set no more.
    pub(super) fn take(&self) -> Option<GpuVirtualAddress> {
        let taken = ADDRESSES.try_with(|addresses| {
            let mut addresses = addresses.borrow_mut();
            let index = addresses.iter().position(|(device, _)| self.is(device))?;
            Some(addresses.swap_remove(index).1)
        });
        taken.ok().flatten()
    }

    /// This thread's address, which stays.
    fn get(&self) -> Option<GpuVirtualAddress> {
        let found = ADDRESSES.try_with(|addresses| {
            addresses.borrow().iter().find(|(device, _)| self.is(device)).map(|&(_, address)| address)
        });
        found.ok().flatten()
    }

    /// The weak reference keeps the identity's place, so that no other device has it.
    fn is(&self, device: &Weak<Identity>) -> bool {
        std::ptr::eq(device.as_ptr(), Arc::as_ptr(&self.0))
    }
}

impl Device_Impl {
    /// The address for the object that a call creates into `ppv`; a null `ppv` asks for a check alone.
    pub(super) fn allocation_address(&self, ppv: *mut *mut c_void) -> Option<GpuVirtualAddress> {
        if ppv.is_null() { self.next_allocation_address.get() } else { self.next_allocation_address.take() }
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
    fn an_address_is_a_devices_and_a_threads_and_is_taken_once() {
        let (first, second) = (NextAllocationAddress::default(), NextAllocationAddress::default());
        first.set(address(1));
        second.set(address(2));
        first.set(address(3));
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!((first.get(), second.take()), (None, None)));
        });
        assert_eq!((first.get(), first.take(), first.take()), (address(3), address(3), None));
        second.set(None);
        assert_eq!(second.take(), None);
    }

    #[test]
    fn what_was_set_for_a_device_that_is_gone_is_forgotten() {
        let kept = NextAllocationAddress::default();
        for value in 1..100 {
            NextAllocationAddress::default().set(address(value));
            assert_eq!(NextAllocationAddress::default().take(), None, "another device");
        }
        kept.set(address(1));
        assert_eq!(ADDRESSES.with(|addresses| addresses.borrow().len()), 1);
        assert_eq!(kept.take(), address(1));
    }
}
