//! A device in front of another that fails a call of one's choice, and has no interface beyond `ID3D12Device`.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use heapwright::d3d12::*;
use windows_core::{BOOL, Error, GUID, HRESULT, Interface, PCWSTR, Ref, Result, implement};

/// The calls that are passed on, and that can be made to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    CheckFeatureSupport,
    GetResourceAllocationInfo,
    CreateHeap,
    CreatePlacedResource,
}

/// When to fail. Shared with the test, which may change it between calls.
#[derive(Debug)]
pub struct Faults {
    /// Calls until the one that fails; `u64::MAX` for none.
    countdown: AtomicU64,
    /// Calls so far.
    calls: AtomicU64,
    /// `Some` fails only calls of this kind.
    only: Option<Call>,
    hresult: HRESULT,
}

impl Faults {
    pub fn new(only: Option<Call>, hresult: HRESULT) -> Arc<Self> {
        Arc::new(Self { countdown: AtomicU64::new(u64::MAX), calls: AtomicU64::new(0), only, hresult })
    }

    /// Lets the `n`th call from now on fail (0: the next) and those after it succeed.
    pub fn fail_nth(&self, n: u64) {
        self.countdown.store(n, Ordering::Relaxed);
    }

    /// Lets no call fail any more.
    pub fn disarm(&self) {
        self.countdown.store(u64::MAX, Ordering::Relaxed);
    }

    /// Whether the failure that was asked for has happened.
    pub fn has_failed(&self) -> bool {
        self.countdown.load(Ordering::Relaxed) == u64::MAX
    }

    /// Calls of the chosen kind so far.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    fn count(&self, call: Call) -> Result<()> {
        if self.only.is_some_and(|only| only != call) {
            return Ok(());
        }
        self.calls.fetch_add(1, Ordering::Relaxed);
        let before = self.countdown.load(Ordering::Relaxed);
        if before == u64::MAX {
            return Ok(());
        }
        self.countdown.store(before.wrapping_sub(1), Ordering::Relaxed);
        if before == 0 { Err(Error::from_hresult(self.hresult)) } else { Ok(()) }
    }
}

#[implement(ID3D12Device)]
pub struct FaultyDevice {
    device: ID3D12Device,
    faults: Arc<Faults>,
}

impl FaultyDevice {
    pub fn wrap(device: &ID3D12Device, faults: &Arc<Faults>) -> ID3D12Device {
        Self { device: device.clone(), faults: Arc::clone(faults) }.into()
    }

    fn count(&self, call: Call) -> Result<()> {
        self.faults.count(call)
    }
}

fn missing<T>() -> Result<T> {
    Err(Error::from_hresult(E_NOTIMPL))
}

impl ID3D12Object_Impl for FaultyDevice_Impl {
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

impl ID3D12Device_Impl for FaultyDevice_Impl {
    fn GetNodeCount(&self) -> u32 {
        1
    }

    fn CreateCommandQueue(
        &self,
        _pdesc: *const D3D12_COMMAND_QUEUE_DESC,
        _riid: *const GUID,
        _ppcommandqueue: *mut *mut c_void,
    ) -> Result<()> {
        missing()
    }

    fn CreateCommandAllocator(
        &self,
        _type: D3D12_COMMAND_LIST_TYPE,
        _riid: *const GUID,
        _ppcommandallocator: *mut *mut c_void,
    ) -> Result<()> {
        missing()
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
        _nodemask: u32,
        _type: D3D12_COMMAND_LIST_TYPE,
        _pcommandallocator: Ref<'_, ID3D12CommandAllocator>,
        _pinitialstate: Ref<'_, ID3D12PipelineState>,
        _riid: *const GUID,
        _ppcommandlist: *mut *mut c_void,
    ) -> Result<()> {
        missing()
    }

    fn CheckFeatureSupport(
        &self,
        feature: D3D12_FEATURE,
        pfeaturesupportdata: *mut c_void,
        featuresupportdatasize: u32,
    ) -> Result<()> {
        self.count(Call::CheckFeatureSupport)?;
        // SAFETY: the arguments are passed on as they came.
        unsafe { self.device.CheckFeatureSupport(feature, pfeaturesupportdata, featuresupportdatasize) }.ok()
    }

