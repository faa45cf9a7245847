// From notes to Wireshark's tree. Wireshark's functions may leave by longjmp(): nothing here has a
// destructor, nor may what calls it.
#pragma once

#include "wireshark.h"

#include <rpcrdma/annotations/annotation.h>

namespace rpcrdma::wireshark {

// The fields of a tape. Offsets count from `base` in `tvb`; what lies behind its captured bytes is
// shown without bytes. `operations`: of the Call; its segments get links to them.
void render(const annotations::FieldLog& field_log, tvbuff_t* tvb, int base, proto_tree* tree,
            const std::vector<model::ChunkOperation>* operations = nullptr);

// A frame's number as a link.
void render_frame(decode::FieldId id, std::uint64_t frame, tvbuff_t* tvb, proto_tree* tree);

// The operation that the frame is a packet of.
void render_operation(const annotations::OperationNote& note, std::uint64_t call_frame,
                      tvbuff_t* tvb, proto_tree* tree);

}  // namespace rpcrdma::wireshark
