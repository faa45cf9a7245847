// In the toolbar: whether the document grows, and for how long. Short, so it is always in sight;
// LiveState has the details.
#pragma once

#include "document.h"
#include "live_state.h"

#include <QWidget>

namespace rpcrdma::gui {

class StateBadge : public QWidget {
  Q_OBJECT

 public:
  enum class State : std::uint8_t { kNothing, kReading, kFile, kLive, kPaused, kOver, kBroken };

  // Both outlive the badge.
  StateBadge(Document& document, const LiveState& live, QWidget* parent = nullptr);

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] const QString& text() const { return text_; }
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override { return sizeHint(); }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void update_state();
  [[nodiscard]] State state_now() const;

  Document& document_;
  const LiveState& live_;
  State state_ = State::kNothing;
  QString text_;
};

}  // namespace rpcrdma::gui
