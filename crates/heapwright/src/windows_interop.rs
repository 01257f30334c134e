//! Conversions between the bindings of a caller's version of the crate `windows` and heapwright's.
//!
//! The macro expands in the caller's crate, because both sides are only known there. This module contains the functions
//! that the expansion calls.

use std::mem::{ManuallyDrop, transmute_copy};

use heapwright_d3d12::windows_core::{GUID, Interface};
use heapwright_d3d12::{IDXGIAdapter, IDXGIAdapter3};

use crate::Error;

/// Creates a module that converts between a version of the crate `windows` and [`heapwright::d3d12`](crate::d3d12).
///
/// ```text
/// // SAFETY: `windows` in Cargo.toml is the crate of that name.
/// heapwright::windows_interop!(pub mod interop for unsafe windows);
/// ```
///
/// heapwright has its own bindings (those of `windows` do not build on Linux and lack D3D12's newer features). So its
/// `ID3D12Device` is a different Rust type than yours, although both are the same COM pointer. The module converts
/// between the two for any version: heapwright does not depend on `windows`, so versions need not agree or be upgraded
/// together. Call the macro once for each version that a crate uses, with the name that the version has in
/// `Cargo.toml`, or with a path if another crate re-exports it: `for unsafe engine::windows`. The word `unsafe` is your
/// promise that it is the crate `windows`: see below.
///
/// | in the module | for | provides |
/// |---|---|---|
/// | `ToHeapwright` | `ID3D12Device`, `ID3D12Resource`, `ID3D12Heap`, `ID3D12DescriptorHeap`, `ID3D12QueryHeap`, `ID3D12Pageable`, `ID3D12Fence`, `ID3D12CommandQueue`, `ID3D12CommandList`, `ID3D12GraphicsCommandList`, `ID3D12ProtectedResourceSession`, `IDXGIAdapter3`; `D3D12_RESOURCE_DESC`, `D3D12_RESOURCE_DESC1`, `D3D12_HEAP_PROPERTIES`, `D3D12_CLEAR_VALUE` | `x.as_heapwright()`, a reference to heapwright's type; `x.into_heapwright()`, the value |
/// | `ToWindows` | the same interfaces of heapwright | `x.as_windows()`, `x.into_windows()` |
/// | `AdapterToHeapwright` | every `IDXGIAdapter*` | `adapter.to_heapwright()?`, its `IDXGIAdapter3` by QueryInterface |
/// | `ValueToHeapwright` | `D3D12_RESOURCE_STATES`, `D3D12_RESOURCE_FLAGS`, `D3D12_HEAP_FLAGS`, `D3D12_BARRIER_LAYOUT`, `D3D12_CPU_PAGE_PROPERTY`, `D3D12_MEMORY_POOL`, `D3D12_RESIDENCY_PRIORITY`, `DXGI_FORMAT` | `value.to_heapwright()`, the number: heapwright's enumerations are plain integers |
///
/// [`ClearValue::from_d3d12`](crate::ClearValue::from_d3d12) reads the union of a `D3D12_CLEAR_VALUE`.
///
/// `as_` and `into_` cost nothing: they make no call and count no reference. A later interface can be used for the
/// first one if it derefs to it, as `ID3D12Device5` does in `windows` 0.56 and later: it has `as_heapwright` as well.
///
/// ```
/// // [dependencies]
/// // windows = { version = "…", features = [
/// //     "Win32_Graphics_Direct3D12", "Win32_Graphics_Dxgi", "Win32_Graphics_Dxgi_Common" ] }
/// use heapwright::{HeapType, ResourceAllocation, ResourceAllocationDesc, ResourceAllocator};
/// use interop::{AdapterToHeapwright as _, ToHeapwright as _, ToWindows as _, ValueToHeapwright as _};
/// # use windows::{D3D12_RESOURCE_DESC, D3D12_RESOURCE_STATE_COMMON, ID3D12Device, ID3D12Resource, IDXGIAdapter};
/// # mod windows { // has the shape of the crate
/// #     pub use heapwright::d3d12::*;
/// #     #[repr(transparent)] #[derive(Clone, Copy)] pub struct D3D12_RESOURCE_STATES(pub i32);
/// #     pub const D3D12_RESOURCE_STATE_COMMON: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATES(0);
/// #     pub mod core { pub use heapwright::d3d12::windows_core::*; }
/// #     pub mod Win32 { pub mod Graphics {
/// #         pub mod Direct3D12 { pub use heapwright::d3d12::*; pub use crate::windows::D3D12_RESOURCE_STATES; }
/// #         pub mod Dxgi { pub use heapwright::d3d12::*; pub mod Common { pub use heapwright::d3d12::*; } }
/// #     } }
/// # }
/// # macro_rules! for_windows { () => {
/// // SAFETY: `windows` in Cargo.toml is the crate of that name.
/// heapwright::windows_interop!(mod interop for unsafe windows);
/// # } }
/// # heapwright::windows_interop!(mod interop for unsafe crate::windows);
///
/// fn upload_buffer(
///     device: &ID3D12Device,
///     adapter: &IDXGIAdapter,
///     desc: &D3D12_RESOURCE_DESC,
/// ) -> Result<ResourceAllocation, heapwright::Error> {
///     let adapter = adapter.to_heapwright()?;
///     let allocator = ResourceAllocator::new(device.as_heapwright(), Some(&adapter), Default::default())?;
///     let upload = ResourceAllocationDesc::new(HeapType::Upload);
///     let state = D3D12_RESOURCE_STATE_COMMON.to_heapwright();
///     allocator.create_resource(&upload, desc.as_heapwright(), state, None)
/// }
///
/// fn resource(buffer: &ResourceAllocation) -> &ID3D12Resource {
///     buffer.resource().as_windows()
/// }
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let gpu = heapwright_runtime::Instance::open(heapwright_runtime::HostProfile::default_profile())?;
/// # let desc = heapwright::buffer_desc(heapwright::ByteSize::from_kib(4));
/// # let buffer = upload_buffer(&gpu.device, &gpu.adapter, &desc)?;
/// # assert_eq!(resource(&buffer), buffer.resource());
/// # Ok(())
/// # }
/// ```
///
/// With two versions in one scope, name the trait: `interop_058::ToWindows::as_windows(resource)`.
///
/// # Which versions
///
/// Verified with `windows` 0.48 to 0.62, with the three features above. Later versions work as long as they keep the
/// names. The assumptions of the conversions are checked when your crate is compiled, so a version that differs causes
/// a compile error and not a wrong pointer.
///
/// # Soundness
///
/// The conversions are safe to use, given the promise at the call of the macro. For each pair of interfaces, the macro
/// asserts at compile time that both are interfaces of their crates' `Interface` (which promises one non-null, owned
/// COM pointer), that both have a pointer's size and alignment, and that their IIDs are equal: in COM, equal IIDs mean
/// equal tables of functions. For each pair of structures, it asserts size, alignment, and offset and size of each
/// field. The structures only contain integers and floats, for which any value is valid.
///
/// It cannot be checked that the types are those of the crate `windows`, and not similar ones of another crate. A name
/// may refer to any crate, even to the caller's own by `extern crate self as windows`, and a type of such a crate may
/// have the IIDs and pointers to tables that do not match them. Hence the word `unsafe`: its author promises that the
/// name or path is the crate `windows`, or a crate whose interfaces and structures are those of D3D12 and DXGI.
///
/// Without the word, the macro is a compile error:
///
/// ```compile_fail
/// heapwright::windows_interop!(mod interop for crate::windows);
/// # mod windows { // has the shape of the crate
/// #     pub use heapwright::d3d12::*;
/// #     #[repr(transparent)] #[derive(Clone, Copy)] pub struct D3D12_RESOURCE_STATES(pub i32);
/// #     pub mod core { pub use heapwright::d3d12::windows_core::*; }
/// #     pub mod Win32 { pub mod Graphics {
/// #         pub mod Direct3D12 { pub use heapwright::d3d12::*; pub use crate::windows::D3D12_RESOURCE_STATES; }
/// #         pub mod Dxgi { pub use heapwright::d3d12::*; pub mod Common { pub use heapwright::d3d12::*; } }
/// #     } }
/// # }
/// # fn main() {}
/// ```
///
/// A crate that forbids `unsafe_code` cannot call the macro:
///
/// ```compile_fail,E0453
/// #![forbid(unsafe_code)]
/// heapwright::windows_interop!(mod interop for unsafe crate::windows);
/// # mod windows { // has the shape of the crate
/// #     pub use heapwright::d3d12::*;
/// #     #[repr(transparent)] #[derive(Clone, Copy)] pub struct D3D12_RESOURCE_STATES(pub i32);
/// #     pub mod core { pub use heapwright::d3d12::windows_core::*; }
/// #     pub mod Win32 { pub mod Graphics {
/// #         pub mod Direct3D12 { pub use heapwright::d3d12::*; pub use crate::windows::D3D12_RESOURCE_STATES; }
/// #         pub mod Dxgi { pub use heapwright::d3d12::*; pub mod Common { pub use heapwright::d3d12::*; } }
/// #     } }
/// # }
/// # fn main() {}
/// ```
///
/// A crate that denies `unsafe_code` can call it, because the word is part of the call. `#[forbid(unsafe_code)]` on a
/// module prevents calls in that module.
///
/// # Raw pointers
///
/// Other bindings and other languages pass the pointer itself, as for any interface of
/// [`heapwright::d3d12`](crate::d3d12). Borrow it with
/// [`Interface::from_raw_borrowed`](crate::d3d12::windows_core::Interface::from_raw_borrowed) or take it with
/// `from_raw`; obtain it with `as_raw` or `into_raw`.
/// [`ResourceAllocator::from_raw`](crate::ResourceAllocator::from_raw) does so for the two interfaces that an allocator
/// is created from.
///
/// ```
/// use heapwright::d3d12::{ID3D12Resource, windows_core::Interface as _};
/// use std::ffi::c_void;
///
/// /// # Safety
/// ///
/// /// `resource` is null or an `ID3D12Resource` that is alive, and not mapped by others while the allocation is.
/// unsafe fn import(
///     allocator: &heapwright::ResourceAllocator,
///     resource: *mut c_void,
/// ) -> Option<heapwright::ResourceAllocation> {
///     // SAFETY: the caller's promise.
///     let resource = unsafe { ID3D12Resource::from_raw_borrowed(&resource) }?;
///     // SAFETY: as above.
///     unsafe { allocator.import(&Default::default(), resource) }.ok()
/// }
/// # let gpu = heapwright_runtime::Instance::open(heapwright_runtime::HostProfile::default_profile())?;
/// # let allocator = heapwright::ResourceAllocator::new(&gpu.device, None, Default::default())?;
/// # let properties = heapwright::d3d12::D3D12_HEAP_PROPERTIES { Type: 1, ..Default::default() };
/// # let desc = heapwright::buffer_desc(heapwright::ByteSize::from_kib(4));
/// # let mut made: Option<ID3D12Resource> = None;
/// # unsafe { gpu.device.CreateCommittedResource(&properties, 0, &desc, 0, None, &mut made) }?;
/// # let imported = unsafe { import(&allocator, made.as_ref().unwrap().as_raw()) };
/// # assert_eq!(imported.unwrap().resource(), &made.unwrap());
/// # assert!(unsafe { import(&allocator, std::ptr::null_mut()) }.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[macro_export]
macro_rules! windows_interop {
    ($(#[$attribute:meta])* $visibility:vis mod $name:ident for unsafe $windows:ident) => {
        $crate::__windows_interop_module!(unsafe [$(#[$attribute])* $visibility] $name: ::$windows);
    };
    ($(#[$attribute:meta])* $visibility:vis mod $name:ident for unsafe $($windows:tt)+) => {
        $crate::__windows_interop_module!(unsafe [$(#[$attribute])* $visibility] $name: $($windows)+);
    };
    ($($other:tt)*) => {
        ::core::compile_error!(
            "windows_interop! requires `unsafe` before the path of the crate: `mod NAME for unsafe windows`"
        );
    };
}

/// Part of [`windows_interop!`]: the module.
///
/// The compiler does not apply the lint `unsafe_code` to expansions of another crate's macros. The expansions here and
/// below therefore allow the lint explicitly, because a crate that forbids it rejects that.
#[doc(hidden)]
#[macro_export]
macro_rules! __windows_interop_module {
    (unsafe [$(#[$attribute:meta])* $visibility:vis] $name:ident: $($windows:tt)+) => {
        $(#[$attribute])*
        #[doc = "Conversions between a version of the crate `windows` and heapwright's bindings, made by"]
        #[doc = "[`heapwright::windows_interop!`], which describes them."]
        #[allow(dead_code, unused_imports)]
        $visibility mod $name {
            use $($windows)+::core as their_core;
            use $($windows)+::Win32::Graphics::Direct3D12 as their_d3d12;
            use $($windows)+::Win32::Graphics::Dxgi as their_dxgi;
            use $($windows)+::Win32::Graphics::Dxgi::Common as their_dxgi_common;

            /// Converts to heapwright's type: the same object or the same bytes.
            pub trait ToHeapwright: Sized {
                /// The type in `heapwright::d3d12`.
                type Heapwright;

                /// Borrows this as heapwright's type. No call, no reference counted.
                fn as_heapwright(&self) -> &Self::Heapwright;

                /// Converts this to heapwright's type, with the reference that it holds. No call, no reference counted.
                fn into_heapwright(self) -> Self::Heapwright;
            }

            /// Converts heapwright's interface to the one of `windows`: the same object.
            pub trait ToWindows: Sized {
                /// The interface in `windows`.
                type Windows;

                /// Borrows this as the interface of `windows`. No call, no reference counted.
                fn as_windows(&self) -> &Self::Windows;

                /// Converts this to the interface of `windows`, with the reference that it holds. No call, no reference
                /// counted.
                fn into_windows(self) -> Self::Windows;
            }

            /// Converts an enumeration to its number. `Enumeration` names it, for versions in which all are one integer
            /// type.
            pub trait ValueToHeapwright<Enumeration> {
                /// The integer type in `heapwright::d3d12`.
                type Heapwright;

                /// Returns the number.
                fn to_heapwright(self) -> Self::Heapwright;
            }

            /// Converts adapters of every version to `IDXGIAdapter3`.
            pub trait AdapterToHeapwright {
                /// Returns the adapter's `IDXGIAdapter3`: one call of QueryInterface, and a reference.
                ///
                /// # Errors
                ///
                /// Returns the error of QueryInterface; DXGI 1.4 and later support the interface.
                fn to_heapwright(
                    &self,
                ) -> ::core::result::Result<$crate::d3d12::IDXGIAdapter3, $crate::Error>;
            }

            $crate::__windows_interop_adapters! {
                unsafe;
                IDXGIAdapter, IDXGIAdapter1, IDXGIAdapter2, IDXGIAdapter3, IDXGIAdapter4
            }

            $crate::__windows_interop_interfaces! {
                unsafe;
                their_d3d12: ID3D12CommandList, ID3D12CommandQueue, ID3D12DescriptorHeap, ID3D12Device, ID3D12Fence,
                    ID3D12GraphicsCommandList, ID3D12Heap, ID3D12Pageable, ID3D12ProtectedResourceSession,
                    ID3D12QueryHeap, ID3D12Resource;
                their_dxgi: IDXGIAdapter3;
            }

            $crate::__windows_interop_structures! {
                unsafe;
                D3D12_RESOURCE_DESC {
                    Dimension, Alignment, Width, Height, DepthOrArraySize, MipLevels, Format, SampleDesc, Layout, Flags
                }
                D3D12_RESOURCE_DESC1 {
                    Dimension, Alignment, Width, Height, DepthOrArraySize, MipLevels, Format, SampleDesc, Layout, Flags,
                    SamplerFeedbackMipRegion
                }
                D3D12_HEAP_PROPERTIES {
                    Type, CPUPageProperty, MemoryPoolPreference, CreationNodeMask, VisibleNodeMask
                }
                D3D12_CLEAR_VALUE { Format, Anonymous }
            }

            $crate::__windows_interop_enumerations! {
                unsafe;
                their_d3d12: D3D12_BARRIER_LAYOUT, D3D12_CPU_PAGE_PROPERTY, D3D12_HEAP_FLAGS, D3D12_MEMORY_POOL,
                    D3D12_RESIDENCY_PRIORITY, D3D12_RESOURCE_FLAGS, D3D12_RESOURCE_STATES;
                their_dxgi_common: DXGI_FORMAT;
            }
        }
    };
}

/// Part of [`windows_interop!`]: fails to compile unless an interface is the one that heapwright has under this name.
#[doc(hidden)]
#[macro_export]
macro_rules! __windows_interop_assert_interface {
    ($name:ident: $theirs:ty) => {{
        // Which of the crate's traits has the IID depends on the version.
        use their_core::*;
        const fn is_interface<T: Interface>() {}
        is_interface::<$theirs>();
        let theirs = <$theirs>::IID;
        ::core::assert!(
            $crate::__windows_interop::is_iid::<$crate::d3d12::$name>(
                theirs.data1,
                theirs.data2,
                theirs.data3,
                theirs.data4,
            ),
            ::core::concat!(
                "the IID of ",
                ::core::stringify!($name),
                " in `windows` differs from heapwright's"
            ),
        );
    }};
}

/// Part of [`windows_interop!`]: conversions of adapters to heapwright.
#[doc(hidden)]
#[macro_export]
macro_rules! __windows_interop_adapters {
    (unsafe; $($name:ident),+) => {$(
        const _: () = $crate::__windows_interop_assert_interface!($name: their_dxgi::$name);

        #[allow(unsafe_code)]
        impl AdapterToHeapwright for their_dxgi::$name {
            fn to_heapwright(
                &self,
            ) -> ::core::result::Result<$crate::d3d12::IDXGIAdapter3, $crate::Error> {
                // SAFETY: asserted above: one COM pointer of the same interface on both sides.
                let adapter: &$crate::d3d12::$name = unsafe { $crate::__windows_interop::cast_ref(self) };
                $crate::__windows_interop::to_adapter3(adapter)
            }
        }
    )+};
}

/// Part of [`windows_interop!`]: conversions of interfaces, in both directions.
#[doc(hidden)]
#[macro_export]
macro_rules! __windows_interop_interfaces {
    (unsafe; $($module:ident: $($name:ident),+;)+) => {$($(
        const _: () = $crate::__windows_interop_assert_interface!($name: $module::$name);

        // SAFETY: asserted above: one COM pointer of the same interface on both sides.
        $crate::__windows_interop_casts! {
            unsafe ToHeapwright for $module::$name: Heapwright = $crate::d3d12::$name, as_heapwright, into_heapwright
        }
        // SAFETY: as above.
        $crate::__windows_interop_casts! {
            unsafe ToWindows for $crate::d3d12::$name: Windows = $module::$name, as_windows, into_windows
        }
    )+)+};
}

/// Part of [`windows_interop!`]: the conversion of a type to one that is the same in memory, which the word `unsafe`
/// promises.
#[doc(hidden)]
#[macro_export]
macro_rules! __windows_interop_casts {
    (unsafe $trait:ident for $from:ty: $associated:ident = $to:ty, $borrow:ident, $convert:ident) => {
        #[allow(unsafe_code)]
        impl $trait for $from {
            type $associated = $to;

            #[inline]
            fn $borrow(&self) -> &$to {
                // SAFETY: the promise of the call.
                unsafe { $crate::__windows_interop::cast_ref(self) }
            }

            #[inline]
            fn $convert(self) -> $to {
                // SAFETY: as above.
                unsafe { $crate::__windows_interop::cast(self) }
            }
        }
    };
}

/// Part of [`windows_interop!`]: conversions of structures to heapwright.
#[doc(hidden)]
#[macro_export]
macro_rules! __windows_interop_structures {
    (unsafe; $($name:ident { $($field:ident),+ })+) => {$(
        const _: () = {
            use $crate::__windows_interop::size_of_field;
            use $crate::d3d12::$name as Ours;
            use their_d3d12::$name as Theirs;
            $(::core::assert!(
                ::core::mem::offset_of!(Ours, $field) == ::core::mem::offset_of!(Theirs, $field)
                    && size_of_field(|s: &Ours| &s.$field) == size_of_field(|s: &Theirs| &s.$field),
                ::core::concat!(
                    "the layout of ",
                    ::core::stringify!($name),
                    "::",
                    ::core::stringify!($field),
                    " in `windows` differs from heapwright's",
                ),
            );)+
        };

        // SAFETY: asserted above: the same fields at the same places; heapwright's side takes any value of each.
        $crate::__windows_interop_casts! {
            unsafe ToHeapwright for their_d3d12::$name:
                Heapwright = $crate::d3d12::$name, as_heapwright, into_heapwright
        }
    )+};
}

/// Part of [`windows_interop!`]: conversions of enumerations to heapwright.
#[doc(hidden)]
#[macro_export]
macro_rules! __windows_interop_enumerations {
    (unsafe; $($module:ident: $($name:ident),+;)+) => {$($(
        #[allow(unsafe_code)]
        impl ValueToHeapwright<$crate::__windows_interop::$name> for $module::$name {
            type Heapwright = $crate::d3d12::$name;

            #[inline]
            fn to_heapwright(self) -> Self::Heapwright {
                // SAFETY: an enumeration of C is an integer; heapwright's type is an integer of the same size, which
                // `cast` asserts.
                unsafe { $crate::__windows_interop::cast(self) }
            }
        }
    )+)+};
}

/// Mismatched types do not compile. Each rejected example follows a similar one that compiles.
///
/// ```
/// use heapwright::d3d12::{ID3D12Device, windows_core as their_core};
/// const _: () = heapwright::__windows_interop_assert_interface!(ID3D12Device: ID3D12Device);
/// ```
///
/// ```compile_fail,E0080
/// use heapwright::d3d12::{ID3D12Device1, windows_core as their_core};
/// const _: () = heapwright::__windows_interop_assert_interface!(ID3D12Device: ID3D12Device1);
/// ```
///
/// ```compile_fail,E0277
/// use heapwright::d3d12::{ID3D12Device, windows_core as their_core};
/// struct NoInterface;
/// impl NoInterface {
///     const IID: their_core::GUID = <ID3D12Device as their_core::Interface>::IID;
/// }
/// const _: () = heapwright::__windows_interop_assert_interface!(ID3D12Device: NoInterface);
/// ```
///
/// ```
/// mod their_d3d12 {
///     #[repr(C)]
///     pub struct D3D12_MIP_REGION { pub Width: u32, pub Height: u32, pub Depth: u32 }
/// }
/// # trait ToHeapwright {
/// #     type Heapwright;
/// #     fn as_heapwright(&self) -> &Self::Heapwright;
/// #     fn into_heapwright(self) -> Self::Heapwright;
/// # }
/// heapwright::__windows_interop_structures!(unsafe; D3D12_MIP_REGION { Width, Height, Depth });
/// ```
///
/// ```compile_fail,E0080
/// mod their_d3d12 {
///     #[repr(C)]
///     pub struct D3D12_MIP_REGION { pub Width: u32, pub Depth: u32, pub Height: u32 }
/// }
/// # trait ToHeapwright {
/// #     type Heapwright;
/// #     fn as_heapwright(&self) -> &Self::Heapwright;
/// #     fn into_heapwright(self) -> Self::Heapwright;
/// # }
/// heapwright::__windows_interop_structures!(unsafe; D3D12_MIP_REGION { Width, Height, Depth });
/// ```
///
/// ```compile_fail,E0080
/// mod their_d3d12 {
///     #[repr(C)]
///     pub struct D3D12_MIP_REGION { pub Width: u32, pub Height: u32, pub Depth: u16 }
/// }
/// # trait ToHeapwright {
/// #     type Heapwright;
/// #     fn as_heapwright(&self) -> &Self::Heapwright;
/// #     fn into_heapwright(self) -> Self::Heapwright;
/// # }
/// heapwright::__windows_interop_structures!(unsafe; D3D12_MIP_REGION { Width, Height, Depth });
/// ```
#[cfg(doctest)]
struct Disagreements;

/// Checks whether these are the fields of an interface's IID.
#[must_use]
pub const fn is_iid<T: Interface>(data1: u32, data2: u16, data3: u16, data4: [u8; 8]) -> bool {
    T::IID.to_u128() == GUID::from_values(data1, data2, data3, data4).to_u128()
}

/// Returns the size of a field, in bytes, given a function that would borrow it.
#[must_use]
pub const fn size_of_field<Structure, Field>(_borrow: fn(&Structure) -> &Field) -> usize {
    size_of::<Field>()
}

/// Reinterprets a reference as one to another type.
///
/// # Safety
///
/// Each value of `From` is, byte for byte, a value of `To` that means the same. Compilation fails where size or
/// alignment differ.
#[inline]
pub const unsafe fn cast_ref<From, To>(from: &From) -> &To {
    const { assert_layout::<From, To>() };
    // SAFETY: the caller's promise; size and alignment are asserted, and the result borrows what `from` does.
    unsafe { &*std::ptr::from_ref(from).cast() }
}

/// Reinterprets a value as one of another type, with everything that it owns.
///
/// # Safety
///
/// See [`cast_ref`].
#[inline]
pub const unsafe fn cast<From, To>(from: From) -> To {
    const { assert_layout::<From, To>() };
    let from = ManuallyDrop::new(from);
    // SAFETY: the caller's promise; the sizes are asserted, and what `from` owns is not dropped here.
    unsafe { transmute_copy(&from) }
}

const fn assert_layout<From, To>() {
    assert!(
        size_of::<From>() == size_of::<To>(),
        "the type has a different size in `windows` than in heapwright"
    );
    assert!(
        align_of::<From>() == align_of::<To>(),
        "the type has a different alignment in `windows` than in heapwright"
    );
}

/// Returns the adapter's `IDXGIAdapter3`.
///
/// # Errors
///
/// Returns the error of QueryInterface.
pub fn to_adapter3(adapter: &IDXGIAdapter) -> Result<IDXGIAdapter3, Error> {
    adapter.cast().map_err(|error| Error::device("QueryInterface for IDXGIAdapter3", error.code()))
}

/// Names of enumerations as types, so that each has an implementation of its own even if all of them are one integer
/// type.
macro_rules! enumerations {
    ($($name:ident),+) => {$(
        /// Stands for the enumeration with this name.
        #[allow(non_camel_case_types, reason = "D3D12's name")]
        #[derive(Debug)]
        pub enum $name {}
    )+};
}

enumerations!(
    D3D12_BARRIER_LAYOUT,
    D3D12_CPU_PAGE_PROPERTY,
    D3D12_HEAP_FLAGS,
    D3D12_MEMORY_POOL,
    D3D12_RESIDENCY_PRIORITY,
    D3D12_RESOURCE_FLAGS,
    D3D12_RESOURCE_STATES,
    DXGI_FORMAT
);

#[cfg(test)]
mod tests {
    use super::*;
    use heapwright_d3d12::{D3D12_CLEAR_VALUE, ID3D12Device};

    #[test]
    fn every_part_of_an_iid_is_compared() {
        let GUID { data1, data2, data3, data4 } = ID3D12Device::IID;
        assert!(is_iid::<ID3D12Device>(data1, data2, data3, data4));
        assert!(!is_iid::<ID3D12Device>(data1 ^ 1, data2, data3, data4));
        assert!(!is_iid::<ID3D12Device>(data1, data2 ^ 1, data3, data4));
        assert!(!is_iid::<ID3D12Device>(data1, data2, data3 ^ 1, data4));
        for byte in 0..8 {
            let mut other = data4;
            other[byte] ^= 0x80;
            assert!(!is_iid::<ID3D12Device>(data1, data2, data3, other), "byte {byte}");
        }
    }

    #[test]
    fn a_field_has_its_own_size() {
        assert_eq!(size_of_field(|s: &D3D12_CLEAR_VALUE| &s.Format), 4);
        assert_eq!(size_of_field(|s: &D3D12_CLEAR_VALUE| &s.Anonymous), 16);
    }

    #[test]
    #[should_panic(expected = "different size")]
    fn a_different_size_is_rejected() {
        assert_layout::<u64, [u64; 2]>();
    }

    #[test]
    #[should_panic(expected = "different alignment")]
    fn a_different_alignment_is_rejected() {
        assert_layout::<u64, [u8; 8]>();
    }
}
