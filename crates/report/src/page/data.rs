//! JSON data for the page's script. Changes require changes of `script.js`.
//!
//! The data is an object with these keys:
//!
//! * `kinds`: labels of [`AllocationKind`] by number
//! * `heaps`: arrays of size, GPU virtual address (hexadecimal string or empty), and allocations
//! * `committed`, `imported`: arrays of resources
//!
//! An allocation is an array of offset, size, kind, name, user data, waste, and nested allocations or 0. A resource is an
//! array of size, kind, name, user data, waste, and GPU virtual address.

use heapwright::report::{AllocationKind, AllocationReport, AllocatorReport, HeapReport, ResourceReport};
use heapwright::{ByteSize, GpuVirtualAddress};
use serde::ser::{SerializeSeq as _, SerializeTuple as _};
use serde::{Serialize, Serializer};

use crate::Visible;

/// Data of a report. Its `Serialize` implementation writes the object.
pub(super) struct PageData<'a>(pub(super) &'a AllocatorReport);

#[derive(Serialize)]
struct Parts<'a> {
    kinds: [&'static str; AllocationKind::ALL.len()],
    heaps: List<'a, HeapReport, Heap<'a>>,
    committed: List<'a, ResourceReport, Resource<'a>>,
    imported: List<'a, ResourceReport, Resource<'a>>,
}

impl Serialize for PageData<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let parts = Parts {
            kinds: AllocationKind::ALL.map(AllocationKind::label),
            heaps: List(&self.0.heaps, Heap),
            committed: List(&self.0.committed, Resource),
            imported: List(&self.0.imported, Resource),
        };
        parts.serialize(serializer)
    }
}

/// Serializes each item of a slice as another type.
struct List<'a, T, U>(&'a [T], fn(&'a T) -> U);

impl<T, U: Serialize> Serialize for List<'_, T, U> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for one in self.0 {
            list.serialize_element(&self.1(one))?;
        }
        list.end()
    }
}

struct Heap<'a>(&'a HeapReport);

impl Serialize for Heap<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let HeapReport { size, gpu_virtual_address, allocations, .. } = self.0;
        let mut heap = serializer.serialize_tuple(3)?;
        heap.serialize_element(&size.get())?;
        heap.serialize_element(&address(*gpu_virtual_address))?;
        heap.serialize_element(&List(allocations, Allocation))?;
        heap.end()
    }
}

struct Allocation<'a>(&'a AllocationReport);

impl Serialize for Allocation<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let AllocationReport { offset, size, kind, requested, name, user_data, within, .. } = self.0;
        let mut allocation = serializer.serialize_tuple(7)?;
        allocation.serialize_element(&offset.get())?;
        allocation.serialize_element(&size.get())?;
        allocation.serialize_element(&(*kind as u8))?;
        allocation.serialize_element(&Text(name.as_deref()))?;
        allocation.serialize_element(&Text(user_data.as_deref()))?;
        allocation.serialize_element(&waste(*size, *requested))?;
        match within {
            Some(within) => allocation.serialize_element(&List(within, Allocation))?,
            None => allocation.serialize_element(&0)?,
        }
        allocation.end()
    }
}

struct Resource<'a>(&'a ResourceReport);

impl Serialize for Resource<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ResourceReport { size, kind, name, user_data, requested, gpu_virtual_address, .. } = self.0;
        let mut resource = serializer.serialize_tuple(6)?;
        resource.serialize_element(&size.get())?;
        resource.serialize_element(&(*kind as u8))?;
        resource.serialize_element(&Text(name.as_deref()))?;
        resource.serialize_element(&Text(user_data.as_deref()))?;
        resource.serialize_element(&waste(*size, *requested))?;
        resource.serialize_element(&address(*gpu_virtual_address))?;
        resource.end()
    }
}

struct Text<'a>(Option<&'a str>);

impl Serialize for Text<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&Visible(self.0.unwrap_or_default()))
    }
}

fn waste(size: ByteSize, requested: Option<ByteSize>) -> u64 {
    requested.map_or(0, |requested| size.saturating_sub(requested).get())
}

/// Formats an address as a string, because JavaScript's numbers are only exact up to 53 bits.
fn address(address: Option<GpuVirtualAddress>) -> String {
    address.map_or_else(String::new, |address| format!("{:#x}", address.get()))
}
