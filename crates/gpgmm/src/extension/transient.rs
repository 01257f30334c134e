//! ITransientHeaps and ITransientResources.

use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use heapwright::d3d12::*;
use heapwright::{ClearValue, Error, ResourceAllocator};
use heapwright_transient::{
    BarrierModel, FrameResourceId, PassId, QueueId, QueueKind, Submission, TransientFrame, TransientHeaps,
    TransientResources, Use,
};
use windows_core::{GUID, HRESULT, Interface};

use crate::call::{self, array};
use crate::descriptors::{enumerator, refuse};
use crate::failure::Failure;
use crate::identity::{Registration, Registry};
use crate::object::{Body, Methods, Out, Reference, This, getter, method, parameter};
use crate::residency_list::List;

/// `BARRIER_MODEL`.
const BARRIER_MODELS: [BarrierModel; 2] = [BarrierModel::Enhanced, BarrierModel::Legacy];

/// `TRANSIENT_USE`.
const USES: [Use; 6] = [Use::Read, Use::Render, Use::Clear, Use::CopyAll, Use::WriteUnordered, Use::Update];

/// `TRANSIENT_RESOURCE`.
#[repr(C)]
struct ResourceDescription {
    desc: D3D12_RESOURCE_DESC,
    clear_value: *const D3D12_CLEAR_VALUE,
}

/// `TRANSIENT_RESOURCE_USE`.
#[repr(C)]
struct ResourceUse {
    resource: u32,
    how: u32,
    state: D3D12_RESOURCE_STATES,
}

/// `TRANSIENT_PASS`.
#[repr(C)]
struct Pass {
    queue: u32,
    may_be_skipped: i32,
    use_count: u32,
    uses: *const ResourceUse,
    dependency_count: u32,
    dependencies: *const u32,
}

/// `TRANSIENT_FRAME`.
#[repr(C)]
struct FrameDescription {
    queue_count: u32,
    queues: *const D3D12_COMMAND_LIST_TYPE,
    resource_count: u32,
    resources: *const ResourceDescription,
    pass_count: u32,
    passes: *const Pass,
}

impl FrameDescription {
    /// # Safety
    ///
    /// Each array is null or has as many elements as the number beside it says, and each clear value is null or valid.
    unsafe fn convert(&self) -> Result<TransientFrame, Failure> {
        // SAFETY: the caller's promises.
        let (queues, resources, passes) = unsafe {
            (
                array(self.queues, self.queue_count, "pQueues")?,
                array(self.resources, self.resource_count, "pResources")?,
                array(self.passes, self.pass_count, "pPasses")?,
            )
        };
        let mut frame = TransientFrame::new();
        for (number, &queue) in queues.iter().enumerate() {
            frame.add_queue(match queue {
                D3D12_COMMAND_LIST_TYPE_DIRECT => QueueKind::Direct,
                D3D12_COMMAND_LIST_TYPE_COMPUTE => QueueKind::Compute,
                D3D12_COMMAND_LIST_TYPE_COPY => QueueKind::Copy,
                other => {
                    let rule = format!("{other} is not DIRECT, COMPUTE or COPY");
                    return refuse(&format!("pQueues[{number}]"), rule);
                }
            });
        }
        for resource in resources {
            // SAFETY: the caller's promise.
            let clear_value =
                unsafe { resource.clear_value.as_ref().map(|value| ClearValue::from_d3d12(value)) };
            frame.add_resource(&resource.desc, clear_value);
        }
        for (number, pass) in passes.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { pass.add_to(&mut frame, &format!("pPasses[{number}]"))? };
        }
        Ok(frame)
    }
}

impl Pass {
    /// Adds the pass to a frame.
    ///
    /// # Safety
    ///
    /// Each array is null or has as many elements as the number beside it says.
    unsafe fn add_to(&self, frame: &mut TransientFrame, place: &str) -> Result<(), Failure> {
        // SAFETY: the caller's promises.
        let (uses, dependencies) = unsafe {
            (
                array(self.uses, self.use_count, &format!("{place}.pUses"))?,
                array(self.dependencies, self.dependency_count, &format!("{place}.pDependencies"))?,
            )
        };
        let in_pass = |error: Error| Failure::at(place, &error);
        let pass = frame.add_pass(QueueId(self.queue as usize)).map_err(in_pass)?;
        if self.may_be_skipped != 0 {
            frame.set_may_be_skipped(pass).map_err(in_pass)?;
        }
        for &before in dependencies {
            frame.add_dependency(PassId(before as usize), pass).map_err(in_pass)?;
        }
        for (number, used) in uses.iter().enumerate() {
            let place = format!("{place}.pUses[{number}]");
            let how = enumerator(&place, "TRANSIENT_USE", used.how, &USES)?;
            let resource = FrameResourceId(used.resource as usize);
            let added = frame.add_use(pass, resource, how, used.state);
            added.map_err(|error| Failure::at(&place, &error))?;
        }
        Ok(())
    }
}

