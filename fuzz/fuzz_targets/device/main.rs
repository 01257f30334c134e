//! Random calls with hostile arguments: no panic crosses a COM call, nothing is undefined, and all memory comes back.
//!
//! What the sanitizer cannot see is checked here: usage is zero once every object is released, and so is the count of
//! references to each device.
//!
//! * [`memory`]: heaps, resources and what is asked about them.
//! * [`sharing`]: shared handles of heaps, resources and fences, between two devices of an adapter.
//! * [`tracking`]: manual write tracking.
//! * [`args`]: arguments.
//! * [`world`]: what the calls work on, and the checks at the end.
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
    /// All bytes become calls. As a `Vec` of `arbitrary`'s they would become two on average.
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
        // SAFETY: the objects of the world are live. Pointers are null where D3D12 allows that to be tested, and else point
        // to live values of their type.
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
