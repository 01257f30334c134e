//! Objects at GPU virtual addresses of one's choice (document RECREATE).
//!
//! Where a device of one's own is needed, objects are recorded on the device under test, released, and created again on a
//! device of the factory that has reserved their addresses.

use std::thread;

use heapwright_d3d12::*;

use crate::answer::{Stop, Verdict, failed, require, require_address, require_eq};
use crate::check::{Check, Need, check};
use crate::com::device::{self, Home};
use crate::com::memory;
use crate::com::tools::{self, Allocation};
use crate::context::{Context, Recreation};
use crate::desc::{KIB, MIB, buffer, buffer_heap, properties, rgba};

const RECORD: &str = "RECREATE, ID3D12PageableTools::GetAllocation";
const PLACE: &str = "RECREATE, ID3D12DeviceTools::SetNextAllocationAddress";
const RESERVE: &str = "RECREATE, ID3D12Tools1::ReserveGPUVARangesAtCreate";
const DDI: &str = "RECREATE, CreateAtVirtualAddress";

const YES: &[Need] = &[Need::RecreateAt];
const REPLAY: &[Need] = &[Need::RecreateAt, Need::DeviceFactory];

const DEFAULT: D3D12_HEAP_TYPE = D3D12_HEAP_TYPE_DEFAULT;

/// D3D12's page of addresses: what heaps are aligned to at least.
const PAGE: u64 = 64 * KIB;

