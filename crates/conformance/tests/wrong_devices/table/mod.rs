//! The wrong devices, one file for each subject.

mod allocation_info;
mod buffers;
mod commands;
mod existing_heaps;
mod features;
mod heap_properties;
mod heaps;
mod kinds;
mod layouts;
mod mapping;
mod objects;
mod queries;
mod recreate;
mod swizzle;
mod textures;
mod tight;
mod tiles;
mod video;
mod views;

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

/// The profile of a device; `discrete` if none is given.
macro_rules! profile {
    () => {
        "discrete"
    };
    ($profile:literal) => {
        $profile
    };
}

/// Defines a table of wrong devices. A row has a sentence that says what is wrong, the profile if it is not `discrete`,
/// the lies (names and values of fields of [`Lies`]; those of type `bool` have no value), and the checks that catch the
/// device.
macro_rules! wrong_devices {
    ($($what:literal $(on $profile:literal)?: $($lie:ident $(= $value:expr)?),+ => $($check:literal),+;)*) => {
        pub(super) const WRONG: &[super::WrongDevice] = &[$(super::WrongDevice {
            what: $what,
            profile: super::profile!($($profile)?),
            lies: crate::lies::Lies { $($lie: wrong_devices!(@value $($value)?),)+ ..crate::lies::HONEST },
            caught_by: &[$($check),+],
        }),*];
    };
    (@value) => { true };
    (@value $value:expr) => { Some($value) };
}

use {profile, wrong_devices};

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

const TABLES: [&[WrongDevice]; 20] = [
    tight::WRONG,
    allocation_info::WRONG,
    features::WRONG,
    heaps::WRONG,
    existing_heaps::WRONG,
    heap_properties::WRONG,
    buffers::WRONG,
    mapping::WRONG,
    objects::WRONG,
    textures::WRONG,
    layouts::WRONG,
    swizzle::WRONG,
    tiles::WRONG,
    commands::WRONG,
    kinds::DROPPED,
    kinds::WRONG,
    recreate::WRONG,
    video::WRONG,
    views::WRONG,
    queries::WRONG,
];

/// Returns all wrong devices.
pub(crate) fn all() -> impl Iterator<Item = &'static WrongDevice> {
    TABLES.into_iter().flatten()
}
