//! Shared handles: created, opened by handle and by name, closed, and used after they are closed.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

use arbitrary::{Arbitrary, Unstructured};
use heapwright_d3d12::event::{self, Event, EventReset};
use heapwright_d3d12::*;
use heapwright_runtime::{HostProfile, Instance};
use windows_core::Interface;

use crate::args::Number;
use crate::world::{IIDS, World};

const GENERIC_ALL: u32 = 0x1000_0000;

/// Colliding names: few, so that they are often taken and found.
const NAMES: [&str; 6] = ["weights", "Weights", r"Local\weights", r"Global\weights", r"Local\a\b", ""];

#[derive(Debug, Arbitrary)]
pub enum Name {
    Null,
    Common(u8),
    Long(u16),
    Units(Vec<u16>),
}

impl Name {
    /// Calls `act` with the zero-terminated name or a null pointer.
    fn with<T>(&self, act: impl FnOnce(PCWSTR) -> T) -> T {
        let units = self.units();
        act(units.as_ref().map_or(PCWSTR::null(), |units| PCWSTR(units.as_ptr())))
    }

    fn units(&self) -> Option<Vec<u16>> {
        let mut units: Vec<u16> = match self {
            Self::Null => return None,
            Self::Common(index) => NAMES[usize::from(*index) % NAMES.len()].encode_utf16().collect(),
            Self::Long(len) => vec![u16::from(b'n'); usize::from(len % 600)],
            Self::Units(units) => units.clone(),
        };
        units.push(0);
        Some(units)
    }
}

#[derive(Debug, Clone, Copy, Arbitrary)]
pub enum Which {
    Open(u8),
    Closed(u8),
    Number(Number),
}

/// The device to call. The foreign one is on another adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    First,
    Second,
    Foreign,
}

impl Arbitrary<'_> for Whose {
    fn arbitrary(bytes: &mut Unstructured<'_>) -> arbitrary::Result<Self> {
        Ok(match u8::arbitrary(bytes)? % 8 {
            0..4 => Self::First,
            4..7 => Self::Second,
            _ => Self::Foreign,
        })
    }
}

/// The requested access, mostly the valid one.
#[derive(Debug, Clone, Copy)]
pub struct Access(u32);

impl Arbitrary<'_> for Access {
    fn arbitrary(bytes: &mut Unstructured<'_>) -> arbitrary::Result<Self> {
        let is_hostile = u8::arbitrary(bytes)? % 8 == 7;
        Ok(Self(if is_hostile { Number::arbitrary(bytes)?.u32() } else { GENERIC_ALL }))
    }
}

/// A call. `CreateShared` creates a shareable object, shares it, and opens it by its handle or its name.
#[derive(Debug, Arbitrary)]
pub enum Op {
    CreateFence { value: Number, flags: Option<Number>, second: bool },
    Signal { index: u8, value: Number },
    CreateShared { kind: u8, second: bool, name: Name, opener: Whose },
    Create { object: u8, whose: Whose, access: Access, name: Name },
    CreateOfNothing { name: Name },
    Open { handle: Which, whose: Whose, wrong: u8, iid: u8 },
    OpenByName { name: Name, whose: Whose, access: Access },
    Close { index: u8 },
    OwnEvent,
    RemoveDevice { second: bool },
}

/// The handles of the application.
#[derive(Default)]
pub struct Handles {
    open: Vec<HANDLE>,
    closed: Vec<HANDLE>,
}

impl Handles {
    fn find(&self, which: Which) -> HANDLE {
        let pick = |handles: &[HANDLE], index: u8| {
            handles.get(usize::from(index) % handles.len().max(1)).copied().unwrap_or_default()
        };
        match which {
            Which::Open(index) => pick(&self.open, index),
            Which::Closed(index) => pick(&self.closed, index),
            Which::Number(number) => HANDLE(std::ptr::without_provenance_mut(number.get() as usize)),
        }
    }

