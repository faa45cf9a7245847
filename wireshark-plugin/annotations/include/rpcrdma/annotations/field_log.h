// Stores the fields of a message, as a decoder reports them, in a few bytes each, to be shown later
// and more than once.
//
// Wireshark's functions call longjmp() when bytes are missing, which skips C++ destructors.
// Therefore no decoder may be active when they are called: it writes to a log, and plain loops read
// the log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <rpcrdma/decode/sink.h>

namespace rpcrdma::annotations {

using FieldLog = std::vector<std::uint8_t>;

// How to handle fields of other protocols: "rpc", "nfs", "ib" and "cm", which Wireshark dissects by
// itself.
enum class Foreign : std::uint8_t { kLeaveOut, kAsText };

class FieldLogSink final : public decode::Sink {
 public:
  // Appends to `out`, which the caller owns. Omits fields beyond `max_entries`: a header can have
  // thousands of segments, and Wireshark rejects a packet with too many items.
  explicit FieldLogSink(FieldLog& out, Foreign foreign = Foreign::kLeaveOut,
                        std::size_t max_entries = kMaxEntries)
      : out_(out), foreign_(foreign), left_(max_entries) {}
  static constexpr std::size_t kMaxEntries = 50'000;

  void open(decode::FieldId id, std::size_t offset, std::size_t length,
            std::string_view summary) override;
  void close() override;
  void number(decode::FieldId id, std::size_t offset, std::size_t length, std::uint64_t value,
              const char* name) override;
  void bytes(decode::FieldId id, std::size_t offset, std::size_t length,
             wire::Bytes value) override;
  void text(decode::FieldId id, std::size_t offset, std::size_t length,
            std::string_view value) override;
  void error(const wire::DecodeError& error) override;

 private:
  [[nodiscard]] bool begin(std::uint8_t kind, decode::FieldId id, std::size_t offset,
                           std::size_t length);
  // Logs a field of another protocol as a line of text. Returns whether it was one.
  bool foreign(decode::FieldId id, std::size_t offset, std::size_t length, std::string_view value);
  void put(std::uint64_t value);
  void put_text(std::string_view text);

  FieldLog& out_;
  Foreign foreign_;
  std::size_t left_;
  std::size_t skipped_depth_ = 0;  // depth within an omitted subtree
};

struct LoggedField {
  enum class Kind : std::uint8_t {
    kOpen,
    kClose,
    kNumber,
    kBytes,
    kText,
    kError,
    kForeign,
    kForeignOpen
  };
  Kind kind = Kind::kClose;
  decode::FieldId id{};
  std::size_t offset = 0;
  std::size_t length = 0;
  std::uint64_t value = 0;
  // kOpen: the summary; kNumber: the value's name, empty if the field's table has it; kText and
  // kError: the text. It ends with its only NUL, and is valid UTF-8. kBytes: the bytes.
  const char* text = nullptr;
  std::size_t text_length = 0;
};

// Reads a log from front to end. It has no destructor, so longjmp() may skip it.
class FieldLogReader {
 public:
  explicit FieldLogReader(const FieldLog& field_log)
      : at_(field_log.data()), end_(field_log.data() + field_log.size()) {}
  // Returns false at the end.
  bool next(LoggedField& out);

 private:
  std::uint64_t get();
  void get_text(LoggedField& out);

  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

}  // namespace rpcrdma::annotations
