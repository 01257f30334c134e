//! Tests of the rules, as tables.

mod allocation_info;
mod castable;
mod clear_value;
mod footprints;
mod heap;
mod initial;
mod message_ids;
mod placement;
mod resource;
pub(crate) mod texture;
mod tiling;

use std::sync::LazyLock;

use heapwright_core::{Alignment, ByteSize};
use heapwright_d3d12::*;
use windows_core::HRESULT;

use super::resource::Resource;
use super::{Options, Refusal, SdkVersion};
use crate::HostProfile;
use crate::ddi::{DriverCaps, ResourceAllocation};
use crate::drivers::driver::Driver;
use crate::drivers::host;

/// A change that invalidates a valid description, the ID of D3D12's message or `NOT_IMPLEMENTED`, and a part of the
/// message.
type Case<T> = (fn(&mut T), D3D12_MESSAGE_ID, &'static str);

/// Stands for E_NOTIMPL: D3D12 allows it, so its debug layer has no message.
const NOT_IMPLEMENTED: D3D12_MESSAGE_ID = D3D12_MESSAGE_ID::MIN;

const SIZE: D3D12_MESSAGE_ID = D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDDIMENSIONS;
const FLAGS: D3D12_MESSAGE_ID = D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDMISCFLAGS;
const DIMENSION: D3D12_MESSAGE_ID = D3D12_MESSAGE_ID_CREATERESOURCE_UNRECOGNIZEDDIMENSIONALITY;
const UNKNOWN_LAYOUT: D3D12_MESSAGE_ID = D3D12_MESSAGE_ID_CREATERESOURCE_UNRECOGNIZEDLAYOUT;
const ALIGNMENT: D3D12_MESSAGE_ID = D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDALIGNMENT;
const MIP_LEVELS: D3D12_MESSAGE_ID = D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDMIPLEVELS;
const SAMPLES: D3D12_MESSAGE_ID = D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDSAMPLEDESC;
const LAYOUT: D3D12_MESSAGE_ID = D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDLAYOUT;
const FORMAT: D3D12_MESSAGE_ID = D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDFORMAT;
const SMALL_ALIGNMENT: D3D12_MESSAGE_ID = D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDALIGNMENT_SMALLRESOURCE;

/// D3D12 as documented, without options.
const PLAIN: Options = Options { sdk: SdkVersion::NEWEST, manual_write_tracking: false };

/// The rules of the last SDK that refuses an alignment beside the tight alignment flag.
const BEFORE_FLOORS: Options = Options { sdk: SdkVersion::new(619, 3), ..PLAIN };

/// One driver for each profile, created once.
fn drivers() -> &'static [(&'static HostProfile, Driver)] {
    static DRIVERS: LazyLock<Vec<(&HostProfile, Driver)>> =
        LazyLock::new(|| HostProfile::all().iter().map(|profile| (profile, host::driver(profile))).collect());
    &DRIVERS
}

fn driver(profile: &str) -> &'static Driver {
    let found = drivers().iter().find(|(known, _)| known.name == profile);
    &found.expect("a known profile").1
}

fn caps(profile: &str) -> DriverCaps {
    *driver(profile).caps()
}

fn buffer(width: u64) -> D3D12_RESOURCE_DESC1 {
    D3D12_RESOURCE_DESC1 {
        Dimension: D3D12_RESOURCE_DIMENSION_BUFFER,
        Width: width,
        Height: 1,
        DepthOrArraySize: 1,
        MipLevels: 1,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        Layout: D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
        ..Default::default()
    }
}

fn tight(width: u64) -> D3D12_RESOURCE_DESC1 {
    D3D12_RESOURCE_DESC1 { Flags: D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT, ..buffer(width) }
}

fn texture(
    dimension: D3D12_RESOURCE_DIMENSION,
    width: u64,
    height: u32,
    depth_or_slices: u16,
) -> D3D12_RESOURCE_DESC1 {
    D3D12_RESOURCE_DESC1 {
        Dimension: dimension,
        Width: width,
        Height: height,
        DepthOrArraySize: depth_or_slices,
        MipLevels: 1,
        Format: DXGI_FORMAT_R8G8B8A8_UNORM,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        ..Default::default()
    }
}

fn texture2d(width: u64, height: u32) -> D3D12_RESOURCE_DESC1 {
    texture(D3D12_RESOURCE_DIMENSION_TEXTURE2D, width, height, 1)
}

fn multisampled(count: u32) -> D3D12_RESOURCE_DESC1 {
    D3D12_RESOURCE_DESC1 {
        SampleDesc: DXGI_SAMPLE_DESC { Count: count, Quality: 0 },
        Flags: D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET,
        ..texture2d(64, 64)
    }
}

/// Returns a valid resource of the default profile.
fn valid(desc: &D3D12_RESOURCE_DESC1) -> Resource {
    super::resource::check(desc, &caps("discrete"), &PLAIN).expect("a valid description")
}

/// Returns the result of a check as the tables state it.
fn outcome<T>(result: Result<T, Refusal>) -> Result<T, (HRESULT, String)> {
    result.map_err(|refusal| (refusal.hresult(), refusal.to_string()))
}

/// Checks that each change invalidates a valid description.
fn assert_refused<T: Copy>(sound: T, cases: &[Case<T>], check: impl Fn(&T) -> Result<(), Refusal>) {
    assert_eq!(outcome(check(&sound)), Ok(()));
    for &(change, id, named) in cases {
        let mut broken = sound;
        change(&mut broken);
        let refusal = check(&broken).expect_err(named);
        let message = refusal.to_string();
        let expected = match id {
            NOT_IMPLEMENTED => (E_NOTIMPL, D3D12_MESSAGE_ID_UNKNOWN),
            id => (E_INVALIDARG, id),
        };
        assert_eq!((refusal.hresult(), refusal.id()), expected, "{message}");
        assert!(message.contains(named), "{named:?} is missing: {message}");
    }
}

fn member(size: u64, alignment: u64) -> ResourceAllocation {
    ResourceAllocation {
        size: ByteSize::new(size),
        alignment: Alignment::new(alignment).expect("a power of two"),
    }
}
