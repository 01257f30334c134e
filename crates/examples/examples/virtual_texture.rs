//! A virtual texture: a window scrolls over a large texture, of which only the tiles near the window have memory.
//!
//! The smallest mips are always mapped, so that something can be drawn everywhere. Each frame maps the tiles that come
//! into view, and unmaps those that left it; their memory is used again when the GPU has finished the frame.
//!
//! ```text
//! cargo run -p heapwright-examples --example virtual_texture                    a simulated GPU
//! cargo run -p heapwright-examples --example virtual_texture -- --device d3d12  Windows' D3D12
//! ```
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it tells what it does")]

mod device;
mod queue;

use std::collections::BTreeSet;
use std::error::Error;
use std::mem::ManuallyDrop;
use std::process::ExitCode;

use heapwright::d3d12::windows_core::Interface as _;
use heapwright::d3d12::*;
use heapwright::{
    ByteSize, HeapType, PoolDesc, ResourceAllocationDesc, ResourceAllocator, ResourceKind, buffer_desc,
};
use heapwright_tiles::{StreamingTexture, TILE_SIZE, TileBox, TilePool};

use self::device::Argument;
use self::queue::Queue;

type Answer<T> = Result<T, Box<dyn Error>>;

/// Side of the texture, in texels: 1 GiB.
const SIDE: u32 = 16384;
/// Side of the window, in tiles of 128 by 128 texels.
const WINDOW: u32 = 6;
const FRAMES: u32 = 100;
/// Number of bytes of a tile.
const TILE: usize = 65536;

