//! Random commits and decommits of buffers and textures on two queues beside a model, under the tracker, which
//! scrambles what is undefined.
//!
//! HEAPWRIGHT_TILE_OPERATIONS is the number of operations of each seed.

use heapwright::d3d12::*;
use heapwright::{ByteSize, HeapType, ResourceAllocation, ResourceAllocator, ResourceKind};
use heapwright_runtime::Instance;
use heapwright_runtime::aliasing::{Severity, Violation};
use heapwright_tiles::{GrowingBuffer, StreamingTexture, TileBox, TilePool};

use crate::gpu::*;

const SLOT: u64 = 512;
const SLOTS: u64 = (1 << 20) / SLOT;

enum Resource {
    Buffer(GrowingBuffer),
    Texture(StreamingTexture),
}

/// A part of a resource that is mapped as one.
struct Cell {
    /// The places of its stamps.
    places: Vec<Place>,
    /// The number of tiles.
    tiles: u64,
    /// Whether it is committed, as of all changes.
    is_committed: bool,
    /// What the GPU finds after the last update, if it is mapped; `None` before it is written.
    mapped: Option<Option<u64>>,
}

struct Subject {
    resource: Resource,
    cells: Vec<Cell>,
    /// The queue of the last submission.
    queue: usize,
}

impl Subject {
    fn resource(&self) -> &ID3D12Resource {
        match &self.resource {
            Resource::Buffer(buffer) => buffer.resource(),
            Resource::Texture(texture) => texture.resource(),
        }
    }

    /// Commits or decommits cells, which are consecutive tiles of a buffer, or tiles of a mip of a texture.
    fn change(&mut self, first: usize, count: usize, commit: bool) -> Result<(), heapwright::Error> {
        match &mut self.resource {
            Resource::Buffer(buffer) => {
                let bytes = first as u64 * TILE..(first + count) as u64 * TILE;
                // Within the first and last tile: commits round outward, and decommits inward.
                if commit {
                    buffer.commit(bytes.start + 1..bytes.end - 1)?
                } else {
                    buffer.decommit(bytes)?
                }
            }
            Resource::Texture(texture) => {
                for cell in &self.cells[first..first + count] {
                    let Place::Texel { subresource, x, y } = cell.places[0] else {
                        unreachable!("of a texture")
                    };
                    match (texture.size_in_tiles(subresource), commit) {
                        (None, true) => texture.map_mip(subresource)?,
                        (None, false) => texture.unmap_mip(subresource)?,
                        (Some(_), true) => texture.map(subresource, TileBox::tile(x / 128, y / 128))?,
                        (Some(_), false) => texture.unmap(subresource, TileBox::tile(x / 128, y / 128))?,
                    }
                }
            }
        }
        for cell in &mut self.cells[first..first + count] {
            cell.is_committed = commit;
            if !commit {
                // If it is committed again before the update, it has other memory.
                cell.mapped = None;
            }
        }
        Ok(())
    }
}

struct World {
    gpu: Instance,
    allocator: ResourceAllocator,
    /// For buffers, and for textures; the same on heap tier 2.
    pools: [TilePool; 2],
    queues: [Queue; 2],
    /// Fences that hold queues back, with the last value that a queue waits for.
    gates: [(ID3D12Fence, u64); 2],
    subjects: Vec<Subject>,
    upload: ResourceAllocation,
    readback: ResourceAllocation,
    used_slots: u64,
    /// What each read must find.
    expected: Vec<(u64, u64)>,
    next_stamp: u64,
    /// Stamps to upload, in slots.
    compared: u64,
    random: fastrand::Rng,
}

impl World {
    fn new(seed: u64) -> Self {
        let gpu = tracked();
        let allocator = allocator(&gpu);
        let is_any = allocator.caps().resource_heap_tier >= 2;
        let new_pool =
            |kind| TilePool::new(&allocator, pool_desc(kind, ByteSize::from_kib(640))).expect("tiles");
        let pools = if is_any {
            let pool = new_pool(ResourceKind::Any);
            [pool.clone(), pool]
        } else {
            [new_pool(ResourceKind::Buffers), new_pool(ResourceKind::Textures)]
        };
        let queues = [D3D12_COMMAND_LIST_TYPE_DIRECT, D3D12_COMMAND_LIST_TYPE_COPY]
            .map(|kind| Queue::new(&gpu.device, kind));
        let gates = [0, 1].map(|_| (fence(&gpu.device), 0));
        let upload = plain_buffer(&allocator, HeapType::Upload, SLOT * SLOTS);
        let readback = plain_buffer(&allocator, HeapType::Readback, SLOT * SLOTS);
        let random = fastrand::Rng::with_seed(seed);
        let (subjects, expected) = (Vec::new(), Vec::new());
        let mut world = Self {
            gpu,
            allocator,
            pools,
            queues,
            gates,
            subjects,
            upload,
            readback,
            used_slots: 0,
            expected,
            next_stamp: 1,
            compared: 0,
            random,
        };
        for _ in 0..4 {
            world.create();
        }
        world
    }

