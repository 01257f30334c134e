//! The state that all handles of a residency manager share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use heapwright_core::residency::ResidencyPlanner;
use heapwright_d3d12::*;

use super::books::Books;
use super::budget::{BackgroundUpdates, Budgets, unifies_memory};
use super::desc::{ResidencyManagerDesc, ResidencyManagerFlags};
use super::device::{ManagedDevice, create_fence};
use super::pager::Pager;
use super::recorded::ManagerRecording;
use super::upkeep::Upkeep;
use crate::adapter::check_adapter;
use crate::{Architecture, DeviceCaps, Error};

/// The state of a residency manager.
#[derive(Debug)]
pub(crate) struct ManagerParts {
    /// The number of the manager, unique in the process, from 1.
    pub(super) number: u64,
    pub(super) pager: Arc<Pager>,
    pub(super) upkeep: Upkeep,
    pub(super) debug_name: Mutex<Option<Arc<str>>>,
}

impl ManagerParts {
    /// Makes a call, which is recorded with its duration.
    pub(super) fn traced<T>(
        &self,
        name: &'static str,
        args: impl FnOnce() -> String,
        call: impl FnOnce() -> T,
    ) -> T {
        ManagerRecording::traced(self.pager.recording.as_ref(), name, args, call)
    }

    pub(super) fn new(
        device: &ID3D12Device,
        adapter: Option<&IDXGIAdapter3>,
        desc: &ResidencyManagerDesc,
    ) -> Result<Arc<Self>, Error> {
        static NEXT_NUMBER: AtomicU64 = AtomicU64::new(1);
        desc.check()?;
        let caps = DeviceCaps::query(device)?;
        let recording = ManagerRecording::begin(desc, caps.architecture != Architecture::Discrete)?;
        let is_unified = unifies_memory(&caps, desc.flags);
        adapter.map_or(Ok(()), |adapter| check_adapter(device, adapter))?;
        let budgets = Budgets::new(adapter, is_unified, desc)?;
        let paging_fence = create_fence(device, desc.initial_fence_value)?;
        let mut planner = ResidencyPlanner::new(is_unified, || desc.policy.create());
        planner.complete_paging(desc.initial_fence_value);
        let books = Books::new(budgets, planner);
        let device = ManagedDevice::new(device, caps, &paging_fence);
        let parts = Arc::new(Self {
            number: NEXT_NUMBER.fetch_add(1, Ordering::Relaxed),
            pager: Pager::new(device, books, paging_fence, desc, recording),
            upkeep: Upkeep::default(),
            debug_name: Mutex::default(),
        });
        if desc.flags.contains(ResidencyManagerFlags::ALLOW_BACKGROUND_BUDGET_UPDATES) {
            parts.start_background_updates(adapter);
            let sends_notifications = adapter.is_some() && parts.upkeep.background.get().is_some();
            if desc.refresh_interval == 0 && !sends_notifications {
                parts.pager.books.budgets.query_after_each_submission();
            }
        }
        Ok(parts)
    }

    fn start_background_updates(self: &Arc<Self>, adapter: Option<&IDXGIAdapter3>) {
        if adapter.is_none() {
            tracing::warn!("ALLOW_BACKGROUND_BUDGET_UPDATES without an adapter; no budget notifications");
        }
        let parts = Arc::downgrade(self);
        let on_change = move |request| {
            if let Some(parts) = parts.upgrade() {
                parts.upkeep.trim_as_requested(&parts.pager, request);
            }
        };
        let device = self.pager.device.interface();
        if let Some(updates) = BackgroundUpdates::start(adapter, Some(device), on_change) {
            let _ = self.upkeep.background.set(updates);
        }
    }
}
