//! A device and an adapter with replaced methods.

use heapwright_d3d12::*;
use heapwright_intercept::{Methods, intercept as replace, method};
use windows_core::{IUnknown, Interface};

use crate::lies::{Feature, Lies};
use crate::{commands, creation, new_memory, recreate, tracker};

/// Makes a device, its adapter and all objects that the device creates tell lies.
pub(crate) fn intercept(device: &ID3D12Device, adapter: &IDXGIAdapter3, lies: &'static Lies) {
    intercept_device(device, lies);
    let adapter: IDXGIAdapter4 = adapter.cast().expect("the runtime has the newest adapter interface");
    // SAFETY: this is the newest interface of its chain, and nobody else uses a fresh adapter. The replacement
    // passes on what its caller promises.
    unsafe {
        replace(&adapter, lies, |methods| {
            let adapter = methods.of::<IDXGIAdapter3>();
            adapter.replace(method!(QueryVideoMemoryInfo), |call, (node, group, out)| {
                let lies = call.data;
                let asked = lies.segment_group.map_or(group, |lie| lie(group));
                let hresult = (call.original.QueryVideoMemoryInfo)(call.this, node, asked, out);
                if let (Some(lie), true) = (lies.video_memory, hresult == S_OK) {
                    lie(group, &mut *out);
                }
                hresult
            });
        });
    }
}

/// Makes a device and all objects that it creates tell lies.
pub(crate) fn intercept_device(device: &ID3D12Device, lies: &'static Lies) {
    recreate::intercept_tools(device, lies);
    tracker::intercept_device(device, lies);
    let device: ID3D12Device14 = device.cast().expect("the runtime has the newest device interface");
    // SAFETY: as for an adapter.
    unsafe {
        replace(&device, lies, |methods| {
            replace_answers(methods);
            replace_sizes(methods);
            replace_made(methods);
            creation::replace(methods);
            new_memory::replace(methods);
        });
    }
}

/// Replaces methods that return properties of the device or of resources.
unsafe fn replace_answers(methods: &Methods<Lies>) {
    // SAFETY: the methods are those of a device; the replacements pass on what their callers promise.
    unsafe {
        let (object, device) = (methods.of::<IUnknown>(), methods.of::<ID3D12Device>());
        object.replace(method!(QueryInterface), |call, (iid, out)| {
            let lies = call.data;
            if lies.denies.is_some_and(|denied| iid.as_ref() == Some(&denied)) {
                if let Some(out) = out.as_mut() {
                    *out = std::ptr::null_mut();
                }
                return E_NOINTERFACE;
            }
            (call.original.QueryInterface)(call.this, iid, out)
        });
        device.replace(method!(CheckFeatureSupport), |call, (feature, data, size)| {
            let lies = call.data;
            let asked = lies.feature_size.map_or(size, |lie| lie(feature, size));
            let hresult = (call.original.CheckFeatureSupport)(call.this, feature, data, asked);
            let Some(lie) = lies.feature else { return hresult };
            if data.is_null() {
                return hresult;
            }
            let fields =
                std::slice::from_raw_parts_mut(data.cast::<u32>(), usize::try_from(size / 4).unwrap_or(0));
            let mut answer = Feature { hresult, fields };
            lie(feature, &mut answer);
            answer.hresult
        });
        device.replace(method!(GetCustomHeapProperties), |call, (out, node_mask, heap_type)| {
            let lies = call.data;
            (call.original.GetCustomHeapProperties)(call.this, out, node_mask, heap_type);
            if let Some(lie) = lies.custom_properties {
                lie(heap_type, &mut *out);
            }
            out
        });
        device.replace(
            method!(GetCopyableFootprints),
            |call, (desc, first, count, base_offset, layouts, row_counts, row_sizes, total)| {
                let lies = call.data;
                let ask = call.original.GetCopyableFootprints;
                ask(call.this, desc, first, count, base_offset, layouts, row_counts, row_sizes, total);
                if let (Some(lie), Some(total)) = (lies.footprints, total.as_mut()) {
                    let len = if layouts.is_null() { 0 } else { usize::try_from(count).unwrap_or(0) };
                    let layouts =
                        if len == 0 { &mut [] } else { std::slice::from_raw_parts_mut(layouts, len) };
                    lie(layouts, total);
                }
            },
        );
        device.replace(
            method!(GetResourceTiling),
            |call, (resource, tile_count, packed, shape, subresource_count, first, subresources)| {
                let lies = call.data;
                let ask = call.original.GetResourceTiling;
                ask(call.this, resource, tile_count, packed, shape, subresource_count, first, subresources);
                if let (Some(lie), Some(tile_count)) = (lies.tile_count, tile_count.as_mut()) {
                    *tile_count = lie(*tile_count);
                }
                if let (Some(lie), Some(shape)) = (lies.tile_shape, shape.as_mut()) {
                    lie(shape);
                }
            },
        );
        device.replace(method!(GetAdapterLuid), |call, (out,)| {
            let lies = call.data;
            (call.original.GetAdapterLuid)(call.this, out);
            if let Some(lie) = lies.luid {
                lie(&mut *out);
            }
            out
        });
        device.replace(method!(GetNodeCount), |call, ()| {
            let lies = call.data;
            lies.node_count.unwrap_or_else(|| (call.original.GetNodeCount)(call.this))
        });
        device.replace(method!(GetDeviceRemovedReason), |call, ()| {
            let lies = call.data;
            lies.removed.unwrap_or_else(|| (call.original.GetDeviceRemovedReason)(call.this))
        });
        device.replace(method!(MakeResident), |call, (count, objects)| {
            let lies = call.data;
            if lies.uncounted {
                return S_OK;
            }
            let answer = lies.make_resident.or(lies.residency);
            answer.unwrap_or_else(|| (call.original.MakeResident)(call.this, count, objects))
        });
        device.replace(method!(Evict), |call, (count, objects)| {
            let lies = call.data;
            lies.residency.unwrap_or_else(|| (call.original.Evict)(call.this, count, objects))
        });
    }
}

