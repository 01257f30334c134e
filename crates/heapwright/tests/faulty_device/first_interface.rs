//! `ID3D12Device` for both classes of the faulty device.

/// Implements `ID3D12Device` for a class whose first field is a `Wrapped` and whose newest interface is
/// `$newest`. The calls that the allocator makes are counted and passed on; all others return E_NOTIMPL.
macro_rules! implement_first_interface {
    ($class:ident, $newest:ident) => {
        impl ID3D12Object_Impl for $class {
            fn GetPrivateData(&self, _guid: *const GUID, _size: *mut u32, _data: *mut c_void) -> Result<()> {
                missing()
            }

            fn SetPrivateData(&self, _guid: *const GUID, _size: u32, _data: *const c_void) -> Result<()> {
                missing()
            }

            fn SetPrivateDataInterface(
                &self,
                _guid: *const GUID,
                _data: Ref<'_, windows_core::IUnknown>,
            ) -> Result<()> {
                missing()
            }

            fn SetName(&self, _name: &PCWSTR) -> Result<()> {
                missing()
            }
        }

        impl ID3D12Device_Impl for $class {
            fn GetNodeCount(&self) -> u32 {
                self.0.faults.node_count()
            }

            fn CreateCommandQueue(
                &self,
                desc: *const D3D12_COMMAND_QUEUE_DESC,
                riid: *const GUID,
                queue: *mut *mut c_void,
            ) -> Result<()> {
                self.0.create_command_queue(&self.to_interface::<$newest>().cast()?, desc, riid, queue)
            }

            fn CreateCommandAllocator(
                &self,
                list_type: D3D12_COMMAND_LIST_TYPE,
                riid: *const GUID,
                allocator: *mut *mut c_void,
            ) -> Result<()> {
                let (device, create) = (&self.0.device, self.0.device.vtable().CreateCommandAllocator);
                // SAFETY: the arguments are passed on unchanged.
                unsafe { create(device.as_raw(), list_type, riid, allocator) }.ok()
            }

            fn CreateGraphicsPipelineState(
                &self,
                _pdesc: *const D3D12_GRAPHICS_PIPELINE_STATE_DESC,
                _riid: *const GUID,
                _pppipelinestate: *mut *mut c_void,
            ) -> Result<()> {
                missing()
            }

            fn CreateComputePipelineState(
                &self,
                _pdesc: *const D3D12_COMPUTE_PIPELINE_STATE_DESC,
                _riid: *const GUID,
                _pppipelinestate: *mut *mut c_void,
            ) -> Result<()> {
                missing()
            }

            fn CreateCommandList(
                &self,
                mask: u32,
                list_type: D3D12_COMMAND_LIST_TYPE,
                allocator: Ref<'_, ID3D12CommandAllocator>,
                _pinitialstate: Ref<'_, ID3D12PipelineState>,
                riid: *const GUID,
                list: *mut *mut c_void,
            ) -> Result<()> {
                let (device, create) = (&self.0.device, self.0.device.vtable().CreateCommandList);
                let none = std::ptr::null_mut();
                // SAFETY: the arguments are passed on without the pipeline, which the runtime does not have.
                unsafe { create(device.as_raw(), mask, list_type, raw(allocator.as_ref()), none, riid, list) }
                    .ok()
            }

            fn CheckFeatureSupport(
                &self,
                feature: D3D12_FEATURE,
                data: *mut c_void,
                size: u32,
            ) -> Result<()> {
                self.0.faults.count(Call::CheckFeatureSupport)?;
                // SAFETY: the arguments are passed on unchanged.
                unsafe { self.0.device.CheckFeatureSupport(feature, data, size) }.ok()
            }

            fn CreateDescriptorHeap(
                &self,
                desc: *const D3D12_DESCRIPTOR_HEAP_DESC,
                riid: *const GUID,
                heap: *mut *mut c_void,
            ) -> Result<()> {
                self.0.faults.count(Call::CreateDescriptorHeap)?;
                let create = self.0.device.vtable().CreateDescriptorHeap;
                // SAFETY: the arguments are passed on unchanged.
                unsafe { create(self.0.device.as_raw(), desc, riid, heap) }.ok()
            }

            fn GetDescriptorHandleIncrementSize(&self, heap_type: D3D12_DESCRIPTOR_HEAP_TYPE) -> u32 {
                // SAFETY: a live COM object.
                unsafe { self.0.device.GetDescriptorHandleIncrementSize(heap_type) }
            }

            fn CreateRootSignature(
                &self,
                _nodemask: u32,
                _pblobwithrootsignature: *const c_void,
                _bloblengthinbytes: usize,
                _riid: *const GUID,
                _ppvrootsignature: *mut *mut c_void,
            ) -> Result<()> {
                missing()
            }

            fn CreateConstantBufferView(
                &self,
                _pdesc: *const D3D12_CONSTANT_BUFFER_VIEW_DESC,
                _destdescriptor: &D3D12_CPU_DESCRIPTOR_HANDLE,
            ) {
            }

            fn CreateShaderResourceView(
                &self,
                _presource: Ref<'_, ID3D12Resource>,
                _pdesc: *const D3D12_SHADER_RESOURCE_VIEW_DESC,
                _destdescriptor: &D3D12_CPU_DESCRIPTOR_HANDLE,
            ) {
            }

            fn CreateUnorderedAccessView(
                &self,
                _presource: Ref<'_, ID3D12Resource>,
                _pcounterresource: Ref<'_, ID3D12Resource>,
                _pdesc: *const D3D12_UNORDERED_ACCESS_VIEW_DESC,
                _destdescriptor: &D3D12_CPU_DESCRIPTOR_HANDLE,
            ) {
            }

            fn CreateRenderTargetView(
                &self,
                _presource: Ref<'_, ID3D12Resource>,
                _pdesc: *const D3D12_RENDER_TARGET_VIEW_DESC,
                _destdescriptor: &D3D12_CPU_DESCRIPTOR_HANDLE,
            ) {
            }

            fn CreateDepthStencilView(
                &self,
                _presource: Ref<'_, ID3D12Resource>,
                _pdesc: *const D3D12_DEPTH_STENCIL_VIEW_DESC,
                _destdescriptor: &D3D12_CPU_DESCRIPTOR_HANDLE,
            ) {
            }

            fn CreateSampler(
                &self,
                _pdesc: *const D3D12_SAMPLER_DESC,
                _destdescriptor: &D3D12_CPU_DESCRIPTOR_HANDLE,
            ) {
            }

            fn CopyDescriptors(
                &self,
                _numdestdescriptorranges: u32,
                _pdestdescriptorrangestarts: *const D3D12_CPU_DESCRIPTOR_HANDLE,
                _pdestdescriptorrangesizes: *const u32,
                _numsrcdescriptorranges: u32,
                _psrcdescriptorrangestarts: *const D3D12_CPU_DESCRIPTOR_HANDLE,
                _psrcdescriptorrangesizes: *const u32,
                _descriptorheapstype: D3D12_DESCRIPTOR_HEAP_TYPE,
            ) {
            }

            fn CopyDescriptorsSimple(
                &self,
                _numdescriptors: u32,
                _destdescriptorrangestart: &D3D12_CPU_DESCRIPTOR_HANDLE,
                _srcdescriptorrangestart: &D3D12_CPU_DESCRIPTOR_HANDLE,
                _descriptorheapstype: D3D12_DESCRIPTOR_HEAP_TYPE,
            ) {
            }

            fn GetResourceAllocationInfo(
                &self,
                mask: u32,
                count: u32,
                descs: *const D3D12_RESOURCE_DESC,
            ) -> D3D12_RESOURCE_ALLOCATION_INFO {
                if self.0.faults.count(Call::GetResourceAllocationInfo).is_err() {
                    return INVALID;
                }
                // SAFETY: the arguments are passed on unchanged.
                unsafe {
                    let descs = std::slice::from_raw_parts(descs, count as usize);
                    self.0.device.GetResourceAllocationInfo(mask, descs)
                }
            }

            fn GetCustomHeapProperties(
                &self,
                _mask: u32,
                heap_type: D3D12_HEAP_TYPE,
            ) -> D3D12_HEAP_PROPERTIES {
                // SAFETY: the device is a live COM object.
                unsafe { self.0.device.GetCustomHeapProperties(0, heap_type) }
            }

            fn CreateCommittedResource(
                &self,
                properties: *const D3D12_HEAP_PROPERTIES,
                heap_flags: D3D12_HEAP_FLAGS,
                desc: *const D3D12_RESOURCE_DESC,
                state: D3D12_RESOURCE_STATES,
                clear: *const D3D12_CLEAR_VALUE,
                riid: *const GUID,
                resource: *mut *mut c_void,
            ) -> Result<()> {
                let device = &self.0.device;
                self.0.see_committed("CreateCommittedResource", properties, heap_flags, None, clear, &[])?;
                // SAFETY: both are readable, as the caller of the device promises.
                let (heap_type, flags) = unsafe { ((*properties).Type, (*desc).Flags) };
                self.0.faults.check_custom(heap_type, flags)?;
                let create = device.vtable().CreateCommittedResource;
                // SAFETY: the arguments are passed on unchanged.
                unsafe { create(device.as_raw(), properties, heap_flags, desc, state, clear, riid, resource) }
                    .ok()
            }

            fn CreateHeap(
                &self,
                desc: *const D3D12_HEAP_DESC,
                riid: *const GUID,
                heap: *mut *mut c_void,
            ) -> Result<()> {
                self.0.create_heap(desc, None, riid, heap)
            }

            fn CreatePlacedResource(
                &self,
                heap: Ref<'_, ID3D12Heap>,
                offset: u64,
                desc: *const D3D12_RESOURCE_DESC,
                state: D3D12_RESOURCE_STATES,
                clear: *const D3D12_CLEAR_VALUE,
                riid: *const GUID,
                resource: *mut *mut c_void,
            ) -> Result<()> {
                let device = &self.0.device;
                self.0.see_placed("CreatePlacedResource", offset, clear, &[])?;
                if let Some(heap) = heap.as_ref() {
                    // SAFETY: the heap is alive and the description readable, as the caller of the device promises.
                    let (heap_type, flags) = unsafe { (heap.GetDesc().Properties.Type, (*desc).Flags) };
                    self.0.faults.check_custom(heap_type, flags)?;
                }
                let create = device.vtable().CreatePlacedResource;
                // SAFETY: the arguments are passed on unchanged.
                unsafe {
                    create(device.as_raw(), raw(heap.as_ref()), offset, desc, state, clear, riid, resource)
                }
                .ok()
            }

            fn CreateReservedResource(
                &self,
                _pdesc: *const D3D12_RESOURCE_DESC,
                _initialstate: D3D12_RESOURCE_STATES,
                _poptimizedclearvalue: *const D3D12_CLEAR_VALUE,
                _riid: *const GUID,
                _ppvresource: *mut *mut c_void,
            ) -> Result<()> {
                missing()
            }

            fn CreateSharedHandle(
                &self,
                _pobject: Ref<'_, ID3D12DeviceChild>,
                _pattributes: *const SECURITY_ATTRIBUTES,
                _access: u32,
                _name: &PCWSTR,
            ) -> Result<HANDLE> {
                missing()
            }

            fn OpenSharedHandle(
                &self,
                _nthandle: HANDLE,
                _riid: *const GUID,
                _ppvobj: *mut *mut c_void,
            ) -> Result<()> {
                missing()
            }

            fn OpenSharedHandleByName(&self, _name: &PCWSTR, _access: u32) -> Result<HANDLE> {
                missing()
            }

            fn MakeResident(&self, count: u32, objects: *const Option<ID3D12Pageable>) -> Result<()> {
                self.0.faults.count(Call::MakeResident)?;
                let make_resident = self.0.device.vtable().MakeResident;
                // SAFETY: the arguments are passed on, with the objects behind this device's own.
                unsafe {
                    let objects = FaultyHeap::unwrap(count, objects);
                    make_resident(self.0.device.as_raw(), count, objects.as_ptr().cast())
                }
                .ok()
            }

            fn Evict(&self, count: u32, objects: *const Option<ID3D12Pageable>) -> Result<()> {
                self.0.faults.count(Call::Evict)?;
                let evict = self.0.device.vtable().Evict;
                // SAFETY: the arguments are passed on, with the objects behind this device's own.
                unsafe {
                    let objects = FaultyHeap::unwrap(count, objects);
                    evict(self.0.device.as_raw(), count, objects.as_ptr().cast())
                }
                .ok()
            }

            fn CreateFence(
                &self,
                value: u64,
                flags: D3D12_FENCE_FLAGS,
                riid: *const GUID,
                fence: *mut *mut c_void,
            ) -> Result<()> {
                self.0.faults.count(Call::CreateFence)?;
                let create = self.0.device.vtable().CreateFence;
                // SAFETY: the arguments are passed on unchanged.
                unsafe { create(self.0.device.as_raw(), value, flags, riid, fence) }.ok()
            }

            fn GetDeviceRemovedReason(&self) -> Result<()> {
                // SAFETY: a live COM object.
                unsafe { self.0.device.GetDeviceRemovedReason() }.ok()
            }

            fn GetCopyableFootprints(
                &self,
                _presourcedesc: *const D3D12_RESOURCE_DESC,
                _firstsubresource: u32,
                _numsubresources: u32,
                _baseoffset: u64,
                _playouts: *mut D3D12_PLACED_SUBRESOURCE_FOOTPRINT,
                _pnumrows: *mut u32,
                _prowsizeinbytes: *mut u64,
                _ptotalbytes: *mut u64,
            ) {
            }

            fn CreateQueryHeap(
                &self,
                desc: *const D3D12_QUERY_HEAP_DESC,
                riid: *const GUID,
                heap: *mut *mut c_void,
            ) -> Result<()> {
                self.0.faults.count(Call::CreateQueryHeap)?;
                let create = self.0.device.vtable().CreateQueryHeap;
                // SAFETY: the arguments are passed on unchanged.
                unsafe { create(self.0.device.as_raw(), desc, riid, heap) }.ok()
            }

            fn SetStablePowerState(&self, _enable: BOOL) -> Result<()> {
                missing()
            }

            fn CreateCommandSignature(
                &self,
                _pdesc: *const D3D12_COMMAND_SIGNATURE_DESC,
                _prootsignature: Ref<'_, ID3D12RootSignature>,
                _riid: *const GUID,
                _ppvcommandsignature: *mut *mut c_void,
            ) -> Result<()> {
                missing()
            }

            fn GetResourceTiling(
                &self,
                _ptiledresource: Ref<'_, ID3D12Resource>,
                _pnumtilesforentireresource: *mut u32,
                _ppackedmipdesc: *mut D3D12_PACKED_MIP_INFO,
                _pstandardtileshapefornonpackedmips: *mut D3D12_TILE_SHAPE,
                _pnumsubresourcetilings: *mut u32,
                _firstsubresourcetilingtoget: u32,
                _psubresourcetilingsfornonpackedmips: *mut D3D12_SUBRESOURCE_TILING,
            ) {
            }

            fn GetAdapterLuid(&self) -> LUID {
                // SAFETY: a live COM object.
                unsafe { self.0.device.GetAdapterLuid() }
            }
        }
    };
}

pub(super) use implement_first_interface;
