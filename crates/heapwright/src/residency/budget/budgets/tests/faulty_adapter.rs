//! An adapter that reports what a test configures.

use std::sync::Mutex;

use heapwright_core::ByteSize;
use heapwright_d3d12::*;
use heapwright_intercept::{intercept, method};
use heapwright_runtime::{HostProfile, Instance};
use windows_core::{HRESULT, Interface};

use crate::SegmentGroup;
use crate::adapter::ToDxgi as _;

/// The values that an adapter reports, and the calls that it received.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Script {
    /// For both segment groups.
    pub(crate) info: [DXGI_QUERY_VIDEO_MEMORY_INFO; 2],
    pub(crate) query: HRESULT,
    pub(crate) reserve: HRESULT,
    pub(crate) queries: u32,
    pub(crate) reservations: u32,
    /// The reservations that were last set.
    pub(crate) reserved: [u64; 2],
}

/// An adapter of the runtime that follows a [`Script`]. It sends no notifications.
pub(crate) struct FaultyAdapter {
    adapter: IDXGIAdapter3,
    script: &'static Mutex<Script>,
}

impl FaultyAdapter {
    /// Creates an adapter with these budgets and no usage.
    pub(crate) fn new(local: ByteSize, non_local: ByteSize) -> Self {
        let info = |budget: ByteSize| DXGI_QUERY_VIDEO_MEMORY_INFO {
            Budget: budget.get(),
            AvailableForReservation: budget.get() / 2,
            ..Default::default()
        };
        // The adapter may outlive the test.
        let script: &'static Mutex<Script> = Box::leak(Box::new(Mutex::new(Script {
            info: [info(local), info(non_local)],
            query: S_OK,
            reserve: S_OK,
            queries: 0,
            reservations: 0,
            reserved: [0; 2],
        })));
        let adapter = Instance::open(HostProfile::default_profile()).expect("a fresh instance").adapter;
        let newest: IDXGIAdapter4 = adapter.cast().expect("the newest interface");
        // SAFETY: this is the newest interface of its chain, and nobody else uses a fresh adapter. The callers
        // give a writable structure.
        unsafe {
            intercept(&newest, script, |methods| {
                let adapter = methods.of::<IDXGIAdapter3>();
                adapter.replace(method!(QueryVideoMemoryInfo), |call, (_, group, out)| {
                    let mut script = call.data.lock().expect("no panic while it is locked");
                    script.queries += 1;
                    if script.query.is_ok() {
                        *out = script.info[index(group)];
                    }
                    script.query
                });
                adapter.replace(method!(SetVideoMemoryReservation), |call, (_, group, bytes)| {
                    let mut script = call.data.lock().expect("no panic while it is locked");
                    script.reservations += 1;
                    if script.reserve.is_ok() {
                        script.reserved[index(group)] = bytes;
                    }
                    script.reserve
                });
                adapter.replace(method!(RegisterVideoMemoryBudgetChangeNotificationEvent), |_, _| E_NOTIMPL);
                adapter.replace(method!(UnregisterVideoMemoryBudgetChangeNotification), |_, _| {
                    unreachable!("a callback is registered")
                });
            });
        }
        Self { adapter, script }
    }

    pub(crate) fn to_interface(&self) -> IDXGIAdapter3 {
        self.adapter.clone()
    }

    pub(crate) fn script(&self) -> Script {
        *self.script.lock().expect("no panic while it is locked")
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut Script)) {
        change(&mut self.script.lock().expect("no panic while it is locked"));
    }
}

fn index(group: DXGI_MEMORY_SEGMENT_GROUP) -> usize {
    usize::from(group == SegmentGroup::NonLocal.to_dxgi())
}
