// Writes notes into Wireshark's tree. Wireshark's functions may call longjmp(): neither this code
// nor its callers may have destructors.
#pragma once

#include "wireshark.h"

#include <rpcrdma/annotations/annotation.h>

namespace rpcrdma::wireshark {

// Shows the fields of a log. Offsets count from `base` in `tvb`; a field beyond the captured bytes
// is shown without bytes. `operations`: of the Call; its segments get links to them.
void render(const annotations::FieldLog& field_log, tvbuff_t* tvb, int base, proto_tree* tree,
            const std::vector<model::ChunkOperation>* operations = nullptr);

// Shows a frame's number as a link.
void render_frame(decode::FieldId id, std::uint64_t frame, tvbuff_t* tvb, proto_tree* tree);

// Shows the operation that the packet belongs to.
void render_operation(const annotations::OperationNote& note, std::uint64_t call_frame,
                      tvbuff_t* tvb, proto_tree* tree);

}  // namespace rpcrdma::wireshark
