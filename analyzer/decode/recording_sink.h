// A sink for tests that records each report and its place, one line per field.
#pragma once

#include <string>
#include <vector>

#include <rpcrdma/decode/decoder.h>
#include <rpcrdma/decode/text_sink.h>

namespace rpcrdma::decode {

// "name @offset+length", for subtrees and their children alike.
class RecordingSink : public Sink {
 public:
  void open(FieldId id, std::size_t offset, std::size_t length, std::string_view) override {
    add(id, offset, length);
  }
  void close() override {}
  void number(FieldId id, std::size_t offset, std::size_t length, std::uint64_t,
              const char*) override {
    add(id, offset, length);
  }
  void bytes(FieldId id, std::size_t offset, std::size_t length, wire::Bytes) override {
    add(id, offset, length);
  }
  void text(FieldId id, std::size_t offset, std::size_t length, std::string_view) override {
    add(id, offset, length);
  }
  void error(const wire::DecodeError& error) override { lines.push_back(wire::describe(error)); }

  std::vector<std::string> lines;

 private:
  void add(FieldId id, std::size_t offset, std::size_t length) {
    lines.push_back(std::string(spec(id).name) + " @" + std::to_string(offset) + "+" +
                    std::to_string(length));
  }
};

inline std::string message_text(wire::Bytes send, const ProcedureId* call = nullptr) {
  std::string out;
  TextSink sink(out);
  decode_message(send, sink, call);
  return out;
}

}  // namespace rpcrdma::decode
