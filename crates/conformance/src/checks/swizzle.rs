//! `D3D12_TEXTURE_LAYOUT_64KB_STANDARD_SWIZZLE`: support, and the positions of texels.
//!
//! The patterns are those of the figure in the D3D12 reference. Microsoft's DirectXTex and Intel's gmmlib list them in
//! full.

use heapwright_d3d12::*;

use super::layouts::rows;
use crate::answer::{Stop, Verdict, each, ensure, require, require_eq};
use crate::check::{Check, Need, check};
use crate::com::commands::CopyLocation;
use crate::com::device::Home;
use crate::com::memory::{self, Mapping};
use crate::context::Context;
use crate::desc::*;

const LAYOUT: &str = "Learn, D3D12_TEXTURE_LAYOUT, D3D12_TEXTURE_LAYOUT_64KB_STANDARD_SWIZZLE";
const PATTERN: &str = "Learn, D3D12_TEXTURE_LAYOUT, standard swizzle patterns";
const MAPPED: &str = "Learn, UMA Optimizations: CPU Accessible Textures and Standard Swizzle";
const RESERVED: &str = "Learn, ID3D12Device::CreateReservedResource, Layout";

const SWIZZLE: &[Need] = &[Need::StandardSwizzle, Need::Textures];
/// Needs of checks with a buffer and a texture in one heap.
const ALIASED: &[Need] = &[Need::StandardSwizzle, Need::Textures, Need::HeapTier2];
/// Needs of checks with CPU-accessible textures.
const BY_CPU: &[Need] = &[Need::StandardSwizzle, Need::Textures, Need::Uma];

const TILE: usize = 65_536;

/// The swizzle pattern of one element size. `tile` is the size of a tile in elements; `bits` names the coordinate that
/// each bit of an offset is taken from, the highest first.
struct Element {
    format: DXGI_FORMAT,
    bytes: usize,
    tile: [usize; 3],
    bits: &'static str,
}

const ELEMENTS_2D: [Element; 5] = [
    Element { format: DXGI_FORMAT_R8_UINT, bytes: 1, tile: [256, 256, 1], bits: "XYXYXYXYYYYYXXXX" },
    Element { format: DXGI_FORMAT_R16_UINT, bytes: 2, tile: [256, 128, 1], bits: "XYXYXYXYXYYYXXXX" },
    Element { format: DXGI_FORMAT_R32_UINT, bytes: 4, tile: [128, 128, 1], bits: "XYXYXYXYXYYYXXXX" },
    Element { format: DXGI_FORMAT_R32G32_UINT, bytes: 8, tile: [128, 64, 1], bits: "XYXYXYXYXXYYXXXX" },
    Element { format: DXGI_FORMAT_R32G32B32A32_UINT, bytes: 16, tile: [64, 64, 1], bits: "XYXYXYXYXXYYXXXX" },
];

const ELEMENTS_3D: [Element; 5] = [
    Element { format: DXGI_FORMAT_R8_UINT, bytes: 1, tile: [64, 32, 32], bits: "XYZXYZYZZZYYXXXX" },
    Element { format: DXGI_FORMAT_R16_UINT, bytes: 2, tile: [32, 32, 32], bits: "XYZXYZYZZZYYXXXX" },
    Element { format: DXGI_FORMAT_R32_UINT, bytes: 4, tile: [32, 32, 16], bits: "XYZXYZXYZZYYXXXX" },
    Element { format: DXGI_FORMAT_R32G32_UINT, bytes: 8, tile: [32, 16, 16], bits: "XYZXYZXXZZYYXXXX" },
    Element {
        format: DXGI_FORMAT_R32G32B32A32_UINT,
        bytes: 16,
        tile: [16, 16, 16],
        bits: "XYZXYZXXZZYYXXXX",
    },
];