    /// Closes all handles, and checks that they cannot be opened any more.
    pub fn close(self, device: &ID3D12Device) {
        for &handle in &self.open {
            // SAFETY: the handle is the application's, and open.
            unsafe { event::close(handle) };
        }
        for &handle in self.open.iter().chain(&self.closed) {
            let mut opened = None::<ID3D12DeviceChild>;
            // SAFETY: the device is live; the handle may be any.
            let answer = unsafe { device.OpenSharedHandle(handle, &mut opened) };
            assert!(answer.is_err() && opened.is_none(), "a closed handle keeps its object alive");
        }
        for name in NAMES {
            let units: Vec<u16> = name.encode_utf16().chain([0]).collect();
            // SAFETY: the name ends with a zero.
            let found = unsafe { device.OpenSharedHandleByName(PCWSTR(units.as_ptr()), GENERIC_ALL) };
            assert!(found.is_err(), "a name outlives its handles");
        }
    }
}

fn foreign() -> ID3D12Device {
    static FOREIGN: OnceLock<Instance> = OnceLock::new();
    let open = || Instance::open(HostProfile::default_profile()).expect("a fresh instance");
    FOREIGN.get_or_init(open).device.clone()
}

fn device(world: &mut World, whose: Whose) -> ID3D12Device {
    match whose {
        Whose::First => world.device(false),
        Whose::Second => world.device(true),
        Whose::Foreign => foreign(),
    }
}

/// Creates a shareable object, if there is room.
unsafe fn create_shared(device: &ID3D12Device, kind: u8) -> Option<ID3D12DeviceChild> {
    let properties = D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_DEFAULT, ..Default::default() };
    match kind % 3 {
        0 => {
            let fence = unsafe { device.CreateFence::<ID3D12Fence>(0, D3D12_FENCE_FLAG_SHARED) };
            fence.ok()?.cast().ok()
        }
        1 => {
            let flags = D3D12_HEAP_FLAG_SHARED | D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS;
            let desc = D3D12_HEAP_DESC {
                SizeInBytes: 65_536,
                Properties: properties,
                Flags: flags,
                ..Default::default()
            };
            let mut heap: Option<ID3D12Heap> = None;
            unsafe { device.CreateHeap(&desc, &mut heap) }.ok()?;
            heap?.cast().ok()
        }
        _ => {
            let desc = heapwright::buffer_desc(heapwright::ByteSize::new(4096));
            let (flags, state) = (D3D12_HEAP_FLAG_SHARED, D3D12_RESOURCE_STATE_COMMON);
            let mut made: Option<ID3D12Resource> = None;
            unsafe {
                device.CreateCommittedResource(&properties, flags, &desc, state, None, &mut made).ok()?
            };
            made?.cast().ok()
        }
    }
}

fn is_removed(device: &ID3D12Device) -> bool {
    // SAFETY: the device is live.
    unsafe { device.GetDeviceRemovedReason() }.is_err()
}

/// Checks that two objects refer to the same thing.
unsafe fn check_same(object: &ID3D12DeviceChild, opened: &ID3D12DeviceChild) {
    if let (Ok(one), Ok(other)) = (object.cast::<ID3D12Fence>(), opened.cast::<ID3D12Fence>()) {
        unsafe { assert_eq!(one.GetCompletedValue(), other.GetCompletedValue()) };
    } else if let (Ok(one), Ok(other)) = (object.cast::<ID3D12Heap>(), opened.cast::<ID3D12Heap>()) {
        unsafe { assert_eq!(one.GetDesc(), other.GetDesc()) };
    } else {
        let one: ID3D12Resource = object.cast().expect("neither a fence nor a heap");
        let other: ID3D12Resource = opened.cast().expect("the same kind");
        unsafe { assert_eq!(one.GetGPUVirtualAddress().0, other.GetGPUVirtualAddress().0) };
    }
}

