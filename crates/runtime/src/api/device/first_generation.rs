//! The device as the first D3D12 had it: `ID3D12Device`, and none of the numbered interfaces that came later.
//!
//! An object of its own in front of the full device, because what an object answers to QueryInterface is its class's. It holds
//! the full device; that one knows it weakly, so that its children lead back to the object that the application has.

use std::ffi::c_void;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use heapwright_d3d12::*;
use windows_core::{BOOL, ComObject, GUID, Interface as _, Ref, Result, Weak, implement};

use super::Device;

/// The object that an application has for a device of the first generation; nothing while it has none.
#[derive(Default)]
pub(super) struct Shown(Mutex<Option<Weak<ID3D12Device>>>);

impl Shown {
    /// The object in front of `device`: the same one for as long as anybody holds it.
    pub(super) fn of(&self, device: &ComObject<Device>) -> ID3D12Device {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shown) = known.as_ref().and_then(Weak::upgrade) {
            return shown;
        }
        let shown: ID3D12Device = FirstGenerationDevice { device: device.clone() }.into();
        *known = shown.downgrade().ok();
        shown
    }
}

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shown").finish_non_exhaustive()
    }
}

/// A device that answers to `ID3D12Device` alone.
#[implement(ID3D12Device)]
pub(super) struct FirstGenerationDevice {
    device: ComObject<Device>,
}

impl FirstGenerationDevice {
    /// The full device.
    pub(super) fn device(&self) -> &ComObject<Device> {
        &self.device
    }
}

/// What the first D3D12 could be asked about.
const FIRST_FEATURES: [D3D12_FEATURE; 7] = [
    D3D12_FEATURE_D3D12_OPTIONS,
    D3D12_FEATURE_ARCHITECTURE,
    D3D12_FEATURE_FEATURE_LEVELS,
    D3D12_FEATURE_FORMAT_SUPPORT,
    D3D12_FEATURE_MULTISAMPLE_QUALITY_LEVELS,
    D3D12_FEATURE_FORMAT_INFO,
    D3D12_FEATURE_GPU_VIRTUAL_ADDRESS_SUPPORT,
];

/// Implements methods by the same methods of the full device, which checks what it is given; those in braces as they are.
macro_rules! pass_on {
    ($interface:ident: { $($own:item)* } $(fn $name:ident($($argument:ident: $kind:ty),*) $(-> $answer:ty)?;)*) => {
        impl $interface for FirstGenerationDevice_Impl {
            $($own)*

            $(fn $name(&self, $($argument: $kind),*) $(-> $answer)? {
                self.device.$name($($argument),*)
            })*
        }
    };
}

