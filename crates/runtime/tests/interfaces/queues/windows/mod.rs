//! Behaviour of Windows' D3D12 that its documentation omits or contradicts, and on which applications rely.

mod copies;
mod descriptions;
mod device;
mod fences;
mod memory;
mod pipelines;
