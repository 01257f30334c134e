//! A thread with its own queue, and its submissions.

use std::collections::VecDeque;

use crate::gpu::*;

/// Bytes of one copy; a buffer is treated as a row of such cells.
const CELL: u64 = 32;
/// `CELL` as a length.
const CELL_LEN: usize = 32;
/// Cells in use of a buffer.
const CELLS: usize = 8;
/// Maximum number of submissions whose results are not yet checked.
const DEPTH: usize = 6;
/// Number of heaps of one thread.
const OWN: usize = 64;
/// Number of heaps that all threads read.
const SHARED: usize = 12;
const UNIT: u64 = 64 * 1024;
/// Maximum size of a heap, in units.
const UNITS: u64 = 8;
/// Maximum number of heaps of a list.
const HEAPS: usize = 5;
/// Maximum number of lists of a submission.
const LISTS: usize = 2;
/// Maximum number of locks that a thread holds at a time.
const LOCKS: usize = 2;

/// Maximum size of the heaps of one submission.
pub(crate) const LARGEST_SET: ByteSize = ByteSize::new((2 * HEAPS * LISTS) as u64 * UNITS * UNIT);

/// Maximum size of a thread's locked heaps and its unmanaged buffers.
pub(crate) const ALWAYS_RESIDENT: ByteSize = ByteSize::new(LOCKS as u64 * UNITS * UNIT + 4 * UNIT);

type Cell = [u8; CELL_LEN];

/// A heap with a buffer, and the buffer's content once all submissions are done.
#[derive(Debug)]
struct Buffer {
    /// Dropped before the heap.
    resource: ID3D12Resource,
    heap: ResidencyHeap,
    cells: [Cell; CELLS],
    /// The last submission of the thread that uses the buffer.
    last_use: u64,
    locks: u32,
}

/// The buffers that all threads read.
#[derive(Debug)]
pub(crate) struct Shared {
    buffers: Vec<Buffer>,
}

fn cell(number: u64) -> Cell {
    let mut cell = [0; CELL_LEN];
    for (index, byte) in cell.iter_mut().enumerate() {
        *byte = u8::try_from((number >> (8 * (index % 8))) & 0xff).expect("a byte")
            ^ u8::try_from(index).expect("small");
    }
    cell
}

impl Buffer {
    fn new(device: &ID3D12Device, manager: &ResidencyManager, random: &mut fastrand::Rng) -> Self {
        let size = (1 + random.u64(..UNITS)) * UNIT;
        // A first-generation device does not know the flag and returns an error.
        let is_new = device.cast::<ID3D12Device8>().is_ok();
        let flags = if is_new && random.u64(..3) == 0 {
            D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT
        } else {
            D3D12_HEAP_FLAG_NONE
        };
        let residency =
            ResidencyHeapDesc { segment_group: Some(LOCAL), size: ByteSize::new(size), ..Default::default() };
        let create = || Ok(raw_heap(device, D3D12_HEAP_TYPE_DEFAULT, size, flags)?.into());
        let heap = manager.create_heap(&residency, create).expect("created");
        let d3d12: ID3D12Heap = heap.pageable().cast().expect("it is one");
        let resource = placed(device, &d3d12, D3D12_HEAP_TYPE_DEFAULT, size);
        Self { resource, heap, cells: [[0; CELL_LEN]; CELLS], last_use: 0, locks: 0 }
    }

    fn used_heap(&self) -> UsedHeap {
        (self.heap.pageable().as_raw() as u64, self.heap.size())
    }

    /// Returns the offset of a cell. Cells are far apart, with the last one near the end.
    fn offset(&self, index: usize) -> u64 {
        let step = (self.heap.size().get() - CELL) / (CELLS as u64 - 1);
        (step * index as u64) / CELL * CELL
    }
}

impl Shared {
    pub(crate) fn new(gpu: &Instance, manager: &ResidencyManager) -> Self {
        let mut random = fastrand::Rng::with_seed(99);
        let mut buffers: Vec<_> =
            (0..SHARED).map(|_| Buffer::new(&gpu.device, manager, &mut random)).collect();
        let shared = Self { buffers: Vec::new() };
        let mut writer = Worker::new(gpu, manager, &shared, 1000);
        for buffer in &mut buffers {
            writer.initialise(buffer);
        }
        writer.wait(writer.submitted);
        writer.finish();
        Self { buffers }
    }
}

struct Recorder {
    allocator: ID3D12CommandAllocator,
    lists: [ID3D12GraphicsCommandList; LISTS],
    residency: [ResidencyList; LISTS],
    /// The last submission of the lists; zero once they are empty.
    submission: u64,
}

