//! The model of D3D12MA that `bench-memory` has.
#![allow(dead_code, unreachable_pub, reason = "bench-memory uses the rest")]

#[path = "../../src/memory/allocators.rs"]
pub(crate) mod allocators;
#[path = "../../src/memory/d3d12ma.rs"]
pub(crate) mod d3d12ma;
#[path = "../../src/memory/meter.rs"]
pub(crate) mod meter;
#[path = "../../src/memory/prices.rs"]
pub(crate) mod prices;
