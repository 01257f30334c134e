//! Creates resources and the memory for them: [`ResourceAllocator`] and the objects that it returns.
//!
//! The allocator places resources in heaps that it creates, shares and releases. A [`ResourceAllocation`] owns one
//! resource and its memory; dropping it frees both. [`Mapping`] and [`TextureMapping`] give the CPU access. A [`Pool`]
//! keeps its allocations in heaps of its own.
//!
//! ```
//! use heapwright::d3d12::D3D12_RESOURCE_STATE_GENERIC_READ;
//! use heapwright::{ByteSize, HeapType, ResourceAllocationDesc, ResourceAllocator, buffer_desc};
//! # let gpu = heapwright_runtime::Instance::open(heapwright_runtime::HostProfile::default_profile())?;
//! let allocator = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), Default::default())?;
//! let upload = ResourceAllocationDesc::new(HeapType::Upload);
//! let desc = buffer_desc(ByteSize::from_kib(4));
//! let mut buffer = allocator.create_resource(&upload, &desc, D3D12_RESOURCE_STATE_GENERIC_READ, None)?;
//! buffer.map()?.write(0, b"vertices")?;
//! drop(buffer);
//! assert_eq!(allocator.stats().allocation_count, 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `resource_allocator` | [`ResourceAllocator`]; `inner`: the state that its handles share |
//! | `request` | [`ResourceAllocationDesc`], its rules, and the placements that it permits |
//! | `allocation`, `mapping`, `texture_mapping` | the allocation; CPU access to it |
//! | `memory`, `aliasing` | ranges of heaps in which the program places resources itself; those that share bytes |
//! | `create` | the path of one allocation, from the request to the result; `probe`: a prediction of it |
//! | `pool`, `create_pool`, `import` | custom pools; resources that the application created |
//! | `unified`, `refused_in_unified` | limits of unified memory, and resources that the device does not create in it |
//! | `recorded`, `reserved` | recording of allocations and allocators; of reserved resources |
//! | `deferred` | deferred frees |
//! | `held_heaps` | the heaps that are held, with their D3D12 objects |
//! | `stats`, `decisions`, `report` | totals; the number of each decision; a list of everything that is held |

// rustdoc shows the methods of a type in the order of the modules, so those with the constructors come first.
mod allocation;
mod resource_allocator;

mod aliasing;
mod create;
mod create_pool;
mod decisions;
mod deferred;
mod held_heaps;
mod import;
mod inner;
mod mapping;
mod memory;
mod pool;
mod probe;
mod recorded;
mod refused_in_unified;
mod report;
mod request;
mod reserved;
mod stats;
mod texture_mapping;
mod unified;

pub use self::aliasing::AliasingRequirements;
pub use self::allocation::{ResourceAllocation, ResourceAllocationInfo};
pub use self::deferred::NotFreed;
pub use self::held_heaps::HeldHeap;
pub(crate) use self::inner::Inner;
pub use self::mapping::Mapping;
pub use self::memory::MemoryAllocation;
pub(crate) use self::memory::place;
pub use self::pool::Pool;
pub use self::probe::Prediction;
pub use self::request::ResourceAllocationDesc;
pub use self::reserved::ReservedRecord;
pub use self::resource_allocator::{ResourceAllocationSupport, ResourceAllocator};
pub use self::stats::ResourceAllocatorStats;
pub use self::texture_mapping::{TexelPitches, TextureMapping};
