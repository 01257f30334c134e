//! Each call of the device fails once: the error says so, nothing has changed, and everything works afterwards. The
//! device is removed.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

use heapwright::d3d12::*;
use heapwright::{ByteSize, Error, FenceValue, ResourceAllocator, ResourceKind};
use heapwright_intercept::{Intercepted, intercept, method};
use heapwright_runtime::Instance;
use heapwright_tiles::{GrowingBuffer, StreamingTexture, TilePool};
use windows_core::{HRESULT, Interface};

use crate::gpu::*;

/// The regions and ranges of each `UpdateTileMappings` of a queue.
pub(crate) struct Updates(RefCell<Vec<(u32, u32)>>);

// SAFETY: only the test's thread calls the queue.
unsafe impl Sync for Updates {}

impl Updates {
    pub(crate) fn take(&self) -> Vec<(u32, u32)> {
        self.0.take()
    }
}

/// Counts the calls of `UpdateTileMappings`.
pub(crate) fn count_updates(queue: &ID3D12CommandQueue) -> &'static Updates {
    // The queue may outlive the test.
    let calls: &'static Updates = Box::leak(Box::new(Updates(RefCell::default())));
    // SAFETY: the interface is that of a queue, and only the test's thread uses it.
    unsafe {
        intercept(queue, calls, |methods| {
            methods.of::<ID3D12CommandQueue>().replace(
                method!(UpdateTileMappings),
                |call, (resource, regions, starts, sizes, heap, ranges, flags, offsets, counts, how)| {
                    call.data.0.borrow_mut().push((regions, ranges));
                    (call.original.UpdateTileMappings)(
                        call.this, resource, regions, starts, sizes, heap, ranges, flags, offsets, counts,
                        how,
                    );
                },
            );
        });
    }
    calls
}

/// Number of calls until one fails; `u64::MAX` for none.
struct Countdown(AtomicU64);

impl Countdown {
    fn fails(&self) -> bool {
        let left = self.0.load(Ordering::Relaxed);
        self.0.store(if left == u64::MAX { left } else { left.wrapping_sub(1) }, Ordering::Relaxed);
        left == 0
    }

    fn has_failed(&self) -> bool {
        self.0.load(Ordering::Relaxed) == u64::MAX
    }
}

const FAILURE: HRESULT = E_OUTOFMEMORY;

/// Makes calls of a device fail that create something.
fn inject(gpu: &Instance) -> &'static Countdown {
    let countdown: &'static Countdown = Box::leak(Box::new(Countdown(AtomicU64::new(u64::MAX))));
    let newest: ID3D12Device14 = gpu.device.cast().expect("simulated GPUs have the newest interface");
    macro_rules! fail {
        ($methods:ident, $interface:ident.$method:ident($($argument:ident),*)) => {
            $methods.of::<$interface>().replace(method!($method), |call: &Intercepted<$interface, Countdown>, ($($argument,)*)| {
                if call.data.fails() { FAILURE } else { (call.original.$method)(call.this, $($argument),*) }
            })
        };
    }
    // SAFETY: this is the newest interface, and only the test's thread uses the device so far.
    unsafe {
        intercept(&newest, countdown, |methods| {
            fail!(methods, ID3D12Device.CreateHeap(desc, riid, heap));
            fail!(methods, ID3D12Device4.CreateHeap1(desc, session, riid, heap));
            fail!(methods, ID3D12Device.CreateReservedResource(desc, state, clear, riid, resource));
            fail!(
                methods,
                ID3D12Device.CreatePlacedResource(heap, offset, desc, state, clear, riid, resource)
            );
            fail!(
                methods,
                ID3D12Device8.CreatePlacedResource1(heap, offset, desc, state, clear, riid, resource)
            );
            fail!(methods, ID3D12Device.GetDeviceRemovedReason());
        });
    }
    countdown
}

/// What a scenario did.
#[derive(Debug, Default)]
struct Outcome {
    errors: Vec<String>,
    calls: u64,
}

/// Runs a scenario in which a call fails, if `fails` is the number of one.
fn scenario(fails: u64) -> Outcome {
    let gpu = open("discrete");
    let countdown = inject(&gpu);
    let allocator = allocator(&gpu);
    let pool = TilePool::new(&allocator, pool_desc(ResourceKind::Any, ByteSize::from_mib(1))).expect("tiles");
    let mut queue = Queue::new(&gpu.device, D3D12_COMMAND_LIST_TYPE_DIRECT);
    countdown.0.store(fails, Ordering::Relaxed);
    let mut errors = Vec::new();
    fn note<T>(errors: &mut Vec<String>, result: Result<T, Error>) -> Option<T> {
        result.map_err(|error| errors.push(error.to_string())).ok()
    }
    // The second time, everything succeeds.
    for _ in 0..2 {
        let made = [
            GrowingBuffer::in_tiles(&pool, &buffer_of(100)),
            GrowingBuffer::plain(&allocator, &buffer_of(100)),
        ];
        let mut buffers: Vec<GrowingBuffer> =
            made.into_iter().filter_map(|made| note(&mut errors, made)).collect();
        let texture = StreamingTexture::new(&pool, &texture_of(512, 5), D3D12_RESOURCE_STATE_COMMON, None);
        let mut texture = note(&mut errors, texture);
        for size in [20, 70, 5] {
            for buffer in &mut buffers {
                let before = buffer.committed();
                let changed = buffer
                    .grow(ByteSize::new(size * TILE))
                    .and_then(|()| buffer.shrink(ByteSize::new(size * TILE)));
                if note(&mut errors, changed).is_none() {
                    assert_eq!(buffer.committed(), before, "nothing has changed");
                } else if buffer.is_in_tiles() {
                    assert_eq!(buffer.committed(), ByteSize::new(size * TILE));
                }
                // SAFETY: the value is signaled below. What a buffer loses is of no interest here.
                note(&mut errors, unsafe { buffer.update(&queue.queue, &queue.fence, queue.next()) });
            }
            if let Some(texture) = &mut texture {
                note(&mut errors, texture.map_mip(0).and_then(|()| texture.map_mip(4)));
                // SAFETY: as above.
                note(&mut errors, unsafe { texture.update(&queue.queue, &queue.fence, queue.next()) });
            }
            queue.submit(|_| ());
            queue.finish();
            pool.collect();
            allocator.collect();
            let of_texture = texture.iter().map(StreamingTexture::committed);
            let in_tiles = buffers.iter().filter(|buffer| buffer.is_in_tiles()).map(GrowingBuffer::committed);
            let committed: u64 = of_texture.chain(in_tiles).map(ByteSize::get).sum();
            assert_eq!(pool.stats().used.get(), committed, "no tile is lost");
        }
    }
    let calls = fails.wrapping_sub(countdown.0.load(Ordering::Relaxed));
    assert_eq!(countdown.has_failed(), fails < calls, "the call is made");
    drop(pool);
    assert_eq!(allocator.stats().used, ByteSize::ZERO, "everything is freed");
    allocator.release_empty_heaps();
    assert_eq!(allocator.reserved(), ByteSize::ZERO);
    Outcome { errors, calls }
}