impl Recorder {
    /// Empties the lists, whose last submission is done: a list keeps the memory alive that its commands use, although
    /// the heaps are gone from the books.
    fn empty(&mut self) {
        for list in &self.lists {
            // SAFETY: live COM objects; the list is closed, and its commands are done.
            unsafe {
                list.Reset(&self.allocator, None).ok().expect("closed");
                list.Close().ok().expect("open");
            }
        }
        self.submission = 0;
    }
}

/// The address and the size of a heap.
type UsedHeap = (u64, ByteSize);

/// A submission, and the heaps that it uses.
struct Submitted {
    number: u64,
    value: FenceValue,
    heaps: Vec<UsedHeap>,
}

/// The cells that a submission must leave in the readback buffer.
struct Expected {
    submission: u64,
    cells: Vec<Cell>,
}

pub(crate) struct Worker<'a> {
    device: &'a ID3D12Device,
    manager: &'a ResidencyManager,
    shared: &'a Shared,
    random: fastrand::Rng,
    queue: ID3D12CommandQueue,
    fence: ID3D12Fence,
    /// The last submissions, at most [`DEPTH`].
    submissions: VecDeque<Submitted>,
    recorders: Vec<Recorder>,
    upload: ID3D12Resource,
    readback: ID3D12Resource,
    own: Vec<Buffer>,
    submitted: u64,
    expected: VecDeque<Expected>,
    seed: u64,
    /// The heaps of the next submission.
    set: Vec<UsedHeap>,
    /// The heaps of the last submission, and of those that the GPU had not finished when it was made.
    in_use: Vec<UsedHeap>,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(
        gpu: &'a Instance,
        manager: &'a ResidencyManager,
        shared: &'a Shared,
        number: usize,
    ) -> Self {
        let device = &gpu.device;
        let types =
            [D3D12_COMMAND_LIST_TYPE_DIRECT, D3D12_COMMAND_LIST_TYPE_COPY, D3D12_COMMAND_LIST_TYPE_COMPUTE];
        let list_type = types[number % types.len()];
        let queue = queue_of(device, list_type);
        let recorder = || {
            let (allocator, first) = list_of(device, list_type);
            // SAFETY: live COM objects, and a result of the interface that is asked for. One list is open at a time.
            let lists = unsafe {
                first.Close().ok().expect("closed");
                let second: ID3D12GraphicsCommandList =
                    device.CreateCommandList(0, list_type, &allocator, None).expect("created");
                second.Close().ok().expect("closed");
                [first, second]
            };
            Recorder { lists, residency: Default::default(), allocator, submission: 0 }
        };
        let recorders = (0..DEPTH).map(|_| recorder()).collect();
        let upload = committed_buffer(device, D3D12_HEAP_TYPE_UPLOAD, UNIT);
        let readback = committed_buffer(device, D3D12_HEAP_TYPE_READBACK, UNIT);
        let fence = manager.queue_fence(&queue).expect("the device's own queue");
        Self {
            device,
            manager,
            shared,
            random: fastrand::Rng::with_seed(number as u64),
            queue,
            fence,
            submissions: VecDeque::new(),
            recorders,
            upload,
            readback,
            own: Vec::new(),
            submitted: 0,
            expected: VecDeque::new(),
            seed: (number as u64) << 40,
            set: Vec::new(),
            in_use: Vec::new(),
        }
    }

    /// Performs one random operation.
    pub(crate) fn step(&mut self) {
        match self.random.u64(..40) {
            0 if self.own.len() > 2 => self.delete(),
            1 => self.lock(),
            2 => self.unlock(),
            3 if !self.shared.buffers.is_empty() => self.prefetch(),
            _ => {}
        }
        while self.own.len() < 2 || (self.own.len() < OWN && self.random.u64(..8) == 0) {
            let mut buffer = Buffer::new(self.device, self.manager, &mut self.random);
            self.initialise(&mut buffer);
            self.own.push(buffer);
        }
        self.submit();
    }

    /// Waits for all submissions, checks the remaining results, and frees everything.
    pub(crate) fn finish(mut self) {
        self.wait(self.submitted);
        self.check(self.submitted);
        assert!(self.expected.is_empty());
        // The lists keep memory alive.
        self.recorders.clear();
        for buffer in self.own.drain(..) {
            for _ in 0..buffer.locks {
                buffer.heap.unlock().expect("it is locked");
            }
            let error = buffer.heap.unlock().expect_err("it is not locked");
            assert!(error.is_invalid_argument());
        }
    }

    /// Returns the bytes that were in use at the last submission: its heaps, those of submissions that the GPU had not
    /// finished, although it may have since, locked heaps, and unmanaged memory.
    pub(crate) fn used_at_the_same_time(&self) -> ByteSize {
        let locked = self.own.iter().filter(|buffer| buffer.locks > 0).map(Buffer::used_heap);
        let mut heaps: Vec<UsedHeap> = locked.chain(self.in_use.iter().copied()).collect();
        heaps.sort_unstable();
        heaps.dedup();
        let managed: u64 = heaps.iter().map(|(_, size)| size.get()).sum();
        ByteSize::new(managed).saturating_add(ALWAYS_RESIDENT)
    }

    fn completed(&self) -> FenceValue {
        // SAFETY: a live COM object.
        FenceValue::new(unsafe { self.fence.GetCompletedValue() })
    }

    fn wait(&mut self, submission: u64) {
        while let Some(&Submitted { number, value, .. }) = self.submissions.front() {
            if number > submission {
                return;
            }
            // SAFETY: a live COM object; a null event blocks.
            let waited = unsafe { self.fence.SetEventOnCompletion(value.get(), HANDLE::default()) };
            assert!(waited.is_ok());
            assert_ne!(self.completed(), FenceValue::DEVICE_REMOVED, "a page fault");
            self.submissions.pop_front();
        }
    }

    /// Checks the results up to a submission, which is done.
    fn check(&mut self, submission: u64) {
        while self.expected.front().is_some_and(|expected| expected.submission <= submission) {
            let expected = self.expected.pop_front().expect("just seen");
            let first = usize::try_from(readback_offset(expected.submission, 0)).expect("small");
            let found = mapped(&self.readback)[first..].chunks_exact(CELL_LEN);
            for (index, (cell, found)) in expected.cells.iter().zip(found).enumerate() {
                assert_eq!(found, cell, "submission {}, cell {index}", expected.submission);
            }
            // SAFETY: it was mapped above.
            unsafe { self.readback.Unmap(0, None) };
        }
    }

    /// Returns the recorder of the next submission, after its previous submission is done.
    fn begin(&mut self) -> usize {
        let next = self.submitted + 1;
        if let Some(before) = next.checked_sub(DEPTH as u64) {
            self.wait(before);
            self.check(before);
        }
        let number = usize::try_from(next % DEPTH as u64).expect("small");
        let recorder = &mut self.recorders[number];
        // SAFETY: live COM objects; what the allocator recorded is done.
        unsafe { recorder.allocator.Reset() }.ok().expect("nothing executes");
        // Both lists, of which the next submission may use only one.
        recorder.empty();
        number
    }

    fn execute(&mut self, recorder: usize, lists: usize) {
        let Recorder { lists: commands, residency, .. } = &self.recorders[recorder];
        let both: Vec<(&ID3D12CommandList, _)> =
            commands[..lists].iter().map(|list| &**list).zip(&residency[..lists]).collect();
        let completed = self.completed();
        let heaps = std::mem::take(&mut self.set);
        let unfinished = self.submissions.iter().filter(|submission| submission.value > completed);
        self.in_use = unfinished.flat_map(|submission| &submission.heaps).chain(&heaps).copied().collect();
        // SAFETY: the lists are closed, and the residency lists name every heap that they use. Buffers are
        // freed and lists recorded again only when the queue has reached the value.
        let value = unsafe { self.manager.execute_command_lists(&self.queue, &both) }.expect("executed");
        self.submitted += 1;
        self.recorders[recorder].submission = self.submitted;
        self.submissions.push_back(Submitted { number: self.submitted, value, heaps });
    }

    fn initialise(&mut self, buffer: &mut Buffer) {
        let number = self.begin();
        let staged = mapped(&self.upload);
        let slot = usize::try_from(self.submitted % DEPTH as u64).expect("small") * CELLS;
        for index in 0..CELLS {
            self.seed += 1;
            buffer.cells[index] = cell(self.seed);
            // The submission that read them before is done.
            staged[(slot + index) * CELL_LEN..][..CELL_LEN].copy_from_slice(&buffer.cells[index]);
        }
        // SAFETY: it was mapped above.
        unsafe { self.upload.Unmap(0, None) };
        let recorder = &self.recorders[number];
        let list = &recorder.lists[0];
        // SAFETY: live COM objects; the list is closed.
        unsafe { list.Reset(&recorder.allocator, None) }.ok().expect("reset");
        for index in 0..CELLS {
            let source = ((slot + index) as u64) * CELL;
            // SAFETY: live COM objects; the ranges are inside of the buffers.
            unsafe {
                list.CopyBufferRegion(&buffer.resource, buffer.offset(index), &self.upload, source, CELL);
            }
        }
        // SAFETY: a live COM object.
        unsafe { list.Close() }.ok().expect("closed");
        recorder.residency[0].reset().expect("closed");
        recorder.residency[0].add(&buffer.heap).expect("of this manager");
        self.set.push(buffer.used_heap());
        self.execute(number, 1);
        buffer.last_use = self.submitted;
    }

    /// Copies between the thread's own buffers and from shared ones, and each copied cell to the readback
    /// buffer.
    fn submit(&mut self) {
        let number = self.begin();
        let next = self.submitted + 1;
        let lists = 1 + self.random.usize(..LISTS);
        let mut cells = Vec::new();
        for list_number in 0..lists {
            let recorder = &self.recorders[number];
            let list = &recorder.lists[list_number];
            // SAFETY: live COM objects; the list is closed.
            unsafe { list.Reset(&recorder.allocator, None) }.ok().expect("reset");
            let residency = &recorder.residency[list_number];
            residency.reset().expect("closed");
            let mut open = residency.open().expect("closed");
            for _ in 0..1 + self.random.usize(..HEAPS) {
                let target = self.random.usize(..self.own.len());
                let to = self.random.usize(..CELLS);
                let from = self.random.usize(..CELLS);
                let (source, value) = if !self.shared.buffers.is_empty() && self.random.u64(..3) == 0 {
                    let buffer = &self.shared.buffers[self.random.usize(..self.shared.buffers.len())];
                    (buffer, buffer.cells[from])
                } else {
                    let mut source = self.random.usize(..self.own.len());
                    if source == target {
                        source = (source + 1) % self.own.len();
                    }
                    (&self.own[source], self.own[source].cells[from])
                };
                let into = &self.own[target];
                let readback = readback_offset(next, cells.len());
                // SAFETY: live COM objects; the ranges are inside of the buffers, which differ.
                unsafe {
                    list.CopyBufferRegion(
                        &into.resource,
                        into.offset(to),
                        &source.resource,
                        source.offset(from),
                        CELL,
                    );
                    list.CopyBufferRegion(&self.readback, readback, &into.resource, into.offset(to), CELL);
                }
                for buffer in [source, into] {
                    open.add(&buffer.heap).expect("of this manager");
                    self.set.push(buffer.used_heap());
                }
                cells.push(value);
                let source_address = std::ptr::from_ref(source);
                for buffer in &mut self.own {
                    if std::ptr::from_ref(buffer) == source_address {
                        buffer.last_use = next;
                    }
                }
                let into = &mut self.own[target];
                into.cells[to] = value;
                into.last_use = next;
            }
            open.close();
            // SAFETY: a live COM object.
            unsafe { list.Close() }.ok().expect("closed");
        }
        self.execute(number, lists);
        self.expected.push_back(Expected { submission: next, cells });
    }

    /// Destroys a buffer once it is no longer in use.
    fn delete(&mut self) {
        let buffer = self.own.swap_remove(self.random.usize(..self.own.len()));
        self.wait(buffer.last_use);
        let done = 1..=buffer.last_use;
        self.recorders
            .iter_mut()
            .filter(|recorder| done.contains(&recorder.submission))
            .for_each(Recorder::empty);
        drop(buffer);
    }

    fn lock(&mut self) {
        let locked: u32 = self.own.iter().map(|buffer| buffer.locks).sum();
        if locked < u32::try_from(LOCKS).expect("few") && !self.own.is_empty() {
            let index = self.random.usize(..self.own.len());
            self.own[index].heap.lock().expect("it fits");
            self.own[index].locks += 1;
        }
    }

    fn unlock(&mut self) {
        if let Some(buffer) = self.own.iter_mut().find(|buffer| buffer.locks > 0) {
            buffer.locks -= 1;
            assert_eq!(buffer.heap.unlock().expect("it is locked"), buffer.locks);
        }
    }

    fn prefetch(&mut self) {
        let list = ResidencyList::new();
        let buffer = &self.shared.buffers[self.random.usize(..self.shared.buffers.len())];
        list.add(&buffer.heap).expect("of this manager");
        if let Err(error) = self.manager.prefetch(&list) {
            assert!(error.is_over_budget(), "{error}");
        }
    }
}

fn readback_offset(submission: u64, index: usize) -> u64 {
    ((submission % DEPTH as u64) * (HEAPS * LISTS) as u64 + index as u64) * CELL
}
