//! `ID3D12GraphicsCommandList10`: a list of commands that an application records.
//!
//! * This file: the states of a list (recording, closed) and the frame around the body of every command.
//! * `interfaces`, `later_interfaces`: the methods, as D3D12 declares them. A method reads its parameters, applies the
//!   rules in [`rules::commands`](crate::rules::commands), and records what they return.
//! * `copies`, `views`, `render_passes`, `barriers`: the reading of operands, descriptors, accesses and barriers.
//! * `aliasing_notes`, `bindings`: the information that lists record for the aliasing tracker.
//!
//! A command that violates a rule checked by the D3D12 runtime is not recorded. As in D3D12, the call returns nothing:
//! the violation is logged immediately and `Close` returns the error. A violation of a rule that D3D12 leaves to the
//! debug layer (resource states, bound descriptor heaps) is a message, and the command is recorded; `Notices::tolerate`
//! marks these rules.
//!
//! Draws and dispatches are not executed. The list logs this once, and the aliasing tracker is told what they may
//! write. Other commands that are not implemented are logged and `Close` returns E_NOTIMPL, so that no list executes
//! with commands missing.

mod aliasing_notes;
mod barriers;
mod bindings;
mod copies;
mod interfaces;
mod later_interfaces;
mod render_passes;
mod views;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use heapwright_d3d12::*;
use windows_core::{ComObject, HRESULT, implement};

use self::bindings::{Bindings, Pipeline};
use super::call;
use super::command_allocator::{CommandAllocator_Impl, Recordings};
use super::descriptor_heap::DescriptorTable;
use super::device::Device;
use super::object::{Child, implement_child};
use crate::aliasing::{Note, RecordedCall};
use crate::debug::ObjectKind;
use crate::drivers::command::Command;
use crate::rules::commands::render_passes::{self as pass_rules, RenderPass};
use crate::rules::{Notice, Notices, Refusal};

/// The COM object of a command list.
#[implement(ID3D12GraphicsCommandList10, ID3DDestructionNotifier)]
pub(super) struct CommandList {
    child: Child,
    list_type: D3D12_COMMAND_LIST_TYPE,
    state: Mutex<State>,
}

enum State {
    Recording(Box<Recording>),
    Closed(Arc<Recorded>),
    /// Closed without ever having recorded.
    Empty,
    /// Closed with an error, so there is nothing to execute.
    Failed,
}

/// The state of a list while it records.
struct Recording {
    commands: Vec<Command>,
    /// The calls recorded so far for the aliasing tracker, and the notes of the current call besides its commands.
    /// `None` if the tracker is off.
    calls: Option<Vec<RecordedCall>>,
    notes: Vec<Note>,
    /// Violations of debug layer rules by the current call.
    notices: Notices,
    /// The error of the first refused command.
    error: Option<HRESULT>,
    /// The shader-visible heaps set by `SetDescriptorHeaps`.
    descriptor_heaps: Vec<Weak<DescriptorTable>>,
    render_pass: Option<RenderPass>,
    bindings: Bindings,
    /// Whether the application was told that draws and dispatches are not executed.
    has_told: bool,
    turn: Turn,
}

/// Exclusive right to record with an allocator, released on drop.
struct Turn {
    recordings: Arc<Recordings>,
    generation: u64,
}

impl Turn {
    fn begin(
        device: &Device,
        allocator: &CommandAllocator_Impl,
        list_type: D3D12_COMMAND_LIST_TYPE,
    ) -> Result<Self, Refusal> {
        device.removal().check_present()?;
        if allocator.list_type() != list_type {
            return Err(Refusal::invalid(format!(
                "pCommandAllocator has type {}, but the command list has type {list_type}",
                allocator.list_type()
            ))
            .with_id(D3D12_MESSAGE_ID_WRONG_COMMAND_ALLOCATOR_TYPE));
        }
        let recordings = Arc::clone(allocator.recordings());
        let generation = recordings.begin()?;
        Ok(Self { recordings, generation })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.recordings.end();
    }
}

/// The commands of a closed list.
pub(super) struct Recorded {
    pub(super) commands: Arc<[Command]>,
    /// The calls for the aliasing tracker. `None` if the tracker was off.
    pub(super) calls: Option<Arc<[RecordedCall]>>,
    pub(super) recordings: Arc<Recordings>,
    generation: u64,
}

/// The list types that may record a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Allowed {
    /// All list types except bundles.
    All,
    DirectAndCompute,
    Direct,
    /// Pipeline state: direct lists, compute lists and bundles.
    State,
    /// Draws: direct lists and bundles.
    Draw,
}

