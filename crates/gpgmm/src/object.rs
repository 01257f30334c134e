//! COM objects: a pointer to a table of methods, a reference count, and a body.

use std::ffi::c_void;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering, fence};

use heapwright::d3d12::{E_INVALIDARG, E_NOINTERFACE, E_POINTER, S_FALSE, S_OK};
use windows_core::{GUID, HRESULT, IUnknown, Interface};

use crate::call;
use crate::failure::Failure;
use crate::identity::Registration;

/// The `this` of a method.
pub(crate) type This = *mut c_void;

/// The kind of an object: its methods, and what it does when it is queried and released.
pub(crate) trait Body: Sized + Send + Sync + 'static {
    /// Returns the table, a static [`Methods`], by whose address the library recognizes its own objects.
    fn methods() -> *const c_void;

    /// The interfaces, apart from IUnknown.
    const INTERFACES: &'static [GUID] = &[];

    /// Returns the D3D12 object that is asked for interfaces that this object does not have.
    fn inner_object(&self) -> Option<IUnknown> {
        None
    }

    /// Release.
    const RELEASE: unsafe extern "system" fn(This) -> u32 = release::<Self>;

    /// Whether objects of this kind have a [`registration`](Self::registration).
    const IS_REGISTERED: bool = false;

    /// Returns where the object is registered as the one that stands for something of the library.
    fn registration(&self) -> Option<Registration> {
        None
    }

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

    /// Destroys an object whose count is zero. A kind of objects that are not in boxes has its own.
    ///
    /// # Safety
    ///
    /// The object is alive, and nobody uses it any more.
    #[inline]
    unsafe fn destroy(object: NonNull<Object<Self>>) {
        // SAFETY: the caller's promise. It is `without_body`'s box.
        unsafe {
            let mut memory: Memory<Self> = Box::from_raw(object.as_ptr().cast());
            memory.assume_init_drop();
            // A method that is called later crashes, even if the memory is kept.
            memory.as_mut_ptr().cast::<*const c_void>().write(std::ptr::null());
            Self::free(memory);
        }
    }
}

/// Memory for an object.
pub(crate) type Memory<B> = Box<MaybeUninit<Object<B>>>;

