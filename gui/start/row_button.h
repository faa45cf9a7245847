// A row of the start page: a sign, a title, a second line, and a value at the right. It is a
// button, for mouse, keys and screen readers.
#pragma once

#include "recent_files.h"

#include <QAbstractButton>
#include <QIcon>
#include <vector>

class QVBoxLayout;

namespace rpcrdma::gui {

struct RowText {
  QString key;     // what the row stands for
  QString title;   // the texts may be of unknown origin
  QString detail;  // the second line; empty: the row has one line
  QString value;
  QString tip;
  QIcon icon;
  std::optional<FileSign> sign;              // in place of the icon
  Qt::TextElideMode elide = Qt::ElideRight;  // of the detail
  bool faint = false;                        // it cannot be used
  bool strong = false;                       // the title is a heading
  bool removable = false;                    // Delete, and a cross under the mouse
};

class RowButton : public QAbstractButton {
  Q_OBJECT
 public:
  explicit RowButton(QWidget* parent = nullptr);

  void set(const RowText& text);
  [[nodiscard]] const RowText& shown() const { return text_; }
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;

 Q_SIGNALS:
  void remove_wanted();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;

 private:
  [[nodiscard]] QRect cross() const;

  RowText text_;
};

// Rows below each other, which may change at any time: the focus stays on its row.
class RowList : public QWidget {
  Q_OBJECT
 public:
  explicit RowList(const QString& name, QWidget* parent = nullptr);

  void set(const std::vector<RowText>& rows);
  [[nodiscard]] const std::vector<RowButton*>& rows() const { return rows_; }

 Q_SIGNALS:
  void chosen(const QString& key);
  void remove_wanted(const QString& key);
  void resized();  // there are more rows, or fewer

 private:
  QVBoxLayout* column_;
  std::vector<RowButton*> rows_;
};

// The colour of what is said besides.
[[nodiscard]] QColor second_text(const QPalette& palette);
// Draws the sign, which differs in shape and in colour.
void draw_sign(QPainter& painter, const QRectF& rect, FileSign sign, const QPalette& palette);

}  // namespace rpcrdma::gui
