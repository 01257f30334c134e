//! `ID3D12GraphicsCommandList10`: a list of commands that an application records.
//!
//! * here: the list's states (recording, closed) and what every command does around its body.
//! * `copies`, `texture_copies`, `tiles`, `clears`, `resolves`, `render_passes`, `barriers`: the commands, by what they do.
//! * `notes`, `bindings`: what lists record for the tracker of aliasing.
//! * `interfaces`: the methods as D3D12 declares them.
//!
//! A command that breaks a rule which D3D12's core checks is not recorded. As in D3D12 the call has no result; the rule goes to the
//! log at once, and `Close` answers the error. What D3D12 leaves to the debug layer (in which state a resource is used, which heaps
//! are set) is a message, and the command is recorded; `Notices::tolerate` marks these rules. Draws and dispatches are not executed,
//! which the list says once; the tracker of aliasing is told what they may write. What else is not there is logged, and `Close` answers E_NOTIMPL, so that no list executes which
//! does less than it says.

mod barriers;
mod bindings;
mod clears;
mod copies;
mod interfaces;
mod notes;
mod render_passes;
mod resolves;
mod texture_copies;
mod tiles;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use heapwright_d3d12::*;
use windows_core::{ComObject, HRESULT, implement};

pub(super) use self::barriers::{extents, plane_count};
use self::bindings::{Bindings, Pipeline};
use self::render_passes::RenderPass;
use super::call;
use super::command_allocator::{CommandAllocator_Impl, Recordings};
use super::descriptor_heap::DescriptorTable;
use super::device::Device;
use super::object::{Child, implement_child};
use crate::aliasing::{Note, RecordedCall};
use crate::ddi::command::Command;
use crate::debug::ObjectKind;
use crate::rules::{Notice, Notices, Refusal};

/// A command list of the application.
#[implement(ID3D12GraphicsCommandList10)]
pub(super) struct CommandList {
    child: Child,
    list_type: D3D12_COMMAND_LIST_TYPE,
    state: Mutex<State>,
}

enum State {
    Recording(Box<Recording>),
    Closed(Arc<Recorded>),
    /// Closed, and never recorded.
    Empty,
    /// Closed with an error: there is nothing to execute.
    Failed,
}

/// A list while it records.
struct Recording {
    commands: Vec<Command>,
    /// What the tracker of aliasing is told, if it is on: the calls so far, and what the one that records does beside its commands.
    calls: Option<Vec<RecordedCall>>,
    notes: Vec<Note>,
    /// What the command that records breaks of the rules of the debug layer.
    notices: Notices,
    /// What the first command that was refused answers.
    error: Option<HRESULT>,
    /// The shader-visible heaps of `SetDescriptorHeaps`.
    descriptor_heaps: Vec<Weak<DescriptorTable>>,
    render_pass: Option<RenderPass>,
    bindings: Bindings,
    /// Whether the application was told that draws and dispatches are not executed.
    has_told: bool,
    turn: Turn,
}

/// The right to record with an allocator, given back when dropped.
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
                "pCommandAllocator is for lists of type {}, the list's type is {list_type}",
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
    /// What the tracker of aliasing is told, if it was on.
    pub(super) calls: Option<Arc<[RecordedCall]>>,
    pub(super) recordings: Arc<Recordings>,
    generation: u64,
}

/// Which lists may hold a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Allowed {
    /// All but bundles.
    All,
    DirectAndCompute,
    Direct,
    /// What sets state for pipelines: direct lists, compute lists and bundles.
    State,
    /// What draws: direct lists and bundles.
    Draw,
}

impl CommandList {
    /// A list that records with `allocator`.
    ///
    /// # Errors
    ///
    /// E_INVALIDARG for an allocator of another type, and for one that another list records with.
    pub(super) fn open(
        device: ComObject<Device>,
        allocator: &CommandAllocator_Impl,
        list_type: D3D12_COMMAND_LIST_TYPE,
    ) -> Result<Self, Refusal> {
        let recording = Recording::begin(&device, allocator, list_type)?;
        let state = Mutex::new(State::Recording(Box::new(recording)));
        Ok(Self { child: Child::new(device).counted(ObjectKind::CommandList), list_type, state })
    }

    /// A list that is closed and empty.
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

