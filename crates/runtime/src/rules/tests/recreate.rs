//! Tests of objects at addresses that the application chooses.

use heapwright_core::GpuVirtualAddress;

use super::*;
use crate::ddi::GpuVirtualAddressRange;
use crate::rules::recreate::{check, check_ranges};
use crate::rules::resource;

#[test]
fn only_heaps_and_buffers_can_be_created_at_an_address() {
    let caps = caps("discrete");
    let address = GpuVirtualAddress::new(1 << 36);
    let rules = |desc| resource::check_castable(&desc, &[], &caps, &PLAIN).expect("a valid description");
    let (buffer, texture) =
        (rules(buffer(16)), rules(texture(D3D12_RESOURCE_DIMENSION_TEXTURE2D, 64, 64, 1)));
    let cases = [
        (address, None, true, Ok(())),
        (address, Some(&buffer), true, Ok(())),
        (None, Some(&texture), true, Ok(())),
        (address, Some(&texture), true, Err("a texture at 0x1000000000")),
        // A placed buffer needs a heap that was created at an address.
        (None, Some(&buffer), false, Ok(())),
        (address, Some(&buffer), false, Err("a placed buffer at 0x1000000000")),
    ];
    for (address, resource, heap_has_address, expected) in cases {
        match (check(address, resource, heap_has_address, &caps), expected) {
            (Ok(()), Ok(())) => {}
            (Err(refusal), Err(text)) => {
                let found = (refusal.hresult(), refusal.id());
                assert_eq!(found, (E_INVALIDARG, D3D12_MESSAGE_ID_RECREATEAT_INVALID_TARGET));
                assert!(refusal.to_string().contains(text), "{refusal}");
            }
            (found, _) => panic!("{found:?}, expected {expected:?}"),
        }
    }
}

#[test]
fn creation_at_an_address_requires_the_tier() {
    let old = caps("old-ddi");
    let start = GpuVirtualAddress::new(1 << 36).expect("not zero");
    let range = GpuVirtualAddressRange { start, size: ByteSize::from_kib(64) };
    check(None, None, true, &old).expect("no address");
    check_ranges(&[], &old).expect("no ranges");
    for refused in [check(Some(start), None, true, &old), check_ranges(&[range], &old)] {
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
