// Where outstanding Calls are: how many wait for a slot or a credit, are posted, are at the server,
// have data moving. Counts of this moment as bars, and their course as a stack over time.
#pragma once

#include <QWidget>
#include <cstdint>
#include <optional>
#include <vector>

#include <rpcrdma/views/theme.h>
#include <rpcrdma/views/time_axis.h>

namespace rpcrdma::gui {

struct CallStatesPicture {
  struct State {
    QString name;
    Ink ink = Ink::kCall;
    double strength = 1;               // of the colour: 0 is the background
    std::optional<std::uint32_t> now;  // nothing: no source shows this state
    bool at_least = false;             // some source does not show it
  };
  struct Bin {
    std::int64_t from_ns = 0, to_ns = 0;
    std::vector<std::uint32_t> calls;  // by state: the most in this time
  };
  std::vector<State> states;            // in the order of a Call's way
  std::vector<Bin> bins;                // in order of time
  std::int64_t from_ns = 0, to_ns = 0;  // the time shown; both 0: that of the bins
  bool over = false;                    // the source has ended: `now` is its last moment
  std::uint32_t earlier = 0;            // outstanding since before the view began
  bool uncertain = false;               // events were lost
};

class CallStatesView : public QWidget {
  Q_OBJECT

 public:
  explicit CallStatesView(QWidget* parent = nullptr);

  void set_picture(CallStatesPicture picture);
  [[nodiscard]] const CallStatesPicture& picture() const { return picture_; }
  void set_notation(TimeNotation notation);
  // What the view says of a state now: "3", "at least 3", "not shown by this source".
  [[nodiscard]] static QString count_text(const CallStatesPicture::State& state);
  // The values at a place of the course, a line each; empty: none.
  [[nodiscard]] QString text_at(const QPoint& at) const;
  // Below the counts: why they are not exact. Empty: they are.
  [[nodiscard]] QString note() const;
  [[nodiscard]] QSize sizeHint() const override { return {700, 260}; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;

 private:
  [[nodiscard]] QColor colour_of(std::size_t state) const;
  [[nodiscard]] QRect counts_area() const;
  [[nodiscard]] QRect plot() const;
  [[nodiscard]] TimeScale scale() const;
  [[nodiscard]] std::uint64_t most() const;  // of a bin, all states
  void paint_counts(QPainter& painter) const;
  void paint_course(QPainter& painter) const;

  CallStatesPicture picture_;
  TimeNotation notation_;
};

}  // namespace rpcrdma::gui
