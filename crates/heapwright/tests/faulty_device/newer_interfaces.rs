//! The interfaces after the first, up to `ID3D12Device14`.

use std::ffi::c_void;

use heapwright::d3d12::*;
use windows_core::{BOOL, GUID, IUnknownImpl, Interface, Ref, Result};

use super::{Call, FaultyHeap, HeldPaging, INVALID, Newest_Impl, Seen, missing, raw};

/// # Safety
///
/// `formats` points to `count` formats, or is null.
unsafe fn slice<'a>(formats: *const DXGI_FORMAT, count: u32) -> &'a [DXGI_FORMAT] {
    // SAFETY: the caller upholds the contract of this function.
    if formats.is_null() { &[] } else { unsafe { std::slice::from_raw_parts(formats, count as usize) } }
}

impl ID3D12Device1_Impl for Newest_Impl {
    fn CreatePipelineLibrary(
        &self,
        _plibraryblob: *const c_void,
        _bloblength: usize,
        _riid: *const GUID,
        _pppipelinelibrary: *mut *mut c_void,
    ) -> Result<()> {
        missing()
    }

    fn SetEventOnMultipleFenceCompletion(
        &self,
        _ppfences: *const Option<ID3D12Fence>,
        _pfencevalues: *const u64,
        _numfences: u32,
        _flags: D3D12_MULTIPLE_FENCE_WAIT_FLAGS,
        _hevent: HANDLE,
    ) -> Result<()> {
        missing()
    }

    fn SetResidencyPriority(
        &self,
        count: u32,
        objects: *const Option<ID3D12Pageable>,
        priorities: *const D3D12_RESIDENCY_PRIORITY,
    ) -> Result<()> {
        self.0.faults.count(Call::SetResidencyPriority)?;
        // SAFETY: the caller passes `count` elements.
        for &priority in unsafe { std::slice::from_raw_parts(priorities, count as usize) } {
            self.0.faults.see(Seen::Priority(priority));
        }
        let device: ID3D12Device1 = self.0.device.cast()?;
        // SAFETY: the arguments are passed on, with the objects behind this device's own.
        unsafe {
            let objects = FaultyHeap::unwrap(count, objects);
            device.SetResidencyPriority(count, objects.as_ptr(), priorities)
        }
        .ok()
    }
}

impl ID3D12Device2_Impl for Newest_Impl {
    fn CreatePipelineState(
        &self,
        _pdesc: *const D3D12_PIPELINE_STATE_STREAM_DESC,
        _riid: *const GUID,
        _pppipelinestate: *mut *mut c_void,
    ) -> Result<()> {
        missing()
    }
}

impl ID3D12Device3_Impl for Newest_Impl {
    fn OpenExistingHeapFromAddress(
        &self,
        _paddress: *const c_void,
        _riid: *const GUID,
        _ppvheap: *mut *mut c_void,
    ) -> Result<()> {
        missing()
    }

    fn OpenExistingHeapFromFileMapping(
        &self,
        _hfilemapping: HANDLE,
        _riid: *const GUID,
        _ppvheap: *mut *mut c_void,
    ) -> Result<()> {
        missing()
    }

    fn EnqueueMakeResident(
        &self,
        flags: D3D12_RESIDENCY_FLAGS,
        count: u32,
        objects: *const Option<ID3D12Pageable>,
        fence: Ref<'_, ID3D12Fence>,
        value: u64,
    ) -> Result<()> {
        self.0.faults.count(Call::EnqueueMakeResident)?;
        let held = HeldPaging {
            device: self.0.device.cast()?,
            flags,
            // SAFETY: the caller passes `count` elements.
            objects: unsafe { FaultyHeap::unwrap(count, objects) },
            fence: fence.cloned(),
            value,
        };
        self.0.faults.page(held)
    }
}

impl ID3D12Device4_Impl for Newest_Impl {
    fn CreateCommandList1(
        &self,
        _nodemask: u32,
        _type: D3D12_COMMAND_LIST_TYPE,
        _flags: D3D12_COMMAND_LIST_FLAGS,
        _riid: *const GUID,
        _ppcommandlist: *mut *mut c_void,
    ) -> Result<()> {
        missing()
    }

    fn CreateProtectedResourceSession(
        &self,
        _pdesc: *const D3D12_PROTECTED_RESOURCE_SESSION_DESC,
        _riid: *const GUID,
        _ppsession: *mut *mut c_void,
    ) -> Result<()> {
        missing()
    }

