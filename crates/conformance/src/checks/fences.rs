//! Fences, queues and command lists: order and completion.

use std::sync::mpsc;
use std::time::Duration;

use heapwright_d3d12::*;

use crate::answer::{Answer, Stop, Verdict, each, ensure, failed, require, require_eq};
use crate::check::{Check, check, validation};
use crate::com::commands;
use crate::context::Context;
use crate::desc::{BUNDLE, COMPUTE, COPY, DIRECT};
use crate::queue::Queue;

const FENCE: &str = "Learn, ID3D12Fence";
const QUEUE: &str = "Learn, ID3D12CommandQueue";
const RELEASED: &str = "vkd3d-proton, tests of fences that are set back and released";
const LIST: &str = "Learn, ID3D12GraphicsCommandList";
const NULL_EVENT: &str = "Learn, ID3D12Fence::SetEventOnCompletion, null event";
const SEVERAL: &str = "Learn, ID3D12Device1::SetEventOnMultipleFenceCompletion";
const ANY: &str = "Learn, D3D12_MULTIPLE_FENCE_WAIT_FLAGS, D3D12_MULTIPLE_FENCE_WAIT_FLAG_ANY";
const RESET: &str = "Learn, ID3D12CommandAllocator::Reset";

/// The time for which a check observes that a wait does not end, after work that was submitted later has finished.
const A_WHILE: Duration = Duration::from_millis(20);

