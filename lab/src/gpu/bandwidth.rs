//! Bandwidths: CPU writes to video memory, copies, eviction and return.

use std::time::{Duration, Instant};

use heapwright::d3d12::windows_core::Interface as _;
use heapwright::d3d12::*;

use super::plain::Plain;
use super::queue::{self, Queue, heap, map, placed};
use super::table::Row;
use super::{GIB, Result};

/// Number of repetitions of each measurement; the best time counts.
const REPEATS: usize = 5;

fn best(mut measure: impl FnMut() -> Result<Duration>) -> Result<Duration> {
    let mut best = Duration::MAX;
    for _ in 0..REPEATS {
        best = best.min(measure()?);
    }
    Ok(best)
}

fn per_second(bytes: u64, time: Duration) -> f64 {
    bytes as f64 / time.as_secs_f64() / GIB as f64
}

/// Compares copies through our queue with copies through plain Vulkan, within the local memory.
///
/// # Errors
///
/// Returns the errors of either device.
pub fn copies(index: usize, size: u64) -> Result<Vec<Row>> {
    const COUNT: usize = 8;
    let bytes = size * COUNT as u64 * 2;
    let plain = Plain::open(index)?;
    let local = plain.local_memory()?;
    let (source, target) = (plain.buffer(size, local)?, plain.buffer(size, local)?);
    plain.copy(&target, &source, size, COUNT)?;
    let theirs = best(|| plain.copy(&target, &source, size, COUNT))?;
    plain.destroy(source);
    plain.destroy(target);

    let gpu = queue::open(index)?;
    let kind = D3D12_HEAP_TYPE_DEFAULT;
    let heaps = [heap(&gpu.device, kind, size)?, heap(&gpu.device, kind, size)?];
    let [source, target] = [placed(&heaps[0], kind, 0, size)?, placed(&heaps[1], kind, 0, size)?];
    let mut queue = Queue::new(&gpu.device)?;
    let mut once = || {
        // As in the plain command buffer, whose copies follow each other without barriers: to different ranges.
        for _ in 0..COUNT {
            queue.copy((&target, 0), (&source, 0), size);
        }
        let start = Instant::now();
        queue.run()?;
        Ok(start.elapsed())
    };
    once()?;
    let ours = best(once)?;
    let (ours, theirs) = (per_second(bytes, ours), per_second(bytes, theirs));
    let ratio = ours / theirs;
    Ok(vec![Row::required(
        "copies in video memory through our queue / plain Vulkan (reads and writes counted)",
        format!("{ours:.0} / {theirs:.0} GiB/s = {ratio:.3}"),
        "at least 0.97",
        ratio >= 0.97,
    )])
}

/// Compares CPU writes to a GPU upload heap with plain writes to the same memory type, and with an upload heap and a
/// copy.
///
/// # Errors
///
/// Returns the errors of either device.
pub fn writes(index: usize, size: u64) -> Result<Vec<Row>> {
    let len = usize::try_from(size)?;
    let bytes = vec![0x5a_u8; len];
    let write = |target: *mut u8| {
        let start = Instant::now();
        // SAFETY: the target is mapped memory of at least as many bytes, which nothing else uses.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), target, len) };
        start.elapsed()
    };
    let plain = Plain::open(index)?;
    let visible = plain.memory_type(true, true, false).or_else(|| plain.memory_type(true, true, true));
    let visible = visible.ok_or("no memory type for GPU upload heaps")?;
    let buffer = plain.buffer(size, visible)?;
    let target = plain.map(&buffer)?;
    let gpu = queue::open(index)?;
    let direct = D3D12_HEAP_TYPE_GPU_UPLOAD;
    let direct_heap = heap(&gpu.device, direct, size)?;
    let direct_buffer = placed(&direct_heap, direct, 0, size)?;
    let mapped = map(&direct_buffer)?;
    // In turn, so that both have the same conditions.
    let (mut theirs, mut ours) = (Duration::MAX, Duration::MAX);
    for _ in 0..=REPEATS {
        theirs = theirs.min(write(target));
        ours = ours.min(write(mapped));
    }
    plain.destroy(buffer);
    let (upload, local) = (D3D12_HEAP_TYPE_UPLOAD, D3D12_HEAP_TYPE_DEFAULT);
    let (upload_heap, local_heap) = (heap(&gpu.device, upload, size)?, heap(&gpu.device, local, size)?);
    let source = placed(&upload_heap, upload, 0, size)?;
    let target = placed(&local_heap, local, 0, size)?;
    let mapped = map(&source)?;
    let mut queue = Queue::new(&gpu.device)?;
    let copied = best(|| {
        let start = Instant::now();
        write(mapped);
        queue.copy((&target, 0), (&source, 0), size);
        queue.run()?;
        Ok(start.elapsed())
    })?;
    let [ours, theirs, copied] = [ours, theirs, copied].map(|time| per_second(size, time));
    let ratio = ours / theirs;
    Ok(vec![
        Row::required(
            "CPU writes to a GPU upload heap / plain writes to the same memory type",
            format!("{ours:.1} / {theirs:.1} GiB/s = {ratio:.3}"),
            "at least 0.95",
            ratio >= 0.95,
        ),
        Row::plain("CPU writes to an upload heap, and a copy", format!("{copied:.1} GiB/s")),
    ])
}

