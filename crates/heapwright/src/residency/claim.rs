//! The claim of a residency heap on its object: no other residency heap manages the object meanwhile, and the next one
//! knows whether it was left resident.
//!
//! Both are noted in the object's private data, which every manager of the process sees, also those of another copy of
//! this library.

use std::sync::{Mutex, PoisonError};

use heapwright_core::residency::Status;
use heapwright_d3d12::*;
use windows_core::GUID;

use super::device::PagedObject;
use crate::Error;

/// The private data with the note.
const NOTE: GUID = GUID::from_u128(0x9d0fb5c3_61f4_4d0e_a2a7_5d1f3c2e8b64);

/// What an object notes. Without a note, it is not managed, and has the residency that D3D12 created it with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum Note {
    Managed = 1,
    LeftEvicted = 2,
    LeftResident = 3,
}

/// An object that a residency heap holds.
#[derive(Debug)]
pub(super) struct HeldObject {
    object: PagedObject,
    claim: Claim,
}

#[derive(Debug)]
enum Claim {
    /// No manager pages the object.
    None,
    /// The object notes that it is managed. Before, it noted `before`.
    Managed { before: Option<Note> },
}

impl HeldObject {
    /// Holds an object that no manager pages.
    #[inline]
    pub(super) fn unclaimed(object: PagedObject) -> Self {
        Self { object, claim: Claim::None }
    }

    /// Claims an object for a residency heap, and returns its status. `created_resident` is how D3D12 created it, if
    /// that is known.
    ///
    /// # Errors
    ///
    /// Invalid argument if another residency heap manages the object; the error of the object if it takes no private
    /// data.
    pub(super) fn claimed(
        object: PagedObject,
        created_resident: Option<bool>,
    ) -> Result<(Self, Status), Error> {
        // Two threads may claim the same object.
        static CLAIMING: Mutex<()> = Mutex::new(());
        let _claiming = CLAIMING.lock().unwrap_or_else(PoisonError::into_inner);
        let before = read(object.pageable());
        let status = match (before, created_resident) {
            (Some(Note::Managed), _) => {
                // The books would count it twice, and could evict it while it is in use as another heap.
                let rule = "the object is already managed by another residency heap";
                return Err(Error::invalid_argument("pageable", rule));
            }
            (Some(Note::LeftEvicted), _) | (None, Some(false)) => Status::Evicted,
            (Some(Note::LeftResident), _) | (None, Some(true)) => Status::Resident,
            (None, None) => Status::Unknown,
        };
        write(object.pageable(), Some(Note::Managed))?;
        Ok((Self { object, claim: Claim::Managed { before } }, status))
    }

    pub(super) fn object(&self) -> &PagedObject {
        &self.object
    }

    /// Ends the claim, and notes the object's status, if D3D12 created it with another. The object is still held.
    pub(super) fn leave(&mut self, status: Option<Status>, created_resident: Option<bool>) {
        let leaves = match (status, created_resident) {
            (Some(Status::Evicted | Status::Arriving), None | Some(true)) => Some(Note::LeftEvicted),
            (Some(Status::Resident), Some(false)) => Some(Note::LeftResident),
            _ => None,
        };
        self.end_claim(|_| leaves);
    }

    /// Ends the claim, if there is one. The object notes what `leaves` returns, from what it noted before the claim.
    fn end_claim(&mut self, leaves: impl FnOnce(Option<Note>) -> Option<Note>) {
        let Claim::Managed { before } = std::mem::replace(&mut self.claim, Claim::None) else { return };
        if let Err(error) = write(self.object.pageable(), leaves(before)) {
            tracing::warn!(%error, "an object that was managed cannot be managed again");
        }
    }
}

impl Drop for HeldObject {
    fn drop(&mut self) {
        self.end_claim(|before| before);
    }
}

/// Size of a note, in bytes.
const SIZE: u32 = u32::BITS / 8;

fn read(object: &ID3D12Object) -> Option<Note> {
    let (mut note, mut size) = (0_u32, SIZE);
    // SAFETY: a live COM object; the pointers are to a GUID, a size, and as many writable bytes.
    let found = unsafe { object.GetPrivateData(&NOTE, &mut size, Some((&raw mut note).cast())) };
    let notes = [Note::Managed, Note::LeftEvicted, Note::LeftResident];
    notes.into_iter().find(|&known| found.is_ok() && known as u32 == note)
}

/// Notes something on an object, or removes the note.
fn write(object: &ID3D12Object, note: Option<Note>) -> Result<(), Error> {
    let note = note.map(|note| note as u32);
    let (size, data) = match &note {
        Some(note) => (SIZE, Some(std::ptr::from_ref(note).cast())),
        None => (0, None),
    };
    // SAFETY: a live COM object; the pointers are to a GUID and to null or as many readable bytes.
    let written = unsafe { object.SetPrivateData(&NOTE, size, data) };
    if written.is_err() { Err(Error::device("ID3D12Object::SetPrivateData", written)) } else { Ok(()) }
}
