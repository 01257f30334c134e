//! Creation at given GPU virtual addresses (document RECREATE).
//!
//! Checks that need a separate device record the addresses of objects on the device under test, release the objects,
//! and create them again on a device from the factory that has reserved the addresses.

use std::thread;

use heapwright_d3d12::*;

use crate::answer::{Answer, Stop, Verdict, each, ensure, failed, require, require_address, require_eq};
use crate::check::{Check, Need, check, validation};
use crate::com::device::{self, Home};
use crate::com::memory;
use crate::com::tools::{self, Allocation};

use crate::context::Context;
use crate::desc::{COMMON, DEFAULT, KIB, MIB, UPLOAD, buffer, buffer_heap, rgba};
use crate::proof;

const RECORD: &str = "RECREATE, ID3D12PageableTools::GetAllocation";
const PLACE: &str = "RECREATE, ID3D12DeviceTools::SetNextAllocationAddress";
const RESERVE: &str = "RECREATE, ID3D12Tools1::ReserveGPUVARangesAtCreate";
const DDI: &str = "RECREATE, CreateAtVirtualAddress";
const GATE: &str = "RECREATE, gated behind DDI 0111";

const YES: &[Need] = &[Need::RecreateAt];
const REPLAY: &[Need] = &[Need::RecreateAt, Need::DeviceFactory];

/// The smallest alignment of a heap's address, in bytes.
const PAGE: u64 = 64 * KIB;
const BUDGET_REPLAY: &[Need] = &[Need::RecreateAt, Need::DeviceFactory, Need::Adapter];
const TEXTURE_REPLAY: &[Need] = &[Need::RecreateAt, Need::DeviceFactory, Need::Textures];

