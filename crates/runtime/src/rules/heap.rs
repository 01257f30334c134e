//! Heap descriptions: properties per architecture (GPU upload heaps specification), size, alignment and flags.

use heapwright_core::{Alignment, ByteSize, GpuVirtualAddress};
#[cfg(feature = "preview")]
use heapwright_d3d12::preview::D3D12_HEAP_FLAG_TOOLS_ENABLE_MEMORY_TRACKING;
use heapwright_d3d12::*;

#[cfg(feature = "preview")]
use super::SdkVersion;
use super::{Options, Refusal};
use crate::ddi::umddi::D3D12DDI_HEAP_FLAG_NONE;
use crate::ddi::{Architecture, CpuPageProperty, DriverCaps, HeapArgs, MemoryPool};
use crate::residency::PageableKind;

/// A valid heap description, in the driver's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Heap {
    /// Size in bytes; never zero.
    pub(crate) size: ByteSize,
    /// Alignment: 64 KiB or 4 MiB.
    pub(crate) alignment: Alignment,
    /// CPU access and memory pool.
    pub(crate) memory: HeapMemory,
}

/// The CPU access and memory pool that heap properties resolve to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeapMemory {
    pub(crate) cpu_page_property: CpuPageProperty,
    pub(crate) memory_pool: MemoryPool,
}

impl HeapMemory {
    /// Describes an explicit heap of `size` bytes to the driver.
    pub(crate) fn heap(
        self,
        size: ByteSize,
        alignment: Alignment,
        flags: D3D12_HEAP_FLAGS,
        create_at: Option<GpuVirtualAddress>,
    ) -> HeapArgs {
        HeapArgs {
            size,
            alignment,
            cpu_page_property: self.cpu_page_property,
            memory_pool: self.memory_pool,
            flags: D3D12DDI_HEAP_FLAG_NONE,
            existing: None,
            zeroed: flags & D3D12_HEAP_FLAG_CREATE_NOT_ZEROED == 0,
            not_resident: flags & D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT != 0,
            pageable: PageableKind::Heap,
            create_at,
        }
    }
}

/// The valid heap alignments; tight alignment does not change them.
const HEAP_ALIGNMENT: u64 = D3D12_DEFAULT_RESOURCE_PLACEMENT_ALIGNMENT.cast_unsigned() as u64;
const MSAA_HEAP_ALIGNMENT: u64 = D3D12_DEFAULT_MSAA_RESOURCE_PLACEMENT_ALIGNMENT.cast_unsigned() as u64;

/// Flags that exclude a kind of resource from a heap. All three together would exclude every resource.
const DENY_FLAGS: D3D12_HEAP_FLAGS = D3D12_HEAP_FLAG_DENY_BUFFERS
    | D3D12_HEAP_FLAG_DENY_RT_DS_TEXTURES
    | D3D12_HEAP_FLAG_DENY_NON_RT_DS_TEXTURES;

/// Flags that this runtime supports.
const KNOWN_FLAGS: D3D12_HEAP_FLAGS = DENY_FLAGS
    | D3D12_HEAP_FLAG_SHARED
    | D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER
    | D3D12_HEAP_FLAG_ALLOW_DISPLAY
    | D3D12_HEAP_FLAG_ALLOW_SHADER_ATOMICS
    | D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT
    | D3D12_HEAP_FLAG_CREATE_NOT_ZEROED
    | D3D12_HEAP_FLAG_TOOLS_USE_MANUAL_WRITE_TRACKING;

/// Flags that were added after the first D3D12, which rejects them.
const LATER_FLAGS: D3D12_HEAP_FLAGS = D3D12_HEAP_FLAG_HARDWARE_PROTECTED
    | D3D12_HEAP_FLAG_ALLOW_WRITE_WATCH
    | D3D12_HEAP_FLAG_ALLOW_SHADER_ATOMICS
    | D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT
    | D3D12_HEAP_FLAG_CREATE_NOT_ZEROED
    | D3D12_HEAP_FLAG_TOOLS_USE_MANUAL_WRITE_TRACKING;

/// Flags of D3D12 that this runtime does not implement, with their names.
const MISSING_FLAGS: [(D3D12_HEAP_FLAGS, &str); 2] = [
    (D3D12_HEAP_FLAG_HARDWARE_PROTECTED, "D3D12_HEAP_FLAG_HARDWARE_PROTECTED"),
    (D3D12_HEAP_FLAG_ALLOW_WRITE_WATCH, "D3D12_HEAP_FLAG_ALLOW_WRITE_WATCH"),
];

