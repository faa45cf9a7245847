// Which file an NFS or MOUNT Call is about, as far as its arguments, its Reply and the names seen
// before show it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rpcrdma/decode/nfs_items.h>

namespace rpcrdma::model {

// A file in the model's table of file handles. It may have been evicted: its slot then has another
// generation. Generation 0: no file.
struct FileRef {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;
  friend bool operator==(const FileRef&, const FileRef&) = default;
};

// How a Call changes which file is the current one, and what it names. COMPOUNDs consist of such
// steps; procedures of versions 2 and 3 are expressed by them.
enum class FileStepKind : std::uint8_t {
  kPut,      // `file` becomes the current one
  kRoot,     // the root of the server's name space does
  kLost,     // an unknown one does
  kSave,     // the current one becomes the saved one
  kRestore,  // and the reverse
  kDown,     // the child `name` becomes the current one
  kUp,       // the parent does
  kGet,      // the Reply has the handle of the current one
  kEntries,  // the Reply has names, and handles, of its children
  kRemove,   // the child `name` is removed
  kRename,   // the child `name` of the saved one becomes the child `name2` of the current one
  kLink,     // the saved one becomes a child of the current one, too
  kAbout,    // the Call is about the current one
};

struct FileUse {
  // What a Call or its Reply states, for filters; beyond the limits the rest is left out.
  static constexpr std::size_t kMaxValues = 24;
  static constexpr std::size_t kMaxSteps = 32;
  static constexpr std::size_t kMaxText = 4096;  // bytes of names
  struct Value {
    decode::NfsItem::Kind kind = decode::NfsItem::Kind::kHandle;
    std::uint16_t begin = 0, length = 0;  // kName, kStateid: in `text`
    std::uint64_t number = 0;             // kHandle, kOffset, kCount
  };
  struct Step {
    FileStepKind kind = FileStepKind::kLost;
    std::uint16_t operation = 0;
    std::uint16_t begin = 0, length = 0;    // `name` in `text`
    std::uint16_t begin2 = 0, length2 = 0;  // `name2`
    FileRef file;
  };
  enum class Access : std::uint8_t { kOther, kRead, kWrite };

  std::uint64_t server = 0;  // distinguishes servers in the table of file handles
  std::vector<Value> values;
  std::vector<Step> steps;  // only if the Call names files or its Reply may
  std::string text;
  bool lists = false;  // the Reply has names, and handles, of a directory's entries

  // The file that the Call is about. A LOOKUP or an OPEN is about the file that it finds.
  Access access = Access::kOther;
  std::optional<std::uint32_t> handle;  // decode::handle_hash(); nothing: not known (yet)
  FileRef file;                         // valid with `handle`
  std::uint16_t name_begin = 0, name_length = 0;
  // The hash of the directory that name() is relative to; nothing: it is absolute, or not known.
  std::optional<std::uint32_t> below;
  std::optional<std::uint64_t> offset;  // of the first READ, WRITE or COMMIT in the Call, bytes
  std::optional<std::uint64_t> count;   // bytes asked for
  std::optional<std::uint64_t> moved;   // bytes read or written, as the Reply states
  std::optional<std::array<std::uint8_t, 16>> stateid;  // of the first operation with one

  // Its path as far as it is known, "dir/big"; empty: not known.
  [[nodiscard]] std::string_view name() const {
    return std::string_view(text).substr(name_begin, name_length);
  }
  [[nodiscard]] std::string_view text_of(const Value& value) const {
    return std::string_view(text).substr(value.begin, value.length);
  }
  // Whether anything is known of it.
  [[nodiscard]] bool any() const { return !values.empty() || name_length != 0; }
  [[nodiscard]] bool is_file() const { return handle.has_value() || name_length != 0; }

  // Prepares for reuse: keeps the memory of the lists.
  void clear();
  [[nodiscard]] std::size_t footprint() const {
    return values.capacity() * sizeof(Value) + steps.capacity() * sizeof(Step) + text.capacity();
  }
};

}  // namespace rpcrdma::model