/// An object as C++ sees it.
#[repr(C)]
pub(crate) struct Object<B: Body> {
    pub(crate) methods: *const c_void,
    pub(crate) count: AtomicU32,
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
        // SAFETY: the box is memory for an object.
        unsafe { Self::at(NonNull::new_unchecked(object)) }
    }

    /// Creates an object in memory for one, and returns the place of its body.
    ///
    /// # Safety
    ///
    /// The memory is writable, and this kind of objects may be destroyed there. The caller writes the body before the
    /// reference is used or dropped.
    #[inline]
    pub(crate) unsafe fn at(memory: NonNull<Object<B>>) -> (Self, *mut B) {
        let object = memory.as_ptr();
        // SAFETY: the caller's promise.
        unsafe {
            (&raw mut (*object).methods).write(B::methods());
            (&raw mut (*object).count).write(AtomicU32::new(1));
            (Self(memory), &raw mut (*object).body)
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

    /// Takes over a reference.
    ///
    /// # Safety
    ///
    /// The pointer is to a live object of this kind, and the caller gives up a reference to it.
    pub(crate) unsafe fn from_raw(object: *mut c_void) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { NonNull::new_unchecked(object.cast()) })
    }

    /// Returns the body.
    pub(crate) fn body(&self) -> &B {
        // SAFETY: the object is alive as long as the reference.
        unsafe { &self.0.as_ref().body }
    }

    /// Returns the pointer, without the reference.
    #[inline]
    pub(crate) fn as_raw(&self) -> *mut c_void {
        self.0.as_ptr().cast()
    }

    /// Returns the object as an interface.
    pub(crate) fn into_unknown(self) -> IUnknown {
        // SAFETY: the pointer is to a COM object, and has its reference.
        unsafe { IUnknown::from_raw(self.into_raw()) }
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
        unsafe { B::RELEASE(self.as_raw()) };
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

/// Runs a method that returns an HRESULT. `name` is the method's in the log.
///
/// # Safety
///
/// `this` is a live object of this kind.
#[inline]
pub(crate) unsafe fn method<B: Body>(
    this: This,
    name: &str,
    run: impl FnOnce(&B) -> Result<HRESULT, Failure>,
) -> HRESULT {
    // SAFETY: the caller's promise.
    call::hresult(name, || run(unsafe { body(this) }))
}

/// Runs a method that cannot fail.
///
/// # Safety
///
/// `this` is a live object of this kind.
#[inline]
pub(crate) unsafe fn getter<B: Body, T: Default>(this: This, name: &str, run: impl FnOnce(&B) -> T) -> T {
    // SAFETY: the caller's promise.
    call::value(name, || run(unsafe { body(this) }))
}

/// Defines the methods of a kind of objects, with the names of the header, and their table:
///
/// `methods!(TABLE, Body, "Interface": getter GetSize(this) -> u64 { .. } method Map(this, out: *mut u64) -> HRESULT {
/// .. })`
///
/// The code is that of [`method`](method()) or [`getter`], in an unsafe block: C++ calls the methods of live objects,
/// and each pointer is null or valid: objects are alive, and space is writable. A pointer is returned as a `usize`.
macro_rules! methods {
    ($table:ident, $body:ty, $interface:literal: $(
        $run:ident $name:ident($this:pat $(, $parameter:ident: $type:ty)*) -> $result:ty $code:block
    )*) => {
        $(
            #[allow(non_snake_case, reason = "the header's name")]
            unsafe extern "system" fn $name(this: crate::object::This $(, $parameter: $type)*) -> $result {
                // SAFETY: C++ calls the method of a live object, with pointers that are null or valid.
                unsafe {
                    crate::object::$run(this, concat!($interface, "::", stringify!($name)), |$this: &$body| $code)
                }
            }
        )*
        static $table: crate::object::Methods<{ [$(stringify!($name)),*].len() }> =
            crate::object::Methods::of::<$body>([$($name as *const ()),*]);
    };
}
pub(crate) use methods;

/// Defines a method that returns a structure: `returning!(name, Structure, |this| value)`.
macro_rules! returning {
    ($name:ident, $structure:ty, $body:expr) => {
        #[cfg(windows)]
        unsafe extern "system" fn $name(this: crate::object::This, out: *mut $structure) -> *mut $structure {
            let body: unsafe fn(crate::object::This) -> $structure = $body;
            // SAFETY: C++ calls the method of a live object, with space for the structure.
            unsafe { out.write(body(this)) };
            out
        }

        #[cfg(not(windows))]
        unsafe extern "system" fn $name(this: crate::object::This) -> $structure {
            let body: unsafe fn(crate::object::This) -> $structure = $body;
            // SAFETY: C++ calls the method of a live object.
            unsafe { body(this) }
        }
    };
}
pub(crate) use returning;

/// A parameter that receives an interface pointer, or null.
#[derive(Clone, Copy)]
pub(crate) struct Out(*mut *mut c_void);

impl Out {
    /// Wraps a parameter, and sets the pointer behind it to null, so that it is null after a failure.
    ///
    /// # Safety
    ///
    /// The parameter is null or points to a writable pointer until this value is gone.
    #[inline]
    pub(crate) unsafe fn new(out: *mut *mut c_void) -> Self {
        if !out.is_null() {
            // SAFETY: the caller's promise.
            unsafe { out.write(std::ptr::null_mut()) };
        }
        Self(out)
    }

    /// As [`new`](Self::new), for a parameter that must not be null.
    ///
    /// # Errors
    ///
    /// E_POINTER for null.
    ///
    /// # Safety
    ///
    /// As `new`.
    pub(crate) unsafe fn required(out: *mut *mut c_void, parameter: &str) -> Result<Self, Failure> {
        // SAFETY: the caller's promise.
        let out = unsafe { Self::new(out) };
        if out.is_null() { Err(Failure::null(parameter)) } else { Ok(out) }
    }

    #[inline]
    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Stores a pointer with its reference. The parameter is not null.
    #[inline]
    pub(crate) fn set(self, pointer: *mut c_void) {
        debug_assert!(!self.is_null(), "the reference would be lost");
        // SAFETY: `new`'s caller promised that it is writable.
        unsafe { self.0.write(pointer) };
    }

    /// Stores an object. For a null parameter, it is released, and the result is S_FALSE.
    #[inline]
    pub(crate) fn give<B: Body>(self, object: Reference<B>) -> HRESULT {
        if self.is_null() {
            return S_FALSE;
        }
        self.set(object.into_raw());
        S_OK
    }
}

/// Returns the body of an object that C++ passes as a parameter, or `None` if it is null or no object of this kind of
/// this library.
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
    let is_ours = methods == B::methods();
    // SAFETY: only objects of this kind have these methods.
    is_ours.then(|| unsafe { body(object) })
}

