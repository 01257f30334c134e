//! The bindings through which a list's draws and dispatches may write memory. Recorded while aliasing is tracked.

use std::collections::BTreeMap;
use std::sync::Weak;

use heapwright_d3d12::*;

use super::views::find_view;
use super::{Recorded, Recording, read_array};
use crate::aliasing::{AddressedBytes, Note, RenderedView, ResourcePart, Skipped, UnorderedViews};
use crate::api::descriptor_heap::INCREMENT;
use crate::api::device::Device;
use crate::api::inert::{CommandSignature, RootSignature};
use crate::api::object::own;
use crate::drivers::command::Command;
use crate::rules::Refusal;
use crate::rules::commands::clears;
use crate::rules::views::View;

/// Selects one of the two sets of root arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pipeline {
    Graphics,
    Compute,
}

/// The bindings that draws and dispatches may write through.
#[derive(Default)]
pub(super) struct Bindings {
    /// Render targets and depth stencil bound outside of render passes.
    rendered: Vec<RenderedView>,
    /// For each slot, the buffer and the counter of bytes written to it.
    stream_output: BTreeMap<u64, [AddressedBytes; 2]>,
    graphics: RootViews,
    compute: RootViews,
}

/// Unordered access views bound as root descriptors.
#[derive(Default)]
struct RootViews {
    /// Address of the root signature object, for identity only.
    signature: usize,
    /// GPU virtual addresses by root parameter.
    unordered: BTreeMap<u32, u64>,
}

impl Bindings {
    fn root_views(&mut self, pipeline: Pipeline) -> &mut RootViews {
        match pipeline {
            Pipeline::Graphics => &mut self.graphics,
            Pipeline::Compute => &mut self.compute,
        }
    }
}

impl Recording {
    /// Sets a root signature. Setting a different one clears the root arguments.
    pub(super) fn set_root_signature(
        &mut self,
        device: &Device,
        pipeline: Pipeline,
        signature: Option<&ID3D12RootSignature>,
    ) -> Result<Option<Command>, Refusal> {
        let signature = std::ptr::from_ref(own::<RootSignature>(device, signature, "pRootSignature")?).addr();
        let views = self.bindings.root_views(pipeline);
        if views.signature != signature {
            *views = RootViews { signature, unordered: BTreeMap::new() };
        }
        Ok(None)
    }

    /// Records `SetGraphicsRootUnorderedAccessView` or `SetComputeRootUnorderedAccessView`.
    pub(super) fn set_unordered_view(
        &mut self,
        pipeline: Pipeline,
        index: u32,
        address: D3D12_GPU_VIRTUAL_ADDRESS,
    ) -> Result<Option<Command>, Refusal> {
        if self.is_noted() {
            self.bindings.root_views(pipeline).unordered.insert(index, address.0);
        }
        Ok(None)
    }

    /// Records `OMSetRenderTargets`. Descriptors are read immediately, as in D3D12. Null views and invalid handles bind
    /// nothing.
    ///
    /// # Safety
    ///
    /// `handles` is null or points to one handle if `is_range`, otherwise to `count` handles; `depth_stencil` is null
    /// or points to a handle.
    pub(super) unsafe fn set_render_targets(
        &mut self,
        device: &Device,
        (count, handles): (u32, *const D3D12_CPU_DESCRIPTOR_HANDLE),
        is_range: bool,
        depth_stencil: *const D3D12_CPU_DESCRIPTOR_HANDLE,
    ) -> Result<Option<Command>, Refusal> {
        if !self.is_noted() {
            return Ok(None);
        }
        self.bindings.rendered.clear();
        let bound_view = |handle, heap_type| find_view(device, handle, heap_type, "a render target").ok()?.1;
        for index in 0..count.min(D3D12_SIMULTANEOUS_RENDER_TARGET_COUNT.cast_unsigned()) {
            let (element, further) = if is_range { (0, index) } else { (index, 0) };
            // SAFETY: guaranteed by the caller: one element for a range, otherwise `count`.
            let Some(first) = (unsafe { handles.wrapping_add(element as usize).as_ref() }) else { break };
            let offset = further as usize * INCREMENT as usize;
            let handle = D3D12_CPU_DESCRIPTOR_HANDLE { ptr: first.ptr.wrapping_add(offset) };
            if let Some(view) = bound_view(handle, D3D12_DESCRIPTOR_HEAP_TYPE_RTV) {
                self.bindings.rendered.extend(rendered(&view, view.plane(), false));
            }
        }
        // SAFETY: guaranteed by the caller.
        let depth_stencil = unsafe { depth_stencil.as_ref() };
        let Some(view) = depth_stencil.and_then(|handle| bound_view(*handle, D3D12_DESCRIPTOR_HEAP_TYPE_DSV))
        else {
            return Ok(None);
        };
        if view.read_only & D3D12_DSV_FLAG_READ_ONLY_DEPTH == 0 {
            self.bindings.rendered.extend(rendered(&view, 0, true));
        }
        if view.read_only & D3D12_DSV_FLAG_READ_ONLY_STENCIL == 0 && clears::has_stencil(&view) {
            self.bindings.rendered.extend(rendered(&view, 1, true));
        }
        Ok(None)
    }

