//! The part of the crate `windows` that `windows_interop!` needs, with types of the same shape: interfaces
//! over one pointer, enumerations as structures over an `i32`. The crate itself does not build on Linux.

#![allow(unreachable_pub, reason = "as the crate has it; the conversions' traits name these types")]

/// `windows::core`.
pub mod core {
    pub use heapwright::d3d12::windows_core::*;
}

#[allow(non_snake_case, reason = "windows' name")]
pub mod Win32 {
    #[allow(non_snake_case, reason = "windows' name")]
    pub mod Graphics {
        macro_rules! interfaces {
            ($($name:ident $iid:literal),+ $(,)?) => {$(
                #[repr(transparent)]
                #[derive(Debug, Clone, PartialEq, Eq)]
                pub struct $name(windows_core::IUnknown);

                // SAFETY: one pointer, owned by the IUnknown that it is passed off as; nothing is called through
                // another table.
                unsafe impl windows_core::Interface for $name {
                    type Vtable = <windows_core::IUnknown as windows_core::Interface>::Vtable;
                    const IID: windows_core::GUID = windows_core::GUID::from_u128($iid);
                }
            )+};
        }

        macro_rules! enumerations {
            ($($name:ident),+ $(,)?) => {$(
                #[repr(transparent)]
                #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
                #[allow(non_camel_case_types, reason = "D3D12's name")]
                pub struct $name(pub i32);
            )+};
        }

        #[allow(non_snake_case, reason = "D3D12's names")]
        pub mod Direct3D12 {
            use super::Dxgi::Common::{DXGI_FORMAT, DXGI_SAMPLE_DESC};

            interfaces! {
                ID3D12CommandList 0x7116d91c_e7e4_47ce_b8c6_ec8168f437e5,
                ID3D12CommandQueue 0x0ec870a6_5d7e_4c22_8cfc_5baae07616ed,
                ID3D12DescriptorHeap 0x8efb471d_616c_4f49_90f7_127bb763fa51,
                ID3D12Device 0x189819f1_1db6_4b57_be54_1821339b85f7,
                ID3D12Fence 0x0a753dcf_c4d8_4b91_adf6_be5a60d95a76,
                ID3D12GraphicsCommandList 0x5b160d0f_ac1b_4185_8ba8_b3ae42a5a455,
                ID3D12Heap 0x6b3b2502_6e51_45b3_90ee_9884265e8df3,
                ID3D12Pageable 0x63ee58fb_1268_4835_86da_f008ce62f0d6,
                ID3D12ProtectedResourceSession 0x6cd696f4_f289_40cc_8091_5a6c0a099c3d,
                ID3D12QueryHeap 0x0d9658ae_ed45_469e_a61d_970ec583cab4,
                ID3D12Resource 0x696442be_a72e_4059_bc79_5b5c98040fad,
            }

            enumerations! {
                D3D12_BARRIER_LAYOUT, D3D12_CPU_PAGE_PROPERTY, D3D12_HEAP_FLAGS, D3D12_HEAP_TYPE, D3D12_MEMORY_POOL,
                D3D12_RESIDENCY_PRIORITY, D3D12_RESOURCE_DIMENSION, D3D12_RESOURCE_FLAGS, D3D12_RESOURCE_STATES,
                D3D12_TEXTURE_LAYOUT,
            }

            #[repr(C)]
            #[derive(Clone, Copy)]
            pub struct D3D12_RESOURCE_DESC {
                pub Dimension: D3D12_RESOURCE_DIMENSION,
                pub Alignment: u64,
                pub Width: u64,
                pub Height: u32,
                pub DepthOrArraySize: u16,
                pub MipLevels: u16,
                pub Format: DXGI_FORMAT,
                pub SampleDesc: DXGI_SAMPLE_DESC,
                pub Layout: D3D12_TEXTURE_LAYOUT,
                pub Flags: D3D12_RESOURCE_FLAGS,
            }

            #[repr(C)]
            #[derive(Clone, Copy)]
            pub struct D3D12_MIP_REGION {
                pub Width: u32,
                pub Height: u32,
                pub Depth: u32,
            }

            #[repr(C)]
            #[derive(Clone, Copy)]
            pub struct D3D12_RESOURCE_DESC1 {
                pub Dimension: D3D12_RESOURCE_DIMENSION,
                pub Alignment: u64,
                pub Width: u64,
                pub Height: u32,
                pub DepthOrArraySize: u16,
                pub MipLevels: u16,
                pub Format: DXGI_FORMAT,
                pub SampleDesc: DXGI_SAMPLE_DESC,
                pub Layout: D3D12_TEXTURE_LAYOUT,
                pub Flags: D3D12_RESOURCE_FLAGS,
                pub SamplerFeedbackMipRegion: D3D12_MIP_REGION,
            }

            #[repr(C)]
            #[derive(Clone, Copy)]
            pub struct D3D12_HEAP_PROPERTIES {
                pub Type: D3D12_HEAP_TYPE,
                pub CPUPageProperty: D3D12_CPU_PAGE_PROPERTY,
                pub MemoryPoolPreference: D3D12_MEMORY_POOL,
                pub CreationNodeMask: u32,
                pub VisibleNodeMask: u32,
            }

            #[repr(C)]
            #[derive(Clone, Copy)]
            pub struct D3D12_CLEAR_VALUE {
                pub Format: DXGI_FORMAT,
                pub Anonymous: D3D12_CLEAR_VALUE_0,
            }

            #[repr(C)]
            #[derive(Clone, Copy)]
            pub union D3D12_CLEAR_VALUE_0 {
                pub Color: [f32; 4],
            }
        }

        #[allow(non_snake_case, reason = "windows' name")]
        pub mod Dxgi {
            interfaces! {
                IDXGIAdapter 0x2411e7e1_12ac_4ccf_bd14_9798e8534dc0,
                IDXGIAdapter1 0x29038f61_3839_4626_91fd_086879011a05,
                IDXGIAdapter2 0x0aa1ae0a_fa0e_4b84_8644_e05ff8e5acb5,
                IDXGIAdapter3 0x645967a4_1392_4310_a798_8053ce3e93fd,
                IDXGIAdapter4 0x3c8d99d1_4fbf_4181_a82c_af66bf7bd24e,
            }

            #[allow(non_snake_case, reason = "windows' name")]
            pub mod Common {
                enumerations!(DXGI_FORMAT);

                #[repr(C)]
                #[derive(Clone, Copy)]
                pub struct DXGI_SAMPLE_DESC {
                    pub Count: u32,
                    pub Quality: u32,
                }
            }
        }
    }
}