/// As [`recognize`], for a parameter that must be an object of this kind.
///
/// # Errors
///
/// E_POINTER for null, and E_INVALIDARG for another object.
///
/// # Safety
///
/// As `recognize`.
pub(crate) unsafe fn parameter<'a, B: Body>(object: *const c_void, name: &str) -> Result<&'a B, Failure> {
    if object.is_null() {
        return Err(Failure::null(name));
    }
    // SAFETY: the caller's promise.
    unsafe { recognize(object) }
        .ok_or_else(|| Failure::invalid_argument(format!("{name} is of another library")))
}

/// As [`parameter`], for one that may be null.
///
/// # Errors
///
/// E_INVALIDARG for another object.
///
/// # Safety
///
/// As `recognize`.
pub(crate) unsafe fn optional<'a, B: Body>(
    object: *const c_void,
    name: &str,
) -> Result<Option<&'a B>, Failure> {
    // SAFETY: the caller's promise.
    if object.is_null() { Ok(None) } else { unsafe { parameter(object, name) }.map(Some) }
}

/// A table of methods: IUnknown's, then the object's own in the order in which the platform's C++ compilers lay them
/// out.
///
/// On Windows this is Microsoft's order. It differs from the order of the declarations in two ways: overloads of one
/// name are in reverse order, and a method that returns a structure takes a pointer to it after `this`. Compilers for
/// Linux keep the order of the declarations, and return structures as C does, with the pointer before `this`. MinGW
/// follows neither on Windows; the header has declarations for it that result in Microsoft's order.
#[repr(C)]
pub(crate) struct Methods<const N: usize> {
    query_interface: unsafe extern "system" fn(This, *const GUID, *mut *mut c_void) -> HRESULT,
    add_ref: unsafe extern "system" fn(This) -> u32,
    release: unsafe extern "system" fn(This) -> u32,
    own: [*const (); N],
}

// SAFETY: the pointers are to functions.
unsafe impl<const N: usize> Sync for Methods<N> {}

impl<const N: usize> Methods<N> {
    /// Creates the table of a kind of objects from its own methods, each an `unsafe extern "system" fn` whose first
    /// parameter is [`This`], with the other parameters and the result of the header's declaration.
    pub(crate) const fn of<B: Body>(own: [*const (); N]) -> Self {
        Self { query_interface: query_interface::<B>, add_ref: add_ref::<B>, release: B::RELEASE, own }
    }

    /// Creates the table of objects that were released, whose memory is kept: no method uses more than it.
    pub(crate) const fn of_released(own: [*const (); N]) -> Self {
        Self { query_interface: no_interface, add_ref: no_count, release: no_count, own }
    }

    /// Returns the table as an object points to it.
    pub(crate) const fn as_table(&'static self) -> *const c_void {
        std::ptr::from_ref(self).cast()
    }
}

unsafe extern "system" fn query_interface<B: Body>(
    this: This,
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
        // SAFETY: as above.
        Ok(match unsafe { body::<B>(this) }.inner_object() {
            // SAFETY: the object is alive, and the pointers are valid.
            Some(inner) => unsafe { inner.query(iid, out) },
            None => E_NOINTERFACE,
        })
    };
    call::hresult("QueryInterface", query)
}

unsafe extern "system" fn add_ref<B: Body>(this: This) -> u32 {
    // SAFETY: the object is alive, because a method of it was called.
    let object = unsafe { &*this.cast::<Object<B>>() };
    object.count.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
}

unsafe extern "system" fn release<B: Body>(this: This) -> u32 {
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
            if let Some(object) = NonNull::new(this.cast()) {
                // SAFETY: the last reference is gone, and nobody finds the object any more.
                unsafe { B::destroy(object) };
            }
        });
    }
    left
}

unsafe extern "system" fn no_interface(_: This, _: *const GUID, _: *mut *mut c_void) -> HRESULT {
    E_NOINTERFACE
}

unsafe extern "system" fn no_count(_: This) -> u32 {
    0
}

/// A method of a released object that returns nothing, a number or a pointer.
pub(crate) unsafe extern "system" fn nothing(_: This) -> usize {
    0
}

/// A method of a released object that returns an HRESULT.
pub(crate) unsafe extern "system" fn refused(_: This) -> HRESULT {
    E_INVALIDARG
}

#[cfg(test)]
mod tests {
    use heapwright::d3d12::E_FAIL;

    use super::*;

    /// An object whose inner object cannot be asked.
    struct Faulty;

    static METHODS: Methods<0> = Methods::of::<Faulty>([]);

    impl Body for Faulty {
        fn methods() -> *const c_void {
            METHODS.as_table()
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
