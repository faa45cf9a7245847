// From notes to Wireshark's tree. Wireshark's functions may leave by longjmp(): nothing here has a
// destructor, nor may what calls it.
#pragma once

#include "wireshark.h"

#include <rpcrdma/notes/note.h>

namespace rpcrdma::wireshark {

// The fields of a tape. Offsets count from `base` in `tvb`; what lies behind its captured bytes is
// shown without bytes. `operations`: of the Call; its segments get links to them.
void paint(const notes::Tape& tape, tvbuff_t* tvb, int base, proto_tree* tree,
           const std::vector<model::ChunkOperation>* operations = nullptr);

// A frame's number as a link.
void paint_frame(decode::FieldId id, std::uint64_t frame, tvbuff_t* tvb, proto_tree* tree);

// The operation that the frame is a packet of.
void paint_operation(const notes::OperationNote& note, std::uint64_t call_frame, tvbuff_t* tvb,
                     proto_tree* tree);

}  // namespace rpcrdma::wireshark
