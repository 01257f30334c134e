//! The caller must ensure that everything the lists use is alive and resident.
use heapwright::residency::ResidencyManager;
use heapwright::d3d12::ID3D12CommandQueue;

fn execute(manager: &ResidencyManager, queue: &ID3D12CommandQueue) {
    let _ = manager.execute_command_lists(queue, &[]);
}

fn main() {}
