//! `IHeapwrightAliasing` itself: settings, violations and their messages.

use heapwright_d3d12::aliasing::*;

use super::scene::*;

pub(super) const ROWS: &[Row] = &[
    row("tracking-is-as-it-was-set", |scene| {
        let found = scene.tracking();
        require_eq("Model", found.Model, HEAPWRIGHT_ALIASING_MODEL_SIMPLE)?;
        require_eq("Scramble", found.Scramble, 0)
    })
    .with(SIMPLE),
    row("violation-that-is-not-there", |scene| {
        let found = scene.violation(0);
        ensure!(found.is_none(), "expected no violation, found {found:?}");
        Ok(())
    }),
    row("violations-are-forgotten", |scene| {
        let (one, other) = scene.strangers();
        scene.refuses_run(&[("B-1", "")], |list| {
            scene.write(list, &one, 0);
            scene.write(list, &other, 0);
        })?;
        scene.clear_violations();
        scene.accepts()
    }),
    row("violation-says-where", |scene| {
        let heap = scene.heap(4, TEXTURES);
        let one = scene.place(&heap, 2, &square(), COPY_DEST);
        let other = scene.place(&heap, 2, &tall(), COPY_DEST);
        scene.run_together(&[&|list| scene.write(list, &one, 0), &|list| scene.write(list, &other, 0)]);
        let found = scene.violation(0);
        let Some((found, text)) = found else {
            return Err("expected a violation, found none".to_owned());
        };
        require_eq("Severity", found.Severity, HEAPWRIGHT_ALIASING_SEVERITY_ERROR)?;
        require_eq("List and Call", (found.List, found.Call), (1, 0))?;
        require_eq("HeapOffset and HeapSize", (found.HeapOffset, found.HeapSize), (2 * GRANULE, GRANULE))?;
        let numbers = (found.Resource, found.Other);
        ensure!(numbers.0 != 0 && numbers.1 != 0 && numbers.0 != numbers.1, "two resources: {numbers:?}");
        let id = HEAPWRIGHT_ALIASING_VIOLATION::id(&found.Rule);
        ensure!(text.contains(id), "the message does not contain the rule {id}: {text}");
        Ok(())
    }),
];