fn main() -> ExitCode {
    let device = match device::from_arguments(std::env::args().skip(1)) {
        Ok(Argument::Device(device)) => Ok(device),
        Ok(Argument::Help) => {
            println!("{}", device::HELP);
            return ExitCode::SUCCESS;
        }
        Err(error) => Err(error.into()),
    };
    match device.and_then(|device| run(device.as_deref())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

pub(crate) fn run(device: Option<&str>) -> Answer<()> {
    let gpu = device::open(device)?;
    let allocator = ResourceAllocator::new(&gpu.device, gpu.adapter.as_ref(), Default::default())?;
    let desc = PoolDesc {
        name: "textures".into(),
        resources: ResourceKind::Textures,
        heap_size: Some(ByteSize::from_mib(1)),
        ..Default::default()
    };
    let pool = match TilePool::new(&allocator, desc) {
        Err(error) if error.is_unsupported() => {
            println!("nothing    {error}");
            return Ok(());
        }
        pool => pool?,
    };
    let desc = D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        Width: SIDE.into(),
        Height: SIDE,
        DepthOrArraySize: 1,
        MipLevels: 15,
        Format: DXGI_FORMAT_R8G8B8A8_UNORM,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        ..Default::default()
    };
    let mut texture = StreamingTexture::new(&pool, &desc, D3D12_RESOURCE_STATE_COPY_DEST, None)?;
    let [width, height, _] = texture.size_in_tiles(0).ok_or("the first mip is packed")?;
    let smallest = u32::from(desc.MipLevels) - 1;
    texture.map_mip(smallest)?;

    let mut queue = Queue::new(&gpu.device)?;
    let most = u64::from(WINDOW * WINDOW);
    let new = |heap_type| {
        allocator.create(
            &ResourceAllocationDesc::new(heap_type),
            buffer_desc(ByteSize::new(most * TILE_SIZE.get())),
        )
    };
    let (mut upload, mut readback) = (new(HeapType::Upload)?, new(HeapType::Readback)?);
    let mut mapped: BTreeSet<(u32, u32)> = BTreeSet::new();
    let (mut peak, mut loaded, mut compared) = (ByteSize::ZERO, 0, 0);
    for frame in 0..FRAMES {
        queue.wait()?;
        pool.collect();
        // Diagonally, at two different speeds.
        let (x, y) = ((frame / 2) % (width - WINDOW), (frame / 3) % (height - WINDOW));
        let window: BTreeSet<(u32, u32)> =
            (x..x + WINDOW).flat_map(|x| (y..y + WINDOW).map(move |y| (x, y))).collect();
        for &(x, y) in mapped.difference(&window) {
            texture.unmap(0, TileBox::tile(x, y))?;
        }
        let missing: Vec<(u32, u32)> = window.difference(&mapped).copied().collect();
        let mut bytes = upload.map()?;
        for (at, &(x, y)) in (0..).zip(&missing) {
            texture.map(0, TileBox::tile(x, y))?;
            bytes.write(at * TILE_SIZE.get(), &[byte_of(x, y); TILE])?;
        }
        drop(bytes);
        // SAFETY: the queue signals the value after the list below, and the lists of earlier frames have finished.
        unsafe { texture.update(&queue.queue, &queue.fence, queue.next())? };
        peak = peak.max(pool.stats().reserved);
        queue.execute(|list| {
            // SAFETY: the tiles of the window are mapped, and everything is alive until the list has finished.
            unsafe {
                for (at, &(x, y)) in (0..).zip(&missing) {
                    copy_tile(list, &texture, (x, y), upload.resource(), at, true);
                }
                transition(list, &texture, D3D12_RESOURCE_STATE_COPY_DEST, D3D12_RESOURCE_STATE_COPY_SOURCE);
                for (at, &(x, y)) in (0..).zip(&window) {
                    copy_tile(list, &texture, (x, y), readback.resource(), at, false);
                }
                transition(list, &texture, D3D12_RESOURCE_STATE_COPY_SOURCE, D3D12_RESOURCE_STATE_COPY_DEST);
            }
        })?;
        loaded += missing.len();
        if frame % 10 == 0 {
            queue.wait()?;
            let mut seen = vec![0; usize::try_from(most * TILE_SIZE.get())?];
            readback.map()?.read(0, &mut seen)?;
            for (&(x, y), seen) in window.iter().zip(seen.chunks(TILE)) {
                if seen != [byte_of(x, y); TILE] {
                    return Err(format!("tile {x}, {y} is not what was loaded").into());
                }
            }
            compared += window.len();
        }
        mapped = window;
    }
    queue.wait()?;
    println!(
        "texture    {} of addresses, {} mapped",
        ByteSize::new(u64::from(SIDE) * u64::from(SIDE) * 4),
        texture.committed()
    );
    println!("held       at most {peak}");
    println!("loaded     {loaded} tiles in {FRAMES} frames; {compared} compared, all the same");
    Ok(())
}

fn byte_of(x: u32, y: u32) -> u8 {
    1 + ((x * 31 + y * 17) % 251) as u8
}

/// Copies a tile of the first mip from a buffer, or to it. Its rows follow each other there.
///
/// # Safety
///
/// The list executes while both have memory.
unsafe fn copy_tile(
    list: &ID3D12GraphicsCommandList,
    texture: &StreamingTexture,
    (x, y): (u32, u32),
    buffer: &ID3D12Resource,
    at: u64,
    to_texture: bool,
) {
    let (x, y) = (x * 128, y * 128);
    let footprint = D3D12_SUBRESOURCE_FOOTPRINT {
        Format: DXGI_FORMAT_R8G8B8A8_UNORM,
        Width: 128,
        Height: 128,
        Depth: 1,
        RowPitch: 512,
    };
    let rows = D3D12_TEXTURE_COPY_LOCATION {
        pResource: borrow(buffer),
        Type: D3D12_TEXTURE_COPY_TYPE_PLACED_FOOTPRINT,
        Anonymous: D3D12_TEXTURE_COPY_LOCATION_0 {
            PlacedFootprint: D3D12_PLACED_SUBRESOURCE_FOOTPRINT {
                Offset: at * TILE_SIZE.get(),
                Footprint: footprint,
            },
        },
    };
    let mip = D3D12_TEXTURE_COPY_LOCATION {
        pResource: borrow(texture.resource()),
        Type: D3D12_TEXTURE_COPY_TYPE_SUBRESOURCE_INDEX,
        Anonymous: D3D12_TEXTURE_COPY_LOCATION_0 { SubresourceIndex: 0 },
    };
    let region = D3D12_BOX { left: x, top: y, front: 0, right: x + 128, bottom: y + 128, back: 1 };
    // SAFETY: the locations and the box outlive the calls; for the rest, the caller's promise.
    unsafe {
        if to_texture {
            list.CopyTextureRegion(&mip, x, y, 0, &rows, None);
        } else {
            list.CopyTextureRegion(&rows, 0, 0, 0, &mip, Some(&raw const region));
        }
    }
}

/// # Safety
///
/// The texture is in the state `before` when the list executes.
unsafe fn transition(
    list: &ID3D12GraphicsCommandList,
    texture: &StreamingTexture,
    before: D3D12_RESOURCE_STATES,
    after: D3D12_RESOURCE_STATES,
) {
    let transition = D3D12_RESOURCE_TRANSITION_BARRIER {
        pResource: borrow(texture.resource()),
        Subresource: D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES,
        StateBefore: before,
        StateAfter: after,
    };
    let barrier = D3D12_RESOURCE_BARRIER {
        Type: D3D12_RESOURCE_BARRIER_TYPE_TRANSITION,
        Flags: D3D12_RESOURCE_BARRIER_FLAG_NONE,
        Anonymous: D3D12_RESOURCE_BARRIER_0 { Transition: ManuallyDrop::new(transition) },
    };
    // SAFETY: the barrier outlives the call; for the rest, the caller's promise.
    unsafe { list.ResourceBarrier(&[barrier]) };
}

/// Returns the resource without a reference of its own.
fn borrow(resource: &ID3D12Resource) -> ManuallyDrop<Option<ID3D12Resource>> {
    // SAFETY: the pointer is valid, and the reference is not released.
    ManuallyDrop::new(Some(unsafe { ID3D12Resource::from_raw(resource.as_raw()) }))
}
