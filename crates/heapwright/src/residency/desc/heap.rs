//! Descriptions and status of residency heaps.

use std::fmt;

use heapwright_core::residency::PriorityLevel;
use heapwright_core::{Alignment, ByteSize};
use heapwright_d3d12::*;

use super::ResidencyHeapFlags;
use crate::{Error, SegmentGroup};

/// The description of a residency heap: `RESIDENCY_HEAP_DESC` of GPGMM.
///
/// Properties that the object itself reports need not be given. A property that contradicts the object is an error.
///
/// ```
/// use heapwright::{ByteSize, SegmentGroup};
/// use heapwright::residency::ResidencyHeapDesc;
///
/// // A heap or a committed resource tells everything; a query heap neither its size nor where it is.
/// let heap = ResidencyHeapDesc::default();
/// let queries = ResidencyHeapDesc {
///     segment_group: Some(SegmentGroup::Local),
///     size: ByteSize::from_kib(64),
///     ..Default::default()
/// };
/// assert_eq!(heap.segment_group, None);
/// assert!(!queries.size.is_zero());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResidencyHeapDesc {
    /// Segment group of the memory, for objects whose D3D12 interface does not report it: required for descriptor heaps and query heaps
    /// on a discrete GPU. That of a heap or a committed resource follows from its heap properties, and all memory is local on UMA; another one
    /// given here is logged and ignored.
    pub segment_group: Option<SegmentGroup>,
    /// Size of the object in bytes; zero takes the object's own. A larger value is accepted (driver overhead); a smaller one is an error.
    /// Required for query heaps.
    pub size: ByteSize,
    /// Alignment of the object in bytes, for information only. `None` takes the object's own.
    pub alignment: Option<Alignment>,
    /// Initial state of the heap.
    pub flags: ResidencyHeapFlags,
    /// One of D3D12's five levels; the lower 16 bits are ignored. Heaps of a lower level are evicted before those of a
    /// higher one. `None` is NORMAL, D3D12's default.
    pub priority: Option<D3D12_RESIDENCY_PRIORITY>,
}

/// The residency of a heap: `RESIDENCY_HEAP_STATUS` of GPGMM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u32)]
pub enum ResidencyHeapStatus {
    /// The residency is unknown, because D3D12 does not report it: a descriptor heap or a query heap before its first
    /// use.
    #[default]
    Unknown = 0,
    /// The heap must be made resident before the GPU uses it.
    Evicted = 1,
    /// The heap is resident, or the device is making it resident.
    Resident = 2,
}

/// Size and status of a residency heap: `RESIDENCY_HEAP_INFO` of GPGMM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResidencyHeapInfo {
    /// Size of the heap, in bytes.
    pub size: ByteSize,
    /// Alignment of the heap, in bytes.
    pub alignment: Alignment,
    /// Whether a lock keeps the heap from being evicted.
    pub is_locked: bool,
    /// The residency of the heap.
    pub status: ResidencyHeapStatus,
}

impl ResidencyHeapDesc {
    /// Checks the rules between the fields.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let unknown = self.flags.difference(ResidencyHeapFlags::all());
        if !unknown.is_empty() {
            let rule = format!("unknown flag bits {:#x}", unknown.bits());
            return Err(Error::invalid_argument("ResidencyHeapDesc::flags", rule));
        }
        if let Some(other) = self.priority {
            if level(other).is_none() {
                let rule = format!("{other:#x} is not a D3D12_RESIDENCY_PRIORITY value");
                return Err(Error::invalid_argument("ResidencyHeapDesc::priority", rule));
            }
        }
        Ok(())
    }

    /// Returns the level of the priority.
    pub(crate) fn level(&self) -> PriorityLevel {
        self.priority.and_then(level).unwrap_or_default()
    }
}

/// Returns the level of a priority: its upper 16 bits. The lower ones rank within a level.
pub(crate) fn level(priority: D3D12_RESIDENCY_PRIORITY) -> Option<PriorityLevel> {
    let levels = [
        (D3D12_RESIDENCY_PRIORITY_MINIMUM, PriorityLevel::Minimum),
        (D3D12_RESIDENCY_PRIORITY_LOW, PriorityLevel::Low),
        (D3D12_RESIDENCY_PRIORITY_NORMAL, PriorityLevel::Normal),
        (D3D12_RESIDENCY_PRIORITY_HIGH, PriorityLevel::High),
        (D3D12_RESIDENCY_PRIORITY_MAXIMUM, PriorityLevel::Maximum),
    ];
    levels.into_iter().find(|(number, _)| number >> 16 == priority >> 16).map(|(_, level)| level)
}

impl fmt::Display for ResidencyHeapStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Unknown => "unknown",
            Self::Evicted => "evicted",
            Self::Resident => "resident",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_valid() {
        let desc = ResidencyHeapDesc::default();
        desc.check().expect("sound");
        assert_eq!(desc.flags, ResidencyHeapFlags::empty());
        assert_eq!(ResidencyHeapStatus::default(), ResidencyHeapStatus::Unknown);
    }

    #[test]
    fn invalid_fields_are_named() {
        let flags = ResidencyHeapFlags::from_bits_retain(0x18);
        let error = ResidencyHeapDesc { flags, ..Default::default() }.check().expect_err("unknown flags");
        assert_eq!(error.to_string(), "ResidencyHeapDesc::flags: unknown flag bits 0x18");
        let priority = Some(7);
        let error =
            ResidencyHeapDesc { priority, ..Default::default() }.check().expect_err("unknown priority");
        assert_eq!(
            error.to_string(),
            "ResidencyHeapDesc::priority: 0x7 is not a D3D12_RESIDENCY_PRIORITY value"
        );
        for (priority, level) in [
            (None, PriorityLevel::Normal),
            (Some(D3D12_RESIDENCY_PRIORITY_MINIMUM), PriorityLevel::Minimum),
            (Some(D3D12_RESIDENCY_PRIORITY_LOW + 7), PriorityLevel::Low),
            (Some(D3D12_RESIDENCY_PRIORITY_HIGH), PriorityLevel::High),
            (Some(D3D12_RESIDENCY_PRIORITY_MAXIMUM), PriorityLevel::Maximum),
        ] {
            let desc = ResidencyHeapDesc { priority, ..Default::default() };
            desc.check().expect("a D3D12 priority");
            assert_eq!(desc.level(), level);
        }
    }

    #[test]
    fn numbers_are_gpgmms() {
        assert_eq!(ResidencyHeapFlags::CREATE_IN_BUDGET.bits(), 1);
        assert_eq!(ResidencyHeapFlags::CREATE_RESIDENT.bits(), 2);
        assert_eq!(ResidencyHeapFlags::CREATE_LOCKED.bits(), 4);
        let statuses =
            [ResidencyHeapStatus::Unknown, ResidencyHeapStatus::Evicted, ResidencyHeapStatus::Resident];
        assert_eq!(statuses.map(|status| status as u32), [0, 1, 2]);
    }
}
