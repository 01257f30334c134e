//! Recreates the heaps and buffers of a session's state.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use heapwright::ByteSize;
use heapwright::buffer_desc;
use heapwright_d3d12::hresult::Named;
use heapwright_d3d12::windows_core;
use heapwright_d3d12::*;
use heapwright_trace::session::{HeapType, Placement};
use serde::Serialize;

use super::com::{Creator, address_of};
use super::state::{RecordedBuffer, State};

/// An object that is not as recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Failure {
    /// "heap" or "buffer".
    pub(super) kind: &'static str,
    /// Id in the session.
    pub(super) id: u64,
    /// Recorded address, in hexadecimal digits.
    pub(super) address: Option<String>,
    pub(super) reason: String,
}

impl Failure {
    pub(super) fn new(kind: &'static str, id: u64, address: Option<u64>, reason: String) -> Self {
        Self { kind, id, address: address.map(|address| format!("{address:#x}")), reason }
    }
}

/// A buffer as recorded.
pub(super) struct Target {
    pub(super) buffer: ID3D12Resource,
    /// Offset of the recorded buffer in it.
    pub(super) offset: u64,
    /// Recorded address.
    pub(super) address: Option<u64>,
    /// Whether the CPU can map it.
    pub(super) is_mappable: bool,
}

/// Counts and failures of a recreation.
#[derive(Debug, Default)]
pub(super) struct Recreated {
    pub(super) heaps: u64,
    pub(super) buffers: u64,
    /// Number of buffers at their recorded addresses.
    pub(super) same_addresses: u64,
    pub(super) failures: Vec<Failure>,
}

/// Sessions have no properties of CUSTOM heaps, as those of unified memory.
const NO_HEAP_TYPE: &str =
    "the heap type is unknown, or CUSTOM as in unified memory, whose properties are not recorded";

/// Alignment of resources without tight alignment.
const USUAL_ALIGNMENT: u64 = 65_536;

/// Returns the ranges of addresses that the heaps need.
pub(super) fn ranges(state: &State) -> Vec<(u64, u64)> {
    state.heaps.values().filter_map(|heap| Some((heap.address?, heap.heap.size))).collect()
}

/// Recreates everything, without contents. Without addresses, buffers are created wherever the device places them.
/// Returns the buffers by their ids, too.
pub(super) fn recreate(
    state: &State,
    creator: &Creator,
    at_addresses: bool,
) -> (Recreated, HashMap<u64, Target>) {
    let mut recreation = Recreation {
        state,
        creator,
        at_addresses,
        committed: committed_heaps(state),
        heaps: BTreeMap::new(),
        whole: BTreeMap::new(),
        targets: HashMap::new(),
        made: Recreated::default(),
    };
    recreation.heaps();
    for (&id, buffer) in &state.buffers {
        recreation.buffer(id, buffer);
    }
    (recreation.made, recreation.targets)
}

/// Returns the implicit heaps of committed buffers.
fn committed_heaps(state: &State) -> BTreeSet<u64> {
    let committed = state.buffers.values().filter(|buffer| buffer.placement() == Some(Placement::Committed));
    committed.map(|buffer| buffer.heap).collect()
}

struct Recreation<'a> {
    state: &'a State,
    creator: &'a Creator,
    at_addresses: bool,
    committed: BTreeSet<u64>,
    heaps: BTreeMap<u64, ID3D12Heap>,
    /// A buffer over the whole of each heap with parts of buffers.
    whole: BTreeMap<u64, ID3D12Resource>,
    targets: HashMap<u64, Target>,
    made: Recreated,
}

