//! A device and an adapter with replaced methods.

use heapwright_d3d12::sdk_619::*;
use heapwright_d3d12::trim::ID3D12Device15;
use heapwright_d3d12::*;
use heapwright_intercept::{Methods, intercept as replace, method};
use windows_core::{IUnknown, Interface};

use crate::lies::{Feature, Lies};
use crate::{commands, creation, new_memory, recreate, shared_handles};

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
                let asked = call.data.segment_group.map_or(group, |lie| lie(group));
                let hresult = (call.original.QueryVideoMemoryInfo)(call.this, node, asked, out);
                if let (Some(lie), true) = (call.data.video_memory, hresult == S_OK) {
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
    let newest: windows_core::Result<ID3D12Device15> = device.cast();
    let device: ID3D12Device14 = device.cast().expect("the runtime has the metadata's newest interface");
    // SAFETY: as for an adapter.
    unsafe {
        replace(&device, lies, |methods| {
            replace_answers(methods);
            replace_sizes(methods);
            replace_made(methods);
            creation::replace(methods);
            new_memory::replace(methods);
            shared_handles::replace(methods);
        });
        // The runtime has a method table of its own for it.
        if let Ok(newest) = newest {
            replace(&newest, lies, |methods| {
                replace_views(methods);
                replace_queries(methods);
            });
        }
    }
}

