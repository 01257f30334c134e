//! Proof that a resource has memory of its own: bytes that are written to it come back.

use heapwright_d3d12::*;

use crate::answer::{Answer, Stop, Verdict, ensure, require};
use crate::com::commands::CopyLocation;
use crate::com::device::{self, Footprints, Home};
use crate::com::memory::Mapping;
use crate::com::{memory, object};
use crate::context::{Queue, state_of};
use crate::desc::{COPY_DEST, COPY_SOURCE, DIRECT, GPU_UPLOAD, MIB, READBACK, UPLOAD, buffer, properties};

/// Bytes at each end of a buffer that are written.
const PROBE: u64 = 64;
/// Texels that take more than this are not written.
const MOST: u64 = 4 * MIB;

impl Answer<ID3D12Resource> {
    /// Returns the resource, which is in `state`, or fails the check if the call failed or the resource loses bytes.
    pub(crate) fn holds_bytes_in(
        self,
        what: impl std::fmt::Display,
        state: D3D12_RESOURCE_STATES,
    ) -> Result<ID3D12Resource, Stop> {
        let what = what.to_string();
        let resource = self.ok(&what)?;
        holds_bytes(&resource, state).map_err(|stop| match stop {
            Stop::Failed(detail) => Stop::Failed(format!("{what}: {detail}")),
            stop => stop,
        })?;
        Ok(resource)
    }

    /// As [`holds_bytes_in`](Self::holds_bytes_in), in the state that the heap's type requires.
    pub(crate) fn holds_bytes(self, what: impl std::fmt::Display) -> Result<ID3D12Resource, Stop> {
        let home = self.value().and_then(|resource| memory::heap_properties(resource).result().ok());
        let state = home.map_or(D3D12_RESOURCE_STATE_COMMON, |(home, _)| state_of(home.Type));
        self.holds_bytes_in(what, state)
    }
}

/// Fails the check unless bytes that are written to a resource in `state` come back. Multisampled textures, depth buffers and
/// reserved resources, whose bytes need more than copies, are not written.
pub(crate) fn holds_bytes(resource: &ID3D12Resource, state: D3D12_RESOURCE_STATES) -> Verdict {
    let desc = memory::desc(resource);
    let Ok((home, _)) = memory::heap_properties(resource).result() else {
        return Ok("a reserved resource".to_owned());
    };
    let is_mapped = match home.Type {
        UPLOAD | READBACK | GPU_UPLOAD => true,
        D3D12_HEAP_TYPE_CUSTOM => ![D3D12_CPU_PAGE_PROPERTY_UNKNOWN, D3D12_CPU_PAGE_PROPERTY_NOT_AVAILABLE]
            .contains(&home.CPUPageProperty),
        _ => false,
    };
    if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER {
        return if is_mapped {
            by_mapping(resource, desc.Width)
        } else {
            by_copies(resource, desc.Width, state)
        };
    }
    if desc.SampleDesc.Count > 1 || desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL != 0 {
        return Ok("no copies".to_owned());
    }
    texels(resource, &desc, state)
}

/// Returns bytes that differ from their neighbours, and from those of other seeds.
pub(crate) fn pattern(len: u64, seed: u64) -> Vec<u8> {
    let byte = |place: u64| u8::try_from((place * 7 + place / 251 + seed * 31) % 251 + 1).unwrap_or(1);
    (0..len).map(byte).collect()
}

/// Returns the offsets of the probes in a buffer, and their size.
fn probes(width: u64) -> (Vec<u64>, u64) {
    let size = width.min(PROBE);
    let mut offsets = vec![0, (width - size) / 2, width - size];
    offsets.retain(|&offset| offset == 0 || offset >= size);
    offsets.dedup();
    (offsets, size)
}

fn by_mapping(resource: &ID3D12Resource, width: u64) -> Verdict {
    let mapping = Mapping::of(resource).ok("a resource that the CPU accesses")?;
    let (offsets, size) = probes(width);
    let place = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX);
    for (seed, &offset) in (0..).zip(&offsets) {
        mapping.write(place(offset), &pattern(size, seed));
    }
    for (seed, &offset) in (0..).zip(&offsets) {
        let found = mapping.read(place(offset), place(size));
        require(found == pattern(size, seed), || {
            format!("the CPU reads other bytes than it wrote at {offset}")
        })?;
    }
    Ok("mapped bytes".to_owned())
}

