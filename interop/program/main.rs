//! A program that uses Direct3D 12 through the crate `windows` and allocates memory with heapwright.
//!
//! It is built with `windows` 0.58 and 0.62 (`../windows-058`, `../windows-062`) from the same source. It uploads a
//! texture and reads it back with a command list of `windows`, which a residency manager executes on a queue of
//! `windows`, and imports a resource that was created with `windows`.

use std::error::Error;
use std::mem::{ManuallyDrop, transmute_copy};

use heapwright::residency::{ResidencyList, ResidencyManager};
use heapwright::{
    ByteSize, FenceValue, HeapType, ResourceAllocation, ResourceAllocationDesc, ResourceAllocator,
};
use windows::Win32::Foundation::HANDLE;
use windows::Win32::Graphics::Direct3D::D3D_FEATURE_LEVEL_11_0;
use windows::Win32::Graphics::Direct3D12::*;
use windows::Win32::Graphics::Dxgi::Common::*;
use windows::Win32::Graphics::Dxgi::{CreateDXGIFactory1, IDXGIAdapter1, IDXGIFactory1};

use interop::{AdapterToHeapwright as _, ToHeapwright as _, ToWindows as _, ValueToHeapwright as _};

// Defines the conversions.
// SAFETY: `windows` in Cargo.toml is the crate of that name.
heapwright::windows_interop!(mod interop for unsafe windows);

type BoxResult<T> = Result<T, Box<dyn Error>>;

/// Width and height of the texture. With 4 bytes per pixel, rows have 256 bytes, the alignment that copies require.
const SIDE: u32 = 64;
const ROW: u32 = SIDE * 4;
const BYTES: usize = (SIDE * ROW) as usize;

fn main() -> BoxResult<()> {
    // SAFETY: the program follows Direct3D 12's rules: pointers are valid, results have the requested interfaces, and
    // objects that the GPU uses live until the fence is reached.
    unsafe {
        let (device, adapter) = open()?;
        let adapter = adapter.to_heapwright()?;
        let manager = ResidencyManager::new(device.as_heapwright(), Some(&adapter), Default::default())?;
        let allocator = ResourceAllocator::with_residency(
            device.as_heapwright(),
            Some(&adapter),
            Default::default(),
            &manager,
        )?;

        let pixels: Vec<u8> = (0..BYTES).map(|at| (at * 7 % 251) as u8).collect();
        let mut upload = buffer(&allocator, HeapType::Upload, D3D12_RESOURCE_STATE_GENERIC_READ)?;
        upload.map()?.write(0, &pixels)?;
        let mut readback = buffer(&allocator, HeapType::Readback, D3D12_RESOURCE_STATE_COPY_DEST)?;
        let texture = allocator.create_resource(
            &ResourceAllocationDesc::new(HeapType::Default),
            texture_desc().as_heapwright(),
            D3D12_RESOURCE_STATE_COPY_DEST.to_heapwright(),
            None,
        )?;
        // Calls GetDesc of `windows` on heapwright's resource.
        let desc = texture.resource().as_windows().GetDesc();
        assert_eq!((desc.Width, desc.Height, desc.Format), (SIDE.into(), SIDE, DXGI_FORMAT_R8G8B8A8_UNORM));

        let (fence, value) = copy(&device, &manager, &upload, &texture, &readback)?;
        let mut seen = vec![0; BYTES];
        readback.map()?.read(0, &mut seen)?;
        assert!(seen == pixels, "the texture was read back unchanged");
        println!("uploaded {BYTES} bytes to a {SIDE} x {SIDE} texture and read them back");

        let mine = committed_buffer(&device)?;
        let imported = allocator.import(&ResourceAllocationDesc::default(), mine.as_heapwright())?;
        assert_eq!(imported.resource().as_windows(), &mine, "the same object");
        assert_eq!(allocator.stats().imported_count, 1);
        println!("imported a buffer of {} that was created with `windows`", imported.size());

        let stats = manager.stats();
        assert!(stats.current_heap_usage >= allocator.reserved(), "the manager has all heaps: {stats:?}");
        println!("{} in {} heaps are managed", stats.current_heap_usage, stats.current_heap_count);

        allocator.free_after(texture, fence.as_heapwright(), value)?;
        assert_eq!(allocator.collect(), 1, "the fence is reached");
        drop((upload, readback, imported));
        assert_eq!(allocator.stats().used, ByteSize::ZERO);
        println!("freed everything; {} are reserved", allocator.reserved());
    }
    Ok(())
}

/// Returns the first adapter and a device on it.
unsafe fn open() -> BoxResult<(ID3D12Device, IDXGIAdapter1)> {
    unsafe {
        let factory: IDXGIFactory1 = CreateDXGIFactory1()?;
        let adapter = factory.EnumAdapters1(0)?;
        let mut device: Option<ID3D12Device> = None;
        D3D12CreateDevice(&adapter, D3D_FEATURE_LEVEL_11_0, &mut device)?;
        Ok((device.ok_or("D3D12CreateDevice returned no device")?, adapter))
    }
}

fn buffer(
    allocator: &ResourceAllocator,
    heap_type: HeapType,
    state: D3D12_RESOURCE_STATES,
) -> Result<ResourceAllocation, heapwright::Error> {
    let allocation = ResourceAllocationDesc::new(heap_type);
    allocator.create_resource(&allocation, buffer_desc().as_heapwright(), state.to_heapwright(), None)
}