impl Recreation<'_> {
    fn heaps(&mut self) {
        for (&id, recorded) in &self.state.heaps {
            // Created with its buffer.
            if self.committed.contains(&id) {
                continue;
            }
            let Some(desc) = self.heap_desc(id) else {
                self.fail("heap", id, recorded.address, NO_HEAP_TYPE.to_owned());
                continue;
            };
            let address = recorded.address.filter(|_| self.at_addresses);
            match self.creator.heap(&desc, address) {
                Ok(heap) => {
                    self.made.heaps += 1;
                    self.heaps.insert(id, heap);
                }
                Err(error) => self.fail("heap", id, recorded.address, refusal("CreateHeap", &error)),
            }
        }
    }

    fn heap_desc(&self, id: u64) -> Option<D3D12_HEAP_DESC> {
        let heap = &self.state.heaps.get(&id)?.heap;
        let heap_type = match heap.heap_type {
            HeapType::Unknown | HeapType::Custom => return None,
            known => i32::from(known as u8),
        };
        Some(D3D12_HEAP_DESC {
            SizeInBytes: heap.size,
            Properties: D3D12_HEAP_PROPERTIES { Type: heap_type, ..Default::default() },
            Alignment: heap.alignment,
            Flags: heap.flags & !(D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT | D3D12_HEAP_FLAG_CREATE_NOT_ZEROED),
        })
    }

    fn buffer(&mut self, id: u64, recorded: &RecordedBuffer) {
        let (buffer, offset) = match self.create(recorded) {
            Ok(made) => made,
            Err(reason) => return self.fail("buffer", id, recorded.address, reason),
        };
        self.made.buffers += 1;
        if self.at_addresses {
            let found = address_of(&buffer).wrapping_add(offset);
            match recorded.address {
                Some(address) if address == found => self.made.same_addresses += 1,
                Some(address) => {
                    let reason = format!("it is at {found:#x} instead");
                    return self.fail("buffer", id, Some(address), reason);
                }
                None => {}
            }
        }
        let is_mappable = self.state.heaps[&recorded.heap].heap.heap_type != HeapType::Default;
        let target = Target { buffer, offset, address: recorded.address, is_mappable };
        self.targets.insert(id, target);
    }

    /// Creates a buffer, and returns it with the offset of the recorded one in it.
    fn create(&mut self, recorded: &RecordedBuffer) -> Result<(ID3D12Resource, u64), String> {
        let heap_desc = self.heap_desc(recorded.heap).ok_or(NO_HEAP_TYPE)?;
        let state = match heap_desc.Properties.Type {
            D3D12_HEAP_TYPE_UPLOAD => D3D12_RESOURCE_STATE_GENERIC_READ,
            D3D12_HEAP_TYPE_READBACK => D3D12_RESOURCE_STATE_COPY_DEST,
            _ => D3D12_RESOURCE_STATE_COMMON,
        };
        let width = recorded.allocation.size;
        let mut desc = buffer_desc(ByteSize::new(width));
        desc.Flags = recorded.allocation.flags;
        if recorded.placement() == Some(Placement::Committed) {
            let address = recorded.address.filter(|_| self.at_addresses);
            let made = self.creator.committed(&heap_desc.Properties, &desc, state, address);
            return made
                .map(|buffer| (buffer, 0))
                .map_err(|error| refusal("CreateCommittedResource", &error));
        }
        let heap = self.heaps.get(&recorded.heap).ok_or("its heap was not created")?;
        if recorded.placement() == Some(Placement::WithinResource) {
            if recorded.offset.checked_add(width).is_none_or(|end| end > heap_desc.SizeInBytes) {
                return Err("it reaches beyond its heap".to_owned());
            }
            if let Some(whole) = self.whole.get(&recorded.heap) {
                return Ok((whole.clone(), recorded.offset));
            }
            let desc = buffer_desc(ByteSize::new(heap_desc.SizeInBytes));
            let whole = self.creator.placed(heap, 0, &desc, state);
            let whole = whole.map_err(|error| refusal("CreatePlacedResource", &error))?;
            self.whole.insert(recorded.heap, whole.clone());
            return Ok((whole, recorded.offset));
        }
        if !recorded.offset.is_multiple_of(USUAL_ALIGNMENT) {
            // Only tight alignment permits the offset; the allocator adds the flag to what is requested.
            desc.Flags |= D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT;
        }
        let made = self.creator.placed(heap, recorded.offset, &desc, state);
        made.map(|buffer| (buffer, 0)).map_err(|error| refusal("CreatePlacedResource", &error))
    }

    fn fail(&mut self, kind: &'static str, id: u64, address: Option<u64>, reason: String) {
        self.made.failures.push(Failure::new(kind, id, address, reason));
    }
}

pub(super) fn refusal(call: &str, error: &windows_core::Error) -> String {
    format!("{call} failed with {}", reason(error))
}

/// Returns the HRESULT, and what may be the cause.
pub(super) fn reason(error: &windows_core::Error) -> String {
    let hresult = Named(error.code());
    match error.code() {
        E_INVALIDARG => format!(
            "{hresult:#}; a device with the properties of the recorded one may be required, such as --device host:uma for a \
             session of a GPU with unified memory"
        ),
        _ => format!("{hresult:#}"),
    }
}