    fn CreateDescriptorHeap(
        &self,
        _pdescriptorheapdesc: *const D3D12_DESCRIPTOR_HEAP_DESC,
        _riid: *const GUID,
        _ppvheap: *mut *mut c_void,
    ) -> Result<()> {
        missing()
    }

    fn GetDescriptorHandleIncrementSize(&self, _descriptorheaptype: D3D12_DESCRIPTOR_HEAP_TYPE) -> u32 {
        1
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
        visiblemask: u32,
        numresourcedescs: u32,
        presourcedescs: *const D3D12_RESOURCE_DESC,
    ) -> D3D12_RESOURCE_ALLOCATION_INFO {
        if self.count(Call::GetResourceAllocationInfo).is_err() {
            return D3D12_RESOURCE_ALLOCATION_INFO { SizeInBytes: u64::MAX, Alignment: 65_536 };
        }
        // SAFETY: the arguments are passed on as they came.
        unsafe {
            let descs = std::slice::from_raw_parts(presourcedescs, numresourcedescs as usize);
            self.device.GetResourceAllocationInfo(visiblemask, descs)
        }
    }

    fn GetCustomHeapProperties(&self, _nodemask: u32, _heaptype: D3D12_HEAP_TYPE) -> D3D12_HEAP_PROPERTIES {
        D3D12_HEAP_PROPERTIES::default()
    }

    fn CreateCommittedResource(
        &self,
        _pheapproperties: *const D3D12_HEAP_PROPERTIES,
        _heapflags: D3D12_HEAP_FLAGS,
        _pdesc: *const D3D12_RESOURCE_DESC,
        _initialresourcestate: D3D12_RESOURCE_STATES,
        _poptimizedclearvalue: *const D3D12_CLEAR_VALUE,
        _riidresource: *const GUID,
        _ppvresource: *mut *mut c_void,
    ) -> Result<()> {
        missing()
    }

    fn CreateHeap(
        &self,
        pdesc: *const D3D12_HEAP_DESC,
        riid: *const GUID,
        ppvheap: *mut *mut c_void,
    ) -> Result<()> {
        self.count(Call::CreateHeap)?;
        // SAFETY: the arguments are passed on as they came.
        unsafe { (self.device.vtable().CreateHeap)(self.device.as_raw(), pdesc, riid, ppvheap) }.ok()
    }

    fn CreatePlacedResource(
        &self,
        pheap: Ref<'_, ID3D12Heap>,
        heapoffset: u64,
        pdesc: *const D3D12_RESOURCE_DESC,
        initialstate: D3D12_RESOURCE_STATES,
        poptimizedclearvalue: *const D3D12_CLEAR_VALUE,
        riid: *const GUID,
        ppvresource: *mut *mut c_void,
    ) -> Result<()> {
        self.count(Call::CreatePlacedResource)?;
        let heap = pheap.as_ref().map_or(std::ptr::null_mut(), Interface::as_raw);
        let create = self.device.vtable().CreatePlacedResource;
        let device = self.device.as_raw();
        // SAFETY: the arguments are passed on as they came.
        unsafe {
            create(device, heap, heapoffset, pdesc, initialstate, poptimizedclearvalue, riid, ppvresource)
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

    fn MakeResident(&self, _numobjects: u32, _ppobjects: *const Option<ID3D12Pageable>) -> Result<()> {
        missing()
    }

    fn Evict(&self, _numobjects: u32, _ppobjects: *const Option<ID3D12Pageable>) -> Result<()> {
        missing()
    }

    fn CreateFence(
        &self,
        _initialvalue: u64,
        _flags: D3D12_FENCE_FLAGS,
        _riid: *const GUID,
        _ppfence: *mut *mut c_void,
    ) -> Result<()> {
        missing()
    }

    fn GetDeviceRemovedReason(&self) -> Result<()> {
        missing()
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
        _pdesc: *const D3D12_QUERY_HEAP_DESC,
        _riid: *const GUID,
        _ppvheap: *mut *mut c_void,
    ) -> Result<()> {
        missing()
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
        LUID::default()
    }
}
