//! Copies a buffer and a texture to the GPU's memory and back.
//!
//! ```text
//! cargo run -p heapwright-examples --example hello_allocator                    a simulated GPU
//! cargo run -p heapwright-examples --example hello_allocator -- --device d3d12  Windows' D3D12
//! ```
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it tells what it does")]

mod device;

use std::error::Error;
use std::mem::ManuallyDrop;
use std::process::ExitCode;

use heapwright::d3d12::windows_core::Interface as _;
use heapwright::d3d12::*;
use heapwright::{
    AdapterDesc, ByteSize, HeapType, ResourceAllocation, ResourceAllocationDesc, ResourceAllocator,
    buffer_desc,
};

use self::device::Argument;

const VERTICES: usize = 1000;
const SIDE: u32 = 100;

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

pub(crate) fn run(device: Option<&str>) -> Result<(), Box<dyn Error>> {
    let gpu = device::open(device)?;
    if let Some(adapter) = &gpu.adapter {
        println!("device     {}", AdapterDesc::query(adapter)?.description);
    }

    // One allocator for each device. The adapter provides budgets and is optional.
    let allocator = ResourceAllocator::new(&gpu.device, gpu.adapter.as_ref(), Default::default())?;

    // The data to upload: some vertices, and the texels of a square texture.
    let vertices: Vec<u8> = (0..VERTICES).flat_map(|at| (at as f32).to_le_bytes()).collect();
    let texels: Vec<u8> =
        (0..SIDE * SIDE).flat_map(|at| at.wrapping_mul(2_654_435_761).to_le_bytes()).collect();

    // The targets: resources in the GPU's own memory, which share heaps with others of their kind.
    let in_gpu_memory = ResourceAllocationDesc::new(HeapType::Default);
    let mut vertex_buffer = allocator.create_resource(
        &in_gpu_memory,
        &buffer_desc(ByteSize::from_usize(vertices.len())),
        D3D12_RESOURCE_STATE_COMMON,
        None,
    )?;
    let texture_desc = D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        Width: SIDE.into(),
        Height: SIDE,
        DepthOrArraySize: 1,
        MipLevels: 1,
        Format: DXGI_FORMAT_R8G8B8A8_UNORM,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        ..Default::default()
    };
    let mut texture =
        allocator.create_resource(&in_gpu_memory, &texture_desc, D3D12_RESOURCE_STATE_COPY_DEST, None)?;
    // Debuggers, reports and recordings show the names.
    vertex_buffer.set_debug_name("vertices")?;
    texture.set_debug_name("texture")?;
    tell("vertices", &vertex_buffer);
    tell("texture", &texture);

    // The staging buffers: the texture's rows in the device's layout, followed by the vertices.
    let rows = Rows::of(&gpu.device, &texture_desc);
    let staging_desc =
        buffer_desc(ByteSize::new(rows.size).checked_add(vertex_buffer.size()).ok_or("large")?);
    let mut upload = allocator.create_resource(
        &ResourceAllocationDesc::new(HeapType::Upload),
        &staging_desc,
        D3D12_RESOURCE_STATE_GENERIC_READ,
        None,
    )?;
    let mut readback = allocator.create_resource(
        &ResourceAllocationDesc::new(HeapType::Readback),
        &staging_desc,
        D3D12_RESOURCE_STATE_COPY_DEST,
        None,
    )?;
    upload.set_debug_name("upload")?;
    readback.set_debug_name("readback")?;
    tell("upload", &upload);
    tell("readback", &readback);

    let mut mapping = upload.map()?;
    for (row, texels) in (0..).zip(texels.chunks(SIDE as usize * 4)) {
        mapping.write(rows.offset(row), texels)?;
    }
    mapping.write(rows.size, &vertices)?;
    drop(mapping);

    let list = CommandList::new(&gpu.device)?;
    let bytes = vertices.len() as u64;
    // SAFETY: the resources are alive until the list has been executed and waited for, and are in the states that the
    // copies need.
    unsafe {
        let list = &list.list;
        let (there, back) = (upload.resource(), readback.resource());
        list.CopyTextureRegion(&subresource(&texture), 0, 0, 0, &rows.location(there), None);
        list.ResourceBarrier(&[transition(
            texture.resource(),
            D3D12_RESOURCE_STATE_COPY_DEST,
            D3D12_RESOURCE_STATE_COPY_SOURCE,
        )]);
        list.CopyTextureRegion(&rows.location(back), 0, 0, 0, &subresource(&texture), None);

        list.CopyBufferRegion(vertex_buffer.resource(), 0, there, rows.size, bytes);
        // The copy promoted the buffer from COMMON.
        list.ResourceBarrier(&[transition(
            vertex_buffer.resource(),
            D3D12_RESOURCE_STATE_COPY_DEST,
            D3D12_RESOURCE_STATE_COPY_SOURCE,
        )]);
        list.CopyBufferRegion(back, rows.size, vertex_buffer.resource(), 0, bytes);
    }
    list.execute_and_wait()?;

    let mapping = readback.map()?;
    let mut seen = vec![0; texels.len()];
    for (row, texels) in (0..).zip(seen.chunks_mut(SIDE as usize * 4)) {
        mapping.read(rows.offset(row), texels)?;
    }
    if seen != texels {
        return Err("the texels read back differ from the uploaded ones".into());
    }
    let mut seen = vec![0; vertices.len()];
    mapping.read(rows.size, &mut seen)?;
    if seen != vertices {
        return Err("the vertices read back differ from the uploaded ones".into());
    }
    drop(mapping);
    println!("compared   {} bytes, all the same", texels.len() + vertices.len());

    // The GPU has finished with the resources, so they can be dropped. (Otherwise: ResourceAllocator::free_after.)
    let held = allocator.reserved();
    drop((vertex_buffer, texture, upload, readback));
    let kept = allocator.reserved();
    println!("freed      all; {held} of heaps were held, {kept} are kept for what comes next");
    if !allocator.stats().used.is_zero() {
        return Err("something is still in use".into());
    }
    Ok(())
}

