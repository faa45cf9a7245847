// The parts of the overview: a frame with a sign, a finding, a number with its course, a table with
// bars in its cells. They show plain values and know no document.
#pragma once

#include "overview_model.h"

#include <QFrame>
#include <QLabel>
#include <QPushButton>
#include <QTableWidget>
#include <functional>
#include <optional>
#include <utility>

#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {

// A label for text from anywhere.
[[nodiscard]] QLabel* plain_label(QWidget* parent, bool wrap = false);

// A rounded frame; with a sign, its left edge has the sign's colour.
class Card : public QFrame {
 public:
  explicit Card(QWidget* parent = nullptr);
  void set_sign(std::optional<Sign> sign);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  std::optional<Sign> sign_;
};

// The sign alone, as a widget.
class SignLabel : public QWidget {
 public:
  SignLabel(int size, QWidget* parent);
  void set_sign(Sign sign);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  Sign sign_ = Sign::kUnknown;
};

class FindingWidget : public Card {
  Q_OBJECT

 public:
  explicit FindingWidget(QWidget* parent = nullptr);
  // `when`: its time as text; may be empty. A note takes one line until it is expanded.
  void set(const FindingCard& card, const QString& when);
  [[nodiscard]] const FindingCard& card() const { return card_; }
  [[nodiscard]] bool is_expanded() const { return advice_button_->isChecked(); }
  void set_expanded(bool expanded) { advice_button_->setChecked(expanded); }
  [[nodiscard]] QPushButton& evidence() { return *evidence_; }
  [[nodiscard]] QPushButton& only() { return *only_; }
  [[nodiscard]] QPushButton& advice_button() { return *advice_button_; }
  [[nodiscard]] QString shown_text() const;

 Q_SIGNALS:
  void evidence_wanted();
  void only_wanted();

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void dress();

  FindingCard card_;
  SignLabel* sign_;
  QLabel *title_, *when_, *text_, *about_, *advice_;
  QPushButton *evidence_, *advice_button_, *only_;
};

class TileWidget : public Card {
 public:
  explicit TileWidget(QWidget* parent = nullptr);
  void set(const OverviewTile& tile);
  [[nodiscard]] const OverviewTile& tile() const { return tile_; }
  // The part of the time that other views show; what is outside is dimmed. Nothing: all.
  void set_range(std::optional<std::pair<std::int64_t, std::int64_t>> range);

  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void draw_course(QPainter& painter, const QRectF& area) const;

  OverviewTile tile_;
  std::optional<std::pair<std::int64_t, std::int64_t>> range_;
};

// As high as its rows. A cell may have a bar behind its text.
class BarTable : public QTableWidget {
  Q_OBJECT

 public:
  struct Cell {
    QString text = {};
    double bar = -1;  // 0 to 1; negative: none
    bool right = false;
    std::optional<Sign> sign = std::nullopt;
    QString tip = {};
  };
  // `stretched`: the column that takes the room that is left.
  BarTable(const QStringList& titles, int stretched, const QString& name, QWidget* parent);
  void set_rows(const std::vector<std::vector<Cell>>& rows);
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;

 Q_SIGNALS:
  void row_chosen(int row);     // a click, or the cursor keys
  void row_activated(int row);  // a double click, or Enter

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void fit();
};

}  // namespace rpcrdma::gui
