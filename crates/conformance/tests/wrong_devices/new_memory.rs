//! Creation of heaps and resources.

use std::ffi::c_void;

use heapwright_d3d12::*;
use heapwright_intercept::{Methods, method};
use windows_core::{HRESULT, IUnknown, Interface};

use crate::device::{Desc, pointer};
use crate::lies::{Dirt, Liar, Lies, OfKind, Request};
use crate::{memory, recreate};

pub(crate) unsafe fn replace(methods: &Methods<Lies>) {
    // SAFETY: the methods are those of a device; the replacements pass on what their callers promise.
    unsafe {
        replace_heaps(methods);
        replace_resources(methods);
    }
}

unsafe fn replace_heaps(methods: &Methods<Lies>) {
    // SAFETY: as above.
    unsafe {
        let (device, four) = (methods.of::<ID3D12Device>(), methods.of::<ID3D12Device4>());
        device.replace(method!(CreateHeap), |call, (desc, iid, out)| {
            let lies = call.data;
            let changed = heap_request(lies, desc);
            recreate::before_creation(call.this, lies, false, false);
            let create = || (call.original.CreateHeap)(call.this, pointer(changed.as_ref()), iid, out);
            let hresult = recreate::created(call.this, lies, create(), create);
            if hresult == S_OK {
                if lies.dirt == Some(Dirt::Heaps) {
                    soil_heap(call, out);
                }
                if lies.leaks_device {
                    (call.original.base__.base__.AddRef)(call.this);
                }
            }
            made(lies, hresult, out)
        });
        four.replace(method!(CreateHeap1), |call, (desc, session, iid, out)| {
            let changed = heap_request(call.data, desc);
            let hresult =
                (call.original.CreateHeap1)(call.this, pointer(changed.as_ref()), session, iid, out);
            made(call.data, hresult, out)
        });
        let three = methods.of::<ID3D12Device3>();
        three.replace(method!(OpenExistingHeapFromAddress), |call, (address, iid, out)| {
            let address = call.data.existing.map_or(address, |lie| lie(address));
            let hresult = (call.original.OpenExistingHeapFromAddress)(call.this, address, iid, out);
            made(call.data, hresult, out)
        });
    }
}

/// Replaces a call that creates a committed resource. Its fourth argument is a state or a layout: `state` is the state
/// that the lies see, and `passed` returns what the call gets for the state that they leave.
macro_rules! committed {
    ($device:ident.$method:ident($fourth:ident $(, $rest:ident)*), $state:expr, $passed:expr) => {
        $device.replace(method!($method), |call, (properties, flags, desc, $fourth, clear, $($rest,)* iid, out)| {
            let given = Arguments::committed(properties, flags, desc, $state, clear);
            given.create(call.data, call.this, out, |asked| {
                let passed = $passed(asked.state);
                let Arguments { properties, flags, desc, clear, .. } = asked;
                (call.original.$method)(call.this, properties, flags, desc, passed, clear, $($rest,)* iid, out)
            })
        })
    };
}

/// Replaces a method that creates a placed resource.
macro_rules! placed {
    ($device:ident.$method:ident($fourth:ident $(, $rest:ident)*), $state:expr, $passed:expr) => {
        $device.replace(method!($method), |call, (heap, offset, desc, $fourth, clear, $($rest,)* iid, out)| {
            let given = Arguments::placed(heap, offset, desc, $state, clear);
            given.create(call.data, call.this, out, |asked| {
                let passed = $passed(asked.state);
                let Arguments { offset, desc, clear, state, .. } = asked;
                if call.data.wrong_for(&(*desc).older()) == Some(OfKind::Elsewhere) {
                    let device = ID3D12Device::from_raw_borrowed(&call.this).expect("a live device");
                    let own = D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_DEFAULT, ..Default::default() };
                    let none = D3D12_HEAP_FLAG_NONE;
                    let commit = Interface::vtable(device).CreateCommittedResource;
                    return commit(call.this, &own, none, &(*desc).older(), state, std::ptr::null(), iid, out);
                }
                let create = call.original.$method;
                let hresult = create(call.this, heap, offset, desc, passed, clear, $($rest,)* iid, out);
                if hresult == S_OK && call.data.counts_placed {
                    std::mem::forget(IUnknown::from_raw_borrowed(&heap).cloned());
                }
                hresult
            })
        })
    };
}

