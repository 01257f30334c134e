//! `OpenExistingHeapFromAddress`: heaps over memory that the application allocated.
//!
//! The heap is in system memory, the CPU can access it, and it is that of the whole region that the address begins
//! (reference of `ID3D12Device3::OpenExistingHeapFromAddress`), or of a part of one (`OpenExistingHeapFromAddress1`).
//! It is shared across adapters, as on Windows (vkd3d-proton's test_open_heap_from_address), so resources in it need
//! ALLOW_CROSS_ADAPTER. The application must keep the memory until the heap and all resources in it are released.

use std::ffi::c_void;

use heapwright_core::Alignment;
use heapwright_d3d12::*;
use windows_core::{ComObject, GUID, IUnknownImpl as _};

use super::Device_Impl;
use crate::api::call;
use crate::api::heap::Heap;
use crate::ddi::{CpuPageProperty, ExistingPages, HeapArgs, MemoryPool};
use crate::rules::heap::HeapMemory;
use crate::rules::{Refusal, under};

/// The properties of an existing heap.
const PROPERTIES: D3D12_HEAP_PROPERTIES = D3D12_HEAP_PROPERTIES {
    Type: D3D12_HEAP_TYPE_CUSTOM,
    CPUPageProperty: D3D12_CPU_PAGE_PROPERTY_WRITE_BACK,
    MemoryPoolPreference: D3D12_MEMORY_POOL_L0,
    CreationNodeMask: 1,
    VisibleNodeMask: 1,
};

const FLAGS: D3D12_HEAP_FLAGS = D3D12_HEAP_FLAG_SHARED | D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER;

impl Device_Impl {
    /// Opens a heap over the region that begins at `address`, or over `size` bytes from there on.
    ///
    /// # Safety
    ///
    /// `riid` is null or points to a GUID; `ppv` is null or points to writable space for one pointer. The memory stays
    /// allocated until the heap and all resources in it are released.
    pub(super) unsafe fn open_existing_heap(
        &self,
        name: &'static str,
        address: *const c_void,
        size: Option<usize>,
        riid: *const GUID,
        ppv: *mut *mut c_void,
    ) -> windows_core::Result<()> {
        let check = || {
            self.removal().check_present()?;
            if !self.driver().caps().existing_heaps {
                return Err(Refusal::not_implemented("heaps over existing memory on this adapter")
                    .with_id(D3D12_MESSAGE_ID_OPENEXISTINGHEAP_UNSUPPORTED));
            }
            let address = address.expose_provenance();
            let pages = match size {
                None => ExistingPages::region(address),
                Some(size) => ExistingPages::range(address, size),
            };
            pages
                .map_err(|error| Refusal::invalid(format!("pAddress: {error}")))
                .map_err(under(D3D12_MESSAGE_ID_OPENEXISTINGHEAP_INVALIDADDRESS))
        };
        let make = |pages: ExistingPages| {
            let memory =
                HeapMemory { cpu_page_property: CpuPageProperty::WriteBack, memory_pool: MemoryPool::L0 };
            let desc = D3D12_HEAP_DESC {
                SizeInBytes: pages.size().get(),
                Properties: PROPERTIES,
                Alignment: D3D12_DEFAULT_RESOURCE_PLACEMENT_ALIGNMENT.cast_unsigned().into(),
                Flags: FLAGS,
            };
            let alignment = Alignment::new(desc.Alignment).unwrap_or(Alignment::ONE);
            let args =
                HeapArgs { existing: Some(pages), ..memory.heap(pages.size(), alignment, FLAGS, None) };
            let memory = self
                .driver()
                .create_heap(self.driver_device(), &args)
                .map_err(Refusal::from)
                .map_err(under(D3D12_MESSAGE_ID_OPENEXISTINGHEAP_OUTOFMEMORY_RETURN))?;
            Ok(ComObject::new(Heap::opened(self.to_object(), memory, desc, false)))
        };
        // SAFETY: guaranteed by the caller.
        unsafe { call::create(self.log(), name, riid, ppv, check, make) }
    }
}
