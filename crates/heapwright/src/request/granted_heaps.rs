//! The heaps that a device grants for a requested heap type.

use heapwright_d3d12::*;

use super::heap_family::{HeapFamily, HeapMemory, NodeMasks};
use super::heap_type::{HeapType, HeapTypePreference};
use crate::{Architecture, DeviceCaps, Error, SegmentGroup};

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
    /// Without cache-coherent UMA, `allow_unified_memory` is ignored with a warning.
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
    ) -> Result<Self, Error> {
        nodes.check(caps.node_count)?;
        // SAFETY: the device is a live COM object.
        let properties = unsafe { device.GetCustomHeapProperties(nodes.creation, D3D12_HEAP_TYPE_UPLOAD) };
        let upload = HeapMemory::try_from_d3d12(properties.CPUPageProperty, properties.MemoryPoolPreference)
            .ok()
            .filter(|memory| memory.is_cpu_accessible())
            .ok_or_else(|| Error::device("ID3D12Device::GetCustomHeapProperties", E_INVALIDARG))?;
        let unified_memory = allow_unified_memory && caps.architecture == Architecture::CacheCoherentUma;
        if allow_unified_memory && !unified_memory {
            tracing::warn!(
                architecture = %caps.architecture,
                "unified memory requires cache-coherent UMA; using the heap types as requested"
            );
        }
        let mut families = Self { caps: *caps, nodes, upload, unified_memory, granted: Default::default() };
        families.granted = [false, true].map(|always_attribute| {
            HeapType::ALL.map(|heap_type| families.work_out_grant(heap_type, always_attribute))
        });
        Ok(families)
    }

    fn work_out_grant(&self, heap_type: HeapType, always_attribute: bool) -> Option<GrantedHeaps> {
        let family = self.of(heap_type, always_attribute)?;
        Some(GrantedHeaps { heap_type, ..self.granted(family) })
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
        (self.caps.architecture != Architecture::Discrete).then_some(HeapFamily::Custom(self.upload))
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
        let segment_group = family.segment_group(architecture);
        let needs_copy = !is_cpu_accessible || segment_group != SegmentGroup::Local;
        GrantedHeaps {
            heap_type: family.nearest_heap_type(),
            family,
            segment_group,
            is_cpu_accessible,
            needs_copy,
        }
    }

    /// Returns the properties that heaps of a family are created with.
    pub(crate) fn properties(&self, family: HeapFamily) -> D3D12_HEAP_PROPERTIES {
        family.properties(self.nodes)
    }
}
