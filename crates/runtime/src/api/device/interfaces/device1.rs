//! `ID3D12Device1` to `ID3D12Device4`.

use std::ffi::c_void;

use heapwright_d3d12::*;
use windows_core::{GUID, Ref, Result};

use crate::api::call;
use crate::api::command_allocator::check_list_type;
use crate::api::command_list::CommandList;
use crate::api::command_queue::check_node_mask;
use crate::api::device::Device_Impl;
use crate::api::device::creation::{CastableFormats, in_session, in_state, read_desc, read_descs};
use crate::api::device::residency::read_objects;
use crate::api::inert::{self, PipelineState};
use crate::api::methods::{calls, methods};
use crate::api::pipeline_library::{self, PipelineLibrary};
use crate::rules::Refusal;
use crate::rules::resource::{alone, upgrade};

impl ID3D12Device1_Impl for Device_Impl {
    calls! {
        ID3D12Device1:
        fn SetEventOnMultipleFenceCompletion(
            fences: *const Option<ID3D12Fence>, values: *const u64, count: u32,
            flags: D3D12_MULTIPLE_FENCE_WAIT_FLAGS, event: HANDLE
        ) -> Result<()> = run(
            |device| device.set_event_on_multiple_fence_completion(fences, values, count, flags, event)
        );
        fn SetResidencyPriority(
            count: u32, objects: *const Option<ID3D12Pageable>, priorities: *const D3D12_RESIDENCY_PRIORITY
        ) -> Result<()> = run(|device| device.set_residency_priority(read_objects(count, objects)?, priorities));
        fn CreatePipelineLibrary(
            blob: *const c_void, length: usize, riid: *const GUID, ppv: *mut *mut c_void
        ) -> Result<()> = create_child(
            riid, ppv, || pipeline_library::read_names(blob, length),
            |device, names| Ok(PipelineLibrary::new(device, names))
        );
    }
}

impl ID3D12Device2_Impl for Device_Impl {
    calls! {
        ID3D12Device2:
        fn CreatePipelineState(
            desc: *const D3D12_PIPELINE_STATE_STREAM_DESC, riid: *const GUID, ppv: *mut *mut c_void
        ) -> Result<()> = create_child(
            riid, ppv, || inert::check_stream(desc), |device, ()| Ok(PipelineState::new(device))
        );
    }
}

impl ID3D12Device3_Impl for Device_Impl {
    calls! {
        ID3D12Device3:
        fn EnqueueMakeResident(
            flags: D3D12_RESIDENCY_FLAGS, count: u32, objects: *const Option<ID3D12Pageable>,
            fence: Ref<'_, ID3D12Fence>, value: u64
        ) -> Result<()> = run(
            |device| device.enqueue_make_resident(flags, read_objects(count, objects)?, fence.as_ref(), value)
        );
        fn OpenExistingHeapFromAddress(
            address: *const c_void, riid: *const GUID, ppv: *mut *mut c_void
        ) -> Result<()> = open_existing_heap(address, None, riid, ppv);
    }

    methods! {
        ID3D12Device3, |device, name| call::not_implemented(device.log(), name);
        fn OpenExistingHeapFromFileMapping(HANDLE, *const GUID, *mut *mut c_void) -> Result<()>;
    }
}

impl ID3D12Device4_Impl for Device_Impl {
    fn CreateCommandList1(
        &self,
        nodemask: u32,
        list_type: D3D12_COMMAND_LIST_TYPE,
        flags: D3D12_COMMAND_LIST_FLAGS,
        riid: *const GUID,
        ppcommandlist: *mut *mut c_void,
    ) -> Result<()> {
        let check = || {
            check_node_mask(nodemask)?;
            if flags != D3D12_COMMAND_LIST_FLAG_NONE {
                return Err(Refusal::invalid(format!("Flags {flags:#x} has unknown bits; must be NONE")));
            }
            check_list_type(list_type)
        };
        let name = "ID3D12Device4::CreateCommandList1";
        let make = |device, ()| Ok(CommandList::closed(device, list_type));
        // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
        unsafe { self.create_child(name, riid, ppcommandlist, check, make) }
    }

    calls! {
        ID3D12Device4:
        fn CreateHeap1(
            desc: *const D3D12_HEAP_DESC, session: Ref<'_, ID3D12ProtectedResourceSession>,
            riid: *const GUID, ppv: *mut *mut c_void
        ) -> Result<()> = create_heap(desc, session.as_ref(), riid, ppv);
        fn CreateCommittedResource1(
            properties: *const D3D12_HEAP_PROPERTIES, heap_flags: D3D12_HEAP_FLAGS,
            desc: *const D3D12_RESOURCE_DESC, state: D3D12_RESOURCE_STATES,
            clear_value: *const D3D12_CLEAR_VALUE, session: Ref<'_, ID3D12ProtectedResourceSession>,
            riid: *const GUID, ppv: *mut *mut c_void
        ) -> Result<()> = create_committed(
            properties, heap_flags, in_session(in_state(read_desc(desc), state, clear_value), session.as_ref()), (riid, ppv)
        );
        fn CreateReservedResource1(
            desc: *const D3D12_RESOURCE_DESC, state: D3D12_RESOURCE_STATES,
            clear_value: *const D3D12_CLEAR_VALUE, session: Ref<'_, ID3D12ProtectedResourceSession>,
            riid: *const GUID, ppv: *mut *mut c_void
        ) -> Result<()> = create_reserved(
            in_session(in_state(read_desc(desc), state, clear_value), session.as_ref()), (riid, ppv)
        );
        fn GetResourceAllocationInfo1(
            visible_mask: u32, count: u32, descs: *const D3D12_RESOURCE_DESC,
            infos: *mut D3D12_RESOURCE_ALLOCATION_INFO1
        ) -> D3D12_RESOURCE_ALLOCATION_INFO = allocation_info(
            visible_mask, read_descs(count, descs, |desc| alone(upgrade(desc))), CastableFormats::NONE, infos
        );
    }

    methods! {
        ID3D12Device4, |device, name| call::not_implemented(device.log(), name);
        fn CreateProtectedResourceSession(
            *const D3D12_PROTECTED_RESOURCE_SESSION_DESC, *const GUID, *mut *mut c_void
        ) -> Result<()>;
    }
}