/// How long the program pauses between eviction and return for the row that says so: longer than the driver keeps
/// memory for the next heap.
const PAUSE: Duration = Duration::from_millis(400);

/// How long the program pauses between sets of heaps: longer than the driver keeps host memory, so that the first
/// eviction of each set allocates its own.
const UNTIL_FREED: Duration = Duration::from_secs(3);

/// Compares eviction and return with the bandwidth of the link, that is, plain copies between video memory and cached
/// host memory: for heaps that are evicted together, of the given number and size. The link is measured with the
/// largest heap.
///
/// # Errors
///
/// Returns the errors of either device.
pub fn eviction(index: usize, sets: &[(usize, u64)]) -> Result<Vec<Row>> {
    let largest = sets.iter().map(|&(_, size)| size).max().ok_or("no heaps")?;
    let plain = Plain::open(index)?;
    let local = plain.local_memory()?;
    let host = plain.memory_type(false, true, true).or_else(|| plain.memory_type(true, true, true));
    let host = host.ok_or("no cached memory type")?;
    let (video, system) = (plain.buffer(largest, local)?, plain.buffer(largest, host)?);
    plain.copy(&system, &video, largest, 1)?;
    let down = per_second(largest, best(|| plain.copy(&system, &video, largest, 1))?);
    let up = per_second(largest, best(|| plain.copy(&video, &system, largest, 1))?);
    plain.destroy(video);
    plain.destroy(system);

    let gpu = queue::open(index)?;
    let mut rows = Vec::new();
    for &(count, size) in sets {
        let heap = || -> Result<_> {
            Ok(heap(&gpu.device, D3D12_HEAP_TYPE_DEFAULT, size)?.cast::<ID3D12Pageable>()?)
        };
        let objects = (0..count).map(|_| Ok(Some(heap()?))).collect::<Result<Vec<_>>>()?;
        let evict = || {
            let start = Instant::now();
            gpu.evict(&objects)?;
            Ok::<_, Box<dyn std::error::Error>>(start.elapsed())
        };
        let make_resident = || {
            let start = Instant::now();
            gpu.make_resident(&objects)?;
            Ok::<_, Box<dyn std::error::Error>>(start.elapsed())
        };
        let (first_out, first_back) = (evict()?, make_resident()?);
        let (mut out, mut back, mut later) = (Duration::MAX, Duration::MAX, Duration::MAX);
        for _ in 0..REPEATS {
            out = out.min(evict()?);
            back = back.min(make_resident()?);
        }
        for _ in 0..REPEATS {
            evict()?;
            std::thread::sleep(PAUSE);
            later = later.min(make_resident()?);
        }
        let total = size * count as u64;
        let before = plain.used(local);
        evict()?;
        let freed = before.and_then(|before| time_until_used(&plain, local, before.saturating_sub(total)));
        let mut row = |what: String, time: Duration, link: f64| {
            let ours = per_second(total, time);
            let ratio = ours / link;
            let found = format!("{ours:.1} / {link:.1} GiB/s = {ratio:.3}");
            rows.push(Row::required(what, found, "at least 0.8", ratio >= 0.8));
        };
        let heaps = if count == 1 { String::new() } else { format!("{count} x ") };
        let what = format!("{heaps}{} MiB", size >> 20);
        let [first_out, first_back] = [first_out, first_back].map(|time| per_second(total, time));
        row(format!("Evict {what} / link (first time: {first_out:.1} GiB/s)"), out, down);
        row(format!("MakeResident {what} / link (first time: {first_back:.1} GiB/s)"), back, up);
        row(format!("MakeResident {what} after {} ms / link", PAUSE.as_millis()), later, up);
        let freed = freed.map_or_else(|| "not seen".to_owned(), |time| format!("{} ms", time.as_millis()));
        rows.push(Row::plain(
            format!("Evict {what}: from its end until other processes can have the memory"),
            freed,
        ));
        drop(objects);
        std::thread::sleep(UNTIL_FREED);
    }
    Ok(rows)
}

/// Waits until this process uses at most `most` bytes of a memory type. Returns the time, or `None` if that is not seen
/// within a few seconds.
fn time_until_used(plain: &Plain, memory_type: u32, most: u64) -> Option<Duration> {
    // Usage has other parts, which may grow.
    let most = most + (32 << 20);
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(3) {
        if plain.used(memory_type)? <= most {
            return Some(start.elapsed());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    None
}
