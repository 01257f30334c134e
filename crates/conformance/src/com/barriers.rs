//! Legacy and enhanced barriers, as values that a list takes in arrays.

use std::mem::ManuallyDrop;

use heapwright_d3d12::*;

use super::commands::List;
use super::{borrowed, count};
use crate::answer::Answer;

/// One barrier of `ResourceBarrier`.
#[derive(Clone, Copy)]
pub(crate) enum Barrier<'a> {
    /// From one resource to another; `None` stands for any resource.
    Aliasing(Option<&'a ID3D12Resource>, Option<&'a ID3D12Resource>),
    /// All subresources or one of them, from one state to another.
    Transition(&'a ID3D12Resource, Option<u32>, D3D12_RESOURCE_STATES, D3D12_RESOURCE_STATES),
}

impl Barrier<'_> {
    fn to_d3d12(self) -> D3D12_RESOURCE_BARRIER {
        let (kind, anonymous) = match self {
            Self::Aliasing(before, after) => {
                let aliasing = D3D12_RESOURCE_ALIASING_BARRIER {
                    pResourceBefore: borrowed(before),
                    pResourceAfter: borrowed(after),
                };
                let anonymous = D3D12_RESOURCE_BARRIER_0 { Aliasing: ManuallyDrop::new(aliasing) };
                (D3D12_RESOURCE_BARRIER_TYPE_ALIASING, anonymous)
            }
            Self::Transition(resource, subresource, before, after) => {
                let transition = D3D12_RESOURCE_TRANSITION_BARRIER {
                    pResource: borrowed(Some(resource)),
                    Subresource: subresource.unwrap_or(D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES),
                    StateBefore: before,
                    StateAfter: after,
                };
                let anonymous = D3D12_RESOURCE_BARRIER_0 { Transition: ManuallyDrop::new(transition) };
                (D3D12_RESOURCE_BARRIER_TYPE_TRANSITION, anonymous)
            }
        };
        D3D12_RESOURCE_BARRIER { Type: kind, Flags: D3D12_RESOURCE_BARRIER_FLAG_NONE, Anonymous: anonymous }
    }
}

/// One side of an enhanced barrier: synchronization scope and access.
pub(crate) type Scope = (D3D12_BARRIER_SYNC, D3D12_BARRIER_ACCESS);

/// One barrier of `Barrier`.
#[derive(Clone, Copy)]
pub(crate) enum Enhanced<'a> {
    Texture {
        resource: &'a ID3D12Resource,
        /// Scopes before and after.
        scopes: (Scope, Scope),
        /// Layouts before and after.
        layouts: (D3D12_BARRIER_LAYOUT, D3D12_BARRIER_LAYOUT),
        /// The array slice, given by `FirstArraySlice` with `NumArraySlices` 0; all subresources if `None`.
        slice: Option<u32>,
        /// Whether `D3D12_TEXTURE_BARRIER_FLAG_DISCARD` is set.
        discards: bool,
    },
    Buffer {
        resource: &'a ID3D12Resource,
        /// Scopes before and after.
        scopes: (Scope, Scope),
        /// Offset and size in bytes. Valid are 0 and either `u64::MAX` or the width.
        range: (u64, u64),
    },
    /// A barrier that orders all accesses to all resources.
    Global,
}

