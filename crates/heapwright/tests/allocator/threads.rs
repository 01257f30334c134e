//! Checks at compile time which types are `Send` and `Sync`, as their documentation states.

use heapwright::d3d12::{ID3D12CommandAllocator, ID3D12Pageable};
use heapwright::report::AllocatorReport;

use crate::gpu::*;

const fn is_send_and_sync<T: Send + Sync>() {}

const _: () = {
    is_send_and_sync::<ResourceAllocator>();
    is_send_and_sync::<ResourceAllocation>();
    is_send_and_sync::<Pool>();
    is_send_and_sync::<Defragmentation>();
    is_send_and_sync::<Move>();
    is_send_and_sync::<ResidencyManager>();
    is_send_and_sync::<ResidencyHeap>();
    is_send_and_sync::<ResidencyList>();
    is_send_and_sync::<PressureRegistration>();
    is_send_and_sync::<Error>();
    is_send_and_sync::<TextureMapping<'_>>();
    is_send_and_sync::<(ResourceAllocationDesc<'_>, ResourceAllocatorDesc, ResourceDesc<'_>, PoolDesc)>();
    is_send_and_sync::<(AllocatorReport, DeviceCaps, Prediction)>();
};

/// Has one implementation for types that are not `Send` and two, hence ambiguous ones, for those that are.
trait NotSend<Reason> {
    const HOLDS: () = ();
}

impl<T: ?Sized> NotSend<()> for T {}
impl<T: ?Sized + Send> NotSend<u8> for T {}

const _: () = {
    // The object behind it may be a command allocator.
    let () = <ID3D12Pageable as NotSend<_>>::HOLDS;
    let () = <ID3D12CommandAllocator as NotSend<_>>::HOLDS;
    // A `Mapping` refers to the buffer's mapped pointer.
    let () = <Mapping<'static> as NotSend<_>>::HOLDS;
    let () = <OpenResidencyList<'static> as NotSend<_>>::HOLDS;
};

/// A residency heap may be used from any thread although `ID3D12Pageable` may not, because it never holds a
/// command allocator.
#[test]
fn a_command_allocator_is_no_residency_heap() {
    let gpu = Instance::open(HostProfile::default_profile()).unwrap();
    let manager = manager_on(&gpu, Default::default());
    // SAFETY: a live device, and results of the interfaces that are asked for.
    let (allocator, queue, fence) = unsafe {
        (
            gpu.device
                .CreateCommandAllocator::<ID3D12CommandAllocator>(D3D12_COMMAND_LIST_TYPE_DIRECT)
                .unwrap(),
            gpu.device.CreateCommandQueue::<ID3D12CommandQueue>(&Default::default()).unwrap(),
            gpu.device.CreateFence::<ID3D12Fence>(0, 0).unwrap(),
        )
    };
    let pageables: [ID3D12Pageable; 3] =
        [allocator.cast().unwrap(), queue.cast().unwrap(), fence.cast().unwrap()];
    let desc = ResidencyHeapDesc { size: kib(64), segment_group: Some(LOCAL), ..Default::default() };
    for pageable in &pageables {
        let created = manager.create_heap(&desc, || Ok(pageable.clone()));
        for refused in [manager.manage(&desc, pageable), ResidencyHeap::unmanaged(&desc, pageable), created] {
            fails(refused.map(drop), "cannot be paged");
        }
    }
    manager.audit().unwrap();
}
