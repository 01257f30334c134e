//! HRESULTs by the names that people know.

pub use heapwright_d3d12::hresult::Named;
