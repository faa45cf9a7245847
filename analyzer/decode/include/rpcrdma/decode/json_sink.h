// Reports fields as JSON. Users include <nlohmann/json.hpp> themselves, which is large.
#pragma once

#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <rpcrdma/decode/sink.h>

namespace rpcrdma::decode {

// Keys are the fields' names and subtrees are objects; a field that occurs more than once in its
// subtree becomes an array, in order. Numbers are JSON numbers (durations in nanoseconds), booleans
// JSON booleans, addresses strings, bytes hexadecimal digits; text is UTF-8, with U+FFFD for
// invalid bytes. The name of a named number is under the key "NAME_name".
class JsonSink : public Sink {
 public:
  JsonSink();
  ~JsonSink() override;
  JsonSink(const JsonSink&) = delete;
  JsonSink& operator=(const JsonSink&) = delete;

  void open(FieldId id, std::size_t offset, std::size_t length, std::string_view summary) override;
  void close() override;
  void number(FieldId id, std::size_t offset, std::size_t length, std::uint64_t value,
              const char* name) override;
  void bytes(FieldId id, std::size_t offset, std::size_t length, wire::Bytes value) override;
  void text(FieldId id, std::size_t offset, std::size_t length, std::string_view value) override;
  void error(const wire::DecodeError& error) override;

  // Returns everything reported so far as one object and resets the sink.
  [[nodiscard]] nlohmann::ordered_json take();

 private:
  struct Subtree;
  void add(std::string_view key, nlohmann::ordered_json value);

  std::vector<Subtree> open_;  // [0] is the root
};

}  // namespace rpcrdma::decode
