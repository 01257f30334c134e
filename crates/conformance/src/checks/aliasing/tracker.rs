//! `IHeapwrightAliasing` itself: what is set, kept, forgotten and said.

use heapwright_d3d12::aliasing::{
    HEAPWRIGHT_ALIASING_MODEL_SIMPLE, HEAPWRIGHT_ALIASING_SEVERITY_ERROR, HEAPWRIGHT_ALIASING_VIOLATION,
};

use super::scene::{GRANULE, Scene, TEXTURES, TRACKED, WITH_TEXTURES};
use crate::answer::{require, require_eq};
use crate::check::{Check, check};

const SPEC: &str = "heapwright, IHeapwrightAliasing";

pub(in crate::checks) const CHECKS: &[Check] = &[
    check("aliasing/tracking-is-as-it-was-set", SPEC, TRACKED, |ctx| {
        let scene = Scene::simple(ctx)?;
        let found = scene.tracker().tracking();
        let found = ctx.answer("IHeapwrightAliasing::GetTracking", found).ok("what was set")?;
        require_eq("Model", found.Model, HEAPWRIGHT_ALIASING_MODEL_SIMPLE)?;
        require_eq("Scramble", found.Scramble, 0)?;
        Ok("the simple model".to_owned())
    }),
    check("aliasing/violation-that-is-not-there", SPEC, TRACKED, |ctx| {
        let scene = Scene::advanced(ctx)?;
        let found = scene.tracker().violation(0);
        let found = ctx.answer("IHeapwrightAliasing::GetViolation", found).ok("S_FALSE")?;
        require(found.is_none(), || format!("nothing was done, and there is {found:?}"))?;
        Ok("S_FALSE".to_owned())
    }),
    check("aliasing/violations-are-forgotten", SPEC, WITH_TEXTURES, |ctx| {
        let scene = Scene::advanced(ctx)?;
        let (one, other) = scene.strangers()?;
        scene.run(|list| {
            scene.write(list, &one, 0);
            scene.write(list, &other, 0);
        })?;
        scene.refuses(&[("B-1", "")])?;
        scene.tracker().forget();
        scene.accepts()
    }),
    check("aliasing/violation-says-where", SPEC, WITH_TEXTURES, |ctx| {
        let scene = Scene::advanced(ctx)?;
        let heap = scene.heap(4, TEXTURES)?;
        let copied = super::scene::COPY_DEST;
        let one = scene.place(&heap, 2, &super::scene::square(), copied)?;
        let other = scene.place(&heap, 2, &super::scene::tall(), copied)?;
        scene.run_together(&[&|list| scene.write(list, &one, 0), &|list| scene.write(list, &other, 0)])?;
        let found = scene.tracker().violation(0);
        let found = ctx.answer("IHeapwrightAliasing::GetViolation", found).ok("the first")?;
        let Some((found, text)) = found else { return crate::answer::failed("there is no violation") };
        require_eq("Severity", found.Severity, HEAPWRIGHT_ALIASING_SEVERITY_ERROR)?;
        require_eq("List and Call", (found.List, found.Call), (1, 0))?;
        require_eq("HeapOffset and HeapSize", (found.HeapOffset, found.HeapSize), (2 * GRANULE, GRANULE))?;
        require(found.Resource != 0 && found.Other != 0 && found.Resource != found.Other, || {
            format!("the resources are {} and {}", found.Resource, found.Other)
        })?;
        let id = HEAPWRIGHT_ALIASING_VIOLATION::id(&found.Rule);
        require(text.contains(id), || format!("the message does not name {id}: {text}"))?;
        Ok(text)
    }),
];
