//! The memory of the objects and strings, from the program's callbacks or the global allocator.

use std::alloc::Layout;
use std::ffi::c_void;
use std::ptr::NonNull;

use heapwright::d3d12::E_OUTOFMEMORY;

use crate::call::Failure;
use crate::debug_name::{WideChar, encode};
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

// SAFETY: the program's callbacks are called by any thread that calls the library, as in D3D12MA; the pointer is only passed on.
unsafe impl Send for HostMemory {}
// SAFETY: as above.
unsafe impl Sync for HostMemory {}

/// A kind of objects in memory of its own source.
pub(super) trait Hosted: Body {
    fn host(&self) -> HostMemory;
}

impl HostMemory {
    /// # Safety
    ///
    /// The pointer is null or points to callbacks that may be called for as long as objects exist.
    pub(super) unsafe fn of(callbacks: *const Callbacks) -> Result<Self, Failure> {
        // SAFETY: the caller's promise.
        match unsafe { callbacks.as_ref() } {
            None => {
                let (allocate, free): (AllocateFn, FreeFn) = (allocate, free);
                Ok(Self { allocate, free, private_data: std::ptr::null_mut() })
            }
            Some(&Callbacks { allocate: Some(allocate), free: Some(free), private_data }) => {
                Ok(Self { allocate, free, private_data })
            }
            Some(_) => Err(Failure::invalid_argument("ALLOCATION_CALLBACKS: pAllocate or pFree is null")),
        }
    }

    /// Returns memory that [`free`](Self::free) takes.
    pub(super) fn allocate(self, layout: Layout) -> Result<NonNull<c_void>, Failure> {
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
    pub(super) fn create<B: Hosted>(self, body: B) -> Result<Reference<B>, Failure> {
        let memory = self.allocate(Layout::new::<Object<B>>())?;
        // SAFETY: the memory is for an object, which `destroy` frees; the body is written at once.
        unsafe {
            let (reference, place) = Reference::<B>::at(memory.cast());
            place.write(body);
            Ok(reference)
        }
    }
}

/// Destroys an object that [`create`](HostMemory::create) created.
///
/// # Safety
///
/// As [`Body::destroy`].
pub(super) unsafe fn destroy<B: Hosted>(object: NonNull<Object<B>>) {
    // SAFETY: the caller's promise.
    unsafe {
        let host = object.as_ref().body.host();
        object.drop_in_place();
        host.free(object.as_ptr().cast());
    }
}

/// Before memory of the global allocator is the size of the whole, which freeing it takes.
const PREFIX: usize = 16;

unsafe extern "C" fn allocate(size: usize, alignment: usize, _: *mut c_void) -> *mut c_void {
    let whole = size.checked_add(PREFIX).and_then(|size| Layout::from_size_align(size, PREFIX).ok());
    let Some(whole) = whole.filter(|_| alignment <= PREFIX) else { return std::ptr::null_mut() };
    // SAFETY: the size is not zero.
    let start = unsafe { std::alloc::alloc(whole) };
    if start.is_null() {
        return start.cast();
    }
    // SAFETY: the memory is at least that large, and aligned.
    unsafe {
        start.cast::<usize>().write(whole.size());
        start.add(PREFIX).cast()
    }
}

unsafe extern "C" fn free(memory: *mut c_void, _: *mut c_void) {
    if memory.is_null() {
        return;
    }
    // SAFETY: the caller passes memory of `allocate`, with its size before it.
    unsafe {
        let start = memory.cast::<u8>().sub(PREFIX);
        let size = start.cast::<usize>().read();
        std::alloc::dealloc(start, Layout::from_size_align_unchecked(size, PREFIX));
    }
}
