//! The heaps that a resource may be in: those that a device grants for a heap type, those of its class, and those that
//! its initial state fits.

use heapwright_core::Alignment;
use heapwright_d3d12::*;

use super::heap_family::{HeapFamily, HeapMemory, NodeMasks};
use super::heap_type::{HeapType, HeapTypePreference};
use crate::desc::ResourceKind;
use crate::{Architecture, DeviceCaps, Error, InitialState, SegmentGroup};

/// The heaps that an allocator uses for each heap type on its device.
///
/// | request | heaps |
/// |---|---|
/// | any, usually | heaps of that type |
/// | DEFAULT, UPLOAD, GPU_UPLOAD with unified memory | CUSTOM with UPLOAD's properties: one family for all three |
/// | no type, with unified memory | the same, also for READBACK's buffers |
/// | GPU_UPLOAD on UMA that does not report it | CUSTOM with UPLOAD's properties, which is the same memory |
/// | GPU_UPLOAD on a discrete GPU that does not report it | none |
///
/// Unified memory is for cache-coherent UMA. There, UPLOAD's memory is as fast for the GPU as DEFAULT's, and the CPU's
/// caches work. READBACK keeps its heaps if it is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeapFamilies {
    caps: DeviceCaps,
    nodes: NodeMasks,
    /// UPLOAD's properties, as the device reports them.
    upload: HeapMemory,
    unified_memory: bool,
    /// Whether the residency manager has two segment groups on UMA.
    separates_groups: bool,
    /// The heaps that are granted for each heap type, without and with `always_attribute`.
    granted: [[Option<GrantedHeaps>; HeapType::ALL.len()]; 2],
}

/// The heaps that were granted for a preference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GrantedHeaps {
    /// The heap type of the preference that was granted.
    pub(crate) heap_type: HeapType,
    /// The family of the heaps.
    pub(crate) family: HeapFamily,
    /// The segment group that they are charged to.
    pub(crate) segment_group: SegmentGroup,
    /// Whether the CPU can map the heaps.
    pub(crate) is_cpu_accessible: bool,
    /// Whether the CPU cannot write where the GPU reads at full speed: there is no CPU access, or the memory is system
    /// memory across the bus. Bytes must then be copied to local memory.
    pub(crate) needs_copy: bool,
}

impl HeapFamilies {
    /// Creates the families for `device`, whose capabilities are `caps`. One call of the device
    /// (`GetCustomHeapProperties`).
    ///
    /// Without cache-coherent UMA, `allow_unified_memory` is ignored with a warning. `separates_groups` says whether a
    /// residency manager has two segment groups on UMA.
    ///
    /// # Errors
    ///
    /// Invalid argument: node masks that the device does not have. An error of the device if it reports UPLOAD memory
    /// that the CPU cannot access.
    pub(crate) fn query(
        device: &ID3D12Device,
        caps: &DeviceCaps,
        nodes: NodeMasks,
        allow_unified_memory: bool,
        separates_groups: bool,
    ) -> Result<Self, Error> {
        nodes.check(caps.node_count)?;
        // SAFETY: the device is a live COM object.
        let properties = unsafe { device.GetCustomHeapProperties(nodes.creation, D3D12_HEAP_TYPE_UPLOAD) };
        let upload = HeapMemory::try_from_d3d12(properties.CPUPageProperty, properties.MemoryPoolPreference)
            .ok()
            .filter(|memory| memory.is_cpu_accessible())
            .ok_or_else(|| Error::device("ID3D12Device::GetCustomHeapProperties", E_INVALIDARG))?;
        let has_unified_memory = caps.architecture == Architecture::CacheCoherentUma && caps.custom_heaps;
        let unified_memory = allow_unified_memory && has_unified_memory;
        if allow_unified_memory && !unified_memory {
            tracing::warn!(
                architecture = %caps.architecture,
                "unified memory requires cache-coherent UMA and CUSTOM heaps; using the heap types as requested"
            );
        }
        let granted = Default::default();
        let mut families = Self { caps: *caps, nodes, upload, unified_memory, separates_groups, granted };
        families.granted = [false, true].map(|always_attribute| {
            HeapType::ALL.map(|heap_type| families.work_out_grant(heap_type, always_attribute))
        });
        Ok(families)
    }

    fn work_out_grant(&self, heap_type: HeapType, always_attribute: bool) -> Option<GrantedHeaps> {
        let family = self.of(heap_type, always_attribute)?;
        let counted_as = match family {
            HeapFamily::Type(heap_type) => heap_type,
            HeapFamily::Custom(_) => self.account_of_custom(),
        };
        let segment_group = self.segment_group(family, counted_as);
        Some(GrantedHeaps { heap_type, segment_group, ..self.granted(family) })
    }

