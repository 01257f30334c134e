//! The wrong devices, one file for each subject.

mod aliasing;
mod aliasing_laws;
mod allocation_info;
mod buffers;
mod commands;
mod features;
mod heap_properties;
mod heaps;
mod layouts;
mod mapping;
mod objects;
mod recreate;
mod swizzle;
mod textures;
mod tight;
mod tiles;

use heapwright_d3d12::*;

use crate::lies::{Lies, Request};

/// A device that is wrong in one respect.
pub(crate) struct WrongDevice {
    /// A sentence that says what is wrong with the device.
    pub(crate) what: &'static str,
    /// The profile of the device that tells the lies.
    pub(crate) profile: &'static str,
    pub(crate) lies: Lies,
    /// Checks that pass on the honest device and fail on this one.
    pub(crate) caught_by: &'static [&'static str],
}

/// Returns a device of the profile `discrete`.
const fn wrong(what: &'static str, lies: Lies, caught_by: &'static [&'static str]) -> WrongDevice {
    WrongDevice { what, profile: "discrete", lies, caught_by }
}

impl WrongDevice {
    /// Returns the same as a device of another profile.
    const fn on(self, profile: &'static str) -> Self {
        Self { profile, ..self }
    }
}

/// One lie of a device: the name of a field of [`Lies`], and its value.
macro_rules! lie {
    ($lie:ident, $value:expr) => {
        Lies { $lie: Some($value), ..HONEST }
    };
}

use lie;

const KIB_4: u64 = 4096;
const KIB_64: u64 = 65_536;
const TIGHT: D3D12_RESOURCE_FLAGS = D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT;

fn wants_tight(descs: &[D3D12_RESOURCE_DESC1]) -> bool {
    descs.iter().any(|desc| desc.Flags & TIGHT != 0)
}

fn is_valid(info: &D3D12_RESOURCE_ALLOCATION_INFO) -> bool {
    info.SizeInBytes != u64::MAX
}

/// Replaces the alignment of all tightly aligned resources.
fn tight_alignment(
    alignment: u64,
    descs: &[D3D12_RESOURCE_DESC1],
    info: &mut D3D12_RESOURCE_ALLOCATION_INFO,
) {
    if wants_tight(descs) && is_valid(info) {
        info.Alignment = alignment;
        info.SizeInBytes = info.SizeInBytes.next_multiple_of(alignment);
    }
}

/// Replaces a field of one feature's structure.
fn field(asked: D3D12_FEATURE, feature: D3D12_FEATURE, fields: &mut [u32], place: usize, value: u32) {
    if let Some(field) = fields.get_mut(place).filter(|_| asked == feature) {
        *field = value;
    }
}

/// Replaces the page property or the pool in the custom heap properties of one heap type.
fn properties_of(
    asked: D3D12_HEAP_TYPE,
    heap_type: D3D12_HEAP_TYPE,
    found: &mut D3D12_HEAP_PROPERTIES,
    page: D3D12_CPU_PAGE_PROPERTY,
    pool: D3D12_MEMORY_POOL,
) {
    if asked == heap_type {
        (found.CPUPageProperty, found.MemoryPoolPreference) = (page, pool);
    }
}

fn is_buffer(request: &Request) -> bool {
    request.desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER
}

fn is_texture(descs: &[D3D12_RESOURCE_DESC1]) -> bool {
    descs.iter().any(|desc| desc.Dimension != D3D12_RESOURCE_DIMENSION_BUFFER)
}

const COMBINE: D3D12_CPU_PAGE_PROPERTY = D3D12_CPU_PAGE_PROPERTY_WRITE_COMBINE;
const BACK: D3D12_CPU_PAGE_PROPERTY = D3D12_CPU_PAGE_PROPERTY_WRITE_BACK;
const NONE: D3D12_CPU_PAGE_PROPERTY = D3D12_CPU_PAGE_PROPERTY_NOT_AVAILABLE;
const L0: D3D12_MEMORY_POOL = D3D12_MEMORY_POOL_L0;
const L1: D3D12_MEMORY_POOL = D3D12_MEMORY_POOL_L1;

const TABLES: [&[WrongDevice]; 16] = [
    tight::WRONG,
    allocation_info::WRONG,
    features::WRONG,
    heaps::WRONG,
    heap_properties::WRONG,
    buffers::WRONG,
    mapping::WRONG,
    objects::WRONG,
    textures::WRONG,
    layouts::WRONG,
    swizzle::WRONG,
    tiles::WRONG,
    commands::WRONG,
    aliasing_laws::WRONG,
    aliasing::WRONG,
    recreate::WRONG,
];

/// Returns all wrong devices.
pub(crate) fn all() -> impl Iterator<Item = &'static WrongDevice> {
    TABLES.into_iter().flatten()
}