/// Flags that CPU-accessible heaps cannot have (GPU upload heaps specification, *Restrictions*).
const NO_CPU_ACCESS_FLAGS: D3D12_HEAP_FLAGS =
    D3D12_HEAP_FLAG_SHARED | D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER | D3D12_HEAP_FLAG_ALLOW_DISPLAY;

/// Checks the description of an explicit heap, as `CreateHeap` takes it.
pub(crate) fn check(desc: &D3D12_HEAP_DESC, caps: &DriverCaps, options: &Options) -> Result<Heap, Refusal> {
    if desc.SizeInBytes == 0 {
        return Err(Refusal::invalid("D3D12_HEAP_DESC::SizeInBytes must not be 0")
            .with_id(D3D12_MESSAGE_ID_CREATEHEAP_INVALIDSIZE));
    }
    if desc.SizeInBytes > 1 << caps.gpu_va_bits_per_process {
        return Err(Refusal::invalid(format!(
            "D3D12_HEAP_DESC::SizeInBytes {:#x} exceeds the GPU virtual address space of a process, {} bits",
            desc.SizeInBytes, caps.gpu_va_bits_per_process
        ))
        .with_id(D3D12_MESSAGE_ID_CREATEHEAP_INVALIDSIZE));
    }
    let alignment = match desc.Alignment {
        0 | HEAP_ALIGNMENT => HEAP_ALIGNMENT,
        MSAA_HEAP_ALIGNMENT => MSAA_HEAP_ALIGNMENT,
        other => {
            return Err(Refusal::invalid(format!(
                "D3D12_HEAP_DESC::Alignment {other:#x} must be 0, 64 KiB or 4 MiB"
            ))
            .with_id(D3D12_MESSAGE_ID_CREATEHEAP_INVALIDALIGNMENT));
        }
    };
    let memory = check_properties(&desc.Properties, caps)
        .map_err(|refusal| refusal.or_id(D3D12_MESSAGE_ID_CREATEHEAP_INVALIDPROPERTIES))?;
    check_explicit_flags(desc.Properties.Type, memory, desc.Flags, caps, options)
        .map_err(|refusal| refusal.or_id(D3D12_MESSAGE_ID_CREATEHEAP_INVALIDMISCFLAGS))?;
    Ok(Heap {
        size: ByteSize::new(desc.SizeInBytes),
        alignment: Alignment::new(alignment)
            .ok_or_else(|| Refusal::invalid("D3D12_HEAP_DESC::Alignment must be a power of two"))?,
        memory,
    })
}

/// Checks the flags of an explicit heap.
fn check_explicit_flags(
    heap_type: D3D12_HEAP_TYPE,
    memory: HeapMemory,
    flags: D3D12_HEAP_FLAGS,
    caps: &DriverCaps,
    options: &Options,
) -> Result<(), Refusal> {
    check_flags(heap_type, memory, flags, caps, options)?;
    if flags & D3D12_HEAP_FLAG_ALLOW_DISPLAY != 0 {
        return Err(Refusal::invalid(
            "D3D12_HEAP_FLAG_ALLOW_DISPLAY is only supported for committed resources",
        ));
    }
    let denied = flags & DENY_FLAGS;
    if denied == DENY_FLAGS {
        return Err(Refusal::invalid(
            "D3D12_HEAP_DESC::Flags must not contain all of DENY_BUFFERS, DENY_RT_DS_TEXTURES and \
             DENY_NON_RT_DS_TEXTURES",
        ));
    }
    if caps.resource_heap_tier < 2 && denied.count_ones() != 2 {
        return Err(Refusal::invalid(
            "D3D12_HEAP_DESC::Flags must allow exactly one of buffers, RT/DS textures and non-RT/DS textures on \
             resource heap tier 1",
        ));
    }
    Ok(())
}

/// Checks the heap properties and flags of a committed resource's implicit heap.
pub(crate) fn check_implicit(
    properties: &D3D12_HEAP_PROPERTIES,
    flags: D3D12_HEAP_FLAGS,
    caps: &DriverCaps,
    options: &Options,
) -> Result<HeapMemory, Refusal> {
    if flags & DENY_FLAGS != 0 {
        return Err(Refusal::invalid(
            "HeapFlags of a committed resource must not contain D3D12_HEAP_FLAG_DENY_* or ALLOW_ONLY_* flags",
        )
        .with_id(D3D12_MESSAGE_ID_CREATERESOURCEANDHEAP_INVALIDHEAPMISCFLAGS));
    }
    let memory = check_properties(properties, caps).map_err(|refusal| {
        as_implicit(refusal.or_id(D3D12_MESSAGE_ID_CREATERESOURCEANDHEAP_INVALIDHEAPPROPERTIES))
    })?;
    check_flags(properties.Type, memory, flags, caps, options).map_err(|refusal| {
        as_implicit(refusal.or_id(D3D12_MESSAGE_ID_CREATERESOURCEANDHEAP_INVALIDHEAPMISCFLAGS))
    })?;
    Ok(memory)
}

