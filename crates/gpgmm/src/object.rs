//! COM objects: a pointer to a table of methods, a reference count, and a body.

use std::ffi::c_void;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering, fence};

use heapwright::d3d12::{E_NOINTERFACE, E_POINTER, S_OK};
use windows_core::{GUID, HRESULT, IUnknown, Interface};

use crate::call;
use crate::identity::Registration;

/// The kind of an object: its methods, and what it does when it is queried and released.
pub(crate) trait Body: Sized + Send + Sync + 'static {
    /// The table of methods. Its first member is [`Unknown`].
    type Methods: 'static;

    /// Returns the table, a static, by whose address the library recognizes its own objects.
    fn methods() -> &'static Self::Methods;

    /// The interfaces, apart from IUnknown.
    const INTERFACES: &'static [GUID];

    /// Returns the D3D12 object that is asked for interfaces that this object does not have.
    fn inner_object(&self) -> Option<IUnknown> {
        None
    }

    /// Whether objects of this kind have a [`registration`](Self::registration).
    const IS_REGISTERED: bool = false;

    /// Returns where the object is registered as the one that stands for something of the library.
    fn registration(&self) -> Option<Registration> {
        None
    }

    /// Another interface of the object, if it has one.
    const SECOND: Option<SecondInterface> = None;

    /// Returns memory for an object.
    #[inline]
    fn memory() -> Memory<Self> {
        Box::new_uninit()
    }

    /// Takes the memory of an object that is gone.
    #[inline]
    fn free(memory: Memory<Self>) {
        drop(memory);
    }
}

/// An interface whose table is not at the beginning of the object: as with multiple inheritance in C++, its pointer is that of a place
/// in the object.
pub(crate) struct SecondInterface {
    pub(crate) iid: GUID,
    /// Where the object has the pointer to the table.
    pub(crate) offset: usize,
}

/// Memory for an object.
pub(crate) type Memory<B> = Box<MaybeUninit<Object<B>>>;

/// An object as C++ sees it.
#[repr(C)]
pub(crate) struct Object<B: Body> {
    methods: &'static B::Methods,
    count: AtomicU32,
    pub(crate) body: B,
}

/// A reference to an object.
pub(crate) struct Reference<B: Body>(NonNull<Object<B>>);

// SAFETY: it stands for a counted reference to a body that is `Send` and `Sync`, with an atomic count.
unsafe impl<B: Body> Send for Reference<B> {}
// SAFETY: as above.
unsafe impl<B: Body> Sync for Reference<B> {}

impl<B: Body> Reference<B> {
    /// Creates an object with this reference.
    #[inline]
    pub(crate) fn new(body: B) -> Self {
        // SAFETY: the body is written at once.
        unsafe {
            let (reference, place) = Self::without_body();
            place.write(body);
            reference
        }
    }

    /// Creates an object, and returns the place of its body.
    ///
    /// # Safety
    ///
    /// The caller writes the body before the reference is used or dropped.
    #[inline]
    pub(crate) unsafe fn without_body() -> (Self, *mut B) {
        let object = Box::into_raw(B::memory()).cast::<Object<B>>();
        // SAFETY: the pointers are to the members of a box.
        unsafe {
            (&raw mut (*object).methods).write(B::methods());
            (&raw mut (*object).count).write(AtomicU32::new(1));
            (Self(NonNull::new_unchecked(object)), &raw mut (*object).body)
        }
    }

    /// Adds a reference to the object at an address, unless its count is zero.
    ///
    /// # Safety
    ///
    /// The object has not been freed.
    pub(crate) unsafe fn add_unless_released(address: NonNull<c_void>) -> Option<Self> {
        let object = address.cast::<Object<B>>();
        // SAFETY: the caller's promise.
        let count = unsafe { &object.as_ref().count };
        let add = |count: u32| (count != 0).then(|| count + 1);
        count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).ok()?;
        Some(Self(object))
    }

    /// Returns the pointer, without the reference.
    #[inline]
    pub(crate) fn as_raw(&self) -> *mut c_void {
        self.0.as_ptr().cast()
    }

    /// Returns the pointer with the reference, which the caller releases.
    #[inline]
    pub(crate) fn into_raw(self) -> *mut c_void {
        ManuallyDrop::new(self).as_raw()
    }
}

impl<B: Body> Drop for Reference<B> {
    fn drop(&mut self) {
        // SAFETY: the reference is this value's own.
        unsafe { release::<B>(self.as_raw()) };
    }
}

/// Returns the body of the object whose method was called.
///
/// # Safety
///
/// `this` is an object of this kind, alive for `'a`.
#[inline]
pub(crate) unsafe fn body<'a, B: Body>(this: *const c_void) -> &'a B {
    // SAFETY: the caller's promise.
    unsafe { &(*this.cast::<Object<B>>()).body }
}

/// Returns the body of an object that C++ passes as a parameter, or `None` if it is null or no object of this kind of this
/// library.
///
/// # Safety
///
/// The pointer is null or points to a COM object that is alive for `'a`.
pub(crate) unsafe fn recognize<'a, B: Body>(object: *const c_void) -> Option<&'a B> {
    if object.is_null() {
        return None;
    }
    // SAFETY: every COM object begins with the pointer to its methods.
    let methods = unsafe { object.cast::<*const c_void>().read() };
    let is_ours = methods == std::ptr::from_ref(B::methods()).cast();
    // SAFETY: only objects of this kind have these methods.
    is_ours.then(|| unsafe { body(object) })
}

