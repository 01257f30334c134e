//! Message ids that D3D12 defines for a call as a whole.
//!
//! If D3D12 has an id for a rule, the rule's refusal carries it. For other rules, D3D12's debug layer has ids that name
//! a call and the HRESULT it returns, or that report invalid arguments of a call.

use heapwright_d3d12::*;

use crate::rules::Refusal;

/// The beginning of a method's name, with its ids for E_INVALIDARG and E_OUTOFMEMORY. The first matching row applies.
const CALLS: [(&str, D3D12_MESSAGE_ID, D3D12_MESSAGE_ID); 13] = [
    (
        "CreateHeap",
        D3D12_MESSAGE_ID_CREATEHEAP_INVALIDARG_RETURN,
        D3D12_MESSAGE_ID_CREATEHEAP_OUTOFMEMORY_RETURN,
    ),
    (
        "CreateCommittedResource",
        D3D12_MESSAGE_ID_CREATERESOURCEANDHEAP_INVALIDARG_RETURN,
        D3D12_MESSAGE_ID_CREATERESOURCEANDHEAP_OUTOFMEMORY_RETURN,
    ),
    (
        "CreatePlacedResource",
        D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDARG_RETURN,
        D3D12_MESSAGE_ID_CREATERESOURCE_OUTOFMEMORY_RETURN,
    ),
    (
        "CreateReservedResource",
        D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDARG_RETURN,
        D3D12_MESSAGE_ID_CREATERESOURCE_OUTOFMEMORY_RETURN,
    ),
    ("CreateDescriptorHeap", D3D12_MESSAGE_ID_CREATE_DESCRIPTOR_HEAP_INVALID_DESC, D3D12_MESSAGE_ID_UNKNOWN),
    ("CreateQueryHeap", D3D12_MESSAGE_ID_CREATEQUERY_HEAP_INVALID_PARAMETERS, D3D12_MESSAGE_ID_UNKNOWN),
    (
        "OpenExistingHeap",
        D3D12_MESSAGE_ID_OPENEXISTINGHEAP_INVALIDARG_RETURN,
        D3D12_MESSAGE_ID_OPENEXISTINGHEAP_OUTOFMEMORY_RETURN,
    ),
    (
        "GetResourceAllocationInfo",
        D3D12_MESSAGE_ID_GETRESOURCEALLOCATIONINFO_INVALIDRDESCS,
        D3D12_MESSAGE_ID_UNKNOWN,
    ),
    (
        "GetCustomHeapProperties",
        D3D12_MESSAGE_ID_GETCUSTOMHEAPPROPERTIES_INVALIDHEAPTYPE,
        D3D12_MESSAGE_ID_UNKNOWN,
    ),
    ("Map", D3D12_MESSAGE_ID_MAP_INVALIDARG_RETURN, D3D12_MESSAGE_ID_MAP_OUTOFMEMORY_RETURN),
    ("UpdateTileMappings", D3D12_MESSAGE_ID_UPDATETILEMAPPINGS_INVALID_PARAMETER, D3D12_MESSAGE_ID_UNKNOWN),
    ("CopyTileMappings", D3D12_MESSAGE_ID_COPYTILEMAPPINGS_INVALID_PARAMETER, D3D12_MESSAGE_ID_UNKNOWN),
    ("SetPrivateData", D3D12_MESSAGE_ID_UNKNOWN, D3D12_MESSAGE_ID_SETPRIVATEDATA_OUTOFMEMORY),
];

/// Returns the id of the message that reports the refusal of the call `name`.
pub(crate) fn of(name: &str, refusal: &Refusal) -> D3D12_MESSAGE_ID {
    if refusal.id() != D3D12_MESSAGE_ID_UNKNOWN {
        return refusal.id();
    }
    let method = name.rsplit("::").next().unwrap_or(name);
    let row = CALLS.iter().find(|(beginning, ..)| method.starts_with(beginning));
    match (row, refusal.hresult()) {
        (Some((_, id, _)), E_INVALIDARG) | (Some((_, _, id)), E_OUTOFMEMORY) => *id,
        _ => D3D12_MESSAGE_ID_UNKNOWN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_without_an_id_gets_the_id_of_its_call_and_result() {
        let invalid = Refusal::invalid("a rule");
        let cases = [
            ("ID3D12Device4::CreateHeap1", &invalid, D3D12_MESSAGE_ID_CREATEHEAP_INVALIDARG_RETURN),
            (
                "ID3D12Device::CreatePlacedResource",
                &Refusal::out_of_memory("none left"),
                D3D12_MESSAGE_ID_CREATERESOURCE_OUTOFMEMORY_RETURN,
            ),
            ("ID3D12Resource::Map", &invalid, D3D12_MESSAGE_ID_MAP_INVALIDARG_RETURN),
            ("ID3D12Resource::Unmap", &invalid, D3D12_MESSAGE_ID_UNKNOWN),
            ("ID3D12Device::CreateHeap", &Refusal::not_implemented("it"), D3D12_MESSAGE_ID_UNKNOWN),
            (
                "ID3D12Device::CreateHeap",
                &Refusal::invalid("a rule").with_id(D3D12_MESSAGE_ID_CREATEHEAP_INVALIDSIZE),
                D3D12_MESSAGE_ID_CREATEHEAP_INVALIDSIZE,
            ),
        ];
        for (name, refusal, id) in cases {
            assert_eq!(of(name, refusal), id, "{name}: {refusal}");
        }
    }
}