/// The body of an ITransientHeaps.
pub(super) struct Heaps(Mutex<TransientHeaps>);

impl Heaps {
    /// Creates heaps of an allocator, whose barriers are those of a `BARRIER_MODEL`.
    pub(super) fn new(allocator: &ResourceAllocator, barriers: u32) -> Result<Self, Failure> {
        let heaps = TransientHeaps::new(allocator);
        let heaps = match enumerator("barriers", "BARRIER_MODEL", barriers, &BARRIER_MODELS)? {
            BarrierModel::Enhanced => heaps,
            BarrierModel::Legacy => heaps.with_legacy_barriers(),
        };
        Ok(Self(Mutex::new(heaps)))
    }

    fn lock(&self) -> MutexGuard<'_, TransientHeaps> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

static HEAPS_METHODS: Methods<2> = Methods::of::<Heaps>([prepare as *const (), release_frame as *const ()]);

const IID_TRANSIENT_HEAPS: GUID = GUID::from_u128(0x2fd87c13_ba54_4e61_8c0f_e6395a71d808);

impl Body for Heaps {
    fn methods() -> *const c_void {
        HEAPS_METHODS.as_table()
    }

    const INTERFACES: &'static [GUID] = &[IID_TRANSIENT_HEAPS];
}

unsafe extern "system" fn prepare(
    this: This,
    frame: *const FrameDescription,
    out: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: C++ calls the method of a live object, with null or a description, and null or writable space.
    unsafe {
        method(this, "ITransientHeaps::Prepare", |heaps: &Heaps| {
            let out = Out::required(out, "ppTransientResourcesOut")?;
            let frame = call::reference(frame, "pFrame")?.convert()?;
            let prepared = heaps.lock().prepare(&frame)?;
            Ok(out.give(Resources::of(prepared)))
        })
    }
}

unsafe extern "system" fn release_frame(this: This) -> HRESULT {
    // SAFETY: C++ calls the method of a live object.
    unsafe {
        method(this, "ITransientHeaps::ReleaseFrame", |heaps: &Heaps| {
            heaps.lock().release();
            Ok(S_OK)
        })
    }
}

/// The body of an ITransientResources.
struct Resources {
    resources: Arc<TransientResources>,
    submissions: Vec<SubmissionNumbers>,
}

/// A [`Submission`] in C++'s numbers.
struct SubmissionNumbers {
    queue: u32,
    passes: Vec<u32>,
    after: Vec<u32>,
    after_previous_frame: Vec<u32>,
}

static PREPARED: Registry = Registry::new();

impl Resources {
    /// Returns the object that stands for the resources of a frame.
    fn of(resources: Arc<TransientResources>) -> Reference<Self> {
        Self::registration_of(&resources).find_or_create(|| Self {
            submissions: resources.submissions().iter().map(SubmissionNumbers::from).collect(),
            resources,
        })
    }

    fn registration_of(resources: &Arc<TransientResources>) -> Registration {
        Registration { registry: &PREPARED, number: Arc::as_ptr(resources) as usize }
    }
}

/// Converts a number that was counted from a 32-bit count.
fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

impl From<&Submission> for SubmissionNumbers {
    fn from(submission: &Submission) -> Self {
        Self {
            queue: number(submission.queue.0),
            passes: submission.passes.iter().map(|pass| number(pass.0)).collect(),
            after: submission.after.iter().map(|&index| number(index)).collect(),
            after_previous_frame: (submission.after_previous_frame.iter())
                .map(|queue| number(queue.0))
                .collect(),
        }
    }
}

/// `TRANSIENT_SUBMISSION`.
#[repr(C)]
struct SubmissionDescription {
    queue: u32,
    pass_count: u32,
    passes: *const u32,
    wait_count: u32,
    waits: *const u32,
    previous_frame_wait_count: u32,
    previous_frame_waits: *const u32,
}

/// `TRANSIENT_PLACEMENT`.
#[repr(C)]
struct PlacementDescription {
    heap: u32,
    offset: u64,
}

static RESOURCES_METHODS: Methods<9> = Methods::of::<Resources>([
    get_resource as *const (),
    get_placement as *const (),
    get_size as *const (),
    get_barrier_model as *const (),
    get_submission_count as *const (),
    get_submission as *const (),
    add_to_residency_list as *const (),
    begin_pass as *const (),
    end_pass as *const (),
]);

const IID_TRANSIENT_RESOURCES: GUID = GUID::from_u128(0x61b3e90d_475c_4a2e_97d8_0d4cf28b3909);

impl Body for Resources {
    fn methods() -> *const c_void {
        RESOURCES_METHODS.as_table()
    }

    const INTERFACES: &'static [GUID] = &[IID_TRANSIENT_RESOURCES];

