// A frame around the view that has the keyboard. Buttons and fields of the desktop's style show
// their focus themselves; views that are painted by hand or by a library do not.
#pragma once

#include <QPointer>
#include <QWidget>

namespace rpcrdma::gui {

// A child of `window`, which owns it.
class FocusRing : public QWidget {
  Q_OBJECT

 public:
  explicit FocusRing(QWidget* window);

  // The widget that it surrounds; null: none.
  [[nodiscard]] QWidget* target() const { return target_; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  void follow(QWidget* now);
  void place();

  QPointer<QWidget> target_;
  QList<QPointer<QWidget>> watched_;  // the target and what contains it
};

}  // namespace rpcrdma::gui
