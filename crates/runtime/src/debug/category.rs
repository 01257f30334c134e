//! The category of a message: D3D12 defines it by the message id; messages without an id get it from their call.

use heapwright_d3d12::*;

/// Returns the category of a message with `id` from the call `name` (such as `ID3D12Device::CreateHeap`).
pub(crate) fn of(id: D3D12_MESSAGE_ID, name: &str) -> D3D12_MESSAGE_CATEGORY {
    match id {
        D3D12_MESSAGE_ID_STRING_FROM_APPLICATION => D3D12_MESSAGE_CATEGORY_APPLICATION_DEFINED,
        D3D12_MESSAGE_ID_CORRUPTED_THIS..=D3D12_MESSAGE_ID_CORRUPTED_MULTITHREADING
        | D3D12_MESSAGE_ID_OBJECT_EVICTED_WHILE_STILL_IN_USE => D3D12_MESSAGE_CATEGORY_MISCELLANEOUS,
        D3D12_MESSAGE_ID_DEVICE_REMOVAL_PROCESS_AT_FAULT
        | D3D12_MESSAGE_ID_DEVICE_REMOVAL_PROCESS_POSSIBLY_AT_FAULT
        | D3D12_MESSAGE_ID_DEVICE_REMOVAL_PROCESS_NOT_AT_FAULT
        | D3D12_MESSAGE_ID_INVALID_SUBRESOURCE_STATE
        | D3D12_MESSAGE_ID_INVALID_USE_OF_NON_RESIDENT_RESOURCE => D3D12_MESSAGE_CATEGORY_EXECUTION,
        D3D12_MESSAGE_ID_LIVE_OBJECT_SUMMARY
        | D3D12_MESSAGE_ID_LIVE_DEVICE
        | D3D12_MESSAGE_ID_LIVE_COMMANDQUEUE..=D3D12_MESSAGE_ID_LIVE_COMMANDSIGNATURE => {
            D3D12_MESSAGE_CATEGORY_STATE_CREATION
        }
        // Even in a creation call, a state that the heap does not allow violates a rule of barriers.
        D3D12_MESSAGE_ID_RESOURCE_BARRIER_INVALID_TYPE
            ..=D3D12_MESSAGE_ID_RESOURCE_BARRIER_INVALID_COMMAND_LIST_TYPE
        | D3D12_MESSAGE_ID_RESOURCE_BARRIER_INVALID_HEAP => D3D12_MESSAGE_CATEGORY_RESOURCE_MANIPULATION,
        _ => of_call(name),
    }
}

/// Categories of calls by the beginning of the method's name; the first matching row applies.
const CALLS: [(&str, D3D12_MESSAGE_CATEGORY); 22] = [
    ("Create", D3D12_MESSAGE_CATEGORY_STATE_CREATION),
    ("Open", D3D12_MESSAGE_CATEGORY_STATE_CREATION),
    ("Map", D3D12_MESSAGE_CATEGORY_EXECUTION),
    ("Unmap", D3D12_MESSAGE_CATEGORY_EXECUTION),
    ("CopyDescriptors", D3D12_MESSAGE_CATEGORY_EXECUTION),
    ("Execute", D3D12_MESSAGE_CATEGORY_EXECUTION),
    ("Signal", D3D12_MESSAGE_CATEGORY_EXECUTION),
    ("Wait", D3D12_MESSAGE_CATEGORY_EXECUTION),
    ("Close", D3D12_MESSAGE_CATEGORY_EXECUTION),
    ("Reset", D3D12_MESSAGE_CATEGORY_EXECUTION),
    ("Clear", D3D12_MESSAGE_CATEGORY_EXECUTION),
    ("Discard", D3D12_MESSAGE_CATEGORY_EXECUTION),
    ("Draw", D3D12_MESSAGE_CATEGORY_EXECUTION),
    ("Dispatch", D3D12_MESSAGE_CATEGORY_EXECUTION),
    ("Copy", D3D12_MESSAGE_CATEGORY_RESOURCE_MANIPULATION),
    ("Write", D3D12_MESSAGE_CATEGORY_RESOURCE_MANIPULATION),
    ("Read", D3D12_MESSAGE_CATEGORY_RESOURCE_MANIPULATION),
    ("Update", D3D12_MESSAGE_CATEGORY_RESOURCE_MANIPULATION),
    ("ResourceBarrier", D3D12_MESSAGE_CATEGORY_RESOURCE_MANIPULATION),
    ("Barrier", D3D12_MESSAGE_CATEGORY_RESOURCE_MANIPULATION),
    ("Get", D3D12_MESSAGE_CATEGORY_STATE_GETTING),
    ("Set", D3D12_MESSAGE_CATEGORY_STATE_SETTING),
];

