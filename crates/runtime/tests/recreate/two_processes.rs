//! A capture in one process, replayed in another.
//!
//! The test's program starts itself: the first process records, the others replay its file. Addresses begin
//! elsewhere in each process, so that equal addresses cannot be a coincidence.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use heapwright_d3d12::*;
use heapwright_runtime::Instance;
use windows_core::Interface;

use crate::gpu::{Queue, bytes, code, messages};
use crate::objects::*;

/// The number of heaps, of committed buffers, and of placed buffers.
const COUNT: usize = 1000;

/// The environment variable with a child's task: `record FILE`, or `all FILE`, `none FILE` or `half FILE`,
/// which says what to reserve.
const ROLE: &str = "HEAPWRIGHT_RECREATE_ROLE";

/// An object as recorded in the file.
#[derive(Debug, Clone)]
struct Recorded {
    kind: Kind,
    /// The address that `GetAllocation` returned.
    start: u64,
    size: u64,
    /// The width of a buffer, and its first bytes.
    width: u64,
    contents: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Heap,
    Committed { is_tight: bool },
    Placed { heap: usize, offset: u64, is_tight: bool },
}

/// The recorded bytes of a buffer: the address of another buffer, the number of that one, its own number.
const CONTENTS: usize = 16;

/// Deterministic pseudo-random numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

fn buffer_of(width: u64, is_tight: bool) -> D3D12_RESOURCE_DESC {
    if is_tight { tight_buffer(width) } else { buffer(width) }
}

/// Writes memory on the GPU, by addresses alone.
fn write_immediate(queue: &Queue, writes: &[(u64, u32)]) {
    for some in writes.chunks(1024) {
        let parameters: Vec<_> = some
            .iter()
            .map(|&(to, value)| D3D12_WRITEBUFFERIMMEDIATE_PARAMETER {
                Dest: D3D12_GPU_VIRTUAL_ADDRESS(to),
                Value: value,
            })
            .collect();
        let count = u32::try_from(parameters.len()).expect("few");
        unsafe { queue.list.WriteBufferImmediate(count, parameters.as_ptr(), None) };
        queue.run();
    }
}

fn words(address: u64) -> [u32; 2] {
    let word = |part: u64| u32::try_from(part & u64::from(u32::MAX)).expect("32 bits");
    [word(address), word(address >> 32)]
}

fn record(file: &Path) {
    let gpu = open("discrete", 1);
    let device: ID3D12Device14 = gpu.device.cast().expect("the newest interface");
    let mut numbers = Numbers(2026);
    let (mut recorded, mut heaps, mut buffers) = (Vec::new(), Vec::new(), Vec::new());
    // Creates and releases other objects in between, as a long-running program does.
    let mut passing = std::collections::VecDeque::new();
    for index in 0..COUNT {
        let size = PAGE * (1 + numbers.below(8));
        let heap = heap(&device, size).expect("there is room");
        let is_tight = numbers.below(2) == 1;
        let width = 64 + numbers.below(100_000);
        let committed = committed(&device, &buffer_of(width, is_tight)).expect("there is room");
        let placed_is_tight = numbers.below(2) == 1;
        let step = if placed_is_tight { 256 } else { PAGE };
        let offset = numbers.below(size / step) * step;
        let placed_width = (16 + numbers.below(1000)).min(size - offset);
        let placed =
            placed(&device, &heap, offset, &buffer_of(placed_width, placed_is_tight)).expect("it fits");
        let kind = Kind::Placed { heap: index, offset, is_tight: placed_is_tight };
        for (object, kind, width) in [
            (allocation(&heap), Kind::Heap, 0),
            (allocation(&committed), Kind::Committed { is_tight }, width),
            (allocation(&placed), kind, placed_width),
        ] {
            recorded.push(Recorded { kind, start: object.0, size: object.1, width, contents: Vec::new() });
        }
        heaps.push(heap);
        buffers.push((index * 3 + 1, committed));
        buffers.push((index * 3 + 2, placed));
        passing
            .push_back(super::objects::heap(&device, PAGE * (1 + numbers.below(20))).expect("there is room"));
        if passing.len() > 7 {
            passing.pop_front();
        }
    }
    // Each buffer has the address of the next one; together they form one ring.
    let mut order: Vec<usize> = (0..buffers.len()).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, usize::try_from(numbers.below(last as u64 + 1)).expect("small"));
    }
    let mut writes = Vec::new();
    for (place, &from) in order.iter().enumerate() {
        let to = order[(place + 1) % order.len()];
        let at = address(&buffers[from].1);
        let [low, high] = words(address(&buffers[to].1));
        let number = |buffer: usize| u32::try_from(buffers[buffer].0).expect("small");
        writes.extend([(at, low), (at + 4, high), (at + 8, number(to)), (at + 12, number(from))]);
    }
    write_immediate(&Queue::direct(&device), &writes);
    for (index, buffer) in &buffers {
        recorded[*index].contents = bytes(buffer)[..CONTENTS].to_vec();
    }
    fs::write(file, write_recording(&recorded)).expect("the file can be written");
}

