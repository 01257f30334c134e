//! Reserved resources, whose tiles the program maps itself: creation, and recording.

use heapwright_d3d12::*;
use heapwright_trace::session::{Action, ResourceKind};

use super::memory::MemoryAllocation;
use super::resource_allocator::ResourceAllocator;
use crate::recording::{Recorded, object_name};
use crate::{Error, RecordFlags};

/// A reserved resource in a recording, from [`ResourceAllocator::record_reserved`]. Dropping it records that the
/// resource is destroyed.
#[derive(Debug)]
pub struct ReservedRecord(Recorded);

impl ResourceAllocator {
    /// Creates a reserved resource, which has no memory: `CreateReservedResource`. The program maps its tiles to
    /// [memory](Self::allocate_memory), as `heapwright-tiles` does.
    ///
    /// # Errors
    ///
    /// The device's error.
    #[inline]
    pub fn create_reserved(
        &self,
        desc: &D3D12_RESOURCE_DESC,
        initial_state: D3D12_RESOURCE_STATES,
        clear_value: Option<&D3D12_CLEAR_VALUE>,
    ) -> Result<ID3D12Resource, Error> {
        const CALL: &str = "ID3D12Device::CreateReservedResource";
        let mut resource: Option<ID3D12Resource> = None;
        let clear_value = clear_value.map(std::ptr::from_ref);
        // SAFETY: the device is a live COM object, and description and clear value outlive the call.
        let made =
            unsafe { self.device().CreateReservedResource(desc, initial_state, clear_value, &mut resource) };
        made.map_err(|error| Error::device(CALL, error.code()))?;
        resource.ok_or_else(|| Error::device(CALL, E_FAIL))
    }

    /// Records a reserved resource whose tiles get memory of the allocator, with its name in D3D12. Returns `None`
    /// unless objects are recorded ([`recording`](crate::recording)).
    ///
    /// `tiles` is the number of its tiles, packed mips included. Programs that map tiles themselves call it so that
    /// reports show which resource has which part of a heap; `heapwright-tiles` does it.
    #[must_use]
    #[inline]
    pub fn record_reserved(&self, resource: &ID3D12Resource, tiles: u32) -> Option<ReservedRecord> {
        let recording = self.inner().heaps.source.recording.as_ref()?;
        if !recording.records(RecordFlags::API_OBJECTS) {
            return None;
        }
        // SAFETY: the resource is a live COM object.
        let is_buffer = unsafe { resource.GetDesc() }.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER;
        let kind = if is_buffer { ResourceKind::Buffer } else { ResourceKind::Texture };
        let name = object_name(resource).map(Into::into);
        Some(ReservedRecord(recording.reserved(tiles, kind, name)))
    }
}

impl ReservedRecord {
    /// Records that `count` tiles of the resource from `first` on are mapped to the memory, beginning with a tile of
    /// it, or that they are unmapped. Memory that is not in the recording is passed over.
    #[inline]
    pub fn map_tiles(&self, first: u32, count: u32, memory: Option<(&MemoryAllocation, u32)>) {
        let memory = match memory {
            None => None,
            Some((memory, tile)) => match memory.as_placed().recorded() {
                Some(recorded) => Some((recorded.object.id(), tile)),
                None => return,
            },
        };
        self.0.recording().act(Action::MapTiles { resource: self.0.id(), first, count, memory });
    }
}