/// Refuses ALLOW_DISPLAY, whose rules are implemented but whose behaviour is not. Cross-adapter sharing is refused only
/// when the object is opened.
pub(crate) fn check_behaviour(flags: D3D12_HEAP_FLAGS) -> Result<(), Refusal> {
    match flags & D3D12_HEAP_FLAG_ALLOW_DISPLAY {
        0 => Ok(()),
        flags => Err(Refusal::not_implemented(format!("heap flags {flags:#x}"))),
    }
}

/// Replaces message ids of `CreateHeap` by their counterparts for implicit heaps, where these exist.
fn as_implicit(refusal: Refusal) -> Refusal {
    let id = match refusal.id() {
        D3D12_MESSAGE_ID_CREATEHEAP_UNRECOGNIZEDHEAPTYPE => {
            D3D12_MESSAGE_ID_CREATERESOURCEANDHEAP_UNRECOGNIZEDHEAPTYPE
        }
        D3D12_MESSAGE_ID_CREATEHEAP_UNRECOGNIZEDCPUPAGEPROPERTIES => {
            D3D12_MESSAGE_ID_CREATERESOURCEANDHEAP_UNRECOGNIZEDCPUPAGEPROPERTIES
        }
        D3D12_MESSAGE_ID_CREATEHEAP_UNRECOGNIZEDMEMORYPOOL => {
            D3D12_MESSAGE_ID_CREATERESOURCEANDHEAP_UNRECOGNIZEDMEMORYPOOL
        }
        D3D12_MESSAGE_ID_CREATEHEAP_UNRECOGNIZEDMISCFLAGS => {
            D3D12_MESSAGE_ID_CREATERESOURCEANDHEAP_UNRECOGNIZEDHEAPMISCFLAGS
        }
        D3D12_MESSAGE_ID_CREATEHEAP_INVALIDHEAPTYPE => D3D12_MESSAGE_ID_CREATERESOURCEANDHEAP_INVALIDHEAPTYPE,
        other => other,
    };
    refusal.with_id(id)
}

/// Returns the custom properties equivalent to a heap type, as `GetCustomHeapProperties` does.
///
/// The values are those of the tables of the GPU upload heaps specification. GPU_UPLOAD has a result even where it is
/// not supported. Returns `None` for CUSTOM and for unknown heap types.
pub(crate) fn custom_properties(
    heap_type: D3D12_HEAP_TYPE,
    architecture: Architecture,
) -> Option<HeapMemory> {
    use CpuPageProperty::{NotAvailable, WriteBack, WriteCombine};
    let upload = if architecture == Architecture::CacheCoherentUma { WriteBack } else { WriteCombine };
    let video_memory = if architecture.is_uma() { MemoryPool::L0 } else { MemoryPool::L1 };
    let (cpu_page_property, memory_pool) = match heap_type {
        D3D12_HEAP_TYPE_DEFAULT => (NotAvailable, video_memory),
        D3D12_HEAP_TYPE_UPLOAD => (upload, MemoryPool::L0),
        D3D12_HEAP_TYPE_READBACK => (WriteBack, MemoryPool::L0),
        D3D12_HEAP_TYPE_GPU_UPLOAD => (upload, video_memory),
        _ => return None,
    };
    Some(HeapMemory { cpu_page_property, memory_pool })
}

