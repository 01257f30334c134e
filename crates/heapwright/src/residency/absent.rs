//! What the allocator knows of residency in a build without that feature: no manager and no managed heap exists, so
//! that nothing which would ask one is compiled.

use heapwright_d3d12::{D3D12_RESIDENCY_PRIORITY, ID3D12Device, ID3D12Pageable, ID3D12Resource};

use crate::recording::Recorded;
use crate::{ByteSize, Error, SegmentGroup};

/// A residency manager. There is none without the feature `residency`.
#[derive(Debug, Clone)]
pub enum ResidencyManager {}

/// Memory that a residency manager knows. There is none without the feature `residency`.
#[derive(Debug)]
pub enum ResidencyHeap {}

impl ResidencyManager {
    pub(crate) fn create_memory(
        &self,
        _needed: Option<(SegmentGroup, ByteSize)>,
        _within_budget: bool,
        _priority: Option<D3D12_RESIDENCY_PRIORITY>,
        _create: impl FnOnce() -> Result<ID3D12Pageable, windows_core::Error>,
    ) -> Result<ResidencyHeap, Error> {
        match *self {}
    }

    pub(crate) fn manage_resource(&self, _resource: &ID3D12Resource) -> Result<ResidencyHeap, Error> {
        match *self {}
    }

    pub(crate) fn has_group(&self, _group: SegmentGroup) -> bool {
        match *self {}
    }

    pub(crate) fn separates_segment_groups(&self) -> bool {
        match *self {}
    }

    pub(crate) fn is_unreported(&self, _group: SegmentGroup) -> bool {
        match *self {}
    }

    pub(crate) fn refresh(&self) {
        match *self {}
    }

    pub(crate) fn is_always_in_budget(&self) -> bool {
        match *self {}
    }

    pub(crate) fn check_device(&self, _device: &ID3D12Device) -> Result<(), Error> {
        match *self {}
    }

    pub(crate) fn id(&self) -> usize {
        match *self {}
    }

    pub(crate) fn usage_and_budget(&self, _group: SegmentGroup) -> (ByteSize, ByteSize) {
        match *self {}
    }

    pub(crate) fn demand_and_budget(&self, _group: SegmentGroup) -> (ByteSize, ByteSize) {
        match *self {}
    }

    pub(crate) fn needed_and_budget(&self, _group: SegmentGroup) -> (ByteSize, ByteSize) {
        match *self {}
    }
}

impl ResidencyHeap {
    pub(crate) fn keep_resident(&self) -> Result<(), Error> {
        match *self {}
    }

    pub(crate) fn let_go(&self) -> Result<(), Error> {
        match *self {}
    }

    pub(crate) fn add_user(&self) {
        match *self {}
    }

    pub(crate) fn remove_user(&self) {
        match *self {}
    }

    pub(crate) fn is_resident(&self) -> bool {
        match *self {}
    }

    pub(crate) fn end(&mut self) {
        match *self {}
    }

    pub(crate) fn recorded(&self) -> Option<&Recorded> {
        match *self {}
    }
}