    /// What a queue executes.
    ///
    /// # Errors
    ///
    /// E_INVALIDARG for a list that is empty, and for one whose allocator was reset; DXGI_ERROR_INVALID_CALL, which takes the device
    /// with it, for one that is open or failed.
    pub(super) fn executable(&self) -> Result<Arc<Recorded>, Refusal> {
        match &*self.lock() {
            State::Closed(recorded) if recorded.recordings.holds(recorded.generation) => {
                Ok(Arc::clone(recorded))
            }
            State::Closed(_) => Err(Refusal::invalid("is gone: its command allocator was reset")
                .with_id(D3D12_MESSAGE_ID_COMMAND_ALLOCATOR_RESET)),
            State::Empty => Err(Refusal::invalid("was never recorded")
                .with_id(D3D12_MESSAGE_ID_CANNOT_EXECUTE_EMPTY_COMMAND_LIST)),
            State::Recording(_) => Err(Refusal::new(DXGI_ERROR_INVALID_CALL, "is open")
                .with_id(D3D12_MESSAGE_ID_EXECUTECOMMANDLISTS_OPENCOMMANDLIST)),
            State::Failed => Err(Refusal::new(DXGI_ERROR_INVALID_CALL, "was closed with an error")
                .with_id(D3D12_MESSAGE_ID_EXECUTECOMMANDLISTS_FAILEDCOMMANDLIST)),
        }
    }

    fn close(&self) -> Result<(), Refusal> {
        let mut state = self.lock();
        if !matches!(&*state, State::Recording(_)) {
            return Err(Refusal::new(E_FAIL, "the command list is closed already")
                .with_id(D3D12_MESSAGE_ID_COMMAND_LIST_CLOSED));
        }
        let State::Recording(recording) = std::mem::replace(&mut *state, State::Failed) else {
            return Ok(());
        };
        self.child.device.removal().check_present()?;
        if let Some(error) = recording.error {
            return Err(Refusal::new(error, "a command was refused while the list recorded"));
        }
        recording.check_pass_ended()?;
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
            return Err(Refusal::new(E_FAIL, "Reset of a command list that records")
                .with_id(D3D12_MESSAGE_ID_COMMAND_LIST_OPEN));
        }
        let recording = Recording::begin(&self.child.device, allocator, self.list_type)?;
        *state = State::Recording(Box::new(recording));
        Ok(())
    }

    /// Runs the body of the recording method `name`. The error of the first that is refused is kept for `Close`.
    fn record(
        &self,
        name: &'static str,
        allowed: Allowed,
        body: impl FnOnce(&Device, &mut Recording) -> Result<(), Refusal>,
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
            body(&self.child.device, recording)?;
            recording.note_call(name, first_command);
            Ok(std::mem::take(&mut recording.notices))
        });
        match result {
            // Outside of the lock, as refusals are: a callback may call the list.
            Ok(notices) => self.child.log().notices(name, &notices),
            Err(error) => {
                if let State::Recording(recording) = &mut *self.lock() {
                    recording.error.get_or_insert(error.code());
                }
            }
        }
    }

    /// As [`record`](Self::record), of a method that is not allowed between `BeginRenderPass` and `EndRenderPass`.
    fn record_outside_pass(
        &self,
        name: &'static str,
        allowed: Allowed,
        body: impl FnOnce(&Device, &mut Recording) -> Result<(), Refusal>,
    ) {
        self.record(name, allowed, |device, recording| {
            recording.check_outside_pass()?;
            body(device, recording)
        });
    }

    /// Sets state that only pipelines read, and of which nothing is kept.
    fn set_state(&self, name: &'static str, allowed: Allowed) {
        self.record(name, allowed, |_, _| Ok(()));
    }

    /// What pipelines execute, which is checked by `check` and not executed. The list says so once.
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
                    "this runtime has no pipelines: what the list draws and dispatches is not executed, and what that would write \
                     is undefined",
                ));
            }
            Ok(())
        });
    }

    /// A draw, as [`skip`](Self::skip) takes it.
    fn draw(&self, name: &'static str) {
        self.skip(name, Allowed::Draw, |_, recording| {
            recording.note_skipped(Pipeline::Graphics);
            Ok(())
        });
    }

    /// A command that this runtime does not have: `Close` answers E_NOTIMPL.
    fn unsupported(&self, name: &'static str) {
        self.record(name, Allowed::All, |_, _| Err(Refusal::not_implemented(name)));
    }

    /// As [`unsupported`](Self::unsupported), of a command that render passes do not have either.
    fn unsupported_outside_pass(&self, name: &'static str) {
        self.record_outside_pass(name, Allowed::All, |_, _| Err(Refusal::not_implemented(name)));
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
        Err(Refusal::invalid(format!("a {kind} cannot hold this command")))
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

/// The elements behind a pointer and a count of the application.
///
/// # Safety
///
/// `pointer` is null or points to `count` elements that stay readable as long as the result is used.
pub(super) unsafe fn read_array<'a, T>(
    count: u32,
    pointer: *const T,
    name: &str,
) -> Result<&'a [T], Refusal> {
    if count == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() {
        return Err(Refusal::invalid(format!("{name} is null and its count {count}")));
    }
    let len = usize::try_from(count).map_err(|_| Refusal::invalid(format!("{count} elements of {name}")))?;
    // SAFETY: the caller's promise; the pointer is not null.
    Ok(unsafe { std::slice::from_raw_parts(pointer, len) })
}

implement_child!(CommandList_Impl);
