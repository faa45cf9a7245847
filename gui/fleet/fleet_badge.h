// Whether the page hears the bus. Connected, it is a small line; otherwise a bar across the page,
// so that nobody takes old figures for current ones.
#pragma once

#include "fleet_shown.h"

#include <QWidget>

namespace rpcrdma::gui {

class FleetBadge : public QWidget {
  Q_OBJECT

 public:
  enum class State : std::uint8_t { kConnecting, kConnected, kDisconnected };

  explicit FleetBadge(QWidget* parent = nullptr);
  void set(const FleetShown& now);
  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] const QString& text() const { return text_; }
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override { return {100, sizeHint().height()}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  State state_ = State::kConnecting;
  QString text_;
};

}  // namespace rpcrdma::gui