impl Enhanced<'_> {
    fn texture(&self) -> Option<D3D12_TEXTURE_BARRIER> {
        let Self::Texture { resource, scopes: (before, after), layouts, slice, discards } = *self else {
            return None;
        };
        let all = D3D12_BARRIER_SUBRESOURCE_RANGE {
            IndexOrFirstMipLevel: D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES,
            ..Default::default()
        };
        Some(D3D12_TEXTURE_BARRIER {
            SyncBefore: before.0,
            SyncAfter: after.0,
            AccessBefore: before.1,
            AccessAfter: after.1,
            LayoutBefore: layouts.0,
            LayoutAfter: layouts.1,
            pResource: borrowed(Some(resource)),
            Subresources: slice.map_or(all, |slice| D3D12_BARRIER_SUBRESOURCE_RANGE {
                NumMipLevels: 1,
                FirstArraySlice: slice,
                NumPlanes: 1,
                ..Default::default()
            }),
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

    fn global(&self) -> Option<D3D12_GLOBAL_BARRIER> {
        matches!(self, Self::Global).then_some(D3D12_GLOBAL_BARRIER {
            SyncBefore: D3D12_BARRIER_SYNC_ALL,
            SyncAfter: D3D12_BARRIER_SYNC_ALL,
            AccessBefore: D3D12_BARRIER_ACCESS_COMMON,
            AccessAfter: D3D12_BARRIER_ACCESS_COMMON,
        })
    }
}

impl List {
    pub(crate) fn barriers(&self, barriers: &[Barrier<'_>]) {
        let barriers: Vec<D3D12_RESOURCE_BARRIER> = barriers.iter().map(|one| one.to_d3d12()).collect();
        // SAFETY: the barriers are valid structures whose resources outlive the call.
        unsafe { self.0.ResourceBarrier(&barriers) };
    }

    pub(crate) fn alias(&self, before: Option<&ID3D12Resource>, after: Option<&ID3D12Resource>) {
        self.barriers(&[Barrier::Aliasing(before, after)]);
    }

    pub(crate) fn transition(
        &self,
        resource: &ID3D12Resource,
        before: D3D12_RESOURCE_STATES,
        after: D3D12_RESOURCE_STATES,
    ) {
        self.barriers(&[Barrier::Transition(resource, None, before, after)]);
    }

    /// As [`transition`](Self::transition), unless the states are the same.
    pub(crate) fn to_state(
        &self,
        resource: &ID3D12Resource,
        before: D3D12_RESOURCE_STATES,
        after: D3D12_RESOURCE_STATES,
    ) {
        if before != after {
            self.transition(resource, before, after);
        }
    }

    /// Calls `Barrier` with a group of the buffer barriers, one of the texture barriers and one of the global barriers.
    pub(crate) fn enhanced(&self, barriers: &[Enhanced<'_>]) -> Answer<()> {
        let buffers: Vec<D3D12_BUFFER_BARRIER> = barriers.iter().filter_map(Enhanced::buffer).collect();
        let textures: Vec<D3D12_TEXTURE_BARRIER> = barriers.iter().filter_map(Enhanced::texture).collect();
        let globals: Vec<D3D12_GLOBAL_BARRIER> = barriers.iter().filter_map(Enhanced::global).collect();
        let buffer_array = D3D12_BARRIER_GROUP_0 { pBufferBarriers: buffers.as_ptr() };
        let texture_array = D3D12_BARRIER_GROUP_0 { pTextureBarriers: textures.as_ptr() };
        let global_array = D3D12_BARRIER_GROUP_0 { pGlobalBarriers: globals.as_ptr() };
        let mut groups = vec![
            D3D12_BARRIER_GROUP {
                Type: D3D12_BARRIER_TYPE_BUFFER,
                NumBarriers: count(&buffers),
                Anonymous: buffer_array,
            },
            D3D12_BARRIER_GROUP {
                Type: D3D12_BARRIER_TYPE_TEXTURE,
                NumBarriers: count(&textures),
                Anonymous: texture_array,
            },
            D3D12_BARRIER_GROUP {
                Type: D3D12_BARRIER_TYPE_GLOBAL,
                NumBarriers: count(&globals),
                Anonymous: global_array,
            },
        ];
        groups.retain(|group| group.NumBarriers > 0);
        self.newer("ID3D12GraphicsCommandList7::Barrier", |list: &ID3D12GraphicsCommandList7| {
            // SAFETY: each group is a vector's pointer and length, and the resources outlive the call.
            unsafe { list.Barrier(&groups) };
        })
    }
}