/// Checks the flags whose rules are independent of the heap's contents.
fn check_flags(
    heap_type: D3D12_HEAP_TYPE,
    memory: HeapMemory,
    flags: D3D12_HEAP_FLAGS,
    caps: &DriverCaps,
    options: &Options,
) -> Result<(), Refusal> {
    if caps.is_first_generation && flags & LATER_FLAGS != 0 {
        let later = flags & LATER_FLAGS;
        return Err(Refusal::invalid(format!(
            "heap flags {later:#x} are not supported by the first version of D3D12"
        ))
        .with_id(D3D12_MESSAGE_ID_CREATEHEAP_UNRECOGNIZEDMISCFLAGS));
    }
    check_compute_only(flags, caps)?;
    let is_cpu_accessible = memory.cpu_page_property != CpuPageProperty::NotAvailable;
    // The flag's other rule is about heaps that are visible on several nodes, and the device has one.
    let needs_custom = flags & D3D12_HEAP_FLAG_ALLOW_SHADER_ATOMICS != 0 && is_cpu_accessible;
    if needs_custom && heap_type != D3D12_HEAP_TYPE_CUSTOM {
        return Err(Refusal::invalid(
            "a CPU-accessible heap with D3D12_HEAP_FLAG_ALLOW_SHADER_ATOMICS must be of type CUSTOM",
        ));
    }
    if is_cpu_accessible && flags & NO_CPU_ACCESS_FLAGS != 0 {
        return Err(Refusal::invalid(
            "a CPU-accessible heap (UPLOAD, READBACK, GPU_UPLOAD or CUSTOM) cannot have the flags SHARED, \
             SHARED_CROSS_ADAPTER or ALLOW_DISPLAY",
        ));
    }
    if flags & D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER != 0 && flags & D3D12_HEAP_FLAG_SHARED == 0 {
        return Err(Refusal::invalid("D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER needs D3D12_HEAP_FLAG_SHARED"));
    }
    if flags & D3D12_HEAP_FLAG_TOOLS_USE_MANUAL_WRITE_TRACKING != 0 && !options.manual_write_tracking {
        return Err(Refusal::invalid(
            "D3D12_HEAP_FLAG_TOOLS_USE_MANUAL_WRITE_TRACKING needs ManualWriteTrackingResourceSupported",
        ));
    }
    for (flag, name) in MISSING_FLAGS {
        // On compute-only devices it was checked above.
        let is_watch = flag == D3D12_HEAP_FLAG_ALLOW_WRITE_WATCH && caps.compute_only.is_some();
        if flags & flag != 0 && !is_watch {
            return Err(Refusal::not_implemented(name));
        }
    }
    #[cfg(feature = "preview")]
    let flags = check_memory_tracking(flags, options)?;
    match flags & !(KNOWN_FLAGS | D3D12_HEAP_FLAG_ALLOW_WRITE_WATCH) {
        0 => Ok(()),
        unknown => Err(Refusal::invalid(format!("unknown heap flag bits {unknown:#x}"))
            .with_id(D3D12_MESSAGE_ID_CREATEHEAP_UNRECOGNIZEDMISCFLAGS)),
    }
}

/// Checks the flag by which previews track the memory of a heap, and returns the other flags.
///
/// No document says what it needs. As the flag of manual write tracking, which it is beside in the headers, it is for
/// tools: refused unless one is installed.
#[cfg(feature = "preview")]
fn check_memory_tracking(flags: D3D12_HEAP_FLAGS, options: &Options) -> Result<D3D12_HEAP_FLAGS, Refusal> {
    let tracking = D3D12_HEAP_FLAG_TOOLS_ENABLE_MEMORY_TRACKING;
    if flags & tracking == 0 || options.sdk < SdkVersion::FIRST_PREVIEW {
        return Ok(flags);
    }
    if !options.manual_write_tracking {
        return Err(Refusal::invalid("D3D12_HEAP_FLAG_TOOLS_ENABLE_MEMORY_TRACKING needs a tool"));
    }
    Ok(flags & !tracking)
}

/// Refuses the flags that a compute-only device does not have.
fn check_compute_only(flags: D3D12_HEAP_FLAGS, caps: &DriverCaps) -> Result<(), Refusal> {
    let Some(compute_only) = caps.compute_only else { return Ok(()) };
    let refused = D3D12_HEAP_FLAG_HARDWARE_PROTECTED
        | D3D12_HEAP_FLAG_ALLOW_DISPLAY
        | D3D12_HEAP_FLAG_ALLOW_SHADER_ATOMICS
        | if compute_only.write_watch { 0 } else { D3D12_HEAP_FLAG_ALLOW_WRITE_WATCH };
    match flags & refused {
        0 => Ok(()),
        refused => Err(Refusal::invalid(format!("a compute-only device has no heap flags {refused:#x}"))),
    }
}

