// The files of a mount for which its client holds a layout, by the hash of their handles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace rpcrdma::mounts {

class FilesWithLayout {
 public:
  [[nodiscard]] bool empty() const { return files_.empty(); }
  [[nodiscard]] bool has(std::uint32_t file) const { return files_.contains(file); }
  // Returns whether the file is followed.
  bool add(std::uint32_t file, bool return_on_close) {
    if (files_.size() >= kMost && !files_.contains(file)) return false;
    files_[file] = return_on_close;
    return true;
  }
  void remove(std::uint32_t file) { files_.erase(file); }
  void clear() { files_.clear(); }
  // A layout that is to be returned on close ends with the file's CLOSE.
  void closed(std::uint32_t file) {
    const auto at = files_.find(file);
    if (at != files_.end() && at->second) files_.erase(at);
  }

 private:
  static constexpr std::size_t kMost = 1024;
  std::unordered_map<std::uint32_t, bool> files_;
};

}  // namespace rpcrdma::mounts
