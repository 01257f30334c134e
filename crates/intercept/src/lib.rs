//! Replaces methods of live COM objects, for tests.
//!
//! [`intercept`] gives an object a copy of its method table in which some methods are replaced by Rust
//! closures. A replacement receives an [`Intercepted`], which has the test's data and the original methods,
//! and the arguments as a tuple. The object stays what it was: its identity, `GetDevice` and other objects
//! that refer to it work as before.

mod method;
mod tables;

use std::ffi::c_void;
use std::marker::PhantomData;

use windows_core::Interface;

pub use self::method::Method;

/// An intercepted object `this`, in its role as `I`.
#[derive(Debug)]
pub struct Intercepted<I: Interface<Vtable: 'static>, D: 'static> {
    /// The object, as the first argument of a method.
    pub this: *mut c_void,
    /// The data given to [`intercept`].
    pub data: &'static D,
    /// The original methods.
    pub original: &'static I::Vtable,
    /// So that only `new` makes one.
    is_live: PhantomData<()>,
}

impl<I: Interface<Vtable: 'static>, D> Intercepted<I, D> {
    /// Returns the data and the original methods of an object.
    ///
    /// # Safety
    ///
    /// `this` is an object that was intercepted with data of type `D`, by an interface that is `I` or inherits
    /// from `I`. It is live as long as the returned value.
    pub unsafe fn new(this: *mut c_void) -> Self {
        // SAFETY: by the contract, the object points to the methods of a table, which is never freed, and
        // the data and the original table are of these types. A table begins with those of its base interfaces.
        unsafe {
            let header = tables::header(this);
            let (data, original) = (&*header.data.cast::<D>(), &*header.original.cast::<I::Vtable>());
            Self { this, data, original, is_live: PhantomData }
        }
    }

    /// Returns the object as an interface.
    pub fn object(&self) -> &I {
        // SAFETY: by the contract of `new`, the object is live and an `I`.
        unsafe { I::from_raw_borrowed(&self.this) }.expect("an intercepted object is not null")
    }
}

/// Selects a method for [`MethodsOf::replace`] by its name.
#[macro_export]
macro_rules! method {
    ($name:ident) => {
        |table| &mut table.$name
    };
}

/// The methods of an object that is being intercepted.
pub struct Methods<D: 'static> {
    table: *mut c_void,
    size: usize,
    data: PhantomData<&'static D>,
}

impl<D> Methods<D> {
    /// Returns the methods of an interface.
    ///
    /// # Safety
    ///
    /// The intercepted interface is `I` or inherits from `I`.
    pub unsafe fn of<I: Interface<Vtable: 'static>>(&self) -> MethodsOf<'_, I, D> {
        assert!(size_of::<I::Vtable>() <= self.size, "the interface inherits from that one");
        MethodsOf { table: self.table.cast(), data: PhantomData }
    }
}

/// The methods of one interface of an object that is being intercepted.
pub struct MethodsOf<'a, I: Interface<Vtable: 'static>, D: 'static> {
    table: *mut I::Vtable,
    data: PhantomData<(&'a (), &'static D)>,
}

impl<I: Interface<Vtable: 'static>, D> MethodsOf<'_, I, D> {
    /// Replaces the method that `method` selects, which does nothing else. The replacement cannot capture
    /// anything.
    ///
    /// # Safety
    ///
    /// The replacement upholds the contract of the method, whose caller upholds it, too.
    pub unsafe fn replace<M, F>(&self, method: impl FnOnce(&mut I::Vtable) -> &mut M, replacement: F)
    where
        M: Method,
        F: Fn(&Intercepted<I, D>, M::Arguments) -> M::Output + Copy + 'static,
    {
        // SAFETY: the table is being made, nobody else has a reference to it, and it begins with one of `I`.
        *method(unsafe { &mut *self.table }) = M::running(replacement);
    }
}

/// Replaces methods of an object, for all of its interfaces that are in the inheritance chain of `I`.
///
/// Objects of one kind that are intercepted with the same data share a table, for which `replace` is called
/// once. If the object is already intercepted, it gets its original methods back first.
///
/// # Safety
///
/// - `I` is the newest interface of the chain that the object has, or no later interface is used; and the
///   object's method table has all methods of `I`.
/// - No other thread uses the object during this call.
pub unsafe fn intercept<I: Interface<Vtable: 'static>, D: Sync>(
    object: &I,
    data: &'static D,
    replace: impl FnOnce(&Methods<D>),
) {
    // SAFETY: the caller upholds the contract of this function.
    unsafe {
        tables::install::<I::Vtable, D>(object.as_raw(), data, |table| {
            replace(&Methods { table, size: size_of::<I::Vtable>(), data: PhantomData });
        });
    }
}

#[cfg(test)]
mod tests;
