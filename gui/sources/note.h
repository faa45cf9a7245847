// A line of a widget that says what is the matter, where others would open a dialog.
#pragma once

#include <QLabel>

namespace rpcrdma::gui {

class Note : public QLabel {
 public:
  explicit Note(QWidget* parent = nullptr);
  // Empty: it takes no room.
  void say(const QString& text);
};

}  // namespace rpcrdma::gui
