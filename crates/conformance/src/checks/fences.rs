//! Fences, queues and command lists: order and completion.

use std::sync::mpsc;
use std::time::Duration;

use heapwright_d3d12::*;

use crate::answer::{Stop, Verdict, failed, require, require_eq};
use crate::check::{Check, check};
use crate::com::commands;
use crate::context::{Context, Queue};

const FENCE: &str = "D3D12, ID3D12Fence";
const QUEUE: &str = "D3D12, ID3D12CommandQueue";
const RELEASED: &str = "Windows: vkd3d-proton's tests of fences that are set back and released";
const LIST: &str = "D3D12, ID3D12GraphicsCommandList";

const DIRECT: D3D12_COMMAND_LIST_TYPE = D3D12_COMMAND_LIST_TYPE_DIRECT;
const COMPUTE: D3D12_COMMAND_LIST_TYPE = D3D12_COMMAND_LIST_TYPE_COMPUTE;
const COPY: D3D12_COMMAND_LIST_TYPE = D3D12_COMMAND_LIST_TYPE_COPY;

/// How long something is watched that must not happen, once others who were asked later are done.
const A_WHILE: Duration = Duration::from_millis(20);

pub(super) const CHECKS: &[Check] = &[
    check("fences/initial-value", FENCE, &[], |ctx| {
        for value in [0, 1, 1 << 40] {
            let fence = ctx.create_fence(value).ok(format!("value {value}"))?;
            require_eq("GetCompletedValue", commands::completed(&fence), value)?;
        }
        Ok("3 values".to_owned())
    }),
    check("fences/signal-from-the-cpu", "D3D12, ID3D12Fence::Signal", &[], |ctx| {
        let fence = ctx.create_fence(0).ok("value 0")?;
        for value in [1, 2, 100] {
            ctx.answer("ID3D12Fence::Signal", commands::signal(&fence, value))
                .ok(format!("value {value}"))?;
            require_eq("GetCompletedValue", commands::completed(&fence), value)?;
        }
        Ok("1, 2 and 100".to_owned())
    }),
    check("fences/are-apart", FENCE, &[], |ctx| {
        let (one, other) = (ctx.create_fence(0).ok("the first")?, ctx.create_fence(0).ok("the second")?);
        ctx.answer("ID3D12Fence::Signal", commands::signal(&one, 5)).ok("the first")?;
        require_eq("the second", commands::completed(&other), 0)?;
        Ok("the second is untouched".to_owned())
    }),
    check("fences/null-event-of-a-reached-value", "D3D12, SetEventOnCompletion, null event", &[], |ctx| {
        let fence = ctx.create_fence(7).ok("value 7")?;
        for value in [0, 6, 7] {
            let answer = blocked_on(&fence, value)?.recv_timeout(commands::PATIENCE);
            let Ok(answer) = answer else { return failed(format!("value {value} of a fence at 7 blocks")) };
            ctx.answer("SetEventOnCompletion", answer).ok("a value that is reached")?;
        }
        Ok("returns at once".to_owned())
    }),
    check("fences/null-event-blocks", "D3D12, SetEventOnCompletion, null event", &[], |ctx| {
        let fence = ctx.create_fence(0).ok("value 0")?;
        let waiter = blocked_on(&fence, 3)?;
        let early = waiter.recv_timeout(A_WHILE);
        if let Ok(answer) = early {
            ctx.answer("SetEventOnCompletion", answer).ok("a value that is not reached")?;
            return failed("SetEventOnCompletion without an event returned before the value was reached");
        }
        ctx.answer("ID3D12Fence::Signal", commands::signal(&fence, 2)).ok("value 2")?;
        require(waiter.recv_timeout(A_WHILE).is_err(), || "value 2 released a waiter for 3".to_owned())?;
        ctx.answer("ID3D12Fence::Signal", commands::signal(&fence, 3)).ok("value 3")?;
        match waiter.recv_timeout(commands::PATIENCE) {
            Ok(answer) => ctx.answer("SetEventOnCompletion", answer).ok("a value that is reached")?,
            Err(_) => return failed("value 3 did not release the waiter"),
        }
        Ok("blocks until the value is reached".to_owned())
    }),
    check("fences/several-of-which-all", "D3D12, SetEventOnMultipleFenceCompletion", &[], |ctx| {
        returns_at_once(ctx, [2, 3], [2, 3], D3D12_MULTIPLE_FENCE_WAIT_FLAG_NONE)
    }),
    check("fences/several-of-which-any", "D3D12, D3D12_MULTIPLE_FENCE_WAIT_FLAG_ANY", &[], |ctx| {
        returns_at_once(ctx, [0, 3], [100, 3], D3D12_MULTIPLE_FENCE_WAIT_FLAG_ANY)
    }),
    check("fences/queue-signals", "D3D12, ID3D12CommandQueue::Signal", &[], |ctx| {
        for list_type in [DIRECT, COMPUTE, COPY] {
            let queue = ctx.queue(list_type)?;
            queue.run(|_| ())?;
            require_eq("the fence", commands::completed(&queue.fence), 1)?;
        }
        Ok("direct, compute and copy queues".to_owned())
    }),
    check("fences/queue-signals-in-order", "D3D12, ID3D12CommandQueue::Signal", &[], |ctx| {
        let queue = ctx.queue(DIRECT)?;
        for value in 1..=100 {
            let signal = commands::queue_signal(&queue.queue, &queue.fence, value);
            ctx.answer("ID3D12CommandQueue::Signal", signal).ok(format!("value {value}"))?;
        }
        let mut last = 0;
        while last < 100 {
            let found = commands::completed(&queue.fence);
            require(found >= last, || format!("the fence fell from {last} to {found}"))?;
            if found == last {
                require(commands::wait_until(&queue.fence, last + 1, commands::PATIENCE), || {
                    format!("stuck at {last}")
                })?;
            }
            last = found.max(last);
        }
        Ok("100 values, never backwards".to_owned())
    }),
    check("fences/queue-waits-for-the-cpu", "D3D12, ID3D12CommandQueue::Wait", &[], |ctx| {
        let queue = ctx.queue(DIRECT)?;
        let gate = ctx.create_fence(0).ok("value 0")?;
        wait(ctx, &queue, &gate, 1)?;
        signal(ctx, &queue, &queue.fence, 1)?;
        let_others_run(ctx)?;
        require(!commands::wait_until(&queue.fence, 1, A_WHILE), || "the queue did not wait".to_owned())?;
        ctx.answer("ID3D12Fence::Signal", commands::signal(&gate, 1)).ok("value 1")?;
        require(commands::wait_until(&queue.fence, 1, commands::PATIENCE), || {
            "the queue waits for ever".to_owned()
        })?;
        Ok("until the value was reached".to_owned())
    }),
    check("fences/queue-waits-for-a-queue", "D3D12, ID3D12CommandQueue::Wait", &[], |ctx| {
        let (first, second) = (ctx.queue(DIRECT)?, ctx.queue(COPY)?);
        let (gate, handover) = (ctx.create_fence(0).ok("value 0")?, ctx.create_fence(0).ok("value 0")?);
        wait(ctx, &second, &handover, 1)?;
        signal(ctx, &second, &second.fence, 1)?;
        wait(ctx, &first, &gate, 1)?;
        signal(ctx, &first, &handover, 1)?;
        let_others_run(ctx)?;
        require(!commands::wait_until(&second.fence, 1, A_WHILE), || "the second did not wait".to_owned())?;
        ctx.answer("ID3D12Fence::Signal", commands::signal(&gate, 1)).ok("value 1")?;
        require(commands::wait_until(&second.fence, 1, commands::PATIENCE), || {
            "the second waits for ever".to_owned()
        })?;
        Ok("the second runs after the first".to_owned())
    }),
    check("fences/queue-waits-for-nothing", "D3D12, ID3D12CommandQueue::Wait", &[], |ctx| {
        let queue = ctx.queue(DIRECT)?;
        let reached = ctx.create_fence(5).ok("value 5")?;
        wait(ctx, &queue, &reached, 5)?;
        wait(ctx, &queue, &reached, 1)?;
        signal(ctx, &queue, &queue.fence, 1)?;
        require(commands::wait_until(&queue.fence, 1, commands::PATIENCE), || {
            "a reached value blocks".to_owned()
        })?;
        Ok("a reached value does not block".to_owned())
    }),
    check("fences/first-wait-is-released-for-good", RELEASED, &[], |ctx| {
        let (queue, fence) = (ctx.queue(DIRECT)?, ctx.create_fence(0).ok("value 0")?);
        wait(ctx, &queue, &fence, 1)?;
        signal(ctx, &queue, &queue.fence, 1)?;
        for value in [1, 0] {
            ctx.answer("ID3D12Fence::Signal", commands::signal(&fence, value))
                .ok(format!("value {value}"))?;
        }
        require(commands::wait_until(&queue.fence, 1, commands::PATIENCE), || {
            "a fence that had its value while the queue waited holds the queue up".to_owned()
        })?;
        Ok("by a value that the fence has no longer".to_owned())
    }),
    check("fences/queue-wait-is-released-for-good", RELEASED, &[], |ctx| {
        let queue = ctx.queue(DIRECT)?;
        let [fence, gate] = [ctx.create_fence(0).ok("value 0")?, ctx.create_fence(0).ok("value 0")?];
        wait(ctx, &queue, &gate, 1)?;
        // Queued behind another wait.
        wait(ctx, &queue, &fence, 1)?;
        signal(ctx, &queue, &queue.fence, 1)?;
        for value in [1, 0] {
            ctx.answer("ID3D12Fence::Signal", commands::signal(&fence, value))
                .ok(format!("value {value}"))?;
        }
        ctx.answer("ID3D12Fence::Signal", commands::signal(&gate, 1)).ok("value 1")?;
        require(commands::wait_until(&queue.fence, 1, commands::PATIENCE), || {
            "a fence that had its value while the wait was queued holds the queue up".to_owned()
        })?;
        Ok("by a value that the fence has no longer".to_owned())
    }),
    check("fences/null-event-is-released-for-good", RELEASED, &[], |ctx| {
        let fence = ctx.create_fence(0).ok("value 0")?;
        let waiter = blocked_on(&fence, 1)?;
        let pulses = std::time::Instant::now();
        while pulses.elapsed() < commands::PATIENCE {
            for value in [1, 0] {
                let set = commands::signal(&fence, value);
                ctx.answer("ID3D12Fence::Signal", set).ok(format!("value {value}"))?;
            }
            if let Ok(answer) = waiter.recv_timeout(Duration::from_millis(1)) {
                ctx.answer("SetEventOnCompletion", answer).ok("a value that was reached")?;
                return Ok("by a value that the fence has no longer".to_owned());
            }
        }
        failed("SetEventOnCompletion without an event does not see a value that does not last")
    }),
    check("fences/release-releases-the-queue", RELEASED, &[], |ctx| {
        let queue = ctx.queue(DIRECT)?;
        let never = ctx.create_fence(0).ok("value 0")?;
        wait(ctx, &queue, &never, u64::MAX)?;
        signal(ctx, &queue, &queue.fence, 1)?;
        drop(never);
        require(commands::wait_until(&queue.fence, 1, commands::PATIENCE), || {
            "a queue waits for a fence that is released".to_owned()
        })?;
        Ok("with the last reference".to_owned())
    }),
    check("fences/queue-desc", "D3D12, ID3D12CommandQueue::GetDesc", &[], |ctx| {
        for list_type in [DIRECT, COMPUTE, COPY] {
            let queue = ctx.queue(list_type)?;
            require_eq("Type", commands::queue_desc(&queue.queue).Type, list_type)?;
        }
        Ok("direct, compute and copy".to_owned())
    }),
    check("fences/queue-of-bundles-refused", QUEUE, &[], |ctx| {
        for list_type in [D3D12_COMMAND_LIST_TYPE_BUNDLE, 100] {
            let desc = D3D12_COMMAND_QUEUE_DESC { Type: list_type, ..Default::default() };
            let made = commands::create_queue(ctx.device(), &desc);
            ctx.answer("CreateCommandQueue", made).refused(format!("type {list_type}"))?;
        }
        Ok("E_INVALIDARG".to_owned())
    }),
    check("fences/timestamp-frequency", "D3D12, GetTimestampFrequency", &[], |ctx| {
        let queue = ctx.queue(DIRECT)?;
        let found =
            ctx.answer("GetTimestampFrequency", commands::timestamp_frequency(&queue.queue)).ok("direct")?;
        require(found > 0, || "0 ticks a second".to_owned())?;
        Ok(format!("{found} ticks a second"))
    }),
    check("fences/list-type", "D3D12, ID3D12CommandList::GetType", &[], |ctx| {
        for list_type in [DIRECT, COMPUTE, COPY] {
            require_eq("GetType", ctx.queue(list_type)?.list.list_type(), list_type)?;
        }
        Ok("direct, compute and copy".to_owned())
    }),
    check("fences/list-closes-once", "D3D12, ID3D12GraphicsCommandList::Close", &[], |ctx| {
        let queue = ctx.queue(DIRECT)?;
        let hresult =
            ctx.answer("ID3D12GraphicsCommandList::Close", queue.list.close()).fails("a closed list")?;
        Ok(hresult)
    })
    .validates(),
    check("fences/open-list-is-not-reset", "D3D12, ID3D12GraphicsCommandList::Reset", &[], |ctx| {
        let queue = ctx.queue(DIRECT)?;
        let reset = || ctx.answer("ID3D12GraphicsCommandList::Reset", queue.list.reset(&queue.allocator));
        reset().ok("a closed list")?;
        let hresult = reset().fails("an open list")?;
        ctx.answer("ID3D12GraphicsCommandList::Close", queue.list.close()).ok("an open list")?;
        Ok(hresult)
    })
    .validates(),
    check("fences/allocator-in-recording-is-not-reset", "D3D12, ID3D12CommandAllocator::Reset", &[], |ctx| {
        let queue = ctx.queue(DIRECT)?;
        ctx.answer("ID3D12GraphicsCommandList::Reset", queue.list.reset(&queue.allocator))
            .ok("a closed list")?;
        let reset = commands::reset_allocator(&queue.allocator);
        let hresult = ctx.answer("ID3D12CommandAllocator::Reset", reset).fails("while a list records")?;
        ctx.answer("ID3D12GraphicsCommandList::Close", queue.list.close()).ok("an open list")?;
        Ok(hresult)
    })
    .validates(),
    check("fences/list-runs-again", LIST, &[], |ctx| {
        let queue = ctx.queue(DIRECT)?;
        queue.record(|_| Ok(()))?;
        let mut last = 0;
        for _ in 0..10 {
            last = queue.submit()?;
        }
        queue.wait(last)?;
        Ok("10 times without recording again".to_owned())
    }),
    check("fences/list-of-another-type-refused", "D3D12, ID3D12Device::CreateCommandList", &[], |ctx| {
        let queue = ctx.queue(COPY)?;
        let made = commands::create_list(ctx.device(), DIRECT, &queue.allocator).map(drop);
        ctx.answer("CreateCommandList", made).refused("a direct list on a copy allocator")?;
        Ok("E_INVALIDARG".to_owned())
    }),
];

