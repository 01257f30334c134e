//! Objects that any thread may make resident and evict.

use heapwright_d3d12::*;

use super::desc::ResidencyHeapDesc;
use super::pageable::{DeviceNames, PageableInfo, inspect};
use crate::{DeviceCaps, Error};

/// An object that is a heap, a resource, a descriptor heap or a query heap, as [`inspect`] has checked.
///
/// `ID3D12Pageable` is the base of these and of command allocators, which are not free-threaded; therefore it is not
/// `Send` itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PagedObject(ID3D12Pageable);

// SAFETY: `inspect` is the only source of the object, and refuses every object of another kind than the four above.
// D3D12 documents each of them as free-threaded (`heapwright_d3d12::threading`).
unsafe impl Send for PagedObject {}
// SAFETY: as above.
unsafe impl Sync for PagedObject {}

impl PagedObject {
    /// Inspects an object and wraps it if it can be paged.
    ///
    /// # Errors
    ///
    /// The errors of [`inspect`].
    pub(crate) fn inspect(
        device: DeviceNames<'_>,
        caps: &DeviceCaps,
        unifies_memory: bool,
        pageable: &ID3D12Pageable,
        desc: &ResidencyHeapDesc,
    ) -> Result<(Self, PageableInfo), Error> {
        let info = inspect(device, caps, unifies_memory, pageable, desc)?;
        Ok((Self(pageable.clone()), info))
    }

    pub(super) fn pageable(&self) -> &ID3D12Pageable {
        &self.0
    }
}

/// Objects for one call of `MakeResident`, `EnqueueMakeResident` or `Evict`.
#[derive(Debug, Default)]
pub(super) struct PagedObjects(Vec<Option<ID3D12Pageable>>);

// SAFETY: `extend` is the only source of the objects, and each comes from a `PagedObject`, which is `Send`.
unsafe impl Send for PagedObjects {}

impl PagedObjects {
    pub(super) fn extend(&mut self, objects: impl IntoIterator<Item = PagedObject>) {
        self.0.extend(objects.into_iter().map(|PagedObject(pageable)| Some(pageable)));
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn as_slice(&self) -> &[Option<ID3D12Pageable>] {
        &self.0
    }
}
