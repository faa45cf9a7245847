// The selected Call over time, in lanes: client, wire and server.
#pragma once

#include "document.h"
#include "waterfall_model.h"

#include <QAbstractScrollArea>
#include <optional>

namespace rpcrdma::gui {

class Waterfall : public QAbstractScrollArea {
  Q_OBJECT

 public:
  explicit Waterfall(Document& document, QWidget* parent = nullptr);

  [[nodiscard]] const WaterfallPicture& picture() const { return picture_; }
  // The bar that the keyboard is on; nothing: none.
  [[nodiscard]] std::optional<std::size_t> current() const { return current_; }
  [[nodiscard]] QRect rect_of(std::size_t bar) const;  // in the viewport
  // Returns what is known of a bar, a line each.
  [[nodiscard]] QString text_of(std::size_t bar) const;
  [[nodiscard]] QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void showEvent(QShowEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool viewportEvent(QEvent* event) override;

 private:
  void refresh();
  void fold();
  void layout();
  void choose(std::size_t bar);
  void go();
  [[nodiscard]] int row_height() const;
  [[nodiscard]] int gutter() const;  // left of the bars
  [[nodiscard]] int top() const;     // of the first row
  [[nodiscard]] double x_of(std::int64_t ns) const;
  [[nodiscard]] std::optional<std::size_t> bar_at(const QPoint& at) const;

  Document& document_;
  WaterfallPicture picture_;
  std::optional<std::size_t> current_;
  bool stale_ = false;  // the picture is older than the selection
  // A stretch without any step that would leave no room for the others is drawn shorter.
  std::int64_t fold_from_ = 0, fold_to_ = 0;
};

}  // namespace rpcrdma::gui
