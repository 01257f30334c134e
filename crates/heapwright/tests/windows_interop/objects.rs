//! COM objects for the tests.

use std::ffi::c_void;

use heapwright::d3d12::*;
use windows_core::{Error, GUID, IUnknown, Interface, OutRef, Ref, Result, implement};

/// Returns the same object as the stand-in's interface of that name, with its own reference.
pub(crate) fn as_their<Ours: Interface, Theirs: Interface>(ours: &Ours) -> Theirs {
    // SAFETY: a counted reference; whatever the tests do with `Theirs` uses IUnknown's functions alone.
    unsafe { Theirs::from_raw(ours.clone().into_raw()) }
}

/// Returns the reference count of an object.
pub(crate) fn references<T: Interface>(object: &T) -> u32 {
    let unknown: &IUnknown = object.cast_ref();
    // SAFETY: the added reference is released at once.
    unsafe {
        (unknown.vtable().AddRef)(unknown.as_raw());
        (unknown.vtable().Release)(unknown.as_raw())
    }
}

trait AsUnknown {
    fn cast_ref(&self) -> &IUnknown;
}

impl<T: Interface> AsUnknown for T {
    fn cast_ref(&self) -> &IUnknown {
        // SAFETY: every COM interface begins with IUnknown, and both are one pointer.
        unsafe { &*std::ptr::from_ref(self).cast() }
    }
}

pub(crate) fn committed_buffer(device: &ID3D12Device, bytes: u64) -> ID3D12Resource {
    let properties = D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_DEFAULT, ..Default::default() };
    let desc = heapwright::buffer_desc(heapwright::ByteSize::new(bytes));
    let mut made: Option<ID3D12Resource> = None;
    // SAFETY: the device is live, the descriptions outlive the call, and the result has the requested interface.
    unsafe { device.CreateCommittedResource(&properties, D3D12_HEAP_FLAG_NONE, &desc, 0, None, &mut made) }
        .expect("the device takes it");
    made.expect("and answers it")
}

pub(crate) fn color(clear: &D3D12_CLEAR_VALUE) -> [f32; 4] {
    // SAFETY: any bits are valid floats.
    unsafe { clear.Anonymous.Color }
}

/// An adapter of DXGI 1.0.
#[implement(IDXGIAdapter)]
pub(crate) struct OldAdapter;

impl IDXGIAdapter_Impl for OldAdapter_Impl {
    fn EnumOutputs(&self, _output: u32, _out: OutRef<IDXGIOutput>) -> Result<()> {
        Err(Error::from(E_NOTIMPL))
    }
    fn GetDesc(&self, _desc: *mut DXGI_ADAPTER_DESC) -> Result<()> {
        Err(Error::from(E_NOTIMPL))
    }
    fn CheckInterfaceSupport(&self, _name: *const GUID) -> Result<i64> {
        Err(Error::from(E_NOTIMPL))
    }
}

impl IDXGIObject_Impl for OldAdapter_Impl {
    fn SetPrivateData(&self, _name: *const GUID, _size: u32, _data: *const c_void) -> Result<()> {
        Err(Error::from(E_NOTIMPL))
    }
    fn SetPrivateDataInterface(&self, _name: *const GUID, _object: Ref<IUnknown>) -> Result<()> {
        Err(Error::from(E_NOTIMPL))
    }
    fn GetPrivateData(&self, _name: *const GUID, _size: *mut u32, _data: *mut c_void) -> Result<()> {
        Err(Error::from(E_NOTIMPL))
    }
    fn GetParent(&self, _iid: *const GUID, _parent: *mut *mut c_void) -> Result<()> {
        Err(Error::from(E_NOTIMPL))
    }
}
