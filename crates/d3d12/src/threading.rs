//! `Send` and `Sync` for interfaces that may be used from any thread.
//!
//! According to Direct3D 12's documentation, devices and the objects that they create are free-threaded, except command
//! lists, command allocators and the debug layer's interfaces. DXGI's factories and adapters are free-threaded as well.
//! Interfaces that are not listed here are neither `Send` nor `Sync`; wrap them to share them between threads.
//!
//! An interface is listed only if every object that implements it is free-threaded. `ID3D12Pageable` and its bases are not
//! listed, because command allocators implement them.

use crate::*;

macro_rules! free_threaded {
    ($($interface:ident),* $(,)?) => {
        $(
            // SAFETY: the interface is documented as free-threaded (see the module): its methods, AddRef and Release may be
            // called concurrently from any thread.
            unsafe impl Send for $interface {}
            // SAFETY: as above.
            unsafe impl Sync for $interface {}
        )*
    };
}

free_threaded!(
    ID3D12Device,
    ID3D12Device1,
    ID3D12Device2,
    ID3D12Device3,
    ID3D12Device4,
    ID3D12Device5,
    ID3D12Device6,
    ID3D12Device7,
    ID3D12Device8,
    ID3D12Device9,
    ID3D12Device10,
    ID3D12Device11,
    ID3D12Device12,
    ID3D12Device13,
    ID3D12Device14,
    ID3D12Heap,
    ID3D12Heap1,
    ID3D12Resource,
    ID3D12Resource1,
    ID3D12Resource2,
    ID3D12DescriptorHeap,
    ID3D12QueryHeap,
    ID3D12ProtectedResourceSession,
    ID3D12CommandQueue,
    ID3D12Fence,
    ID3D12Fence1,
    IDXGIFactory4,
    IDXGIFactory5,
    IDXGIFactory6,
    IDXGIAdapter,
    IDXGIAdapter1,
    IDXGIAdapter2,
    IDXGIAdapter3,
    IDXGIAdapter4,
);

/// Checks that command lists, command allocators and the interfaces that they implement are neither `Send` nor `Sync`. An
/// interface that is has two implementations of the trait, which is a compile error.
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
