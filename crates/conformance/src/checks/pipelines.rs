//! Pipeline objects and the lists that use them. The results of shaders are not checked.

use heapwright_d3d12::*;

use crate::answer::{Stop, ensure, require};
use crate::check::{Check, check};
use crate::com::{commands, pipelines};
use crate::context::Context;
use crate::desc::{BUNDLE, DIRECT};
use crate::dxbc::{self, Assembly};
use crate::queue::{pattern, read};

const DRAW: &str = "Learn, ID3D12GraphicsCommandList::DrawInstanced and Dispatch";

pub(super) const CHECKS: &[Check] = &[
    check("pipelines/root-signature", "Learn, ID3D12Device::CreateRootSignature", &[], |ctx| {
        root_signature(ctx)?;
        Ok("an empty root signature".to_owned())
    }),
    check("pipelines/compute-state", "Learn, ID3D12Device::CreateComputePipelineState", &[], |ctx| {
        compute(ctx)?;
        Ok("with a shader that does nothing".to_owned())
    }),
    check("pipelines/graphics-state", "Learn, ID3D12Device::CreateGraphicsPipelineState", &[], |ctx| {
        graphics(ctx)?;
        Ok("with a vertex shader only".to_owned())
    }),
    check("pipelines/command-signature", "Learn, ID3D12Device::CreateCommandSignature", &[], |ctx| {
        pipelines::create_command_signature(ctx.device()).taken("a draw")
    }),
    check("pipelines/list-that-draws", DRAW, &[], |ctx| {
        let ((signature, state), (other, compute)) = (graphics(ctx)?, compute(ctx)?);
        let queue = ctx.queue(DIRECT)?;
        let (from, to) = (queue.upload(&pattern(256, 1))?, queue.readback(256)?);
        queue.run(|list| {
            list.draw(&signature, &state);
            list.dispatch((&other, &compute), &[], 1);
            list.copy_buffer((&to, 0), (&from, 0), 256);
        })?;
        require(read(&to, 256)? == pattern(256, 1), || {
            "the copy after the draw and the dispatch was not executed".to_owned()
        })
    }),
    check("pipelines/bundle", "Learn, ID3D12GraphicsCommandList::ExecuteBundle", &[], |ctx| {
        let (signature, state) = compute(ctx)?;
        let allocator = commands::create_allocator(ctx.device(), BUNDLE).ok("a bundle")?;
        let bundle = commands::create_list(ctx.device(), BUNDLE, &allocator).ok("a bundle")?;
        bundle.dispatch((&signature, &state), &[], 1);
        bundle.close().ok("a bundle")?;
        ctx.queue(DIRECT)?.run(|list| {
            list.execute_bundle(&bundle);
            list.execute_bundle(&bundle);
        })?;
        Ok("executed twice by a list".to_owned())
    }),
    check("pipelines/timestamps", "Learn, ID3D12GraphicsCommandList::ResolveQueryData", &[], |ctx| {
        let desc = D3D12_QUERY_HEAP_DESC { Type: D3D12_QUERY_HEAP_TYPE_TIMESTAMP, Count: 2, NodeMask: 0 };
        let heap = commands::create_query_heap(ctx.device(), &desc).ok("2 timestamps")?;
        let queue = ctx.queue(DIRECT)?;
        let to = queue.readback(32)?;
        ctx.map(&to).ok("a READBACK buffer")?.write(0, &[0xee; 32]);
        queue.run(|list| {
            list.end_timestamp(&heap, 0);
            list.end_timestamp(&heap, 1);
            list.resolve_timestamps(&heap, 2, (&to, 8));
        })?;
        let found = read(&to, 32)?;
        require(found[..8].iter().chain(&found[24..]).all(|&byte| byte == 0xee), || {
            "bytes outside the results changed".to_owned()
        })?;
        ensure!(found[8..24] != [0xee; 16], "no results were written");
        Ok("2 results of 8 bytes, no others".to_owned())
    }),
];

fn root_signature(ctx: &Context) -> Result<ID3D12RootSignature, Stop> {
    let flags = D3D12_ROOT_SIGNATURE_FLAG_ALLOW_INPUT_ASSEMBLER_INPUT_LAYOUT;
    let container = dxbc::root_signature(&[], flags);
    pipelines::create_root_signature(ctx.device(), &container).ok("no parameters")
}

/// Creates a compute pipeline state whose shader returns at once, and its root signature.
fn compute(ctx: &Context) -> Result<(ID3D12RootSignature, ID3D12PipelineState), Stop> {
    let (signature, shader) = (root_signature(ctx)?, Assembly::new(1, &[]).end());
    let state = pipelines::create_compute_state(ctx.device(), &signature, &shader);
    Ok((signature, state.ok("a shader that does nothing")?))
}

/// Creates a graphics pipeline state and its root signature.
fn graphics(ctx: &Context) -> Result<(ID3D12RootSignature, ID3D12PipelineState), Stop> {
    let signature = root_signature(ctx)?;
    let state = pipelines::create_graphics_state(ctx.device(), &signature, &dxbc::vertex_shader());
    Ok((signature, state.ok("a vertex shader")?))
}