fn of_call(name: &str) -> D3D12_MESSAGE_CATEGORY {
    let method = name.rsplit("::").next().unwrap_or(name);
    CALLS
        .iter()
        .find(|(beginning, _)| method.starts_with(beginning))
        .map_or(D3D12_MESSAGE_CATEGORY_MISCELLANEOUS, |(_, category)| *category)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected categories are those that D3D12's debug layer is known to print.
    #[test]
    fn messages_have_the_categories_that_d3d12_prints() {
        let cases = [
            (
                D3D12_MESSAGE_ID_CREATERESOURCEANDHEAP_INVALIDHEAPPROPERTIES,
                "ID3D12Device::CreatePlacedResource",
                D3D12_MESSAGE_CATEGORY_STATE_CREATION,
            ),
            (
                D3D12_MESSAGE_ID_RESOURCE_BARRIER_INVALID_HEAP,
                "ID3D12Device::CreateCommittedResource",
                D3D12_MESSAGE_CATEGORY_RESOURCE_MANIPULATION,
            ),
            (D3D12_MESSAGE_ID_UNMAP_INVALIDRANGE, "ID3D12Resource::Unmap", D3D12_MESSAGE_CATEGORY_EXECUTION),
            (
                D3D12_MESSAGE_ID_COPYRESOURCE_INVALIDDSTRESOURCE,
                "ID3D12GraphicsCommandList::CopyResource",
                D3D12_MESSAGE_CATEGORY_RESOURCE_MANIPULATION,
            ),
            (
                D3D12_MESSAGE_ID_COPY_DESCRIPTORS_INVALID_RANGES,
                "ID3D12Device::CopyDescriptors",
                D3D12_MESSAGE_CATEGORY_EXECUTION,
            ),
            (
                D3D12_MESSAGE_ID_OBJECT_EVICTED_WHILE_STILL_IN_USE,
                "ID3D12Device::Evict",
                D3D12_MESSAGE_CATEGORY_MISCELLANEOUS,
            ),
            (
                D3D12_MESSAGE_ID_LIVE_DEVICE,
                "ID3D12DebugDevice::ReportLiveDeviceObjects",
                D3D12_MESSAGE_CATEGORY_STATE_CREATION,
            ),
        ];
        for (id, name, category) in cases {
            assert_eq!(of(id, name), category, "message {id} of {name}");
        }
    }

    #[test]
    fn a_message_without_an_id_has_the_category_of_its_call() {
        let of = |name| of(D3D12_MESSAGE_ID_UNKNOWN, name);
        assert_eq!(of("ID3D12Device4::CreateHeap1"), D3D12_MESSAGE_CATEGORY_STATE_CREATION);
        assert_eq!(of("GetPrivateData"), D3D12_MESSAGE_CATEGORY_STATE_GETTING);
        assert_eq!(of("SetName"), D3D12_MESSAGE_CATEGORY_STATE_SETTING);
        assert_eq!(of("ID3D12Device::MakeResident"), D3D12_MESSAGE_CATEGORY_MISCELLANEOUS);
        assert_eq!(of(""), D3D12_MESSAGE_CATEGORY_MISCELLANEOUS);
    }
}
