//! `IHeapwrightAliasing` itself: settings, violations and their messages.

use heapwright_d3d12::aliasing::{
    HEAPWRIGHT_ALIASING_MODEL_SIMPLE, HEAPWRIGHT_ALIASING_SEVERITY_ERROR, HEAPWRIGHT_ALIASING_VIOLATION,
};

use super::scene::{GRANULE, Scene, TEXTURES, TRACKED, WITH_TEXTURES};
use crate::answer::{ensure, require, require_eq};
use crate::check::{Check, check};

const SPEC: &str = "heapwright, IHeapwrightAliasing";

pub(in crate::checks) const CHECKS: &[Check] = &[
    check("aliasing/tracking-is-as-it-was-set", SPEC, TRACKED, |ctx| {
        let scene = Scene::simple(ctx)?;
        let found = scene.tracker().tracking().ok("the current settings")?;
        require_eq("Model", found.Model, HEAPWRIGHT_ALIASING_MODEL_SIMPLE)?;
        require_eq("Scramble", found.Scramble, 0)
    }),
    check("aliasing/violation-that-is-not-there", SPEC, TRACKED, |ctx| {
        let scene = Scene::advanced(ctx)?;
        let found = scene.tracker().violation(0).ok("S_FALSE")?;
        ensure!(found.is_none(), "expected no violation, found {found:?}");
        Ok("S_FALSE".to_owned())
    }),
    check("aliasing/violations-are-forgotten", SPEC, WITH_TEXTURES, |ctx| {
        let scene = Scene::advanced(ctx)?;
        let (one, other) = scene.strangers()?;
        scene.refuses_run(&[("B-1", "")], |list| {
            scene.write(list, &one, 0);
            scene.write(list, &other, 0);
        })?;
        scene.tracker().clear_violations();
        scene.accepts()
    }),
    check("aliasing/violation-says-where", SPEC, WITH_TEXTURES, |ctx| {
        let scene = Scene::advanced(ctx)?;
        let heap = scene.heap(4, TEXTURES)?;
        let copied = crate::desc::COPY_DEST;
        let one = scene.place(&heap, 2, &super::scene::square(), copied)?;
        let other = scene.place(&heap, 2, &super::scene::tall(), copied)?;
        scene.run_together(&[&|list| scene.write(list, &one, 0), &|list| scene.write(list, &other, 0)])?;
        let found = scene.tracker().violation(0).ok("the first object")?;
        let Some((found, text)) = found else {
            return crate::answer::failed("expected a violation, found none");
        };
        require_eq("Severity", found.Severity, HEAPWRIGHT_ALIASING_SEVERITY_ERROR)?;
        require_eq("List and Call", (found.List, found.Call), (1, 0))?;
        require_eq("HeapOffset and HeapSize", (found.HeapOffset, found.HeapSize), (2 * GRANULE, GRANULE))?;
        require(found.Resource != 0 && found.Other != 0 && found.Resource != found.Other, || {
            format!("expected two different resources, found {} and {}", found.Resource, found.Other)
        })?;
        let id = HEAPWRIGHT_ALIASING_VIOLATION::id(&found.Rule);
        ensure!(text.contains(id), "the message does not contain the rule {id}: {text}");
        Ok(text)
    }),
];