    /// Returns the segment group that heaps are charged to, which are counted as those of a heap type. Where a
    /// residency manager separates the groups on UMA, it is the one of a discrete GPU.
    pub(crate) fn segment_group(&self, family: HeapFamily, counted_as: HeapType) -> SegmentGroup {
        if self.separates_groups {
            return HeapFamily::Type(counted_as).segment_group(Architecture::Discrete);
        }
        family.segment_group(self.caps.architecture)
    }

    /// Returns the heap type to which CUSTOM heaps are charged that stand in for heaps of a type.
    pub(crate) fn account_of_custom(&self) -> HeapType {
        if self.unified_memory { HeapType::Default } else { HeapType::GpuUpload }
    }

    /// Returns whether one family of heaps serves all heap types except READBACK.
    pub(crate) fn has_unified_memory(&self) -> bool {
        self.unified_memory
    }

    /// Returns CUSTOM heaps with UPLOAD's properties. On discrete GPUs, which grant none, the documented
    /// ones.
    pub(crate) fn custom(&self, architecture: Architecture) -> HeapFamily {
        match architecture {
            Architecture::Discrete => HeapFamily::Custom(HeapMemory::of(HeapType::Upload, architecture)),
            Architecture::Uma | Architecture::CacheCoherentUma => HeapFamily::Custom(self.upload),
        }
    }

    /// Returns the family of a heap type, or `None` if the device does not support it.
    ///
    /// `always_attribute` (GPGMM's ALWAYS_ATTRIBUTE_HEAPS) keeps the heap type despite unified memory. O(1).
    pub(crate) fn of(&self, heap_type: HeapType, always_attribute: bool) -> Option<HeapFamily> {
        if self.unified_memory && !always_attribute && heap_type != HeapType::Readback {
            return Some(HeapFamily::Custom(self.upload));
        }
        if heap_type != HeapType::GpuUpload || self.caps.gpu_upload_heaps {
            return Some(HeapFamily::Type(heap_type));
        }
        // UPLOAD itself would hold buffers only; the custom heap also holds textures, as GPU_UPLOAD does.
        let has_custom = self.caps.architecture != Architecture::Discrete && self.caps.custom_heaps;
        has_custom.then_some(HeapFamily::Custom(self.upload))
    }

    /// Returns the heaps that the device grants for a preference, most preferred first. Each is tried when those before
    /// it are out of memory, so no family occurs twice. O(1), because there are four heap types.
    #[inline]
    pub(crate) fn grants(
        &self,
        preference: &HeapTypePreference,
        always_attribute: bool,
    ) -> impl Iterator<Item = GrantedHeaps> {
        let granted = &self.granted[usize::from(always_attribute)];
        (0..HeapType::ALL.len()).filter_map(move |index| {
            let (before, rest) = preference.heap_types().split_at_checked(index)?;
            let found = granted[rest.first()?.index()]?;
            let is_twice = |heap_type: &HeapType| {
                granted[heap_type.index()].is_some_and(|earlier| earlier.family == found.family)
            };
            (!before.iter().any(is_twice)).then_some(found)
        })
    }

    /// Like [`first_grant`](Self::first_grant), for a resource whose heap type is inferred. Unlike a requested
    /// READBACK, an inferred type does not exclude unified memory. O(1).
    #[inline]
    pub(crate) fn first_grant_inferred(
        &self,
        preference: &HeapTypePreference,
        always_attribute: bool,
    ) -> Option<GrantedHeaps> {
        let granted = self.first_grant(preference, always_attribute)?;
        if !self.unified_memory || always_attribute {
            return Some(granted);
        }
        Some(GrantedHeaps { heap_type: granted.heap_type, ..self.granted(HeapFamily::Custom(self.upload)) })
    }

    /// Returns whether heaps are in unified memory.
    #[inline]
    pub(crate) fn is_unified(&self, family: HeapFamily) -> bool {
        self.unified_memory && matches!(family, HeapFamily::Custom(_))
    }

    /// Returns the first of [`grants`](Self::grants). O(1).
    #[inline]
    pub(crate) fn first_grant(
        &self,
        preference: &HeapTypePreference,
        always_attribute: bool,
    ) -> Option<GrantedHeaps> {
        let granted = &self.granted[usize::from(always_attribute)];
        preference.heap_types().iter().find_map(|heap_type| granted[heap_type.index()])
    }

    /// Returns the heaps for a family that is named directly.
    pub(crate) fn granted(&self, family: HeapFamily) -> GrantedHeaps {
        let architecture = self.caps.architecture;
        let is_cpu_accessible = family.memory(architecture).is_cpu_accessible();
        let needs_copy = !is_cpu_accessible || family.segment_group(architecture) != SegmentGroup::Local;
        let heap_type = family.nearest_heap_type();
        let counted_as = if self.is_unified(family) { self.account_of_custom() } else { heap_type };
        GrantedHeaps {
            heap_type,
            family,
            segment_group: self.segment_group(family, counted_as),
            is_cpu_accessible,
            needs_copy,
        }
    }