    fn CreateCommittedResource1(
        &self,
        properties: *const D3D12_HEAP_PROPERTIES,
        heap_flags: D3D12_HEAP_FLAGS,
        desc: *const D3D12_RESOURCE_DESC,
        state: D3D12_RESOURCE_STATES,
        clear: *const D3D12_CLEAR_VALUE,
        session: Ref<'_, ID3D12ProtectedResourceSession>,
        riid: *const GUID,
        resource: *mut *mut c_void,
    ) -> Result<()> {
        let device = &self.0.device;
        self.0.see_committed(
            "CreateCommittedResource1",
            properties,
            heap_flags,
            session.as_ref(),
            clear,
            &[],
        )?;
        let create = device.vtable().CreateCommittedResource;
        // SAFETY: the arguments are passed on without the session.
        unsafe { create(device.as_raw(), properties, heap_flags, desc, state, clear, riid, resource) }.ok()
    }

    fn CreateHeap1(
        &self,
        desc: *const D3D12_HEAP_DESC,
        session: Ref<'_, ID3D12ProtectedResourceSession>,
        riid: *const GUID,
        heap: *mut *mut c_void,
    ) -> Result<()> {
        self.0.create_heap(desc, session.as_ref(), riid, heap)
    }

    fn CreateReservedResource1(
        &self,
        _pdesc: *const D3D12_RESOURCE_DESC,
        _initialstate: D3D12_RESOURCE_STATES,
        _poptimizedclearvalue: *const D3D12_CLEAR_VALUE,
        _pprotectedsession: Ref<'_, ID3D12ProtectedResourceSession>,
        _riid: *const GUID,
        _ppvresource: *mut *mut c_void,
    ) -> Result<()> {
        missing()
    }

    fn GetResourceAllocationInfo1(
        &self,
        _visiblemask: u32,
        _numresourcedescs: u32,
        _presourcedescs: *const D3D12_RESOURCE_DESC,
        _presourceallocationinfo1: *mut D3D12_RESOURCE_ALLOCATION_INFO1,
    ) -> D3D12_RESOURCE_ALLOCATION_INFO {
        INVALID
    }
}

impl ID3D12Device5_Impl for Newest_Impl {
    fn CreateLifetimeTracker(
        &self,
        _powner: Ref<'_, ID3D12LifetimeOwner>,
        _riid: *const GUID,
        _ppvtracker: *mut *mut c_void,
    ) -> Result<()> {
        missing()
    }

    fn RemoveDevice(&self) {}

    fn EnumerateMetaCommands(
        &self,
        _pnummetacommands: *mut u32,
        _pdescs: *mut D3D12_META_COMMAND_DESC,
    ) -> Result<()> {
        missing()
    }

    fn EnumerateMetaCommandParameters(
        &self,
        _commandid: *const GUID,
        _stage: D3D12_META_COMMAND_PARAMETER_STAGE,
        _ptotalstructuresizeinbytes: *mut u32,
        _pparametercount: *mut u32,
        _pparameterdescs: *mut D3D12_META_COMMAND_PARAMETER_DESC,
    ) -> Result<()> {
        missing()
    }

    fn CreateMetaCommand(
        &self,
        _commandid: *const GUID,
        _nodemask: u32,
        _pcreationparametersdata: *const c_void,
        _creationparametersdatasizeinbytes: usize,
        _riid: *const GUID,
        _ppmetacommand: *mut *mut c_void,
    ) -> Result<()> {
        missing()
    }

    fn CreateStateObject(
        &self,
        _pdesc: *const D3D12_STATE_OBJECT_DESC,
        _riid: *const GUID,
        _ppstateobject: *mut *mut c_void,
    ) -> Result<()> {
        missing()
    }

    fn GetRaytracingAccelerationStructurePrebuildInfo(
        &self,
        _pdesc: *const D3D12_BUILD_RAYTRACING_ACCELERATION_STRUCTURE_INPUTS,
        _pinfo: *mut D3D12_RAYTRACING_ACCELERATION_STRUCTURE_PREBUILD_INFO,
    ) {
    }

    fn CheckDriverMatchingIdentifier(
        &self,
        _serializeddatatype: D3D12_SERIALIZED_DATA_TYPE,
        _pidentifiertocheck: *const D3D12_SERIALIZED_DATA_DRIVER_MATCHING_IDENTIFIER,
    ) -> D3D12_DRIVER_MATCHING_IDENTIFIER_STATUS {
        0
    }
}

impl ID3D12Device6_Impl for Newest_Impl {
    fn SetBackgroundProcessingMode(
        &self,
        _mode: D3D12_BACKGROUND_PROCESSING_MODE,
        _measurementsaction: D3D12_MEASUREMENTS_ACTION,
        _heventtosignaluponcompletion: HANDLE,
        _pbfurthermeasurementsdesired: *mut BOOL,
    ) -> Result<()> {
        missing()
    }
}

