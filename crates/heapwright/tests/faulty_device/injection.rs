//! The replaced methods.

use std::cell::Cell;
use std::ffi::c_void;
use std::sync::Arc;

use heapwright::d3d12::generations::NUMBERED_DEVICES;
use heapwright::d3d12::*;
use heapwright_intercept::{Intercepted, Methods, intercept, method};
use windows_core::{GUID, HRESULT, IUnknown, Interface};

use super::{Call, Faults, HeldPaging, INVALID, Seen, slice};

/// The data of an intercepted device, queue or adapter.
pub(super) struct Injected {
    faults: Arc<Faults>,
    has_first_interface_alone: bool,
}

thread_local! {
    static IS_UNCOUNTED: Cell<bool> = const { Cell::new(false) };
}

/// Passes on the calls that `act` makes on this thread: they are not counted and do not fail, and a queue that
/// it creates has no faults.
pub(crate) fn uncounted<T>(act: impl FnOnce() -> T) -> T {
    let before = IS_UNCOUNTED.replace(true);
    let result = act();
    IS_UNCOUNTED.set(before);
    result
}

impl Injected {
    fn leak(faults: &Arc<Faults>, has_first_interface_alone: bool) -> &'static Self {
        // The device may outlive the test.
        Box::leak(Box::new(Self { faults: Arc::clone(faults), has_first_interface_alone }))
    }

    /// Counts a call. Returns `pass_on()`, or the HRESULT of the call if it fails.
    fn counted(&self, call: Call, pass_on: impl FnOnce(&Faults) -> HRESULT) -> HRESULT {
        if IS_UNCOUNTED.get() {
            // No test reads this record.
            return pass_on(&Faults::new(None, S_OK));
        }
        self.faults.count(call).unwrap_or_else(|| pass_on(&self.faults))
    }

    /// The same for a call that returns the size of resources.
    fn sized(
        &self,
        out: *mut D3D12_RESOURCE_ALLOCATION_INFO,
        pass_on: impl FnOnce() -> *mut D3D12_RESOURCE_ALLOCATION_INFO,
    ) -> *mut D3D12_RESOURCE_ALLOCATION_INFO {
        let hresult = self.counted(Call::GetResourceAllocationInfo, |_| {
            pass_on();
            S_OK
        });
        if hresult.is_err() {
            // SAFETY: the caller passes a writable structure.
            unsafe { *out = INVALID };
        }
        out
    }
}

/// Makes calls of a device fail. Returns the device.
pub(crate) fn inject(device: &ID3D12Device, faults: &Arc<Faults>) -> ID3D12Device {
    inject_into(device, Injected::leak(faults, false));
    device.clone()
}

/// Makes calls of a device fail, and hides all its interfaces but `ID3D12Device`. Returns the device.
pub(crate) fn inject_first(device: &ID3D12Device, faults: &Arc<Faults>) -> ID3D12Device {
    inject_into(device, Injected::leak(faults, true));
    device.clone()
}

/// Makes memory calls of an adapter fail. Returns the adapter.
pub(crate) fn inject_adapter(adapter: &IDXGIAdapter3, faults: &Arc<Faults>) -> IDXGIAdapter3 {
    let newest: IDXGIAdapter4 = adapter.cast().expect("simulated GPUs have the newest interface");
    // SAFETY: this is the newest interface, and only the test's thread uses the adapter so far.
    unsafe { intercept(&newest, Injected::leak(faults, false), |methods| replace_adapter(methods)) };
    adapter.clone()
}

fn inject_into(device: &ID3D12Device, injected: &'static Injected) {
    let newest: ID3D12Device14 =
        uncounted(|| device.cast()).expect("simulated GPUs have the newest interface");
    // SAFETY: this is the newest interface of its chain, and only the test's thread uses the device so far.
    unsafe {
        intercept(&newest, injected, |methods| {
            replace_first(methods);
            replace_newer(methods);
        });
    }
}

/// Replaces a method by one that is counted and passed on.
macro_rules! count {
    ($methods:ident.$method:ident($($argument:ident),*)) => {
        count!($methods.$method($($argument),*) as $method)
    };
    ($methods:ident.$method:ident($($argument:ident),*) as $kind:ident) => {
        $methods.replace(
            method!($method),
            |call, ($($argument,)*)| {
                let pass_on = |_: &_| (call.original.$method)(call.this, $($argument),*);
                call.data.counted(Call::$kind, pass_on)
            },
        )
    };
}

/// Replaces a method that creates a committed resource. Its protected session, if it has one, is noted and not passed
/// on, as the runtime has none.
macro_rules! create_committed {
    ($methods:ident.$method:ident($session:ident $(, $count:ident, $formats:ident)?)) => {
        $methods.replace(
            method!($method),
            |call, (properties, flags, desc, state, clear, $session, $($count, $formats,)? riid, resource)| {
                call.data.counted(Call::CreateCommittedResource, |faults| {
                    let castable: Vec<DXGI_FORMAT> = [&[][..] $(, slice($formats, $count))?].concat();
                    let in_session = !$session.is_null();
                    faults.see_committed(stringify!($method), properties, flags, in_session, clear, &castable);
                    let (create, none) = (call.original.$method, std::ptr::null_mut());
                    create(call.this, properties, flags, desc, state, clear, none, $($count, $formats,)? riid, resource)
                })
            },
        )
    };
}

