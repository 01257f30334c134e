//! An `Alignment` beside the tight alignment flag: an error up to SDK 1.619.3, a floor from SDK 1.619.4 on (document
//! TIGHT).

use crate::answer::{each, ensure, require, require_eq};
use crate::check::{Check, Need, check, documented, validation};
use crate::com::{device, memory};
use crate::desc::*;

const VALIDATION: &str = "TIGHT, Validation";
const FLOOR: &str = "TIGHT of SDK 1.619.4, Non-zero Alignment as a target floor";
const ROUND_TRIP: &str = "TIGHT of SDK 1.619.4, Non-zero Alignment as a target floor, round trip of GetDesc";

const TAKEN: &str = "Windows from Agility SDK 1.619.4 on and vkd3d-proton, which take powers of two from 8 to 256, as TIGHT of that SDK has it";
const IGNORED: &str = "Windows with SDK 1.619.4 and 1.619.5 and vkd3d-proton, whose GetResourceAllocationInfo and GetDesc have the smallest \
                       alignment; older SDKs, which refuse it";
const REFUSED: &str = "vkd3d-proton, which refuses 1, 2 and 4, as the range of the release notes of SDK 1.619.4 begins at the minimum; older \
                       SDKs, which refuse any";
const ONCE: &str = "SDKs before 1.619.4, which refuse a non-zero Alignment beside the flag";

const YES: &[Need] = &[Need::TightAlignment];
const TEXTURES: &[Need] = &[Need::TightAlignment, Need::Textures, Need::Footprints];

/// Floors of buffers within the documented range.
const FLOORS: [u64; 4] = [8, 16, 64, 256];
/// The smallest alignment of a placed resource.
const MIN: u64 = 8;

pub(super) const CHECKS: &[Check] = &[
    documented("tight/explicit-alignment-refused", VALIDATION, TAKEN, YES, |ctx| {
        ctx.refuses(&FLOORS.map(|floor| aligned(tight_buffer(1000), floor)))
    }),
    documented("tight/explicit-alignment", FLOOR, IGNORED, YES, |ctx| {
        let heap = ctx.create_heap(&buffer_heap(DEFAULT, 64 * KIB)).ok("64 KiB")?;
        each(FLOORS, |floor| {
            let desc = aligned(tight_buffer(1000), floor);
            let reported = ctx.valid_allocation(&format!("Alignment {floor}"), &desc)?.alignment;
            let resource = ctx.place(&heap, 0, &desc).ok(format!("Alignment {floor}"))?;
            let described = memory::desc(&resource).Alignment;
            for (what, found) in [("GetResourceAllocationInfo", reported), ("GetDesc", described)] {
                ensure!(found >= floor, "Alignment {floor} is accepted, but {what} has {found}");
            }
            Ok(())
        })
    }),
    documented("tight/explicit-alignment-below-the-minimum", FLOOR, REFUSED, YES, |ctx| {
        each([1, 2, 4], |floor| {
            let desc = aligned(tight_buffer(1000), floor);
            let found = ctx.valid_allocation(&format!("Alignment {floor}"), &desc)?.alignment;
            ensure!(found >= MIN, "Alignment {floor} is not raised to {MIN}, but {found}");
            ctx.commit(DEFAULT, &desc).taken(format!("Alignment {floor}"))
        })
    }),
    documented("tight/desc-is-a-description-again", ROUND_TRIP, ONCE, YES, |ctx| {
        let heap = ctx.create_heap(&buffer_heap(DEFAULT, 64 * KIB)).ok("64 KiB")?;
        let placed = ctx.place(&heap, 0, &tight_buffer(1000)).ok("1000 bytes")?;
        let committed = ctx.commit(DEFAULT, &tight_buffer(1000)).ok("1000 bytes")?;
        each([&placed, &committed], |resource| {
            let desc = memory::desc(resource);
            ctx.valid_allocation(&format!("Alignment {}, from GetDesc", desc.Alignment), &desc)?;
            ctx.commit(DEFAULT, &desc).taken(format!("Alignment {}, from GetDesc", desc.Alignment))
        })
    }),
    validation("tight/explicit-alignment-is-taken-throughout", FLOOR, YES, |ctx| {
        let heap = ctx.create_heap(&buffer_heap(DEFAULT, 64 * KIB)).ok("64 KiB")?;
        let mut taken = Vec::new();
        for floor in [1, 2, 4, 8, 16, 32, 64, 128, 256] {
            let desc = aligned(tight_buffer(1000), floor);
            let (what, found) = (format!("Alignment {floor}"), ctx.allocation(&[desc]));
            let answers = [ctx.commit(DEFAULT, &desc), ctx.place(&heap, 0, &desc)];
            if found.size == u64::MAX {
                each(answers, |answer| answer.refused(format!("{what}, which has no allocation info")))?;
            } else {
                let aligned = found.alignment.is_power_of_two() && found.alignment >= MIN;
                require(aligned, || format!("{what}: Alignment {} is reported", found.alignment))?;
                each(answers, |answer| answer.taken(format!("{what}, which has allocation info")))?;
                taken.push(floor);
            }
        }
        Ok(if taken.is_empty() { "E_INVALIDARG for each".to_owned() } else { format!("{taken:?} are taken") })
    }),
    // A game passes 0x100 with textures to GetCopyableFootprints, too (vkd3d-proton, issue 3307).
    validation("tight/explicit-alignment-of-textures-is-taken-throughout", FLOOR, TEXTURES, |ctx| {
        let mut taken = Vec::new();
        for floor in [8, 64, 256, 4 * KIB] {
            let desc = aligned(tight(rgba(64, 64)), floor);
            let what = format!("Alignment {floor}");
            let is_known = ctx.allocation(&[desc]).size != u64::MAX;
            let total = device::footprint_total(ctx.device(), &desc, 1);
            require_eq(
                format!("{what}: whether GetCopyableFootprints has a size"),
                total != u64::MAX,
                is_known,
            )?;
            let texture = ctx.commit(DEFAULT, &desc);
            if is_known {
                texture.taken(format!("{what}, which has allocation info"))?;
                taken.push(floor);
            } else {
                texture.refused(format!("{what}, which has no allocation info"))?;
            }
        }
        Ok(if taken.is_empty() { "E_INVALIDARG for each".to_owned() } else { format!("{taken:?} are taken") })
    }),
    check("tight/explicit-alignment-no-power-of-two-refused", VALIDATION, YES, |ctx| {
        ctx.refuses(&[3, 12, 257, 65_535].map(|alignment| aligned(tight_buffer(1000), alignment)))
    }),
    check("tight/explicit-alignment-too-large-refused", VALIDATION, YES, |ctx| {
        ctx.refuses(&[64 * KIB, 8 * MIB, 1 << 40].map(|alignment| aligned(tight_buffer(1000), alignment)))
    }),
];