pub(super) const CHECKS: &[Check] = &[
    check("recreate/heap-allocation", RECORD, YES, |ctx| {
        let found = ctx.allocation_of(&heap(ctx, 5 * PAGE)?)?;
        require_address("a heap", found.start, PAGE)?;
        require(found.size >= 5 * PAGE, || {
            format!("the allocation of a heap of {} bytes has {} bytes", 5 * PAGE, found.size)
        })?;
        Ok(format!("{} bytes, at a multiple of 64 KiB", found.size))
    }),
    check("recreate/committed-buffer-allocation", RECORD, YES, |ctx| {
        let desc = buffer(1000);
        let resource = ctx.commit(DEFAULT, &desc).holds_bytes("1000 bytes")?;
        let (found, info) = (ctx.allocation_of(&resource)?, ctx.valid_allocation("a buffer", &desc)?);
        require_at("StartAddress against GetGPUVirtualAddress", found.start, memory::address(&resource))?;
        ensure!(found.size >= 1000, "the allocation of a buffer of 1000 bytes has {} bytes", found.size);
        Ok(format!("{} bytes, {} as a placed buffer", found.size, info.size))
    }),
    check("recreate/placed-buffer-allocation", RECORD, YES, |ctx| {
        let home = heap(ctx, 4 * PAGE)?;
        let desc = buffer(1000);
        let resource = ctx.place(&home, 2 * PAGE, &desc).ok("at 128 KiB")?;
        let (found, whole) = (ctx.allocation_of(&resource)?, ctx.allocation_of(&home)?);
        let info = ctx.valid_allocation("a buffer", &desc)?;
        require_at("StartAddress against the heap's", found.start, whole.start + 2 * PAGE)?;
        require_at("StartAddress against GetGPUVirtualAddress", found.start, memory::address(&resource))?;
        require_eq("SizeInBytes against GetResourceAllocationInfo", found.size, info.size)?;
        require(whole.contains(found), || {
            format!(
                "the allocation, {} bytes after the heap's start with {} bytes, exceeds the heap of {} bytes",
                distance(whole.start, found.start),
                found.size,
                whole.size
            )
        })?;
        Ok(format!("{} bytes", found.size))
    }),
    check("recreate/reserved-buffer-allocation", RECORD, &[Need::RecreateAt, Need::TiledResources], |ctx| {
        let state = COMMON;
        let resource = ctx.create_resource(Home::Reserved, &buffer(2 * PAGE), state, None).ok("2 tiles")?;
        let found = ctx.allocation_of(&resource)?;
        require_at("StartAddress against GetGPUVirtualAddress", found.start, memory::address(&resource))?;
        ensure!(found.size >= 2 * PAGE, "the allocation of 2 tiles has {} bytes", found.size);
        Ok(format!("{} bytes", found.size))
    }),
    check("recreate/allocations-do-not-overlap", RECORD, YES, |ctx| {
        let (mut live, mut found): (Vec<_>, Vec<Allocation>) = Default::default();
        for count in 1..=8 {
            let heap = heap(ctx, count * PAGE)?;
            let buffer = ctx.commit(DEFAULT, &buffer(count * 9000)).ok("a buffer")?;
            found.extend([ctx.allocation_of(&heap)?, ctx.allocation_of(&buffer)?]);
            live.push((heap, buffer));
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
        require_same("the same heap's allocation", ctx.allocation_of(&one)?, first)
    }),
    check("recreate/device-tools", PLACE, YES, |ctx| {
        tools::set_next_address(ctx.device(), 0).ok("a device with the RecreateAt tier")?;
        heap(ctx, PAGE)?;
        Ok("address 0 has no effect".to_owned())
    }),
    check("recreate/factory-tools", RESERVE, REPLAY, |ctx| {
        let first = ctx.tools()?;
        let older: ID3D12Tools = windows_core::Interface::cast(&first)
            .or_else(|_| failed("QueryInterface from ID3D12Tools1 to ID3D12Tools fails"))?;
        drop(older);
        tools::reserve(&first, &[]).ok("no ranges")?;
        tools::clear(&first);
        Ok("ID3D12Tools1".to_owned())
    }),
    check("recreate/heap-at-its-address", DDI, REPLAY, |ctx| {
        let (again, recorded) = reserved(ctx, 3 * PAGE)?;
        let created = again.heap_at(recorded, 3 * PAGE).ok("at a reserved address")?;
        proof::heap_holds_bytes(&created)?;
        require_same("the allocation", ctx.allocation_of(&created)?, recorded)
    }),
    check("recreate/committed-buffer-at-its-address", DDI, REPLAY, |ctx| {
        let recorded = {
            let resource = ctx.commit(DEFAULT, &buffer(100_000)).ok("100000 bytes")?;
            ctx.allocation_of(&resource)?
        };
        let again = Recreation::open(ctx, &[recorded])?;
        let created = again.buffer_at(recorded.start, 100_000).holds_bytes("at a reserved address")?;
        require_same("the allocation", ctx.allocation_of(&created)?, recorded)?;
        require_at("GetGPUVirtualAddress", memory::address(&created), recorded.start)
    }),
    check("recreate/reserved-buffer-at-its-address", DDI, TILED_REPLAY, |ctx| {
        let state = COMMON;
        let desc = buffer(2 * PAGE);
        let recorded = {
            let resource = ctx.create_resource(Home::Reserved, &desc, state, None).ok("2 tiles")?;
            ctx.allocation_of(&resource)?
        };
        let again = Recreation::open(ctx, &[recorded])?;
        again.set_next(recorded.start)?;
        let created = device::create_resource(again.device(), Home::Reserved, &desc, state, None)
            .ok("at a reserved address")?;
        require_same("the allocation", ctx.allocation_of(&created)?, recorded)
    }),
    check("recreate/placed-buffer-follows-its-heap", DDI, REPLAY, |ctx| {
        let (again, home, recorded) = recreated_heap(ctx, 4 * PAGE)?;
        let placed = again.place(&home, PAGE, 1000).holds_bytes("without a set address")?;
        require_at("GetGPUVirtualAddress", memory::address(&placed), recorded.start + PAGE)
    }),
    check("recreate/placed-buffer-at-its-address", DDI, REPLAY, |ctx| {
        let (again, home, recorded) = recreated_heap(ctx, 4 * PAGE)?;
        again.set_next(recorded.start + PAGE)?;
        let placed = again.place(&home, PAGE, 1000).holds_bytes("the address of its offset in the heap")?;
        require_at("GetGPUVirtualAddress", memory::address(&placed), recorded.start + PAGE)
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
        let home = again.heap(4 * PAGE).ok("without a set address")?;
        let address = ctx.allocation_of(&home)?.start + PAGE;
        again.set_next(address)?;
        again.place(&home, PAGE, 1000).fails("an address in a heap that was created without one")?;
        again.is_alive(ctx)
    }),
    check("recreate/texture-refused", DDI, TEXTURE_REPLAY, |ctx| {
        let (again, recorded) = reserved(ctx, MIB)?;
        again.set_next(recorded.start)?;
        let texture = device::create_resource(again.device(), Home::of(DEFAULT), &rgba(64, 64), COMMON, None);
        texture.fails("with an address")?;
        again.is_alive(ctx)
    }),
    check("recreate/address-in-use-refused", DDI, REPLAY, |ctx| {
        let (again, home, recorded) = recreated_heap(ctx, 2 * PAGE)?;
        again.heap_at(recorded, 2 * PAGE).fails("an address in use by another heap")?;
        again.buffer_at(recorded.start, 1000).fails("an address in use by a heap")?;
        require_same("the first heap's allocation", ctx.allocation_of(&home)?, recorded)?;
        again.is_alive(ctx)
    }),
    check("recreate/misaligned-address-refused", DDI, REPLAY, |ctx| {
        let (again, recorded) = reserved(ctx, 4 * PAGE)?;
        for skew in [1, 256, 4096] {
            let askew = Allocation { start: recorded.start + skew, ..recorded };
            again.heap_at(askew, PAGE).fails(format!("{skew} bytes behind a multiple of 64 KiB"))?;
        }
        again.is_alive(ctx)
    }),
    check("recreate/address-outside-refused", DDI, REPLAY, |ctx| {
        let (again, _) = reserved(ctx, PAGE)?;
        let bits = ctx.caps().gpu_va_bits_per_process.min(63);
        for start in [PAGE, 1 << bits, u64::MAX - PAGE + 1] {
            again.heap_at(Allocation { start, size: PAGE }, PAGE).fails(format!("{start:#x}"))?;
        }
        again.is_alive(ctx)
    }),
    validation("recreate/refused-takes-no-memory", DDI, BUDGET_REPLAY, |ctx| {
        let (again, _home, recorded) = recreated_heap(ctx, 16 * MIB)?;
        let usage = || super::upload::usage(ctx, DXGI_MEMORY_SEGMENT_GROUP_LOCAL);
        let before = usage()?;
        for _ in 0..8 {
            again.heap_at(recorded, 16 * MIB).fails("an address in use by another heap")?;
        }
        let after = usage()?;
        require(after < before + 64 * MIB, || {
            format!("usage rises by {} with eight refused heaps of 16 MiB", after - before)
        })
    }),
    check("recreate/address-is-had-again-after-release", DDI, REPLAY, |ctx| {
        let (again, home, recorded) = recreated_heap(ctx, 2 * PAGE)?;
        drop(home);
        let created = again.heap_at(recorded, 2 * PAGE).ok("the address of a released heap")?;
        proof::heap_holds_bytes(&created)?;
        require_same("the allocation", ctx.allocation_of(&created)?, recorded)
    }),
    check("recreate/address-is-cleared-by-creation", PLACE, REPLAY, |ctx| {
        let (again, home, recorded) = recreated_heap(ctx, PAGE)?;
        drop(home);
        let next = again.heap(PAGE).ok("without a set address")?;
        let found = ctx.allocation_of(&next)?;
        ensure!(!found.overlaps(recorded), "the address was used for a second heap without being set again");
        Ok("the address is used once".to_owned())
    }),
    validation("recreate/address-is-left-by-a-refused-creation", PLACE, REPLAY, |ctx| {
        let (again, recorded) = reserved(ctx, PAGE)?;
        // One page is reserved: two cannot be there, whatever the device validates.
        again.heap_at(recorded, 2 * PAGE).fails("more than is reserved")?;
        let created = again.heap(PAGE).ok("as much as is reserved")?;
        require_same("the allocation", ctx.allocation_of(&created)?, recorded)
    }),
    check("recreate/zero-clears-the-address", PLACE, REPLAY, |ctx| {
        let (again, recorded) = reserved(ctx, PAGE)?;
        again.set_next(recorded.start)?;
        again.set_next(0)?;
        let found = ctx.allocation_of(&again.heap(PAGE).ok("without a set address")?)?;
        ensure!(!found.overlaps(recorded), "the address was used although it was reset to 0");
        Ok("created at the requested address".to_owned())
    }),
    check("recreate/the-last-address-counts", PLACE, REPLAY, |ctx| {
        let (again, recorded) = reserved(ctx, 2 * PAGE)?;
        again.set_next(recorded.start)?;
        again.set_next(recorded.start + PAGE)?;
        let found = ctx.allocation_of(&again.heap(PAGE).ok("the second address")?)?;
        require_at("StartAddress", found.start, recorded.start + PAGE)
    }),
    check("recreate/the-address-is-the-threads", PLACE, REPLAY, |ctx| {
        let (again, recorded) = reserved(ctx, PAGE)?;
        again.set_next(recorded.start)?;
        let device = again.device();
        // Another thread's heap leaves the address alone.
        let theirs = thread::scope(|scope| {
            let create = || {
                let heap =
                    device::create_heap(device, &buffer_heap(DEFAULT, PAGE)).ok("on another thread")?;
                tools::allocation(&heap).ok("on another thread").map(|found| (heap, found))
            };
            scope.spawn(create).join()
        });
        let Ok(theirs) = theirs else { return failed("another thread's CreateHeap panicked") };
        let (_kept, theirs) = theirs?;
        ensure!(!theirs.overlaps(recorded), "the address was used for another thread's heap");
        let own = ctx.allocation_of(&again.heap(PAGE).ok("on the thread that set the address")?)?;
        require_same("the allocation on the thread that set the address", own, recorded)
    }),
    check("recreate/reserved-is-given-to-nothing", RESERVE, REPLAY, |ctx| {
        let (again, recorded) = reserved(ctx, 4 * PAGE)?;
        let mut live = Vec::new();
        for _ in 0..64 {
            live.push(again.heap(PAGE).ok("without a set address")?);
            let found = ctx.allocation_of(&live[live.len() - 1])?;
            ensure!(!found.overlaps(recorded), "a heap without a set address overlaps the reserved range");
        }
        Ok(format!("{} heaps", live.len()))
    }),
    check("recreate/calls-append", RESERVE, REPLAY, |ctx| {
        let (one, first) = record_alive(ctx, PAGE)?;
        let (other, second) = record_alive(ctx, PAGE)?;
        drop((one, other));
        let again = Recreation::open_after(ctx, |tools| {
            tools::reserve(tools, &[first]).ok("one range")?;
            tools::reserve(tools, &[second]).ok("another range")
        })?;
        let created = [
            again.heap_at(first, PAGE).ok("of the first call")?,
            again.heap_at(second, PAGE).ok("of the second call")?,
        ];
        each(created.iter().zip([first, second]), |(heap, recorded)| {
            require_same("the allocation", ctx.allocation_of(heap)?, recorded)
        })
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
        let created = again.heap_at(first, 8 * PAGE).ok("ranges that cover the heap together")?;
        proof::heap_holds_bytes(&created)?;
        require_same("the allocation", ctx.allocation_of(&created)?, first)?;
        again.heap_at(second, 2 * PAGE).ok("the other heap")?;
        Ok(format!("{} ranges", ranges.len()))
    }),
    check("recreate/ranges-without-addresses-hide-none", RESERVE, REPLAY, |ctx| {
        each(0..4, |place| {
            let recorded = record(ctx, 2 * PAGE)?;
            let mut ranges = vec![
                Allocation { start: 0, size: PAGE },
                Allocation { start: recorded.start, size: 0 },
                Allocation { start: 0, size: 0 },
            ];
            ranges.insert(place, recorded);
            let again = Recreation::open(ctx, &ranges)?;
            let created = again.heap_at(recorded, 2 * PAGE).ok(format!("range {place} of 4"))?;
            proof::heap_holds_bytes(&created)?;
            require_same("the allocation", ctx.allocation_of(&created)?, recorded)
        })
    }),
    check("recreate/the-list-is-kept", RESERVE, REPLAY, |ctx| {
        let recorded = record(ctx, PAGE)?;
        let again = Recreation::open_after(ctx, |tools| {
            tools::reserve(tools, &[recorded]).ok("one range")?;
            // Used and gone: the next device of the factory has the same list.
            ctx.factory_device().map(drop)
        })?;
        again.heap_at(recorded, PAGE).taken("on the factory's second device")
    }),
    check("recreate/a-cleared-list-reserves-nothing", RESERVE, REPLAY, |ctx| {
        let recorded = record(ctx, PAGE)?;
        let tools = ctx.tools()?;
        tools::reserve(&tools, &[recorded]).ok("one range")?;
        tools::clear(&tools);
        let beside = ctx.factory_device()?;
        let again = Recreation::open(ctx, &[recorded])?;
        again.heap_at(recorded, PAGE).ok("with another device whose factory's list was cleared")?;
        drop(beside);
        Ok("created at the requested address".to_owned())
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
            let resource = ctx.commit(UPLOAD, &buffer(PAGE)).ok("64 KiB")?;
            ctx.allocation_of(&resource)?
        };
        let again = Recreation::open(ctx, &[recorded])?;
        again.set_next(recorded.start)?;
        let (home, state) = (Home::of(UPLOAD), D3D12_RESOURCE_STATE_GENERIC_READ);
        let created = device::create_resource(again.device(), home, &buffer(PAGE), state, None)
            .ok("at a reserved address")?;
        let pointer = recorded.start.to_le_bytes();
        ctx.map(&created).ok("UPLOAD")?.write(4096, &pointer);
        require_eq("bytes", ctx.map(&created).ok("UPLOAD")?.read(4096, 8), pointer.to_vec())?;
        require_at("the stored value", memory::address(&created), u64::from_le_bytes(pointer))
    }),
    validation("recreate/refused-without-the-tier", GATE, &[Need::NoRecreateAt], |ctx| {
        let address = 1 << 36;
        if tools::set_next_address(ctx.device(), address).result().is_err() {
            return Ok("the device has no ID3D12DeviceTools".to_owned());
        }
        let refused =
            ctx.create_heap(&buffer_heap(DEFAULT, PAGE)).fails("with an address, RecreateAtTier is 0")?;
        tools::set_next_address(ctx.device(), 0).ok("a device with the RecreateAt tier")?;
        heap(ctx, PAGE)?;
        Ok(refused)
    }),
];