pub(super) const CHECKS: &[Check] = &[
    check("swizzle/the-cap-means-the-layout", LAYOUT, &[Need::Textures], |ctx| {
        let answer = ctx.commit(DEFAULT, &swizzled(rgba(256, 256)));
        if ctx.caps().standard_swizzle {
            answer.ok("StandardSwizzle64KBSupported")?;
            return Ok("taken".to_owned());
        }
        answer.refused("no StandardSwizzle64KBSupported")
    }),
    check("swizzle/textures-are-taken", LAYOUT, SWIZZLE, |ctx| {
        let target = with_flags(rgba(256, 256), D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET);
        let unordered = with_flags(rgba(256, 256), D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
        each(
            [
                ("a render target", target),
                ("unordered access", unordered),
                ("mips", with_mips(rgba(256, 256), 9)),
                ("an array", with_slices(rgba(256, 256), 3)),
                ("blocks", texture2d(DXGI_FORMAT_BC1_UNORM, 512, 256)),
                ("a volume", volume(64, 64, 64)),
            ],
            |(what, desc)| ctx.commit(DEFAULT, &swizzled(desc)).ok(what),
        )
    }),
    check("swizzle/1d-refused", LAYOUT, SWIZZLE, |ctx| {
        let desc = D3D12_RESOURCE_DESC { Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE1D, ..rgba(256, 1) };
        ctx.commit(DEFAULT, &swizzled(desc)).refused("a TEXTURE1D")
    }),
    check("swizzle/several-samples-refused", LAYOUT, SWIZZLE, |ctx| {
        ctx.commit(DEFAULT, &swizzled(multisampled(256, 256, 4))).refused("4 samples")
    }),
    check("swizzle/depth-stencil-refused", LAYOUT, SWIZZLE, |ctx| {
        ctx.commit(DEFAULT, &swizzled(depth_buffer(256, 256))).refused("ALLOW_DEPTH_STENCIL")
    }),
    check("swizzle/96-bit-texels-refused", LAYOUT, SWIZZLE, |ctx| {
        ctx.commit(DEFAULT, &swizzled(texture2d(DXGI_FORMAT_R32G32B32_UINT, 256, 256)))
            .refused("R32G32B32_UINT")
    }),
    check("swizzle/small-alignment-refused", LAYOUT, SWIZZLE, |ctx| {
        ctx.commit(DEFAULT, &swizzled(aligned(rgba(16, 16), 4 * KIB))).refused("4 KiB")
    }),
    check("swizzle/allocation-is-in-tiles", LAYOUT, SWIZZLE, |ctx| {
        each([(128, 128, 1), (256, 128, 2), (300, 200, 6)], |(width, height, tiles)| {
            let found = ctx.valid_allocation("standard swizzle", &swizzled(rgba(width, height)))?;
            require_eq(format!("Alignment of {width} by {height}"), found.alignment, 64 * KIB)?;
            require(found.size >= tiles * 64 * KIB, || {
                format!("{width} by {height} texels: SizeInBytes {} is less than {tiles} tiles", found.size)
            })
        })
    }),
    check("swizzle/reserved-refused", RESERVED, SWIZZLE, |ctx| {
        let (desc, state) = (swizzled(rgba(256, 256)), COMMON);
        ctx.create_resource(Home::Reserved, &desc, state, None).refused("64KB_STANDARD_SWIZZLE")
    }),
    check("swizzle/a-buffer-sees-the-pattern", PATTERN, ALIASED, |ctx| {
        each(&ELEMENTS_2D, |element| {
            aliased(ctx, element, if element.bytes == 4 { [2, 2, 1] } else { [1, 1, 1] })
        })
    }),
    check("swizzle/a-buffer-sees-the-pattern-of-volumes", PATTERN, ALIASED, |ctx| {
        each(&ELEMENTS_3D, |element| {
            // Rows of 256 bytes, which footprints need.
            let across = 256 / (element.tile[0] * element.bytes);
            aliased(ctx, element, [across, 1, if element.bytes == 4 { 2 } else { 1 }])
        })
    }),
    check("swizzle/the-cpu-sees-the-pattern", MAPPED, BY_CPU, |ctx| {
        each(&ELEMENTS_2D, |element| {
            let texture = by_cpu(ctx, &image(element, [1, 1, 1]))?;
            let bytes = texels(element, [1, 1, 1]);
            copied_in(ctx, &texture, element, [1, 1, 1], &bytes)?;
            let mapped = Mapping::of_tiles(&texture, 0, 1).ok("standard swizzle")?;
            same(element, [1, 1, 1], &bytes, &mapped.read(0, TILE))
        })
    }),
    check("swizzle/the-cpu-writes-the-pattern", MAPPED, BY_CPU, |ctx| {
        let element = &ELEMENTS_2D[2];
        let texture = by_cpu(ctx, &image(element, [1, 1, 1]))?;
        let bytes = texels(element, [1, 1, 1]);
        let mut tile = vec![0; TILE];
        for (source, target) in places(element, [1, 1, 1]) {
            tile[target..target + 4].copy_from_slice(&bytes[source..source + 4]);
        }
        Mapping::of_tiles(&texture, 0, 1).ok("standard swizzle")?.write(0, &tile);
        memory::map_without_pointer(&texture, 0).ok("without a pointer")?;
        let read = memory::read_from_subresource(&texture, 0, TILE, 512);
        memory::unmap(&texture, 0);
        let found = read.ok("128 by 128")?;
        ensure!(found == bytes, "ReadFromSubresource returns different texels");
        Ok("128 by 128".to_owned())
    }),
    check("swizzle/mips-are-mapped-apart", MAPPED, BY_CPU, |ctx| {
        let desc = with_mips(image(&ELEMENTS_2D[2], [2, 2, 1]), 2);
        let texture = by_cpu(ctx, &desc)?;
        let first = Mapping::of_tiles(&texture, 0, 4).ok("the first mip")?;
        let second = Mapping::of_tiles(&texture, 1, 1).ok("the second mip")?;
        let ends = [0, TILE - 4, 2 * TILE, 4 * TILE - 4];
        ends.into_iter().for_each(|place| first.write(place, &[1; 4]));
        second.write(0, &vec![2; TILE]);
        let kept = ends.into_iter().all(|place| first.read(place, 4) == [1; 4]);
        ensure!(kept, "writing the second mip changed the first");
        let found = memory::read_from_subresource(&texture, 1, TILE, 512).ok("the second mip")?;
        require(found.iter().all(|&byte| byte == 2), || {
            "ReadFromSubresource returns different texels of the second mip".to_owned()
        })
    }),
];

/// `desc` with the standard swizzle layout.
fn swizzled(desc: D3D12_RESOURCE_DESC) -> D3D12_RESOURCE_DESC {
    with_layout(desc, D3D12_TEXTURE_LAYOUT_64KB_STANDARD_SWIZZLE)
}

/// Returns the size of an image in elements.
fn size(element: &Element, tiles: [usize; 3]) -> [usize; 3] {
    [0, 1, 2].map(|axis| element.tile[axis] * tiles[axis])
}

fn small<T: TryFrom<usize>>(value: usize) -> T {
    T::try_from(value).ok().expect("the value fits")
}

/// Returns the description of a texture of this many tiles.
fn image(element: &Element, tiles: [usize; 3]) -> D3D12_RESOURCE_DESC {
    let [width, height, depth] = size(element, tiles);
    let flat = texture2d(element.format, small(width), small(height));
    let desc = if element.tile[2] == 1 {
        flat
    } else {
        D3D12_RESOURCE_DESC {
            Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE3D,
            DepthOrArraySize: small(depth),
            ..flat
        }
    };
    swizzled(desc)
}

/// Returns the bytes of an image in rows, which depend on their position.
fn texels(element: &Element, tiles: [usize; 3]) -> Vec<u8> {
    let len = size(element, tiles).iter().product::<usize>() * element.bytes;
    (0..len).map(|index| small((index * 7 + index / 251 * 5 + index / 65_521) % 251)).collect()
}

/// Returns the offset of each element in rows and its offset in tiles.
fn places(element: &Element, tiles: [usize; 3]) -> impl Iterator<Item = (usize, usize)> {
    let [width, height, depth] = size(element, tiles);
    let blocks =
        (0..depth).flat_map(move |z| (0..height).flat_map(move |y| (0..width).map(move |x| [x, y, z])));
    let (tile, bytes, bits) = (element.tile, element.bytes, element.bits);
    // Each axis has bits of its own, so the offsets along the axes add up.
    let along = [0, 1, 2].map(|axis| {
        let offset = |at: usize| {
            let (mut offset, mut left) = (0, if axis == 0 { at * bytes } else { at });
            for (place, of) in bits.bytes().rev().enumerate() {
                if usize::from(of - b'X') == axis {
                    offset |= (left & 1) << place;
                    left >>= 1;
                }
            }
            offset
        };
        (0..tile[axis]).map(offset).collect::<Vec<_>>()
    });
    blocks.enumerate().map(move |(index, at)| {
        let [across, down, deep] = [0, 1, 2].map(|axis| at[axis] / tile[axis]);
        let inside: usize = [0, 1, 2].iter().map(|&axis| along[axis][at[axis] % tile[axis]]).sum();
        (index * bytes, ((deep * tiles[1] + down) * tiles[0] + across) * TILE + inside)
    })
}

/// Fails the check unless each element has the same value in rows and in tiles.
fn same(element: &Element, tiles: [usize; 3], linear: &[u8], found: &[u8]) -> Verdict {
    let bytes = element.bytes;
    let wrong =
        places(element, tiles).find(|&(from, to)| linear[from..from + bytes] != found[to..to + bytes]);
    require(wrong.is_none(), || {
        let (from, to) = wrong.unwrap_or_default();
        format!("{bytes}-byte texel {} is not at byte {to}", from / bytes)
    })
}

/// Copies rows to a texture and leaves it in state COMMON.
fn copied_in(
    ctx: &Context,
    texture: &ID3D12Resource,
    element: &Element,
    tiles: [usize; 3],
    bytes: &[u8],
) -> Result<(), Stop> {
    let source = ctx.commit(UPLOAD, &buffer(small(bytes.len()))).ok("texels to copy")?;
    ctx.map(&source).ok("an UPLOAD buffer")?.write(0, bytes);
    let [width, height, depth] = size(element, tiles);
    let pitch = width * element.bytes;
    ensure!(pitch.is_multiple_of(256), "RowPitch {pitch} is not a multiple of 256");
    let footprint = rows(element.format, [width, height, depth].map(small), small(pitch));
    let queue = ctx.queue(DIRECT)?;
    queue.run(|list| {
        list.transition(texture, COMMON, COPY_DEST);
        let target = CopyLocation::Subresource(texture, 0);
        list.copy_texture(target, CopyLocation::Footprint(&source, footprint));
        list.transition(texture, COPY_DEST, COMMON);
    })
}

/// Fails the check unless a buffer over a texture's memory contains the texels in the order of the pattern.
fn aliased(ctx: &Context, element: &Element, tiles: [usize; 3]) -> Verdict {
    let desc = image(element, tiles);
    let count = tiles.iter().product::<usize>();
    let room = ctx.valid_allocation("standard swizzle", &desc)?.size;
    let heap = D3D12_HEAP_DESC { Flags: D3D12_HEAP_FLAG_SHARED, ..buffer_heap(DEFAULT, room) };
    let heap = ctx.create_heap(&heap).ok("a shared heap")?;
    let texture = ctx.place(&heap, 0, &desc).ok("standard swizzle")?;
    let bytes = ctx.place(&heap, 0, &buffer(small(count * TILE))).ok("a buffer over it")?;
    let target = ctx.commit(READBACK, &buffer(small(count * TILE))).ok("a READBACK buffer")?;
    let linear = texels(element, tiles);
    copied_in(ctx, &texture, element, tiles, &linear)?;
    let queue = ctx.queue(DIRECT)?;
    queue.run(|list| {
        list.alias(Some(&texture), Some(&bytes));
        list.copy_resource(&target, &bytes);
    })?;
    same(element, tiles, &linear, &ctx.map(&target).ok("a READBACK buffer")?.read(0, count * TILE))
}

/// Creates a CPU-accessible texture.
fn by_cpu(ctx: &Context, desc: &D3D12_RESOURCE_DESC) -> Result<ID3D12Resource, Stop> {
    let properties = custom(D3D12_CPU_PAGE_PROPERTY_WRITE_BACK, D3D12_MEMORY_POOL_L0);
    ctx.commit_with(&properties, D3D12_HEAP_FLAG_NONE, desc)
        .ok("a CPU-accessible texture with standard swizzle")
}