    fn create(&mut self) {
        let cell = |places, tiles| Cell { places, tiles, is_committed: false, mapped: None };
        let (resource, cells) = if self.random.bool() {
            let count = self.random.u64(1..60);
            let ends =
                |tile: u64| vec![Place::Byte(tile * TILE), Place::Byte((tile + 1) * TILE - STAMP as u64)];
            let buffer = GrowingBuffer::in_tiles(&self.pools[0], &buffer_of(count)).expect("reserved");
            (Resource::Buffer(buffer), (0..count).map(|tile| cell(ends(tile), 1)).collect())
        } else {
            let (size, mips) = (128 << self.random.u32(..3), self.random.u16(1..7));
            let texture = StreamingTexture::new(
                &self.pools[1],
                &texture_of(size, mips),
                D3D12_RESOURCE_STATE_COMMON,
                None,
            );
            let texture = texture.expect("reserved");
            let mut cells = Vec::new();
            for mip in 0..u32::from(mips) {
                let Some([width, height, 1]) = texture.size_in_tiles(mip) else {
                    let place = Place::Texel { subresource: mip, x: 0, y: 0 };
                    cells.push(cell(vec![place], texture.packed_tile_count().into()));
                    break;
                };
                let tiles = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
                let place = |(x, y)| Place::Texel { subresource: mip, x: x * 128, y: y * 128 };
                cells.extend(tiles.map(|at| cell(vec![place(at)], 1)));
            }
            (Resource::Texture(texture), cells)
        };
        self.subjects.push(Subject { resource, cells, queue: 0 });
    }

    /// Commits or decommits a range.
    fn change(&mut self) {
        let subject = self.random.usize(..self.subjects.len());
        let subject = &mut self.subjects[subject];
        let first = self.random.usize(..subject.cells.len());
        let count = self.random.usize(1..=(subject.cells.len() - first).min(12));
        subject.change(first, count, self.random.u8(..5) < 3).expect("there is memory");
    }

    /// Submits all changes of a resource to a queue, writes what it gained, and reads some of it and of what it had.
    fn submit(&mut self, number: usize) {
        let cells = self.subjects[number].cells.len() as u64;
        if self.used_slots + 4 * cells > SLOTS {
            self.synchronize();
        }
        let queue = self.random.usize(..2);
        let subject = &mut self.subjects[number];
        if subject.queue != queue {
            let [one, other] = &self.queues;
            let (to, from) = if queue == 0 { (one, other) } else { (other, one) };
            to.wait_for(from, from.last());
            subject.queue = queue;
        }
        let queue = &mut self.queues[queue];
        let update = unsafe {
            match &mut subject.resource {
                Resource::Buffer(buffer) => {
                    buffer.update(&queue.queue, &queue.fence, queue.next()).map(|copy| copy.is_none())
                }
                Resource::Texture(texture) => {
                    texture.update(&queue.queue, &queue.fence, queue.next()).map(|()| true)
                }
            }
        };
        assert!(update.expect("mapped"), "nothing is copied");
        let (mut writes, mut reads) = (Vec::new(), Vec::new());
        let mut stamps = self.upload.map().expect("an upload buffer");
        for cell in &mut subject.cells {
            cell.mapped = cell.is_committed.then(|| cell.mapped.flatten());
            if cell.mapped == Some(None) {
                cell.mapped = Some(Some(self.next_stamp));
                for place in &cell.places {
                    stamps.write(self.used_slots * SLOT, &self.next_stamp.to_le_bytes()).expect("in bounds");
                    writes.push((*place, self.used_slots * SLOT));
                    self.used_slots += 1;
                }
                self.next_stamp += 1;
            }
            if self.random.u8(..4) == 0 {
                for place in &cell.places {
                    // What is not mapped reads as zero.
                    self.expected.push((self.used_slots * SLOT, cell.mapped.flatten().unwrap_or(0)));
                    reads.push((*place, self.used_slots * SLOT));
                    self.used_slots += 1;
                }
            }
        }
        drop(stamps);
        let resource = subject.resource();
        queue.submit(|list| {
            transition(list, resource, D3D12_RESOURCE_STATE_COMMON, D3D12_RESOURCE_STATE_COPY_DEST);
            for (place, from) in writes {
                write(list, (resource, place), (self.upload.resource(), from));
            }
            transition(list, resource, D3D12_RESOURCE_STATE_COPY_DEST, D3D12_RESOURCE_STATE_COPY_SOURCE);
            for (place, to) in reads {
                read(list, (resource, place), (self.readback.resource(), to));
            }
            transition(list, resource, D3D12_RESOURCE_STATE_COPY_SOURCE, D3D12_RESOURCE_STATE_COMMON);
        });
    }

