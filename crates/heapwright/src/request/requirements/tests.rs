//! Requirements: the rules one by one, and on every simulated GPU.

use std::cell::RefCell;

use heapwright_d3d12::*;
use heapwright_runtime::{DeviceOptions, HostProfile, Instance, SdkVersion};

use super::tight_alignment::{TightAlignment, decide};
use super::*;
use crate::{Alignment, AlignmentWithTight, ByteSize, DeviceCaps, Error, buffer_desc};

mod on_devices;

const TIGHT: D3D12_RESOURCE_FLAGS = D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT;
const KIB_4: u64 = 4096;
const KIB_64: u64 = 65_536;
const MIB_4: u64 = 4 << 20;

/// Opens a device of the first SDK with alignment floors, or of the last one without.
fn open(profile: &str, has_floors: bool) -> (Instance, DeviceCaps) {
    let profile = HostProfile::find(profile).expect("the profile exists");
    let (minor, alignment_beside_tight) =
        if has_floors { (4, AlignmentWithTight::Floor) } else { (3, AlignmentWithTight::Invalid) };
    let options = DeviceOptions { sdk: SdkVersion::new(619, minor), ..DeviceOptions::default() };
    let gpu = Instance::open_with(profile, options).expect("the instance opens");
    let caps = DeviceCaps::query(&gpu.device).expect("the device is valid");
    (gpu, DeviceCaps { alignment_beside_tight, ..caps })
}

fn caps(profile: &str) -> DeviceCaps {
    open(profile, false).1
}

fn alignment(bytes: u64) -> Alignment {
    Alignment::new(bytes).expect("a power of two")
}

fn buffer(width: u64) -> D3D12_RESOURCE_DESC {
    buffer_desc(ByteSize::new(width))
}

fn texture(width: u64, height: u32) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        Height: height,
        Format: DXGI_FORMAT_R8G8B8A8_UNORM,
        Layout: D3D12_TEXTURE_LAYOUT_UNKNOWN,
        ..buffer(width)
    }
}

fn multisampled(width: u64, height: u32) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        SampleDesc: DXGI_SAMPLE_DESC { Count: 4, Quality: 0 },
        Flags: D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET,
        ..texture(width, height)
    }
}

/// Without MSAA64KBAlignedTextureSupported, the device would refuse the small alignment with an error message.
#[test]
fn small_multisampled_textures_are_requested_where_the_device_has_them() {
    let with = |small_multisampled_textures, desc| {
        let caps = DeviceCaps { small_multisampled_textures, tight_alignment_tier: 0, ..caps("old-ddi") };
        let small = if small_multisampled_textures { KIB_64 } else { MIB_4 };
        let (found, asked) =
            with_answers(&requested(desc), Creation::Placed, &caps, &[Some((small, small))]);
        (found.expect("valid").alignment.get(), asked.iter().map(|desc| desc.Alignment).collect::<Vec<_>>())
    };
    assert_eq!(with(true, multisampled(64, 64)), (KIB_64, vec![KIB_64]));
    assert_eq!(with(false, multisampled(64, 64)), (MIB_4, vec![0]));
    // Other textures are not concerned.
    assert_eq!(with(false, texture(64, 64)).1, [KIB_4]);
}

fn requested(desc: D3D12_RESOURCE_DESC) -> (ResourceDesc<'static>, BufferUses) {
    (ResourceDesc::new(&desc), BufferUses::empty())
}

