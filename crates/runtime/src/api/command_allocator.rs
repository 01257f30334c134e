//! `ID3D12CommandAllocator`: exclusive recording, and tracking of when recorded commands may be reset.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use heapwright_d3d12::*;
use windows_core::{ComObject, implement};

use super::call;
use super::device::Device;
use super::object::{Child, implement_pageable};
use crate::debug::ObjectKind;
use crate::fence::Fence;
use crate::rules::Refusal;

/// The COM object of a command allocator.
#[implement(ID3D12CommandAllocator, ID3DDestructionNotifier)]
pub(super) struct CommandAllocator {
    child: Child,
    list_type: D3D12_COMMAND_LIST_TYPE,
    recordings: Arc<Recordings>,
}

/// Checks the type of a command list or command allocator.
pub(super) fn check_list_type(list_type: D3D12_COMMAND_LIST_TYPE) -> Result<(), Refusal> {
    match list_type {
        D3D12_COMMAND_LIST_TYPE_DIRECT
        | D3D12_COMMAND_LIST_TYPE_BUNDLE
        | D3D12_COMMAND_LIST_TYPE_COMPUTE
        | D3D12_COMMAND_LIST_TYPE_COPY => Ok(()),
        D3D12_COMMAND_LIST_TYPE_VIDEO_DECODE
        | D3D12_COMMAND_LIST_TYPE_VIDEO_ENCODE
        | D3D12_COMMAND_LIST_TYPE_VIDEO_PROCESS => Err(Refusal::not_implemented("video")),
        _ => Err(Refusal::invalid(format!("{list_type} is not a valid D3D12_COMMAND_LIST_TYPE"))
            .with_id(D3D12_MESSAGE_ID_CREATE_COMMAND_LIST_INVALID_COMMAND_LIST_TYPE)),
    }
}

/// The recording state of an allocator, shared with the command lists recorded with it.
#[derive(Default)]
pub(super) struct Recordings {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    is_recording: bool,
    /// Number of resets of the allocator. A reset invalidates everything recorded in earlier generations.
    generation: u64,
    /// For each queue, its progress fence and the fence value at which its last submission completes.
    submissions: Vec<(Arc<Fence>, u64)>,
}

impl Recordings {
    /// Begins recording a list and returns the current generation.
    ///
    /// # Errors
    ///
    /// Returns E_INVALIDARG while another list is recording.
    pub(super) fn begin(&self) -> Result<u64, Refusal> {
        let mut state = self.lock();
        if state.is_recording {
            return Err(Refusal::invalid("another command list is recording with the command allocator")
                .with_id(D3D12_MESSAGE_ID_COMMAND_ALLOCATOR_CONTENTION));
        }
        state.is_recording = true;
        Ok(state.generation)
    }

    /// Ends the recording: the list was closed or dropped.
    pub(super) fn end(&self) {
        self.lock().is_recording = false;
    }

    /// Checks whether commands recorded in `generation` are still valid.
    pub(super) fn holds(&self, generation: u64) -> bool {
        self.lock().generation == generation
    }

    /// Notes that a list recorded with the allocator executes until `fence` reaches `value`.
    pub(super) fn executes_until(&self, fence: &Arc<Fence>, value: u64) {
        let mut state = self.lock();
        // The values of a queue's fence increase, so the last one suffices and there is at most one entry per queue.
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
            return Err(Refusal::new(E_FAIL, "a command list is recording with the command allocator")
                .with_id(D3D12_MESSAGE_ID_COMMAND_ALLOCATOR_CANNOT_RESET));
        }
        state.submissions.retain(|(fence, value)| fence.value() < *value);
        if !state.submissions.is_empty() {
            return Err(Refusal::new(
                E_FAIL,
                "a command list recorded with the command allocator is still executing",
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