    /// Holds a queue back, or lets it go on, so that fences are reached in any order.
    fn turn_gate(&mut self) {
        let number = self.random.usize(..2);
        let (gate, value) = &mut self.gates[number];
        unsafe {
            if self.random.bool() {
                *value += 1;
                self.queues[number].queue.Wait(gate as &ID3D12Fence, *value).ok().expect("it waits");
            } else {
                gate.Signal(*value).ok().expect("signaled");
            }
        }
    }

    /// Waits for the GPU, and compares what it read.
    fn synchronize(&mut self) {
        for (gate, value) in &self.gates {
            unsafe { gate.Signal(*value) }.ok().expect("signaled");
        }
        self.queues.iter().for_each(Queue::finish);
        let mut bytes = vec![0; 1 << 20];
        self.readback.map().expect("a readback buffer").read(0, &mut bytes).expect("in bounds");
        for (at, expected) in self.expected.drain(..) {
            let seen = &bytes[usize::try_from(at).expect("in bounds")..][..STAMP];
            assert_eq!(seen, expected.to_le_bytes(), "slot {}", at / SLOT);
            self.compared += 1;
        }
        self.used_slots = 0;
        let violations = self.gpu.aliasing_violations();
        let is_error = |violation: &&Violation| violation.severity == Severity::Error;
        let errors: Vec<_> = violations.iter().filter(is_error).map(ToString::to_string).collect();
        assert_eq!(errors, Vec::<String>::new());
        self.gpu.clear_aliasing_violations();
    }

    /// Reads everything, and checks that the pools hold what is committed and no more.
    fn check_all(&mut self) {
        self.synchronize();
        for number in 0..self.subjects.len() {
            for _ in 0..4 {
                self.submit(number);
            }
        }
        self.synchronize();
        self.pools.iter().for_each(|pool| _ = pool.collect());
        let committed: u64 = self
            .subjects
            .iter()
            .flat_map(|subject| &subject.cells)
            .map(|cell| u64::from(cell.is_committed) * cell.tiles)
            .sum();
        let told = |subject: &Subject| match &subject.resource {
            Resource::Buffer(buffer) => buffer.committed(),
            Resource::Texture(texture) => texture.committed(),
        };
        let told: u64 = self.subjects.iter().map(|subject| told(subject).get()).sum();
        assert_eq!(told, committed * TILE);
        let is_one = self.allocator.caps().resource_heap_tier >= 2;
        let used: u64 = self.pools[usize::from(is_one)..].iter().map(|pool| pool.stats().used.get()).sum();
        assert_eq!(used, committed * TILE, "decommitted memory is free");
        assert!(self.pools.iter().all(|pool| pool.stats().waiting.is_zero()));
    }

    /// Frees a resource after the work that is submitted, or at once if there is none.
    fn free(&mut self) {
        let number = self.random.usize(..self.subjects.len());
        let at_once = self.random.bool();
        if at_once {
            self.synchronize();
        }
        let Subject { resource, queue, .. } = self.subjects.swap_remove(number);
        if !at_once {
            let queue = &self.queues[queue];
            match resource {
                Resource::Buffer(buffer) => buffer.free_after(&queue.fence, queue.last()),
                Resource::Texture(texture) => texture.free_after(&queue.fence, queue.last()),
            }
        }
    }

    fn run(mut self, operations: u64) {
        for operation in 0..operations {
            match self.random.u32(..2000) {
                0..1500 => self.change(),
                1500..1900 => {
                    let number = self.random.usize(..self.subjects.len());
                    self.submit(number);
                }
                1900..1960 => self.turn_gate(),
                1960..1980 => self.pools.iter().for_each(|pool| _ = pool.collect()),
                1980..1990 => self.synchronize(),
                _ => {
                    self.free();
                    self.create();
                }
            }
            if operation % 4000 == 3999 {
                self.check_all();
            }
        }
        self.check_all();
        assert!(self.compared * 20 > operations, "{} compared", self.compared);
        self.subjects.clear();
        self.pools.iter().for_each(|pool| _ = pool.collect());
        for pool in &self.pools {
            let stats = pool.stats();
            assert_eq!((stats.heap_count, stats.used, stats.reserved), (0, ByteSize::ZERO, ByteSize::ZERO));
            pool.heaps().release_empty_heaps();
            assert_eq!(pool.heaps().totals().reserved, ByteSize::ZERO, "all heaps are released");
        }
        drop((self.upload, self.readback));
        assert_eq!(self.allocator.stats().used, ByteSize::ZERO);
    }
}

#[test]
fn contents_are_as_in_the_model() {
    let operations = std::env::var("HEAPWRIGHT_TILE_OPERATIONS").ok();
    let operations = operations.map_or(6000, |count| count.parse().expect("a number of operations"));
    for seed in 0..4 {
        World::new(seed).run(operations);
    }
}
