//! Which interfaces may be used from any thread.
//!
//! The metadata does not say it, Direct3D 12's documentation does: devices and what they create are free-threaded, with
//! the exception of command lists and command allocators, and of whatever the debug layer adds. DXGI's factories and
//! adapters are free-threaded as well. An interface that is not listed here is neither `Send` nor `Sync`; wrap it with
//! the reason that holds where it is used.
//!
//! An interface is listed only if every object that implements it is free-threaded. `ID3D12Pageable` and its own bases are
//! not: command allocators implement them, too.

use crate::*;

macro_rules! free_threaded {
    ($($interface:ident),* $(,)?) => {
        $(
            // SAFETY: the interface is documented as free-threaded (module documentation): its methods, AddRef and
            // Release may be called from any thread at the same time.
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

/// What must not be sent to another thread or shared with one: command lists, command allocators, and every interface that they
/// implement. An interface that is `Send` or `Sync` has more than one implementation of the trait, and does not compile here.
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