pass_on! {
    ID3D12Object_Impl: {}
    fn GetPrivateData(guid: *const GUID, pdatasize: *mut u32, pdata: *mut c_void) -> Result<()>;
    fn SetPrivateData(guid: *const GUID, datasize: u32, pdata: *const c_void) -> Result<()>;
    fn SetPrivateDataInterface(guid: *const GUID, pdata: Ref<'_, windows_core::IUnknown>) -> Result<()>;
    fn SetName(name: &PCWSTR) -> Result<()>;
}

pass_on! {
    ID3D12Device_Impl: {
        // No message: asking is how a program finds out what there is.
        fn CheckFeatureSupport(&self, feature: D3D12_FEATURE, data: *mut c_void, size: u32) -> Result<()> {
            if !FIRST_FEATURES.contains(&feature) {
                return Err(windows_core::Error::from_hresult(E_INVALIDARG));
            }
            self.device.CheckFeatureSupport(feature, data, size)
        }
    }
    fn GetNodeCount() -> u32;
    fn CreateCommandQueue(
        pdesc: *const D3D12_COMMAND_QUEUE_DESC,
        riid: *const GUID,
        ppcommandqueue: *mut *mut c_void
    ) -> Result<()>;
    fn CreateCommandAllocator(
        list_type: D3D12_COMMAND_LIST_TYPE,
        riid: *const GUID,
        ppcommandallocator: *mut *mut c_void
    ) -> Result<()>;
    fn CreateGraphicsPipelineState(
        pdesc: *const D3D12_GRAPHICS_PIPELINE_STATE_DESC,
        riid: *const GUID,
        pppipelinestate: *mut *mut c_void
    ) -> Result<()>;
    fn CreateComputePipelineState(
        pdesc: *const D3D12_COMPUTE_PIPELINE_STATE_DESC,
        riid: *const GUID,
        pppipelinestate: *mut *mut c_void
    ) -> Result<()>;
    fn CreateCommandList(
        nodemask: u32,
        list_type: D3D12_COMMAND_LIST_TYPE,
        pcommandallocator: Ref<'_, ID3D12CommandAllocator>,
        pinitialstate: Ref<'_, ID3D12PipelineState>,
        riid: *const GUID,
        ppcommandlist: *mut *mut c_void
    ) -> Result<()>;
    fn CreateDescriptorHeap(
        pdescriptorheapdesc: *const D3D12_DESCRIPTOR_HEAP_DESC,
        riid: *const GUID,
        ppvheap: *mut *mut c_void
    ) -> Result<()>;
    fn GetDescriptorHandleIncrementSize(descriptorheaptype: D3D12_DESCRIPTOR_HEAP_TYPE) -> u32;
    fn CreateRootSignature(
        nodemask: u32,
        pblobwithrootsignature: *const c_void,
        bloblengthinbytes: usize,
        riid: *const GUID,
        ppvrootsignature: *mut *mut c_void
    ) -> Result<()>;
    fn CreateConstantBufferView(
        pdesc: *const D3D12_CONSTANT_BUFFER_VIEW_DESC,
        destdescriptor: &D3D12_CPU_DESCRIPTOR_HANDLE
    );
    fn CreateShaderResourceView(
        presource: Ref<'_, ID3D12Resource>,
        pdesc: *const D3D12_SHADER_RESOURCE_VIEW_DESC,
        destdescriptor: &D3D12_CPU_DESCRIPTOR_HANDLE
    );
    fn CreateUnorderedAccessView(
        presource: Ref<'_, ID3D12Resource>,
        pcounterresource: Ref<'_, ID3D12Resource>,
        pdesc: *const D3D12_UNORDERED_ACCESS_VIEW_DESC,
        destdescriptor: &D3D12_CPU_DESCRIPTOR_HANDLE
    );
    fn CreateRenderTargetView(
        presource: Ref<'_, ID3D12Resource>,
        pdesc: *const D3D12_RENDER_TARGET_VIEW_DESC,
        destdescriptor: &D3D12_CPU_DESCRIPTOR_HANDLE
    );
    fn CreateDepthStencilView(
        presource: Ref<'_, ID3D12Resource>,
        pdesc: *const D3D12_DEPTH_STENCIL_VIEW_DESC,
        destdescriptor: &D3D12_CPU_DESCRIPTOR_HANDLE
    );
    fn CreateSampler(pdesc: *const D3D12_SAMPLER_DESC, destdescriptor: &D3D12_CPU_DESCRIPTOR_HANDLE);
    fn CopyDescriptors(
        numdestdescriptorranges: u32,
        pdestdescriptorrangestarts: *const D3D12_CPU_DESCRIPTOR_HANDLE,
        pdestdescriptorrangesizes: *const u32,
        numsrcdescriptorranges: u32,
        psrcdescriptorrangestarts: *const D3D12_CPU_DESCRIPTOR_HANDLE,
        psrcdescriptorrangesizes: *const u32,
        descriptorheapstype: D3D12_DESCRIPTOR_HEAP_TYPE
    );
    fn CopyDescriptorsSimple(
        numdescriptors: u32,
        destdescriptorrangestart: &D3D12_CPU_DESCRIPTOR_HANDLE,
        srcdescriptorrangestart: &D3D12_CPU_DESCRIPTOR_HANDLE,
        descriptorheapstype: D3D12_DESCRIPTOR_HEAP_TYPE
    );
    fn GetResourceAllocationInfo(
        visiblemask: u32,
        numresourcedescs: u32,
        presourcedescs: *const D3D12_RESOURCE_DESC
    ) -> D3D12_RESOURCE_ALLOCATION_INFO;
    fn GetCustomHeapProperties(nodemask: u32, heaptype: D3D12_HEAP_TYPE) -> D3D12_HEAP_PROPERTIES;
    fn CreateCommittedResource(
        pheapproperties: *const D3D12_HEAP_PROPERTIES,
        heapflags: D3D12_HEAP_FLAGS,
        pdesc: *const D3D12_RESOURCE_DESC,
        initialresourcestate: D3D12_RESOURCE_STATES,
        poptimizedclearvalue: *const D3D12_CLEAR_VALUE,
        riidresource: *const GUID,
        ppvresource: *mut *mut c_void
    ) -> Result<()>;
    fn CreateHeap(pdesc: *const D3D12_HEAP_DESC, riid: *const GUID, ppvheap: *mut *mut c_void) -> Result<()>;
    fn CreatePlacedResource(
        pheap: Ref<'_, ID3D12Heap>,
        heapoffset: u64,
        pdesc: *const D3D12_RESOURCE_DESC,
        initialstate: D3D12_RESOURCE_STATES,
        poptimizedclearvalue: *const D3D12_CLEAR_VALUE,
        riid: *const GUID,
        ppvresource: *mut *mut c_void
    ) -> Result<()>;
    fn CreateReservedResource(
        pdesc: *const D3D12_RESOURCE_DESC,
        initialstate: D3D12_RESOURCE_STATES,
        poptimizedclearvalue: *const D3D12_CLEAR_VALUE,
        riid: *const GUID,
        ppvresource: *mut *mut c_void
    ) -> Result<()>;
    fn CreateSharedHandle(
        pobject: Ref<'_, ID3D12DeviceChild>,
        pattributes: *const SECURITY_ATTRIBUTES,
        access: u32,
        name: &PCWSTR
    ) -> Result<HANDLE>;
    fn OpenSharedHandle(nthandle: HANDLE, riid: *const GUID, ppvobj: *mut *mut c_void) -> Result<()>;
    fn OpenSharedHandleByName(name: &PCWSTR, access: u32) -> Result<HANDLE>;
    fn MakeResident(numobjects: u32, ppobjects: *const Option<ID3D12Pageable>) -> Result<()>;
    fn Evict(numobjects: u32, ppobjects: *const Option<ID3D12Pageable>) -> Result<()>;
    fn CreateFence(
        initialvalue: u64,
        flags: D3D12_FENCE_FLAGS,
        riid: *const GUID,
        ppfence: *mut *mut c_void
    ) -> Result<()>;
    fn GetDeviceRemovedReason() -> Result<()>;
    fn GetCopyableFootprints(
        presourcedesc: *const D3D12_RESOURCE_DESC,
        firstsubresource: u32,
        numsubresources: u32,
        baseoffset: u64,
        playouts: *mut D3D12_PLACED_SUBRESOURCE_FOOTPRINT,
        pnumrows: *mut u32,
        prowsizeinbytes: *mut u64,
        ptotalbytes: *mut u64
    );
    fn CreateQueryHeap(
        pdesc: *const D3D12_QUERY_HEAP_DESC,
        riid: *const GUID,
        ppvheap: *mut *mut c_void
    ) -> Result<()>;
    fn SetStablePowerState(enable: BOOL) -> Result<()>;
    fn CreateCommandSignature(
        pdesc: *const D3D12_COMMAND_SIGNATURE_DESC,
        prootsignature: Ref<'_, ID3D12RootSignature>,
        riid: *const GUID,
        ppvcommandsignature: *mut *mut c_void
    ) -> Result<()>;
    fn GetResourceTiling(
        ptiledresource: Ref<'_, ID3D12Resource>,
        pnumtilesforentireresource: *mut u32,
        ppackedmipdesc: *mut D3D12_PACKED_MIP_INFO,
        pstandardtileshapefornonpackedmips: *mut D3D12_TILE_SHAPE,
        pnumsubresourcetilings: *mut u32,
        firstsubresourcetilingtoget: u32,
        psubresourcetilingsfornonpackedmips: *mut D3D12_SUBRESOURCE_TILING
    );
    fn GetAdapterLuid() -> LUID;
}
