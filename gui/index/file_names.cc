#include "file_names.h"

#include <rpcrdma/report/file_text.h>

namespace rpcrdma::index {

std::uint32_t FileNames::id_of(const model::FileUse& use) {
  std::string_view name = use.name();
  if (name.size() > kMostBytes) name.remove_prefix(name.size() - kMostBytes);
  if (!name.empty()) {
    if (const auto it = named_.find(name); it != named_.end()) return it->second;
  } else if (!use.handle) {
    return 0;
  } else if (const auto it = unnamed_.find(*use.handle); it != unnamed_.end()) {
    return it->second;
  }
  if (last_ == kMost) return 0;
  new_.push_back(report::file_label(use, kMostBytes));
  ++last_;
  if (name.empty()) {
    unnamed_.emplace(*use.handle, last_);
  } else {
    named_.emplace(name, last_);
  }
  return last_;
}

void FileNames::put(std::vector<std::string>& to) {
  to.insert(to.end(), std::make_move_iterator(new_.begin()), std::make_move_iterator(new_.end()));
  new_.clear();
}

}  // namespace rpcrdma::index