#[test]
fn each_call_of_the_device_may_fail() {
    let sound = scenario(u64::MAX - 1);
    assert_eq!(sound.errors, Vec::<String>::new());
    assert!(sound.calls > 20, "{sound:?}");
    let mut reported = 0;
    for number in 0..sound.calls {
        let outcome = scenario(number);
        // The allocator may try another heap when one is refused.
        assert!(outcome.errors.len() <= 1, "call {number}: {outcome:?}");
        assert!(
            outcome
                .errors
                .iter()
                .all(|error| error.contains("E_OUTOFMEMORY") || error.contains("0x8007000E")),
            "{outcome:?}"
        );
        reported += outcome.errors.len();
    }
    assert!(reported > 10, "{reported}");
}

#[test]
fn the_device_is_removed() {
    let gpu = open("discrete");
    let allocator: ResourceAllocator = allocator(&gpu);
    let pool = pool(&allocator);
    let queue = Queue::new(&gpu.device, D3D12_COMMAND_LIST_TYPE_DIRECT);
    let mut buffer = GrowingBuffer::in_tiles(&pool, &buffer_of(100)).expect("reserved");
    buffer.grow(ByteSize::new(20 * TILE)).expect("there is memory");
    unsafe { buffer.update(&queue.queue, &queue.fence, FenceValue::new(1)) }.expect("mapped");
    buffer.shrink(ByteSize::new(TILE)).expect("in tiles");
    let five: ID3D12Device5 = gpu.device.cast().expect("simulated GPUs have it");
    unsafe { five.RemoveDevice() };
    let error =
        unsafe { buffer.update(&queue.queue, &queue.fence, FenceValue::new(2)) }.expect_err("removed");
    assert!(error.is_device_removed() && error.to_string().contains("UpdateTileMappings"), "{error}");
    // All fences are reached.
    pool.collect();
    assert_eq!(pool.stats().used, ByteSize::new(TILE));
    let error = buffer.grow(ByteSize::new(90 * TILE)).expect_err("removed");
    assert!(error.is_device_removed(), "{error}");
    assert_eq!(buffer.committed(), ByteSize::new(TILE));
    let error = GrowingBuffer::in_tiles(&pool, &buffer_of(1)).expect_err("removed");
    assert!(error.is_device_removed(), "{error}");
    drop(buffer);
    assert_eq!((pool.stats().used, pool.stats().heap_count), (ByteSize::ZERO, 0));
}

/// A device that reports tiles which no resource can have gets an error.
#[test]
fn tiles_that_do_not_add_up_are_refused() {
    type Lie = fn(&mut u32, &mut D3D12_PACKED_MIP_INFO);
    let lies: [Lie; 4] = [
        |total, _| *total += 1,
        |_, packed| packed.NumTilesForPackedMips = u32::MAX,
        |_, packed| packed.StartTileIndexInOverallResource = u32::MAX,
        |total, packed| {
            // With a gap.
            *total += 1;
            packed.StartTileIndexInOverallResource += 1;
        },
    ];
    for (number, lie) in lies.into_iter().enumerate() {
        let gpu = open("discrete");
        // The device may outlive the test.
        let lie: &'static Lie = Box::leak(Box::new(lie));
        let newest: ID3D12Device14 = gpu.device.cast().expect("simulated GPUs have the newest interface");
        // SAFETY: this is the newest interface, and only the test's thread uses the device so far.
        unsafe {
            intercept(&newest, lie, |methods| {
                methods.of::<ID3D12Device>().replace(
                    method!(GetResourceTiling),
                    |call, (resource, total, packed, shape, count, first, parts)| {
                        let ask = call.original.GetResourceTiling;
                        ask(call.this, resource, total, packed, shape, count, first, parts);
                        if let (Some(total), Some(packed)) = (total.as_mut(), packed.as_mut()) {
                            (call.data)(total, packed);
                        }
                    },
                );
            });
        }
        let allocator = allocator(&gpu);
        let pool =
            TilePool::new(&allocator, pool_desc(ResourceKind::Any, ByteSize::from_mib(1))).expect("tiles");
        let made = StreamingTexture::new(&pool, &texture_of(1024, 11), D3D12_RESOURCE_STATE_COMMON, None);
        let error = made.expect_err("the texture has no such tiles");
        assert!(error.is_unsupported() && error.to_string().contains("do not add up"), "{number}: {error}");
    }
}