/// Returns the decision if the device returns `answers`, in turn, and the descriptions that it was asked about. A
/// refusal of the device is an error.
fn with_answers(
    (resource, uses): &(ResourceDesc<'_>, BufferUses),
    creation: Creation,
    caps: &DeviceCaps,
    answers: &[Option<(u64, u64)>],
) -> (Result<ResourceRequirements, Error>, Vec<D3D12_RESOURCE_DESC>) {
    let asked = RefCell::new(Vec::new());
    let result = requirements(resource, *uses, creation, caps, &RequirementsOptions::default(), |desc| {
        let index = asked.borrow().len();
        asked.borrow_mut().push(*desc);
        let answer = answers.get(index).expect("GetResourceAllocationInfo was called too often");
        Ok(answer.map(|(size, bytes)| (ByteSize::new(size), alignment(bytes))))
    });
    let refused = || Error::invalid_argument("D3D12_RESOURCE_DESC", "the device refuses it");
    (result.and_then(|found| found.ok_or_else(refused)), asked.into_inner())
}

#[test]
fn creating_an_allocator_causes_no_debug_messages() {
    for profile in HostProfile::all() {
        let gpu = Instance::open(profile).expect("the instance opens");
        DeviceCaps::query(&gpu.device).expect("the device is valid");
        assert_eq!(gpu.messages(), [], "{}", profile.name);
    }
}

#[test]
fn the_flag_is_decided_by_the_table() {
    let new = DeviceCaps { alignment_beside_tight: AlignmentWithTight::Floor, ..caps("uma") };
    let old = DeviceCaps { alignment_beside_tight: AlignmentWithTight::Invalid, ..new };
    let none = DeviceCaps { tight_alignment_tier: 0, ..old };
    let on = |alignment| Some(TightAlignment::On { alignment });
    let off = Some(TightAlignment::Off);
    let (placed, committed) = (Creation::Placed, Creation::Committed);
    let swizzled =
        D3D12_RESOURCE_DESC { Layout: D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE, ..texture(4, 4) };
    let crossing = D3D12_RESOURCE_DESC { Flags: D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER, ..buffer(8) };
    let asking = |desc: D3D12_RESOURCE_DESC| D3D12_RESOURCE_DESC { Flags: desc.Flags | TIGHT, ..desc };
    // The description, its floor, its creation, the device, the default, and the expected flag; `None` is an error.
    let table = [
        (buffer(8), 1, placed, &none, true, off),
        (asking(buffer(8)), 1, placed, &none, true, None),
        (asking(buffer(8)), 1, placed, &none, false, None),
        (buffer(8), 1, placed, &old, true, on(0)),
        (buffer(8), 1, placed, &old, false, off),
        (asking(buffer(8)), 1, placed, &old, false, on(0)),
        (buffer(8), 16, placed, &old, true, on(0)),
        (buffer(8), KIB_64, placed, &old, true, on(0)),
        (buffer(8), 1, placed, &new, true, on(0)),
        // The device itself aligns to 8.
        (buffer(8), 8, placed, &new, true, on(0)),
        (buffer(8), 16, placed, &new, true, on(16)),
        (buffer(8), 256, placed, &new, true, on(256)),
        (buffer(8), 512, placed, &new, true, on(0)),
        (buffer(8), KIB_64, placed, &new, true, on(0)),
        (buffer(8), 256, committed, &new, true, on(0)),
        (buffer(8), KIB_4, committed, &new, true, on(0)),
        (buffer(8), 2 * KIB_4, committed, &new, true, off),
        (buffer(8), KIB_64, committed, &old, true, off),
        (texture(4, 4), 16, placed, &old, true, on(0)),
        (texture(4, 4), 4, placed, &new, true, on(0)),
        (texture(4, 4), 8, placed, &new, true, on(0)),
        (texture(4, 4), 16, placed, &new, true, on(16)),
        (texture(4, 4), KIB_4, placed, &new, true, on(KIB_4)),
        (texture(4, 4), KIB_64, placed, &new, true, on(0)),
        (multisampled(4, 4), KIB_64, placed, &new, true, on(KIB_64)),
        (multisampled(4, 4), MIB_4, placed, &new, true, on(0)),
        (swizzled, 1, placed, &new, true, off),
        (asking(swizzled), 1, placed, &new, true, None),
        (crossing, 1, placed, &new, true, off),
        (asking(crossing), 1, placed, &new, true, off),
    ];
    for (row, (desc, floor, creation, caps, by_default, expected)) in table.into_iter().enumerate() {
        let decided = decide(&desc, alignment(floor), creation, caps, by_default);
        assert_eq!(decided.as_ref().ok().copied(), expected, "row {row}: {decided:?}");
    }
    let error = decide(&asking(buffer(8)), Alignment::ONE, placed, &none, true).expect_err("the tier is 0");
    assert!(error.is_unsupported());
    let error = decide(&asking(swizzled), Alignment::ONE, placed, &new, true)
        .expect_err("the layout has a fixed alignment");
    assert!(error.to_string().starts_with("D3D12_RESOURCE_DESC::Flags"), "{error}");
}

#[test]
fn invalid_alignments_name_the_field_and_the_rule() {
    let caps = caps("discrete");
    for (desc, alignment, rule) in [
        (buffer(8), 3, "0x3 is neither 0 nor a power of two"),
        (buffer(8), u64::MAX, "0xffffffffffffffff is neither 0 nor a power of two"),
        (buffer(8), 2 * KIB_64, "128.00 KiB exceeds the maximum of 64.00 KiB for a buffer"),
        (texture(4, 4), 2 * KIB_64, "128.00 KiB exceeds the maximum of 64.00 KiB for a single-sample texture"),
        (multisampled(4, 4), 2 * MIB_4, "8.00 MiB exceeds the maximum of 4.00 MiB for a multisampled texture"),
        (buffer(8), 1 << 63, "8.00 EiB exceeds the maximum of 64.00 KiB for a buffer"),
    ] {
        let desc = D3D12_RESOURCE_DESC { Alignment: alignment, ..desc };
        for creation in [Creation::Placed, Creation::Committed] {
            let (result, asked) = with_answers(&requested(desc), creation, &caps, &[]);
            let error = result.expect_err("must be rejected");
            assert!(error.is_invalid_argument() && asked.is_empty());
            assert_eq!(error.to_string(), format!("D3D12_RESOURCE_DESC::Alignment: {rule}"));
        }
    }
}

#[test]
fn the_larger_of_minimum_and_device_alignment_is_used() {
    let caps = caps("discrete");
    for (floor, size, reported, expected) in [
        (16, 100, 8, (112, 16)),
        (16, 100, 64, (128, 64)),
        (KIB_64, 8, 8, (KIB_64, KIB_64)),
        (0, 100, 8, (104, 8)),
    ] {
        let desc = D3D12_RESOURCE_DESC { Alignment: floor, ..buffer(100) };
        let (result, asked) =
            with_answers(&requested(desc), Creation::Placed, &caps, &[Some((size, reported))]);
        let ResourceRequirements { desc, size, alignment } = result.expect("valid description");
        assert_eq!((size.get(), alignment.get()), expected);
        assert_eq!((desc.Flags, desc.Alignment), (TIGHT, 0));
        assert_eq!(asked, [desc], "the queried description differs from the created one");
    }
}

#[test]
fn a_size_that_overflows_is_an_error() {
    let desc = D3D12_RESOURCE_DESC { Alignment: KIB_64, ..texture(4, 4) };
    let answers = [Some((u64::MAX - 1, 8))];
    let (result, _) = with_answers(&requested(desc), Creation::Placed, &caps("discrete"), &answers);
    assert!(result.expect_err("the size exceeds 64 bits").is_invalid_argument());
}

#[test]
fn buffers_without_tight_alignment_need_no_query() {
    let old = caps("old-ddi");
    for (width, size) in [(1, KIB_64), (KIB_64, KIB_64), (KIB_64 + 1, 2 * KIB_64)] {
        for creation in [Creation::Placed, Creation::Committed] {
            let (result, _) = with_answers(&requested(buffer(width)), creation, &old, &[]);
            let expected = ResourceRequirements {
                desc: buffer(width),
                size: ByteSize::new(size),
                alignment: alignment(KIB_64),
            };
            assert_eq!(result.expect("documented value"), expected);
        }
    }
    // Descriptions whose size is not documented are passed to the device, and refused if it refuses them.
    for flags in [D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER, 0x8000] {
        let odd = D3D12_RESOURCE_DESC { Flags: flags, ..buffer(1) };
        let (result, asked) = with_answers(&requested(odd), Creation::Placed, &old, &[None]);
        assert_eq!(asked, [odd]);
        assert!(result.expect_err("the device rejects it").is_invalid_argument());
    }
}

#[test]
fn textures_need_one_or_two_queries() {
    let (old, new) = (caps("old-ddi"), caps("discrete"));
    let answers = [None, Some((KIB_64, KIB_64))];
    let large_answer = [Some((KIB_64, KIB_64)), Some((KIB_64, KIB_64))];
    let small = texture(64, 64);
    let asking = |desc, caps, answers: &[_]| {
        let (result, asked) = with_answers(&requested(desc), Creation::Placed, caps, answers);
        (result.expect("valid description"), asked)
    };
    // Tight alignment: one query.
    let (found, asked) = asking(small, &new, &[Some((16_384, KIB_4))]);
    assert_eq!((asked.len(), found.alignment.get()), (1, KIB_4));
    // Small: one query, with the small alignment.
    let (found, asked) = asking(small, &old, &[Some((16_384, KIB_4))]);
    assert_eq!((asked.len(), asked[0].Alignment, found.desc), (1, KIB_4, asked[0]));
    // A reported alignment below the requested one is not used: the description contains 4 KiB.
    assert_eq!(asking(small, &old, &[Some((16_384, 256))]).0.alignment.get(), KIB_4);
    // An unknown format that may be small but is not: two queries, however the device refuses.
    for answers in [&answers, &large_answer] {
        let unknown = D3D12_RESOURCE_DESC { Format: DXGI_FORMAT_NV12, ..texture(200, 200) };
        let (found, asked) = asking(unknown, &old, answers);
        assert_eq!((asked.len(), asked[1].Alignment, found.desc), (2, 0, asked[1]));
    }
    // Certainly not small: one query.
    let target = D3D12_RESOURCE_DESC { Flags: D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET, ..small };
    let explicit = D3D12_RESOURCE_DESC { Alignment: KIB_64, ..small };
    let crossing = D3D12_RESOURCE_DESC { Flags: D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER, ..small };
    for desc in [texture(2048, 2048), texture(200, 200), target, explicit, crossing] {
        let (found, asked) = asking(desc, &old, &[Some((KIB_64, KIB_64))]);
        assert_eq!((asked.len(), asked[0].Alignment, found.alignment.get()), (1, 0, KIB_64));
    }
}

#[test]
fn uses_are_for_buffers_and_castable_formats_for_textures() {
    let caps = caps("discrete");
    let uses = (ResourceDesc::new(&texture(4, 4)), BufferUses::RAW_VIEW);
    let mut formats = requested(buffer(4));
    formats.0.castable_formats = &[DXGI_FORMAT_R8_UNORM];
    for (wrong, field) in [(uses, "BufferUses"), (formats, "castable formats")] {
        let (result, _) = with_answers(&wrong, Creation::Placed, &caps, &[]);
        let error = result.expect_err("must be rejected");
        assert!(error.is_invalid_argument() && error.to_string().starts_with(field), "{error}");
    }
}

#[test]
fn a_buffer_that_is_too_large_names_its_width() {
    let caps = caps("old-ddi");
    let largest = caps.max_resource_size().get();
    for (width, uses, is_sound) in [
        (largest, BufferUses::CONSTANT_BUFFER, true),
        (largest + 1, BufferUses::empty(), false),
        (u64::MAX, BufferUses::empty(), false),
        (u64::MAX, BufferUses::CONSTANT_BUFFER, false),
    ] {
        let wanted = (ResourceDesc::new(&buffer(width)), uses);
        let (result, _) = with_answers(&wanted, Creation::Placed, &caps, &[]);
        assert_eq!(result.is_ok(), is_sound, "{width:#x}");
        if let Err(error) = result {
            assert!(error.to_string().starts_with("D3D12_RESOURCE_DESC::Width"), "{error}");
        }
    }
}
