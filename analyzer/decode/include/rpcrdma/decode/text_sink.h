// Fields as an indented tree, like that of tshark -V, and bytes as a hex dump, like that of tshark
// -x.
#pragma once

#include <string>

#include <rpcrdma/decode/sink.h>

namespace rpcrdma::decode {

// Appends one line per field to a string that the caller owns. A field that is not in the bytes is
// in square brackets. Control and non-ASCII characters in text from the wire are escaped as "\xNN",
// so that no terminal interprets them.
class TextSink : public Sink {
 public:
  // `depth`: the indentation of the outermost fields, in levels.
  explicit TextSink(std::string& out, unsigned depth = 0) : out_(out), depth_(depth) {}

  void open(FieldId id, std::size_t offset, std::size_t length, std::string_view summary) override;
  void close() override;
  void number(FieldId id, std::size_t offset, std::size_t length, std::uint64_t value,
              const char* name) override;
  void bytes(FieldId id, std::size_t offset, std::size_t length, wire::Bytes value) override;
  void text(FieldId id, std::size_t offset, std::size_t length, std::string_view value) override;
  void error(const wire::DecodeError& error) override;

 private:
  void line(std::string_view label, std::string_view value, bool concluded);

  std::string& out_;
  unsigned depth_;
};

// "0000  e2 22 ...   ."...", 16 bytes per line.
[[nodiscard]] std::string hex_dump(wire::Bytes data);

// Returns `text` in printable ASCII: every other byte as "\xNN", and backslashes doubled.
[[nodiscard]] std::string escape_text(std::string_view text);

}  // namespace rpcrdma::decode
