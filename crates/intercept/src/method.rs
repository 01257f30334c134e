//! Closures as methods.

use std::ffi::c_void;
use std::ptr::NonNull;

use windows_core::Interface;

use crate::Intercepted;

/// A method of a COM interface: a function whose first argument is the object.
pub trait Method: Copy {
    /// The arguments after the object, as a tuple.
    type Arguments;
    /// The type that the method returns.
    type Output;

    /// Returns a method that calls `replacement`.
    fn running<I: Interface<Vtable: 'static>, D: 'static, F>(replacement: F) -> Self
    where
        F: Fn(&Intercepted<I, D>, Self::Arguments) -> Self::Output + Copy + 'static;
}

macro_rules! methods_of {
    ($($argument:ident: $type:ident),*) => {
        impl<R, $($type),*> Method for unsafe extern "system" fn(*mut c_void, $($type),*) -> R {
            type Arguments = ($($type,)*);
            type Output = R;

            fn running<I: Interface<Vtable: 'static>, D: 'static, F>(_replacement: F) -> Self
            where
                F: Fn(&Intercepted<I, D>, Self::Arguments) -> R + Copy + 'static,
            {
                /// # Safety
                ///
                /// `this` is intercepted with data of type `D`, and a value of type `F` exists.
                unsafe extern "system" fn run<I: Interface<Vtable: 'static>, D: 'static, F, R, $($type),*>(
                    this: *mut c_void,
                    $($argument: $type),*
                ) -> R
                where
                    F: Fn(&Intercepted<I, D>, ($($type,)*)) -> R + Copy + 'static,
                {
                    // SAFETY: `running` checked that the type has no size, and it can be copied, so this is a
                    // copy of the value that `running` received.
                    let replacement = unsafe { NonNull::<F>::dangling().as_ref() };
                    // SAFETY: the caller upholds the contract of this function.
                    let call = unsafe { Intercepted::new(this) };
                    replacement(&call, ($($argument,)*))
                }
                const { assert!(size_of::<F>() == 0, "a replacement cannot capture anything") };
                run::<I, D, F, R, $($type),*>
            }
        }
    };
}

methods_of!();
methods_of!(a: A);
methods_of!(a: A, b: B);
methods_of!(a: A, b: B, c: C);
methods_of!(a: A, b: B, c: C, d: E);
methods_of!(a: A, b: B, c: C, d: E, e: G);
methods_of!(a: A, b: B, c: C, d: E, e: G, f: H);
methods_of!(a: A, b: B, c: C, d: E, e: G, f: H, g: J);
methods_of!(a: A, b: B, c: C, d: E, e: G, f: H, g: J, h: K);
methods_of!(a: A, b: B, c: C, d: E, e: G, f: H, g: J, h: K, i: L);
methods_of!(a: A, b: B, c: C, d: E, e: G, f: H, g: J, h: K, i: L, j: N);
