//! Buffers that grow without moving and textures that stream, in reserved resources of Direct3D 12.
//!
//! A reserved resource has addresses and no memory. Memory comes in tiles of 64 KiB, which a queue maps. A [`TilePool`]
//! takes the tiles from heaps of a [`ResourceAllocator`](heapwright::ResourceAllocator); a [`GrowingBuffer`] commits
//! and decommits ranges at one address, and a [`StreamingTexture`] maps tiles and mip levels.
//!
//! ```
//! use heapwright::d3d12::*;
//! use heapwright::{ByteSize, FenceValue, PoolDesc, ResourceAllocator, buffer_desc};
//! use heapwright_tiles::{GrowingBuffer, TilePool};
//! # let gpu = heapwright_runtime::Instance::open(heapwright_runtime::HostProfile::default_profile())?;
//! # let desc = D3D12_COMMAND_QUEUE_DESC { Type: D3D12_COMMAND_LIST_TYPE_COPY, ..Default::default() };
//! # let queue: ID3D12CommandQueue = unsafe { gpu.device.CreateCommandQueue(&desc) }?;
//! # let fence: ID3D12Fence = unsafe { gpu.device.CreateFence(0, D3D12_FENCE_FLAG_NONE) }?;
//!
//! let allocator = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), Default::default())?;
//! let pool = TilePool::new(&allocator, PoolDesc { name: "caches".into(), ..Default::default() })?;
//! // Addresses for the longest context; memory for what is there.
//! let mut cache = GrowingBuffer::in_tiles(&pool, &buffer_desc(ByteSize::from_gib(2)))?;
//! let address = cache.gpu_virtual_address();
//! for (number, size) in (1..).zip([ByteSize::from_mib(3), ByteSize::from_mib(6), ByteSize::from_mib(1)]) {
//!     cache.grow(size)?;
//!     cache.shrink(size)?;
//!     // SAFETY: the queue executes the update before it signals the value, and nothing else uses the buffer.
//!     unsafe {
//!         cache.update(&queue, &fence, FenceValue::new(number))?;
//!         // ... ExecuteCommandLists with what uses the buffer ...
//!         queue.Signal(&fence, number).ok()?;
//!         fence.SetEventOnCompletion(number, HANDLE::default()).ok()?;
//!     }
//!     pool.collect();
//!     assert_eq!((cache.committed(), pool.stats().used), (size, size));
//! }
//! assert_eq!(cache.gpu_virtual_address(), address);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Updates
//!
//! `commit`, `map` and their opposites take and return tiles at once, and are remembered. `update` tells a queue all
//! changes since the last one, in as few `UpdateTileMappings` as there are heaps, because each takes one heap. Work
//! that the queue executes later finds them. What was decommitted is free when a fence has reached a value, as with
//! [`free_after`](heapwright::ResourceAllocator::free_after): the program signals it after the last work that may use
//! the memory. No tile is mapped twice; tiles that resources share by turns are a plan of
//! the crate `heapwright-transient` instead.
//!
//! # Residency
//!
//! The heaps of a pool are heaps of the allocator's residency manager, if it has one. `add_to` adds those behind the
//! tiles of a resource to the residency list of a command list that uses it.
//!
//! # Recordings
//!
//! If the allocator [records](heapwright::recording), so do updates: the page of `heapwright report` shows which
//! resource has which tiles of a heap, under the name that the resource has at its first update. A replay repeats the
//! heaps of the pool.
//!
//! # Safety
//!
//! Committing, decommitting and dropping are safe, because the GPU accesses memory only by lists whose execution
//! promises that it stays ([heapwright's rules](heapwright#safety)). `update` gives a queue work, which has no such
//! promise of its own; it is `unsafe`, and documents what it requires.
//!
//! # Without tiles
//!
//! [`TilePool::new`] is an error on devices of tiled resources tier 0. [`GrowingBuffer::plain`] has the same interface
//! and copies where it grows; textures have no substitute.

mod buffer;
mod free_tiles;
mod pool;
mod reserved;
mod retired;
mod texture;

pub use self::buffer::{BufferCopy, GrowingBuffer};
pub use self::pool::{TILE_SIZE, TilePool, TilePoolStats};
pub use self::texture::{StreamingTexture, TileBox};
