// Display filters: "rpcrdma.credit < 4 && rpc.program == NFS". The language is Wireshark's, the
// fields are those of the schema; docs/filter.md describes both.
#pragma once

#include <bitset>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include <rpcrdma/decode/schema.h>
#include <rpcrdma/decode/sink.h>
#include <rpcrdma/filter/error.h>
#include <rpcrdma/filter/inputs.h>

namespace rpcrdma::filter {

// Not for use by two threads at once: it stores the values of the current message.
class Filter {
 public:
  Filter(Filter&&) noexcept;
  Filter& operator=(Filter&&) noexcept;
  ~Filter();

  // Takes time linear in the message and does not allocate once its memory has grown to the size
  // that messages need, unless a message is malformed and the filter asks for the error.
  [[nodiscard]] bool matches(const Inputs& in);
  // The same for anything else, such as an endpoint's event: `report` reports its fields.
  [[nodiscard]] bool matches(const std::function<void(decode::Sink&)>& report);

  // Whether the filter uses fields that only the message's bytes contain: Inputs::message then
  // needs its `bytes`, so the model needs ModelOptions::keep_bytes. Otherwise no byte is decoded.
  [[nodiscard]] bool needs_bytes() const;
  // The fields that the filter uses.
  [[nodiscard]] const std::bitset<decode::kFieldCount>& fields() const;
  // Whether it uses fields that a Call has only once it has ended: latency, match, RDMA operations.
  [[nodiscard]] bool needs_answer() const;
  // Whether it uses the rules that the message breaks; some are detected only at later messages.
  [[nodiscard]] bool needs_findings() const;
  // Whether it uses fields that endpoints' events have and messages do not.
  [[nodiscard]] bool needs_events() const;

 private:
  friend tl::expected<Filter, FilterError> compile(std::string_view text);
  struct Impl;
  explicit Filter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Fields, values and types are checked here; the resulting filter cannot fail.
[[nodiscard]] tl::expected<Filter, FilterError> compile(std::string_view text);

// Returns the field that a filter means by a name: a field's name, or an alias of Wireshark's, in
// any case. The error is one clause and may suggest another name.
[[nodiscard]] tl::expected<decode::FieldId, std::string> field_named(std::string_view name);

// Parses a duration as filters write it, "1.5ms" or "10s", in nanoseconds; not a negative one.
[[nodiscard]] std::optional<std::int64_t> parse_span(std::string_view text);

// Whether messages or endpoints' events can have the field. They do not have the fields of packets,
// connection management and private data.
[[nodiscard]] bool is_filter_field(decode::FieldId id);

}  // namespace rpcrdma::filter
