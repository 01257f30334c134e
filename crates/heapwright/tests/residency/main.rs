//! The residency manager on the embedded runtime, where a copy from an evicted heap removes the device.
//!
//! For each defect of comparable libraries in the research notes (gpgmm.md, peers.md, aliasing.md), a test
//! fails if the manager has that defect.
//!
//! | defect | test |
//! |---|---|
//! | gpgmm.md F.2, 11: heaps created evicted are treated as resident | `gpgmm::what_is_created_evicted_is_paged_in` |
//! | 12: ALWAYS_IN_BUDGET refuses heaps that are created evicted | `gpgmm::what_is_created_evicted_needs_no_budget` |
//! | 13: non-local heaps are not paged in together with local ones | `microsofts::room_in_system_memory_is_no_room_in_video_memory`; core's model of the planner has both groups |
//! | 14: a failed call is not rolled back | `faults::every_call_may_fail` |
//! | 15: one fence for paging and work, for which the queue does not wait; a lock returns before the heap is resident | `gpgmm::a_queue_waits_for_paging`, `a_lock_waits_for_paging`; core's model completes paging and work separately |
//! | 16: a failing MakeResident is reported as success | `gpgmm::a_failure_to_make_resident_is_an_error`, `older_devices::a_lock_that_fails_is_an_error` |
//! | 17: EvictSize evicts nothing | `gpgmm::evict_size_is_evicted_when_the_device_has_no_memory` |
//! | 18: CREATE_IN_BUDGET has races, does nothing without a size, refuses too much | `gpgmm::room_for_a_heap_is_kept_until_it_is_there`, `create_in_budget_checks_every_heap_and_evicts_what_is_needed`, `a_refusal_asks_the_operating_system_first` |
//! | 19, 20: locks are lost, or released by others | `lifetimes::locks_of_many_threads_add_up`, `hostile::locks_and_statuses_that_cannot_be`; the allocator's tests cover mapping |
//! | 21: heaps are removed from the books without the lock | `residency_stress`, whose workers drop, execute and evict |
//! | 22: a dropped locked heap stays in the sums | `allocator::memory::a_heap_that_goes_locked_leaves_nothing_behind` |
//! | 23: lists keep pointers to destroyed heaps | `gpgmm::a_heap_that_is_gone_is_not_used` |
//! | 24: with a null queue, heaps stay in use for ever | no such call; without a queue: `budgets::a_prefetch_waits_for_nothing`, and core's model |
//! | 25: queues share one sequence of fence values | core's model has several queues; `residency_stress` |
//! | 26: the CPU waits for the GPU while it holds the lock | `gpgmm::nothing_is_locked_while_a_lock_waits_for_the_gpu` |
//! | 27: usage minus the reservation wraps | `gpgmm::usage_does_not_wrap_below_a_reservation` |
//! | 28: SetResidencyStatus(EVICTED) is ignored | `gpgmm::what_is_said_to_be_evicted_is_paged_in` |
//! | 29: heaps created between notifications are not counted | `gpgmm::what_is_created_between_notifications_counts_at_once` |
//! | peers.md 1e, GPGMM: one command list per call | `faults::lists_larger_than_the_budget_together`; its other items are 13, 15, 25, 26 |
//! | peers.md 4c, 1: the budgets of both segment groups are added together | `microsofts::room_in_system_memory_is_no_room_in_video_memory` |
//! | 2: at most 32 lists can be open | `microsofts::any_number_of_lists_is_open` |
//! | 3: allocations in every submission | `microsofts::a_submission_allocates_nothing` |
//! | 4: the operating system is queried in every submission | `microsofts::the_operating_system_is_asked_once_for_each_interval` |
//! | 5: locks while waiting for the GPU | `microsofts::a_queue_that_waits_for_memory_holds_nobody_up`, `a_thread_that_renders_does_not_hold_another_up_forever` |
//! | 6: a failed batch is counted, and retried with the wrong objects | `gpgmm::evict_size_is_evicted_when_the_device_has_no_memory`, `faults::every_call_may_fail` |
//! | 7: empty batches | `microsofts::no_batch_is_empty` |
//! | 8: trimming loses evictions | `trim::both_kinds_in_one_notification_both_reach_the_device_once`, `budgets::a_smaller_budget_evicts_in_the_background` |
//! | 9: the first use of a queue has a race | `microsofts::the_first_use_of_a_queue_may_be_anybodys`, `queues_come_and_go_while_others_page` |
//! | 10: lists are executed although paging failed; a lack of memory is no error | `microsofts::nothing_is_executed_when_paging_fails` |
//! | 11: no priorities, pinning, statistics, override, reservation, notifications; destructive when the device is removed | `budgets::a_lower_priority_goes_first`, `lifetimes::locks_of_many_threads_add_up`, `budgets::statistics_add_up_to_what_d3d12_counts`, `budgets::a_schedule_of_budgets`, `gpgmm::usage_does_not_wrap_below_a_reservation`, `budgets::a_smaller_budget_evicts_in_the_background`, `removal::before_a_submission` |
//! | 12: every resource is added to every list, and mapped to heaps by hand | `microsofts::a_heap_that_many_resources_share_is_one_entry`; the allocator maps resources to heaps |
//! | 13: forks that drift | no such code |
//! | aliasing.md 4, "suspect": the previous batch is paged in again | `microsofts::no_batch_is_empty`, `faults::a_list_larger_than_the_budget` |
#![allow(missing_docs, reason = "a test")]
// If a function became safe that the tests call in an unsafe block, they would not compile.
#![deny(unused_unsafe)]
#![allow(clippy::undocumented_unsafe_blocks, reason = "every call here is one of D3D12's, on live objects")]

mod adoption;
mod allocator;
mod budgets;
#[path = "../counting_allocator/mod.rs"]
mod counting_allocator;
mod faults;
#[path = "../faulty_device/mod.rs"]
mod faulty_device;
mod gpgmm;
#[path = "../gpu/mod.rs"]
mod gpu;
mod hostile;
mod lifetimes;
mod microsofts;
mod older_devices;
mod pageables;
mod policies;
mod removal;
mod scene;
mod set_budget;
mod trim;
