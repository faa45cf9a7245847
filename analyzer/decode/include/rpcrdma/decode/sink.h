// The interface to which a decoder reports the fields that it finds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <rpcrdma/decode/schema.h>
#include <rpcrdma/wire/error.h>

namespace rpcrdma::decode {

// Calls come in the order of the bytes, parents before children. Offsets and lengths are in bytes
// from the start of the span passed to the decoder. Length 0: the value is not in the bytes but
// follows from them or from context (a count of list entries, a procedure known from the Call). All
// arguments are valid during the call only. Text and bytes come from the wire: untrusted.
class Sink {
 public:
  virtual ~Sink() = default;

  // Begins a subtree; fields up to the matching close() are its children. `summary` describes its
  // content in one line, without the field's label; it can be empty.
  virtual void open(FieldId id, std::size_t offset, std::size_t length,
                    std::string_view summary) = 0;
  virtual void close() = 0;

  // `name`: the value's name if it depends on more than the field (version, program, direction);
  // nullptr: use the field's table, if there is one.
  virtual void number(FieldId id, std::size_t offset, std::size_t length, std::uint64_t value,
                      const char* name) = 0;
  virtual void bytes(FieldId id, std::size_t offset, std::size_t length, wire::Bytes value) = 0;
  virtual void text(FieldId id, std::size_t offset, std::size_t length, std::string_view value) = 0;

  // The bytes from error.offset on (counted from the start of the same span) violate the
  // specification; field rpcrdma.malformed. Fields before them stay reported.
  virtual void error(const wire::DecodeError& error) = 0;
};

}  // namespace rpcrdma::decode
