//! `ResourceBarrier`, `Barrier` and `DiscardResource`.
//!
//! The simulated GPU executes a list in order and has no caches, so barriers have no effect. Each barrier is checked on
//! its own; the actual state of a resource is not tracked here.
//!
//! * `legacy`, `enhanced`, `discard`: the three calls.
//! * `compatibility`: tables of valid combinations in enhanced barriers.
//! * `subresources`: counts of mip levels, slices and planes.

mod compatibility;
mod discard;
mod enhanced;
mod legacy;
mod subresources;

use heapwright_d3d12::*;

pub(super) use self::subresources::subresource_count;
pub(in crate::api) use self::subresources::{extents, plane_count};
use super::CommandList;
use crate::api::object::own;
use crate::api::resource::{Resource, Resource_Impl};
use crate::rules::Refusal;

impl CommandList {
    fn own_resource<'a>(
        &self,
        resource: Option<&'a ID3D12Resource>,
        name: &str,
    ) -> Result<&'a Resource_Impl, Refusal> {
        own::<Resource>(&self.child.device, resource, name)
            .map_err(|refusal| refusal.with_id(D3D12_MESSAGE_ID_RESOURCE_BARRIER_NULL_POINTER))
    }
}

/// Prefixes a refusal with the index of the array element that it is about.
fn at(array: &str, index: usize, refusal: &Refusal) -> Refusal {
    Refusal::new(refusal.hresult(), format!("{array}[{index}]: {refusal}")).with_id(refusal.id())
}