fn check_properties(properties: &D3D12_HEAP_PROPERTIES, caps: &DriverCaps) -> Result<HeapMemory, Refusal> {
    for (mask, name) in
        [(properties.CreationNodeMask, "CreationNodeMask"), (properties.VisibleNodeMask, "VisibleNodeMask")]
    {
        // The runtime has a single node; masks 0 and 1 both select it.
        if mask > 1 {
            return Err(Refusal::invalid(format!(
                "D3D12_HEAP_PROPERTIES::{name} {mask:#x} must be 0 or 1, because the device has one node"
            )));
        }
    }
    if properties.Type != D3D12_HEAP_TYPE_CUSTOM {
        return check_abstract_type(properties, caps);
    }
    if caps.compute_only.is_some_and(|compute_only| !compute_only.custom_heaps) {
        return Err(Refusal::invalid(
            "a compute-only device without ComputeOnlyCustomHeapSupported has no heaps of type CUSTOM",
        )
        .with_id(D3D12_MESSAGE_ID_CREATEHEAP_INVALIDHEAPTYPE));
    }
    check_custom(properties, caps)
}

fn check_abstract_type(properties: &D3D12_HEAP_PROPERTIES, caps: &DriverCaps) -> Result<HeapMemory, Refusal> {
    let memory = custom_properties(properties.Type, caps.architecture).ok_or_else(|| {
        Refusal::invalid(format!("D3D12_HEAP_PROPERTIES::Type {} is not a valid heap type", properties.Type))
            .with_id(D3D12_MESSAGE_ID_CREATEHEAP_UNRECOGNIZEDHEAPTYPE)
    })?;
    if properties.CPUPageProperty != D3D12_CPU_PAGE_PROPERTY_UNKNOWN
        || properties.MemoryPoolPreference != D3D12_MEMORY_POOL_UNKNOWN
    {
        return Err(Refusal::invalid(
            "CPUPageProperty and MemoryPoolPreference must be UNKNOWN unless the heap type is CUSTOM",
        ));
    }
    if properties.Type == D3D12_HEAP_TYPE_GPU_UPLOAD && !caps.has_gpu_upload_heaps() {
        return Err(Refusal::invalid(
            "the device does not support GPU upload heaps (GPUUploadHeapSupported)",
        )
        .with_id(D3D12_MESSAGE_ID_CREATEHEAP_INVALIDHEAPTYPE));
    }
    Ok(memory)
}

fn check_custom(properties: &D3D12_HEAP_PROPERTIES, caps: &DriverCaps) -> Result<HeapMemory, Refusal> {
    let cpu_page_property = match properties.CPUPageProperty {
        D3D12_CPU_PAGE_PROPERTY_NOT_AVAILABLE => CpuPageProperty::NotAvailable,
        D3D12_CPU_PAGE_PROPERTY_WRITE_COMBINE => CpuPageProperty::WriteCombine,
        D3D12_CPU_PAGE_PROPERTY_WRITE_BACK => CpuPageProperty::WriteBack,
        other => {
            return Err(Refusal::invalid(format!(
                "D3D12_HEAP_PROPERTIES::CPUPageProperty {other} must be NOT_AVAILABLE, WRITE_COMBINE or WRITE_BACK \
                 for a CUSTOM heap"
            ))
            .with_id(D3D12_MESSAGE_ID_CREATEHEAP_UNRECOGNIZEDCPUPAGEPROPERTIES));
        }
    };
    let memory_pool = match properties.MemoryPoolPreference {
        D3D12_MEMORY_POOL_L0 => MemoryPool::L0,
        D3D12_MEMORY_POOL_L1 => MemoryPool::L1,
        other => {
            return Err(Refusal::invalid(format!(
                "D3D12_HEAP_PROPERTIES::MemoryPoolPreference {other} must be L0 or L1 for a CUSTOM heap"
            ))
            .with_id(D3D12_MESSAGE_ID_CREATEHEAP_UNRECOGNIZEDMEMORYPOOL));
        }
    };
    match (caps.architecture.is_uma(), memory_pool, cpu_page_property) {
        (true, MemoryPool::L1, _) => Err(Refusal::invalid("memory pool L1 does not exist on UMA")),
        (false, MemoryPool::L1, CpuPageProperty::WriteBack) => {
            Err(Refusal::invalid("memory pool L1 cannot be WRITE_BACK"))
        }
        (false, MemoryPool::L1, CpuPageProperty::WriteCombine) if !caps.has_gpu_upload_heaps() => {
            Err(Refusal::invalid(
                "memory pool L1 can be WRITE_COMBINE only if the device supports GPU upload heaps \
                 (GPUUploadHeapSupported)",
            ))
        }
        _ => Ok(HeapMemory { cpu_page_property, memory_pool }),
    }
}
