//! Records barriers with `ID3D12GraphicsCommandList::ResourceBarrier`.

use std::mem::ManuallyDrop;

use heapwright_core::aliasing::frame::FrameResourceId;
use heapwright_d3d12::*;

use super::resources::TransientResources;
use super::states::{Barrier, Before};

impl TransientResources {
    /// Records legacy barriers.
    ///
    /// # Safety
    ///
    /// The conditions of [`begin_pass`](Self::begin_pass) apply.
    pub(super) unsafe fn record_legacy(&self, list: &ID3D12GraphicsCommandList, barriers: &[Barrier]) {
        let recorded: Vec<D3D12_RESOURCE_BARRIER> =
            barriers.iter().filter_map(|&barrier| self.to_legacy(barrier)).collect();
        if !recorded.is_empty() {
            // SAFETY: the list is open, and the barriers' resources are alive.
            unsafe { list.ResourceBarrier(&recorded) };
        }
    }

    fn to_legacy(&self, barrier: Barrier) -> Option<D3D12_RESOURCE_BARRIER> {
        let borrowed = |resource: FrameResourceId| self.borrowed(resource);
        let (kind, barrier) = match barrier {
            Barrier::Aliasing { before, after, .. } => (
                D3D12_RESOURCE_BARRIER_TYPE_ALIASING,
                D3D12_RESOURCE_BARRIER_0 {
                    Aliasing: ManuallyDrop::new(D3D12_RESOURCE_ALIASING_BARRIER {
                        pResourceBefore: borrowed(before),
                        pResourceAfter: borrowed(after),
                    }),
                },
            ),
            Barrier::Transition { resource, before: Before::State { state, .. }, after } => (
                D3D12_RESOURCE_BARRIER_TYPE_TRANSITION,
                D3D12_RESOURCE_BARRIER_0 {
                    Transition: ManuallyDrop::new(D3D12_RESOURCE_TRANSITION_BARRIER {
                        pResource: borrowed(resource),
                        Subresource: D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES,
                        StateBefore: state,
                        StateAfter: after,
                    }),
                },
            ),
            Barrier::Writes { resource, state: D3D12_RESOURCE_STATE_UNORDERED_ACCESS } => (
                D3D12_RESOURCE_BARRIER_TYPE_UAV,
                D3D12_RESOURCE_BARRIER_0 {
                    UAV: ManuallyDrop::new(D3D12_RESOURCE_UAV_BARRIER { pResource: borrowed(resource) }),
                },
            ),
            // All other commands wait for earlier writes in the same state, and layouts are never undefined.
            Barrier::Writes { .. } | Barrier::Transition { before: Before::Undefined { .. }, .. } => {
                return None;
            }
        };
        Some(D3D12_RESOURCE_BARRIER {
            Type: kind,
            Flags: D3D12_RESOURCE_BARRIER_FLAG_NONE,
            Anonymous: barrier,
        })
    }
}
