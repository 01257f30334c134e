//! Faults of a simulated GPU: chosen calls of its device, its adapter and its queues fail, and calls are recorded.
//!
//! [`inject`] and [`inject_first`] replace methods of the device itself, so that everything else works as
//! before. A test passes its own calls on with [`uncounted`].
#![allow(dead_code, unused_imports, reason = "each test that includes it uses a part")]

mod injection;

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use heapwright::d3d12::*;
use heapwright_runtime::Instance;
use windows_core::{Error, GUID, HRESULT, Ref, Result, implement};

pub(crate) use self::injection::{inject, inject_adapter, inject_first, uncounted};

/// The calls that are passed on and can be made to fail. Newer versions of a call count as the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    CheckFeatureSupport,
    GetResourceAllocationInfo,
    CreateHeap,
    CreatePlacedResource,
    CreateCommittedResource,
    SetResidencyPriority,
    MakeResident,
    EnqueueMakeResident,
    Evict,
    CreateFence,
    CreateCommandQueue,
    /// `ID3D12CommandQueue::Signal`.
    QueueSignal,
    /// `ID3D12CommandQueue::Wait`.
    QueueWait,
    QueryVideoMemoryInfo,
    SetVideoMemoryReservation,
    RegisterVideoMemoryBudgetChangeNotificationEvent,
}

/// A recorded call, with the arguments that matter to tests.
#[derive(Debug, Clone)]
pub(crate) enum Seen {
    Heap {
        desc: D3D12_HEAP_DESC,
        in_session: bool,
    },
    Placed {
        call: &'static str,
        offset: u64,
        castable: Vec<DXGI_FORMAT>,
        has_clear_value: bool,
    },
    Committed {
        call: &'static str,
        properties: D3D12_HEAP_PROPERTIES,
        heap_flags: D3D12_HEAP_FLAGS,
        in_session: bool,
        castable: Vec<DXGI_FORMAT>,
        has_clear_value: bool,
    },
    Priority(D3D12_RESIDENCY_PRIORITY),
}

/// Which calls fail, and the recorded calls. Shared with the test, which may change it between calls.
#[derive(Debug)]
pub(crate) struct Faults {
    /// The number of calls until the one that fails; `u64::MAX` for none.
    countdown: AtomicU64,
    /// Whether all calls of the kind fail.
    fails_always: AtomicBool,
    calls: AtomicU64,
    /// If `Some`, only calls of this kind count and fail.
    only: Option<Call>,
    hresult: HRESULT,
    node_count: AtomicU32,
    /// Flags of resources that are refused in CUSTOM heaps.
    refused_in_custom: AtomicU32,
    seen: Mutex<Vec<Seen>>,
    /// If `Some`, paging is held back, and these are the calls held.
    held: Mutex<Option<Vec<HeldPaging>>>,
    /// While a test has it locked, calls of the thread that prefetches heaps wait.
    pub(crate) prefetching: Mutex<()>,
}

/// A held call of `EnqueueMakeResident`.
#[derive(Debug)]
pub(crate) struct HeldPaging {
    pub(crate) device: ID3D12Device3,
    pub(crate) flags: D3D12_RESIDENCY_FLAGS,
    pub(crate) objects: Vec<Option<ID3D12Pageable>>,
    pub(crate) fence: Option<ID3D12Fence>,
    pub(crate) value: u64,
}

// SAFETY: D3D12's devices and fences are free-threaded, and so are all pageables except command allocators,
// which `EnqueueMakeResident` refuses.
unsafe impl Send for HeldPaging {}

impl Faults {
    pub(crate) fn new(only: Option<Call>, hresult: HRESULT) -> Arc<Self> {
        Arc::new(Self {
            countdown: AtomicU64::new(u64::MAX),
            fails_always: AtomicBool::new(false),
            calls: AtomicU64::new(0),
            only,
            hresult,
            node_count: AtomicU32::new(1),
            refused_in_custom: AtomicU32::new(0),
            seen: Mutex::default(),
            held: Mutex::default(),
            prefetching: Mutex::default(),
        })
    }

