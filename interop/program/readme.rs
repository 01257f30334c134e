use heapwright::d3d12::D3D12_RESOURCE_STATE_GENERIC_READ;
use heapwright::{ByteSize, HeapType, ResourceAllocationDesc, ResourceAllocator, buffer_desc};
use interop::ToHeapwright as _;
use windows::Win32::Graphics::Direct3D::D3D_FEATURE_LEVEL_11_0;
use windows::Win32::Graphics::Direct3D12::{D3D12CreateDevice, ID3D12Device};

// SAFETY: `windows` in Cargo.toml is the crate of that name.
heapwright::windows_interop!(mod interop for unsafe windows);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut device: Option<ID3D12Device> = None;
    unsafe { D3D12CreateDevice(None, D3D_FEATURE_LEVEL_11_0, &mut device)? };
    let device = device.ok_or("there is no device")?;

    let allocator = ResourceAllocator::new(device.as_heapwright(), None, Default::default())?;
    let upload = ResourceAllocationDesc::new(HeapType::Upload);
    let desc = buffer_desc(ByteSize::from_kib(4));
    let mut buffer = allocator.create_resource(&upload, &desc, D3D12_RESOURCE_STATE_GENERIC_READ, None)?;
    buffer.map()?.write(0, b"hello")?;
    println!("{} at {:?}", buffer.size(), buffer.gpu_virtual_address());
    Ok(()) // dropping the buffer frees its memory
}
