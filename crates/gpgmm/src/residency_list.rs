//! IResidencyList.

use std::ffi::c_void;

use heapwright::d3d12::*;
use heapwright::residency::ResidencyList;
use windows_core::{GUID, HRESULT};

use crate::failure::Failure;
use crate::object::{Body, Methods, This, method, recognize};
use crate::residency_heap::Heap;

/// The body of an IResidencyList.
#[derive(Default)]
pub(crate) struct List(pub(crate) ResidencyList);

static METHODS: Methods<2> = Methods::of::<List>([add as *const (), reset as *const ()]);

const IID_RESIDENCY_LIST: GUID = GUID::from_u128(0x83a5b0d7_7b8e_4d65_b5ab_9ad1c27f4e23);

impl Body for List {
    fn methods() -> *const c_void {
        METHODS.as_table()
    }

    const INTERFACES: &'static [GUID] = &[IID_RESIDENCY_LIST];
}

unsafe extern "system" fn add(this: This, heap: *mut c_void) -> HRESULT {
    // SAFETY: C++ calls the method of a live object, with null or another one.
    unsafe {
        method(this, "IResidencyList::Add", |List(list)| {
            let none = || Failure::invalid_argument("pHeap is null or of another library");
            list.add(recognize::<Heap>(heap).ok_or_else(none)?.heap())?;
            Ok(S_OK)
        })
    }
}

unsafe extern "system" fn reset(this: This) -> HRESULT {
    // SAFETY: C++ calls the method of a live object.
    unsafe {
        method(this, "IResidencyList::Reset", |List(list)| {
            list.reset()?;
            Ok(S_OK)
        })
    }
}
