#include "events_view.h"

#include "events_model.h"

#include <QCheckBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QScrollBar>
#include <QTreeView>
#include <QVBoxLayout>

namespace rpcrdma::gui {

EventsView::EventsView(Document& document, QWidget* parent)
    : QWidget(parent),
      document_(document),
      model_(new EventsModel(document, this)),
      filter_(new QLineEdit(this)),
      registrations_(new QCheckBox(this)),
      count_(new QLabel(this)),
      empty_(new QLabel(this)),
      list_(new QTreeView(this)) {
  setAccessibleName(tr("Events of endpoints"));
  filter_->setPlaceholderText(tr("Events that contain..."));
  filter_->setClearButtonEnabled(true);
  filter_->setAccessibleName(tr("Filter of events"));
  filter_->setMaximumWidth(fontMetrics().averageCharWidth() * 50);
  for (QLabel* const label : {count_, empty_}) label->setTextFormat(Qt::PlainText);
  count_->setAccessibleName(tr("Number of events"));
  empty_->setAlignment(Qt::AlignCenter);
  empty_->setWordWrap(true);
  empty_->setMargin(12);
  list_->setModel(model_);
  list_->setRootIsDecorated(false);
  list_->setUniformRowHeights(true);
  list_->setAlternatingRowColors(true);
  list_->setAccessibleName(tr("Events of endpoints"));
  const int wide = fontMetrics().averageCharWidth();
  QHeaderView& header = *list_->header();
  header.setStretchLastSection(false);
  header.resizeSection(EventsModel::kTimeColumn,
                       fontMetrics().horizontalAdvance("00:00:00.000000") + 3 * wide);
  header.resizeSection(EventsModel::kConnectionColumn, wide * 8);
  header.resizeSection(EventsModel::kKindColumn, wide * 16);
  header.resizeSection(EventsModel::kFrameColumn, wide * 11);
  header.setSectionResizeMode(EventsModel::kDetailsColumn, QHeaderView::Stretch);
  auto* const row = new QHBoxLayout;
  row->setContentsMargins(8, 4, 8, 4);
  row->setSpacing(12);
  row->addWidget(filter_, 1);
  row->addWidget(registrations_);
  row->addStretch(1);
  row->addWidget(count_);
  auto* const all = new QVBoxLayout(this);
  all->setContentsMargins(0, 0, 0, 0);
  all->setSpacing(0);
  all->addLayout(row);
  all->addWidget(empty_, 1);
  all->addWidget(list_, 1);
  connect(filter_, &QLineEdit::textChanged, model_, &EventsModel::set_filter);
  connect(registrations_, &QCheckBox::toggled, model_, &EventsModel::set_registrations);
  connect(model_, &EventsModel::updated, this, &EventsView::updated);
  const QScrollBar& bar = *list_->verticalScrollBar();
  const auto note_end = [this, &bar] { at_end_ = bar.value() == bar.maximum(); };
  connect(model_, &EventsModel::rowsAboutToBeInserted, this, note_end);
  connect(model_, &EventsModel::rowsInserted, this, [this] {
    if (at_end_) list_->scrollToBottom();
  });
  connect(list_, &QTreeView::activated, this,
          [this](const QModelIndex& at) { document_.select_frame(model_->frame(at.row())); });
  connect(&document_, &Document::finished, this, &EventsView::updated);
  updated();
}

QString EventsView::sentence() const {
  return empty_->isHidden() ? QString() : empty_->text();
}

void EventsView::updated() {
  const int rows = model_->rowCount();
  const std::uint64_t total = model_->total();
  QString text;
  if (total == 0) {
    text = tr("No events. Endpoints report them: attach to one, or open a recording of one.");
  } else if (rows == 0) {
    text = document_.time_range().range()
               ? tr("None of %L1 events is in this range and matches").arg(total)
               : tr("None of %L1 events matches").arg(total);
  }
  empty_->setText(text);
  empty_->setVisible(!text.isEmpty());
  list_->setVisible(text.isEmpty());
  registrations_->setVisible(model_->registrations() != 0);
  registrations_->setText(tr("Memory registrations (%L1)").arg(model_->registrations()));
  QString count = tr("%L1 of %L2").arg(rows).arg(total);
  if (model_->omitted() != 0) count += tr(", %L1 more are not listed").arg(model_->omitted());
  count_->setText(total == 0 ? QString() : count);
}

}  // namespace rpcrdma::gui