    /// Returns the properties that heaps of a family are created with.
    pub(crate) fn properties(&self, family: HeapFamily) -> D3D12_HEAP_PROPERTIES {
        family.properties(self.nodes)
    }
}

/// A class of resources that share heaps. Buffers are always separate, so that a tiny buffer never keeps a heap of
/// textures alive, except in memory and pools for all kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ResourceClass {
    /// Buffers.
    Buffer,
    /// Textures that are neither render targets nor depth-stencils; on resource heap tier 2, all single-sample
    /// textures.
    Texture,
    /// Single-sample render targets and depth-stencils, on resource heap tier 1.
    RenderTarget,
    /// Multisampled textures, whose heaps are aligned to 4 MiB.
    Multisampled,
    /// Memory for resources of all kinds, except for multisampled textures.
    Any,
    /// Memory for resources of all kinds, in heaps that are aligned to 4 MiB.
    AnyMultisampled,
}

impl ResourceClass {
    pub(crate) const ALL: [Self; 6] = [
        Self::Buffer,
        Self::Texture,
        Self::RenderTarget,
        Self::Multisampled,
        Self::Any,
        Self::AnyMultisampled,
    ];

    #[inline]
    pub(crate) const fn index(self) -> usize {
        match self {
            Self::Buffer => 0,
            Self::Texture => 1,
            Self::RenderTarget => 2,
            Self::Multisampled => 3,
            Self::Any => 4,
            Self::AnyMultisampled => 5,
        }
    }

    /// Returns the class of memory for resources of a kind on a device.
    pub(crate) fn of_memory(resources: ResourceKind, alignment: Alignment, caps: &DeviceCaps) -> Self {
        let is_multisampled = is_for_multisampled(alignment);
        match resources {
            ResourceKind::Buffers => Self::Buffer,
            ResourceKind::Any if is_multisampled => Self::AnyMultisampled,
            ResourceKind::Any => Self::Any,
            ResourceKind::RenderTargets if is_multisampled => Self::Multisampled,
            ResourceKind::RenderTargets if caps.resource_heap_tier < 2 => Self::RenderTarget,
            ResourceKind::RenderTargets | ResourceKind::Textures => Self::Texture,
        }
    }

    /// Returns whether buffers and textures share the heaps.
    #[inline]
    pub(crate) const fn holds_everything(self) -> bool {
        matches!(self, Self::Any | Self::AnyMultisampled)
    }

    /// Returns the class of a resource on a device.
    #[inline]
    pub(crate) fn of(desc: &D3D12_RESOURCE_DESC, caps: &DeviceCaps) -> Self {
        let target = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET | D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
        if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER {
            Self::Buffer
        } else if desc.SampleDesc.Count > 1 {
            Self::Multisampled
        } else if desc.Flags & target != 0 && caps.resource_heap_tier < 2 {
            Self::RenderTarget
        } else {
            Self::Texture
        }
    }

    /// Returns `D3D12_HEAP_DESC::Alignment`; 0 is the default of 64 KiB.
    pub(crate) const fn heap_alignment(self) -> u64 {
        match self {
            Self::Multisampled | Self::AnyMultisampled => {
                D3D12_DEFAULT_MSAA_RESOURCE_PLACEMENT_ALIGNMENT.cast_unsigned() as u64
            }
            Self::Buffer | Self::Texture | Self::RenderTarget | Self::Any => 0,
        }
    }

    /// Returns the flags of heaps for the class.
    pub(crate) fn heap_flags(self, caps: &DeviceCaps) -> D3D12_HEAP_FLAGS {
        match self {
            Self::Buffer => D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS,
            Self::Texture if caps.resource_heap_tier >= 2 => D3D12_HEAP_FLAG_DENY_BUFFERS,
            Self::Texture => D3D12_HEAP_FLAG_ALLOW_ONLY_NON_RT_DS_TEXTURES,
            // Multisampled textures are render targets or depth-stencils.
            Self::RenderTarget | Self::Multisampled => D3D12_HEAP_FLAG_ALLOW_ONLY_RT_DS_TEXTURES,
            Self::Any | Self::AnyMultisampled => D3D12_HEAP_FLAG_ALLOW_ALL_BUFFERS_AND_TEXTURES,
        }
    }
}

/// Returns whether memory with an alignment is for multisampled textures.
pub(crate) fn is_for_multisampled(alignment: Alignment) -> bool {
    alignment.get() > D3D12_DEFAULT_RESOURCE_PLACEMENT_ALIGNMENT.cast_unsigned().into()
}

