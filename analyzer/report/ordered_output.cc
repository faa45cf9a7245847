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
    const std::string& text = entries_.front().text;
    waiting_bytes_ -= text.size();
    if (!text.empty()) write_(text);
    entries_.pop_front();
  }
}

// The front is never ready: what is gets written at once.
void OrderedOutput::finish_oldest() {
  Entry& oldest = entries_.front();
  oldest.text = finish_(oldest.id);
  oldest.ready = true;
  waiting_bytes_ += oldest.text.size();
  write_ready();
}

void OrderedOutput::reserve(std::uint64_t id) {
  if (entries_.size() >= limits_.lines) finish_oldest();
  entries_.push_back({id, false, {}});
}

void OrderedOutput::ready(std::uint64_t id, std::string text) {
  Entry* entry = find(id);
  if (entry == nullptr) return;
  waiting_bytes_ += text.size() - entry->text.size();
  entry->text = std::move(text);
  entry->ready = true;
  write_ready();
  while (waiting_bytes_ > limits_.bytes) finish_oldest();
}

void OrderedOutput::flush() {
  while (!entries_.empty()) finish_oldest();
}

}  // namespace rpcrdma::report