const TILED_REPLAY: &[Need] = &[Need::RecreateAt, Need::DeviceFactory, Need::TiledResources];

/// Returns the distance between two addresses. Messages show distances, because addresses differ from run to run.
fn distance(from: u64, to: u64) -> i64 {
    to.wrapping_sub(from).cast_signed()
}

/// Fails the check unless an address has the expected value.
fn require_at(what: &str, found: u64, expected: u64) -> Verdict {
    require(found == expected, || {
        format!("{what} is {} bytes away from the expected address", distance(expected, found))
    })
}

/// Fails the check unless a range of addresses has the expected value.
fn require_same(what: &str, found: Allocation, expected: Allocation) -> Verdict {
    require_at(what, found.start, expected.start)?;
    require_eq(format!("SizeInBytes of {what}"), found.size, expected.size)
}

/// Creates a DEFAULT heap for buffers on the device under test.
fn heap(ctx: &Context, size: u64) -> Result<ID3D12Heap, Stop> {
    ctx.create_heap(&buffer_heap(DEFAULT, size)).ok(format!("{size} bytes"))
}

/// Creates a heap on the device under test and returns it with its addresses.
fn record_alive(ctx: &Context, size: u64) -> Result<(ID3D12Heap, Allocation), Stop> {
    let heap = heap(ctx, size)?;
    let found = ctx.allocation_of(&heap)?;
    Ok((heap, found))
}

