//! Sizes and alignments for arbitrary requirements of a device.

use heapwright_core::Alignment;
use heapwright_d3d12::*;
use proptest::prelude::*;

use super::*;
use crate::drivers::host;
use crate::drivers::layout::TextureLayout;
use crate::rules::tests::texture::any_texture;
use crate::rules::{Options, allocation_info, resource};
use crate::{HostProfile, ddi::ResourceKind};

fn image(size: u64, log2: u32) -> ResourceAllocation {
    let alignment = Alignment::new(1 << log2).expect("a power of two");
    ResourceAllocation { size: ByteSize::new(size), alignment }
}

/// Returns the texture of a description, if it is valid on a device with all features.
fn described(desc: &D3D12_RESOURCE_DESC1) -> Option<(TextureArgs, ResourceArgs)> {
    let profile = HostProfile::find("uma").expect("a profile with tight alignment");
    let caps = *host::driver(profile).caps();
    let resource = resource::check(desc, &caps, &Options::default()).ok()?;
    let args = allocation_info::args(&resource, allocation_info::PLACED_MINIMUM, None);
    match args.kind {
        ResourceKind::Texture(texture) => Some((texture, args)),
        ResourceKind::Buffer { .. } => None,
    }
}

fn rgba8(width: u64, alignment: u64, flags: D3D12_RESOURCE_FLAGS, samples: u32) -> D3D12_RESOURCE_DESC1 {
    D3D12_RESOURCE_DESC1 {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        Alignment: alignment,
        Width: width,
        Height: u32::try_from(width).expect("small"),
        DepthOrArraySize: 1,
        MipLevels: 1,
        Format: DXGI_FORMAT_R8G8B8A8_UNORM,
        SampleDesc: DXGI_SAMPLE_DESC { Count: samples, Quality: 0 },
        Flags: flags,
        ..Default::default()
    }
}

/// The size and alignment, in bytes, of a texture with this description where the device requires so much.
fn found(desc: &D3D12_RESOURCE_DESC1, image: Option<ResourceAllocation>) -> (u64, u64) {
    let (texture, args) = described(desc).expect("valid");
    let texels = TextureLayout::of_texture(texture).total_size();
    let found = of_texture(&texture, &args, texels, image);
    (found.size.get(), found.alignment.get())
}

#[test]
fn the_device_decides_within_the_rules_of_d3d12() {
    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;
    let target = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET;
    let tight = D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT;
    let cases = [
        ("an image without padding", rgba8(100, 0, 0, 1), Some((40_000, 10)), (64 * KIB, 64 * KIB)),
        ("padding", rgba8(100, 0, 0, 1), Some((70_000, 10)), (128 * KIB, 64 * KIB)),
        ("no image", rgba8(100, 0, 0, 1), None, (64 * KIB, 64 * KIB)),
        ("small", rgba8(100, 4 * KIB, 0, 1), Some((45_056, 10)), (44 * KIB, 4 * KIB)),
        ("no small textures", rgba8(100, 4 * KIB, 0, 1), Some((45_056, 16)), (64 * KIB, 64 * KIB)),
        ("tight", rgba8(100, 0, tight, 1), Some((45_056, 10)), (44 * KIB, KIB)),
        ("at least 8", rgba8(100, 0, tight, 1), Some((45_001, 0)), (45_008, 8)),
        (
            "tight and small, but not on this device",
            rgba8(100, 0, tight, 1),
            Some((45_056, 16)),
            (40 * KIB, 4 * KIB),
        ),
        ("tight without an image", rgba8(100, 0, tight, 1), None, (40 * KIB, 4 * KIB)),
        ("more than D3D12 permits", rgba8(256, 0, 0, 1), Some((MIB, 17)), (256 * KIB, 64 * KIB)),
        ("samples", rgba8(256, 0, target, 4), Some((MIB, 16)), (4 * MIB, 4 * MIB)),
        ("few samples", rgba8(256, 64 * KIB, target, 4), Some((MIB, 16)), (MIB, 64 * KIB)),
        (
            "few samples of a device that needs more",
            rgba8(256, 64 * KIB, target, 4),
            Some((MIB, 17)),
            (4 * MIB, 4 * MIB),
        ),
        ("tight samples", rgba8(2048, 0, target | tight, 4), Some((64 * MIB, 17)), (64 * MIB, 128 * KIB)),
    ];
    for (name, desc, needs, expected) in cases {
        assert_eq!(found(&desc, needs.map(|(size, log2)| image(size, log2))), expected, "{name}");
    }
}

proptest! {
    /// A place of the texture is one of the image, unless D3D12 has no such alignment; and the flag for tight alignment
    /// never makes anything worse.
    #[test]
    fn places_of_the_texture_are_places_of_the_image(
        desc in any_texture(),
        (size, log2) in (1_u64..1 << 40, 0_u32..24),
    ) {
        let image = image(size, log2);
        let tight = D3D12_RESOURCE_DESC1 { Flags: desc.Flags | D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT, ..desc };
        let mut plain = None;
        for desc in [desc, tight] {
            let Some((texture, args)) = described(&desc) else { continue };
            let texels = TextureLayout::of_texture(texture).total_size();
            let found = of_texture(&texture, &args, texels, Some(image));
            prop_assert!(found.size.is_aligned(found.alignment) && found.size >= texels);
            prop_assert!(found.alignment >= args.alignment_restriction);
            let largest = if args.is_tight() {
                texture.largest_tight_alignment()
            } else {
                prop_assert!([args.alignment_restriction, texture.default_alignment()].contains(&found.alignment));
                texture.default_alignment()
            };
            prop_assert!(found.alignment <= largest);
            if image.alignment <= largest {
                prop_assert!(found.alignment >= image.alignment && found.size >= image.size);
            } else {
                prop_assert_eq!(found, of_texture(&texture, &args, texels, None));
            }
            let plain: ResourceAllocation = *plain.get_or_insert(found);
            prop_assert!(found.size <= plain.size && found.alignment <= plain.alignment);
        }
    }
}