impl ID3D12Device7_Impl for Newest_Impl {
    fn AddToStateObject(
        &self,
        _paddition: *const D3D12_STATE_OBJECT_DESC,
        _pstateobjecttogrowfrom: Ref<'_, ID3D12StateObject>,
        _riid: *const GUID,
        _ppnewstateobject: *mut *mut c_void,
    ) -> Result<()> {
        missing()
    }

    fn CreateProtectedResourceSession1(
        &self,
        _pdesc: *const D3D12_PROTECTED_RESOURCE_SESSION_DESC1,
        _riid: *const GUID,
        _ppsession: *mut *mut c_void,
    ) -> Result<()> {
        missing()
    }
}

impl ID3D12Device8_Impl for Newest_Impl {
    fn GetResourceAllocationInfo2(
        &self,
        mask: u32,
        count: u32,
        descs: *const D3D12_RESOURCE_DESC1,
        infos: *mut D3D12_RESOURCE_ALLOCATION_INFO1,
    ) -> D3D12_RESOURCE_ALLOCATION_INFO {
        if self.0.faults.count(Call::GetResourceAllocationInfo).is_err() {
            return INVALID;
        }
        let Ok(device) = self.0.device.cast::<ID3D12Device8>() else { return INVALID };
        // SAFETY: the arguments are passed on unchanged.
        unsafe { device.GetResourceAllocationInfo2(mask, count, descs, Some(infos)) }
    }

    fn CreateCommittedResource2(
        &self,
        properties: *const D3D12_HEAP_PROPERTIES,
        heap_flags: D3D12_HEAP_FLAGS,
        desc: *const D3D12_RESOURCE_DESC1,
        state: D3D12_RESOURCE_STATES,
        clear: *const D3D12_CLEAR_VALUE,
        session: Ref<'_, ID3D12ProtectedResourceSession>,
        riid: *const GUID,
        resource: *mut *mut c_void,
    ) -> Result<()> {
        let device: ID3D12Device8 = self.0.device.cast()?;
        self.0.see_committed(
            "CreateCommittedResource2",
            properties,
            heap_flags,
            session.as_ref(),
            clear,
            &[],
        )?;
        let (create, none) = (device.vtable().CreateCommittedResource2, std::ptr::null_mut());
        // SAFETY: the arguments are passed on without the session.
        unsafe { create(device.as_raw(), properties, heap_flags, desc, state, clear, none, riid, resource) }
            .ok()
    }

    fn CreatePlacedResource1(
        &self,
        heap: Ref<'_, ID3D12Heap>,
        offset: u64,
        desc: *const D3D12_RESOURCE_DESC1,
        state: D3D12_RESOURCE_STATES,
        clear: *const D3D12_CLEAR_VALUE,
        riid: *const GUID,
        resource: *mut *mut c_void,
    ) -> Result<()> {
        let device: ID3D12Device8 = self.0.device.cast()?;
        self.0.see_placed("CreatePlacedResource1", offset, clear, &[])?;
        let create = device.vtable().CreatePlacedResource1;
        // SAFETY: the arguments are passed on unchanged.
        unsafe { create(device.as_raw(), raw(heap.as_ref()), offset, desc, state, clear, riid, resource) }
            .ok()
    }

    fn CreateSamplerFeedbackUnorderedAccessView(
        &self,
        _ptargetedresource: Ref<'_, ID3D12Resource>,
        _pfeedbackresource: Ref<'_, ID3D12Resource>,
        _destdescriptor: &D3D12_CPU_DESCRIPTOR_HANDLE,
    ) {
    }

    fn GetCopyableFootprints1(
        &self,
        _presourcedesc: *const D3D12_RESOURCE_DESC1,
        _firstsubresource: u32,
        _numsubresources: u32,
        _baseoffset: u64,
        _playouts: *mut D3D12_PLACED_SUBRESOURCE_FOOTPRINT,
        _pnumrows: *mut u32,
        _prowsizeinbytes: *mut u64,
        _ptotalbytes: *mut u64,
    ) {
    }
}

impl ID3D12Device9_Impl for Newest_Impl {
    fn CreateShaderCacheSession(
        &self,
        _pdesc: *const D3D12_SHADER_CACHE_SESSION_DESC,
        _riid: *const GUID,
        _ppvsession: *mut *mut c_void,
    ) -> Result<()> {
        missing()
    }

    fn ShaderCacheControl(
        &self,
        _kinds: D3D12_SHADER_CACHE_KIND_FLAGS,
        _control: D3D12_SHADER_CACHE_CONTROL_FLAGS,
    ) -> Result<()> {
        missing()
    }

    fn CreateCommandQueue1(
        &self,
        desc: *const D3D12_COMMAND_QUEUE_DESC,
        _creatorid: *const GUID,
        riid: *const GUID,
        queue: *mut *mut c_void,
    ) -> Result<()> {
        self.0.create_command_queue(&self.to_interface::<ID3D12Device14>().cast()?, desc, riid, queue)
    }
}