/// Injects failures into a method that creates a placed resource.
macro_rules! create_placed {
    ($methods:ident.$method:ident($($count:ident, $formats:ident)?)) => {
        $methods.replace(
            method!($method),
            |call, (heap, offset, desc, state, clear, $($count, $formats,)? riid, resource)| {
                call.data.counted(Call::CreatePlacedResource, |faults| {
                    let castable: Vec<DXGI_FORMAT> = [&[][..] $(, slice($formats, $count))?].concat();
                    faults.see_placed(stringify!($method), offset, clear, &castable);
                    let create = call.original.$method;
                    create(call.this, heap, offset, desc, state, clear, $($count, $formats,)? riid, resource)
                })
            },
        )
    };
}

unsafe fn replace_adapter(methods: &Methods<Injected>) {
    // SAFETY: as the callers of `inject_adapter` and of the methods promise.
    unsafe {
        let adapter = methods.of::<IDXGIAdapter3>();
        count!(adapter.QueryVideoMemoryInfo(node, group, info));
        count!(adapter.SetVideoMemoryReservation(node, group, reservation));
        count!(adapter.RegisterVideoMemoryBudgetChangeNotificationEvent(event, cookie));
    }
}

/// Gives a queue that a device created the faults of the device.
unsafe fn inject_into_queue(hresult: HRESULT, queue: *mut *mut c_void, injected: &'static Injected) {
    if hresult.is_err() || IS_UNCOUNTED.get() {
        return;
    }
    // SAFETY: after success there is a queue, which only the caller knows.
    unsafe {
        let made = IUnknown::from_raw_borrowed(&*queue).expect("there is a queue");
        let queue: ID3D12CommandQueue = made.cast().expect("it is a queue");
        intercept(&queue, injected, |methods| {
            let queue = methods.of::<ID3D12CommandQueue>();
            count!(queue.Signal(fence, value) as QueueSignal);
            count!(queue.Wait(fence, value) as QueueWait);
        });
    }
}

unsafe fn replace_first(methods: &Methods<Injected>) {
    // SAFETY: the methods are those of a device; the replacements pass on what their callers promise.
    unsafe {
        methods.of::<IUnknown>().replace(method!(QueryInterface), |call, (iid, out)| {
            let is_numbered =
                |iid: &GUID| NUMBERED_DEVICES.contains(iid) || *iid == trim::ID3D12Device15::IID;
            let hides = call.data.has_first_interface_alone && !IS_UNCOUNTED.get();
            if hides && iid.as_ref().is_some_and(is_numbered) {
                *out = std::ptr::null_mut();
                return E_NOINTERFACE;
            }
            (call.original.QueryInterface)(call.this, iid, out)
        });
        let device = methods.of::<ID3D12Device>();
        count!(device.CheckFeatureSupport(feature, data, size));
        count!(device.MakeResident(count, objects));
        count!(device.Evict(count, objects));
        count!(device.CreateFence(value, flags, riid, fence));
        device.replace(method!(GetNodeCount), |call, ()| call.data.faults.node_count());
        device.replace(method!(GetCustomHeapProperties), |call, (out, _, heap_type)| {
            (call.original.GetCustomHeapProperties)(call.this, out, 0, heap_type)
        });
        device.replace(method!(GetResourceAllocationInfo), |call, (out, mask, count, descs)| {
            let pass_on = call.original.GetResourceAllocationInfo;
            call.data.sized(out, || pass_on(call.this, out, mask, count, descs))
        });
        device.replace(method!(CreateCommandQueue), |call, (desc, riid, queue)| {
            call.data.counted(Call::CreateCommandQueue, |_| {
                let hresult = (call.original.CreateCommandQueue)(call.this, desc, riid, queue);
                inject_into_queue(hresult, queue, call.data);
                hresult
            })
        });
        device.replace(method!(CreateHeap), |call, (desc, riid, heap)| {
            create_heap(call, desc, false, riid, heap)
        });
        device.replace(
            method!(CreateCommittedResource),
            |call, (properties, flags, desc, state, clear, riid, resource)| {
                call.data.counted(Call::CreateCommittedResource, |faults| {
                    faults.see_committed("CreateCommittedResource", properties, flags, false, clear, &[]);
                    let create = call.original.CreateCommittedResource;
                    faults.check_custom((*properties).Type, (*desc).Flags).unwrap_or_else(|| {
                        create(call.this, properties, flags, desc, state, clear, riid, resource)
                    })
                })
            },
        );
        device.replace(
            method!(CreatePlacedResource),
            |call, (heap, offset, desc, state, clear, riid, resource)| {
                call.data.counted(Call::CreatePlacedResource, |faults| {
                    faults.see_placed("CreatePlacedResource", offset, clear, &[]);
                    let place = ID3D12Heap::from_raw_borrowed(&heap).expect("placed in a heap").GetDesc();
                    let create = call.original.CreatePlacedResource;
                    faults.check_custom(place.Properties.Type, (*desc).Flags).unwrap_or_else(|| {
                        create(call.this, heap, offset, desc, state, clear, riid, resource)
                    })
                })
            },
        );
    }
}

