//! A capture in one process, replayed in another.
//!
//! The test's program calls itself: the first process records, the others replay what it wrote to a file. Addresses begin
//! elsewhere in each, so that what is where it was is there by design.

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

/// Heaps; there are as many committed buffers, and as many placed ones.
const COUNT: usize = 1000;

/// Tells a child process what it is to do: `record FILE`, or `all FILE`, `none FILE` or `half FILE`, which is what is reserved.
const ROLE: &str = "HEAPWRIGHT_RECREATE_ROLE";

/// An object as the file has it.
#[derive(Debug, Clone)]
struct Recorded {
    kind: Kind,
    /// As `GetAllocation` answered.
    start: u64,
    size: u64,
    /// Of a buffer: its width, and what is in its first bytes.
    width: u64,
    contents: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Heap,
    Committed { is_tight: bool },
    Placed { heap: usize, offset: u64, is_tight: bool },
}

/// The bytes of a buffer that are recorded: the address of another buffer, the number of that one, its own number.
const CONTENTS: usize = 16;

/// Random numbers that are the same each time.
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

/// Writes to memory as the GPU does, by its addresses alone.
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
    // Objects that come and go between, as in a program that runs for a while.
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
    // Each buffer knows where the next one is; together they are one ring through all of them.
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
            write!(hex, "{byte:02x}").expect("a string takes it");
            hex
        });
        let Recorded { start, size, width, .. } = object;
        writeln!(text, "{kind} {heap} {offset} {is_tight} {start} {size} {width} {contents}")
            .expect("a string takes it");
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

/// Whether a replay that reserves `what` reserves the addresses of the heap or committed buffer `index`.
fn is_reserved(what: &str, index: usize) -> bool {
    match what {
        "all" => true,
        "none" => false,
        // Heaps and committed buffers alike.
        "half" => (index / 3).is_multiple_of(2),
        other => panic!("nobody asks for {other}"),
    }
}

/// Recreates what the file has, and checks that all of it, and nothing that was not reserved, is there again.
fn replay(what: &str, file: &Path) {
    let recorded = read_recording(&fs::read_to_string(file).expect("the file can be read"));
    assert_eq!(recorded.len(), 3 * COUNT);
    let gpu = open("discrete", 2);
    // Of placed buffers too, so that ranges overlap, and from high to low.
    let mut ranges: Vec<_> = recorded
        .iter()
        .enumerate()
        .filter(|(index, _)| is_reserved(what, *index))
        .map(|(_, object)| range(object.start, object.size))
        .collect();
    ranges.sort_by_key(|range| std::cmp::Reverse(range.StartAddress.0));
    let device = reserving(&gpu, &ranges).expect("nothing has those addresses yet");
    let elsewhere = allocation(&heap(&device, PAGE).expect("there is room")).0;
    // With half of them reserved the other half's places are anybody's.
    let is_anybodys = |index| what == "half" && !is_reserved(what, index);
    let by_luck =
        (0..recorded.len()).filter(|&index| !is_anybodys(index) && recorded[index].start == elsewhere);
    assert_eq!(by_luck.count(), 0, "an object that nobody placed is where another was");

    let mut objects = Replayed::default();
    // The other way round than they were made: order does not matter, but that a heap comes before what is in it.
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
    // What was refused last has left its address.
    set_next(&device, 0);
    heap(&device, PAGE).expect("the device creates heaps as ever");
    if what == "all" {
        follow(&device, &recorded, &objects.buffers);
    }
    check_balance(gpu, device, objects);
}

/// All that is created anew.
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
                // Nothing can be placed in a heap that is not there.
                let Some(heap) = self.heaps.get(&(heap * 3)) else { return };
                // A placed buffer follows its heap, with an address and without.
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

/// Restores the contents and follows the addresses in them: by the CPU, which knows what is where, and by the GPU.
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
        assert_eq!(own, at, "the buffer's own bytes");
        assert_eq!(by_address.get(&next), Some(&number), "what {at} names is at {next:#x}");
        // The GPU goes where the stored address says and leaves a mark over the number there.
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

/// All goes, and nothing is left.
fn check_balance(gpu: Instance, device: ID3D12Device14, objects: Replayed) {
    drop(objects);
    drop(device);
    let used = gpu.current_usage(heapwright_runtime::SegmentGroup::NonLocal);
    assert!(used.get() <= 2 * PAGE, "{used} are in use still");
}

/// Where the recording is while the test runs.
struct RecordingFile(PathBuf);

impl Drop for RecordingFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn what_one_process_recorded_is_recreated_in_another() {
    const NAME: &str = "two_processes::what_one_process_recorded_is_recreated_in_another";
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