/// What a thread hears that blocks on fences. It ends with their signals, or with the process.
fn blocked(
    block: impl FnOnce() -> crate::com::Result<()> + Send + 'static,
) -> Result<mpsc::Receiver<crate::com::Result<()>>, Stop> {
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
        .map_err(|error| Stop::Skipped(format!("no thread to wait on: {error}")))?;
    // On a busy machine a thread may begin late; a call that returns too early would not be seen.
    let _ = begun.recv();
    Ok(receiver)
}

/// Waits until queues that are asked now are done: on a busy machine a queue that should have waited has had its turn by then.
fn let_others_run(ctx: &Context) -> Result<(), Stop> {
    for list_type in [DIRECT, COPY] {
        ctx.queue(list_type)?.run(|_| ())?;
    }
    Ok(())
}

/// A thread that blocks until one fence has a value.
fn blocked_on(fence: &ID3D12Fence, value: u64) -> Result<mpsc::Receiver<crate::com::Result<()>>, Stop> {
    let fence = fence.clone();
    blocked(move || commands::block_until(&fence, value))
}

/// Several fences of which all or any have their value: the call returns at once.
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
        Ok(answer) => {
            ctx.answer("SetEventOnMultipleFenceCompletion", answer).ok("values that are reached")?;
            Ok("returns at once".to_owned())
        }
        Err(_) => failed(format!("fences at {values:?} and values {awaited:?}: the call blocks")),
    }
}

fn wait(ctx: &Context, queue: &Queue<'_>, fence: &ID3D12Fence, value: u64) -> Result<(), Stop> {
    ctx.answer("ID3D12CommandQueue::Wait", commands::queue_wait(&queue.queue, fence, value)).ok("a fence")
}

fn signal(ctx: &Context, queue: &Queue<'_>, fence: &ID3D12Fence, value: u64) -> Result<(), Stop> {
    ctx.answer("ID3D12CommandQueue::Signal", commands::queue_signal(&queue.queue, fence, value)).ok("a fence")
}
