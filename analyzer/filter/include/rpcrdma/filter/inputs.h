// A message with what a filter may ask of it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <rpcrdma/model/model.h>
#include <rpcrdma/roce/connection.h>

namespace rpcrdma::filter {

// The caller owns everything that is pointed to; it is read during the call only.
struct Inputs {
  const model::Message* message = nullptr;  // never null; its `bytes` where a filter needs them
  const model::Call* call = nullptr;        // that it is or answers
  std::uint32_t connection = 0;             // its ID as reported
  const roce::Side* sender = nullptr;
  const roce::Side* receiver = nullptr;
  bool reverse = false;
  model::InlineThresholds thresholds;
  std::int64_t start_ns = 0;                   // of the capture's first frame
  std::span<const std::string_view> findings;  // IDs of the rules that the message breaks
};

}  // namespace rpcrdma::filter
