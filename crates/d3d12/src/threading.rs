//! Which interfaces may be used from any thread.
//!
//! The metadata does not say it, Direct3D 12's documentation does: devices and what they create are free-threaded, with
//! the exception of command lists and command allocators, and of whatever the debug layer adds. DXGI's factories and
//! adapters are free-threaded as well. An interface that is not listed here is neither `Send` nor `Sync`; wrap it with
//! the reason that holds where it is used.

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
    ID3D12Pageable,
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
