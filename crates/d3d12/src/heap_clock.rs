//! `IHeapwrightHeapClock`: the modelled time of a simulated GPU.
#![expect(
    missing_docs,
    non_snake_case,
    reason = "the names follow D3D12's, and what windows-interface expands to is its own"
)]

use windows_core::{HRESULT, IUnknown, IUnknown_Vtbl, interface};

/// A device whose heaps cost modelled time instead of real time. Devices of heapwright-runtime implement it.
///
/// The interface is not part of Direct3D 12. An allocator that learns what heaps cost reads this clock instead of the
/// processor's, so that the same calls always have the same result.
#[interface("5d0c5a7b-2f6e-4a53-9a0e-6e1f7c1d9b42")]
pub unsafe trait IHeapwrightHeapClock: IUnknown {
    /// Gets the nanoseconds that creating and freeing heaps and committed resources has taken on this GPU. Returns
    /// E_NOTIMPL if the processor's clock has the time.
    pub fn GetHeapTime(&self, nanoseconds: *mut u64) -> HRESULT;
}