/// Makes one call.
///
/// # Safety
///
/// The objects of the world are live.
pub unsafe fn perform(world: &mut World, op: Op) {
    let mut out: *mut c_void = null_mut();
    match op {
        Op::CreateFence { value, flags, second } => {
            let flags = flags.map_or(D3D12_FENCE_FLAG_SHARED, Number::u32);
            let device = world.device(second);
            let create = device.vtable().CreateFence;
            let _ = unsafe { create(device.as_raw(), value.get(), flags, &ID3D12Fence::IID, &mut out) };
        }
        Op::Signal { index, value } => {
            let Some(fence) = world.objects.pick_as::<ID3D12Fence>(index) else { return };
            let signalled = unsafe { fence.Signal(value.get()) };
            let completed = unsafe { fence.GetCompletedValue() };
            // A fence that two devices share is lost with either.
            assert!(completed == u64::MAX || (signalled.is_ok() && completed == value.get()));
        }
        Op::CreateShared { kind, second, name, opener } => {
            let device = world.device(second);
            let Some(object) = (unsafe { create_shared(&device, kind) }) else { return };
            let name = name.units();
            let name = name.as_ref().map_or(PCWSTR::null(), |units| PCWSTR(units.as_ptr()));
            let made = unsafe { device.CreateSharedHandle(&object, None, GENERIC_ALL, name) };
            if let Ok(mut handle) = made {
                world.handles.open.push(handle);
                let other = self::device(world, opener);
                if !name.is_null() {
                    let found = unsafe { other.OpenSharedHandleByName(name, GENERIC_ALL) };
                    assert_eq!(found.is_ok(), opener != Whose::Foreign, "the name is the object's");
                    world.handles.open.extend(&found);
                    handle = found.unwrap_or(handle);
                }
                let mut opened: Option<ID3D12DeviceChild> = None;
                let answer = unsafe { other.OpenSharedHandle(handle, &mut opened) };
                assert_eq!(answer.is_ok(), opener != Whose::Foreign && !is_removed(&other));
                if let Some(opened) = opened {
                    unsafe { check_same(&object, &opened) };
                    world.objects.take(opened.into_raw());
                }
            }
            out = object.into_raw();
        }
        Op::Create { object, whose, access, name } => {
            let Some(object) = world.objects.pick_as::<ID3D12DeviceChild>(object) else { return };
            let (device, access) = (device(world, whose), access.0);
            let made = name.with(|name| unsafe { device.CreateSharedHandle(&object, None, access, name) });
            if let Ok(handle) = made {
                assert!(whose != Whose::Foreign, "the object of another device");
                world.handles.open.push(handle);
            }
        }
        Op::CreateOfNothing { name } => {
            let device = &world.gpu.device;
            let made = name.with(|name| unsafe { device.CreateSharedHandle(None, None, GENERIC_ALL, name) });
            assert!(made.is_err());
        }
        Op::Open { handle, whose, wrong, iid } => {
            let (handle, device) = (world.handles.find(handle), device(world, whose));
            let (null_result, wrong) = (wrong % 8 == 7, wrong % 8);
            let iid = if wrong == 5 { IIDS[usize::from(iid) % IIDS.len()] } else { ID3D12DeviceChild::IID };
            let iid = if wrong == 6 { null() } else { &raw const iid };
            // The call must overwrite this value.
            out = std::ptr::dangling_mut();
            let result = if null_result { null_mut() } else { &raw mut out };
            let opened = unsafe { (device.vtable().OpenSharedHandle)(device.as_raw(), handle, iid, result) };
            if null_result {
                assert!(opened.is_err());
                return;
            }
            assert_eq!(opened.is_ok(), !out.is_null());
            assert!(opened.is_err() || whose != Whose::Foreign, "of another adapter");
        }
        Op::OpenByName { name, whose, access } => {
            let (device, access) = (device(world, whose), access.0);
            let found = name.with(|name| unsafe { device.OpenSharedHandleByName(name, access) });
            if let Ok(handle) = found {
                world.handles.open.push(handle);
            }
        }
        Op::Close { index } => {
            let handles = &mut world.handles;
            if !handles.open.is_empty() {
                let handle = handles.open.swap_remove(usize::from(index) % handles.open.len());
                // SAFETY: the handle is the application's, and open.
                unsafe { event::close(handle) };
                handles.closed.push(handle);
            }
        }
        // It may get the number of a closed handle.
        Op::OwnEvent => {
            let event = Event::new(EventReset::Manual).expect("few handles");
            world.handles.open.push(event.duplicate_handle().expect("few handles"));
        }
        Op::RemoveDevice { second } => {
            let device: ID3D12Device5 = world.device(second).cast().expect("known");
            unsafe { device.RemoveDevice() };
        }
    }
    world.objects.take(out);
}
