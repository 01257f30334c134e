//! Notes that a list records for the aliasing tracker besides its commands, while the tracker is on.

use std::sync::Arc;

use heapwright_d3d12::*;

use super::barriers::{extents, subresource_count};
use super::{Recording, read_array};
use crate::aliasing::{BarrierTarget, EnhancedBarrier, Note, RecordedCall, Subresources};
use crate::api::device::Device;
use crate::api::object::own;
use crate::api::resource::{Resource, Resource_Impl};
use crate::api::views::{View, ViewPart};
use crate::ddi::driver_resource::DriverResource;
use crate::rules::Refusal;

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

    /// Notes a valid `ResourceBarrier` call.
    ///
    /// # Safety
    ///
    /// In each barrier, the union member selected by `Type` is initialised.
    pub(super) unsafe fn note_barriers(
        &mut self,
        device: &Device,
        barriers: &[D3D12_RESOURCE_BARRIER],
    ) -> Result<(), Refusal> {
        if !self.is_noted() {
            return Ok(());
        }
        for barrier in barriers {
            // SAFETY: Type determines which member of the union the application wrote.
            unsafe {
                match barrier.Type {
                    // The second half of a split barrier changes the state.
                    D3D12_RESOURCE_BARRIER_TYPE_TRANSITION
                        if barrier.Flags & D3D12_RESOURCE_BARRIER_FLAG_BEGIN_ONLY == 0 =>
                    {
                        let transition = &barrier.Anonymous.Transition;
                        let resource = own::<Resource>(device, transition.pResource.as_ref(), "pResource")?;
                        let subresources = match transition.Subresource {
                            D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES => Subresources::All,
                            index => Subresources::Some(vec![index]),
                        };
                        let resource = Arc::clone(resource.driver());
                        let after = transition.StateAfter;
                        self.notes.push(Note::Transition { resource, subresources, after });
                    }
                    D3D12_RESOURCE_BARRIER_TYPE_ALIASING => {
                        let aliasing = &barrier.Anonymous.Aliasing;
                        let side = |resource: Option<&ID3D12Resource>| match resource {
                            None => Ok(None),
                            resource => {
                                own::<Resource>(device, resource, "the resource of an aliasing barrier")
                                    .map(|resource| Some(Arc::clone(resource.driver())))
                            }
                        };
                        let before = side(aliasing.pResourceBefore.as_ref())?;
                        let after = side(aliasing.pResourceAfter.as_ref())?;
                        self.notes.push(Note::Aliasing { before, after });
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Notes a valid `Barrier` call, as a single note because its barriers are unordered.
    ///
    /// # Safety
    ///
    /// Each group points to `NumBarriers` barriers of its type.
    pub(super) unsafe fn note_barrier_groups(
        &mut self,
        device: &Device,
        groups: &[D3D12_BARRIER_GROUP],
    ) -> Result<(), Refusal> {
        if !self.is_noted() {
            return Ok(());
        }
        let mut noted = Vec::new();
        for group in groups {
            let count = group.NumBarriers;
            // SAFETY: Type determines which member of the union the application wrote; by the COM contract, it has
            // NumBarriers elements.
            unsafe {
                match group.Type {
                    D3D12_BARRIER_TYPE_GLOBAL => {
                        let barriers = read_array(count, group.Anonymous.pGlobalBarriers, "pGlobalBarriers")?;
                        noted.extend(barriers.iter().map(|b| EnhancedBarrier {
                            target: BarrierTarget::Global,
                            sync_before: b.SyncBefore,
                            sync_after: b.SyncAfter,
                            access_before: b.AccessBefore,
                            access_after: b.AccessAfter,
                        }));
                    }
                    D3D12_BARRIER_TYPE_BUFFER => {
                        for b in read_array(count, group.Anonymous.pBufferBarriers, "pBufferBarriers")? {
                            let resource = own::<Resource>(device, b.pResource.as_ref(), "pResource")?;
                            noted.push(EnhancedBarrier {
                                target: BarrierTarget::Buffer(Arc::clone(resource.driver())),
                                sync_before: b.SyncBefore,
                                sync_after: b.SyncAfter,
                                access_before: b.AccessBefore,
                                access_after: b.AccessAfter,
                            });
                        }
                    }
                    D3D12_BARRIER_TYPE_TEXTURE => {
                        for b in read_array(count, group.Anonymous.pTextureBarriers, "pTextureBarriers")? {
                            let resource = own::<Resource>(device, b.pResource.as_ref(), "pResource")?;
                            noted.push(EnhancedBarrier {
                                target: BarrierTarget::Texture {
                                    resource: Arc::clone(resource.driver()),
                                    subresources: in_range(&b.Subresources, resource.desc()),
                                    layout_before: b.LayoutBefore,
                                    layout_after: b.LayoutAfter,
                                    discards: b.Flags & D3D12_TEXTURE_BARRIER_FLAG_DISCARD != 0,
                                },
                                sync_before: b.SyncBefore,
                                sync_after: b.SyncAfter,
                                access_before: b.AccessBefore,
                                access_after: b.AccessAfter,
                            });
                        }
                    }
                    _ => {}
                }
            }
        }
        self.notes.push(Note::Barriers(noted));
        Ok(())
    }

    /// Notes a valid `DiscardResource` call.
    ///
    /// # Safety
    ///
    /// `region` is null or points to a region whose `pRects` has `NumRects` elements.
    pub(super) unsafe fn note_discard(
        &mut self,
        list_type: D3D12_COMMAND_LIST_TYPE,
        resource: &Resource_Impl,
        region: *const D3D12_DISCARD_REGION,
    ) -> Result<(), Refusal> {
        if !self.is_noted() {
            return Ok(());
        }
        // SAFETY: by the COM contract, pRegion is null (the whole resource) or points to a region.
        let (subresources, is_whole) = match unsafe { region.as_ref() } {
            None => (Subresources::All, true),
            Some(region) => {
                let first = region.FirstSubresource;
                let each = (first..first.saturating_add(region.NumSubresources)).collect();
                // SAFETY: by the COM contract, pRects has NumRects elements.
                let rects = unsafe { read_array(region.NumRects, region.pRects, "pRegion->pRects") }?;
                let is_whole = rects.is_empty() || rects.iter().any(|rect| covers(rect, resource, first));
                (Subresources::Some(each), is_whole)
            }
        };
        let is_compute = list_type == D3D12_COMMAND_LIST_TYPE_COMPUTE;
        let resource = Arc::clone(resource.driver());
        self.notes.push(Note::Discard { resource, subresources, is_whole, is_compute });
        Ok(())
    }

    /// Notes that a render pass discards the part of one plane that a view shows.
    pub(super) fn note_pass_discard(&mut self, resource: &Arc<dyn DriverResource>, view: &View, plane: u32) {
        if self.is_noted() {
            if let Some((subresources, is_whole)) = of_view(view, plane) {
                let resource = Arc::clone(resource);
                self.notes.push(Note::Discard { resource, subresources, is_whole, is_compute: false });
            }
        }
    }

    /// Notes that a render pass begins with the existing contents of the part of one plane that a view shows.
    pub(super) fn note_pass_load(&mut self, resource: &Arc<dyn DriverResource>, view: &View, plane: u32) {
        if self.is_noted() {
            if let Some((subresources, _)) = of_view(view, plane) {
                self.notes.push(Note::Load { resource: Arc::clone(resource), subresources });
            }
        }
    }
}

/// Returns the subresources of one plane that a texture view shows, and whether it shows all of each.
fn of_view(view: &View, plane: u32) -> Option<(Subresources, bool)> {
    let ViewPart::Slices { mip, first, count, .. } = view.part else { return None };
    let depth = (u32::from(view.desc.DepthOrArraySize) >> mip).max(1);
    let is_whole = !view.is_volume() || (first == 0 && count == depth);
    Some((Subresources::Some(view.subresources(plane).collect()), is_whole))
}

/// Checks whether a rectangle covers an entire subresource.
fn covers(rect: &D3D12_RECT, resource: &Resource_Impl, subresource: u32) -> bool {
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
    let [mips, slices, _] = extents(desc);
    if range.NumMipLevels == 0 {
        return match range.IndexOrFirstMipLevel {
            D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES => Subresources::All,
            index => Subresources::Some(vec![index]),
        };
    }
    let span = |first: u32, count: u32| first..first.saturating_add(count);
    let each: Vec<u32> = span(range.FirstPlane, range.NumPlanes)
        .flat_map(|plane| {
            span(range.FirstArraySlice, range.NumArraySlices.max(1)).flat_map(move |slice| {
                span(range.IndexOrFirstMipLevel, range.NumMipLevels)
                    .map(move |mip| mip + (slice + plane * slices) * mips)
            })
        })
        .collect();
    if u32::try_from(each.len()).ok() == Some(subresource_count(desc)) {
        return Subresources::All;
    }
    Subresources::Some(each)
}
