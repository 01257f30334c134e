//! Sizes and alignments (tables of the tight alignment specification).

use proptest::prelude::*;

use super::*;
use crate::rules::allocation_info::{self, StructureLayout};
use crate::rules::resource;

/// Tables of the tight alignment specification: placed buffers 8 to 256 B and the size of their width, committed
/// buffers exactly 4 KiB.
#[test]
fn tight_buffers_stay_within_the_tables() {
    for (profile, driver) in drivers() {
        for width in [1, 7, 8, 255, 256, 4095, 65_536, 65_537, 1 << 33] {
            let plain = resource::check(&buffer(width), driver.caps(), &PLAIN).expect("valid");
            let placed = allocation_info::of_placed(&plain, driver);
            assert_eq!(placed.alignment.get(), 65_536);
            assert_eq!(placed.size.get(), width.next_multiple_of(65_536));
            assert_eq!(allocation_info::of_committed(&plain, driver), placed);
            let Ok(tight) = resource::check(&tight(width), driver.caps(), &PLAIN) else { continue };
            let placed = allocation_info::of_placed(&tight, driver);
            assert!((8..=256).contains(&placed.alignment.get()), "{}: {placed:?}", profile.name);
            assert_eq!(placed.size.get(), width);
            let committed = allocation_info::of_committed(&tight, driver);
            assert_eq!((committed.alignment.get(), committed.size.get()), (4096, width));
            assert_eq!(allocation_info::of_placed(&tight, driver), placed, "idempotent");
        }
    }
}

fn layout(members: &[ResourceAllocation]) -> Option<(u64, u64)> {
    let mut layout = StructureLayout::new();
    for &member in members {
        layout.append(member)?;
    }
    layout.finish().map(|whole| (whole.size.get(), whole.alignment.get()))
}

/// An example of the tight alignment specification: two tiny resources at 256 B and a tiny one at 2 MiB.
#[test]
fn the_size_of_several_resources_depends_on_their_order() {
    let small = member(100, 256);
    for size in [1, 100, 2 << 20] {
        let large = member(size, 2 << 20);
        assert_eq!(layout(&[small, large, small]), Some((6 << 20, 2 << 20)), "{size}");
        assert_eq!(layout(&[large, small, small]), Some((4 << 20, 2 << 20)), "{size}");
        assert_eq!(layout(&[small, small, large]), Some((4 << 20, 2 << 20)), "{size}");
        let tail = [vec![small; 8192], vec![large]].concat();
        assert_eq!(
            layout(&tail),
            Some((4 << 20, 2 << 20)),
            "8,192 buffers fill the gap before the large one"
        );
    }
}

/// On a GPU that aligns buffers more than textures, a buffer smaller than its alignment ends where the texture after it
/// begins.
#[test]
fn parts_do_not_overlap_for_any_order_of_alignments() {
    let alignments = [8, 16, 64, 256].map(Alignment::new);
    for buffers in alignments {
        for textures in alignments {
            let profile = HostProfile {
                tight_buffer_alignment: buffers,
                tight_texture_alignment: textures,
                ..*HostProfile::default_profile()
            };
            let driver = HostDriver::new(&profile);
            let check = |desc| resource::check(&desc, driver.caps(), &PLAIN);
            let texture =
                D3D12_RESOURCE_DESC1 { Flags: D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT, ..texture2d(4, 4) };
            for descs in [
                vec![tight(8), texture],
                vec![texture, tight(8)],
                vec![tight(8), texture, tight(300), texture],
            ] {
                let mut end = 0;
                let whole =
                    allocation_info::of_several(descs.into_iter().map(check), &driver, |index, part| {
                        assert!(
                            part.Offset >= end,
                            "{profile:?}: part {index} begins at {} before {end}",
                            part.Offset
                        );
                        end = part.Offset + part.SizeInBytes;
                    });
                assert!(end <= whole.expect("valid").SizeInBytes);
            }
        }
    }
}

#[test]
fn an_overflowing_layout_is_refused() {
    assert_eq!(layout(&[member(u64::MAX, 1), member(1, 1)]), None);
    assert_eq!(layout(&[member(u64::MAX - 5, 256)]), None);
}

