//! `ResourceBarrier`, `Barrier` and `DiscardResource`.
//!
//! The simulated GPU executes a list in order and has no caches: barriers change nothing. They are checked as far as a single
//! barrier tells; which state a resource really is in is not tracked.
//!
//! * `legacy`, `enhanced`, `discard`: the three calls.
//! * `compatibility`: what of enhanced barriers goes together, as tables.
//! * `subresources`: counting them.

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

/// The same refusal, of one element of an array.
fn at(array: &str, index: usize, refusal: &Refusal) -> Refusal {
    Refusal::new(refusal.hresult(), format!("{array}[{index}]: {refusal}")).with_id(refusal.id())
}