/// Creates and releases a heap on the device under test and returns the addresses that it had.
fn record(ctx: &Context, size: u64) -> Result<Allocation, Stop> {
    record_alive(ctx, size).map(|(_, found)| found)
}

/// Creates a device that reserves the addresses that a heap of the device under test had.
fn reserved(ctx: &Context, size: u64) -> Result<(Recreation, Allocation), Stop> {
    let recorded = record(ctx, size)?;
    Ok((Recreation::open(ctx, &[recorded])?, recorded))
}

/// Creates a heap at the addresses that a heap of the device under test had.
fn recreated_heap(ctx: &Context, size: u64) -> Result<(Recreation, ID3D12Heap, Allocation), Stop> {
    let (again, recorded) = reserved(ctx, size)?;
    let heap = again.heap_at(recorded, size).ok("at a reserved address")?;
    require_same("the allocation", ctx.allocation_of(&heap)?, recorded)?;
    proof::heap_holds_bytes(&heap)?;
    Ok((again, heap, recorded))
}

/// A device of the factory with reserved addresses, at which objects are created again.
struct Recreation {
    device: ID3D12Device,
}

impl Recreation {
    /// Creates a device that reserves `ranges` and nothing else.
    fn open(context: &Context, ranges: &[Allocation]) -> Result<Self, Stop> {
        Self::open_after(context, |tools| tools::reserve(tools, ranges).ok("recorded ranges"))
    }