/// Replaces methods that return properties of the device or of resources.
unsafe fn replace_answers(methods: &Methods<Lies>) {
    // SAFETY: the methods are those of a device; the replacements pass on what their callers promise.
    unsafe {
        let (object, device) = (methods.of::<IUnknown>(), methods.of::<ID3D12Device>());
        object.replace(method!(QueryInterface), |call, (iid, out)| {
            if call.data.denies.is_some_and(|denied| iid.as_ref() == Some(&denied)) {
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
            if data.is_null() {
                return hresult;
            }
            let fields =
                std::slice::from_raw_parts_mut(data.cast::<u32>(), usize::try_from(size / 4).unwrap_or(0));
            if let Some((_, place, value)) = lies.field.filter(|&(lied_about, ..)| lied_about == feature)
                && let Some(field) = fields.get_mut(place)
            {
                *field = value;
            }
            let mut answer = Feature { hresult, fields };
            if let Some(lie) = lies.feature {
                lie(feature, &mut answer);
            }
            answer.hresult
        });
        device.replace(method!(GetCustomHeapProperties), |call, (out, node_mask, heap_type)| {
            (call.original.GetCustomHeapProperties)(call.this, out, node_mask, heap_type);
            if let Some(lie) = call.data.custom_properties {
                lie(heap_type, &mut *out);
            }
            if let Some((_, page, pool)) =
                call.data.custom.filter(|&(lied_about, ..)| lied_about == heap_type)
            {
                ((*out).CPUPageProperty, (*out).MemoryPoolPreference) = (page, pool);
            }
            out
        });
        device.replace(
            method!(GetCopyableFootprints),
            |call, (desc, first, count, base_offset, layouts, row_counts, row_sizes, total)| {
                let ask = call.original.GetCopyableFootprints;
                ask(call.this, desc, first, count, base_offset, layouts, row_counts, row_sizes, total);
                let count = usize::try_from(count).unwrap_or(0);
                if call.data.refused_footprints.is_some_and(|refuses| refuses(&*desc)) {
                    fill(layouts, count);
                    fill(row_counts, count);
                    fill(row_sizes, count);
                    fill(total, 1);
                }
                if let (Some(lie), Some(total)) = (call.data.footprints, total.as_mut()) {
                    let len = if layouts.is_null() { 0 } else { count };
                    let layouts =
                        if len == 0 { &mut [] } else { std::slice::from_raw_parts_mut(layouts, len) };
                    lie(layouts, total);
                }
            },
        );
        device.replace(
            method!(GetResourceTiling),
            |call, (resource, tile_count, packed, shape, subresource_count, first, subresources)| {
                let ask = call.original.GetResourceTiling;
                ask(call.this, resource, tile_count, packed, shape, subresource_count, first, subresources);
                if let (Some(lie), Some(tile_count)) = (call.data.tile_count, tile_count.as_mut()) {
                    *tile_count = lie(*tile_count);
                }
                if let (Some(lie), Some(shape)) = (call.data.tile_shape, shape.as_mut()) {
                    lie(shape);
                }
            },
        );
        device.replace(method!(GetAdapterLuid), |call, (out,)| {
            (call.original.GetAdapterLuid)(call.this, out);
            if let Some(lie) = call.data.luid {
                lie(&mut *out);
            }
            out
        });
        device.replace(method!(GetNodeCount), |call, ()| {
            call.data.node_count.unwrap_or_else(|| (call.original.GetNodeCount)(call.this))
        });
        device.replace(method!(GetDeviceRemovedReason), |call, ()| {
            call.data.removed.unwrap_or_else(|| (call.original.GetDeviceRemovedReason)(call.this))
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
            call.data
                .evict
                .or(call.data.residency)
                .unwrap_or_else(|| (call.original.Evict)(call.this, count, objects))
        });
    }
}

/// Replaces methods that create views by byte offsets.
unsafe fn replace_views(methods: &Methods<Lies>) {
    // SAFETY: as above. A description whose dimension is BUFFER_BYTE_OFFSET has the member of that name.
    unsafe {
        let device = methods.of::<ID3D12Device15>();
        device.replace(method!(TryCreateShaderResourceView), |call, (resource, desc, descriptor)| {
            let ask = call.original.TryCreateShaderResourceView;
            let by_bytes =
                desc.as_ref().filter(|d| d.ViewDimension == D3D12_SRV_DIMENSION_BUFFER_BYTE_OFFSET);
            let (Some(lie), Some(_)) = (call.data.byte_offset, by_bytes) else {
                return ask(call.this, resource, desc, descriptor);
            };
            let mut changed = *desc.cast::<D3D12_SHADER_RESOURCE_VIEW_DESC_BYTE_OFFSET>();
            lie(&mut changed.BufferByteOffset.Offset, &mut changed.BufferByteOffset.Size);
            ask(call.this, resource, changed.as_desc(), descriptor)
        });
        device.replace(
            method!(TryCreateUnorderedAccessView),
            |call, (resource, counter, desc, descriptor)| {
                let ask = call.original.TryCreateUnorderedAccessView;
                let by_bytes =
                    desc.as_ref().filter(|d| d.ViewDimension == D3D12_UAV_DIMENSION_BUFFER_BYTE_OFFSET);
                let (Some(lie), Some(_)) = (call.data.byte_offset, by_bytes) else {
                    return ask(call.this, resource, counter, desc, descriptor);
                };
                let mut changed = *desc.cast::<D3D12_UNORDERED_ACCESS_VIEW_DESC_BYTE_OFFSET>();
                lie(&mut changed.BufferByteOffset.Offset, &mut changed.BufferByteOffset.Size);
                ask(call.this, resource, counter, changed.as_desc(), descriptor)
            },
        );
    }
}

/// Replaces the creation of query heaps with flags.
unsafe fn replace_queries(methods: &Methods<Lies>) {
    // SAFETY: as above.
    unsafe {
        let device = methods.of::<ID3D12Device15>();
        device.replace(method!(CreateQueryHeap1), |call, (desc, flags, iid, out)| {
            let (Some(lie), Some(desc)) = (call.data.query_heap, desc.as_ref()) else {
                return (call.original.CreateQueryHeap1)(call.this, desc, flags, iid, out);
            };
            let (mut desc, mut flags) = (*desc, flags);
            lie(&mut desc, &mut flags);
            (call.original.CreateQueryHeap1)(call.this, &desc, flags, iid, out)
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
            let changed = requested(call.data, count, descs);
            let older: Vec<D3D12_RESOURCE_DESC> = changed.iter().map(Desc::older).collect();
            (call.original.GetResourceAllocationInfo)(call.this, out, visible_mask, count, older.as_ptr());
            answered(call.data, &changed, out, std::ptr::null_mut());
            out
        });
        four.replace(method!(GetResourceAllocationInfo1), |call, (out, nodes, count, descs, parts)| {
            let changed = requested(call.data, count, descs);
            let older: Vec<D3D12_RESOURCE_DESC> = changed.iter().map(Desc::older).collect();
            let ask = call.original.GetResourceAllocationInfo1;
            ask(call.this, out, nodes, count, older.as_ptr(), parts);
            answered(call.data, &changed, out, parts);
            out
        });
        eight.replace(method!(GetResourceAllocationInfo2), |call, (out, nodes, count, descs, parts)| {
            let lies = call.data;
            let changed = requested(lies, count, descs);
            let ask = call.original.GetResourceAllocationInfo2;
            ask(call.this, out, nodes, count, changed.as_ptr(), parts);
            answered(lies, &changed, out, parts);
            if let Some(lie) = lies.newer_allocation {
                lie(&mut *out);
            }
            out
        });
        twelve.replace(
            method!(GetResourceAllocationInfo3),
            |call, (out, visible_mask, count, descs, castable_counts, castable, parts)| {
                let changed = requested(call.data, count, descs);
                let ask = call.original.GetResourceAllocationInfo3;
                ask(call.this, out, visible_mask, count, changed.as_ptr(), castable_counts, castable, parts);
                answered(call.data, &changed, out, parts);
                out
            },
        );
    }
}

/// Makes the objects that a creation call returns tell lies.
macro_rules! made {
    ($device:ident.$method:ident($($argument:ident),*)) => {
        $device.replace(method!($method), |call, ($($argument,)* iid, out)| {
            let hresult = (call.original.$method)(call.this, $($argument,)* iid, out);
            if hresult == S_OK {
                commands::intercept_made(out, call.data);
            }
            hresult
        })
    };
}

/// Replaces methods that create queues, lists, fences and reserved resources.
unsafe fn replace_made(methods: &Methods<Lies>) {
    // SAFETY: as above.
    unsafe {
        let device = methods.of::<ID3D12Device>();
        made!(device.CreateCommandQueue(desc));
        made!(device.CreateCommandList(node_mask, list_type, allocator, state));
        made!(device.CreateFence(value, flags));
        device.replace(method!(CreateReservedResource), |call, (desc, state, clear, iid, out)| {
            let mut changed = desc.as_ref().copied();
            if let (Some(lie), Some(desc)) = (call.data.reserved, changed.as_mut()) {
                lie(desc);
            }
            let create = call.original.CreateReservedResource;
            create(call.this, pointer(changed.as_ref()), state, clear, iid, out)
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

/// Returns a description of another generation with the fields that both have.
macro_rules! converted {
    ($desc:ident as $generation:ident $(, $rest:ident)?) => {
        $generation {
            Dimension: $desc.Dimension,
            Alignment: $desc.Alignment,
            Width: $desc.Width,
            Height: $desc.Height,
            DepthOrArraySize: $desc.DepthOrArraySize,
            MipLevels: $desc.MipLevels,
            Format: $desc.Format,
            SampleDesc: $desc.SampleDesc,
            Layout: $desc.Layout,
            Flags: $desc.Flags,
            $($rest: Default::default(),)?
        }
    };
}

impl Desc for D3D12_RESOURCE_DESC {
    fn older(&self) -> D3D12_RESOURCE_DESC {
        *self
    }

    fn newer(&self) -> D3D12_RESOURCE_DESC1 {
        converted!(self as D3D12_RESOURCE_DESC1, SamplerFeedbackMipRegion)
    }

    fn with(&self, older: &D3D12_RESOURCE_DESC) -> Self {
        *older
    }
}

impl Desc for D3D12_RESOURCE_DESC1 {
    fn older(&self) -> D3D12_RESOURCE_DESC {
        converted!(self as D3D12_RESOURCE_DESC)
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

/// Sets every byte of some values to 0xff.
///
/// # Safety
///
/// `values` is null or points to `count` writable values, for which all bytes are valid.
unsafe fn fill<T>(values: *mut T, count: usize) {
    if !values.is_null() {
        // SAFETY: guaranteed by the caller.
        unsafe { values.write_bytes(0xff, count) };
    }
}
