//! Which heaps a device grants to those who want a heap type.

use heapwright_d3d12::*;

use super::{HeapFamily, HeapMemory, HeapTypePreference, NodeMasks};
use crate::{Architecture, DeviceCaps, Error, HeapType, SegmentGroup};

/// The heaps that an allocator makes of heap types on its device.
///
/// | wanted | becomes |
/// |---|---|
/// | any, as a rule | heaps of that type |
/// | DEFAULT, UPLOAD, GPU_UPLOAD with unified memory | CUSTOM with UPLOAD's properties: one family for all three |
/// | nothing, with unified memory | the same, READBACK's buffers as well |
/// | GPU_UPLOAD on UMA that does not report it | CUSTOM with UPLOAD's properties, which is the same memory |
/// | GPU_UPLOAD on a discrete GPU that does not report it | nothing |
///
/// Unified memory is for cache-coherent UMA, where UPLOAD's memory is as good for the GPU as DEFAULT's and the CPU's caches
/// work; READBACK stays what it is where it is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeapFamilies {
    caps: DeviceCaps,
    nodes: NodeMasks,
    /// UPLOAD's properties, as the device says them.
    upload: HeapMemory,
    unified_memory: bool,
    /// What is granted to each heap type, without and with `always_attribute`.
    granted: [[Option<GrantedHeaps>; HeapType::ALL.len()]; 2],
}

/// What was granted to a preference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GrantedHeaps {
    /// The heap type of the preference that was granted.
    pub(crate) heap_type: HeapType,
    /// What its heaps are created as.
    pub(crate) family: HeapFamily,
    /// The segment group that they are charged to.
    pub(crate) segment_group: SegmentGroup,
    /// The CPU can map it.
    pub(crate) is_cpu_accessible: bool,
    /// The CPU cannot write what the GPU reads at full speed: there is no CPU access, or the memory is system memory over
    /// the bus. Bytes need a copy to be in local memory.
    pub(crate) needs_copy: bool,
}

impl HeapFamilies {
    /// For `device`, whose caps are `caps`. One call of the device (`GetCustomHeapProperties`).
    ///
    /// Without cache-coherent UMA, `allow_unified_memory` is dropped with a warning.
    ///
    /// # Errors
    ///
    /// Invalid argument: node masks that the device does not have. What the device answers where it makes no sense: UPLOAD
    /// memory that the CPU does not reach.
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
                "unified memory is for cache-coherent UMA; heaps keep their types"
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
        let architecture = self.caps.architecture;
        let is_cpu_accessible = family.memory(architecture).is_cpu_accessible();
        let segment_group = family.segment_group(architecture);
        let needs_copy = !is_cpu_accessible || segment_group != SegmentGroup::Local;
        Some(GrantedHeaps { heap_type, family, segment_group, is_cpu_accessible, needs_copy })
    }

    /// Whether one family of heaps serves all heap types but READBACK.
    pub(crate) fn has_unified_memory(&self) -> bool {
        self.unified_memory
    }

    /// CUSTOM heaps with UPLOAD's properties; with those that it should have, where nobody is granted them.
    pub(crate) fn custom(&self, architecture: Architecture) -> HeapFamily {
        match architecture {
            Architecture::Discrete => HeapFamily::Custom(HeapMemory::of(HeapType::Upload, architecture)),
            Architecture::Uma | Architecture::CacheCoherentUma => HeapFamily::Custom(self.upload),
        }
    }

    /// What heaps of a heap type are created as; `None` where the device does not have it.
    ///
    /// `always_attribute` (GPGMM's ALWAYS_ATTRIBUTE_HEAPS) keeps the real heap type in spite of unified memory. O(1).
    pub(crate) fn of(&self, heap_type: HeapType, always_attribute: bool) -> Option<HeapFamily> {
        if self.unified_memory && !always_attribute && heap_type != HeapType::Readback {
            return Some(HeapFamily::Custom(self.upload));
        }
        if heap_type != HeapType::GpuUpload || self.caps.gpu_upload_heaps {
            return Some(HeapFamily::Type(heap_type));
        }
        // UPLOAD itself would hold buffers only; the custom heap holds textures too, as GPU_UPLOAD does.
        (self.caps.architecture != Architecture::Discrete).then_some(HeapFamily::Custom(self.upload))
    }

    /// What the device grants of a preference, the most wanted first: each is what to try when one before it is out of
    /// memory, so that no family is in it twice. O(1), as there are four heap types.
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

    /// As [`first_grant`](Self::first_grant), to a resource of which the heap type is inferred: what is inferred keeps nothing out of
    /// unified memory, as READBACK does that is asked for. O(1).
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

    /// Whether heaps are unified memory.
    #[inline]
    pub(crate) fn is_unified(&self, family: HeapFamily) -> bool {
        self.unified_memory && matches!(family, HeapFamily::Custom(_))
    }

    /// The first of them. O(1).
    #[inline]
    pub(crate) fn first_grant(
        &self,
        preference: &HeapTypePreference,
        always_attribute: bool,
    ) -> Option<GrantedHeaps> {
        let granted = &self.granted[usize::from(always_attribute)];
        preference.heap_types().iter().find_map(|heap_type| granted[heap_type.index()])
    }

    /// What is granted to those who name a family themselves.
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

    /// The properties that heaps of a family are created with.
    pub(crate) fn properties(&self, family: HeapFamily) -> D3D12_HEAP_PROPERTIES {
        family.properties(self.nodes)
    }
}
