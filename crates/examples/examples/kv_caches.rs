//! The key and value caches of a language model that serves several conversations. Each cache grows with every token.
//!
//! In tiles, a cache grows at one address: nothing is copied, and no second buffer exists while it grows. The same
//! program then runs with plain buffers, which are replaced by larger ones. A device without tiles has only these.
//!
//! ```text
//! cargo run -p heapwright-examples --example kv_caches                    a simulated GPU
//! cargo run -p heapwright-examples --example kv_caches -- --device d3d12  Windows' D3D12
//! ```
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it tells what it does")]

mod device;
mod queue;

use std::error::Error;
use std::process::ExitCode;

use heapwright::{
    ByteSize, HeapType, PoolDesc, ResourceAllocation, ResourceAllocationDesc, ResourceAllocator, buffer_desc,
};
use heapwright_tiles::{GrowingBuffer, TilePool};

use self::device::Argument;
use self::queue::Queue;

type Answer<T> = Result<T, Box<dyn Error>>;

/// Keys and values of one token, in all layers.
const TOKEN: u64 = BYTES as u64;
const BYTES: usize = 48 << 10;
/// The longest conversation, in tokens.
const CONTEXT: u64 = 256;
const CONVERSATIONS: usize = 6;
const STEPS: u64 = 300;

fn main() -> ExitCode {
    let device = match device::from_arguments(std::env::args().skip(1)) {
        Ok(Argument::Device(device)) => Ok(device),
        Ok(Argument::Help) => {
            println!("{}", device::HELP);
            return ExitCode::SUCCESS;
        }
        Err(error) => Err(error.into()),
    };
    match device.and_then(|device| run(device.as_deref())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

pub(crate) fn run(device: Option<&str>) -> Answer<()> {
    let gpu = device::open(device)?;
    for in_tiles in [true, false] {
        // An allocator for each, so that their memory is counted separately.
        let allocator = ResourceAllocator::new(&gpu.device, gpu.adapter.as_ref(), Default::default())?;
        let pool = if in_tiles {
            let desc = PoolDesc {
                name: "caches".into(),
                heap_size: Some(ByteSize::from_mib(2)),
                ..Default::default()
            };
            match TilePool::new(&allocator, desc) {
                Ok(pool) => Some(pool),
                Err(error) if error.is_unsupported() => {
                    println!("in tiles   {error}");
                    continue;
                }
                Err(error) => return Err(error.into()),
            }
        } else {
            None
        };
        serve(&allocator, pool.as_ref(), &mut Queue::new(&gpu.device)?)?;
    }
    Ok(())
}

/// A conversation and its cache.
struct Conversation {
    cache: GrowingBuffer,
    tokens: u64,
    length: u64,
    number: u64,
}

/// Adds a token to each conversation in each step. A conversation that is over is replaced by another.
fn serve(allocator: &ResourceAllocator, pool: Option<&TilePool>, queue: &mut Queue) -> Answer<()> {
    let mut upload = buffer(allocator, HeapType::Upload, TOKEN * CONVERSATIONS as u64)?;
    let mut readback = buffer(allocator, HeapType::Readback, TOKEN * CONTEXT)?;
    let around = allocator.reserved();
    let mut random = fastrand::Rng::with_seed(1);
    let mut started = 0;
    let mut begin = || -> Answer<Conversation> {
        started += 1;
        let desc = buffer_desc(ByteSize::new(TOKEN * CONTEXT));
        let cache = match pool {
            Some(pool) => GrowingBuffer::in_tiles(pool, &desc)?,
            None => GrowingBuffer::plain(allocator, &desc)?,
        };
        Ok(Conversation { cache, tokens: 0, length: random.u64(1..=CONTEXT), number: started })
    };
    let mut conversations = (0..CONVERSATIONS).map(|_| begin()).collect::<Answer<Vec<_>>>()?;
    let (mut copied, mut compared) = (ByteSize::ZERO, 0);
    let (mut peak, mut peak_live) = (ByteSize::ZERO, 0);
    for _ in 0..STEPS {
        // The previous step has finished, because a list is executed at a time.
        queue.wait()?;
        allocator.collect();
        pool.map(TilePool::collect);
        let mut copies = Vec::new();
        for (at, conversation) in conversations.iter_mut().enumerate() {
            let Conversation { cache, tokens, number, .. } = conversation;
            cache.grow(ByteSize::new((*tokens + 1) * TOKEN))?;
            // SAFETY: the queue signals the value after the list below, which alone uses the cache. There is no other
            // queue.
            copies.push(unsafe { cache.update(&queue.queue, &queue.fence, queue.next())? });
            let bytes = [byte_of(*number, *tokens); BYTES];
            upload.map()?.write(at as u64 * TOKEN, &bytes)?;
        }
        queue.execute(|list| {
            for (at, (Conversation { cache, tokens, .. }, copy)) in
                conversations.iter().zip(&copies).enumerate()
            {
                // SAFETY: the buffers are as large as that, and alive until the list has finished.
                unsafe {
                    if let Some(copy) = copy {
                        list.CopyBufferRegion(cache.resource(), 0, &copy.source, 0, copy.size.get());
                    }
                    let from = at as u64 * TOKEN;
                    list.CopyBufferRegion(cache.resource(), tokens * TOKEN, upload.resource(), from, TOKEN);
                }
            }
        })?;
        copies.iter().flatten().for_each(|copy| copied = ByteSize::new(copied.get() + copy.size.get()));
        peak = peak.max(ByteSize::new(allocator.reserved().get() - around.get()));
        conversations.iter_mut().for_each(|conversation| conversation.tokens += 1);
        peak_live = peak_live.max(conversations.iter().map(|one| one.tokens).sum());

        for conversation in &mut conversations {
            if conversation.tokens < conversation.length {
                continue;
            }
            let over = std::mem::replace(conversation, begin()?);
            queue.execute(|list| {
                // SAFETY: as above.
                unsafe {
                    let bytes = over.tokens * TOKEN;
                    list.CopyBufferRegion(readback.resource(), 0, over.cache.resource(), 0, bytes);
                }
            })?;
            queue.wait()?;
            let mut seen = vec![0; usize::try_from(over.tokens * TOKEN)?];
            readback.map()?.read(0, &mut seen)?;
            for (token, seen) in (0..).zip(seen.chunks(BYTES)) {
                if seen != [byte_of(over.number, token); BYTES] {
                    return Err(format!(
                        "token {token} of conversation {} is not what was written",
                        over.number
                    )
                    .into());
                }
            }
            compared += over.tokens;
            over.cache.free_after(&queue.fence, queue.last());
        }
    }
    queue.wait()?;
    let kind = if pool.is_some() { "in tiles " } else { "plain    " };
    let live = ByteSize::new(peak_live * TOKEN);
    println!(
        "{kind}  at most {peak} held for {live}, {copied} copied; {compared} tokens compared, all the same"
    );
    if pool.is_some() && !copied.is_zero() {
        return Err("a cache in tiles was copied".into());
    }
    Ok(())
}

fn byte_of(conversation: u64, token: u64) -> u8 {
    1 + ((conversation * 37 + token * 11) % 251) as u8
}

fn buffer(allocator: &ResourceAllocator, heap_type: HeapType, size: u64) -> Answer<ResourceAllocation> {
    Ok(allocator.create(&ResourceAllocationDesc::new(heap_type), buffer_desc(ByteSize::new(size)))?)
}
