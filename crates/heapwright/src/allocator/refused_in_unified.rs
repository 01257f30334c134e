//! Kinds of textures that the device refused to create in unified memory.

use std::sync::atomic::{AtomicU32, Ordering};

use heapwright_d3d12::*;

/// Kinds of textures that the device did not create in unified memory but in heaps of the requested type. They are not
/// tried again, because each attempt would cause an error message of the debug layer.
///
/// Buffers are not remembered: a refused state or flag says nothing about other buffers.
#[derive(Default)]
pub(crate) struct RefusedInUnified(AtomicU32);

/// Returns the bit of a kind; zero for buffers.
fn kind_of(desc: &D3D12_RESOURCE_DESC) -> u32 {
    if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER {
        return 0;
    }
    let flags = [
        D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET,
        D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL,
        D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS,
    ];
    let several_samples = desc.SampleDesc.Count > 1;
    let bits = flags.into_iter().map(|flag| desc.Flags & flag != 0).chain([several_samples]);
    1 << bits.fold(0, |number, bit| number << 1 | u32::from(bit))
}

impl RefusedInUnified {
    #[inline]
    pub(crate) fn has(&self, desc: &D3D12_RESOURCE_DESC) -> bool {
        self.0.load(Ordering::Relaxed) & kind_of(desc) != 0
    }

    pub(crate) fn add(&self, desc: &D3D12_RESOURCE_DESC) {
        self.0.fetch_or(kind_of(desc), Ordering::Relaxed);
    }
}
