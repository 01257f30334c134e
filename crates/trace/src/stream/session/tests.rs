use std::io::Cursor;

use super::super::NewHeap;
use super::*;
use crate::RecordReader;
use crate::session::{Counter, Heap, ResourceKind};

/// Returns the records of these events, whose references a reader has checked.
fn actions_of(events: Vec<Event>) -> Vec<Action> {
    let mut session = SessionEvents::new(Cursor::new(Vec::new())).expect("a header");
    for event in events {
        session.write(Entry { time_ns: 0, thread: 1, event }).expect("written");
    }
    session.checkpoint().expect("complete");
    let bytes = session.writer.get_mut().get_ref().clone();
    let reader = RecordReader::new("a.hws", &bytes[..]).expect("a session");
    reader.map(|record| record.expect("valid").action).collect()
}

fn new_heap(id: u64) -> Event {
    let heap = Heap { id, size: 1, alignment: 1, heap_type: HeapType::Default, flags: 0, name: None };
    Event::CreateHeap(Box::new(NewHeap { heap, is_object: true, call: None }))
}

/// Other threads drop heaps while a call pages or submits them, and the event of the call comes later.
#[test]
fn calls_name_only_heaps_that_are_live() {
    let found = actions_of(vec![
        new_heap(5),
        new_heap(6),
        Event::Action { allocator: None, action: Action::DestroyHeap { heap: 5 } },
        Event::Evict { heaps: vec![5, 6] },
        Event::MakeResident { heaps: vec![5, 6] },
        Event::Submit { queue: 0, fence_value: 1, lists: vec![vec![5, 6], vec![5]] },
    ]);
    let expected = [
        Action::DestroyHeap { heap: 5 },
        Action::Evict { heap: 6 },
        Action::MakeResident { heap: 6 },
        Action::DefineSet { set: 0, heaps: vec![6] },
        Action::Submit { queue: 0, fence_value: 1, sets: vec![0] },
    ];
    assert_eq!(found[2..], expected);
}

#[test]
fn a_moved_buffer_has_its_new_address() {
    let found = actions_of(vec![
        new_heap(1),
        Event::Allocate(Box::new(Allocated {
            instance: 0,
            id: 2,
            size: 100,
            taken: 128,
            kind: ResourceKind::Buffer,
            heap_type: 1,
            resource_flags: 0,
            place: Some((1, 0)),
            address: Some(0x1000),
            description: None,
            asked: None,
            clear_value: String::new(),
            pool: None,
        })),
        new_heap(3),
        Event::Move { allocation: 2, heap: 3, offset: 256, address: Some((0x2100, 100)) },
    ]);
    let expected = [
        Action::Place { allocation: 2, heap: 3, offset: 256 },
        Action::AllocationAddress { allocation: 2, address: 0x2100, size: 100 },
    ];
    assert_eq!(found[found.len() - 2..], expected);
}

#[test]
fn a_manager_is_no_allocator() {
    let values = vec![(Counter::LocalBudget, 7)];
    let kind = InstanceKind::ResidencyManager;
    let found = actions_of(vec![Event::Count { instance: 3, kind, values }]);
    assert_eq!(found, [Action::Count { counter: Counter::LocalBudget, value: 7 }]);
}