proptest! {
    /// The layout is that of a C++ compiler. Compares with a plain computation in which a member's size is a multiple
    /// of its alignment and members do not overlap.
    #[test]
    fn structure_layout_is_c_layout(members in prop::collection::vec((1_u64..1 << 24, 0_u32..23), 1..20)) {
        let members: Vec<_> = members.iter().map(|&(size, log2)| member(size, 1 << log2)).collect();
        let mut end = 0_u64;
        let mut offsets = StructureLayout::new();
        for &part in &members {
            let start = end.next_multiple_of(part.alignment.get());
            prop_assert_eq!(offsets.append(part), Some(start));
            end = start + part.size.get().next_multiple_of(part.alignment.get());
        }
        let largest = members.iter().map(|part| part.alignment.get()).max().unwrap_or(1);
        prop_assert_eq!(layout(&members), Some((end.next_multiple_of(largest), largest)));
    }
}

fn alignments(desc: &D3D12_RESOURCE_DESC1, profile: &str) -> (u64, u64) {
    let driver = driver(profile);
    let resource = resource::check(desc, driver.caps(), &PLAIN).expect("valid");
    let placed = allocation_info::of_placed(&resource, driver);
    let committed = allocation_info::of_committed(&resource, driver);
    (placed.alignment.get(), committed.alignment.get())
}

/// Without the flag, every driver has the alignment of the description, or the default.
#[test]
fn default_alignments_match_the_documentation() {
    let target = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET;
    let asks = |desc: D3D12_RESOURCE_DESC1, alignment| D3D12_RESOURCE_DESC1 { Alignment: alignment, ..desc };
    let table = [
        (buffer(1), 65_536),
        (texture2d(8, 8), 65_536),
        (asks(texture2d(8, 8), 4096), 4096),
        (asks(texture2d(8, 8), 65_536), 65_536),
        (D3D12_RESOURCE_DESC1 { Flags: target, ..texture2d(8, 8) }, 65_536),
        (multisampled(4), 4 << 20),
        (asks(multisampled(4), 65_536), 65_536),
        (asks(multisampled(4), 4 << 20), 4 << 20),
    ];
    for profile in HostProfile::all() {
        for (row, (desc, expected)) in table.iter().enumerate() {
            assert_eq!(alignments(desc, profile.name), (*expected, *expected), "{} row {row}", profile.name);
        }
    }
}

/// Tables of the tight alignment specification: minima, maxima, and never worse than without the flag.
#[test]
fn tight_textures_stay_within_the_tables() {
    let target = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET;
    // Description and largest alignment.
    let table = [
        (texture2d(8, 8), 4096),
        (texture2d(1024, 1024), 65_536),
        (D3D12_RESOURCE_DESC1 { Flags: target, ..texture2d(8, 8) }, 65_536),
        (multisampled(4), 65_536),
        (D3D12_RESOURCE_DESC1 { Width: 1024, Height: 1024, ..multisampled(4) }, 4 << 20),
    ];
    for profile in HostProfile::all().iter().filter(|profile| profile.tight_buffer_alignment.is_some()) {
        for (row, (desc, largest)) in table.iter().enumerate() {
            let tight =
                D3D12_RESOURCE_DESC1 { Flags: desc.Flags | D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT, ..*desc };
            let (placed, committed) = alignments(&tight, profile.name);
            assert!((8..=*largest).contains(&placed), "{} row {row}: {placed}", profile.name);
            assert!((4096..=*largest).contains(&committed), "{} row {row}: {committed}", profile.name);
        }
    }
}

/// A cross-adapter resource has 64 KiB, or 4 MiB if multisampled, with and without the tight alignment flag.
#[test]
fn cross_adapter_overrides_tight_alignment() {
    let flags = D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER | D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT;
    for (desc, expected) in [(buffer(8), 65_536), (texture2d(8, 8), 65_536), (multisampled(4), 4 << 20)] {
        let desc = D3D12_RESOURCE_DESC1 { Flags: desc.Flags | flags, ..desc };
        assert_eq!(alignments(&desc, "uma"), (expected, expected));
    }
}

/// A floor raises the alignment, unless it is below the driver's.
#[test]
fn a_floor_raises_the_alignment() {
    let options = Options { alignment_is_floor: true, ..PLAIN };
    let driver = driver("uma");
    for (floor, placed) in [(1, 8), (8, 8), (16, 16), (256, 256)] {
        let desc = D3D12_RESOURCE_DESC1 { Alignment: floor, ..tight(100) };
        let resource = resource::check(&desc, driver.caps(), &options).expect("valid");
        let found = allocation_info::of_placed(&resource, driver);
        assert_eq!((found.alignment.get(), found.size.get()), (placed, 100));
        assert_eq!(allocation_info::of_committed(&resource, driver).alignment.get(), 4096);
    }
}

