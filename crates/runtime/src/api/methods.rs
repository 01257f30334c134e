//! Macros for lists of COM methods with similar bodies.

/// Implements methods of `$interface` with one expression over the object and the call's name
/// (`"ID3D12Device5::CreateMetaCommand"`). Parameters are listed without names, because none is read; `[unsafe]` is
/// required where a trait declares `unsafe fn`.
macro_rules! methods {
    (
        $interface:ident, |$this:pat_param, $call:pat_param| $body:expr;
        $($([$unsafe:tt])? fn $name:ident($($parameter:ty),*) $(-> $answer:ty)?;)*
    ) => {$(
        $($unsafe)? fn $name(&self, $(_: $parameter),*) $(-> $answer)? {
            let ($this, $call) = (self, concat!(stringify!($interface), "::", stringify!($name)));
            $body
        }
    )*};
}

/// Implements methods of `$interface` with methods of the object. These take the call's name as their first argument
/// (`"ID3D12Device4::CreateHeap1"`), run the call and may rely on the COM contract.
///
/// With `unsafe`, the interface declares `unsafe fn`, and every method returns the HRESULT of the call.
macro_rules! calls {
    (unsafe $interface:ident: $(fn $name:ident($($parameter:ident: $type:ty),*) = $call:ident($($argument:expr),*);)*) => {$(
        #[allow(unused_unsafe, reason = "some calls read no pointer")]
        unsafe fn $name(&self, $($parameter: $type),*) -> windows_core::HRESULT {
            let name = concat!(stringify!($interface), "::", stringify!($name));
            // SAFETY: as below. An interface that is passed as a pointer is null or a live COM object.
            $crate::api::call::code(unsafe { self.$call(name, $($argument),*) })
        }
    )*};
    ($interface:ident: $(
        fn $name:ident($($parameter:ident: $type:ty),*) $(-> $answer:ty)? = $call:ident($($argument:expr),*);
    )*) => {$(
        #[allow(unused_unsafe, reason = "some calls read no pointer")]
        fn $name(&self, $($parameter: $type),*) $(-> $answer)? {
            let name = concat!(stringify!($interface), "::", stringify!($name));
            // SAFETY: by the COM contract, each pointer is null or points to what the method documents: an array to as
            // many elements as its count, an out pointer to writable space.
            unsafe { self.$call(name, $($argument),*) }
        }
    )*};
}

/// Implements an interface by forwarding to the same methods of the field `$inner`, which validates the arguments.
/// Methods in braces are implemented as written.
macro_rules! pass_on {
    (
        impl $interface:ident for $outer:ident by $inner:ident: { $($own:item)* }
        $(fn $name:ident($($parameter:ty),*) $(-> $answer:ty)?;)*
    ) => {
        impl $interface for $outer {
            $($own)*

            $($crate::api::methods::pass_on! {
                @method $inner $name ($(-> $answer)?) () (a b c d e f g h) $($parameter,)*
            })*
        }
    };
    (@method $inner:ident $name:ident ($($answer:tt)*) ($($argument:ident: $kind:ty,)*) $unused:tt) => {
        fn $name(&self, $($argument: $kind),*) $($answer)* {
            self.$inner.$name($($argument),*)
        }
    };
    (
        @method $inner:ident $name:ident $answer:tt ($($named:tt)*)
        ($argument:ident $($unused:ident)*) $kind:ty, $($rest:ty,)*
    ) => {
        $crate::api::methods::pass_on! {
            @method $inner $name $answer ($($named)* $argument: $kind,) ($($unused)*) $($rest,)*
        }
    };
}

pub(crate) use {calls, methods, pass_on};
