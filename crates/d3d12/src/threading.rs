//! `Send` and `Sync` for interfaces that may be used from any thread.
//!
//! According to Direct3D 12's documentation, devices and the objects that they create are free-threaded, except command
//! lists, command allocators and the debug layer's interfaces. DXGI's factories and adapters are free-threaded as well.
//! Interfaces that are not listed here are neither `Send` nor `Sync`; wrap them to share them between threads.
//!
//! An interface is listed only if every object that implements it is free-threaded. `ID3D12Pageable` and its bases are
//! not listed, because command allocators implement them.
//!
//! The `_Impl` traits of the listed interfaces require `Send` and `Sync` (`cargo xtask bindings`), because any
//! implementation can be sent to other threads as such an interface:
//!
#![cfg_attr(feature = "complete", doc = "```compile_fail,E0277")]
#![cfg_attr(not(feature = "complete"), doc = "```ignore")]
//! use std::rc::Rc;
//!
//! use heapwright_d3d12::windows_core::implement;
//! use heapwright_d3d12::{D3D12_HEAP_DESC, ID3D12Heap, ID3D12Heap_Impl};
//! # use heapwright_d3d12::windows_core::{GUID, IUnknown, Ref, Result};
//! # use heapwright_d3d12::{ID3D12DeviceChild_Impl, ID3D12Object_Impl, ID3D12Pageable_Impl, PCWSTR};
//!
//! #[implement(ID3D12Heap)]
//! struct Counted(Rc<()>);
//!
//! impl ID3D12Heap_Impl for Counted_Impl {
//!     // error: `Rc<()>` cannot be shared between threads safely
//!     fn GetDesc(&self) -> D3D12_HEAP_DESC {
//!         let _another = Rc::clone(&self.0);
//!         D3D12_HEAP_DESC::default()
//!     }
//! }
//! # impl ID3D12Pageable_Impl for Counted_Impl {}
//! # impl ID3D12DeviceChild_Impl for Counted_Impl {
//! #     fn GetDevice(&self, _: *const GUID, _: *mut *mut std::ffi::c_void) -> Result<()> { Ok(()) }
//! # }
//! # impl ID3D12Object_Impl for Counted_Impl {
//! #     fn GetPrivateData(&self, _: *const GUID, _: *mut u32, _: *mut std::ffi::c_void) -> Result<()> { Ok(()) }
//! #     fn SetPrivateData(&self, _: *const GUID, _: u32, _: *const std::ffi::c_void) -> Result<()> { Ok(()) }
//! #     fn SetPrivateDataInterface(&self, _: *const GUID, _: Ref<'_, IUnknown>) -> Result<()> { Ok(()) }
//! #     fn SetName(&self, _: &PCWSTR) -> Result<()> { Ok(()) }
//! # }
//! ```

use crate::*;

macro_rules! free_threaded {
    ($($interface:ident: $implementation:ident,)*) => {
        $(
            // SAFETY: the interface is documented as free-threaded (see the module): its methods, AddRef and Release
            // may be called concurrently from any thread. Implementations in Rust are `Send` and `Sync` (checked
            // below).
            unsafe impl Send for $interface {}
            // SAFETY: as above.
            unsafe impl Sync for $interface {}
        )*

        /// Checks that the `_Impl` traits require `Send` and `Sync`.
        #[cfg(feature = "complete")]
        #[expect(dead_code, reason = "compiling the functions is the check")]
        const _: () = {
            fn check<T: ?Sized + Send + Sync>() {}
            $({
                fn implies<T: $implementation>() {
                    check::<T>();
                }
            })*
        };
    };
}

free_threaded!(
    ID3D12Device: ID3D12Device_Impl,
    ID3D12Device1: ID3D12Device1_Impl,
    ID3D12Device2: ID3D12Device2_Impl,
    ID3D12Device3: ID3D12Device3_Impl,
    ID3D12Device4: ID3D12Device4_Impl,
    ID3D12Device5: ID3D12Device5_Impl,
    ID3D12Device6: ID3D12Device6_Impl,
    ID3D12Device7: ID3D12Device7_Impl,
    ID3D12Device8: ID3D12Device8_Impl,
    ID3D12Device9: ID3D12Device9_Impl,
    ID3D12Device10: ID3D12Device10_Impl,
    ID3D12Device11: ID3D12Device11_Impl,
    ID3D12Device12: ID3D12Device12_Impl,
    ID3D12Device13: ID3D12Device13_Impl,
    ID3D12Device14: ID3D12Device14_Impl,
    ID3D12Heap: ID3D12Heap_Impl,
    ID3D12Heap1: ID3D12Heap1_Impl,
    ID3D12Resource: ID3D12Resource_Impl,
    ID3D12Resource1: ID3D12Resource1_Impl,
    ID3D12Resource2: ID3D12Resource2_Impl,
    ID3D12DescriptorHeap: ID3D12DescriptorHeap_Impl,
    ID3D12QueryHeap: ID3D12QueryHeap_Impl,
    ID3D12ProtectedResourceSession: ID3D12ProtectedResourceSession_Impl,
    ID3D12CommandQueue: ID3D12CommandQueue_Impl,
    ID3D12Fence: ID3D12Fence_Impl,
    ID3D12Fence1: ID3D12Fence1_Impl,
    IDXGIFactory4: IDXGIFactory4_Impl,
    IDXGIFactory5: IDXGIFactory5_Impl,
    IDXGIFactory6: IDXGIFactory6_Impl,
    IDXGIAdapter: IDXGIAdapter_Impl,
    IDXGIAdapter1: IDXGIAdapter1_Impl,
    IDXGIAdapter2: IDXGIAdapter2_Impl,
    IDXGIAdapter3: IDXGIAdapter3_Impl,
    IDXGIAdapter4: IDXGIAdapter4_Impl,
);

/// Checks that command lists, command allocators and the interfaces that they implement are neither `Send` nor `Sync`.
/// An interface that is has two implementations of the trait, which is a compile error.
const _: () = {
    trait NotSend<Reason> {
        const HOLDS: () = ();
    }
    impl<T: ?Sized> NotSend<()> for T {}
    impl<T: ?Sized + Send> NotSend<u8> for T {}

    trait NotSync<Reason> {
        const HOLDS: () = ();
    }
    impl<T: ?Sized> NotSync<()> for T {}
    impl<T: ?Sized + Sync> NotSync<u8> for T {}

    macro_rules! bound_to_thread {
        ($($interface:ty),* $(,)?) => {
            $(
                let () = <$interface as NotSend<_>>::HOLDS;
                let () = <$interface as NotSync<_>>::HOLDS;
            )*
        };
    }

    bound_to_thread!(
        windows_core::IUnknown,
        ID3D12Object,
        ID3D12DeviceChild,
        ID3D12Pageable,
        ID3D12CommandAllocator,
        ID3D12CommandList,
        ID3D12GraphicsCommandList,
    );
    #[cfg(feature = "complete")]
    bound_to_thread!(ID3D12GraphicsCommandList10);
};