    /// Records `SOSetTargets`. A null array unbinds that many slots.
    ///
    /// # Safety
    ///
    /// `views` is null or points to `count` views.
    pub(super) unsafe fn set_stream_output(
        &mut self,
        first: u32,
        count: u32,
        views: *const D3D12_STREAM_OUTPUT_BUFFER_VIEW,
    ) -> Result<Option<Command>, Refusal> {
        // SAFETY: guaranteed by the caller.
        let views = unsafe { read_array(if views.is_null() { 0 } else { count }, views, "pViews") }?;
        if !self.is_noted() {
            return Ok(None);
        }
        let slots = u64::from(first)..u64::from(first) + u64::from(count);
        self.bindings.stream_output.retain(|slot, _| !slots.contains(slot));
        for (slot, view) in slots.zip(views) {
            let buffer = AddressedBytes::StreamOutput(view.BufferLocation.0, view.SizeInBytes);
            let filled = AddressedBytes::StreamOutput(view.BufferFilledSizeLocation.0, 8);
            self.bindings.stream_output.insert(slot, [buffer, filled]);
        }
        Ok(None)
    }

    /// Unbinds all render targets and the depth stencil.
    pub(super) fn unbind_render_targets(&mut self) {
        self.bindings.rendered.clear();
    }

    /// Records `ClearState`.
    pub(super) fn clear_bindings(&mut self) {
        self.bindings = Bindings::default();
    }

    /// Notes a draw or a dispatch, which is not executed.
    pub(super) fn note_skipped(&mut self, pipeline: Pipeline) {
        if self.is_noted() {
            let note = self.skipped(&[pipeline]);
            self.notes.push(Note::Skipped(note));
        }
    }

    /// Notes an `ExecuteIndirect`.
    pub(super) fn note_indirect(&mut self, signature: &CommandSignature) {
        if self.is_noted() {
            let mut note =
                self.skipped(&[if signature.draws { Pipeline::Graphics } else { Pipeline::Compute }]);
            note.addressed.extend(signature.sets_unordered_views.then_some(AddressedBytes::Indirect));
            self.notes.push(Note::Skipped(note));
        }
    }

    /// Notes an `ExecuteBundle`. A bundle inherits the list's bindings and has root arguments of its own.
    pub(super) fn note_bundle(&mut self, bundle: &Recorded) {
        if !self.is_noted() {
            return;
        }
        let both = [Pipeline::Graphics, Pipeline::Compute];
        // A bundle that was recorded while the tracker was off may write through any binding.
        let Some(calls) = &bundle.calls else {
            let note = self.skipped(&both);
            self.notes.push(Note::Skipped(note));
            return;
        };
        for note in calls.iter().flat_map(|call| &call.notes) {
            let Note::Skipped(inner) = note else { continue };
            let pipelines = if inner.draws { &both[..1] } else { &both[1..] };
            let mut outer = self.skipped(pipelines);
            outer.addressed.extend(&inner.addressed);
            if outer.descriptors.is_none() {
                outer.descriptors.clone_from(&inner.descriptors);
            }
            self.notes.push(Note::Skipped(outer));
        }
    }

    /// Returns everything that a draw, a dispatch or both may write with the current bindings.
    fn skipped(&self, pipelines: &[Pipeline]) -> Skipped {
        let bound = &self.bindings;
        let draws = pipelines.contains(&Pipeline::Graphics);
        let mut addressed = Vec::new();
        let mut rendered = Vec::new();
        let unordered = |views: &RootViews| -> Vec<_> {
            views.unordered.values().copied().map(AddressedBytes::Unordered).collect()
        };
        if draws {
            rendered = match &self.render_pass {
                Some(pass) => pass
                    .written()
                    .filter_map(|(view, plane, is_depth)| self::rendered(view, plane, is_depth))
                    .collect(),
                None => bound.rendered.clone(),
            };
            addressed.extend(unordered(&bound.graphics));
            addressed.extend(bound.stream_output.values().flatten());
        }
        if pipelines.contains(&Pipeline::Compute) {
            addressed.extend(unordered(&bound.compute));
        }
        let descriptors = self.descriptor_heaps.iter().find(|heap| {
            let table = heap.upgrade();
            table.is_some_and(|table| table.desc().Type == D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV)
        });
        let descriptors = descriptors.cloned().map(|heap| heap as Weak<dyn UnorderedViews>);
        Skipped { draws, rendered, addressed, descriptors }
    }
}

/// Returns one plane of a rendered view, or `None` if the resource was released.
fn rendered(view: &View, plane: u32, is_depth_stencil: bool) -> Option<RenderedView> {
    let resource = view.resource().ok()?;
    Some(RenderedView { resource, parts: ResourcePart::of_view(view, plane), is_depth_stencil })
}
