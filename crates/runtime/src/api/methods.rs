//! Lists of COM methods whose bodies are alike.

/// Implements methods of `$interface` by one expression over the object and the call's name (`"ID3D12Device5::CreateMetaCommand"`).
/// Parameters have no names in such a list, for none is read; `[unsafe]` stands where a trait declares `unsafe fn`.
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

/// Implements methods of `$interface` by methods of the object that get the call's name first (`"ID3D12Device4::CreateHeap1"`): they run
/// the call and may rely on the COM contract.
macro_rules! calls {
    ($interface:ident: $(
        fn $name:ident($($parameter:ident: $type:ty),*) $(-> $answer:ty)? = $call:ident($($argument:expr),*);
    )*) => {$(
        fn $name(&self, $($parameter: $type),*) $(-> $answer)? {
            let name = concat!(stringify!($interface), "::", stringify!($name));
            // SAFETY: by the COM contract each pointer is null or points to what the method says: an array to as many elements as are
            // counted, an out pointer to writable space.
            unsafe { self.$call(name, $($argument),*) }
        }
    )*};
}

/// Implements an interface by the same methods of the object at the field `$inner`, which checks what it is given; those in braces as
/// they are.
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