fn write_recording(recorded: &[Recorded]) -> String {
    let mut text = String::new();
    for object in recorded {
        let (kind, heap, offset, is_tight) = match object.kind {
            Kind::Heap => ("heap", 0, 0, false),
            Kind::Committed { is_tight } => ("committed", 0, 0, is_tight),
            Kind::Placed { heap, offset, is_tight } => ("placed", heap, offset, is_tight),
        };
        let contents = object.contents.iter().fold(String::new(), |mut hex, byte| {
            write!(hex, "{byte:02x}").expect("writing to a string cannot fail");
            hex
        });
        let Recorded { start, size, width, .. } = object;
        writeln!(text, "{kind} {heap} {offset} {is_tight} {start} {size} {width} {contents}")
            .expect("writing to a string cannot fail");
    }
    text
}

fn read_recording(text: &str) -> Vec<Recorded> {
    let object = |line: &str| {
        let fields: Vec<&str> = line.split(' ').collect();
        let number = |index: usize| fields[index].parse::<u64>().expect("a number");
        let is_tight = fields[3] == "true";
        let kind = match fields[0] {
            "heap" => Kind::Heap,
            "committed" => Kind::Committed { is_tight },
            "placed" => {
                Kind::Placed { heap: usize::try_from(number(1)).expect("small"), offset: number(2), is_tight }
            }
            other => panic!("an object of kind {other}"),
        };
        let digits = fields[7].as_bytes().chunks(2);
        let contents = digits
            .map(|two| u8::from_str_radix(std::str::from_utf8(two).expect("ASCII"), 16).expect("hexadecimal"))
            .collect();
        Recorded { kind, start: number(4), size: number(5), width: number(6), contents }
    };
    text.lines().map(object).collect()
}

/// Returns whether a replay that reserves `what` reserves the addresses of the heap or committed buffer
/// `index`.
fn is_reserved(what: &str, index: usize) -> bool {
    match what {
        "all" => true,
        "none" => false,
        // Applies to heaps and committed buffers alike.
        "half" => (index / 3).is_multiple_of(2),
        other => panic!("unknown selection {other}"),
    }
}

/// Recreates the recorded objects, and checks that exactly those with reserved addresses are at their
/// places.
fn replay(what: &str, file: &Path) {
    let recorded = read_recording(&fs::read_to_string(file).expect("the file can be read"));
    assert_eq!(recorded.len(), 3 * COUNT);
    let gpu = open("discrete", 2);
    // Includes the ranges of placed buffers, so that ranges overlap, in descending order.
    let mut ranges: Vec<_> = recorded
        .iter()
        .enumerate()
        .filter(|(index, _)| is_reserved(what, *index))
        .map(|(_, object)| range(object.start, object.size))
        .collect();
    ranges.sort_by_key(|range| std::cmp::Reverse(range.StartAddress.0));
    let device = reserving(&gpu, &ranges).expect("the addresses are free");
    let elsewhere = allocation(&heap(&device, PAGE).expect("there is room")).0;
    // When half of the addresses are reserved, the other half may be used by any object.
    let is_anybodys = |index| what == "half" && !is_reserved(what, index);
    let by_luck =
        (0..recorded.len()).filter(|&index| !is_anybodys(index) && recorded[index].start == elsewhere);
    assert_eq!(by_luck.count(), 0, "an object without a set address is at the address of a recorded one");

    let mut objects = Replayed::default();
    // In reverse order of creation: order does not matter, except that a heap comes before its resources.
    for (index, object) in recorded.iter().enumerate().rev() {
        if !matches!(object.kind, Kind::Placed { .. }) {
            objects.create(&device, what, index, object);
        }
    }
    for (index, object) in recorded.iter().enumerate() {
        if matches!(object.kind, Kind::Placed { .. }) {
            objects.create(&device, what, index, object);
        }
    }
    let expected = (0..recorded.len()).filter(|&index| is_reserved(what, index)).count();
    assert_eq!(objects.heaps.len() + objects.buffers.len(), expected);
    assert_eq!(
        objects.refused,
        (0..recorded.len()).filter(|&index| !is_reserved(what, index)).count() / 3 * 2
    );
    assert_eq!(unsafe { device.GetDeviceRemovedReason() }, S_OK);
    // The last refused creation has left its address set.
    set_next(&device, 0);
    heap(&device, PAGE).expect("heaps can still be created");
    if what == "all" {
        follow(&device, &recorded, &objects.buffers);
    }
    check_balance(gpu, device, objects);
}

/// The recreated objects.
#[derive(Default)]
struct Replayed {
    heaps: BTreeMap<usize, ID3D12Heap>,
    buffers: BTreeMap<usize, ID3D12Resource>,
    refused: usize,
}