pub(super) const CHECKS: &[Check] = &[
    check("fences/initial-value", FENCE, &[], |ctx| {
        each([0, 1, 1 << 40], |value| {
            let fence = ctx.create_fence(value).ok(format!("value {value}"))?;
            require_eq("GetCompletedValue", commands::completed(&fence), value)
        })
    }),
    check("fences/signal-from-the-cpu", "Learn, ID3D12Fence::Signal", &[], |ctx| {
        let fence = ctx.create_fence(0).ok("value 0")?;
        each([1, 2, 100], |value| {
            commands::signal(&fence, value).ok(format!("value {value}"))?;
            require_eq("GetCompletedValue", commands::completed(&fence), value)
        })
    }),
    check("fences/are-apart", FENCE, &[], |ctx| {
        let (one, other) =
            (ctx.create_fence(0).ok("the first object")?, ctx.create_fence(0).ok("the second object")?);
        commands::signal(&one, 5).ok("the first object")?;
        require_eq("the second object", commands::completed(&other), 0)
    }),
    check("fences/shared-handle-keeps-its-fence", "Learn, ID3D12Device::CreateSharedHandle", &[], |ctx| {
        let fence = commands::create_fence(ctx.device(), 7, D3D12_FENCE_FLAG_SHARED).ok("a shared fence")?;
        let handle = commands::create_shared_handle(ctx.device(), &fence).ok("a shared fence")?;
        drop(fence);
        let opened = commands::open_shared_handle(ctx.device(), &handle);
        let opened: ID3D12Fence = opened.ok("a handle whose fence was released")?;
        require_eq("GetCompletedValue", commands::completed(&opened), 7)
    }),
    check("fences/null-event-of-a-reached-value", NULL_EVENT, &[], |ctx| {
        let fence = ctx.create_fence(7).ok("value 7")?;
        for value in [0, 6, 7] {
            let answer = blocked_on(&fence, value)?.recv_timeout(commands::PATIENCE);
            let Ok(answer) = answer else {
                return failed(format!("value {value} of a fence at 7 blocks"));
            };
            answer.ok("a value that was reached")?;
        }
        Ok("returns at once".to_owned())
    }),
    check("fences/null-event-blocks", NULL_EVENT, &[], |ctx| {
        let fence = ctx.create_fence(0).ok("value 0")?;
        let waited = fence.clone();
        // The thread says at which value its wait ended, in case that it runs late.
        let waiter = blocked(move || (commands::block_until(&waited, 3), commands::completed(&waited)))?;
        let ended = |(answer, value): (Answer<()>, u64)| {
            answer.ok("a wait for value 3")?;
            ensure!(value >= 3, "SetEventOnCompletion without an event ended a wait for value 3 at {value}");
            Ok("blocks until the value is reached".to_owned())
        };
        for value in [2, 3] {
            if let Ok(early) = waiter.recv_timeout(A_WHILE) {
                return ended(early);
            }
            commands::signal(&fence, value).ok(format!("value {value}"))?;
        }
        match waiter.recv_timeout(commands::PATIENCE) {
            Ok(answer) => ended(answer),
            Err(_) => failed("a wait for value 3 still blocks at value 3"),
        }
    }),
    check("fences/several-of-which-all", SEVERAL, &[], |ctx| {
        returns_at_once(ctx, [2, 3], [2, 3], D3D12_MULTIPLE_FENCE_WAIT_FLAG_NONE)
    }),
    check("fences/several-of-which-any", ANY, &[], |ctx| {
        returns_at_once(ctx, [0, 3], [100, 3], D3D12_MULTIPLE_FENCE_WAIT_FLAG_ANY)
    }),
    check("fences/queue-signals", "Learn, ID3D12CommandQueue::Signal", &[], |ctx| {
        each([DIRECT, COMPUTE, COPY], |list_type| {
            let queue = ctx.queue(list_type)?;
            queue.run(|_| ())?;
            require_eq("the fence", commands::completed(&queue.fence), 1)
        })
    }),
    check("fences/queue-signals-in-order", "Learn, ID3D12CommandQueue::Signal", &[], |ctx| {
        let queue = ctx.queue(DIRECT)?;
        for value in 1..=100 {
            commands::queue_signal(&queue.queue, &queue.fence, value).ok(format!("value {value}"))?;
        }
        let mut last = 0;
        while last < 100 {
            let found = commands::completed(&queue.fence);
            ensure!(found >= last, "the completed value fell from {last} to {found}");
            if found == last {
                require(commands::wait_until(&queue.fence, last + 1, commands::PATIENCE), || {
                    format!("the completed value stays at {last}")
                })?;
            }
            last = found.max(last);
        }
        Ok("100 values in ascending order".to_owned())
    }),
    check("fences/queue-waits-for-the-cpu", "Learn, ID3D12CommandQueue::Wait", &[], |ctx| {
        let queue = ctx.queue(DIRECT)?;
        let gate = ctx.create_fence(0).ok("value 0")?;
        wait(&queue, &gate, 1)?;
        signal(&queue, &queue.fence, 1)?;
        let_others_run(ctx)?;
        ensure!(!commands::wait_until(&queue.fence, 1, A_WHILE), "the queue did not wait for the fence");
        commands::signal(&gate, 1).ok("value 1")?;
        goes_on(&queue, "the queue still waits after the fence reached the value")
    }),
    check("fences/queue-waits-for-a-queue", "Learn, ID3D12CommandQueue::Wait", &[], |ctx| {
        let (first, second) = (ctx.queue(DIRECT)?, ctx.queue(COPY)?);
        let (gate, handover) = (ctx.create_fence(0).ok("value 0")?, ctx.create_fence(0).ok("value 0")?);
        wait(&second, &handover, 1)?;
        signal(&second, &second.fence, 1)?;
        wait(&first, &gate, 1)?;
        signal(&first, &handover, 1)?;
        let_others_run(ctx)?;
        require(!commands::wait_until(&second.fence, 1, A_WHILE), || {
            "the second queue did not wait for the first".to_owned()
        })?;
        commands::signal(&gate, 1).ok("value 1")?;
        goes_on(&second, "the second queue still waits after the fence reached the value")
    }),
    check("fences/queue-waits-for-nothing", "Learn, ID3D12CommandQueue::Wait", &[], |ctx| {
        let queue = ctx.queue(DIRECT)?;
        let reached = ctx.create_fence(5).ok("value 5")?;
        wait(&queue, &reached, 5)?;
        wait(&queue, &reached, 1)?;
        signal(&queue, &queue.fence, 1)?;
        goes_on(&queue, "a wait for a value that was reached blocks the queue")
    }),
    check("fences/first-wait-is-released-for-good", RELEASED, &[], |ctx| {
        let (queue, fence) = (ctx.queue(DIRECT)?, ctx.create_fence(0).ok("value 0")?);
        wait(&queue, &fence, 1)?;
        signal(&queue, &queue.fence, 1)?;
        pulse(&fence)?;
        goes_on(&queue, "the queue still waits for a value that the fence had during the wait")
    }),
    check("fences/queue-wait-is-released-for-good", RELEASED, &[], |ctx| {
        let queue = ctx.queue(DIRECT)?;
        let [fence, gate] = [ctx.create_fence(0).ok("value 0")?, ctx.create_fence(0).ok("value 0")?];
        wait(&queue, &gate, 1)?;
        // Queued behind another wait.
        wait(&queue, &fence, 1)?;
        signal(&queue, &queue.fence, 1)?;
        pulse(&fence)?;
        commands::signal(&gate, 1).ok("value 1")?;
        goes_on(&queue, "the queue still waits for a value that the fence had while the wait was queued")
    }),
    check("fences/null-event-is-released-for-good", RELEASED, &[], |ctx| {
        let fence = ctx.create_fence(0).ok("value 0")?;
        let waiter = blocked_on(&fence, 1)?;
        let pulses = std::time::Instant::now();
        while pulses.elapsed() < commands::PATIENCE {
            pulse(&fence)?;
            if let Ok(answer) = waiter.recv_timeout(Duration::from_millis(1)) {
                answer.ok("a value that was reached")?;
                return Ok("a wait ends at a value that the fence no longer has".to_owned());
            }
        }
        failed("SetEventOnCompletion without an event misses a value that the fence had during the wait")
    }),
    check("fences/release-releases-the-queue", RELEASED, &[], |ctx| {
        let queue = ctx.queue(DIRECT)?;
        let never = ctx.create_fence(0).ok("value 0")?;
        wait(&queue, &never, u64::MAX)?;
        signal(&queue, &queue.fence, 1)?;
        drop(never);
        goes_on(&queue, "the queue still waits for a released fence")
    }),
    check("fences/queue-desc", "Learn, ID3D12CommandQueue::GetDesc", &[], |ctx| {
        each([DIRECT, COMPUTE, COPY], |list_type| {
            let queue = ctx.queue(list_type)?;
            require_eq("Type", commands::queue_type(&queue.queue), list_type)
        })
    }),
    check("fences/queue-of-bundles-refused", QUEUE, &[], |ctx| {
        each([BUNDLE, 100], |list_type| {
            commands::create_queue(ctx.device(), list_type).refused(format!("type {list_type}"))
        })
    }),
    check("fences/timestamp-frequency", "Learn, ID3D12CommandQueue::GetTimestampFrequency", &[], |ctx| {
        let queue = ctx.queue(DIRECT)?;
        let found = commands::timestamp_frequency(&queue.queue).ok("direct")?;
        ensure!(found > 0, "the frequency is 0");
        Ok(format!("{found} ticks a second"))
    }),
    check("fences/list-type", "Learn, ID3D12CommandList::GetType", &[], |ctx| {
        each([DIRECT, COMPUTE, COPY], |list_type| {
            require_eq("GetType", ctx.queue(list_type)?.list.list_type(), list_type)
        })
    }),
    validation("fences/list-closes-once", "Learn, ID3D12GraphicsCommandList::Close", &[], |ctx| {
        let queue = ctx.queue(DIRECT)?;
        let hresult = queue.list.close().fails("a closed list")?;
        Ok(hresult)
    }),
    validation("fences/open-list-is-not-reset", "Learn, ID3D12GraphicsCommandList::Reset", &[], |ctx| {
        let queue = ctx.queue(DIRECT)?;
        let reset = || queue.list.reset(&queue.allocator);
        reset().ok("a closed list")?;
        let hresult = reset().fails("an open list")?;
        queue.list.close().ok("an open list")?;
        Ok(hresult)
    }),
    validation("fences/allocator-in-recording-is-not-reset", RESET, &[], |ctx| {
        let queue = ctx.queue(DIRECT)?;
        queue.list.reset(&queue.allocator).ok("a closed list")?;
        let hresult = commands::reset_allocator(&queue.allocator).fails("while a list records")?;
        queue.list.close().ok("an open list")?;
        Ok(hresult)
    }),
    check("fences/list-runs-again", LIST, &[], |ctx| {
        let queue = ctx.queue(DIRECT)?;
        queue.record(|_| Ok(()))?;
        let mut last = 0;
        for _ in 0..10 {
            last = queue.submit()?;
        }
        queue.wait(last)?;
        Ok("executed 10 times without recording again".to_owned())
    }),
    check("fences/list-of-another-type-refused", "Learn, ID3D12Device::CreateCommandList", &[], |ctx| {
        let queue = ctx.queue(COPY)?;
        commands::create_list(ctx.device(), DIRECT, &queue.allocator)
            .map(drop)
            .refused("a direct list on a copy allocator")
    }),
];