/// Replaces methods that return the sizes of resources.
unsafe fn replace_sizes(methods: &Methods<Lies>) {
    // SAFETY: as above.
    unsafe {
        let (first, four) = (methods.of::<ID3D12Device>(), methods.of::<ID3D12Device4>());
        let (eight, twelve) = (methods.of::<ID3D12Device8>(), methods.of::<ID3D12Device12>());
        first.replace(method!(GetResourceAllocationInfo), |call, (out, visible_mask, count, descs)| {
            let lies = call.data;
            let changed = requested(lies, count, descs);
            let older: Vec<D3D12_RESOURCE_DESC> = changed.iter().map(Desc::older).collect();
            (call.original.GetResourceAllocationInfo)(call.this, out, visible_mask, count, older.as_ptr());
            answered(lies, &changed, out, std::ptr::null_mut());
            out
        });
        four.replace(
            method!(GetResourceAllocationInfo1),
            |call, (out, visible_mask, count, descs, parts)| {
                let lies = call.data;
                let changed = requested(lies, count, descs);
                let older: Vec<D3D12_RESOURCE_DESC> = changed.iter().map(Desc::older).collect();
                (call.original.GetResourceAllocationInfo1)(
                    call.this,
                    out,
                    visible_mask,
                    count,
                    older.as_ptr(),
                    parts,
                );
                answered(lies, &changed, out, parts);
                out
            },
        );
        eight.replace(
            method!(GetResourceAllocationInfo2),
            |call, (out, visible_mask, count, descs, parts)| {
                let lies = call.data;
                let changed = requested(lies, count, descs);
                (call.original.GetResourceAllocationInfo2)(
                    call.this,
                    out,
                    visible_mask,
                    count,
                    changed.as_ptr(),
                    parts,
                );
                answered(lies, &changed, out, parts);
                if let Some(lie) = lies.newer_allocation {
                    lie(&mut *out);
                }
                out
            },
        );
        twelve.replace(
            method!(GetResourceAllocationInfo3),
            |call, (out, visible_mask, count, descs, castable_counts, castable, parts)| {
                let lies = call.data;
                let changed = requested(lies, count, descs);
                let ask = call.original.GetResourceAllocationInfo3;
                ask(call.this, out, visible_mask, count, changed.as_ptr(), castable_counts, castable, parts);
                answered(lies, &changed, out, parts);
                out
            },
        );
    }
}

/// Replaces methods that create queues, lists, fences and reserved resources.
unsafe fn replace_made(methods: &Methods<Lies>) {
    // SAFETY: as above.
    unsafe {
        let device = methods.of::<ID3D12Device>();
        device.replace(method!(CreateCommandQueue), |call, (desc, iid, out)| {
            let lies = call.data;
            let hresult = (call.original.CreateCommandQueue)(call.this, desc, iid, out);
            if hresult == S_OK {
                commands::intercept_made(out, lies);
            }
            hresult
        });
        device.replace(
            method!(CreateCommandList),
            |call, (node_mask, list_type, allocator, state, iid, out)| {
                let lies = call.data;
                let hresult = (call.original.CreateCommandList)(
                    call.this, node_mask, list_type, allocator, state, iid, out,
                );
                if hresult == S_OK {
                    commands::intercept_made(out, lies);
                }
                hresult
            },
        );
        device.replace(method!(CreateFence), |call, (value, flags, iid, out)| {
            let lies = call.data;
            let hresult = (call.original.CreateFence)(call.this, value, flags, iid, out);
            if hresult == S_OK {
                commands::intercept_made(out, lies);
            }
            hresult
        });
        device.replace(method!(CreateReservedResource), |call, (desc, state, clear, iid, out)| {
            let lies = call.data;
            let mut changed = desc.as_ref().copied();
            if let (Some(lie), Some(desc)) = (lies.reserved, changed.as_mut()) {
                lie(desc);
            }
            (call.original.CreateReservedResource)(
                call.this,
                pointer(changed.as_ref()),
                state,
                clear,
                iid,
                out,
            )
        });
    }
}