/// IUnknown's methods.
#[repr(C)]
pub(crate) struct Unknown {
    query_interface: unsafe extern "system" fn(*mut c_void, *const GUID, *mut *mut c_void) -> HRESULT,
    add_ref: unsafe extern "system" fn(*mut c_void) -> u32,
    release: unsafe extern "system" fn(*mut c_void) -> u32,
}

impl Unknown {
    pub(crate) const fn of<B: Body>() -> Self {
        Self { query_interface: query_interface::<B>, add_ref: add_ref::<B>, release: release::<B> }
    }

    /// Returns the methods of the second interface, which are those of the object.
    pub(crate) const fn of_second<B: Body>() -> Self {
        Self {
            query_interface: query_second::<B>,
            add_ref: add_ref_second::<B>,
            release: release_second::<B>,
        }
    }
}

unsafe extern "system" fn query_interface<B: Body>(
    this: *mut c_void,
    iid: *const GUID,
    out: *mut *mut c_void,
) -> HRESULT {
    let query = || {
        if out.is_null() {
            return Ok(E_POINTER);
        }
        // SAFETY: the caller passes writable space for a pointer.
        unsafe { out.write(std::ptr::null_mut()) };
        // SAFETY: the caller passes null or a GUID.
        let Some(iid) = (unsafe { iid.as_ref() }) else { return Ok(E_POINTER) };
        if *iid == IUnknown::IID || B::INTERFACES.contains(iid) {
            // SAFETY: the object is alive, because a method of it was called; `out` as above.
            unsafe {
                add_ref::<B>(this);
                out.write(this);
            }
            return Ok(S_OK);
        }
        if let Some(second) = B::SECOND.filter(|second| second.iid == *iid) {
            // SAFETY: as above; the offset is within the object.
            unsafe {
                add_ref::<B>(this);
                out.write(this.byte_add(second.offset));
            }
            return Ok(S_OK);
        }
        // SAFETY: as above.
        Ok(match unsafe { body::<B>(this) }.inner_object() {
            // SAFETY: the object is alive, and the pointers are valid.
            Some(inner) => unsafe { inner.query(iid, out) },
            None => E_NOINTERFACE,
        })
    };
    call::hresult("QueryInterface", query)
}

unsafe extern "system" fn add_ref<B: Body>(this: *mut c_void) -> u32 {
    // SAFETY: the object is alive, because a method of it was called.
    let object = unsafe { &*this.cast::<Object<B>>() };
    object.count.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
}

unsafe extern "system" fn release<B: Body>(this: *mut c_void) -> u32 {
    // SAFETY: the object is alive until the count is zero.
    let count = unsafe { &(*this.cast::<Object<B>>()).count };
    // Nobody can add a reference to an object that is not registered while the caller has the last one.
    let left = if !B::IS_REGISTERED && count.load(Ordering::Acquire) == 1 {
        0
    } else {
        count.fetch_sub(1, Ordering::Release).wrapping_sub(1)
    };
    if left == 0 {
        fence(Ordering::Acquire);
        call::value("Release", || {
            // SAFETY: as above; freed below.
            if let Some(registration) = unsafe { body::<B>(this) }.registration() {
                registration.remove(this);
            }
            // SAFETY: the last reference is gone, and nobody finds the object any more. It is `without_body`'s box.
            let mut memory: Memory<B> = unsafe { Box::from_raw(this.cast()) };
            // SAFETY: the object was alive until now. A method that is called later crashes, even if the memory is kept.
            unsafe {
                memory.assume_init_drop();
                memory.as_mut_ptr().cast::<*const c_void>().write(std::ptr::null());
            }
            B::free(memory);
        });
    }
    left
}

/// Returns the object of a second interface.
///
/// # Safety
///
/// `this` is the second interface of an object of this kind.
unsafe fn first<B: Body>(this: *mut c_void) -> *mut c_void {
    let offset = B::SECOND.map_or(0, |second| second.offset);
    // SAFETY: the caller's promise.
    unsafe { this.byte_sub(offset) }
}

unsafe extern "system" fn query_second<B: Body>(
    this: *mut c_void,
    iid: *const GUID,
    out: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: the caller's promises.
    unsafe { query_interface::<B>(first::<B>(this), iid, out) }
}

unsafe extern "system" fn add_ref_second<B: Body>(this: *mut c_void) -> u32 {
    // SAFETY: the caller's promises.
    unsafe { add_ref::<B>(first::<B>(this)) }
}

unsafe extern "system" fn release_second<B: Body>(this: *mut c_void) -> u32 {
    // SAFETY: the caller's promises.
    unsafe { release::<B>(first::<B>(this)) }
}

#[cfg(test)]
mod tests {
    use heapwright::d3d12::E_FAIL;

    use super::*;

    /// An object whose inner object cannot be asked.
    struct Faulty;

    static METHODS: Unknown = Unknown::of::<Faulty>();

    impl Body for Faulty {
        type Methods = Unknown;

        fn methods() -> &'static Unknown {
            &METHODS
        }

        const INTERFACES: &'static [GUID] = &[];

        fn inner_object(&self) -> Option<IUnknown> {
            panic!("a bug in a test")
        }
    }

    #[test]
    fn a_query_that_panics_fails() {
        let object = Reference::new(Faulty);
        let mut out = NonNull::<c_void>::dangling().as_ptr();
        // SAFETY: the object is alive, and the pointers are valid.
        let result = unsafe { (METHODS.query_interface)(object.as_raw(), &GUID::zeroed(), &mut out) };
        assert_eq!(result, E_FAIL);
        assert!(out.is_null());
    }
}
