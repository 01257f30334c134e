//! A queue with all that a check needs to run commands: a list, a fence, and staging buffers.

use heapwright_d3d12::*;

use crate::answer::{Answer, Stop, failed};
use crate::com::commands::{self, List};
use crate::com::device::{self, Home};
use crate::com::memory::{self, Mapping};
use crate::context::state_of;
use crate::desc::{READBACK, UPLOAD, buffer};
use crate::hresult::Named;
use crate::transfer::staged_size;

/// Commands that a list records, which may stop the check.
pub(crate) trait Recorded {
    fn into_result(self) -> Result<(), Stop>;
}

impl Recorded for () {
    fn into_result(self) -> Result<(), Stop> {
        Ok(())
    }
}

impl Recorded for Result<(), Stop> {
    fn into_result(self) -> Result<(), Stop> {
        self
    }
}

/// Creates an open command list with its allocator.
pub(crate) fn open_list(
    device: &ID3D12Device,
    list_type: D3D12_COMMAND_LIST_TYPE,
) -> Result<(List, ID3D12CommandAllocator), Stop> {
    let allocator = commands::create_allocator(device, list_type).ok("any type")?;
    Ok((commands::create_list(device, list_type, &allocator).ok("the type of its allocator")?, allocator))
}

/// A queue with an allocator, a list and a fence of its own.
pub(crate) struct Queue {
    device: ID3D12Device,
    pub(crate) queue: ID3D12CommandQueue,
    pub(crate) allocator: ID3D12CommandAllocator,
    pub(crate) list: List,
    pub(crate) fence: ID3D12Fence,
    executed: std::cell::Cell<u64>,
    /// Lists that [`submit_together`](Self::submit_together) executed, kept until they have run.
    held: std::cell::RefCell<Vec<(List, ID3D12CommandAllocator)>>,
}

impl Queue {
    /// Creates a queue of a device.
    pub(crate) fn on(device: &ID3D12Device, list_type: D3D12_COMMAND_LIST_TYPE) -> Result<Self, Stop> {
        let queue = commands::create_queue(device, list_type).ok("any type")?;
        let (list, allocator) = open_list(device, list_type)?;
        list.close().ok("an empty list")?;
        let fence = commands::create_fence(device, 0, D3D12_FENCE_FLAG_NONE).ok("value 0")?;
        Ok(Self {
            device: device.clone(),
            queue,
            allocator,
            list,
            fence,
            executed: std::cell::Cell::new(0),
            held: std::cell::RefCell::default(),
        })
    }

    /// Records commands and returns the result of `Close`.
    pub(crate) fn closes<R: Recorded>(&self, commands: impl FnOnce(&List) -> R) -> Result<Answer<()>, Stop> {
        commands::reset_allocator(&self.allocator).ok("an allocator that is not in use")?;
        self.list.reset(&self.allocator).ok("a closed list")?;
        let recorded = commands(&self.list).into_result();
        let closed = self.list.close();
        recorded.map(|()| closed)
    }

    /// Records commands and closes the list.
    pub(crate) fn record<R: Recorded>(&self, commands: impl FnOnce(&List) -> R) -> Result<(), Stop> {
        self.closes(commands)?.ok("valid commands")
    }

    /// Executes the recorded list without waiting. Returns the fence value that follows it.
    pub(crate) fn submit(&self) -> Result<u64, Stop> {
        commands::execute(&self.queue, &[&self.list]).ok("a list")?;
        self.signal()
    }

    fn signal(&self) -> Result<u64, Stop> {
        let value = self.executed.get() + 1;
        self.executed.set(value);
        commands::queue_signal(&self.queue, &self.fence, value).ok("a fence")?;
        Ok(value)
    }

    /// Records several lists and executes them with one call, without waiting. Returns the fence value that follows
    /// them.
    pub(crate) fn submit_together(&self, lists: &[&dyn Fn(&List)]) -> Result<u64, Stop> {
        let mut closed = Vec::new();
        for record in lists {
            let (list, allocator) = open_list(&self.device, commands::queue_type(&self.queue))?;
            record(&list);
            list.close().ok("valid commands")?;
            closed.push((list, allocator));
        }
        let all: Vec<&List> = closed.iter().map(|(list, _)| list).collect();
        commands::execute(&self.queue, &all).ok("several lists")?;
        let value = self.signal()?;
        self.held.borrow_mut().extend(closed);
        Ok(value)
    }

    /// Waits until the fence reaches a value, and fails the check if the device is removed.
    pub(crate) fn wait(&self, value: u64) -> Result<(), Stop> {
        if !commands::wait_until(&self.fence, value, commands::PATIENCE) {
            return failed(format!(
                "the queue did not reach fence value {value} in {:?}; the fence is at {}",
                commands::PATIENCE,
                commands::completed(&self.fence)
            ));
        }
        self.held.borrow_mut().clear();
        let reason = device::removed_reason(&self.device);
        if reason.is_err() {
            return failed(format!("the commands removed the device: {}", Named(reason)));
        }
        Ok(())
    }

    /// Records commands, executes them and waits.
    pub(crate) fn run<R: Recorded>(&self, commands: impl FnOnce(&List) -> R) -> Result<(), Stop> {
        self.record(commands)?;
        self.wait(self.submit()?)
    }

    /// Creates an UPLOAD buffer with these bytes.
    pub(crate) fn upload(&self, bytes: &[u8]) -> Result<ID3D12Resource, Stop> {
        let buffer = self.staging(UPLOAD, bytes.len())?;
        Mapping::of(&buffer).ok("an UPLOAD buffer")?.write(0, bytes);
        Ok(buffer)
    }

    /// Creates a READBACK buffer.
    pub(crate) fn readback(&self, len: usize) -> Result<ID3D12Resource, Stop> {
        self.staging(READBACK, len)
    }

    fn staging(&self, heap_type: D3D12_HEAP_TYPE, len: usize) -> Result<ID3D12Resource, Stop> {
        let (home, width) = (Home::of(heap_type), u64::try_from(len).unwrap_or(u64::MAX));
        let staging = device::create_resource(&self.device, home, &buffer(width), state_of(heap_type), None);
        staging.ok(format!("a staging buffer of {width} bytes"))
    }
}

/// Returns the first bytes of a READBACK buffer.
pub(crate) fn read(buffer: &ID3D12Resource, len: usize) -> Result<Vec<u8>, Stop> {
    Ok(Mapping::of(buffer).ok("a READBACK buffer")?.read(0, len))
}

/// Overwrites all of a buffer that the CPU can access.
pub(crate) fn fill(buffer: &ID3D12Resource, value: u8) -> Result<(), Stop> {
    let len = staged_size(memory::desc(buffer).Width)?;
    Mapping::of(buffer).ok("a buffer that the CPU can access")?.write(0, &vec![value; len]);
    Ok(())
}

/// Returns bytes that differ from their neighbours, and from those of other seeds. None is 0.
pub(crate) fn pattern(len: usize, seed: u8) -> Vec<u8> {
    let mixed = |place: usize| (place * 7 + place / 251 + usize::from(seed) * 31) % 251 + 1;
    (0..len).map(|place| u8::try_from(mixed(place)).unwrap_or(1)).collect()
}