impl ID3D12Device10_Impl for Newest_Impl {
    fn CreateCommittedResource3(
        &self,
        properties: *const D3D12_HEAP_PROPERTIES,
        heap_flags: D3D12_HEAP_FLAGS,
        desc: *const D3D12_RESOURCE_DESC1,
        layout: D3D12_BARRIER_LAYOUT,
        clear: *const D3D12_CLEAR_VALUE,
        session: Ref<'_, ID3D12ProtectedResourceSession>,
        count: u32,
        formats: *const DXGI_FORMAT,
        riid: *const GUID,
        resource: *mut *mut c_void,
    ) -> Result<()> {
        let device: ID3D12Device10 = self.0.device.cast()?;
        // SAFETY: the caller passes `count` elements.
        let castable = unsafe { slice(formats, count) };
        let session = session.as_ref();
        self.0.see_committed("CreateCommittedResource3", properties, heap_flags, session, clear, castable)?;
        let (create, this) = (device.vtable().CreateCommittedResource3, device.as_raw());
        let none = std::ptr::null_mut();
        // SAFETY: the arguments are passed on without the session.
        unsafe {
            create(this, properties, heap_flags, desc, layout, clear, none, count, formats, riid, resource)
        }
        .ok()
    }

    fn CreatePlacedResource2(
        &self,
        heap: Ref<'_, ID3D12Heap>,
        offset: u64,
        desc: *const D3D12_RESOURCE_DESC1,
        layout: D3D12_BARRIER_LAYOUT,
        clear: *const D3D12_CLEAR_VALUE,
        count: u32,
        formats: *const DXGI_FORMAT,
        riid: *const GUID,
        resource: *mut *mut c_void,
    ) -> Result<()> {
        let device: ID3D12Device10 = self.0.device.cast()?;
        // SAFETY: the caller passes `count` elements.
        self.0.see_placed("CreatePlacedResource2", offset, clear, unsafe { slice(formats, count) })?;
        let (create, heap) = (device.vtable().CreatePlacedResource2, raw(heap.as_ref()));
        // SAFETY: the arguments are passed on unchanged.
        unsafe { create(device.as_raw(), heap, offset, desc, layout, clear, count, formats, riid, resource) }
            .ok()
    }

    fn CreateReservedResource2(
        &self,
        _pdesc: *const D3D12_RESOURCE_DESC,
        _initiallayout: D3D12_BARRIER_LAYOUT,
        _poptimizedclearvalue: *const D3D12_CLEAR_VALUE,
        _pprotectedsession: Ref<'_, ID3D12ProtectedResourceSession>,
        _numcastableformats: u32,
        _pcastableformats: *const DXGI_FORMAT,
        _riid: *const GUID,
        _ppvresource: *mut *mut c_void,
    ) -> Result<()> {
        missing()
    }
}

impl ID3D12Device11_Impl for Newest_Impl {
    fn CreateSampler2(
        &self,
        _pdesc: *const D3D12_SAMPLER_DESC2,
        _destdescriptor: &D3D12_CPU_DESCRIPTOR_HANDLE,
    ) {
    }
}

impl ID3D12Device12_Impl for Newest_Impl {
    fn GetResourceAllocationInfo3(
        &self,
        mask: u32,
        count: u32,
        descs: *const D3D12_RESOURCE_DESC1,
        format_counts: *const u32,
        formats: *const *const DXGI_FORMAT,
        infos: *mut D3D12_RESOURCE_ALLOCATION_INFO1,
    ) -> D3D12_RESOURCE_ALLOCATION_INFO {
        if self.0.faults.count(Call::GetResourceAllocationInfo).is_err() {
            return INVALID;
        }
        let Ok(device) = self.0.device.cast::<ID3D12Device12>() else { return INVALID };
        // SAFETY: the arguments are passed on unchanged.
        unsafe { device.GetResourceAllocationInfo3(mask, count, descs, format_counts, formats, Some(infos)) }
    }
}

impl ID3D12Device13_Impl for Newest_Impl {
    fn OpenExistingHeapFromAddress1(
        &self,
        _paddress: *const c_void,
        _size: usize,
        _riid: *const GUID,
        _ppvheap: *mut *mut c_void,
    ) -> Result<()> {
        missing()
    }
}

impl ID3D12Device14_Impl for Newest_Impl {
    fn CreateRootSignatureFromSubobjectInLibrary(
        &self,
        _nodemask: u32,
        _plibraryblob: *const c_void,
        _bloblengthinbytes: usize,
        _subobjectname: &PCWSTR,
        _riid: *const GUID,
        _ppvrootsignature: *mut *mut c_void,
    ) -> Result<()> {
        missing()
    }
}