/// Runs a blocking wait on a thread and returns the receiver of its result.
fn blocked<T: Send + 'static>(block: impl FnOnce() -> T + Send + 'static) -> Result<mpsc::Receiver<T>, Stop> {
    let (sender, receiver) = mpsc::channel();
    let (begins, begun) = mpsc::channel();
    std::thread::Builder::new()
        .name("fence waiter".to_owned())
        .spawn(move || {
            // Somebody waits for it.
            let _ = begins.send(());
            // The check may have given up on the answer.
            let _ = sender.send(block());
        })
        .map_err(|error| Stop::Skipped(format!("failed to spawn the waiting thread: {error}")))?;
    // On a busy machine a thread may begin late; a call that returns too early would not be seen.
    let _ = begun.recv();
    Ok(receiver)
}

/// Runs empty lists on other queues, which gives a queue that fails to wait the time to show it on a busy machine.
fn let_others_run(ctx: &Context) -> Result<(), Stop> {
    for list_type in [DIRECT, COPY] {
        ctx.queue(list_type)?.run(|_| ())?;
    }
    Ok(())
}

/// Blocks a thread until a fence reaches a value.
fn blocked_on(fence: &ID3D12Fence, value: u64) -> Result<mpsc::Receiver<Answer<()>>, Stop> {
    let fence = fence.clone();
    blocked(move || commands::block_until(&fence, value))
}