unsafe fn replace_resources(methods: &Methods<Lies>) {
    // SAFETY: as above.
    unsafe {
        let (first, eight) = (methods.of::<ID3D12Device>(), methods.of::<ID3D12Device8>());
        let ten = methods.of::<ID3D12Device10>();
        committed!(first.CreateCommittedResource(state), state, |state| state);
        committed!(eight.CreateCommittedResource2(state, session), state, |state| state);
        committed!(
            ten.CreateCommittedResource3(layout, session, count, formats),
            D3D12_RESOURCE_STATE_COMMON,
            |_| layout
        );
        placed!(first.CreatePlacedResource(state), state, |state| state);
        placed!(eight.CreatePlacedResource1(state), state, |state| state);
        placed!(ten.CreatePlacedResource2(layout, count, formats), D3D12_RESOURCE_STATE_COMMON, |_| layout);
    }
}

/// Arguments that creation calls of all generations have in common.
struct Arguments<T> {
    /// Null for a placed resource.
    properties: *const D3D12_HEAP_PROPERTIES,
    flags: D3D12_HEAP_FLAGS,
    /// Null for a committed resource.
    heap: *mut c_void,
    offset: u64,
    desc: *const T,
    state: D3D12_RESOURCE_STATES,
    clear: *const D3D12_CLEAR_VALUE,
}

impl<T: Desc> Arguments<T> {
    fn committed(
        properties: *const D3D12_HEAP_PROPERTIES,
        flags: D3D12_HEAP_FLAGS,
        desc: *const T,
        state: D3D12_RESOURCE_STATES,
        clear: *const D3D12_CLEAR_VALUE,
    ) -> Self {
        Self { properties, flags, heap: std::ptr::null_mut(), offset: 0, desc, state, clear }
    }

    fn placed(
        heap: *mut c_void,
        offset: u64,
        desc: *const T,
        state: D3D12_RESOURCE_STATES,
        clear: *const D3D12_CLEAR_VALUE,
    ) -> Self {
        let (properties, flags) = (std::ptr::null(), D3D12_HEAP_FLAG_NONE);
        Self { properties, flags, heap, offset, desc, state, clear }
    }

    /// Returns the arguments as a lie may change them, unless a required one is null.
    ///
    /// # Safety
    ///
    /// Each pointer is null or points to what a creation call takes.
    unsafe fn request(&self) -> Option<Request> {
        // SAFETY: the caller upholds the contract of this function.
        let (properties, heap, desc) = unsafe {
            let heap = ID3D12Heap::from_raw_borrowed(&self.heap).map(|heap| heap.GetDesc());
            (self.properties.as_ref().copied(), heap, self.desc.as_ref()?)
        };
        if properties.is_none() && heap.is_none() {
            return None;
        }
        Some(Request {
            properties,
            flags: self.flags,
            place: heap.map(|heap| (self.offset, heap)),
            desc: desc.older(),
            state: self.state,
            has_clear_value: !self.clear.is_null(),
        })
    }

    /// Returns the distance of adjacent resources of a description.
    ///
    /// # Safety
    ///
    /// `this` is a device.
    unsafe fn step(&self, this: *mut c_void, desc: &D3D12_RESOURCE_DESC) -> u64 {
        // SAFETY: the caller upholds the contract of this function.
        let info = unsafe {
            let device = ID3D12Device::from_raw_borrowed(&this).expect("a live device");
            device.GetResourceAllocationInfo(0, &[*desc])
        };
        info.SizeInBytes.next_multiple_of(info.Alignment.max(1))
    }

