//! Descriptions of buffers, and the tight alignment flag.

use super::*;
use crate::rules::resource;

#[test]
fn buffer_descriptions_are_checked_field_by_field() {
    let check = |desc: &D3D12_RESOURCE_DESC1| resource::check(desc, &caps("discrete"), &PLAIN).map(|_| ());
    let accepted: [fn(&mut D3D12_RESOURCE_DESC1); 4] = [
        |d| d.Alignment = 65_536,
        |d| d.Width = 1 << 40,
        |d| d.Flags = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET,
        |d| d.Flags = D3D12_RESOURCE_FLAG_DENY_SHADER_RESOURCE,
    ];
    for change in accepted {
        let mut desc = buffer(1000);
        change(&mut desc);
        assert_eq!(outcome(check(&desc)), Ok(()));
    }
    let refused: [Case<D3D12_RESOURCE_DESC1>; 16] = [
        (|d| d.Width = 0, SIZE, "Width"),
        (|d| d.Width = (1 << 40) + 1, SIZE, "40 bits"),
        (|d| d.Height = 0, SIZE, "Height"),
        (|d| d.DepthOrArraySize = 2, SIZE, "DepthOrArraySize"),
        (|d| d.MipLevels = 0, MIP_LEVELS, "MipLevels"),
        (|d| d.Format = DXGI_FORMAT_R8_UNORM, FORMAT, "Format"),
        (|d| d.SampleDesc.Count = 4, SAMPLES, "SampleDesc.Count"),
        (|d| d.SampleDesc.Quality = 1, SAMPLES, "SampleDesc.Quality"),
        (|d| d.Layout = D3D12_TEXTURE_LAYOUT_UNKNOWN, LAYOUT, "Layout"),
        (|d| d.SamplerFeedbackMipRegion.Width = 1, D3D12_MESSAGE_ID_UNKNOWN, "SamplerFeedbackMipRegion"),
        (|d| d.Alignment = 256, ALIGNMENT, "Alignment"),
        (|d| d.Flags = D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL, FLAGS, "flags"),
        (|d| d.Flags = D3D12_RESOURCE_FLAG_ALLOW_SIMULTANEOUS_ACCESS, FLAGS, "flags"),
        (|d| d.Flags = D3D12_RESOURCE_FLAG_RAYTRACING_ACCELERATION_STRUCTURE, FLAGS, "UNORDERED"),
        (|d| d.Dimension = 0, DIMENSION, "Dimension"),
        (|d| d.Dimension = 5, DIMENSION, "Dimension"),
    ];
    assert_refused(buffer(1000), &refused, check);
}

/// From SDK 1.619.4 on, an alignment beside the flag is valid within the tables of the specification.
#[test]
fn an_alignment_beside_the_tight_flag_is_valid_within_the_tables() {
    let takes = |desc: D3D12_RESOURCE_DESC1, alignment, options: &Options| {
        let desc = D3D12_RESOURCE_DESC1 { Alignment: alignment, ..desc };
        let checked = resource::check(&desc, &caps("discrete"), options);
        if let Ok(found) = &checked {
            assert_eq!(found.alignment(), resource::AlignmentRequest::Tight, "{alignment}");
        }
        checked.is_ok()
    };
    let image =
        D3D12_RESOURCE_DESC1 { Flags: D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT, ..texture2d(1024, 1024) };
    let small = D3D12_RESOURCE_DESC1 { Width: 16, Height: 16, ..image };
    for (desc, largest) in [(tight(1000), 256), (image, 65_536), (small, 4096)] {
        for log2 in 0..u64::BITS {
            let bytes = 1 << log2;
            assert_eq!(takes(desc, bytes, &PLAIN), (8..=largest).contains(&bytes), "{bytes} up to {largest}");
            assert!(!takes(desc, bytes, &BEFORE_FLOORS), "{bytes}: refused before SDK 1.619.4");
        }
        for bytes in [3, 24, 257, largest - 1] {
            assert!(!takes(desc, bytes, &PLAIN), "{bytes}");
        }
        assert!(takes(desc, 0, &PLAIN) && takes(desc, 0, &BEFORE_FLOORS));
    }
    // Without the tight alignment flag, nothing changes.
    for options in [PLAIN, BEFORE_FLOORS] {
        let desc = D3D12_RESOURCE_DESC1 { Alignment: 256, ..buffer(1000) };
        assert!(resource::check(&desc, &caps("discrete"), &options).is_err());
    }
}
