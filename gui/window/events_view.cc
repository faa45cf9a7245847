#include "events_view.h"

#include <QHeaderView>

#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/report/context.h>

namespace rpcrdma::gui {

namespace {

constexpr int kFrame = Qt::UserRole;
constexpr std::size_t kAtOnce = 1000;  // the rest is listed in the next steps

}  // namespace

EventsView::EventsView(Document& document, QWidget* parent)
    : QTreeWidget(parent), document_(document) {
  setHeaderLabels({tr("Time (UTC)"), tr("Conn."), tr("Frame"), tr("Event")});
  setRootIsDecorated(false);
  setUniformRowHeights(true);
  setAlternatingRowColors(true);
  setAccessibleName(tr("Events of endpoints"));
  const int wide = fontMetrics().averageCharWidth();
  header()->resizeSection(0, fontMetrics().horizontalAdvance("00:00:00.000000000") + 2 * wide);
  header()->resizeSection(1, wide * 8);
  header()->resizeSection(2, wide * 10);
  header()->setStretchLastSection(true);
  connect(&document_, &Document::changed, this, &EventsView::update_list);
  connect(&document_, &Document::reset, this, &QTreeWidget::clear);
  connect(this, &QTreeWidget::itemActivated, this, [this](const QTreeWidgetItem* item) {
    document_.select_frame(item->data(0, kFrame).toULongLong());
  });
}

void EventsView::update_list() {
  const auto have = static_cast<std::size_t>(topLevelItemCount());
  std::vector<index::Notable> fresh;
  document_.store().read([&](const index::Content& c) {
    for (std::size_t i = have; i < c.notable.size() && fresh.size() < kAtOnce; ++i) {
      fresh.push_back(c.notable[i]);
    }
  });
  QList<QTreeWidgetItem*> items;
  for (const index::Notable& n : fresh) {
    auto* const item =
        new QTreeWidgetItem({QString::fromStdString(report::format_clock(n.time_ns)),
                             n.connection != 0 ? QString::number(n.connection) : QString(),
                             QString::number(n.frame), QString::fromStdString(n.text)});
    item->setData(0, kFrame, QVariant::fromValue<quint64>(n.frame));
    item->setToolTip(3, tool_tip(item->text(3)));
    items << item;
  }
  addTopLevelItems(items);
}

}  // namespace rpcrdma::gui
