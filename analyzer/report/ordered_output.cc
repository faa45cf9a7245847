#include <algorithm>

#include <rpcrdma/report/ordered_output.h>

namespace rpcrdma::report {

std::deque<OrderedOutput::Entry>::const_iterator OrderedOutput::find(std::uint64_t id) const {
  const auto it = std::lower_bound(entries_.begin(), entries_.end(), id,
                                   [](const Entry& e, std::uint64_t v) { return e.id < v; });
  return it != entries_.end() && it->id == id ? it : entries_.end();
}

bool OrderedOutput::waits(std::uint64_t id) const {
  const auto it = find(id);
  return it != entries_.end() && !it->ready;
}

void OrderedOutput::write_ready() {
  while (!entries_.empty() && entries_.front().ready) {
    const std::string& text = entries_.front().text;
    waiting_bytes_ -= text.size();
    if (!text.empty()) write_(text);
    pop_front();
  }
}

// The memory of texts is used again: with many events, most lines wait for a Reply.
void OrderedOutput::pop_front() {
  std::string& text = entries_.front().text;
  if (text.capacity() <= kMostSpareBytes && spare_.size() < kMostSpare) {
    text.clear();
    spare_.push_back(std::move(text));
  }
  entries_.pop_front();
}

std::string OrderedOutput::new_text(std::string_view text) {
  std::string copy;
  if (!spare_.empty()) {
    copy = std::move(spare_.back());
    spare_.pop_back();
  }
  copy = text;
  return copy;
}

// The first entry is never ready: ready entries at the front are written at once.
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

void OrderedOutput::ready(std::uint64_t id, std::string_view text) {
  if (!entries_.empty() && entries_.front().id == id) {  // without a copy
    if (!text.empty()) write_(text);
    pop_front();
    return write_ready();
  }
  const auto it = find(id);
  if (it == entries_.end()) return;
  Entry& entry = entries_[static_cast<std::size_t>(it - entries_.begin())];
  waiting_bytes_ += text.size() - entry.text.size();
  entry.text = new_text(text);
  entry.ready = true;
  write_ready();
  while (waiting_bytes_ > limits_.bytes) finish_oldest();
}

// The entry shares the ID of the entry before it; find() returns the first of the two.
void OrderedOutput::add(std::string_view text) {
  if (entries_.empty()) {
    write_(text);
    return;
  }
  waiting_bytes_ += text.size();
  entries_.push_back({entries_.back().id, true, new_text(text)});
  while (waiting_bytes_ > limits_.bytes || entries_.size() > limits_.lines) finish_oldest();
}

void OrderedOutput::flush() {
  while (!entries_.empty()) finish_oldest();
}

}  // namespace rpcrdma::report
