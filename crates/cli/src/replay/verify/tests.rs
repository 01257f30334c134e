//! Tests of the checks with buffers that violate the rules.

use super::*;

/// A buffer in memory with configurable errors.
struct Fake {
    size: u64,
    address: Option<u64>,
    memory: Vec<u8>,
    map_fails: bool,
}

impl Fake {
    fn new(address: u64, size: usize) -> Self {
        Self { size: size as u64, address: Some(address), memory: vec![0; size], map_fails: false }
    }
}

impl Buffer for Fake {
    fn size(&self) -> ByteSize {
        ByteSize::new(self.size)
    }

    fn gpu_virtual_address(&self) -> Option<GpuVirtualAddress> {
        self.address.and_then(GpuVirtualAddress::new)
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), String> {
        if self.map_fails {
            return Err("no Map".to_owned());
        }
        let start = usize::try_from(offset).unwrap();
        self.memory[start..start + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn read(&mut self, offset: u64, bytes: &mut [u8]) -> Result<(), String> {
        if self.map_fails {
            return Err("no Map".to_owned());
        }
        let start = usize::try_from(offset).unwrap();
        bytes.copy_from_slice(&self.memory[start..start + bytes.len()]);
        Ok(())
    }
}

const ALIGNMENT: u64 = 256;

/// Returns two ids in the sample and one that is not.
fn ids() -> (u64, u64, u64) {
    let mut sampled = (0..).filter(|&id| pattern::is_sampled(id));
    let plain = (0..).find(|&id| !pattern::is_sampled(id)).unwrap();
    (sampled.next().unwrap(), sampled.next().unwrap(), plain)
}

/// Returns a trace that allocates 512 bytes each for `first` (line 2) and `second` (line 3) and frees them (lines 4 and
/// 5).
fn trace(first: u64, second: u64) -> Trace {
    let csv = format!(
        "time_us,event,id,size_bytes\n\
         0,alloc,{first},512\n0,alloc,{second},512\n0,free,{first},512\n0,free,{second},512\n"
    );
    Trace::from_reader("t.csv", csv.as_bytes()).unwrap()
}

fn verifier(trace: &Trace) -> Verifier<'_> {
    Verifier::new(trace, Alignment::new(ALIGNMENT).unwrap())
}

/// Replays both buffers, calling `between` between the allocations and the frees. Returns the errors with their lines.
fn replay(trace: &Trace, buffers: [Fake; 2], between: impl FnOnce(&mut [Fake; 2])) -> Vec<String> {
    let mut verifier = verifier(trace);
    let mut buffers = buffers;
    verifier.after_create(0, &mut buffers[0]);
    verifier.after_create(1, &mut buffers[1]);
    between(&mut buffers);
    verifier.before_free(2, &mut buffers[0]);
    verifier.before_free(3, &mut buffers[1]);
    let found = verifier.into_found();
    assert_eq!(found.unlisted, 0);
    found.faults.iter().map(|(event, fault)| format!("{}: {fault}", trace.location(*event))).collect()
}

fn apart() -> [Fake; 2] {
    [Fake::new(0x1000, 512), Fake::new(0x1200, 512)]
}

#[test]
fn correct_buffers_have_no_errors() {
    let (first, second, plain) = ids();
    assert!(replay(&trace(first, second), apart(), |_| {}).is_empty());
    assert!(replay(&trace(plain, second), apart(), |_| {}).is_empty());
}

#[test]
fn an_overlap_names_both_ids_and_lines() {
    let (_, _, plain) = ids();
    let other = plain + 1_000_000;
    // Over the end, the whole and the start.
    for start in [0x1100, 0x1000, 0xf00] {
        let faults = replay(&trace(plain, other), [Fake::new(0x1000, 512), Fake::new(start, 512)], |_| {});
        let addresses = [start, 0x1000].map(|address| GpuVirtualAddress::new(address).unwrap());
        let expected = format!(
            "t.csv:3: id {other} (512 bytes at {}) overlaps id {plain} of line 2 (512 bytes at {})",
            addresses[0], addresses[1]
        );
        assert!(faults.contains(&expected), "{faults:?}");
    }
}

#[test]
fn addresses_may_be_reused_after_a_free() {
    let (first, second, _) = ids();
    let csv = format!(
        "time_us,event,id,size_bytes\n0,alloc,{first},512\n0,free,{first},512\n0,alloc,{second},512\n"
    );
    let trace = Trace::from_reader("t.csv", csv.as_bytes()).unwrap();
    let mut verifier = verifier(&trace);
    let mut buffer = Fake::new(0x1000, 512);
    verifier.after_create(0, &mut buffer);
    verifier.before_free(1, &mut buffer);
    verifier.after_create(2, &mut buffer);
    verifier.at_end(trace.events()[2].allocation, &mut buffer);
    assert!(verifier.into_found().faults.is_empty());
}

/// `pattern` has a test for each byte.
#[test]
fn an_overlapping_buffer_changes_the_others_content() {
    let (first, second, plain) = ids();
    let faults = replay(&trace(first, second), apart(), |[one, other]| one.memory.clone_from(&other.memory));
    let [fault] = &faults[..] else { panic!("{faults:?}") };
    assert!(fault.starts_with(&format!("t.csv:2: the content of id {first} changed: byte 0 is ")), "{fault}");
    assert!(fault.ends_with(", detected before its free on line 4"), "{fault}");
    // The content of buffers outside the sample is not checked.
    assert!(replay(&trace(first, plain), apart(), |buffers| buffers[1].memory.fill(0xee)).is_empty());
}

#[test]
fn a_changed_byte_of_a_buffer_that_is_never_freed_is_detected() {
    let (first, second, _) = ids();
    let trace = trace(first, second);
    let mut verifier = verifier(&trace);
    let mut buffer = Fake::new(0x1000, 512);
    verifier.after_create(0, &mut buffer);
    buffer.memory[511] ^= 0x80;
    verifier.at_end(trace.events()[0].allocation, &mut buffer);
    let found = verifier.into_found();
    let [(0, fault)] = &found.faults[..] else { panic!("{found:?}") };
    assert!(fault.to_string().ends_with(", detected at the end of the trace"), "{fault}");
}

#[test]
fn size_and_address_are_checked() {
    let (_, second, plain) = ids();
    let trace = trace(plain, second);
    let fault_of = |fake: Fake| replay(&trace, [fake, Fake::new(0x2000, 512)], |_| {}).concat();
    let small = Fake { size: 511, ..Fake::new(0x1000, 512) };
    assert_eq!(fault_of(small), format!("t.csv:2: id {plain} has 511 bytes, but 512 were requested"));
    let nowhere = Fake { address: None, ..Fake::new(0x1000, 512) };
    assert_eq!(fault_of(nowhere), format!("t.csv:2: id {plain} has no GPU address"));
    let address = GpuVirtualAddress::new(0x1080).unwrap();
    assert_eq!(
        fault_of(Fake::new(0x1080, 512)),
        format!("t.csv:2: id {plain} is at GPU address {address}, which is not a multiple of 256")
    );
}

#[test]
fn memory_that_cannot_be_mapped_is_an_error() {
    let (first, _, plain) = ids();
    let unmappable = Fake { map_fails: true, ..Fake::new(0x1000, 512) };
    let faults = replay(&trace(first, plain), [unmappable, Fake::new(0x2000, 512)], |_| {});
    assert_eq!(
        faults,
        [
            format!("t.csv:2: id {first} cannot be written through Map: no Map"),
            format!("t.csv:2: id {first} cannot be read through Map before its free on line 4: no Map"),
        ]
    );
}

#[test]
fn the_list_of_errors_is_limited() {
    let rows: String = (0..50).map(|id| format!("0,alloc,{id},16\n")).collect();
    let csv = format!("time_us,event,id,size_bytes\n{rows}");
    let trace = Trace::from_reader("t.csv", csv.as_bytes()).unwrap();
    let mut verifier = verifier(&trace);
    for event in 0..50 {
        verifier.after_create(event, &mut Fake { address: None, ..Fake::new(0, 16) });
    }
    let found = verifier.into_found();
    assert_eq!((found.faults.len(), found.unlisted), (Found::MAX_LISTED, 40));
}