    /// Performs a creation call: `create` gets the arguments as a lie may have changed them.
    ///
    /// # Safety
    ///
    /// `this` is an intercepted device, and the arguments are those of a creation call.
    unsafe fn create(
        self,
        lies: &'static Lies,
        this: *mut c_void,
        out: *mut *mut c_void,
        create: impl FnOnce(Self) -> HRESULT,
    ) -> HRESULT {
        // SAFETY: the caller upholds the contract of this function; after success, out is null or points to a
        // resource.
        unsafe {
            let mut request = self.request();
            if let Some(request) = &mut request {
                let is_buffer = request.desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER;
                if let Some(lie) = lies.buffer.filter(|_| is_buffer) {
                    lie(&mut request.desc);
                }
                if let Some(lie) = lies.resource {
                    lie(request);
                }
                if let (Some(wrong), Some((offset, heap))) = (lies.wrong_for(&request.desc), request.place) {
                    let step = self.step(this, &request.desc);
                    let offset = match wrong {
                        OfKind::AtTheBeginning => 0,
                        OfKind::AtTheNeighbour if offset + 2 * step <= heap.SizeInBytes => offset + step,
                        _ => offset,
                    };
                    request.place = Some((offset, heap));
                }
                if lies.refused_resource.is_some_and(|is_refused| is_refused(request)) {
                    request.desc.Width = 0;
                }
            }
            let asked = request.as_ref();
            let is_texture =
                asked.is_some_and(|asked| asked.desc.Dimension != D3D12_RESOURCE_DIMENSION_BUFFER);
            let is_placed = asked.is_some_and(|asked| asked.place.is_some());
            recreate::before_creation(this, lies, is_texture, is_placed);
            let is_committed = asked.is_some_and(|asked| asked.properties.is_some());
            let hresult = match asked {
                None => create(self),
                Some(asked) => {
                    let desc = (*self.desc).with(&asked.desc);
                    create(Self {
                        properties: pointer(asked.properties.as_ref()),
                        flags: asked.flags,
                        offset: asked.place.map_or(self.offset, |(offset, _)| offset),
                        desc: &raw const desc,
                        state: asked.state,
                        clear: if asked.has_clear_value { self.clear } else { std::ptr::null() },
                        ..self
                    })
                }
            };
            if hresult == S_OK && is_committed && lies.dirt == Some(Dirt::Committed) {
                let made = out.as_ref().and_then(|raw| IUnknown::from_raw_borrowed(raw));
                made.iter().filter_map(|made| made.cast().ok()).for_each(|resource| soil(&resource));
            }
            made(lies, hresult, out)
        }
    }
}

/// Applies the lies about a created object and returns the final HRESULT.
unsafe fn made(lies: &'static Lies, hresult: HRESULT, out: *mut *mut c_void) -> HRESULT {
    // SAFETY: after success, out is null or points to a heap or a resource.
    unsafe {
        if hresult == S_OK {
            memory::intercept_made(out, lies);
        }
        match lies.check_only {
            Some(lie) if out.is_null() => lie(hresult),
            _ => hresult,
        }
    }
}

/// Returns a copy of a heap description, as a lie may have changed it.
unsafe fn heap_request(lies: &Lies, desc: *const D3D12_HEAP_DESC) -> Option<D3D12_HEAP_DESC> {
    // SAFETY: the pointer is null or points to a description.
    let mut desc = unsafe { desc.as_ref() }.copied()?;
    if let Some(lie) = lies.heap {
        lie(&mut desc);
    }
    if lies.refused_heap.is_some_and(|is_refused| is_refused(&desc)) {
        desc.SizeInBytes = 0;
    }
    Some(desc)
}

/// Fills all memory of a new heap that the CPU can access.
unsafe fn soil_heap(device: &Liar<ID3D12Device>, out: *mut *mut c_void) {
    // SAFETY: the contract of the original method; out holds a new heap.
    unsafe {
        let Some(heap) = out.as_ref().and_then(|raw| IUnknown::from_raw_borrowed(raw)) else { return };
        let Ok(heap) = heap.cast::<ID3D12Heap>() else { return };
        let desc = heap.GetDesc();
        let buffer = D3D12_RESOURCE_DESC {
            Dimension: D3D12_RESOURCE_DIMENSION_BUFFER,
            Width: desc.SizeInBytes,
            Height: 1,
            DepthOrArraySize: 1,
            MipLevels: 1,
            SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
            Layout: D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
            ..Default::default()
        };
        let mut resource = std::ptr::null_mut();
        let state = D3D12_RESOURCE_STATE_COMMON;
        let (none, iid) = (std::ptr::null(), &ID3D12Resource::IID);
        let place = device.original.CreatePlacedResource;
        if place(device.this, heap.as_raw(), 0, &buffer, state, none, iid, &mut resource).is_ok() {
            soil(&ID3D12Resource::from_raw(resource));
        }
    }
}

/// Fills a buffer that the CPU can access.
fn soil(resource: &ID3D12Resource) {
    // SAFETY: the resource is live, and a mapped buffer has as many bytes as its description says.
    unsafe {
        let mut start = std::ptr::null_mut();
        if resource.Map(0, None, &mut start).is_ok() && !start.is_null() {
            let len = usize::try_from(resource.GetDesc().Width).expect("small");
            start.cast::<u8>().write_bytes(0x5a, len);
            resource.Unmap(0, None);
        }
    }
}
