//! Draws and dispatches, which are not executed: their writes are unknown.

use heapwright_d3d12::*;

use super::access::{Kind, ResourcePart};
use super::content::Content;
use super::coverage::Part;
use super::ids::ResourceId;
use super::judge::{Judge, Step};
use super::note::{AddressedBytes, RenderedView, Skipped};
use super::shape::Piece;
use super::usage::Usage;

impl Judge {
    /// Applies the draws and dispatches of one call.
    pub(super) fn skip(&mut self, step: &mut Step<'_>, skipped: &Skipped) {
        self.skipped += 1;
        for view in &skipped.rendered {
            self.render(step, view);
        }
        for &bytes in &skipped.addressed {
            if bytes == AddressedBytes::Indirect {
                self.write_anywhere(step);
                continue;
            }
            for (id, part) in self.addressed(bytes) {
                self.may_write(step, id, part);
            }
        }
        if let Some(descriptors) = skipped.descriptors.as_ref().and_then(std::sync::Weak::upgrade) {
            self.write_viewed(step, &descriptors);
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
    pub(super) fn may_write(&mut self, step: &mut Step<'_>, id: ResourceId, part: ResourcePart<'_>) {
        let Some(mut resource) = self.take(id) else { return };
        #[cfg(test)]
        {
            self.visits += 1;
        }
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
        self.put_unchanged(resource);
    }

    /// Returns the buffers at addresses, and their parts. O(log buffers), plus those that share memory there.
    ///
    /// Buffers that share memory share addresses; all of them are returned.
    fn addressed(&self, bytes: AddressedBytes) -> Vec<(ResourceId, ResourcePart<'static>)> {
        let (address, size, needed) = match bytes {
            AddressedBytes::Unordered(address) => {
                (address, u64::MAX, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS)
            }
            AddressedBytes::StreamOutput(address, size) => (address, size, D3D12_RESOURCE_FLAG_NONE),
            AddressedBytes::Indirect => return Vec::new(),
        };
        let near = self.buffers.near(address).filter_map(|id| self.resource(id));
        let at = near.filter_map(|buffer| {
            let offset = address.checked_sub(buffer.address).filter(|offset| *offset < buffer.shape.size)?;
            let is_used = buffer.identity.desc.Flags & needed == needed && !buffer.is_gone();
            is_used.then_some((buffer.id, ResourcePart::Bytes(offset, size)))
        });
        let mut found: Vec<_> = at.collect();
        found.sort_unstable_by_key(|(id, _)| *id);
        found
    }
}
