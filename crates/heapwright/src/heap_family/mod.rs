//! Which D3D12 heap a wanted heap type becomes on each architecture (document UPLOAD).
//!
//! * `memory`: page property and pool, what heap types stand for, and the segment group they are charged to.
//! * `node_masks`: nodes of linked adapters.
//! * `family`: heaps that are created alike: of a heap type, or custom.
//! * `families`: what a device makes of heap types: unified memory, GPU upload heaps where there are none.
//! * `preference`: heap types in order of preference.
//! * `initial_state`: the heap type that an initial state tells, and those that contradict each other.

mod families;
mod family;
mod initial_state;
mod memory;
mod node_masks;
mod preference;
#[cfg(test)]
mod tests;

pub(crate) use self::families::{GrantedHeaps, HeapFamilies};
pub(crate) use self::family::HeapFamily;
pub use self::initial_state::InitialState;
pub(crate) use self::initial_state::{check_initial_state, infer_heap_type};
pub(crate) use self::memory::{CpuPageProperty, HeapMemory, MemoryPool};
pub use self::node_masks::NodeMasks;
pub use self::preference::HeapTypePreference;