/// Creates a buffer with these bytes for copies from it, and one of as many for copies to it.
fn staging(device: &ID3D12Device, bytes: &[u8]) -> Result<[ID3D12Resource; 2], Stop> {
    let width = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let create = |heap_type| {
        let home = properties(heap_type);
        let home = Home::Committed(&home, D3D12_HEAP_FLAG_NONE);
        device::create_resource(device, home, &buffer(width), state_of(heap_type), None).ok("staging bytes")
    };
    let staging = [create(UPLOAD)?, create(READBACK)?];
    Mapping::of(&staging[0]).ok("an UPLOAD buffer")?.write(0, bytes);
    Ok(staging)
}

fn by_copies(resource: &ID3D12Resource, width: u64, state: D3D12_RESOURCE_STATES) -> Verdict {
    let device = object::device_of(resource).ok("a resource")?;
    let (offsets, size) = probes(width);
    let count = u64::try_from(offsets.len()).unwrap_or(0);
    let bytes = pattern(size * count, 3);
    let [source, target] = staging(&device, &bytes)?;
    let queue = Queue::on(&device, DIRECT)?;
    queue.run(|list| {
        if ![D3D12_RESOURCE_STATE_COMMON, COPY_DEST].contains(&state) {
            list.transition(resource, state, COPY_DEST);
        }
        for (index, &offset) in (0..).zip(&offsets) {
            list.copy_buffer((resource, offset), (&source, index * size), size);
        }
    })?;
    // A buffer is in COMMON after each execution.
    queue.run(|list| {
        for (index, &offset) in (0..).zip(&offsets) {
            list.copy_buffer((&target, index * size), (resource, offset), size);
        }
    })?;
    let found = Mapping::of(&target).ok("a READBACK buffer")?.read(0, bytes.len());
    ensure!(found == bytes, "copies from the buffer bring other bytes than were copied to it");
    Ok("copied bytes".to_owned())
}

fn texels(resource: &ID3D12Resource, desc: &D3D12_RESOURCE_DESC, state: D3D12_RESOURCE_STATES) -> Verdict {
    let device = object::device_of(resource).ok("a resource")?;
    let is_volume = desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE3D;
    let slices = if is_volume { 1 } else { desc.DepthOrArraySize };
    let count = u32::from(desc.MipLevels) * u32::from(slices);
    let found = device::footprints(&device, desc, 0, count, 0);
    let Footprints { layouts, row_counts, row_sizes, total } = &found;
    if *total > MOST {
        return Ok("too large".to_owned());
    }
    let bytes = pattern(*total, 5);
    let [source, target] = staging(&device, &bytes)?;
    let queue = Queue::on(&device, DIRECT)?;
    queue.run(|list| {
        if state != COPY_DEST {
            list.transition(resource, state, COPY_DEST);
        }
        for (index, &layout) in (0..).zip(layouts) {
            let from = CopyLocation::Footprint(&source, layout);
            list.copy_texture(CopyLocation::Subresource(resource, index), from);
        }
        list.transition(resource, COPY_DEST, COPY_SOURCE);
        for (index, &layout) in (0..).zip(layouts) {
            let to = CopyLocation::Footprint(&target, layout);
            list.copy_texture(to, CopyLocation::Subresource(resource, index));
        }
        if state != COPY_SOURCE {
            list.transition(resource, COPY_SOURCE, state);
        }
    })?;
    let came = Mapping::of(&target).ok("a READBACK buffer")?.read(0, bytes.len());
    for (index, layout) in layouts.iter().enumerate() {
        let row_size = usize::try_from(row_sizes[index]).unwrap_or(0);
        for row in 0..u64::from(row_counts[index]) * u64::from(layout.Footprint.Depth) {
            let start =
                usize::try_from(layout.Offset + row * u64::from(layout.Footprint.RowPitch)).unwrap_or(0);
            require(came.get(start..start + row_size) == bytes.get(start..start + row_size), || {
                format!("row {row} of subresource {index} has other texels than were copied to it")
            })?;
        }
    }
    Ok("copied texels".to_owned())
}

/// Fails the check unless a heap for buffers holds bytes up to its end.
pub(crate) fn heap_holds_bytes(heap: &ID3D12Heap) -> Verdict {
    let desc = memory::heap_desc(heap);
    let device = object::device_of(heap).ok("a heap")?;
    let state = state_of(desc.Properties.Type);
    let size = desc.SizeInBytes;
    let whole = device::create_resource(&device, Home::Placed(heap, 0), &buffer(size), state, None);
    holds_bytes(&whole.ok("a buffer over all of the heap")?, state)
}