pub(super) const CHECKS: &[Check] = &[
    check("recreate/heap-allocation", RECORD, YES, |ctx| {
        let found = ctx.allocation_of(&heap(ctx, 5 * PAGE)?)?;
        require_address("a heap", found.start, PAGE)?;
        require(found.size >= 5 * PAGE, || format!("a heap of {} bytes takes {}", 5 * PAGE, found.size))?;
        Ok(format!("{} bytes, at a multiple of 64 KiB", found.size))
    }),
    check("recreate/committed-buffer-allocation", RECORD, YES, |ctx| {
        let desc = buffer(1000);
        let resource = ctx.commit(DEFAULT, &desc).ok("1000 bytes")?;
        let (found, info) = (ctx.allocation_of(&resource)?, ctx.valid_allocation("a buffer", &desc)?);
        require_at("StartAddress beside GetGPUVirtualAddress", found.start, memory::address(&resource))?;
        require(found.size >= 1000, || format!("1000 bytes of buffer take {}", found.size))?;
        Ok(format!("{} bytes, {} as a placed buffer", found.size, info.size))
    }),
    check("recreate/placed-buffer-allocation", RECORD, YES, |ctx| {
        let home = heap(ctx, 4 * PAGE)?;
        let desc = buffer(1000);
        let resource = ctx.place(&home, 2 * PAGE, &desc).ok("at 128 KiB")?;
        let (found, whole) = (ctx.allocation_of(&resource)?, ctx.allocation_of(&home)?);
        let info = ctx.valid_allocation("a buffer", &desc)?;
        require_at("StartAddress beside the heap's", found.start, whole.start + 2 * PAGE)?;
        require_at("StartAddress beside GetGPUVirtualAddress", found.start, memory::address(&resource))?;
        require_eq("SizeInBytes beside GetResourceAllocationInfo", found.size, info.size)?;
        require(whole.contains(found), || {
            format!(
                "it begins {} bytes from its heap, and takes {} of {} bytes",
                distance(whole.start, found.start),
                found.size,
                whole.size
            )
        })?;
        Ok(format!("{} bytes", found.size))
    }),
    check("recreate/reserved-buffer-allocation", RECORD, &[Need::RecreateAt, Need::TiledResources], |ctx| {
        let state = D3D12_RESOURCE_STATE_COMMON;
        let resource = ctx.create_resource(Home::Reserved, &buffer(2 * PAGE), state, None).ok("2 tiles")?;
        let found = ctx.allocation_of(&resource)?;
        require_at("StartAddress beside GetGPUVirtualAddress", found.start, memory::address(&resource))?;
        require(found.size >= 2 * PAGE, || format!("2 tiles take {} bytes", found.size))?;
        Ok(format!("{} bytes", found.size))
    }),
    check("recreate/allocations-do-not-overlap", RECORD, YES, |ctx| {
        let heaps: Vec<_> = (1..=8).map(|count| heap(ctx, count * PAGE)).collect::<Result<_, _>>()?;
        let buffers: Vec<_> = (1..=8)
            .map(|count| ctx.commit(DEFAULT, &buffer(count * 9000)).ok("a buffer"))
            .collect::<Result<_, _>>()?;
        let mut found: Vec<Allocation> = Vec::new();
        for heap in &heaps {
            found.push(ctx.allocation_of(heap)?);
        }
        for buffer in &buffers {
            found.push(ctx.allocation_of(buffer)?);
        }
        found.sort_by_key(|range| range.start);
        match found.windows(2).find(|pair| pair[0].overlaps(pair[1])) {
            Some(pair) => failed(format!(
                "two live objects share addresses: of {} bytes, the second begins after {}",
                pair[0].size,
                distance(pair[0].start, pair[1].start)
            )),
            None => Ok(format!("{} objects", found.len())),
        }
    }),
    check("recreate/an-allocation-stays", RECORD, YES, |ctx| {
        let (one, first) = record_alive(ctx, PAGE)?;
        let others: Vec<_> = (0..4).map(|_| heap(ctx, PAGE)).collect::<Result<_, _>>()?;
        require_same("the same heap's allocation", ctx.allocation_of(&one)?, first)?;
        drop(others);
        require_same("the same heap's allocation", ctx.allocation_of(&one)?, first)?;
        Ok("where it was".to_owned())
    }),
    check("recreate/device-tools", PLACE, YES, |ctx| {
        ctx.set_next_address(ctx.device(), 0)?;
        heap(ctx, PAGE)?;
        Ok("zero asks for nothing".to_owned())
    }),
    check("recreate/factory-tools", RESERVE, REPLAY, |ctx| {
        let first = ctx.tools()?;
        let older: ID3D12Tools = windows_core::Interface::cast(&first)
            .or_else(|_| failed("ID3D12Tools1 does not answer to ID3D12Tools"))?;
        drop(older);
        ctx.answer("ReserveGPUVARangesAtCreate", tools::reserve(&first, &[])).ok("no ranges")?;
        tools::clear(&first);
        Ok("ID3D12Tools1".to_owned())
    }),
    check("recreate/heap-at-its-address", DDI, REPLAY, |ctx| {
        let recorded = record(ctx, 3 * PAGE)?;
        let again = Recreation::open(ctx, &[recorded])?;
        let created = again.heap_at(recorded, 3 * PAGE).ok("reserved")?;
        require_same("the allocation", ctx.allocation_of(&created)?, recorded)?;
        Ok("at its address".to_owned())
    }),
    check("recreate/committed-buffer-at-its-address", DDI, REPLAY, |ctx| {
        let recorded = {
            let resource = ctx.commit(DEFAULT, &buffer(100_000)).ok("100000 bytes")?;
            ctx.allocation_of(&resource)?
        };
        let again = Recreation::open(ctx, &[recorded])?;
        let created = again.buffer_at(recorded.start, 100_000).ok("reserved")?;
        require_same("the allocation", ctx.allocation_of(&created)?, recorded)?;
        require_at("GetGPUVirtualAddress", memory::address(&created), recorded.start)?;
        Ok("at its address".to_owned())
    }),
    check("recreate/reserved-buffer-at-its-address", DDI, TILED_REPLAY, |ctx| {
        let state = D3D12_RESOURCE_STATE_COMMON;
        let desc = buffer(2 * PAGE);
        let recorded = {
            let resource = ctx.create_resource(Home::Reserved, &desc, state, None).ok("2 tiles")?;
            ctx.allocation_of(&resource)?
        };
        let again = Recreation::open(ctx, &[recorded])?;
        again.set_next(recorded.start)?;
        let created = device::create_resource(again.device(), Home::Reserved, &desc, state, None);
        let created = ctx.answer("CreateReservedResource of a buffer", created).ok("reserved")?;
        require_same("the allocation", ctx.allocation_of(&created)?, recorded)?;
        Ok("at its address".to_owned())
    }),
    check("recreate/placed-buffer-follows-its-heap", DDI, REPLAY, |ctx| {
        let (again, home, recorded) = recreated_heap(ctx, 4 * PAGE)?;
        let placed = again.place(&home, PAGE, 1000).ok("without an address")?;
        require_at("GetGPUVirtualAddress", memory::address(&placed), recorded.start + PAGE)?;
        Ok("at its address".to_owned())
    }),
    check("recreate/placed-buffer-at-its-address", DDI, REPLAY, |ctx| {
        let (again, home, recorded) = recreated_heap(ctx, 4 * PAGE)?;
        again.set_next(recorded.start + PAGE)?;
        let placed = again.place(&home, PAGE, 1000).ok("the address that it has anyway")?;
        require_at("GetGPUVirtualAddress", memory::address(&placed), recorded.start + PAGE)?;
        Ok("at its address".to_owned())
    }),
    check("recreate/placed-buffer-elsewhere-refused", DDI, REPLAY, |ctx| {
        let (again, home, recorded) = recreated_heap(ctx, 4 * PAGE)?;
        for address in [recorded.start, recorded.start + 2 * PAGE] {
            again.set_next(address)?;
            again.place(&home, PAGE, 1000).fails(format!(
                "at 64 KiB with the address {} bytes from the heap's",
                distance(recorded.start, address)
            ))?;
        }
        again.is_alive(ctx)
    }),
    check("recreate/placed-buffer-in-a-heap-without-address-refused", DDI, REPLAY, |ctx| {
        // At the very address that it would have anyway: the heap is what must have been created at one.
        let again = Recreation::open(ctx, &[record(ctx, PAGE)?])?;
        let home = again.heap(4 * PAGE).ok("without an address")?;
        let address = ctx.allocation_of(&home)?.start + PAGE;
        again.set_next(address)?;
        again.place(&home, PAGE, 1000).fails("an address in a heap that was created without one")?;
        again.is_alive(ctx)
    }),
    check("recreate/texture-refused", DDI, &[Need::RecreateAt, Need::DeviceFactory, Need::Textures], |ctx| {
        let recorded = record(ctx, MIB)?;
        let again = Recreation::open(ctx, &[recorded])?;
        again.set_next(recorded.start)?;
        let (home, state) = (properties(DEFAULT), D3D12_RESOURCE_STATE_COMMON);
        let home = Home::Committed(&home, D3D12_HEAP_FLAG_NONE);
        let created = device::create_resource(again.device(), home, &rgba(64, 64), state, None);
        ctx.answer("CreateCommittedResource of a texture", created).fails("with an address")?;
        again.is_alive(ctx)
    }),
    check("recreate/address-in-use-refused", DDI, REPLAY, |ctx| {
        let (again, home, recorded) = recreated_heap(ctx, 2 * PAGE)?;
        again.heap_at(recorded, 2 * PAGE).fails("where another heap is")?;
        again.buffer_at(recorded.start, 1000).fails("where a heap is")?;
        require_same("the first heap's allocation", ctx.allocation_of(&home)?, recorded)?;
        again.is_alive(ctx)
    }),
    check("recreate/misaligned-address-refused", DDI, REPLAY, |ctx| {
        let recorded = record(ctx, 4 * PAGE)?;
        let again = Recreation::open(ctx, &[recorded])?;
        for skew in [1, 256, 4096] {
            let askew = Allocation { start: recorded.start + skew, ..recorded };
            again.heap_at(askew, PAGE).fails(format!("{skew} bytes behind a multiple of 64 KiB"))?;
        }
        again.is_alive(ctx)
    }),
    check("recreate/address-outside-refused", DDI, REPLAY, |ctx| {
        let recorded = record(ctx, PAGE)?;
        let again = Recreation::open(ctx, &[recorded])?;
        let bits = ctx.caps().gpu_va_bits_per_process.min(63);
        for start in [PAGE, 1 << bits, u64::MAX - PAGE + 1] {
            again.heap_at(Allocation { start, size: PAGE }, PAGE).fails(format!("{start:#x}"))?;
        }
        again.is_alive(ctx)
    }),
    check(
        "recreate/refused-takes-no-memory",
        DDI,
        &[Need::RecreateAt, Need::DeviceFactory, Need::Adapter],
        |ctx| {
            let (again, _home, recorded) = recreated_heap(ctx, 16 * MIB)?;
            let usage = || super::upload::usage(ctx, DXGI_MEMORY_SEGMENT_GROUP_LOCAL);
            let before = usage()?;
            for _ in 0..8 {
                again.heap_at(recorded, 16 * MIB).fails("where another heap is")?;
            }
            let after = usage()?;
            require(after < before + 64 * MIB, || {
                format!("usage rises by {} with eight refused heaps of 16 MiB", after - before)
            })?;
            Ok("usage stays".to_owned())
        },
    )
    .validates(),
    check("recreate/address-is-had-again-after-release", DDI, REPLAY, |ctx| {
        let (again, home, recorded) = recreated_heap(ctx, 2 * PAGE)?;
        drop(home);
        let created = again.heap_at(recorded, 2 * PAGE).ok("released before")?;
        require_same("the allocation", ctx.allocation_of(&created)?, recorded)?;
        Ok("at its address".to_owned())
    }),
    check("recreate/address-is-cleared-by-creation", PLACE, REPLAY, |ctx| {
        let (again, home, recorded) = recreated_heap(ctx, PAGE)?;
        drop(home);
        let next = again.heap(PAGE).ok("without an address")?;
        let found = ctx.allocation_of(&next)?;
        require(!found.overlaps(recorded), || "the address was used for a second heap".to_owned())?;
        Ok("once, then elsewhere".to_owned())
    }),
    check("recreate/address-is-left-by-a-refused-creation", PLACE, REPLAY, |ctx| {
        let recorded = record(ctx, PAGE)?;
        let again = Recreation::open(ctx, &[recorded])?;
        // One page is reserved: two cannot be there, whatever the device validates.
        again.heap_at(recorded, 2 * PAGE).fails("more than is reserved")?;
        let created = again.heap(PAGE).ok("as much as is reserved")?;
        require_same("the allocation", ctx.allocation_of(&created)?, recorded)?;
        Ok("the next creation has it".to_owned())
    })
    .validates(),
    check("recreate/zero-clears-the-address", PLACE, REPLAY, |ctx| {
        let recorded = record(ctx, PAGE)?;
        let again = Recreation::open(ctx, &[recorded])?;
        again.set_next(recorded.start)?;
        again.set_next(0)?;
        let found = ctx.allocation_of(&again.heap(PAGE).ok("without an address")?)?;
        require(!found.overlaps(recorded), || "the address was used after zero was set".to_owned())?;
        Ok("at its address".to_owned())
    }),
    check("recreate/the-last-address-counts", PLACE, REPLAY, |ctx| {
        let recorded = record(ctx, 2 * PAGE)?;
        let again = Recreation::open(ctx, &[recorded])?;
        again.set_next(recorded.start)?;
        again.set_next(recorded.start + PAGE)?;
        let found = ctx.allocation_of(&again.heap(PAGE).ok("the second address")?)?;
        require_at("StartAddress", found.start, recorded.start + PAGE)?;
        Ok("at its address".to_owned())
    }),
    check("recreate/the-address-is-the-threads", PLACE, REPLAY, |ctx| {
        let recorded = record(ctx, PAGE)?;
        let again = Recreation::open(ctx, &[recorded])?;
        again.set_next(recorded.start)?;
        let device = again.device();
        // Another thread's heap leaves the address alone.
        let theirs = thread::scope(|scope| {
            let create = || {
                let heap = device::create_heap(device, &buffer_heap(DEFAULT, PAGE))?;
                tools::allocation(&heap).map(|found| (heap, found))
            };
            scope.spawn(create).join()
        });
        let Ok(theirs) = theirs else { return failed("another thread's CreateHeap panicked") };
        let (_kept, theirs) = ctx.answer("CreateHeap", theirs).ok("on another thread")?;
        require(!theirs.overlaps(recorded), || "another thread's heap has the address".to_owned())?;
        let own = ctx.allocation_of(&again.heap(PAGE).ok("on the thread that set the address")?)?;
        require_same("the allocation on the thread that set the address", own, recorded)?;
        Ok("elsewhere there, at the address here".to_owned())
    }),
    check("recreate/reserved-is-given-to-nothing", RESERVE, REPLAY, |ctx| {
        let recorded = record(ctx, 4 * PAGE)?;
        let again = Recreation::open(ctx, &[recorded])?;
        let mut live = Vec::new();
        for _ in 0..64 {
            live.push(again.heap(PAGE).ok("without an address")?);
            let found = ctx.allocation_of(&live[live.len() - 1])?;
            require(!found.overlaps(recorded), || {
                "a heap without an address is at one that is reserved".to_owned()
            })?;
        }
        Ok(format!("{} heaps", live.len()))
    }),
    check("recreate/calls-append", RESERVE, REPLAY, |ctx| {
        let (one, first) = record_alive(ctx, PAGE)?;
        let (other, second) = record_alive(ctx, PAGE)?;
        drop((one, other));
        let again = Recreation::open_after(ctx, |tools| {
            ctx.answer("ReserveGPUVARangesAtCreate", tools::reserve(tools, &[first])).ok("one range")?;
            ctx.answer("ReserveGPUVARangesAtCreate", tools::reserve(tools, &[second])).ok("another range")
        })?;
        let created = [
            again.heap_at(first, PAGE).ok("of the first call")?,
            again.heap_at(second, PAGE).ok("of the second call")?,
        ];
        for (heap, recorded) in created.iter().zip([first, second]) {
            require_same("the allocation", ctx.allocation_of(heap)?, recorded)?;
        }
        Ok("two calls".to_owned())
    }),
    check("recreate/ranges-are-taken-as-they-come", RESERVE, REPLAY, |ctx| {
        let (one, first) = record_alive(ctx, 8 * PAGE)?;
        let (other, second) = record_alive(ctx, 2 * PAGE)?;
        drop((one, other));
        let part = |from: u64, to: u64| Allocation { start: first.start + from, size: to - from };
        // From high to low, overlapping, aligned to nothing, one of them twice.
        let mut ranges =
            vec![part(5 * PAGE + 77, 8 * PAGE), part(3, 6 * PAGE), part(0, 4), part(0, 4), second];
        ranges.sort_by_key(|range| std::cmp::Reverse(range.start));
        let again = Recreation::open(ctx, &ranges)?;
        let created = again.heap_at(first, 8 * PAGE).ok("the ranges together have all of it")?;
        require_same("the allocation", ctx.allocation_of(&created)?, first)?;
        again.heap_at(second, 2 * PAGE).ok("beside it")?;
        Ok(format!("{} ranges", ranges.len()))
    }),
    check("recreate/ranges-without-addresses-hide-none", RESERVE, REPLAY, |ctx| {
        for place in 0..4 {
            let recorded = record(ctx, 2 * PAGE)?;
            let mut ranges = vec![
                Allocation { start: 0, size: PAGE },
                Allocation { start: recorded.start, size: 0 },
                Allocation { start: 0, size: 0 },
            ];
            ranges.insert(place, recorded);
            let again = Recreation::open(ctx, &ranges)?;
            let created = again.heap_at(recorded, 2 * PAGE).ok(format!("range {place} of 4"))?;
            require_same("the allocation", ctx.allocation_of(&created)?, recorded)?;
        }
        Ok("one of 4 ranges has an address and a size".to_owned())
    }),
    check("recreate/the-list-is-kept", RESERVE, REPLAY, |ctx| {
        let recorded = record(ctx, PAGE)?;
        let again = Recreation::open_after(ctx, |tools| {
            ctx.answer("ReserveGPUVARangesAtCreate", tools::reserve(tools, &[recorded])).ok("one range")?;
            // Used and gone: the next device of the factory has the same list.
            ctx.factory_device().map(drop)
        })?;
        again.heap_at(recorded, PAGE).ok("on the factory's second device")?;
        Ok("two devices".to_owned())
    }),
    check("recreate/a-cleared-list-reserves-nothing", RESERVE, REPLAY, |ctx| {
        let recorded = record(ctx, PAGE)?;
        let tools = ctx.tools()?;
        ctx.answer("ReserveGPUVARangesAtCreate", tools::reserve(&tools, &[recorded])).ok("one range")?;
        tools::clear(&tools);
        let beside = ctx.factory_device()?;
        let again = Recreation::open(ctx, &[recorded])?;
        again.heap_at(recorded, PAGE).ok("beside a device whose factory's list was cleared")?;
        drop(beside);
        Ok("at its address".to_owned())
    }),
    check("recreate/many-objects-in-any-order", DDI, REPLAY, |ctx| {
        let mut live = Vec::new();
        for count in 1..=64 {
            live.push(record_alive(ctx, (1 + count % 5) * PAGE)?);
        }
        let recorded: Vec<Allocation> = live.iter().map(|(_, allocation)| *allocation).collect();
        drop(live);
        let again = Recreation::open(ctx, &recorded)?;
        let mut created = Vec::new();
        for one in recorded.iter().rev() {
            let heap = again.heap_at(*one, one.size).ok(format!("reserved, {} bytes", one.size))?;
            require_same("the allocation", ctx.allocation_of(&heap)?, *one)?;
            created.push(heap);
        }
        Ok(format!("{} heaps", created.len()))
    }),
    check("recreate/recreated-memory-holds-bytes", DDI, REPLAY, |ctx| {
        let recorded = {
            let resource = ctx.commit(D3D12_HEAP_TYPE_UPLOAD, &buffer(PAGE)).ok("64 KiB")?;
            ctx.allocation_of(&resource)?
        };
        let again = Recreation::open(ctx, &[recorded])?;
        again.set_next(recorded.start)?;
        let home = properties(D3D12_HEAP_TYPE_UPLOAD);
        let (home, state) = (Home::Committed(&home, D3D12_HEAP_FLAG_NONE), D3D12_RESOURCE_STATE_GENERIC_READ);
        let created = device::create_resource(again.device(), home, &buffer(PAGE), state, None);
        let created = ctx.answer("CreateCommittedResource of a buffer", created).ok("reserved")?;
        let pointer = recorded.start.to_le_bytes();
        ctx.map(&created).ok("UPLOAD")?.write(4096, &pointer);
        require_eq("bytes", ctx.map(&created).ok("UPLOAD")?.read(4096, 8), pointer.to_vec())?;
        require_at("what is stored", memory::address(&created), u64::from_le_bytes(pointer))?;
        Ok("at its address".to_owned())
    }),
    check(
        "recreate/refused-without-the-tier",
        "RECREATE, gated behind DDI 0111",
        &[Need::NoRecreateAt],
        |ctx| {
            let address = 1 << 36;
            if tools::set_next_address(ctx.device(), address).is_err() {
                return Ok("the device has no ID3D12DeviceTools".to_owned());
            }
            let refused =
                ctx.create_heap(&buffer_heap(DEFAULT, PAGE)).fails("with an address, RecreateAtTier is 0")?;
            ctx.set_next_address(ctx.device(), 0)?;
            heap(ctx, PAGE)?;
            Ok(refused)
        },
    )
    .validates(),
];

