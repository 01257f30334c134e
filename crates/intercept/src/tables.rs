//! Method tables of intercepted objects.

use std::any::TypeId;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{LazyLock, Mutex, PoisonError};

/// The fields that precede the methods in memory.
pub(crate) struct Header {
    pub(crate) original: *const c_void,
    pub(crate) data: *const c_void,
}

/// A method table with some replaced methods.
#[repr(C)]
struct Table<V> {
    header: Header,
    /// Objects point here.
    methods: V,
}

/// The key of a table: everything that its methods depend on.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    original: usize,
    size: usize,
    data: usize,
    type_of_data: TypeId,
}

#[derive(Default)]
struct Tables {
    /// The addresses of the methods.
    made: HashMap<Key, usize>,
    /// The address of the original table, by that of the methods.
    originals: HashMap<usize, usize>,
}

/// They live as long as the process, since objects may outlive a test.
static TABLES: LazyLock<Mutex<Tables>> = LazyLock::new(Mutex::default);

/// Gives an object a copy of its table of type `V`, changed by `replace`.
///
/// # Safety
///
/// `object` is a live COM object whose table has all methods of `V`, and no other thread uses it.
pub(crate) unsafe fn install<V, D>(object: *mut c_void, data: &'static D, replace: impl FnOnce(*mut c_void)) {
    let object = object.cast::<*const V>();
    let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: a COM object begins with the pointer to its method table.
    let current = unsafe { *object }.expose_provenance();
    let original = *tables.originals.get(&current).unwrap_or(&current);
    let (size, type_of_data) = (size_of::<V>(), TypeId::of::<D>());
    let data = std::ptr::from_ref(data);
    let key = Key { original, size, data: data.addr(), type_of_data };
    let methods = *tables.made.entry(key).or_insert_with(|| {
        let original = std::ptr::with_exposed_provenance::<V>(original);
        // SAFETY: the table has the methods of `V`, which are plain function pointers.
        let methods = unsafe { original.read() };
        let header = Header { original: original.cast(), data: data.cast() };
        let table = Box::into_raw(Box::new(Table { header, methods }));
        // SAFETY: the table was just made. The pointer may be used for the header, too.
        let methods = unsafe { &raw mut (*table).methods };
        replace(methods.cast());
        methods.expose_provenance()
    });
    tables.originals.insert(methods, original);
    if methods != current {
        // SAFETY: the table is of the same type and is never freed, and no other thread uses the object.
        unsafe { object.write(std::ptr::with_exposed_provenance(methods)) };
    }
}

/// Returns what precedes the methods of an object.
///
/// # Safety
///
/// [`install`] was called for the object.
pub(crate) unsafe fn header(object: *mut c_void) -> &'static Header {
    // SAFETY: by the contract the object points to the methods of a table, which is never freed.
    unsafe {
        let methods = *object.cast::<*const c_void>();
        let offset = size_of::<Header>();
        &*methods.byte_sub(offset).cast()
    }
}
