//! Requests of a recorded program.

use heapwright::d3d12::{
    D3D12_HEAP_TYPE, D3D12_RESOURCE_DESC, D3D12_RESOURCE_STATE_COMMON, D3D12_RESOURCE_STATE_COPY_DEST,
    D3D12_RESOURCE_STATE_GENERIC_READ, D3D12_RESOURCE_STATES, DXGI_SAMPLE_DESC,
};
use heapwright::{
    Alignment, BufferUses, ByteSize, FreeRangeChoice, HeapType, HeapTypePreference, ResourceAllocationDesc,
    ResourceAllocationFlags, ResourceKind, buffer_desc,
};
use heapwright_trace::session::{Asked, BareMemory, Description, HeapType as RecordedHeapType, Placement};

/// A request for a resource, or for memory of one.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) kind: RequestKind,
    pub(super) allocation: ResourceAllocationDesc<'static>,
    pub(super) resource: D3D12_RESOURCE_DESC,
    pub(super) initial_state: D3D12_RESOURCE_STATES,
}

/// The kind of object that a request creates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestKind {
    Resource,
    /// An allocation for a resource of the application.
    Import,
    /// Memory without a resource.
    Memory {
        resources: ResourceKind,
        alignment: Alignment,
    },
}

impl Request {
    /// A buffer, in the state in which it must be created.
    pub(super) fn buffer(size: ByteSize, heap_type: HeapType) -> Self {
        let allocation = ResourceAllocationDesc::new(heap_type);
        let (resource, initial_state) = (buffer_desc(size), first_state(heap_type));
        Self { kind: RequestKind::Resource, allocation, resource, initial_state }
    }

    /// Creates the request of a record. Without a record of the heap types that were asked for, it asks for the type
    /// that was granted.
    pub(super) fn new(
        description: &Description,
        asked: Option<&Asked>,
        granted: Option<HeapType>,
        resource_flags: u32,
    ) -> Self {
        let is_imported = description.placement == Some(Placement::Imported);
        let memory = asked.and_then(|asked| asked.memory);
        let kind = match memory.and_then(memory_of) {
            Some((resources, alignment)) => RequestKind::Memory { resources, alignment },
            None if is_imported => RequestKind::Import,
            None => RequestKind::Resource,
        };
        let heap_type = match asked {
            Some(asked) => preference(asked),
            None => granted.map(HeapTypePreference::first),
        };
        let allocation = ResourceAllocationDesc {
            flags: ResourceAllocationFlags::from_bits_retain(description.allocation_flags),
            heap_type,
            extra_required_heap_flags: description.heap_flags,
            extra_required_resource_padding: ByteSize::new(description.padding),
            strategy: match description.strategy {
                1 => FreeRangeChoice::MinTime,
                2 => FreeRangeChoice::MinOffset,
                _ => FreeRangeChoice::MinMemory,
            },
            uses: BufferUses::from_bits_retain(asked.map_or(0, |asked| asked.uses)),
            ..ResourceAllocationDesc::default()
        };
        let resource = D3D12_RESOURCE_DESC {
            Dimension: description.dimension.cast_signed(),
            Alignment: description.alignment,
            Width: description.width,
            Height: description.height,
            DepthOrArraySize: description.depth_or_array_size,
            MipLevels: description.mip_levels,
            Format: description.format.cast_signed(),
            SampleDesc: DXGI_SAMPLE_DESC {
                Count: description.sample_count,
                Quality: description.sample_quality,
            },
            Layout: description.layout.cast_signed(),
            Flags: resource_flags,
        };
        let initial_state = match granted {
            // It has been used since.
            Some(granted) if is_imported => first_state(granted),
            _ => description.initial_state,
        };
        Self { kind, allocation, resource, initial_state }
    }

    /// Returns the request for a resource in the allocator's memory instead.
    pub(super) fn into_resource(mut self) -> Self {
        if self.kind == RequestKind::Import {
            self.allocation.flags = ResourceAllocationFlags::ALWAYS_COMMITTED;
        }
        Self { kind: RequestKind::Resource, ..self }
    }
}

/// Returns `None` for kinds of resources of later versions.
fn memory_of(recorded: BareMemory) -> Option<(ResourceKind, Alignment)> {
    use ResourceKind::{Any, Buffers, RenderTargets, Textures};
    let kinds = [Buffers, Textures, RenderTargets, Any];
    let kind = kinds.into_iter().find(|&kind| kind as u8 == recorded.resources);
    kind.zip(Alignment::new(recorded.alignment))
}

fn first_state(heap_type: HeapType) -> D3D12_RESOURCE_STATES {
    match heap_type {
        HeapType::Upload => D3D12_RESOURCE_STATE_GENERIC_READ,
        HeapType::Readback => D3D12_RESOURCE_STATE_COPY_DEST,
        _ => D3D12_RESOURCE_STATE_COMMON,
    }
}

/// Returns the heap types that were asked for, or `None` if they were inferred.
fn preference(asked: &Asked) -> Option<HeapTypePreference> {
    let mut heap_types = asked.heap_types.iter().filter_map(|&heap_type| heap_type_of(heap_type));
    let first = HeapTypePreference::first(heap_types.next()?);
    Some(heap_types.fold(first, HeapTypePreference::or))
}

/// Returns `None` for types of heaps that the allocator does not create.
pub(super) fn heap_type_of(recorded: RecordedHeapType) -> Option<HeapType> {
    let number = D3D12_HEAP_TYPE::from(recorded as u8);
    HeapType::ALL.into_iter().find(|heap_type| heap_type.to_d3d12() == number)
}
