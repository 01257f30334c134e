//! Draws and dispatches, which are not executed: their writes are unknown.

use std::sync::Arc;

use heapwright_d3d12::*;

use super::access::{Kind, ResourcePart};
use super::content::Content;
use super::coverage::Part;
use super::judge::{Judge, Step};
use super::note::{AddressedBytes, RenderedView, Skipped, UnorderedViews, ViewedPart};
use super::resource::ResourceId;
use super::shape::Piece;
use super::submission::Submission;
use super::usage::Usage;

impl Judge {
    /// Applies the draws and dispatches of one call.
    pub(super) fn skip(&mut self, step: &mut Step<'_>, skipped: &Skipped) {
        self.skipped += 1;
        for view in &skipped.rendered {
            self.render(step, view);
        }
        for &bytes in &skipped.addressed {
            for (id, part) in self.addressed(bytes) {
                self.may_write(step, id, part);
            }
        }
        let Some(descriptors) = skipped.descriptors.as_ref().and_then(std::sync::Weak::upgrade) else {
            return;
        };
        for (driver, part) in step.submission.unordered_views(&descriptors).iter() {
            if let Some(id) = self.id_of_live(driver) {
                self.may_write(step, id, *part);
            }
        }
    }

    /// Applies a use of a rendered view, whose contents are unknown afterwards.
    fn render(&mut self, step: &mut Step<'_>, view: &RenderedView) {
        let Some(id) = self.id_of(&view.resource) else { return };
        let (sync, state) = if view.is_depth_stencil {
            (D3D12_BARRIER_SYNC_DEPTH_STENCIL, D3D12_RESOURCE_STATE_DEPTH_WRITE)
        } else {
            (D3D12_BARRIER_SYNC_RENDER_TARGET, D3D12_RESOURCE_STATE_RENDER_TARGET)
        };
        for &part in &view.parts {
            let Some(shape) = self.resource(id).map(|resource| &resource.shape) else { return };
            let (pieces, subresources) = part.pieces(shape);
            self.use_resource(step, id, &Usage { pieces, subresources, kind: Kind::Skipped, sync, state });
            self.may_write(step, id, part);
        }
    }

    /// Makes the contents of a part of a resource valid, but unknown. Memory is not transferred.
    fn may_write(&mut self, step: &mut Step<'_>, id: ResourceId, part: ResourcePart<'_>) {
        let Some(mut resource) = self.take(id) else { return };
        let unknown = Content::unknown(self.skipped);
        let mut bytes = Vec::new();
        for piece in part.pieces(&resource.shape).0 {
            let Piece { units, part, .. } = &piece;
            let is_owned = resource.owned.all(resource.shape.places_of_units(units), |owned| *owned);
            match part {
                Part::Region(region) if is_owned => {
                    resource.validate(&piece);
                    // The layout determines the position of a texture region's bytes; they are not overwritten.
                    bytes.extend(resource.shape.is_buffer().then(|| region.start[0]..region.end[0]));
                }
                _ => {
                    let known =
                        resource.content.iter(units.clone()).filter(|(_, content)| !content.is_unknown());
                    let known: Vec<_> = known.map(|(units, _)| units).collect();
                    resource.content.set(units.clone(), &unknown);
                    // Contents that were unknown before are already overwritten.
                    let overwritten = known.iter().filter(|_| is_owned);
                    bytes.extend(overwritten.flat_map(|units| resource.undefined_bytes(units)));
                }
            }
        }
        self.scramble_bytes(step.commands, &resource, bytes);
        self.put(resource);
    }

    /// Returns the buffers at addresses, and their parts. O(resources).
    ///
    /// Buffers that share memory share addresses; all of them are returned.
    fn addressed(&self, bytes: AddressedBytes) -> Vec<(ResourceId, ResourcePart<'static>)> {
        let unordered = D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS;
        let live = self.known().filter(|resource| resource.shape.is_buffer() && !resource.is_gone());
        live.filter_map(|resource| {
            let has = |flag| resource.identity.desc.Flags & flag != 0;
            let offset = |address: u64| {
                address.checked_sub(resource.address).filter(|offset| *offset < resource.shape.size)
            };
            let part = match bytes {
                AddressedBytes::Unordered(address) if has(unordered) => {
                    ResourcePart::Bytes(offset(address)?, u64::MAX)
                }
                AddressedBytes::StreamOutput(address, size) => ResourcePart::Bytes(offset(address)?, size),
                AddressedBytes::Indirect if has(unordered) => ResourcePart::Bytes(0, u64::MAX),
                AddressedBytes::Unordered(_) | AddressedBytes::Indirect => return None,
            };
            Some((resource.id, part))
        })
        .collect()
    }
}

impl Submission {
    /// Returns the views of descriptors, read once per submission: D3D12 forbids changes while it may use them.
    fn unordered_views(&mut self, descriptors: &Arc<dyn UnorderedViews>) -> Arc<[ViewedPart]> {
        let key = Arc::as_ptr(descriptors).cast::<()>().addr();
        Arc::clone(self.viewed.entry(key).or_insert_with(|| descriptors.unordered_views().into()))
    }
}