#[test]
fn several_resources_are_reported_individually() {
    let driver = driver("discrete");
    let check = |desc| resource::check(&desc, driver.caps(), &PLAIN);
    let descs = [tight(100), texture2d(1024, 1024), tight(1)];
    let mut infos = Vec::new();
    let whole = allocation_info::of_several(descs.into_iter().map(check), driver, |index, info| {
        assert_eq!(index, infos.len());
        infos.push((info.Offset, info.Alignment, info.SizeInBytes));
    })
    .expect("valid");
    let (kib_64, mib_4) = (65_536, 4 << 20);
    assert_eq!(infos, [(0, 256, 256), (kib_64, kib_64, mib_4), (kib_64 + mib_4, 256, 256)]);
    assert_eq!((whole.SizeInBytes, whole.Alignment), (mib_4 + 2 * kib_64, kib_64));
    let broken = [tight(100), buffer(0)].into_iter().map(check);
    assert!(allocation_info::of_several(broken, driver, |_, _| ()).is_err());
}

/// Only compressible textures have compression data, and the size stays a multiple of the alignment.
#[test]
fn the_compressing_profile_pads_render_targets() {
    let driver = driver("compressing");
    let size = |flags| {
        let desc = D3D12_RESOURCE_DESC1 { Flags: flags, ..texture2d(1024, 1024) };
        let resource = resource::check(&desc, driver.caps(), &PLAIN).expect("valid");
        allocation_info::of_placed(&resource, driver).size.get()
    };
    assert_eq!(size(D3D12_RESOURCE_FLAG_NONE), 4 << 20);
    assert_eq!(size(D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET), (4 << 20) + 2 * 65_536);
}

/// The subject of rule I-11 of data inheritance: memory of a render target beyond its tiles, whatever its layout
/// defines.
#[test]
fn defined_layouts_have_hidden_memory_after_their_tiles() {
    let beyond_tiles = |profile, layout, flags| {
        let driver = driver(profile);
        let desc =
            D3D12_RESOURCE_DESC1 { Layout: layout, Flags: flags, MipLevels: 3, ..texture2d(1024, 1024) };
        let caps = DriverCaps { standard_swizzle: true, ..*driver.caps() };
        let resource = resource::check(&desc, &caps, &PLAIN).expect("valid");
        let tiles =
            crate::rules::tiling::Tiling::new(&resource).expect("the resource has tiles").tile_count();
        allocation_info::of_placed(&resource, driver).size.get() - u64::from(tiles) * 65_536
    };
    for layout in [D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE, D3D12_TEXTURE_LAYOUT_64KB_STANDARD_SWIZZLE] {
        // 64, 16 and 4 tiles, and 16 thousandths of 84: less than two more tiles.
        assert_eq!(beyond_tiles("compressing", layout, D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET), 2 * 65_536);
        assert_eq!(beyond_tiles("compressing", layout, D3D12_RESOURCE_FLAG_NONE), 0);
        assert_eq!(beyond_tiles("discrete", layout, D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET), 0);
    }
}

proptest! {
    /// Properties of every texture on every driver with tight alignment.
    #[test]
    fn tight_is_never_worse(desc in texture::any_texture()) {
        for (_, driver) in drivers() {
            // Not every GPU supports tiled volumes.
            let Ok(plain) = resource::check(&desc, driver.caps(), &PLAIN) else { continue };
            let loose = allocation_info::of_placed(&plain, driver);
            prop_assert!(loose.size.is_aligned(loose.alignment));
            let flags = desc.Flags | D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT;
            let tight = D3D12_RESOURCE_DESC1 { Flags: flags, ..desc };
            let Ok(tight) = resource::check(&tight, driver.caps(), &PLAIN) else { continue };
            let placed = allocation_info::of_placed(&tight, driver);
            prop_assert!(placed.alignment <= loose.alignment && placed.size <= loose.size);
            prop_assert!(placed.alignment.get() >= 8 && placed.size.is_aligned(placed.alignment));
            prop_assert!(allocation_info::of_committed(&tight, driver).alignment.get() >= 4096);
            prop_assert_eq!(allocation_info::of_placed(&tight, driver), placed);
        }
    }
}
