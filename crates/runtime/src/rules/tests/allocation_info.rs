//! Sizes and alignments (tables of the tight alignment specification).

use proptest::prelude::*;

use super::*;
use crate::rules::allocation_info::{self, StructureLayout};
use crate::rules::resource;

fn layout(members: &[ResourceAllocation]) -> Option<(u64, u64)> {
    let mut layout = StructureLayout::new();
    for &member in members {
        layout.append(member)?;
    }
    layout.finish().map(|whole| (whole.size.get(), whole.alignment.get()))
}

fn of_committed(resource: &Resource, driver: &Driver) -> ResourceAllocation {
    driver.check_resource_allocation_info(&allocation_info::args(
        resource,
        allocation_info::COMMITTED_MINIMUM,
        None,
    ))
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
            let driver = host::driver(&profile);
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
                        assert!(part.Offset >= end, "{profile:?}: part {index} is {part:?}, before {end}");
                        assert!(part.SizeInBytes.is_multiple_of(part.Alignment), "{profile:?}: part {index}");
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

/// As on Windows: a floor is checked, and changes neither size nor alignment.
#[test]
fn a_floor_changes_nothing() {
    let driver = driver("uma");
    for floor in [0, 8, 16, 256] {
        let desc = D3D12_RESOURCE_DESC1 { Alignment: floor, ..tight(100) };
        let resource = resource::check(&desc, driver.caps(), &PLAIN).expect("valid");
        let found = allocation_info::of_placed(&resource, driver);
        assert_eq!((found.alignment.get(), found.size.get()), (8, 100), "{floor}");
        assert_eq!(of_committed(&resource, driver).alignment.get(), 4096);
    }
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
            prop_assert!(of_committed(&tight, driver).alignment.get() >= 4096);
            prop_assert_eq!(allocation_info::of_placed(&tight, driver), placed);
        }
    }
}
