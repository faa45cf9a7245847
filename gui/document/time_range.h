// The range of time that all views show: the whole document, or a part of it that the user chose.
#pragma once

#include <QObject>
#include <cstdint>
#include <optional>
#include <vector>

namespace rpcrdma::gui {

class TimeRange : public QObject {
  Q_OBJECT

 public:
  // Nanoseconds since 1970; both ends are inside.
  struct Span {
    std::int64_t from_ns = 0, to_ns = 0;
    [[nodiscard]] bool has(std::int64_t ns) const { return from_ns <= ns && ns <= to_ns; }
    [[nodiscard]] std::int64_t length_ns() const { return to_ns - from_ns; }
    friend bool operator==(const Span&, const Span&) = default;
  };

  using QObject::QObject;

  // The time of the whole document. A range that was chosen stays.
  void set_bounds(Span bounds);
  [[nodiscard]] Span bounds() const { return bounds_; }
  // Forgets the bounds, the range and the history: another document.
  void clear();

  // Nothing: the whole document, also while it grows.
  [[nodiscard]] std::optional<Span> range() const { return range_; }
  [[nodiscard]] Span shown() const { return range_.value_or(bounds_); }
  // Limits the range to the bounds. All of the bounds: show_all().
  void set(Span range);
  void show_all();

  void undo();
  void redo();
  [[nodiscard]] bool can_undo() const { return !undo_.empty(); }
  [[nodiscard]] bool can_redo() const { return !redo_.empty(); }

 Q_SIGNALS:
  void changed();         // range(), by the user
  void bounds_changed();  // the document grew

 private:
  void go(std::optional<Span> range);

  static constexpr std::size_t kMostSteps = 100;
  Span bounds_;
  std::optional<Span> range_;
  std::vector<std::optional<Span>> undo_, redo_;
};

}  // namespace rpcrdma::gui
