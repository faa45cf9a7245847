// The file handles of all servers and the names by which they were found. Bounded: the handle that
// was used longest ago is evicted first.
#pragma once

#include "slot_index.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rpcrdma/model/file_use.h>
#include <rpcrdma/wire/error.h>

namespace rpcrdma::model {

[[nodiscard]] inline std::string_view text_of_bytes(wire::Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class FileTable {
 public:
  static constexpr std::size_t kMaxFiles = 32768;
  static constexpr std::size_t kMaxName = 255;  // bytes of a component; longer ones are cut
  static constexpr std::size_t kMaxPath = 512;  // bytes
  static constexpr unsigned kMaxDepth = 32;     // components of a path

  explicit FileTable(std::size_t most = kMaxFiles) : most_(most) {}

  // Finds a file by its handle, or adds it. It is then the one used last. `hash`: handle_hash() of
  // the handle.
  [[nodiscard]] FileRef at(std::uint64_t server, wire::Bytes handle, std::uint32_t hash);
  [[nodiscard]] FileRef at(std::uint64_t server, wire::Bytes handle) {
    return at(server, handle, decode::handle_hash(handle));
  }

  // `file` is the root of the server's name space.
  void set_root(FileRef file);
  // `file` is the child `name` of `parent`. `name` may be a path. Without a parent only the name is
  // known; a parent that is root gives an absolute path.
  void set_name(FileRef file, FileRef parent, std::string_view name, bool absolute = false);
  [[nodiscard]] bool is_named(FileRef file) const;
  // Generation 0: not known.
  [[nodiscard]] FileRef child(FileRef parent, std::string_view name) const;
  [[nodiscard]] FileRef parent(FileRef file) const;
  // The directory has no such child any more. The file keeps its last name: it may still be open.
  void remove(FileRef parent, std::string_view name);

  // Appends "dir/big", or nothing if not even the name of the file is known.
  void append_path(FileRef file, std::string& out);
  // The hash of the directory below which that path is; nothing if it is absolute, or if not even
  // that directory is known.
  [[nodiscard]] std::optional<std::uint32_t> top(FileRef file);
  // The hash of its handle, if it was not evicted.
  [[nodiscard]] std::optional<std::uint32_t> hash(FileRef file) const;

  [[nodiscard]] std::size_t size() const { return slots_.size() - free_.size(); }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Slot {
    std::uint64_t server = 0;
    std::uint64_t key = 0;        // in by_handle_
    std::uint64_t child_key = 0;  // in by_name_; 0: none
    std::uint32_t generation = 1;
    std::uint32_t older = kNone, newer = kNone;
    std::uint32_t hash = 0;
    FileRef parent;
    std::uint32_t handle_length = 0;
    bool root = false, absolute = false;
    std::uint64_t path_epoch = 0;  // `path` and `top` are valid if it equals epoch_
    // The handle, then the name: one allocation, which the next file in this slot uses again.
    std::string texts;
    std::string path;
    std::optional<std::uint32_t> top;

    [[nodiscard]] std::string_view handle() const {
      return std::string_view(texts).substr(0, handle_length);
    }
    [[nodiscard]] std::string_view name() const {
      return std::string_view(texts).substr(handle_length);
    }
  };

  [[nodiscard]] const Slot* find(FileRef file) const;
  [[nodiscard]] Slot* find(FileRef file);
  [[nodiscard]] static std::uint64_t child_key(FileRef parent, std::string_view name);
  [[nodiscard]] std::uint32_t find_handle(std::uint64_t key) const;
  [[nodiscard]] std::uint32_t find_child(std::uint64_t key) const;
  [[nodiscard]] std::uint32_t make_room();
  void evict(std::uint32_t slot);
  void unlink(std::uint32_t slot);
  void link_newest(std::uint32_t slot);
  void drop_child_key(std::uint32_t slot);
  void build_path(const Slot& slot, std::string& out, std::optional<std::uint32_t>& top) const;
  void refresh_path(Slot& slot);

  std::size_t most_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  SlotIndex by_handle_;
  SlotIndex by_name_;
  std::uint32_t oldest_ = kNone, newest_ = kNone;
  std::uint64_t epoch_ = 1;  // grows when a name changes
};

}  // namespace rpcrdma::model
