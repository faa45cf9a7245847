// A card of the start page: a rounded frame, whose heading is a button.
#pragma once

#include "row_button.h"

#include <QFrame>
#include <QLabel>

namespace rpcrdma::gui {

class SourceCard : public QFrame {
  Q_OBJECT
 public:
  // `icon`: as icons.h; `keys`: the shortcut of the same action.
  SourceCard(const QString& icon, const QString& title, const QString& keys, const QString& tip,
             QWidget* parent);

  [[nodiscard]] RowButton& heading() { return *heading_; }
  [[nodiscard]] QVBoxLayout& column() { return *column_; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void draw_icon();

  QString icon_;
  RowText text_;
  RowButton* heading_;
  QVBoxLayout* column_;
};

// A plain text in the second colour, in as many lines as it needs.
class SecondLine : public QLabel {
  Q_OBJECT
 public:
  // `indent`: pixels before the text.
  SecondLine(const QString& text, int indent, QWidget* parent);

 protected:
  void paintEvent(QPaintEvent* event) override;
};

}  // namespace rpcrdma::gui
