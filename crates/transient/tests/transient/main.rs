//! Transient resources: frames that run on the simulated GPU, whose aliasing tracker judges them.
//!
//! * `world`: a tracked device, its queues, and the commands that tests can leave out.
//! * `layouts`: whether barriers fit together, and the commands between them.
//! * `program`: what the passes of a frame do, and what they must read.
//! * `basics`, `queues`, `random`: small frames, frames on several queues, random frames.
//! * `states`: barriers of every state.
//! * `tables`: the frame graphs of two engines, from the files in `framegraphs/`.

mod basics;
#[path = "../../../heapwright/tests/gpu/mod.rs"]
mod gpu;
mod layouts;
mod program;
mod queues;
mod random;
mod states;
mod tables;
mod world;
