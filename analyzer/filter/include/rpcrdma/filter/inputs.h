// A message with the context that a filter may use.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <rpcrdma/model/model.h>
#include <rpcrdma/roce/connection.h>

namespace rpcrdma::filter {

// The caller owns the pointed-to objects; they are read during the call only.
struct Inputs {
  const model::Message* message = nullptr;  // never null; with its `bytes` if the filter needs them
  const model::Call* call = nullptr;        // the Call that it is or answers
  std::uint32_t connection = 0;             // its reported ID
  const roce::Side* sender = nullptr;
  const roce::Side* receiver = nullptr;
  bool reverse = false;
  model::InlineThresholds thresholds;
  std::int64_t start_ns = 0;                   // of the capture's first frame
  std::span<const std::string_view> findings;  // IDs of the rules that the message breaks
};

}  // namespace rpcrdma::filter
