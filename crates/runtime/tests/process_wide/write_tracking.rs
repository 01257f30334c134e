//! Manual write tracking (Microsoft's *GPU Upload Heaps*). This is a test program of its own, as a tool is
//! registered for the whole process.

use std::sync::{Arc, Mutex};

use heapwright_d3d12::*;
use heapwright_runtime::write_tracking::{TrackedWrite, WriteTracker, WrittenRange, install};
use heapwright_runtime::{HostProfile, Instance};
use windows_core::{HRESULT, Interface};

#[derive(Default)]
struct Tool(Mutex<Vec<TrackedWrite>>);

impl WriteTracker for Tool {
    fn track_write(&self, write: &TrackedWrite) {
        self.0.lock().expect("no panics").push(write.clone());
    }
}

fn is_supported(gpu: &Instance) -> bool {
    let mut options = D3D12_FEATURE_DATA_D3D12_OPTIONS17::default();
    let size = u32::try_from(size_of_val(&options)).expect("small");
    let data = (&raw mut options).cast();
    unsafe { gpu.device.CheckFeatureSupport(D3D12_FEATURE_D3D12_OPTIONS17, data, size) }.ok().expect("known");
    options.ManualWriteTrackingResourceSupported.as_bool()
}

fn tracked_heap(gpu: &Instance) -> Result<ID3D12Heap, HRESULT> {
    heap_with(gpu, D3D12_HEAP_FLAG_TOOLS_USE_MANUAL_WRITE_TRACKING)
}

fn heap_with(gpu: &Instance, flags: D3D12_HEAP_FLAGS) -> Result<ID3D12Heap, HRESULT> {
    let desc = D3D12_HEAP_DESC {
        SizeInBytes: 1 << 20,
        Properties: D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_UPLOAD, ..Default::default() },
        Flags: flags,
        ..Default::default()
    };
    let mut heap = None;
    unsafe { gpu.device.CreateHeap(&desc, &mut heap) }.map_err(|error| error.code())?;
    Ok(heap.expect("S_OK comes with a heap"))
}

fn buffer(gpu: &Instance, heap: &ID3D12Heap) -> ID3D12Resource {
    let desc = D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_BUFFER,
        Width: 4096,
        Height: 1,
        DepthOrArraySize: 1,
        MipLevels: 1,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        Layout: D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
        ..Default::default()
    };
    let mut resource = None;
    let state = D3D12_RESOURCE_STATE_GENERIC_READ;
    unsafe { gpu.device.CreatePlacedResource(heap, 0, &desc, state, None, &mut resource) }.expect("placed");
    resource.expect("S_OK comes with a resource")
}

#[test]
fn a_tool_hears_of_writes_while_it_is_installed() {
    let gpu = Instance::open(HostProfile::default_profile()).expect("a fresh instance");
    assert!(!is_supported(&gpu), "false by default");
    assert_eq!(tracked_heap(&gpu).err(), Some(E_INVALIDARG), "an error where it is not supported");

    let older = install(Arc::new(Tool::default()));
    let tool = Arc::new(Tool::default());
    let installation = install(Arc::clone(&tool) as Arc<dyn WriteTracker>);
    drop(older);
    assert!(is_supported(&gpu), "the older tool was replaced; removing it changes nothing");
    let heap = tracked_heap(&gpu).expect("the tool supports it");
    #[cfg(feature = "preview")]
    the_flag_of_previews_is_for_a_tool_and_a_preview();
    let resource = buffer(&gpu, &heap);
    let name: Vec<u16> = "vertices".encode_utf16().chain([0]).collect();
    unsafe { resource.SetName(PCWSTR(name.as_ptr())) }.ok().expect("named");
    let tracking: ID3D12ManualWriteTrackingResource = resource.cast().expect("there is a tool");
    let again: ID3D12Resource = tracking.cast().expect("the same object");
    assert_eq!(again, resource);
    unsafe {
        tracking.TrackWrite(0, None);
        tracking.TrackWrite(0, Some(&D3D12_RANGE { Begin: 16, End: 48 }));
        tracking.TrackWrite(0, Some(&D3D12_RANGE { Begin: 48, End: 48 }));
        tracking.TrackWrite(0, Some(&D3D12_RANGE { Begin: 9, End: 3 }));
        tracking.TrackWrite(77, None);
    }
    let D3D12_GPU_VIRTUAL_ADDRESS(address) = unsafe { resource.GetGPUVirtualAddress() };
    let heard = std::mem::take(&mut *tool.0.lock().expect("no panics"));
    assert!(heard.iter().all(|write| write.resource.get() == address));
    assert!(heard.iter().all(|write| write.name.as_deref() == Some("vertices")));
    let expected = [
        (0, WrittenRange::Whole),
        (0, WrittenRange::Bytes { begin: 16, end: 48 }),
        (0, WrittenRange::Nothing),
        (0, WrittenRange::Nothing),
        (77, WrittenRange::Whole),
    ];
    let found: Vec<_> = heard.iter().map(|write| (write.subresource, write.range)).collect();
    assert_eq!(found, expected, "what the application says is passed on unchecked");

    drop(installation);
    assert!(!is_supported(&gpu));
    let refused = resource.cast::<ID3D12ManualWriteTrackingResource>();
    assert_eq!(refused.expect_err("no tool").code(), E_NOINTERFACE);
    unsafe { tracking.TrackWrite(0, None) };
    assert!(tool.0.lock().expect("no panics").is_empty(), "nobody listens any more");
}

/// A tool is installed.
#[cfg(feature = "preview")]
fn the_flag_of_previews_is_for_a_tool_and_a_preview() {
    use heapwright_d3d12::preview::D3D12_HEAP_FLAG_TOOLS_ENABLE_MEMORY_TRACKING;
    use heapwright_runtime::{DeviceOptions, SdkVersion};

    let open = |sdk| {
        let options = DeviceOptions { sdk, ..DeviceOptions::default() };
        Instance::open_with(HostProfile::default_profile(), options).expect("a fresh instance")
    };
    let flags = D3D12_HEAP_FLAG_TOOLS_ENABLE_MEMORY_TRACKING;
    let heap = heap_with(&open(SdkVersion::PREVIEW), flags).expect("the tool supports it");
    assert_eq!(unsafe { heap.GetDesc() }.Flags, flags);
    assert_eq!(heap_with(&open(SdkVersion::NEWEST), flags).err(), Some(E_INVALIDARG), "unknown in retail");
}
