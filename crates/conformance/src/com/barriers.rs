//! Barriers of both generations, as values that a list takes in arrays.

use std::mem::ManuallyDrop;

use heapwright_d3d12::*;
use windows_core::Interface;

use super::Result;
use super::commands::List;
use super::passes::lent;

/// One barrier of `ResourceBarrier`.
#[derive(Clone, Copy)]
pub(crate) enum Barrier<'a> {
    /// From one resource to another; `None` stands for any.
    Aliasing(Option<&'a ID3D12Resource>, Option<&'a ID3D12Resource>),
    /// All subresources, or one, from a state to another.
    Transition(&'a ID3D12Resource, Option<u32>, D3D12_RESOURCE_STATES, D3D12_RESOURCE_STATES),
}

/// The resource without a reference of its own, or null.
fn borrowed(resource: Option<&ID3D12Resource>) -> ManuallyDrop<Option<ID3D12Resource>> {
    resource.map_or(ManuallyDrop::new(None), lent)
}

impl Barrier<'_> {
    fn to_d3d12(self) -> D3D12_RESOURCE_BARRIER {
        match self {
            Self::Aliasing(before, after) => D3D12_RESOURCE_BARRIER {
                Type: D3D12_RESOURCE_BARRIER_TYPE_ALIASING,
                Flags: D3D12_RESOURCE_BARRIER_FLAG_NONE,
                Anonymous: D3D12_RESOURCE_BARRIER_0 {
                    Aliasing: ManuallyDrop::new(D3D12_RESOURCE_ALIASING_BARRIER {
                        pResourceBefore: borrowed(before),
                        pResourceAfter: borrowed(after),
                    }),
                },
            },
            Self::Transition(resource, subresource, before, after) => D3D12_RESOURCE_BARRIER {
                Type: D3D12_RESOURCE_BARRIER_TYPE_TRANSITION,
                Flags: D3D12_RESOURCE_BARRIER_FLAG_NONE,
                Anonymous: D3D12_RESOURCE_BARRIER_0 {
                    Transition: ManuallyDrop::new(D3D12_RESOURCE_TRANSITION_BARRIER {
                        pResource: borrowed(Some(resource)),
                        Subresource: subresource.unwrap_or(D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES),
                        StateBefore: before,
                        StateAfter: after,
                    }),
                },
            },
        }
    }
}

/// What a barrier waits for and what it holds back: synchronization scope and access.
pub(crate) type Scope = (D3D12_BARRIER_SYNC, D3D12_BARRIER_ACCESS);

/// One barrier of `Barrier` for a whole texture or buffer.
#[derive(Clone, Copy)]
pub(crate) enum Enhanced<'a> {
    /// A whole texture, with its layouts, and whether its metadata is discarded.
    Texture {
        /// The texture.
        resource: &'a ID3D12Resource,
        /// What is waited for, and what waits.
        scopes: (Scope, Scope),
        /// The layouts before and after.
        layouts: (D3D12_BARRIER_LAYOUT, D3D12_BARRIER_LAYOUT),
        /// `D3D12_TEXTURE_BARRIER_FLAG_DISCARD`.
        discards: bool,
    },
    /// Bytes of a buffer.
    Buffer {
        /// The buffer.
        resource: &'a ID3D12Resource,
        /// What is waited for, and what waits.
        scopes: (Scope, Scope),
        /// The first byte, and how many; valid ones are 0 and `u64::MAX` or the width.
        range: (u64, u64),
    },
}

impl Enhanced<'_> {
    fn texture(&self) -> Option<D3D12_TEXTURE_BARRIER> {
        let Self::Texture { resource, scopes: (before, after), layouts, discards } = *self else {
            return None;
        };
        Some(D3D12_TEXTURE_BARRIER {
            SyncBefore: before.0,
            SyncAfter: after.0,
            AccessBefore: before.1,
            AccessAfter: after.1,
            LayoutBefore: layouts.0,
            LayoutAfter: layouts.1,
            pResource: borrowed(Some(resource)),
            Subresources: D3D12_BARRIER_SUBRESOURCE_RANGE {
                IndexOrFirstMipLevel: D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES,
                ..Default::default()
            },
            Flags: if discards {
                D3D12_TEXTURE_BARRIER_FLAG_DISCARD
            } else {
                D3D12_TEXTURE_BARRIER_FLAG_NONE
            },
        })
    }

    fn buffer(&self) -> Option<D3D12_BUFFER_BARRIER> {
        let Self::Buffer { resource, scopes: (before, after), range } = *self else { return None };
        Some(D3D12_BUFFER_BARRIER {
            SyncBefore: before.0,
            SyncAfter: after.0,
            AccessBefore: before.1,
            AccessAfter: after.1,
            pResource: borrowed(Some(resource)),
            Offset: range.0,
            Size: range.1,
        })
    }
}

impl List {
    /// `ResourceBarrier` of several, in this order.
    pub(crate) fn barriers(&self, barriers: &[Barrier<'_>]) {
        let barriers: Vec<D3D12_RESOURCE_BARRIER> = barriers.iter().map(|one| one.to_d3d12()).collect();
        // SAFETY: the barriers are valid structures whose resources outlive the call.
        unsafe { self.0.ResourceBarrier(&barriers) };
    }

    /// `ResourceBarrier` with one aliasing barrier.
    pub(crate) fn alias(&self, before: Option<&ID3D12Resource>, after: Option<&ID3D12Resource>) {
        self.barriers(&[Barrier::Aliasing(before, after)]);
    }

    /// `ResourceBarrier` with one transition of all subresources.
    pub(crate) fn transition(
        &self,
        resource: &ID3D12Resource,
        before: D3D12_RESOURCE_STATES,
        after: D3D12_RESOURCE_STATES,
    ) {
        self.barriers(&[Barrier::Transition(resource, None, before, after)]);
    }

    /// `Barrier` with a group of the buffers and a group of the textures.
    ///
    /// # Errors
    ///
    /// What the list answers when it has no `ID3D12GraphicsCommandList7`.
    pub(crate) fn enhanced(&self, barriers: &[Enhanced<'_>]) -> Result<()> {
        let list: ID3D12GraphicsCommandList7 = self.0.cast().map_err(|error| error.code())?;
        let buffers: Vec<D3D12_BUFFER_BARRIER> = barriers.iter().filter_map(Enhanced::buffer).collect();
        let textures: Vec<D3D12_TEXTURE_BARRIER> = barriers.iter().filter_map(Enhanced::texture).collect();
        let count = |len: usize| u32::try_from(len).expect("few barriers");
        let mut groups = Vec::new();
        if !buffers.is_empty() {
            groups.push(D3D12_BARRIER_GROUP {
                Type: D3D12_BARRIER_TYPE_BUFFER,
                NumBarriers: count(buffers.len()),
                Anonymous: D3D12_BARRIER_GROUP_0 { pBufferBarriers: buffers.as_ptr() },
            });
        }
        if !textures.is_empty() {
            groups.push(D3D12_BARRIER_GROUP {
                Type: D3D12_BARRIER_TYPE_TEXTURE,
                NumBarriers: count(textures.len()),
                Anonymous: D3D12_BARRIER_GROUP_0 { pTextureBarriers: textures.as_ptr() },
            });
        }
        // SAFETY: each group is a vector's pointer and length, whose resources outlive the call.
        unsafe { list.Barrier(&groups) };
        Ok(())
    }
}
