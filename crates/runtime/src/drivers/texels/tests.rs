//! Resolves of differing samples, which no command of this GPU can produce.

use std::sync::Arc;

use heapwright_core::ByteSize;
use heapwright_d3d12::{DXGI_FORMAT_R8G8_UNORM, DXGI_FORMAT_R16_UINT};

use super::super::KIB_64;
use super::super::driver::GpuMemory as _;
use super::super::host;
use super::super::host::memory_access::HostMemory;
use super::super::host::profile::HostProfile;
use super::resolve;
use crate::ddi::umddi::{D3D12DDI_HEAP_FLAG_NONE, D3D12DDI_RESOURCE_FLAG_0003_NONE};
use crate::ddi::{
    CpuPageProperty, DeviceArgs, Extent, HeapArgs, MemoryPool, ResourceArgs, ResourceKind, TextureArgs,
    TextureDimension, TextureMemoryLayout, TextureUsage,
};
use crate::drivers::driver::Driver;
use crate::drivers::resource::DriverResource;
use crate::drivers::texels::TexelRegion;
use crate::format::{self, ResolveMode, Resolver};
use crate::residency::PageableKind;

/// A driver with a heap in which textures are 64 KiB apart.
struct Gpu {
    driver: Driver,
    memory: HostMemory,
    heap: Arc<crate::drivers::heap::DriverHeap>,
}

impl Gpu {
    fn new() -> Self {
        let driver = host::driver(HostProfile::find("discrete").expect("a profile of that name"));
        let device = driver.create_device(&DeviceArgs::default()).expect("no ranges to reserve");
        let args = HeapArgs {
            size: ByteSize::from_mib(1),
            alignment: KIB_64,
            cpu_page_property: CpuPageProperty::NotAvailable,
            memory_pool: MemoryPool::L1,
            flags: D3D12DDI_HEAP_FLAG_NONE,
            existing: None,
            zeroed: true,
            not_resident: false,
            pageable: PageableKind::Heap,
            create_at: None,
        };
        let heap = driver.create_heap(&device, &args).expect("the request fits");
        let memory = HostMemory::new(Arc::clone(driver.space()));
        Self { driver, memory, heap }
    }

    fn texture(&self, place: u64, texture: TextureArgs) -> Arc<DriverResource> {
        let args = ResourceArgs {
            kind: ResourceKind::Texture(texture),
            flags: D3D12DDI_RESOURCE_FLAG_0003_NONE,
            alignment_restriction: KIB_64,
            create_at: None,
        };
        let (heap, offset) = (Arc::clone(&self.heap), place * 65536);
        let allocation = self.driver.check_resource_allocation_info(&args);
        Arc::new(DriverResource::placed(&args, allocation, heap, offset).expect("the request fits"))
    }
}

fn args(format: i32, width: u32, mip_levels: u32, sample_count: u32) -> TextureArgs {
    TextureArgs {
        dimension: TextureDimension::Texture2D,
        extent: Extent { width, height: width, depth: 1 },
        array_size: 1,
        mip_levels,
        format: format::properties(format).expect("a known format"),
        sample_count,
        layout: TextureMemoryLayout::Unknown,
        usage: TextureUsage::default(),
    }
}

#[test]
fn each_texel_is_resolved_from_its_own_samples() {
    let mut gpu = Gpu::new();
    let source = gpu.texture(0, args(DXGI_FORMAT_R8G8_UNORM, 4, 1, 4));
    let target = gpu.texture(1, args(DXGI_FORMAT_R8G8_UNORM, 8, 2, 1));
    // Sample s of texel t: red 10 t + s and green 4 t, so the average of red is 10 t + 1.5, rounded up.
    let samples: Vec<u8> =
        (0..16_u8).flat_map(|t| (0..4_u8).flat_map(move |s| [10 * t + s, 4 * t])).collect();
    gpu.memory.write(source.gpu_virtual_address().get(), &samples).expect("it is mapped");
    let whole = gpu.texture(2, args(DXGI_FORMAT_R8G8_UNORM, 4, 1, 1));
    let all = TexelRegion { start: [0; 3], size: [4, 4, 1] };
    let average = Resolver::new(DXGI_FORMAT_R8G8_UNORM, ResolveMode::Average).expect("known");
    resolve(&mut gpu.memory, (&*whole, 0), [0; 3], (&*source, 0), all, &average).expect("no fault");
    let mut read = [0; 32];
    gpu.memory.read(whole.gpu_virtual_address().get(), &mut read).expect("it is mapped");
    let expected: Vec<u8> = (0..16_u8).flat_map(|t| [10 * t + 2, 4 * t]).collect();
    assert_eq!(read[..], expected[..]);

    // Two by two texels from (1, 2), to (2, 1) of mip 1, which begins 512 bytes from the start.
    let part = TexelRegion { start: [1, 2, 0], size: [2, 2, 1] };
    let max = Resolver::new(DXGI_FORMAT_R8G8_UNORM, ResolveMode::Max).expect("known");
    resolve(&mut gpu.memory, (&*target, 1), [2, 1, 0], (&*source, 0), part, &max).expect("no fault");
    let mut read = [0; 544];
    gpu.memory.read(target.gpu_virtual_address().get(), &mut read).expect("it is mapped");
    let mut expected = [0; 544];
    for (y, x) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let (from, to) = ((2 + y) * 4 + 1 + x, (1 + y) * 4 + 2 + x);
        let from = u8::try_from(from).expect("below 16");
        expected[512 + 2 * to..][..2].copy_from_slice(&[10 * from + 3, 4 * from]);
    }
    assert_eq!(read, expected);
}

#[test]
fn integers_resolve_to_their_minimum() {
    let mut gpu = Gpu::new();
    let source = gpu.texture(0, args(DXGI_FORMAT_R16_UINT, 1, 1, 2));
    let target = gpu.texture(1, args(DXGI_FORMAT_R16_UINT, 1, 1, 1));
    gpu.memory.write(source.gpu_virtual_address().get(), &[0, 2, 255, 1]).expect("it is mapped");
    let region = TexelRegion { start: [0; 3], size: [1; 3] };
    let min = Resolver::new(DXGI_FORMAT_R16_UINT, ResolveMode::Min).expect("known");
    resolve(&mut gpu.memory, (&*target, 0), [0; 3], (&*source, 0), region, &min).expect("no fault");
    let mut read = [0; 4];
    gpu.memory.read(target.gpu_virtual_address().get(), &mut read).expect("it is mapped");
    assert_eq!(read, [255, 1, 0, 0]);
}
