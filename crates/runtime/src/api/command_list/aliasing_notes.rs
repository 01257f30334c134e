//! Notes that a list records for the aliasing tracker besides its commands, while the tracker is on.

use heapwright_d3d12::*;

use super::Recording;
use crate::aliasing::{EnhancedBarrier, Note, RecordedCall, Subresources};
use crate::rules::commands::barriers::enhanced::{self, Target};
use crate::rules::commands::barriers::legacy::{self, BarrierKind};
use crate::rules::commands::discard::Region;
use crate::rules::commands::render_passes::Contents;
use crate::rules::operand::{Operand, contains, subresource_count};

impl Recording {
    /// Records the call `name`, which recorded the commands from `first_command` on.
    pub(super) fn note_call(&mut self, name: &'static str, first_command: usize) {
        if let Some(calls) = &mut self.calls {
            let notes = std::mem::take(&mut self.notes);
            if !notes.is_empty() || self.commands.len() > first_command {
                calls.push(RecordedCall { name, first_command, notes });
            }
        }
    }

    pub(super) fn is_noted(&self) -> bool {
        self.calls.is_some()
    }

    /// Notes a valid barrier of `ResourceBarrier`.
    pub(super) fn note_barrier(&mut self, barrier: &legacy::Barrier<'_>) {
        if !self.is_noted() {
            return;
        }
        match barrier.kind {
            // The second half of a split barrier changes the state.
            BarrierKind::Transition { .. } if barrier.flags & D3D12_RESOURCE_BARRIER_FLAG_BEGIN_ONLY != 0 => {
            }
            BarrierKind::Transition { resource, subresource, after, .. } => {
                let subresources = match subresource {
                    D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES => Subresources::All,
                    index => Subresources::Some(vec![index]),
                };
                self.notes.push(Note::Transition { resource: resource.hold(), subresources, after });
            }
            BarrierKind::Aliasing { before, after } => {
                let [before, after] = [before, after].map(|side| side.map(|resource| resource.hold()));
                self.notes.push(Note::Aliasing { before, after });
            }
            BarrierKind::UnorderedAccess(_) => {}
        }
    }

    /// Notes a valid `Barrier` call, as a single note because its barriers are unordered.
    pub(super) fn note_barriers(&mut self, barriers: Vec<EnhancedBarrier>) {
        if self.is_noted() {
            self.notes.push(Note::Barriers(barriers));
        }
    }

    /// Notes a valid `DiscardResource` call. Without a region, it discards the whole resource.
    pub(super) fn note_discard(
        &mut self,
        list_type: D3D12_COMMAND_LIST_TYPE,
        resource: Operand<'_>,
        region: Option<&Region<'_>>,
    ) {
        if !self.is_noted() {
            return;
        }
        let (subresources, is_whole) = match region {
            None => (Subresources::All, true),
            Some(Region { first, count, rects }) => {
                let each = (*first..first.saturating_add(*count)).collect();
                let is_whole = rects.is_empty() || rects.iter().any(|rect| covers(rect, resource, *first));
                (Subresources::Some(each), is_whole)
            }
        };
        let is_compute = list_type == D3D12_COMMAND_LIST_TYPE_COMPUTE;
        self.notes.push(Note::Discard { resource: resource.hold(), subresources, is_whole, is_compute });
    }

    /// Notes the contents that a render pass discards, and those that it begins with.
    pub(super) fn note_pass_contents(&mut self, contents: Vec<Contents>) {
        if self.is_noted() {
            self.notes.extend(contents.into_iter().map(|part| {
                let Contents { resource, is_whole, .. } = part;
                let subresources = Subresources::Some(part.subresources);
                if part.is_discarded {
                    Note::Discard { resource, subresources, is_whole, is_compute: false }
                } else {
                    Note::Load { resource, subresources }
                }
            }));
        }
    }
}

/// Returns an enhanced barrier as the tracker knows it.
pub(super) fn enhanced_barrier(barrier: &enhanced::Barrier<'_>) -> EnhancedBarrier {
    let enhanced::Barrier { target, sync, access } = *barrier;
    let none = [D3D12_BARRIER_LAYOUT_UNDEFINED; 2];
    let (resource, subresources, layout, discards) = match target {
        Target::Global => (None, Subresources::All, none, false),
        Target::Buffer { resource, .. } => (Some(resource.hold()), Subresources::All, none, false),
        Target::Texture { resource, layout, subresources, flags } => {
            let discards = flags & D3D12_TEXTURE_BARRIER_FLAG_DISCARD != 0;
            (Some(resource.hold()), in_range(subresources, resource.desc), layout, discards)
        }
    };
    EnhancedBarrier { resource, sync, access, subresources, layout, discards }
}

/// Checks whether a rectangle covers an entire subresource.
fn covers(rect: &D3D12_RECT, resource: Operand<'_>, subresource: u32) -> bool {
    let Ok(texture) = resource.texture() else { return false };
    let Some(at) = texture.subresource(subresource) else { return false };
    let extent = texture.mip_extent(at.mip, at.plane);
    let reaches = |edge: i32, extent: u32| u32::try_from(edge).is_ok_and(|edge| edge >= extent);
    rect.left <= 0
        && rect.top <= 0
        && reaches(rect.right, extent.width)
        && reaches(rect.bottom, extent.height)
}

/// Returns the subresources that an enhanced barrier selects.
fn in_range(range: &D3D12_BARRIER_SUBRESOURCE_RANGE, desc: &D3D12_RESOURCE_DESC1) -> Subresources {
    if range.NumMipLevels == 0 {
        return match range.IndexOrFirstMipLevel {
            D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES => Subresources::All,
            index => Subresources::Some(vec![index]),
        };
    }
    let count = subresource_count(desc);
    let each: Vec<u32> = (0..count).filter(|&index| contains(range, desc, index)).collect();
    if u32::try_from(each.len()).ok() == Some(count) { Subresources::All } else { Subresources::Some(each) }
}
