// Reads the lines that `trace-cmd report`, trace_pipe and the file `trace` print. They are made for
// people, so this is best effort: fields that a line does not show are unknown.
//
//   nfsd-169   [000] .....    58.508953: svcrdma_decode_rqst:  cq.id=2 cid=59 xid=0x3b9f4488 ...
//
// Patterns (events.def) are the text of an event with its fields in braces: {name} is a number,
// {name:x} one in hex without a prefix, {name:s} text up to what follows in the pattern, {name:v}
// the part of a word before its last "v", and {_} is skipped. A period stands for any character.
// After a bar are fields that the text does not show, or not always.
#pragma once

#include <cstdint>
#include <string_view>

#include <rpcrdma/tracepoints/record.h>

namespace rpcrdma::tracepoints {

enum class Line : std::uint8_t {
  kRecord,   // of an event that the translator knows
  kOther,    // another event, or a line of the header
  kLost,     // says that events were lost
  kUnknown,  // none of these
};

// `lost`: set for kLost; at least 1. Text in `record` points into `line`.
[[nodiscard]] Line read_line(std::string_view line, Record& record, std::uint64_t& lost);

}  // namespace rpcrdma::tracepoints
