// A line in a widget that shows a problem, in place of a dialog.
#pragma once

#include <QLabel>

namespace rpcrdma::gui {

class Note : public QLabel {
 public:
  explicit Note(QWidget* parent = nullptr);
  // Shows `text`. If it is empty, the line is hidden.
  void say(const QString& text);
};

}  // namespace rpcrdma::gui
