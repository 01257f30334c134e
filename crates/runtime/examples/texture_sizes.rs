//! Prints the sizes and alignments of textures on a Vulkan device, beside the sizes of their texels and of 64 KiB
//! tiles.
//!
//! ```sh
//! cargo run --release -p heapwright-runtime --features vulkan --example texture_sizes -- [INDEX]
//! ```

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::time::Instant;

use heapwright_d3d12::*;
use heapwright_runtime::{DeviceOptions, Instance};

/// A texture of the table: its name, description and bytes of texels.
type Texture = (&'static str, D3D12_RESOURCE_DESC, u64);

fn texture(format: DXGI_FORMAT, width: u64, height: u32, flags: D3D12_RESOURCE_FLAGS) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        Width: width,
        Height: height,
        DepthOrArraySize: 1,
        MipLevels: 1,
        Format: format,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        Flags: flags,
        ..Default::default()
    }
}

fn textures() -> Vec<Texture> {
    const NONE: D3D12_RESOURCE_FLAGS = D3D12_RESOURCE_FLAG_NONE;
    const TARGET: D3D12_RESOURCE_FLAGS = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET;
    const DEPTH: D3D12_RESOURCE_FLAGS = D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
    const RGBA: DXGI_FORMAT = DXGI_FORMAT_R8G8B8A8_UNORM;
    let samples = |desc, count| D3D12_RESOURCE_DESC {
        SampleDesc: DXGI_SAMPLE_DESC { Count: count, Quality: 0 },
        ..desc
    };
    let mips = |desc, levels| D3D12_RESOURCE_DESC { MipLevels: levels, ..desc };
    let slices = |desc, count| D3D12_RESOURCE_DESC { DepthOrArraySize: count, ..desc };
    let volume = D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE3D,
        DepthOrArraySize: 64,
        ..texture(RGBA, 64, 64, NONE)
    };
    let hd = |format, flags| texture(format, 1920, 1080, flags);
    let hd_texels = 1920 * 1080;
    vec![
        ("RGBA8 4x4", texture(RGBA, 4, 4, NONE), 64),
        ("RGBA8 64x64", texture(RGBA, 64, 64, NONE), 64 * 64 * 4),
        ("RGBA8 128x128", texture(RGBA, 128, 128, NONE), 128 * 128 * 4),
        ("RGBA8 256x256", texture(RGBA, 256, 256, NONE), 256 * 256 * 4),
        ("RGBA8 300x200", texture(RGBA, 300, 200, NONE), 300 * 200 * 4),
        ("RGBA8 1024x1024, 11 levels", mips(texture(RGBA, 1024, 1024, NONE), 11), ((4 << 22) - 4) / 3),
        ("RGBA8 256x256, cube", slices(texture(RGBA, 256, 256, NONE), 6), 6 << 18),
        ("RGBA8 64x64x64", volume, 64 * 64 * 64 * 4),
        ("BC1 1024x1024", texture(DXGI_FORMAT_BC1_UNORM, 1024, 1024, NONE), 1 << 19),
        ("BC7 64x64", texture(DXGI_FORMAT_BC7_UNORM, 64, 64, NONE), 4096),
        ("RGBA8 64x64, target", texture(RGBA, 64, 64, TARGET), 64 * 64 * 4),
        ("RGBA8 1920x1080, target", hd(RGBA, TARGET), hd_texels * 4),
        ("RGBA16F 1920x1080, target", hd(DXGI_FORMAT_R16G16B16A16_FLOAT, TARGET), hd_texels * 8),
        ("D32 1920x1080", hd(DXGI_FORMAT_D32_FLOAT, DEPTH), hd_texels * 4),
        ("D24S8 1920x1080", hd(DXGI_FORMAT_D24_UNORM_S8_UINT, DEPTH), hd_texels * 4),
        ("D32S8 1920x1080", hd(DXGI_FORMAT_D32_FLOAT_S8X24_UINT, DEPTH), hd_texels * 5),
        ("RGBA8 64x64, 4 samples", samples(texture(RGBA, 64, 64, TARGET), 4), 64 * 64 * 4 * 4),
        ("RGBA8 1920x1080, 4 samples", samples(hd(RGBA, TARGET), 4), hd_texels * 4 * 4),
        ("D32 1920x1080, 4 samples", samples(hd(DXGI_FORMAT_D32_FLOAT, DEPTH), 4), hd_texels * 4 * 4),
    ]
}

fn bytes(count: u64) -> String {
    match count {
        u64::MAX => "-".to_owned(),
        count if count >= 1 << 20 && count.is_multiple_of(1 << 20) => format!("{} MiB", count >> 20),
        count if count.is_multiple_of(1 << 10) => format!("{} KiB", count >> 10),
        count => format!("{count} B"),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let index = std::env::args().nth(1).map_or(Ok(0), |index| index.parse())?;
    let instance = Instance::open_vulkan(index, DeviceOptions::default(), &[])?;
    let info = |desc: D3D12_RESOURCE_DESC| {
        // SAFETY: the slice has one description.
        unsafe { instance.device.GetResourceAllocationInfo(0, &[desc]) }
    };
    let place = |desc| {
        let found = info(desc);
        if found.SizeInBytes == u64::MAX {
            return "-".to_owned();
        }
        format!("{} at {}", bytes(found.SizeInBytes), bytes(found.Alignment))
    };
    println!(
        "| texture | texels | in 64 KiB tiles | default | small | tight |\n| --- | --- | --- | --- | --- | --- |"
    );
    let (mut first, mut again) = (0.0, 0.0);
    let textures = textures();
    for (name, desc, texels) in &textures {
        let tiles =
            info(D3D12_RESOURCE_DESC { Layout: D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE, ..*desc });
        let small = if desc.SampleDesc.Count > 1 { 64 << 10 } else { 4 << 10 };
        let start = Instant::now();
        let default = place(*desc);
        first += start.elapsed().as_secs_f64();
        let start = Instant::now();
        assert_eq!(place(*desc), default);
        again += start.elapsed().as_secs_f64();
        println!(
            "| {name} | {} | {} | {default} | {} | {} |",
            bytes(*texels),
            bytes(tiles.SizeInBytes),
            place(D3D12_RESOURCE_DESC { Alignment: small, ..*desc }),
            place(D3D12_RESOURCE_DESC {
                Flags: desc.Flags | D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT,
                ..*desc
            }),
        );
    }
    let each = |seconds: f64| seconds * 1e6 / textures.len() as f64;
    println!("\nA query takes {:.1} µs the first time, {:.1} µs again.", each(first), each(again));
    Ok(())
}
