//! The memory of the objects and strings, from the program's callbacks or the global allocator.

use std::alloc::Layout;
use std::ffi::c_void;
use std::ptr::NonNull;

use heapwright::d3d12::E_OUTOFMEMORY;

use crate::debug_name::{WideChar, encode};
use crate::failure::{Failure, Fallible};
use crate::object::{Body, Object, Reference};

type AllocateFn = unsafe extern "C" fn(usize, usize, *mut c_void) -> *mut c_void;
type FreeFn = unsafe extern "C" fn(*mut c_void, *mut c_void);

/// `ALLOCATION_CALLBACKS`.
#[repr(C)]
pub(super) struct Callbacks {
    allocate: Option<AllocateFn>,
    free: Option<FreeFn>,
    private_data: *mut c_void,
}

/// The source of memory.
#[derive(Clone, Copy)]
pub(super) struct HostMemory {
    allocate: AllocateFn,
    free: FreeFn,
    private_data: *mut c_void,
}

// SAFETY: the program's callbacks are called by any thread that calls the library, as in D3D12MA; the pointer is only
// passed on.
unsafe impl Send for HostMemory {}
// SAFETY: as above.
unsafe impl Sync for HostMemory {}

impl HostMemory {
    /// # Safety
    ///
    /// The pointer is null or points to callbacks that may be called for as long as objects exist.
    pub(super) unsafe fn of(callbacks: *const Callbacks) -> Fallible<Self> {
        // SAFETY: the caller's promise.
        match unsafe { callbacks.as_ref() } {
            None => {
                Ok(Self { allocate: usual_allocate, free: usual_free, private_data: std::ptr::null_mut() })
            }
            Some(&Callbacks { allocate: Some(allocate), free: Some(free), private_data }) => {
                Ok(Self { allocate, free, private_data })
            }
            Some(_) => Err(Failure::invalid_argument("ALLOCATION_CALLBACKS: pAllocate or pFree is null")),
        }
    }

    /// Returns memory that [`free`](Self::free) takes.
    pub(super) fn allocate(self, layout: Layout) -> Fallible<NonNull<c_void>> {
        // SAFETY: `of`'s caller promised that it may be called.
        let memory = unsafe { (self.allocate)(layout.size(), layout.align(), self.private_data) };
        NonNull::new(memory).ok_or_else(|| {
            Failure::Refused(E_OUTOFMEMORY, format!("no host memory for {} bytes", layout.size()))
        })
    }

    /// # Safety
    ///
    /// The memory is from [`allocate`](Self::allocate) and not in use, or null.
    pub(super) unsafe fn free(self, memory: *mut c_void) {
        // SAFETY: the caller's promise, and `of`'s caller's.
        unsafe { (self.free)(memory, self.private_data) };
    }

    /// Returns a terminated string, or null without memory.
    pub(super) fn string(self, text: &str) -> *mut WideChar {
        let encoded = encode(text);
        let Ok(memory) = self.allocate(Layout::for_value(&*encoded)) else { return std::ptr::null_mut() };
        let string: *mut WideChar = memory.as_ptr().cast();
        // SAFETY: the memory has this size, and nothing else is there.
        unsafe { string.copy_from_nonoverlapping(encoded.as_ptr(), encoded.len()) };
        string
    }

    /// Creates an object.
    pub(super) fn create<B: Body>(self, body: B) -> Fallible<Reference<B>> {
        let memory = self.allocate(Layout::new::<Object<B>>())?;
        // SAFETY: the memory is for an object, which `destroy` frees; the body is written at once.
        unsafe {
            let (reference, place) = Reference::<B>::at(memory.cast());
            place.write(body);
            Ok(reference)
        }
    }
}

/// Implements [`Body`] for a kind of objects of [`create`](HostMemory::create): with the table of its methods, its
/// source, and the object that is asked for other interfaces.
macro_rules! hosted {
    ($body:ty, $table:ident, $host:expr, $inner:expr) => {
        impl crate::object::Body for $body {
            fn methods() -> *const c_void {
                $table.as_table()
            }

            fn inner_object(&self) -> Option<windows_core::IUnknown> {
                let inner: fn(&Self) -> _ = $inner;
                inner(self)
            }

            unsafe fn destroy(object: std::ptr::NonNull<crate::object::Object<Self>>) {
                let host: fn(&Self) -> HostMemory = $host;
                // SAFETY: the caller's promise: the object is alive, and nobody uses it any more.
                unsafe {
                    let host = host(&object.as_ref().body);
                    object.drop_in_place();
                    host.free(object.as_ptr().cast());
                }
            }
        }
    };
}
pub(super) use hosted;

unsafe extern "C" {
    fn malloc(size: usize) -> *mut c_void;
    fn free(memory: *mut c_void);
}

/// Nothing here needs a larger alignment than malloc's.
unsafe extern "C" fn usual_allocate(size: usize, _: usize, _: *mut c_void) -> *mut c_void {
    // SAFETY: any size may be asked for.
    unsafe { malloc(size) }
}

unsafe extern "C" fn usual_free(memory: *mut c_void, _: *mut c_void) {
    // SAFETY: the caller passes null or memory of `usual_allocate`.
    unsafe { free(memory) };
}