/// Returns the flags that say which resources an implicit heap is for. `GetHeapProperties` does not return them, and on
/// resource heap tier 1 no heap can be created without.
pub(crate) fn implicit_heap_flags(resource: &D3D12_RESOURCE_DESC) -> D3D12_HEAP_FLAGS {
    let target = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET | D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
    match resource.Dimension {
        D3D12_RESOURCE_DIMENSION_BUFFER => D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS,
        _ if resource.Flags & target != 0 => D3D12_HEAP_FLAG_ALLOW_ONLY_RT_DS_TEXTURES,
        _ => D3D12_HEAP_FLAG_ALLOW_ONLY_NON_RT_DS_TEXTURES,
    }
}

/// Returns the heap type that an initial state implies: GENERIC_READ is UPLOAD's, COPY_DEST is READBACK's, and
/// everything else, including layouts, is DEFAULT's. This is GPGMM's rule, for buffers and textures alike.
#[inline]
pub(crate) fn infer_heap_type(initial: InitialState) -> HeapType {
    match initial {
        InitialState::State(D3D12_RESOURCE_STATE_GENERIC_READ) => HeapType::Upload,
        InitialState::State(D3D12_RESOURCE_STATE_COPY_DEST) => HeapType::Readback,
        InitialState::State(_) | InitialState::Layout(_) => HeapType::Default,
    }
}

/// Checks that the GPU may write a resource with these flags in heaps of a family: buffers in UPLOAD and READBACK heaps
/// are only copied to or from, and read.
///
/// # Errors
///
/// Invalid argument.
#[inline]
pub(crate) fn check_gpu_writes(
    family: HeapFamily,
    dimension: D3D12_RESOURCE_DIMENSION,
    flags: D3D12_RESOURCE_FLAGS,
) -> Result<(), Error> {
    let writes =
        flags & (D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS | D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET);
    match family {
        HeapFamily::Type(HeapType::Upload | HeapType::Readback)
            if writes != 0 && dimension == D3D12_RESOURCE_DIMENSION_BUFFER =>
        {
            let rule = format!("flags {writes:#x} are not allowed for a buffer in {family} heaps");
            Err(Error::invalid_argument("D3D12_RESOURCE_DESC::Flags", rule))
        }
        HeapFamily::Type(_) | HeapFamily::Custom(_) => Ok(()),
    }
}

/// Checks that a resource may be in the requested heaps and have its initial state there. The heaps are those before
/// unified memory is applied, because the rules depend on the heap type.
///
/// | heaps | resources | states | layouts |
/// |---|---|---|---|
/// | UPLOAD | buffers | GENERIC_READ; any part of it and COMMON, since SDK 606 | UNDEFINED |
/// | READBACK | buffers | COPY_DEST; COMMON, by the same change | UNDEFINED |
/// | DEFAULT, GPU_UPLOAD, CUSTOM | all | the device decides | UNDEFINED for buffers; for textures the device decides |
///
/// # Errors
///
/// Invalid argument, with the field that contradicts the heap type.
#[inline]
pub(crate) fn check_initial_state(
    family: HeapFamily,
    dimension: D3D12_RESOURCE_DIMENSION,
    initial: InitialState,
) -> Result<(), Error> {
    let is_buffer = dimension == D3D12_RESOURCE_DIMENSION_BUFFER;
    let canonical = match family {
        HeapFamily::Type(HeapType::Upload) => {
            Some((D3D12_RESOURCE_STATE_GENERIC_READ, "UPLOAD heaps allow COMMON and subsets of GENERIC_READ"))
        }
        HeapFamily::Type(HeapType::Readback) => {
            Some((D3D12_RESOURCE_STATE_COPY_DEST, "READBACK heaps allow COPY_DEST and COMMON"))
        }
        HeapFamily::Type(HeapType::Default | HeapType::GpuUpload) | HeapFamily::Custom(_) => None,
    };
    if canonical.is_some() && !is_buffer {
        return Err(Error::invalid_argument(
            "D3D12_RESOURCE_DESC::Dimension",
            format!("{dimension} is a texture dimension, but {family} heaps only support buffers"),
        ));
    }
    match (initial, canonical) {
        // COMMON has no bits, so it is a part of each state.
        (InitialState::State(state), Some((allowed, rule))) if state & !allowed != 0 => {
            Err(Error::invalid_argument("initial_state", format!("{state:#x} is not allowed; {rule}")))
        }
        (InitialState::Layout(layout), _) if is_buffer && layout != D3D12_BARRIER_LAYOUT_UNDEFINED => {
            let rule = format!("{layout} is not allowed; buffers require D3D12_BARRIER_LAYOUT_UNDEFINED");
            Err(Error::invalid_argument("initial_state", rule))
        }
        (InitialState::State(_) | InitialState::Layout(_), _) => Ok(()),
    }
}
