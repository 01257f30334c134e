//! Devices with shared handles that do not keep their objects alive.

use std::collections::BTreeMap;
use std::sync::Mutex;

use heapwright_d3d12::*;
use heapwright_intercept::{Methods, method};
use windows_core::{IUnknown, Interface};

use crate::lies::Lies;

/// The objects behind shared handles, by the handle's number. A reference to each is kept, so that its count can be
/// read.
static SHARED: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());

pub(crate) unsafe fn replace(methods: &Methods<Lies>) {
    // SAFETY: the methods are those of a device; the replacements pass on what their callers promise.
    unsafe {
        let device = methods.of::<ID3D12Device>();
        device.replace(method!(CreateSharedHandle), |call, (object, attributes, access, name, out)| {
            let hresult =
                (call.original.CreateSharedHandle)(call.this, object, attributes, access, name, out);
            if let (true, S_OK, Some(shared)) =
                (call.data.forgets_shared, hresult, IUnknown::from_raw_borrowed(&object))
            {
                let number = (*out).0.addr();
                SHARED
                    .lock()
                    .expect("no panics")
                    .insert(number, shared.clone().into_raw().expose_provenance());
            }
            hresult
        });
        device.replace(method!(OpenSharedHandle), |call, (handle, iid, out)| {
            let shared = SHARED.lock().expect("no panics").get(&handle.0.addr()).copied();
            if let (true, Some(shared)) = (call.data.forgets_shared, shared) {
                let object = std::ptr::with_exposed_provenance_mut(shared);
                let object = IUnknown::from_raw_borrowed(&object).expect("kept");
                let methods = Interface::vtable(object);
                (methods.AddRef)(object.as_raw());
                if (methods.Release)(object.as_raw()) == 1 {
                    return E_INVALIDARG;
                }
            }
            (call.original.OpenSharedHandle)(call.this, handle, iid, out)
        });
    }
}
