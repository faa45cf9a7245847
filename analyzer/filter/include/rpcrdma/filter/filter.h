// Display filters: "rpcrdma.credit < 4 && rpc.program == NFS". The language is Wireshark's, the
// fields are those of the schema; docs/filter.md describes both.
#pragma once

#include <bitset>
#include <functional>
#include <memory>
#include <string_view>

#include <tl/expected.hpp>

#include <rpcrdma/decode/schema.h>
#include <rpcrdma/decode/sink.h>
#include <rpcrdma/filter/error.h>
#include <rpcrdma/filter/inputs.h>

namespace rpcrdma::filter {

// Not for use by two threads at once: it keeps the values of the message that it looks at.
class Filter {
 public:
  Filter(Filter&&) noexcept;
  Filter& operator=(Filter&&) noexcept;
  ~Filter();

  // In time that is linear in the message; without allocation once its memory has grown to what
  // messages need, unless a message is malformed and the filter asks how.
  [[nodiscard]] bool matches(const Inputs& in);
  // The same of what is no message, such as an endpoint's event: `report` gives its fields.
  [[nodiscard]] bool matches(const std::function<void(decode::Sink&)>& report);

  // It asks for fields that stand in the message's bytes alone: Inputs::message needs its `bytes`,
  // that is a model with ModelOptions::keep_bytes. Otherwise no byte is decoded.
  [[nodiscard]] bool needs_bytes() const;
  // The fields that it asks for.
  [[nodiscard]] const std::bitset<decode::kFieldCount>& fields() const;
  // It asks for fields that a Call has only when it is over: latency, match, RDMA operations.
  [[nodiscard]] bool needs_answer() const;
  // It asks for rules that the message breaks, some of which are found when later ones are seen.
  [[nodiscard]] bool needs_findings() const;
  // It asks for fields that endpoints' events have and messages have not.
  [[nodiscard]] bool needs_events() const;

 private:
  friend tl::expected<Filter, FilterError> compile(std::string_view text);
  struct Impl;
  explicit Filter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Fields, values and types are checked here; what comes out of it cannot fail.
[[nodiscard]] tl::expected<Filter, FilterError> compile(std::string_view text);

// Whether messages or endpoints' events can have the field. Those of packets, connection management
// and private data they have not.
[[nodiscard]] bool is_filter_field(decode::FieldId id);

}  // namespace rpcrdma::filter