/// Copies `upload` to `texture` and `texture` to `readback`, and waits for completion. Returns the manager's fence and
/// its value.
unsafe fn copy(
    device: &ID3D12Device,
    manager: &ResidencyManager,
    upload: &ResourceAllocation,
    texture: &ResourceAllocation,
    readback: &ResourceAllocation,
) -> BoxResult<(ID3D12Fence, FenceValue)> {
    unsafe {
        let queue_desc =
            D3D12_COMMAND_QUEUE_DESC { Type: D3D12_COMMAND_LIST_TYPE_DIRECT, ..Default::default() };
        let queue: ID3D12CommandQueue = device.CreateCommandQueue(&queue_desc)?;
        let commands: ID3D12CommandAllocator =
            device.CreateCommandAllocator(D3D12_COMMAND_LIST_TYPE_DIRECT)?;
        let list: ID3D12GraphicsCommandList =
            device.CreateCommandList(0, D3D12_COMMAND_LIST_TYPE_DIRECT, &commands, None)?;

        let texture_allocation = texture;
        let texture = texture.resource().as_windows();
        list.CopyTextureRegion(
            &subresource(texture),
            0,
            0,
            0,
            &rows(upload.resource().as_windows(), upload.offset_from_resource()),
            None,
        );
        list.ResourceBarrier(&[to_copy_source(texture)]);
        list.CopyTextureRegion(
            &rows(readback.resource().as_windows(), readback.offset_from_resource()),
            0,
            0,
            0,
            &subresource(texture),
            None,
        );
        list.Close()?;

        let used = ResidencyList::new();
        for allocation in [upload, texture_allocation, readback] {
            used.add_allocation(allocation)?;
        }
        let list = ID3D12CommandList::from(list).into_heapwright();
        let value = manager.execute_command_lists(queue.as_heapwright(), &[used.of(&list)])?;
        let fence: ID3D12Fence = manager.queue_fence(queue.as_heapwright())?.into_windows();
        // Without an event, the call returns when the fence value is reached.
        fence.SetEventOnCompletion(value.get(), HANDLE::default())?;
        Ok((fence, value))
    }
}

/// Returns the location of a texture's only subresource, which must not outlive `resource`.
unsafe fn subresource(resource: &ID3D12Resource) -> D3D12_TEXTURE_COPY_LOCATION {
    D3D12_TEXTURE_COPY_LOCATION {
        pResource: unsafe { borrowed(resource) },
        Type: D3D12_TEXTURE_COPY_TYPE_SUBRESOURCE_INDEX,
        Anonymous: D3D12_TEXTURE_COPY_LOCATION_0 { SubresourceIndex: 0 },
    }
}

/// Returns the location of the texture's rows in a buffer, which must not outlive `resource`.
unsafe fn rows(resource: &ID3D12Resource, offset: ByteSize) -> D3D12_TEXTURE_COPY_LOCATION {
    let footprint = D3D12_SUBRESOURCE_FOOTPRINT {
        Format: DXGI_FORMAT_R8G8B8A8_UNORM,
        Width: SIDE,
        Height: SIDE,
        Depth: 1,
        RowPitch: ROW,
    };
    let placed = D3D12_PLACED_SUBRESOURCE_FOOTPRINT { Offset: offset.get(), Footprint: footprint };
    D3D12_TEXTURE_COPY_LOCATION {
        pResource: unsafe { borrowed(resource) },
        Type: D3D12_TEXTURE_COPY_TYPE_PLACED_FOOTPRINT,
        Anonymous: D3D12_TEXTURE_COPY_LOCATION_0 { PlacedFootprint: placed },
    }
}

/// Returns a barrier from COPY_DEST to COPY_SOURCE, which must not outlive `resource`.
unsafe fn to_copy_source(resource: &ID3D12Resource) -> D3D12_RESOURCE_BARRIER {
    let transition = D3D12_RESOURCE_TRANSITION_BARRIER {
        pResource: unsafe { borrowed(resource) },
        Subresource: D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES,
        StateBefore: D3D12_RESOURCE_STATE_COPY_DEST,
        StateAfter: D3D12_RESOURCE_STATE_COPY_SOURCE,
    };
    D3D12_RESOURCE_BARRIER {
        Type: D3D12_RESOURCE_BARRIER_TYPE_TRANSITION,
        Flags: D3D12_RESOURCE_BARRIER_FLAG_NONE,
        Anonymous: D3D12_RESOURCE_BARRIER_0 { Transition: ManuallyDrop::new(transition) },
    }
}

/// Returns the pointer for a structure of `windows`, without adding a reference.
unsafe fn borrowed(resource: &ID3D12Resource) -> ManuallyDrop<Option<ID3D12Resource>> {
    // SAFETY: both types have the layout of a pointer, and the copy is never dropped.
    unsafe { transmute_copy(resource) }
}

/// Creates a committed buffer without heapwright.
unsafe fn committed_buffer(device: &ID3D12Device) -> BoxResult<ID3D12Resource> {
    let properties = D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_DEFAULT, ..Default::default() };
    let mut made: Option<ID3D12Resource> = None;
    unsafe {
        device.CreateCommittedResource(
            &properties,
            D3D12_HEAP_FLAG_NONE,
            &buffer_desc(),
            D3D12_RESOURCE_STATE_COMMON,
            None,
            &mut made,
        )?;
    }
    Ok(made.ok_or("CreateCommittedResource returned no resource")?)
}

fn buffer_desc() -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_BUFFER,
        Width: BYTES as u64,
        Height: 1,
        DepthOrArraySize: 1,
        MipLevels: 1,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        Layout: D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
        ..Default::default()
    }
}

fn texture_desc() -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        Width: SIDE.into(),
        Height: SIDE,
        DepthOrArraySize: 1,
        MipLevels: 1,
        Format: DXGI_FORMAT_R8G8B8A8_UNORM,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        ..Default::default()
    }
}