unsafe fn replace_newer(methods: &Methods<Injected>) {
    // SAFETY: the methods are those of a device; the replacements pass on what their callers promise, without
    // the protected session, which the runtime does not have.
    unsafe {
        methods.of::<ID3D12Device1>().replace(
            method!(SetResidencyPriority),
            |call, (count, objects, priorities)| {
                call.data.counted(Call::SetResidencyPriority, |faults| {
                    for &priority in slice(priorities, count) {
                        faults.see(Seen::Priority(priority));
                    }
                    (call.original.SetResidencyPriority)(call.this, count, objects, priorities)
                })
            },
        );
        methods.of::<ID3D12Device3>().replace(
            method!(EnqueueMakeResident),
            |call, (flags, count, objects, fence, value)| {
                call.data.counted(Call::EnqueueMakeResident, |faults| {
                    faults.page(HeldPaging {
                        device: call.object().clone(),
                        flags,
                        objects: slice(objects.cast::<Option<ID3D12Pageable>>(), count).to_vec(),
                        fence: ID3D12Fence::from_raw_borrowed(&fence).cloned(),
                        value,
                    })
                })
            },
        );
        let four = methods.of::<ID3D12Device4>();
        four.replace(method!(CreateHeap1), |call, (desc, session, riid, heap)| {
            let first = Intercepted::new(call.this);
            create_heap(&first, desc, !session.is_null(), riid, heap)
        });
        create_committed!(four.CreateCommittedResource1(session));
        let eight = methods.of::<ID3D12Device8>();
        eight.replace(method!(GetResourceAllocationInfo2), |call, (out, mask, count, descs, infos)| {
            let pass_on = call.original.GetResourceAllocationInfo2;
            call.data.sized(out, || pass_on(call.this, out, mask, count, descs, infos))
        });
        create_committed!(eight.CreateCommittedResource2(session));
        create_placed!(eight.CreatePlacedResource1());
        methods.of::<ID3D12Device9>().replace(
            method!(CreateCommandQueue1),
            |call, (desc, creator, riid, queue)| {
                call.data.counted(Call::CreateCommandQueue, |_| {
                    let hresult = (call.original.CreateCommandQueue1)(call.this, desc, creator, riid, queue);
                    inject_into_queue(hresult, queue, call.data);
                    hresult
                })
            },
        );
        let ten = methods.of::<ID3D12Device10>();
        create_committed!(ten.CreateCommittedResource3(session, count, formats));
        create_placed!(ten.CreatePlacedResource2(count, formats));
        methods.of::<ID3D12Device12>().replace(
            method!(GetResourceAllocationInfo3),
            |call, (out, mask, count, descs, format_counts, formats, infos)| {
                let (pass_on, this) = (call.original.GetResourceAllocationInfo3, call.this);
                call.data.sized(out, || pass_on(this, out, mask, count, descs, format_counts, formats, infos))
            },
        );
    }
}

/// `CreateHeap`, and `CreateHeap1` without its protected session. Heaps of all nodes are created on the first.
unsafe fn create_heap(
    call: &Intercepted<ID3D12Device, Injected>,
    desc: *const D3D12_HEAP_DESC,
    in_session: bool,
    riid: *const GUID,
    heap: *mut *mut c_void,
) -> HRESULT {
    call.data.counted(Call::CreateHeap, |faults| {
        // SAFETY: the caller upholds the contract of the method.
        unsafe {
            let mut desc = *desc;
            faults.see(Seen::Heap { desc, in_session });
            if faults.node_count() > 1 {
                (desc.Properties.CreationNodeMask, desc.Properties.VisibleNodeMask) = (0, 0);
            }
            (call.original.CreateHeap)(call.this, &raw const desc, riid, heap)
        }
    })
}

impl HeldPaging {
    pub(super) fn page(self) -> HRESULT {
        let count = u32::try_from(self.objects.len()).expect("fewer than 2^32");
        let fence = self.fence.as_ref().map_or(std::ptr::null_mut(), Interface::as_raw);
        // SAFETY: the device is intercepted, and the arguments are those of the call, which this owns.
        unsafe {
            let device = Intercepted::<ID3D12Device3, Injected>::new(self.device.as_raw());
            let enqueue = device.original.EnqueueMakeResident;
            enqueue(device.this, self.flags, count, self.objects.as_ptr().cast(), fence, self.value)
        }
    }
}