impl CommandList {
    /// Creates a list that records with `allocator`.
    ///
    /// # Errors
    ///
    /// Returns E_INVALIDARG for an allocator of another list type and for one that another list records with.
    pub(super) fn open(
        device: ComObject<Device>,
        allocator: &CommandAllocator_Impl,
        list_type: D3D12_COMMAND_LIST_TYPE,
    ) -> Result<Self, Refusal> {
        let recording = Recording::begin(&device, allocator, list_type)?;
        let state = Mutex::new(State::Recording(Box::new(recording)));
        Ok(Self { child: Child::new(device).counted(ObjectKind::CommandList), list_type, state })
    }

    /// Creates a list that is closed and has never recorded.
    pub(super) fn closed(device: ComObject<Device>, list_type: D3D12_COMMAND_LIST_TYPE) -> Self {
        Self {
            child: Child::new(device).counted(ObjectKind::CommandList),
            list_type,
            state: Mutex::new(State::Empty),
        }
    }

    pub(super) fn list_type(&self) -> D3D12_COMMAND_LIST_TYPE {
        self.list_type
    }

    /// Returns the commands for execution by a queue.
    ///
    /// # Errors
    ///
    /// Returns E_INVALIDARG for a list that never recorded and for one whose allocator was reset. Returns
    /// DXGI_ERROR_INVALID_CALL, which also removes the device, for a list that is still recording or failed to close.
    pub(super) fn executable(&self) -> Result<Arc<Recorded>, Refusal> {
        match &*self.lock() {
            State::Closed(recorded) if recorded.recordings.holds(recorded.generation) => {
                Ok(Arc::clone(recorded))
            }
            State::Closed(_) => Err(Refusal::invalid("is invalid; its command allocator was reset")
                .with_id(D3D12_MESSAGE_ID_COMMAND_ALLOCATOR_RESET)),
            State::Empty => Err(Refusal::invalid("was never recorded")
                .with_id(D3D12_MESSAGE_ID_CANNOT_EXECUTE_EMPTY_COMMAND_LIST)),
            State::Recording(_) => Err(Refusal::new(DXGI_ERROR_INVALID_CALL, "is still recording")
                .with_id(D3D12_MESSAGE_ID_EXECUTECOMMANDLISTS_OPENCOMMANDLIST)),
            State::Failed => Err(Refusal::new(DXGI_ERROR_INVALID_CALL, "failed to close")
                .with_id(D3D12_MESSAGE_ID_EXECUTECOMMANDLISTS_FAILEDCOMMANDLIST)),
        }
    }

    fn close(&self) -> Result<(), Refusal> {
        let mut state = self.lock();
        if !matches!(&*state, State::Recording(_)) {
            return Err(Refusal::new(E_FAIL, "the command list is already closed")
                .with_id(D3D12_MESSAGE_ID_COMMAND_LIST_CLOSED));
        }
        let State::Recording(recording) = std::mem::replace(&mut *state, State::Failed) else {
            return Ok(());
        };
        self.child.device.removal().check_present()?;
        if let Some(error) = recording.error {
            return Err(Refusal::new(error, "a command failed while the list was recording"));
        }
        pass_rules::check_ended(recording.render_pass.as_ref())?;
        let (recordings, generation) = (Arc::clone(&recording.turn.recordings), recording.turn.generation);
        *state = State::Closed(Arc::new(Recorded {
            commands: recording.commands.into(),
            calls: recording.calls.map(Into::into),
            recordings,
            generation,
        }));
        Ok(())
    }

    fn reset(&self, allocator: &CommandAllocator_Impl) -> Result<(), Refusal> {
        let mut state = self.lock();
        if matches!(&*state, State::Recording(_)) {
            return Err(Refusal::new(E_FAIL, "the command list is still recording")
                .with_id(D3D12_MESSAGE_ID_COMMAND_LIST_OPEN));
        }
        let recording = Recording::begin(&self.child.device, allocator, self.list_type)?;
        *state = State::Recording(Box::new(recording));
        Ok(())
    }

    /// Runs the body of the recording method `name`, and records the commands that it returns. `Close` returns the
    /// error of the first refused command.
    fn record<C: IntoIterator<Item = Command>>(
        &self,
        name: &'static str,
        allowed: Allowed,
        body: impl FnOnce(&Device, &mut Recording) -> Result<C, Refusal>,
    ) {
        let result = call::run(self.child.log(), name, || {
            let mut state = self.lock();
            let State::Recording(recording) = &mut *state else {
                return Err(Refusal::new(E_FAIL, "the command list is closed")
                    .with_id(D3D12_MESSAGE_ID_COMMAND_LIST_CLOSED));
            };
            self.check_allowed(allowed)?;
            let first_command = recording.commands.len();
            recording.notes.clear();
            recording.notices = Notices::default();
            let commands = body(&self.child.device, recording)?;
            recording.commands.extend(commands);
            recording.note_call(name, first_command);
            Ok(std::mem::take(&mut recording.notices))
        });
        match result {
            // Outside of the lock, like the logging of refusals: a message callback may call the list.
            Ok(notices) => self.child.log().notices(name, &notices),
            Err(error) => {
                if let State::Recording(recording) = &mut *self.lock() {
                    recording.error.get_or_insert(error.code());
                }
            }
        }
    }

