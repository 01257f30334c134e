//! IResidencyList.

use std::ffi::c_void;

use heapwright::d3d12::*;
use heapwright::residency::ResidencyList;
use windows_core::{GUID, HRESULT};

use crate::call::{self, Failure};
use crate::interfaces::{IID_RESIDENCY_LIST, ResidencyListMethods, This};
use crate::object::{Body, Unknown, body, recognize};
use crate::residency_heap::Heap;

/// The body of an IResidencyList.
#[derive(Default)]
pub(crate) struct List(pub(crate) ResidencyList);

static METHODS: ResidencyListMethods = ResidencyListMethods { unknown: Unknown::of::<List>(), add, reset };

impl Body for List {
    type Methods = ResidencyListMethods;

    fn methods() -> &'static ResidencyListMethods {
        &METHODS
    }

    const INTERFACES: &'static [GUID] = &[IID_RESIDENCY_LIST];
}

unsafe extern "system" fn add(this: This, heap: *mut c_void) -> HRESULT {
    call::hresult("IResidencyList::Add", || {
        // SAFETY: C++ calls the method of a live object, with null or another one.
        let (List(list), heap) = unsafe { (body(this), recognize::<Heap>(heap)) };
        let heap = heap.ok_or_else(|| Failure::invalid_argument("pHeap is null or of another library"))?;
        list.add(heap.heap())?;
        Ok(S_OK)
    })
}

unsafe extern "system" fn reset(this: This) -> HRESULT {
    call::hresult("IResidencyList::Reset", || {
        // SAFETY: C++ calls the method of a live object.
        unsafe { body::<List>(this) }.0.reset()?;
        Ok(S_OK)
    })
}