/// Fails the check unless a wait for values that are reached returns at once.
fn returns_at_once(
    ctx: &Context,
    values: [u64; 2],
    awaited: [u64; 2],
    flags: D3D12_MULTIPLE_FENCE_WAIT_FLAGS,
) -> Verdict {
    let newer: ID3D12Device1 = ctx.interface("ID3D12Device1")?;
    let [one, other] = values;
    let fences = [Some(ctx.create_fence(one).ok("one")?), Some(ctx.create_fence(other).ok("other")?)];
    let waiter = blocked(move || commands::block_until_several(&newer, &fences, &awaited, flags))?;
    match waiter.recv_timeout(commands::PATIENCE) {
        Ok(answer) => answer.taken("values that were reached"),
        Err(_) => failed(format!("fences at {values:?} and values {awaited:?}: the call blocks")),
    }
}

/// Fails the check unless the queue signals its fence.
fn goes_on(queue: &Queue, otherwise: &str) -> Verdict {
    require(commands::wait_until(&queue.fence, 1, commands::PATIENCE), || otherwise.to_owned())
}

/// Sets a fence to 1 and back to 0.
fn pulse(fence: &ID3D12Fence) -> Result<(), Stop> {
    commands::signal(fence, 1).ok("value 1")?;
    commands::signal(fence, 0).ok("value 0")
}

fn wait(queue: &Queue, fence: &ID3D12Fence, value: u64) -> Result<(), Stop> {
    commands::queue_wait(&queue.queue, fence, value).ok("a fence")
}

fn signal(queue: &Queue, fence: &ID3D12Fence, value: u64) -> Result<(), Stop> {
    commands::queue_signal(&queue.queue, fence, value).ok("a fence")
}