/// Prints the placement of an allocation.
fn tell(name: &str, allocation: &ResourceAllocation) {
    let (size, alignment, offset) = (allocation.size(), allocation.alignment(), allocation.offset());
    let heap_type = allocation.heap_type();
    println!("{name:<10} {size}, aligned to {alignment}, at {offset} of a heap of type {heap_type}");
}

/// The layout of a texture with one subresource in a buffer.
struct Rows {
    placed: D3D12_PLACED_SUBRESOURCE_FOOTPRINT,
    size: u64,
}

impl Rows {
    fn of(device: &ID3D12Device, desc: &D3D12_RESOURCE_DESC) -> Self {
        let (mut placed, mut size) = (D3D12_PLACED_SUBRESOURCE_FOOTPRINT::default(), 0);
        // SAFETY: the device is alive, and there is room for the one footprint and the size.
        unsafe {
            device.GetCopyableFootprints(desc, 0, 1, 0, Some(&mut placed), None, None, Some(&mut size));
        }
        Self { placed, size }
    }

    /// Returns the offset of a row.
    fn offset(&self, row: u64) -> u64 {
        self.placed.Offset + row * u64::from(self.placed.Footprint.RowPitch)
    }

    fn location(&self, buffer: &ID3D12Resource) -> D3D12_TEXTURE_COPY_LOCATION {
        D3D12_TEXTURE_COPY_LOCATION {
            pResource: borrowed(buffer),
            Type: D3D12_TEXTURE_COPY_TYPE_PLACED_FOOTPRINT,
            Anonymous: D3D12_TEXTURE_COPY_LOCATION_0 { PlacedFootprint: self.placed },
        }
    }
}

fn subresource(texture: &ResourceAllocation) -> D3D12_TEXTURE_COPY_LOCATION {
    D3D12_TEXTURE_COPY_LOCATION {
        pResource: borrowed(texture.resource()),
        Type: D3D12_TEXTURE_COPY_TYPE_SUBRESOURCE_INDEX,
        Anonymous: D3D12_TEXTURE_COPY_LOCATION_0 { SubresourceIndex: 0 },
    }
}

fn transition(
    resource: &ID3D12Resource,
    before: D3D12_RESOURCE_STATES,
    after: D3D12_RESOURCE_STATES,
) -> D3D12_RESOURCE_BARRIER {
    let transition = D3D12_RESOURCE_TRANSITION_BARRIER {
        pResource: borrowed(resource),
        Subresource: D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES,
        StateBefore: before,
        StateAfter: after,
    };
    D3D12_RESOURCE_BARRIER {
        Type: D3D12_RESOURCE_BARRIER_TYPE_TRANSITION,
        Flags: D3D12_RESOURCE_BARRIER_FLAG_NONE,
        Anonymous: D3D12_RESOURCE_BARRIER_0 { Transition: ManuallyDrop::new(transition) },
    }
}

/// Returns the pointer as D3D12's structures contain it, without counting or releasing a reference.
fn borrowed(resource: &ID3D12Resource) -> ManuallyDrop<Option<ID3D12Resource>> {
    // SAFETY: the pointer is an ID3D12Resource's, and ManuallyDrop prevents a second release of the reference. The
    // structures of this program do not outlive the call for which they are created.
    ManuallyDrop::new(Some(unsafe { ID3D12Resource::from_raw(resource.as_raw()) }))
}

/// A command list, and the queue that executes it.
struct CommandList {
    queue: ID3D12CommandQueue,
    /// Holds the recorded commands until they are executed.
    _commands: ID3D12CommandAllocator,
    list: ID3D12GraphicsCommandList,
    fence: ID3D12Fence,
}

impl CommandList {
    fn new(device: &ID3D12Device) -> Result<Self, Box<dyn Error>> {
        let kind = D3D12_COMMAND_LIST_TYPE_DIRECT;
        let desc = D3D12_COMMAND_QUEUE_DESC { Type: kind, ..Default::default() };
        // SAFETY: the device is alive, and each result is of the interface asked for.
        unsafe {
            let commands: ID3D12CommandAllocator = device.CreateCommandAllocator(kind)?;
            Ok(Self {
                queue: device.CreateCommandQueue(&desc)?,
                list: device.CreateCommandList(0, kind, &commands, None)?,
                _commands: commands,
                fence: device.CreateFence(0, D3D12_FENCE_FLAG_NONE)?,
            })
        }
    }

    /// Executes the recorded commands, and waits for the GPU.
    fn execute_and_wait(&self) -> Result<(), Box<dyn Error>> {
        // SAFETY: all objects are alive, and belong to one device.
        unsafe {
            self.list.Close().ok()?;
            self.queue.ExecuteCommandLists(&[Some(self.list.cast()?)]);
            self.queue.Signal(&self.fence, 1).ok()?;
            // Without an event, the call returns when the fence reaches the value.
            self.fence.SetEventOnCompletion(1, HANDLE::default()).ok()?;
        }
        Ok(())
    }
}
