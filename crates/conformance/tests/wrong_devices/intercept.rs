//! Replacement of methods in the method tables of live COM objects.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{LazyLock, Mutex, PoisonError};

use windows_core::Interface;

use crate::lies::Lies;

/// A method table with some replaced methods, followed by the data that the replacements need.
#[repr(C)]
pub(crate) struct Table<V> {
    replaced: V,
    /// The original table.
    original: *const V,
    lies: &'static Lies,
}

/// The tables by the addresses of the original table and of the lies, as objects of one kind share a table.
/// They live as long as the process, since objects may outlive a test.
static TABLES: LazyLock<Mutex<HashMap<(usize, usize), usize>>> = LazyLock::new(Mutex::default);

/// Replaces methods of the object behind `interface`, for all of its interfaces in the same chain.
///
/// `I` must be the newest interface of the chain that the object has; otherwise the table would lack its
/// last methods.
pub(crate) fn intercept<I: Interface>(
    interface: &I,
    lies: &'static Lies,
    replace: impl FnOnce(&mut I::Vtable),
) {
    let object = interface.as_raw().cast::<*const I::Vtable>();
    // SAFETY: a COM object begins with the pointer to its method table.
    let original = unsafe { *object };
    let key = (original.addr(), std::ptr::from_ref(lies).addr());
    let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    let table = *tables.entry(key).or_insert_with(|| {
        // SAFETY: the table is plain function pointers, readable as long as the process runs.
        let mut replaced = unsafe { original.read() };
        replace(&mut replaced);
        Box::into_raw(Box::new(Table { replaced, original, lies })).expose_provenance()
    });
    // SAFETY: the table begins with a method table of the same type and is never freed. Nobody else uses a
    // fresh object, and the table address of an object that is already intercepted is in no key.
    unsafe { object.write(std::ptr::with_exposed_provenance(table)) };
}

/// Returns whether the object's methods are already replaced.
pub(crate) fn is_intercepted<I: Interface>(interface: &I) -> bool {
    // SAFETY: a COM object begins with the pointer to its method table.
    let table = unsafe { *interface.as_raw().cast::<*const c_void>() }.addr();
    TABLES.lock().unwrap_or_else(PoisonError::into_inner).values().any(|&made| made == table)
}

/// Returns the lies of an intercepted object and its original table.
///
/// # Safety
///
/// [`intercept`] must have been called for `this` with an interface whose table is `V`.
pub(crate) unsafe fn behind<V>(this: *mut c_void) -> (&'static Lies, &'static V) {
    // SAFETY: by the caller's contract the object begins with a pointer to a Table<V>, which is never
    // freed.
    unsafe {
        let table = *this.cast::<*const Table<V>>();
        ((*table).lies, &*(*table).original)
    }
}

/// Returns a key that distinguishes an object from objects of other wrong devices that had the same address.
pub(crate) fn identity(this: *mut c_void, lies: &'static Lies) -> (usize, usize) {
    (this.addr(), std::ptr::from_ref(lies).addr())
}
