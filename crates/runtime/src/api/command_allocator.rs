//! `ID3D12CommandAllocator`: who may record, and when what was recorded may go.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use heapwright_d3d12::*;
use windows_core::{ComObject, implement};

use super::call;
use super::device::Device;
use super::object::{Child, implement_pageable};
use crate::debug::ObjectKind;
use crate::fence::Fence;
use crate::rules::Refusal;

/// An allocator of the application.
#[implement(ID3D12CommandAllocator)]
pub(super) struct CommandAllocator {
    child: Child,
    list_type: D3D12_COMMAND_LIST_TYPE,
    recordings: Arc<Recordings>,
}

/// Checks a type of command lists, as allocators and lists take it.
pub(super) fn check_list_type(list_type: D3D12_COMMAND_LIST_TYPE) -> Result<(), Refusal> {
    match list_type {
        D3D12_COMMAND_LIST_TYPE_DIRECT
        | D3D12_COMMAND_LIST_TYPE_BUNDLE
        | D3D12_COMMAND_LIST_TYPE_COMPUTE
        | D3D12_COMMAND_LIST_TYPE_COPY => Ok(()),
        D3D12_COMMAND_LIST_TYPE_VIDEO_DECODE
        | D3D12_COMMAND_LIST_TYPE_VIDEO_ENCODE
        | D3D12_COMMAND_LIST_TYPE_VIDEO_PROCESS => Err(Refusal::not_implemented("video")),
        _ => Err(Refusal::invalid(format!("{list_type} is no D3D12_COMMAND_LIST_TYPE"))
            .with_id(D3D12_MESSAGE_ID_CREATE_COMMAND_LIST_INVALID_COMMAND_LIST_TYPE)),
    }
}

/// What was recorded with an allocator: shared with the lists that hold it.
#[derive(Default)]
pub(super) struct Recordings {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    is_recording: bool,
    /// How often the allocator was reset: what was recorded before is gone.
    generation: u64,
    /// The fence of a queue and the value that it has when a submission is done.
    submissions: Vec<(Arc<Fence>, u64)>,
}

impl Recordings {
    /// Begins the recording of a list, and answers with the generation that it belongs to.
    ///
    /// # Errors
    ///
    /// E_INVALIDARG while another list records.
    pub(super) fn begin(&self) -> Result<u64, Refusal> {
        let mut state = self.lock();
        if state.is_recording {
            return Err(Refusal::invalid("the command allocator is in use by another list that records")
                .with_id(D3D12_MESSAGE_ID_COMMAND_ALLOCATOR_CONTENTION));
        }
        state.is_recording = true;
        Ok(state.generation)
    }

    /// The list that records is closed, or gone.
    pub(super) fn end(&self) {
        self.lock().is_recording = false;
    }

    /// Whether what was recorded in `generation` is still there.
    pub(super) fn holds(&self, generation: u64) -> bool {
        self.lock().generation == generation
    }

    /// A list recorded with the allocator executes until `fence` has reached `value`.
    pub(super) fn executes_until(&self, fence: &Arc<Fence>, value: u64) {
        let mut state = self.lock();
        // Values of a queue rise: the last one stands for all, and there are no more entries than queues.
        if let Some((_, last)) = state.submissions.iter_mut().find(|(one, _)| Arc::ptr_eq(one, fence)) {
            *last = value;
            return;
        }
        state.submissions.retain(|(fence, value)| fence.value() < *value);
        state.submissions.push((Arc::clone(fence), value));
    }

    fn reset(&self) -> Result<(), Refusal> {
        let mut state = self.lock();
        if state.is_recording {
            return Err(Refusal::new(E_FAIL, "a command list records with the command allocator")
                .with_id(D3D12_MESSAGE_ID_COMMAND_ALLOCATOR_CANNOT_RESET));
        }
        state.submissions.retain(|(fence, value)| fence.value() < *value);
        if !state.submissions.is_empty() {
            return Err(Refusal::new(
                E_FAIL,
                "a command list recorded with the command allocator still executes",
            )
            .with_id(D3D12_MESSAGE_ID_COMMAND_ALLOCATOR_SYNC));
        }
        state.generation += 1;
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CommandAllocator {
    pub(super) fn new(device: ComObject<Device>, list_type: D3D12_COMMAND_LIST_TYPE) -> Self {
        Self {
            child: Child::new(device).counted(ObjectKind::CommandAllocator),
            list_type,
            recordings: Arc::default(),
        }
    }

    pub(super) fn list_type(&self) -> D3D12_COMMAND_LIST_TYPE {
        self.list_type
    }

    pub(super) fn recordings(&self) -> &Arc<Recordings> {
        &self.recordings
    }
}

implement_pageable!(CommandAllocator_Impl);

impl ID3D12CommandAllocator_Impl for CommandAllocator_Impl {
    fn Reset(&self) -> windows_core::Result<()> {
        call::run(self.log(), "ID3D12CommandAllocator::Reset", || self.recordings.reset())
    }
}
