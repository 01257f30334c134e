//! A program with two versions of `windows`: an engine with 0.58, which owns the device and the memory, and a plugin
//! with 0.62, which uses the engine's resources. Both use heapwright's types in their interfaces.

use std::error::Error;

/// The engine.
mod engine {
    use heapwright::d3d12::{ID3D12Device, ID3D12Resource};
    use heapwright::{HeapType, ResourceAllocation, ResourceAllocationDesc, ResourceAllocator};
    use windows_058::Win32::Graphics::Direct3D::D3D_FEATURE_LEVEL_11_0;
    use windows_058::Win32::Graphics::Direct3D12::{
        D3D12_RESOURCE_STATE_GENERIC_READ, D3D12CreateDevice, ID3D12Device as Device,
    };
    use windows_058::Win32::Graphics::Dxgi::{CreateDXGIFactory1, IDXGIFactory1};

    use interop::{AdapterToHeapwright as _, ToHeapwright as _, ToWindows as _, ValueToHeapwright as _};

    // SAFETY: `windows_058` in Cargo.toml is the crate `windows`.
    heapwright::windows_interop!(mod interop for unsafe windows_058);

    pub(crate) struct Engine {
        device: Device,
        pub(crate) allocator: ResourceAllocator,
    }

    impl Engine {
        pub(crate) fn new() -> Result<Self, Box<dyn std::error::Error>> {
            let mut device: Option<Device> = None;
            // SAFETY: the adapter is alive, and the result has the requested interface.
            let adapter = unsafe {
                let factory: IDXGIFactory1 = CreateDXGIFactory1()?;
                let adapter = factory.EnumAdapters1(0)?;
                D3D12CreateDevice(&adapter, D3D_FEATURE_LEVEL_11_0, &mut device)?;
                adapter
            };
            let device = device.ok_or("D3D12CreateDevice returned no device")?;
            let adapter = adapter.to_heapwright()?;
            let allocator =
                ResourceAllocator::new(device.as_heapwright(), Some(&adapter), Default::default())?;
            Ok(Self { device, allocator })
        }

        /// Returns the device as heapwright's type, which is independent of the version of `windows`.
        pub(crate) fn device(&self) -> &ID3D12Device {
            self.device.as_heapwright()
        }

        pub(crate) fn upload_buffer(&self) -> Result<ResourceAllocation, heapwright::Error> {
            let desc = heapwright::buffer_desc(heapwright::ByteSize::from_kib(64));
            let upload = ResourceAllocationDesc::new(HeapType::Upload);
            let state = D3D12_RESOURCE_STATE_GENERIC_READ.to_heapwright();
            self.allocator.create_resource(&upload, &desc, state, None)
        }

        /// Returns the width of a resource according to `windows` 0.58.
        pub(crate) fn width(&self, resource: &ID3D12Resource) -> u64 {
            // SAFETY: the resource is alive.
            unsafe { resource.as_windows().GetDesc() }.Width
        }
    }
}

/// The plugin.
mod plugin {
    use heapwright::d3d12::{ID3D12Device, ID3D12Resource};
    use windows_062::Win32::Graphics::Direct3D12::*;
    use windows_062::Win32::Graphics::Dxgi::Common::DXGI_SAMPLE_DESC;

    use interop::{ToHeapwright as _, ToWindows as _};

    // SAFETY: `windows_062` in Cargo.toml is the crate `windows`.
    heapwright::windows_interop!(mod interop for unsafe windows_062);

    /// Returns the width of a resource according to `windows` 0.62.
    pub(crate) fn width(resource: &ID3D12Resource) -> u64 {
        // SAFETY: the resource is alive.
        unsafe { resource.as_windows().GetDesc() }.Width
    }

    /// Creates a buffer with `windows` 0.62.
    pub(crate) fn buffer(
        device: &ID3D12Device,
        bytes: u64,
    ) -> Result<ID3D12Resource, Box<dyn std::error::Error>> {
        let properties = D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_DEFAULT, ..Default::default() };
        let desc = D3D12_RESOURCE_DESC {
            Dimension: D3D12_RESOURCE_DIMENSION_BUFFER,
            Width: bytes,
            Height: 1,
            DepthOrArraySize: 1,
            MipLevels: 1,
            SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
            Layout: D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
            ..Default::default()
        };
        let mut made: Option<windows_062::Win32::Graphics::Direct3D12::ID3D12Resource> = None;
        // SAFETY: the device is alive, all pointers are valid, and the result has the requested interface.
        unsafe {
            device.as_windows().CreateCommittedResource(
                &properties,
                D3D12_HEAP_FLAG_NONE,
                &desc,
                D3D12_RESOURCE_STATE_COMMON,
                None,
                &mut made,
            )?;
        }
        Ok(made.ok_or("CreateCommittedResource returned no resource")?.into_heapwright())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let engine = engine::Engine::new()?;

    let upload = engine.upload_buffer()?;
    let (seen_058, seen_062) = (engine.width(upload.resource()), plugin::width(upload.resource()));
    assert_eq!((seen_058, seen_062), (64 << 10, 64 << 10));
    println!("one buffer: {seen_058} bytes to windows 0.58, {seen_062} to 0.62");

    let theirs = plugin::buffer(engine.device(), 12_345)?;
    // SAFETY: the buffer is not mapped elsewhere.
    let imported = unsafe { engine.allocator.import(&Default::default(), &theirs) }?;
    assert_eq!((imported.resource(), engine.width(&theirs)), (&theirs, 12_345));
    println!(
        "a buffer of 0.62 on a device of 0.58, imported: {} at {:?}",
        imported.size(),
        imported.heap_type()
    );
    Ok(())
}
