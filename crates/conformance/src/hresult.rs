//! Names of HRESULTs.

pub use heapwright_d3d12::hresult::Named;