    /// Same as [`record`](Self::record), for a method that is not allowed between `BeginRenderPass` and
    /// `EndRenderPass`.
    fn record_outside_pass<C: IntoIterator<Item = Command>>(
        &self,
        name: &'static str,
        allowed: Allowed,
        body: impl FnOnce(&Device, &mut Recording) -> Result<C, Refusal>,
    ) {
        self.record(name, allowed, |device, recording| {
            pass_rules::check_outside(recording.render_pass.as_ref())?;
            body(device, recording)
        });
    }

    /// Sets state that only pipelines read. Nothing is stored.
    fn set_state(&self, name: &'static str, allowed: Allowed) {
        self.record(name, allowed, |_, _| Ok(None));
    }

    /// Checks a command that only pipelines execute, without recording it. The list logs once that such commands are
    /// not executed.
    fn skip(
        &self,
        name: &'static str,
        allowed: Allowed,
        check: impl FnOnce(&Device, &mut Recording) -> Result<(), Refusal>,
    ) {
        self.record(name, allowed, |device, recording| {
            check(device, recording)?;
            if !std::mem::replace(&mut recording.has_told, true) {
                recording.notices.push(Notice::warning(
                    D3D12_MESSAGE_ID_UNKNOWN,
                    "this runtime does not execute pipelines; draws and dispatches are skipped and \
                     the contents they would write are undefined",
                ));
            }
            Ok(None)
        });
    }

    /// Skips a draw; see [`skip`](Self::skip).
    fn draw(&self, name: &'static str) {
        self.skip(name, Allowed::Draw, |_, recording| {
            recording.note_skipped(Pipeline::Graphics);
            Ok(())
        });
    }

    /// Refuses a command that is not implemented: `Close` returns E_NOTIMPL.
    fn unsupported(&self, name: &'static str) {
        self.record(name, Allowed::All, |_, _| Err::<Option<_>, _>(Refusal::call_not_implemented()));
    }

    /// Same as [`unsupported`](Self::unsupported), for a command that is also not allowed in render passes.
    fn unsupported_outside_pass(&self, name: &'static str) {
        self.record_outside_pass(name, Allowed::All, |_, _| {
            Err::<Option<_>, _>(Refusal::call_not_implemented())
        });
    }

    fn check_allowed(&self, allowed: Allowed) -> Result<(), Refusal> {
        let is_allowed = match allowed {
            Allowed::All => self.list_type != D3D12_COMMAND_LIST_TYPE_BUNDLE,
            Allowed::DirectAndCompute => {
                [D3D12_COMMAND_LIST_TYPE_DIRECT, D3D12_COMMAND_LIST_TYPE_COMPUTE].contains(&self.list_type)
            }
            Allowed::Direct => self.list_type == D3D12_COMMAND_LIST_TYPE_DIRECT,
            Allowed::State => self.list_type != D3D12_COMMAND_LIST_TYPE_COPY,
            Allowed::Draw => {
                [D3D12_COMMAND_LIST_TYPE_DIRECT, D3D12_COMMAND_LIST_TYPE_BUNDLE].contains(&self.list_type)
            }
        };
        if is_allowed {
            return Ok(());
        }
        let kind = match self.list_type {
            D3D12_COMMAND_LIST_TYPE_COPY => "copy list",
            D3D12_COMMAND_LIST_TYPE_BUNDLE => "bundle",
            _ => "compute list",
        };
        Err(Refusal::invalid(format!("this command is not allowed in a {kind}")))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Recording {
    fn begin(
        device: &Device,
        allocator: &CommandAllocator_Impl,
        list_type: D3D12_COMMAND_LIST_TYPE,
    ) -> Result<Self, Refusal> {
        let turn = Turn::begin(device, allocator, list_type)?;
        Ok(Self {
            commands: Vec::new(),
            calls: device.aliasing().is_on().then(Vec::new),
            notes: Vec::new(),
            notices: Notices::default(),
            error: None,
            descriptor_heaps: Vec::new(),
            render_pass: None,
            bindings: Bindings::default(),
            has_told: false,
            turn,
        })
    }
}

/// Returns the elements behind a pointer and a count that the application passes.
///
/// # Safety
///
/// `pointer` is null or points to `count` elements that stay readable while the result is in use.
pub(super) unsafe fn read_array<'a, T>(
    count: u32,
    pointer: *const T,
    name: &str,
) -> Result<&'a [T], Refusal> {
    if count == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() {
        return Err(Refusal::invalid(format!("{name} is null but its count is {count}")));
    }
    let len = usize::try_from(count)
        .map_err(|_| Refusal::invalid(format!("{name} has too many elements ({count})")))?;
    // SAFETY: guaranteed by the caller; the pointer is not null.
    Ok(unsafe { std::slice::from_raw_parts(pointer, len) })
}

implement_child!(CommandList_Impl);
