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

/// Later headers: a non-zero alignment combined with the flag is a floor.
#[test]
fn with_the_option_alignment_is_a_floor_for_tight_alignment() {
    let options = Options { alignment_is_floor: true, ..PLAIN };
    let floor = |desc: D3D12_RESOURCE_DESC1, alignment| {
        let desc = D3D12_RESOURCE_DESC1 { Alignment: alignment, ..desc };
        resource::check(&desc, &caps("discrete"), &options).ok().map(|resource| resource.alignment())
    };
    let tight_to = |bytes| {
        let floor = Alignment::new(bytes).expect("a power of two");
        Some(resource::AlignmentRequest::Tight { floor })
    };
    for bytes in [1, 8, 16, 256] {
        assert_eq!(floor(tight(1000), bytes), tight_to(bytes));
    }
    assert_eq!(floor(tight(1000), 0), tight_to(1));
    for bytes in [3, 24, 512, 65_536, 1 << 63] {
        assert_eq!(floor(tight(1000), bytes), None, "{bytes}");
    }
    let image =
        D3D12_RESOURCE_DESC1 { Flags: D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT, ..texture2d(1024, 1024) };
    assert_eq!(floor(image, 65_536), tight_to(65_536));
    assert_eq!(floor(image, 1 << 17), None);
    let small = D3D12_RESOURCE_DESC1 { Width: 16, Height: 16, ..image };
    assert_eq!(floor(small, 4096), tight_to(4096));
    assert_eq!(floor(small, 65_536), None, "above the maximum of a small resource");
    // Without the tight alignment flag, nothing changes.
    assert_eq!(floor(buffer(1000), 256), None);
    let refused =
        resource::check(&D3D12_RESOURCE_DESC1 { Alignment: 16, ..tight(1) }, &caps("discrete"), &PLAIN);
    assert!(refused.is_err(), "the option is off by default");
}
