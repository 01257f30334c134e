//! Proof that a resource has memory of its own: bytes that are written to it come back.

use heapwright_d3d12::*;

use crate::answer::{Answer, Stop, Verdict, ensure, require};
use crate::com::device::{self, Home};
use crate::com::memory::Mapping;
use crate::com::{memory, object};
use crate::context::state_of;
use crate::desc::{COPY_DEST, COPY_SOURCE, DIRECT, GPU_UPLOAD, READBACK, UPLOAD, buffer};
use crate::queue::{Queue, pattern, read};
use crate::transfer::Staged;

/// Bytes at each end of a buffer that are written.
const PROBE: u64 = 64;
/// Texels that take more than this are not written.
const MOST: usize = 4 << 20;

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

/// Fails the check unless bytes that are written to a resource in `state` come back. Multisampled textures, depth
/// buffers and reserved resources, whose bytes need more than copies, are not written.
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
        mapping.write(place(offset), &pattern(place(size), seed));
    }
    for (seed, &offset) in (0..).zip(&offsets) {
        let found = mapping.read(place(offset), place(size));
        require(found == pattern(place(size), seed), || {
            format!("the CPU reads other bytes than it wrote at {offset}")
        })?;
    }
    Ok("mapped bytes".to_owned())
}

fn by_copies(resource: &ID3D12Resource, width: u64, state: D3D12_RESOURCE_STATES) -> Verdict {
    let queue = Queue::on(&object::device_of(resource).ok("a resource")?, DIRECT)?;
    let (offsets, size) = probes(width);
    let bytes = pattern(usize::try_from(size).unwrap_or(0) * offsets.len(), 3);
    let (source, target) = (queue.upload(&bytes)?, queue.readback(bytes.len())?);
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
    let found = read(&target, bytes.len())?;
    ensure!(found == bytes, "copies from the buffer bring other bytes than were copied to it");
    Ok("copied bytes".to_owned())
}

fn texels(resource: &ID3D12Resource, desc: &D3D12_RESOURCE_DESC, state: D3D12_RESOURCE_STATES) -> Verdict {
    let device = object::device_of(resource).ok("a resource")?;
    let staged = Staged::of(&device, desc)?;
    if staged.len > MOST {
        return Ok("too large".to_owned());
    }
    let (queue, bytes) = (Queue::on(&device, DIRECT)?, pattern(staged.len, 5));
    let (source, target) = (queue.upload(&bytes)?, queue.readback(staged.len)?);
    queue.run(|list| {
        list.to_state(resource, state, COPY_DEST);
        staged.write(list, resource, &source);
        list.transition(resource, COPY_DEST, COPY_SOURCE);
        staged.read(list, resource, &target);
        list.to_state(resource, COPY_SOURCE, state);
    })?;
    staged.same(&read(&target, staged.len)?, &bytes)
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
