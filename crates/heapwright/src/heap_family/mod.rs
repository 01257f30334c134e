//! Maps requested heap types to D3D12 heaps on each architecture.
//!
//! * `memory`: page property and pool of each heap type, and the segment group that is charged.
//! * `node_masks`: nodes of linked adapters.
//! * `family`: heaps with the same properties, of a heap type or CUSTOM.
//! * `families`: the heap types of a device: unified memory, and a substitute for GPU upload heaps.
//! * `preference`: heap types in order of preference.
//! * `initial_state`: the heap type that an initial state implies, and combinations that are invalid.

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
