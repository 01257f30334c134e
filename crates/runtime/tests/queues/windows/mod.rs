//! What Windows' D3D12 does where its documentation says nothing or something else, as applications rely on it.

mod copies;
mod descriptions;
mod device;
mod fences;
mod memory;
mod pipelines;