    const IS_REGISTERED: bool = true;

    fn registration(&self) -> Option<Registration> {
        Some(Self::registration_of(&self.resources))
    }
}

unsafe extern "system" fn get_resource(this: This, resource: u32, out: *mut *mut c_void) -> HRESULT {
    // SAFETY: C++ calls the method of a live object, with null or writable space.
    unsafe {
        method(this, "ITransientResources::GetResource", |Resources { resources, .. }| {
            let out = Out::required(out, "ppResourceOut")?;
            let resource = resources.resource(FrameResourceId(resource as usize))?;
            out.set(resource.clone().into_raw());
            Ok(S_OK)
        })
    }
}

unsafe extern "system" fn get_placement(
    this: This,
    resource: u32,
    out: *mut PlacementDescription,
) -> HRESULT {
    // SAFETY: C++ calls the method of a live object, with null or writable space.
    unsafe {
        method(this, "ITransientResources::GetPlacement", |Resources { resources, .. }| {
            call::write(out, "pPlacementOut", || {
                resources.resource(FrameResourceId(resource as usize))?;
                let placement = resources.plan().placements[resource as usize];
                Ok(PlacementDescription { heap: number(placement.heap), offset: placement.offset.get() })
            })
        })
    }
}

unsafe extern "system" fn get_size(this: This) -> u64 {
    let size = |this: &Resources| this.resources.size().get();
    // SAFETY: C++ calls the method of a live object.
    unsafe { getter(this, "ITransientResources::GetSize", size) }
}

unsafe extern "system" fn get_barrier_model(this: This) -> u32 {
    let model = |this: &Resources| {
        let model = this.resources.barrier_model();
        BARRIER_MODELS.iter().position(|&known| known == model).map_or(0, number)
    };
    // SAFETY: C++ calls the method of a live object.
    unsafe { getter(this, "ITransientResources::GetBarrierModel", model) }
}

unsafe extern "system" fn get_submission_count(this: This) -> u32 {
    let count = |this: &Resources| number(this.submissions.len());
    // SAFETY: C++ calls the method of a live object.
    unsafe { getter(this, "ITransientResources::GetSubmissionCount", count) }
}

unsafe extern "system" fn get_submission(this: This, index: u32, out: *mut SubmissionDescription) -> HRESULT {
    // SAFETY: C++ calls the method of a live object, with null or writable space.
    unsafe {
        method(this, "ITransientResources::GetSubmission", |Resources { submissions, .. }| {
            call::write(out, "pSubmissionOut", || {
                let Some(submission) = submissions.get(index as usize) else {
                    return refuse("index", format_args!("{index} is not less than {}", submissions.len()));
                };
                let SubmissionNumbers { queue, passes, after, after_previous_frame } = submission;
                Ok(SubmissionDescription {
                    queue: *queue,
                    pass_count: number(passes.len()),
                    passes: passes.as_ptr(),
                    wait_count: number(after.len()),
                    waits: after.as_ptr(),
                    previous_frame_wait_count: number(after_previous_frame.len()),
                    previous_frame_waits: after_previous_frame.as_ptr(),
                })
            })
        })
    }
}

unsafe extern "system" fn add_to_residency_list(this: This, list: *mut c_void) -> HRESULT {
    // SAFETY: C++ calls the method of a live object, with null or another one.
    unsafe {
        method(this, "ITransientResources::AddToResidencyList", |Resources { resources, .. }| {
            let List(list) = parameter(list, "pResidencyList")?;
            resources.add_to(list)?;
            Ok(S_OK)
        })
    }
}

/// Returns the command list of a parameter.
///
/// # Safety
///
/// The pointer is null or points to a live `ID3D12GraphicsCommandList`.
unsafe fn command_list(list: &*mut c_void) -> Result<&ID3D12GraphicsCommandList, Failure> {
    // SAFETY: the caller's promise.
    unsafe { ID3D12GraphicsCommandList::from_raw_borrowed(list) }.ok_or_else(|| Failure::null("pCommandList"))
}

unsafe extern "system" fn begin_pass(this: This, list: *mut c_void, pass: u32) -> HRESULT {
    // SAFETY: C++ calls the method of a live object, with null or a command list. The other duties are the caller's.
    unsafe {
        method(this, "ITransientResources::BeginPass", |Resources { resources, .. }| {
            resources.begin_pass(command_list(&list)?, PassId(pass as usize))?;
            Ok(S_OK)
        })
    }
}

unsafe extern "system" fn end_pass(this: This, list: *mut c_void, pass: u32) -> HRESULT {
    // SAFETY: C++ calls the method of a live object, with null or a command list. The other duties are the caller's.
    unsafe {
        method(this, "ITransientResources::EndPass", |Resources { resources, .. }| {
            resources.end_pass(command_list(&list)?, PassId(pass as usize))?;
            Ok(S_OK)
        })
    }
}
