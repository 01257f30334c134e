//! Random calls with hostile arguments. Checks that no panic crosses a COM call, that nothing is undefined,
//! and that all memory is released.
//!
//! Some checks go beyond the sanitizer's: once every object is released, usage is zero, and so is the
//! reference count of each device.
//!
//! * [`memory`]: heaps, resources and queries about them.
//! * [`sharing`]: shared handles of heaps, resources and fences, between two devices of an adapter.
//! * [`tracking`]: manual write tracking.
//! * [`args`]: arguments.
//! * [`world`]: the objects that the calls use, and the checks at the end.
#![no_main]

mod args;
mod memory;
mod sharing;
mod tracking;
mod world;

use arbitrary::{Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;

use self::world::World;

#[derive(Debug, Arbitrary)]
enum Op {
    Memory(memory::Op),
    Sharing(sharing::Op),
    Tracking(tracking::Op),
}

#[derive(Debug)]
struct Input {
    profile: u8,
    has_tool: bool,
    ops: Vec<Op>,
}

impl Arbitrary<'_> for Input {
    /// Converts all bytes to calls. The `Vec` of `arbitrary` would have two elements on average.
    fn arbitrary(bytes: &mut Unstructured<'_>) -> arbitrary::Result<Self> {
        let (profile, has_tool) = Arbitrary::arbitrary(bytes)?;
        let mut ops = Vec::new();
        while !bytes.is_empty() && ops.len() < 200 {
            ops.push(Op::arbitrary(bytes)?);
        }
        Ok(Self { profile, has_tool, ops })
    }
}

fuzz_target!(|input: Input| {
    let mut world = World::open(input.profile, input.has_tool);
    for op in input.ops {
        // SAFETY: the objects of the world are live. Pointers are null where D3D12 allows that for testing,
        // and otherwise point to live values of their type.
        unsafe {
            match op {
                Op::Memory(op) => memory::perform(&mut world, op),
                Op::Sharing(op) => sharing::perform(&mut world, op),
                Op::Tracking(op) => tracking::perform(&mut world, op),
            }
        }
    }
    world.close();
});
