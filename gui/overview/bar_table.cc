// A table of few rows whose cells may have bars.
#include "cards.h"
#include "signs.h"

#include <QEvent>
#include <QHeaderView>
#include <QPainter>
#include <QStyledItemDelegate>

#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {

namespace {

constexpr int kBarRole = Qt::UserRole;

// Draws the bar below the text, which stays readable on it.
class BarDelegate final : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override {
    const QVariant bar = index.data(kBarRole);
    if (bar.isValid() && (option.state & QStyle::State_Selected) == 0) {
      const double part = std::clamp(bar.toDouble(), 0.0, 1.0);
      QRectF area = QRectF(option.rect).adjusted(2, 3, -2, -3);
      area.setWidth(area.width() * part);
      painter->fillRect(area, tint(option.palette, ink(option.palette, Ink::kCall), 0.28));
    }
    QStyledItemDelegate::paint(painter, option, index);
  }
};

}  // namespace

BarTable::BarTable(const QStringList& titles, int stretched, const QString& name, QWidget* parent)
    : QTableWidget(parent) {
  setColumnCount(static_cast<int>(titles.size()));
  setHorizontalHeaderLabels(titles);
  setAccessibleName(name);
  setSelectionBehavior(SelectRows);
  setSelectionMode(SingleSelection);
  setEditTriggers(NoEditTriggers);
  setTabKeyNavigation(false);
  setWordWrap(false);
  setShowGrid(false);
  setFrameShape(QFrame::NoFrame);
  setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setItemDelegate(new BarDelegate(this));
  verticalHeader()->setVisible(false);
  horizontalHeader()->setHighlightSections(false);
  horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
  horizontalHeader()->setSectionResizeMode(stretched, QHeaderView::Stretch);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  fit();
  connect(this, &QTableWidget::cellClicked, this, [this](int row) { Q_EMIT row_chosen(row); });
  connect(this, &QTableWidget::currentCellChanged, this, [this](int row, int, int before) {
    if (row != before && row >= 0 && hasFocus()) Q_EMIT row_chosen(row);
  });
  connect(this, &QTableWidget::cellActivated, this, [this](int row) { Q_EMIT row_activated(row); });
}

void BarTable::fit() {
  const int high = std::max(24, fontMetrics().height() + 6);
  verticalHeader()->setMinimumSectionSize(high);
  verticalHeader()->setDefaultSectionSize(high);
  updateGeometry();
}

QSize BarTable::sizeHint() const {
  return {400, horizontalHeader()->sizeHint().height() +
                   rowCount() * verticalHeader()->defaultSectionSize() + 2};
}

QSize BarTable::minimumSizeHint() const {
  return {100, sizeHint().height()};
}

void BarTable::set_rows(const std::vector<std::vector<Cell>>& rows) {
  const bool grows = rowCount() != static_cast<int>(rows.size());
  if (grows) setRowCount(static_cast<int>(rows.size()));
  for (int r = 0; r < rowCount(); ++r) {
    const auto& row = rows[static_cast<std::size_t>(r)];
    for (int c = 0; c < columnCount() && c < std::ssize(row); ++c) {
      const Cell& cell = row[static_cast<std::size_t>(c)];
      QTableWidgetItem* at = item(r, c);
      if (at == nullptr) {
        at = new QTableWidgetItem;
        setItem(r, c, at);
      }
      at->setText(cell.text);
      at->setToolTip(tool_tip(cell.tip.isEmpty() ? cell.text : cell.tip));
      at->setData(kBarRole, cell.bar >= 0 ? QVariant(cell.bar) : QVariant());
      at->setTextAlignment(Qt::AlignVCenter | (cell.right ? Qt::AlignRight : Qt::AlignLeft));
      at->setIcon(cell.sign ? sign_icon(palette(), *cell.sign) : QIcon());
    }
  }
  for (int c = 0; c < columnCount(); ++c) {
    const bool right = !rows.empty() && rows.front().size() > static_cast<std::size_t>(c) &&
                       rows.front()[static_cast<std::size_t>(c)].right;
    horizontalHeaderItem(c)->setTextAlignment(Qt::AlignVCenter |
                                              (right ? Qt::AlignRight : Qt::AlignLeft));
  }
  if (grows) updateGeometry();
}

void BarTable::changeEvent(QEvent* event) {
  QTableWidget::changeEvent(event);
  if (event->type() == QEvent::FontChange) fit();
}

}  // namespace rpcrdma::gui