    /// Creates a device after `set` has changed the settings of the factory's tools. The list of reserved ranges is
    /// empty before and afterwards.
    fn open_after(
        context: &Context,
        set: impl FnOnce(&ID3D12Tools1) -> Result<(), Stop>,
    ) -> Result<Self, Stop> {
        let tools = context.tools()?;
        tools::clear(&tools);
        let device = set(&tools).and_then(|()| context.factory_device());
        tools::clear(&tools);
        Ok(Self { device: device? })
    }

    fn device(&self) -> &ID3D12Device {
        &self.device
    }

    /// Sets the address of the next object.
    fn set_next(&self, address: u64) -> Result<(), Stop> {
        tools::set_next_address(&self.device, address).ok("a device with the RecreateAt tier")
    }

    /// Creates a DEFAULT heap for buffers.
    fn heap(&self, size: u64) -> Answer<ID3D12Heap> {
        device::create_heap(&self.device, &buffer_heap(DEFAULT, size))
    }

    /// Creates a DEFAULT heap for buffers at the start of `addresses`.
    fn heap_at(&self, addresses: Allocation, size: u64) -> Answer<ID3D12Heap> {
        // A device without the interface is detected by the heap's address.
        let _ = tools::set_next_address(&self.device, addresses.start);
        self.heap(size)
    }

    /// Creates a committed DEFAULT buffer at an address.
    fn buffer_at(&self, address: u64, width: u64) -> Answer<ID3D12Resource> {
        let _ = tools::set_next_address(&self.device, address);
        self.create(Home::of(DEFAULT), width)
    }

    /// Creates a placed buffer, at the address that was set if there is one.
    fn place(&self, heap: &ID3D12Heap, offset: u64, width: u64) -> Answer<ID3D12Resource> {
        self.create(Home::Placed(heap, offset), width)
    }

    fn create(&self, home: Home<'_>, width: u64) -> Answer<ID3D12Resource> {
        device::create_resource(&self.device, home, &buffer(width), COMMON, None)
    }

    /// Fails the check unless the device still creates objects after a refusal.
    fn is_alive(&self, ctx: &Context) -> Verdict {
        let reason = device::removed_reason(self.device());
        ensure!(reason.is_ok(), "the device was removed: {}", crate::hresult::Named(reason));
        // A refused creation leaves the address to the next.
        self.set_next(0)?;
        let heap = self.heap(PAGE).ok("after a refusal")?;
        ctx.allocation_of(&heap)?;
        Ok("refused; the device remains usable".to_owned())
    }
}