/// The description of a resource, of either generation.
pub(crate) trait Desc: Copy {
    fn older(&self) -> D3D12_RESOURCE_DESC;

    fn newer(&self) -> D3D12_RESOURCE_DESC1;

    /// Returns this description with the values that the older one has.
    fn with(&self, older: &D3D12_RESOURCE_DESC) -> Self;
}

impl Desc for D3D12_RESOURCE_DESC {
    fn older(&self) -> D3D12_RESOURCE_DESC {
        *self
    }

    fn newer(&self) -> D3D12_RESOURCE_DESC1 {
        D3D12_RESOURCE_DESC1 {
            Dimension: self.Dimension,
            Alignment: self.Alignment,
            Width: self.Width,
            Height: self.Height,
            DepthOrArraySize: self.DepthOrArraySize,
            MipLevels: self.MipLevels,
            Format: self.Format,
            SampleDesc: self.SampleDesc,
            Layout: self.Layout,
            Flags: self.Flags,
            SamplerFeedbackMipRegion: D3D12_MIP_REGION::default(),
        }
    }

    fn with(&self, older: &D3D12_RESOURCE_DESC) -> Self {
        *older
    }
}

impl Desc for D3D12_RESOURCE_DESC1 {
    fn older(&self) -> D3D12_RESOURCE_DESC {
        D3D12_RESOURCE_DESC {
            Dimension: self.Dimension,
            Alignment: self.Alignment,
            Width: self.Width,
            Height: self.Height,
            DepthOrArraySize: self.DepthOrArraySize,
            MipLevels: self.MipLevels,
            Format: self.Format,
            SampleDesc: self.SampleDesc,
            Layout: self.Layout,
            Flags: self.Flags,
        }
    }

    fn newer(&self) -> D3D12_RESOURCE_DESC1 {
        *self
    }

    fn with(&self, older: &D3D12_RESOURCE_DESC) -> Self {
        Self { SamplerFeedbackMipRegion: self.SamplerFeedbackMipRegion, ..older.newer() }
    }
}

/// Returns a copy of an array of descriptions, as a lie may have changed it.
unsafe fn requested<T: Desc>(lies: &Lies, count: u32, descs: *const T) -> Vec<D3D12_RESOURCE_DESC1> {
    if descs.is_null() {
        return Vec::new();
    }
    // SAFETY: the caller passes an array of count descriptions.
    let descs = unsafe { std::slice::from_raw_parts(descs, usize::try_from(count).unwrap_or(0)) };
    let mut descs: Vec<D3D12_RESOURCE_DESC1> = descs.iter().map(T::newer).collect();
    if let Some(lie) = lies.allocation_request {
        descs.iter_mut().for_each(lie);
    }
    descs
}

/// Applies the lies to allocation info.
unsafe fn answered(
    lies: &Lies,
    descs: &[D3D12_RESOURCE_DESC1],
    out: *mut D3D12_RESOURCE_ALLOCATION_INFO,
    parts: *mut D3D12_RESOURCE_ALLOCATION_INFO1,
) {
    // SAFETY: out is writable; parts is null or has one element for each description.
    unsafe {
        // If the whole is invalid, nothing is written about its parts.
        let has_parts = !parts.is_null() && (*out).SizeInBytes != u64::MAX;
        if let Some(lie) = lies.allocation {
            lie(descs, &mut *out);
            // A lie about a single resource applies to each part as well.
            if has_parts {
                for (index, desc) in descs.iter().enumerate() {
                    let part = &mut *parts.add(index);
                    let mut info = D3D12_RESOURCE_ALLOCATION_INFO {
                        SizeInBytes: part.SizeInBytes,
                        Alignment: part.Alignment,
                    };
                    lie(std::slice::from_ref(desc), &mut info);
                    (part.SizeInBytes, part.Alignment) = (info.SizeInBytes, info.Alignment);
                }
            }
        }
        if let Some(lie) = lies.parts.filter(|_| has_parts) {
            lie(std::slice::from_raw_parts_mut(parts, descs.len()));
        }
    }
}

pub(crate) fn pointer<T>(value: Option<&T>) -> *const T {
    value.map_or(std::ptr::null(), std::ptr::from_ref)
}
