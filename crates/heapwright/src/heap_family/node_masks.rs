//! The GPUs of a linked adapter that own a heap, and those that can access it.

use crate::Error;

/// The node masks of a heap. The default, 0 and 0, is the only node, or the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct NodeMasks {
    /// `CreationNodeMask`: the single node that owns the memory.
    pub creation: u32,
    /// `VisibleNodeMask`: the nodes that can access it, including the creation node.
    pub visible: u32,
}

impl NodeMasks {
    /// Checks the masks against a device of `node_count` nodes.
    ///
    /// # Errors
    ///
    /// Invalid argument, with the field: a creation mask with several nodes, a visible mask without the creation node,
    /// or a node that the device does not have.
    pub(crate) fn check(self, node_count: u32) -> Result<(), Error> {
        let creation_field = "D3D12_HEAP_PROPERTIES::CreationNodeMask";
        let visible_field = "D3D12_HEAP_PROPERTIES::VisibleNodeMask";
        let nodes = 1_u32.checked_shl(node_count).map_or(u32::MAX, |end| end - 1);
        for (mask, field) in [(self.creation, creation_field), (self.visible, visible_field)] {
            if mask & !nodes != 0 {
                let rule = format!(
                    "{mask:#x} contains a node that does not exist; the number of nodes is {node_count}"
                );
                return Err(Error::invalid_argument(field, rule));
            }
        }
        if self.creation.count_ones() > 1 {
            let rule = format!("{:#x} has more than one bit set; a heap belongs to one node", self.creation);
            return Err(Error::invalid_argument(creation_field, rule));
        }
        // In either mask, 0 is the first node.
        let [creation, visible] = [self.creation, self.visible].map(|mask| mask.max(1));
        if visible & creation == 0 {
            let rule = format!("{visible:#x} does not include CreationNodeMask, {creation:#x}");
            return Err(Error::invalid_argument(visible_field, rule));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_creation_node_is_one_of_the_visible_nodes() {
        let check = |creation, visible, node_count| {
            NodeMasks { creation, visible }.check(node_count).map_err(|error| {
                let text = error.to_string();
                text.split(':').next_back().map(str::to_owned).unwrap_or_default()
            })
        };
        for (creation, visible, node_count) in [
            (0, 0, 1),
            (1, 1, 1),
            (0, 1, 1),
            (1, 0, 1),
            (2, 2, 2),
            (2, 3, 2),
            (0, 3, 2),
            (1 << 31, u32::MAX, 32),
        ] {
            assert_eq!(
                check(creation, visible, node_count),
                Ok(()),
                "{creation:#x} {visible:#x} {node_count}"
            );
        }
        for (creation, visible, node_count, rule) in [
            (2, 2, 1, "number of nodes is 1"),
            (1, 3, 1, "number of nodes is 1"),
            (3, 3, 2, "more than one bit"),
            (2, 1, 2, "does not include"),
            (2, 0, 2, "does not include"),
        ] {
            let text = check(creation, visible, node_count).expect_err("must be rejected");
            assert!(text.contains(rule), "{text}");
        }
    }
}