    /// Holds back the paging of `EnqueueMakeResident` from now on: the calls succeed without an effect.
    pub(crate) fn hold_paging(&self) {
        self.held.lock().expect("no test panics with it").get_or_insert_default();
    }

    /// Carries out the held paging in its order.
    pub(crate) fn release_paging(&self) {
        let held = self.held.lock().expect("no test panics with it").take();
        for paging in held.into_iter().flatten() {
            paging.page().ok().expect("it is in order");
        }
    }

    fn page(&self, paging: HeldPaging) -> HRESULT {
        match &mut *self.held.lock().expect("no test panics with it") {
            Some(held) => {
                held.push(paging);
                S_OK
            }
            None => paging.page(),
        }
    }

    /// Fails the `n`th call from now on (0: the next). Calls after it succeed.
    pub(crate) fn fail_nth(&self, n: u64) {
        self.countdown.store(n, Ordering::Relaxed);
    }

    /// Fails all calls of the kind from now on.
    pub(crate) fn fail_all(&self) {
        self.fails_always.store(true, Ordering::Relaxed);
    }

    /// Fails no further calls.
    pub(crate) fn disarm(&self) {
        self.countdown.store(u64::MAX, Ordering::Relaxed);
        self.fails_always.store(false, Ordering::Relaxed);
    }

    /// Returns whether the requested failure has happened.
    pub(crate) fn has_failed(&self) -> bool {
        self.countdown.load(Ordering::Relaxed) == u64::MAX
    }

    /// Returns the number of calls of the chosen kind so far.
    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Makes the device report `count` nodes. Heaps of all nodes are created on the first.
    pub(crate) fn set_node_count(&self, count: u32) {
        self.node_count.store(count, Ordering::Relaxed);
    }

    /// Refuses resources with any of these flags in CUSTOM heaps, as some implementations of D3D12 do.
    pub(crate) fn refuse_in_custom(&self, flags: D3D12_RESOURCE_FLAGS) {
        self.refused_in_custom.store(flags, Ordering::Relaxed);
    }

    fn check_custom(&self, heap_type: D3D12_HEAP_TYPE, flags: D3D12_RESOURCE_FLAGS) -> Option<HRESULT> {
        let is_refused = flags & self.refused_in_custom.load(Ordering::Relaxed) != 0;
        if heap_type != D3D12_HEAP_TYPE_CUSTOM || !is_refused {
            return None;
        }
        self.calls.fetch_add(1, Ordering::Relaxed);
        Some(self.hresult)
    }

    fn node_count(&self) -> u32 {
        self.node_count.load(Ordering::Relaxed)
    }

    /// Returns the calls recorded since the last call of this.
    pub(crate) fn take_seen(&self) -> Vec<Seen> {
        std::mem::take(&mut self.seen.lock().expect("no test panics with it"))
    }

    /// Returns the heaps requested since the last call of this or of `take_seen`.
    pub(crate) fn heaps(&self) -> Vec<D3D12_HEAP_DESC> {
        let heap = |seen| if let Seen::Heap { desc, .. } = seen { Some(desc) } else { None };
        self.take_seen().into_iter().filter_map(heap).collect()
    }

    fn see(&self, seen: Seen) {
        self.seen.lock().expect("no test panics with it").push(seen);
    }

    fn see_placed(
        &self,
        call: &'static str,
        offset: u64,
        clear: *const D3D12_CLEAR_VALUE,
        castable: &[DXGI_FORMAT],
    ) {
        let (castable, has_clear_value) = (castable.to_vec(), !clear.is_null());
        self.see(Seen::Placed { call, offset, castable, has_clear_value });
    }

