#include <algorithm>

#include <rpcrdma/report/ordered_output.h>

namespace rpcrdma::report {

OrderedOutput::Entry* OrderedOutput::find(std::uint64_t id) {
  const auto it = std::lower_bound(entries_.begin(), entries_.end(), id,
                                   [](const Entry& e, std::uint64_t v) { return e.id < v; });
  return it != entries_.end() && it->id == id ? &*it : nullptr;
}

void OrderedOutput::write_ready() {
  while (!entries_.empty() && entries_.front().ready) {
    if (!entries_.front().text.empty()) write_(entries_.front().text);
    entries_.pop_front();
  }
}

void OrderedOutput::reserve(std::uint64_t id) {
  if (entries_.size() >= limit_) {
    Entry& oldest = entries_.front();
    oldest.text = finish_(oldest.id);
    oldest.ready = true;
    write_ready();
  }
  entries_.push_back({id, false, {}});
}

void OrderedOutput::ready(std::uint64_t id, std::string text) {
  if (Entry* entry = find(id)) {
    entry->text = std::move(text);
    entry->ready = true;
    write_ready();
  }
}

void OrderedOutput::flush() {
  for (Entry& entry : entries_) {
    if (!entry.ready) {
      entry.text = finish_(entry.id);
      entry.ready = true;
    }
  }
  write_ready();
}

}  // namespace rpcrdma::report
