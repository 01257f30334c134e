//! A crate that forbids unsafe code cannot vouch, even if its types pass all checks of the macro.
#![forbid(unsafe_code)]

extern crate self as windows;

pub use heapwright::d3d12::windows_core as core;

#[allow(non_snake_case)]
pub mod Win32 {
    pub mod Graphics {
        pub use heapwright::d3d12 as Direct3D12;
        pub mod Dxgi {
            pub use heapwright::d3d12::*;
            pub mod Common {
                #[allow(non_camel_case_types)]
                pub struct DXGI_FORMAT(pub i32);
            }
        }
    }
}

mod enumerations {
    use heapwright::d3d12 as their_d3d12;

    pub trait ValueToHeapwright<Enumeration> {
        type Heapwright;
        fn to_heapwright(self) -> Self::Heapwright;
    }

    heapwright::__windows_interop_enumerations!(unsafe; their_d3d12: D3D12_HEAP_FLAGS;);
}

heapwright::windows_interop!(mod interop for unsafe windows);

fn main() {}