impl Replayed {
    fn create(&mut self, device: &ID3D12Device14, what: &str, index: usize, object: &Recorded) {
        let Recorded { kind, start, size, width, .. } = object.clone();
        let created = match kind {
            Kind::Heap => heap_at(device, start, size).map(|heap| {
                assert_eq!(allocation(&heap), (start, size));
                self.heaps.insert(index, heap);
            }),
            Kind::Committed { is_tight } => {
                set_next(device, start);
                committed(device, &buffer_of(width, is_tight)).map(|buffer| self.keep(index, object, buffer))
            }
            Kind::Placed { heap, offset, is_tight } => {
                // A placed buffer needs its heap.
                let Some(heap) = self.heaps.get(&(heap * 3)) else { return };
                // A placed buffer follows its heap, with an address set or not.
                set_next(device, if index.is_multiple_of(2) { start } else { 0 });
                placed(device, heap, offset, &buffer_of(width, is_tight))
                    .map(|buffer| self.keep(index, object, buffer))
            }
        };
        assert_eq!(created.is_ok(), is_reserved(what, index), "{object:?}");
        if created.is_err() {
            assert_eq!(code(created), E_INVALIDARG);
            let said = messages(device);
            assert!(said.iter().any(|(_, text)| text.contains("did not reserve")), "{said:?}");
            self.refused += 1;
        }
    }

    fn keep(&mut self, index: usize, object: &Recorded, buffer: ID3D12Resource) {
        assert_eq!(allocation(&buffer), (object.start, object.size));
        assert_eq!(address(&buffer), object.start);
        self.buffers.insert(index, buffer);
    }
}

/// Restores the contents and follows the addresses in them, on the CPU, which knows the position of each
/// buffer, and on the GPU.
fn follow(device: &ID3D12Device14, recorded: &[Recorded], buffers: &BTreeMap<usize, ID3D12Resource>) {
    for (&index, buffer) in buffers {
        bytes(buffer)[..CONTENTS].copy_from_slice(&recorded[index].contents);
    }
    let by_address: BTreeMap<u64, usize> = buffers.iter().map(|(&index, at)| (address(at), index)).collect();
    let read = |index: usize| {
        let contents: Vec<u8> = bytes(&buffers[&index])[..CONTENTS].to_vec();
        let word = |place: usize| u32::from_le_bytes(contents[place..place + 4].try_into().expect("4 bytes"));
        let next = u64::from(word(0)) | u64::from(word(4)) << 32;
        (next, usize::try_from(word(8)).expect("small"), usize::try_from(word(12)).expect("small"))
    };
    let first = *buffers.keys().next().expect("there are some");
    let (mut at, mut seen, mut writes) = (first, 0, Vec::new());
    loop {
        let (next, number, own) = read(at);
        assert_eq!(own, at, "the buffer holds its own index");
        assert_eq!(by_address.get(&next), Some(&number), "buffer {at} refers to {next:#x}");
        // The GPU writes a mark over the number at the stored address.
        writes.push((next + 12, u32::try_from(number + 1_000_000).expect("small")));
        seen += 1;
        at = number;
        if at == first {
            break;
        }
    }
    assert_eq!(seen, 2 * COUNT, "one ring through all buffers");
    write_immediate(&Queue::direct(device), &writes);
    for &index in buffers.keys() {
        assert_eq!(read(index).2, index + 1_000_000, "the GPU followed an address to buffer {index}");
    }
}

/// Releases everything and checks that no memory is in use.
fn check_balance(gpu: Instance, device: ID3D12Device14, objects: Replayed) {
    drop(objects);
    drop(device);
    let used = gpu.current_usage(heapwright_runtime::SegmentGroup::NonLocal);
    assert!(used.get() <= 2 * PAGE, "{used} are still in use");
}

/// The file with the recording, removed at the end of the test.
struct RecordingFile(PathBuf);

impl Drop for RecordingFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn objects_recorded_in_one_process_are_recreated_in_another() {
    const NAME: &str = "two_processes::objects_recorded_in_one_process_are_recreated_in_another";
    if let Ok(role) = std::env::var(ROLE) {
        let (role, file) = role.split_once(' ').expect("a role and a file");
        if role == "record" {
            record(Path::new(file))
        } else {
            replay(role, Path::new(file))
        }
        return;
    }
    let name = format!("heapwright-recreate-{}.txt", std::process::id());
    let file = RecordingFile(std::env::temp_dir().join(name));
    for role in ["record", "all", "none", "half"] {
        let program = std::env::current_exe().expect("the test's program");
        let child = Command::new(program)
            .args(["--exact", NAME, "--test-threads", "1"])
            .env(ROLE, format!("{role} {}", file.0.display()))
            .output()
            .expect("the program can be run");
        let (out, err) = (String::from_utf8_lossy(&child.stdout), String::from_utf8_lossy(&child.stderr));
        assert!(child.status.success() && out.contains("1 passed"), "{role}: {}\n{out}\n{err}", child.status);
    }
    let recorded = read_recording(&fs::read_to_string(&file.0).expect("the first process wrote it"));
    assert_eq!(recorded.len(), 3 * COUNT);
}