    /// # Safety
    ///
    /// `properties` is readable.
    unsafe fn see_committed(
        &self,
        call: &'static str,
        properties: *const D3D12_HEAP_PROPERTIES,
        heap_flags: D3D12_HEAP_FLAGS,
        in_session: bool,
        clear: *const D3D12_CLEAR_VALUE,
        castable: &[DXGI_FORMAT],
    ) {
        // SAFETY: the caller upholds the contract of this function.
        let properties = unsafe { *properties };
        let (castable, has_clear_value) = (castable.to_vec(), !clear.is_null());
        self.see(Seen::Committed { call, properties, heap_flags, in_session, castable, has_clear_value });
    }

    /// Counts a call. Returns the HRESULT if it fails.
    fn count(&self, call: Call) -> Option<HRESULT> {
        if std::thread::current().name() == Some("heapwright prefetch") {
            drop(self.prefetching.lock());
        }
        if self.only.is_some_and(|only| only != call) {
            return None;
        }
        self.calls.fetch_add(1, Ordering::Relaxed);
        if self.fails_always.load(Ordering::Relaxed) {
            return Some(self.hresult);
        }
        // One atomic operation, as heaps are also created on the prefetch thread.
        let next = |before: u64| (before != u64::MAX).then(|| before.wrapping_sub(1));
        let before = self.countdown.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        (before == Ok(0)).then_some(self.hresult)
    }
}

/// Opens a GPU, some of whose device's calls can be made to fail.
pub(crate) fn faulty(only: Option<Call>, hresult: HRESULT) -> (Instance, Arc<Faults>) {
    let (gpu, faults) = (crate::gpu::open("discrete"), Faults::new(only, hresult));
    inject(&gpu.device, &faults);
    (gpu, faults)
}

/// The same for a device that has `ID3D12Device` alone.
pub(crate) fn faulty_first(only: Option<Call>, hresult: HRESULT) -> (Instance, Arc<Faults>) {
    let (gpu, faults) = (crate::gpu::open("discrete"), Faults::new(only, hresult));
    inject_first(&gpu.device, &faults);
    (gpu, faults)
}

/// A session that protects nothing. Devices remove it before they pass a call on.
#[implement(ID3D12ProtectedResourceSession)]
pub(crate) struct Session;

impl Session {
    pub(crate) fn create() -> ID3D12ProtectedResourceSession {
        Self.into()
    }
}

impl ID3D12Object_Impl for Session_Impl {
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

impl ID3D12DeviceChild_Impl for Session_Impl {
    fn GetDevice(&self, _riid: *const GUID, _device: *mut *mut c_void) -> Result<()> {
        missing()
    }
}

impl ID3D12ProtectedSession_Impl for Session_Impl {
    fn GetStatusFence(&self, _riid: *const GUID, _fence: *mut *mut c_void) -> Result<()> {
        missing()
    }

    fn GetSessionStatus(&self) -> D3D12_PROTECTED_SESSION_STATUS {
        D3D12_PROTECTED_SESSION_STATUS_OK
    }
}

impl ID3D12ProtectedResourceSession_Impl for Session_Impl {
    fn GetDesc(&self) -> D3D12_PROTECTED_RESOURCE_SESSION_DESC {
        D3D12_PROTECTED_RESOURCE_SESSION_DESC::default()
    }
}

/// The result of a device for an invalid description.
const INVALID: D3D12_RESOURCE_ALLOCATION_INFO =
    D3D12_RESOURCE_ALLOCATION_INFO { SizeInBytes: u64::MAX, Alignment: 65_536 };

fn missing<T>() -> Result<T> {
    Err(Error::from_hresult(E_NOTIMPL))
}

/// # Safety
///
/// `elements` points to `count` elements, or is null.
unsafe fn slice<'a, T>(elements: *const T, count: u32) -> &'a [T] {
    // SAFETY: the caller upholds the contract of this function.
    if elements.is_null() { &[] } else { unsafe { std::slice::from_raw_parts(elements, count as usize) } }
}
