//! Tests of objects at addresses that the application chooses.

use heapwright_core::GpuVirtualAddress;

use super::*;
use crate::ddi::GpuVirtualAddressRange;
use crate::rules::recreate::{check_heap, check_placed, check_ranges, check_resource};
use crate::rules::resource;

#[test]
fn only_heaps_and_buffers_can_be_created_at_an_address() {
    let caps = caps("discrete");
    let address = GpuVirtualAddress::new(1 << 36);
    let rules = |desc| resource::check_castable(&desc, &[], &caps, &PLAIN).expect("a valid description");
    let (buffer, texture) =
        (rules(buffer(16)), rules(texture(D3D12_RESOURCE_DIMENSION_TEXTURE2D, 64, 64, 1)));
    check_heap(address, &caps).expect("a heap");
    check_resource(address, &buffer, &caps).expect("a buffer");
    check_resource(None, &texture, &caps).expect("no address set for the texture");
    let refusal = check_resource(address, &texture, &caps).expect_err("a texture");
    assert_eq!((refusal.hresult(), refusal.id()), (E_INVALIDARG, D3D12_MESSAGE_ID_RECREATEAT_INVALID_TARGET));
    assert!(refusal.to_string().contains("0x1000000000"), "{refusal}");
}

#[test]
fn a_placed_buffer_needs_a_heap_at_an_address() {
    let address = GpuVirtualAddress::new(1 << 36);
    check_placed(address, true).expect("the heap was created at an address");
    check_placed(None, false).expect("no address set for the buffer");
    check_placed(None, true).expect("its heap's address");
    let refusal = check_placed(address, false).expect_err("the heap was not created at an address");
    assert_eq!((refusal.hresult(), refusal.id()), (E_INVALIDARG, D3D12_MESSAGE_ID_RECREATEAT_INVALID_TARGET));
}

#[test]
fn creation_at_an_address_requires_the_tier() {
    let old = caps("old-ddi");
    let start = GpuVirtualAddress::new(1 << 36).expect("not zero");
    let range = GpuVirtualAddressRange { start, size: ByteSize::from_kib(64) };
    check_heap(None, &old).expect("no address");
    check_ranges(&[], &old).expect("no ranges");
    for refused in [check_heap(Some(start), &old), check_ranges(&[range], &old)] {
        let refusal = refused.expect_err("NOT_SUPPORTED");
        let expected = (DXGI_ERROR_UNSUPPORTED, D3D12_MESSAGE_ID_RECREATEAT_INSUFFICIENT_SUPPORT);
        assert_eq!((refusal.hresult(), refusal.id()), expected, "{refusal}");
    }
    check_ranges(&[GpuVirtualAddressRange { size: ByteSize::ZERO, ..range }], &old)
        .expect("no ranges to reserve");
    check_ranges(&[range], &caps("discrete")).expect("the tier is supported");
    let user = DriverCaps { developer_mode: false, ..caps("discrete") };
    let refusal = check_ranges(&[range], &user).expect_err("not in developer mode");
    assert!(refusal.to_string().contains("developer mode"), "{refusal}");
}
