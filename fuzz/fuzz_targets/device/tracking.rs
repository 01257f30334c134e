//! Manual write tracking: a tool that is installed and removed, and writes of any range.

use std::ffi::c_void;
use std::ptr::null;
use std::sync::{Arc, Mutex};

use arbitrary::Arbitrary;
use heapwright_d3d12::*;
use heapwright_runtime::write_tracking::{Installation, TrackedWrite, WriteTracker, WrittenRange, install};
use windows_core::Interface;

use crate::args::Number;
use crate::world::World;

#[derive(Debug, Arbitrary)]
pub enum Op {
    Install { is_there: bool },
    CreateTracked { kind: u8, width: Number, name: Option<u8> },
    Track { index: u8, subresource: Number, range: Option<(Number, Number)>, keep: bool },
    TrackKept { index: u8, subresource: Number, range: Option<(Number, Number)> },
}

/// The tool, and interfaces that were obtained while it was installed.
#[derive(Default)]
pub struct Tool {
    heard: Arc<Heard>,
    installation: Option<Installation>,
    kept: Vec<ID3D12ManualWriteTrackingResource>,
}

/// The writes reported to the tool and not checked yet.
#[derive(Default)]
struct Heard(Mutex<Vec<TrackedWrite>>);

impl WriteTracker for Heard {
    fn track_write(&self, write: &TrackedWrite) {
        self.0.lock().expect("no panics").push(write.clone());
    }
}

impl Tool {
    /// Installs or removes the tool.
    pub fn install(&mut self, is_there: bool) {
        // Removed first, because an installation removes whichever tool is installed when it is dropped.
        self.installation = None;
        self.installation = is_there.then(|| install(Arc::clone(&self.heard) as Arc<dyn WriteTracker>));
    }

    /// Reports a write, and checks that the tool received it unchanged.
    unsafe fn track(
        &self,
        resource: &ID3D12ManualWriteTrackingResource,
        subresource: u32,
        range: Option<D3D12_RANGE>,
    ) {
        let raw = range.as_ref().map_or(null(), std::ptr::from_ref);
        // SAFETY: the resource is live, and the range null or readable.
        unsafe { (resource.vtable().TrackWrite)(resource.as_raw(), subresource, raw) };
        let heard = std::mem::take(&mut *self.heard.0.lock().expect("no panics"));
        if self.installation.is_none() {
            return assert!(heard.is_empty(), "there is no tool");
        }
        let [write] = heard.as_slice() else { panic!("one write: {heard:?}") };
        let expected = match range {
            None => WrittenRange::Whole,
            Some(D3D12_RANGE { Begin: begin, End: end }) if begin < end => WrittenRange::Bytes { begin, end },
            Some(_) => WrittenRange::Nothing,
        };
        assert_eq!((write.subresource, write.range), (subresource, expected));
        let resource: ID3D12Resource = resource.cast().expect("the same object");
        // SAFETY: the resource is live.
        let (desc, address) = unsafe { (resource.GetDesc(), resource.GetGPUVirtualAddress()) };
        if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER {
            assert_eq!(write.resource.get(), address.0);
        }
    }
}

fn range(range: Option<(Number, Number)>) -> Option<D3D12_RANGE> {
    range.map(|(begin, end)| D3D12_RANGE { Begin: begin.get() as usize, End: end.get() as usize })
}

/// Makes one call.
///
/// # Safety
///
/// The objects of the world are live.
pub unsafe fn perform(world: &mut World, op: Op) {
    match op {
        Op::Install { is_there } => world.tool.install(is_there),
        Op::CreateTracked { kind, width, name } => {
            let kinds = [D3D12_HEAP_TYPE_UPLOAD, D3D12_HEAP_TYPE_GPU_UPLOAD, D3D12_HEAP_TYPE_READBACK];
            let properties =
                D3D12_HEAP_PROPERTIES { Type: kinds[usize::from(kind % 3)], ..Default::default() };
            let desc = heapwright::buffer_desc(heapwright::ByteSize::new(width.get()));
            let (flags, state) =
                (D3D12_HEAP_FLAG_TOOLS_USE_MANUAL_WRITE_TRACKING, D3D12_RESOURCE_STATE_COMMON);
            let mut made: Option<ID3D12Resource> = None;
            let device = &world.gpu.device;
            let answer =
                unsafe { device.CreateCommittedResource(&properties, flags, &desc, state, None, &mut made) };
            assert_eq!(answer.is_ok(), made.is_some());
            let Some(resource) = made else { return };
            assert!(world.tool.installation.is_some(), "only a tool supports the flag");
            if let Some(name) = name {
                let name: [u16; 2] = [name.into(), 0];
                let _ = unsafe { resource.SetName(PCWSTR(name.as_ptr())) };
            }
            world.objects.take(resource.into_raw().cast::<c_void>());
        }
        Op::Track { index, subresource, range: bytes, keep } => {
            let Some(resource) = world.objects.pick_as::<ID3D12Resource>(index) else { return };
            let asked = resource.cast::<ID3D12ManualWriteTrackingResource>();
            assert_eq!(asked.is_ok(), world.tool.installation.is_some());
            let Ok(tracking) = asked else { return };
            unsafe { world.tool.track(&tracking, subresource.u32(), range(bytes)) };
            if keep && world.tool.kept.len() < 8 {
                world.tool.kept.push(tracking);
            }
        }
        Op::TrackKept { index, subresource, range: bytes } => {
            let kept = &world.tool.kept;
            let Some(tracking) = kept.get(usize::from(index) % kept.len().max(1)) else { return };
            unsafe { world.tool.track(tracking, subresource.u32(), range(bytes)) };
        }
    }
}