const TILED_REPLAY: &[Need] = &[Need::RecreateAt, Need::DeviceFactory, Need::TiledResources];

/// How far it is from one address to another. Addresses themselves differ from run to run.
fn distance(from: u64, to: u64) -> i64 {
    to.wrapping_sub(from).cast_signed()
}

/// Fails the check unless an address is the one that is expected.
fn require_at(what: &str, found: u64, expected: u64) -> Result<(), Stop> {
    require(found == expected, || {
        format!("{what}: {} bytes from the address that is expected", distance(expected, found))
    })
}

/// Fails the check unless addresses are those that are expected.
fn require_same(what: &str, found: Allocation, expected: Allocation) -> Result<(), Stop> {
    require_at(what, found.start, expected.start)?;
    require_eq(format!("SizeInBytes of {what}"), found.size, expected.size)
}

/// A DEFAULT heap for buffers on the device under test.
fn heap(ctx: &Context, size: u64) -> Result<ID3D12Heap, Stop> {
    ctx.create_heap(&buffer_heap(DEFAULT, size)).ok(format!("{size} bytes"))
}

/// A heap of the device under test, and where it is.
fn record_alive(ctx: &Context, size: u64) -> Result<(ID3D12Heap, Allocation), Stop> {
    let heap = heap(ctx, size)?;
    let found = ctx.allocation_of(&heap)?;
    Ok((heap, found))
}

/// Where a heap of the device under test was, which is gone.
fn record(ctx: &Context, size: u64) -> Result<Allocation, Stop> {
    record_alive(ctx, size).map(|(_, found)| found)
}

/// A heap that is where one of the device under test was.
fn recreated_heap(ctx: &Context, size: u64) -> Result<(Recreation<'_>, ID3D12Heap, Allocation), Stop> {
    let recorded = record(ctx, size)?;
    let again = Recreation::open(ctx, &[recorded])?;
    let heap = again.heap_at(recorded, size).ok("reserved")?;
    require_same("the allocation", ctx.allocation_of(&heap)?, recorded)?;
    Ok((again, heap, recorded))
}

impl Recreation<'_> {
    /// The verdict of a check after whose refusals the device must be there as ever.
    fn is_alive(&self, ctx: &Context) -> Verdict {
        let reason = device::removed_reason(self.device());
        require(reason.is_ok(), || format!("the device is lost: {}", crate::hresult::Named(reason)))?;
        // A refused creation leaves the address to the next.
        self.set_next(0)?;
        let heap = self.heap(PAGE).ok("after a refusal")?;
        ctx.allocation_of(&heap)?;
        Ok("refused, and the device is there".to_owned())
    }
}
