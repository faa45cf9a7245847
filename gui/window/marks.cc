#include "marks.h"

#include <rpcrdma/gui_text/plain_text.h>

namespace rpcrdma::gui {

Marks::Marks(Document& document, QObject* parent) : QObject(parent), document_(document) {
  connect(&document_, &Document::reset, this, [this] {
    all_.clear();
    reference_ = 0;
    Q_EMIT changed();
  });
}

Marks::Mark Marks::of(quint64 message) const {
  const auto it = all_.find(message);
  return it != all_.end() ? it->second : Mark{};
}

Marks::Mark* Marks::place(quint64 message) {
  if (message == 0) return nullptr;
  if (all_.size() >= kMost && !all_.contains(message)) return nullptr;
  return &all_[message];
}

// Forgets a message without mark and comment.
void Marks::settle(quint64 message) {
  const auto it = all_.find(message);
  if (it != all_.end() && !it->second.marked && it->second.comment.isEmpty()) all_.erase(it);
  Q_EMIT changed();
}

bool Marks::set_marked(quint64 message, bool on) {
  Mark* const mark = place(message);
  if (mark == nullptr) return false;
  mark->marked = on;
  settle(message);
  return true;
}

bool Marks::set_comment(quint64 message, const QString& text) {
  Mark* const mark = place(message);
  if (mark == nullptr) return false;
  mark->comment = one_line(text.trimmed().left(kLongestComment));
  settle(message);
  return true;
}

void Marks::set_reference(quint64 message) {
  reference_ = message;
  document_.set_time_reference(
      document_.store().read([message](const index::Content& c) -> std::optional<std::int64_t> {
        if (message == 0 || message > c.rows.size()) return std::nullopt;
        return c.rows[message - 1].time_ns;
      }));
  Q_EMIT changed();
}

quint64 Marks::next(quint64 message, int by) const {
  const auto shown = [this](quint64 id) { return document_.row_of(id).has_value(); };
  quint64 around = 0;  // the first one in this direction from the other end
  if (by > 0) {
    for (const auto& entry : all_) {
      if (!shown(entry.first)) continue;
      if (entry.first > message) return entry.first;
      if (around == 0) around = entry.first;
    }
  } else {
    for (auto it = all_.rbegin(); it != all_.rend(); ++it) {
      if (!shown(it->first)) continue;
      if (it->first < message) return it->first;
      if (around == 0) around = it->first;
    }
  }
  return around;
}

}  // namespace rpcrdma::gui
