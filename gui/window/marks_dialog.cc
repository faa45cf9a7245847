#include "marks_dialog.h"

#include <QDialogButtonBox>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include <rpcrdma/gui_text/plain_text.h>

namespace rpcrdma::gui {

MarksDialog::MarksDialog(Document& document, Marks& marks, QWidget* parent)
    : QDialog(parent), document_(document), marks_(marks), list_(new QTreeWidget(this)) {
  setObjectName("marks");
  setWindowTitle(tr("Marks and comments"));
  list_->setHeaderLabels({tr("Frame"), tr("Time"), tr("Mark"), tr("Comment")});
  list_->setRootIsDecorated(false);
  list_->setUniformRowHeights(true);
  list_->setAccessibleName(tr("Marks and comments"));
  auto* const note = new QLabel(
      tr("Marks and comments last as long as the capture is open. \"Save messages as pcapng\" "
         "writes the comments of the messages that are shown."),
      this);
  note->setWordWrap(true);
  auto* const buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
  QPushButton* const remove = buttons->addButton(tr("&Remove"), QDialogButtonBox::ActionRole);
  remove->setAutoDefault(false);
  connect(remove, &QPushButton::clicked, this, &MarksDialog::remove_current);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  auto* const all = new QVBoxLayout(this);
  all->addWidget(list_);
  all->addWidget(note);
  all->addWidget(buttons);
  resize(640, 360);
  connect(list_, &QTreeWidget::itemActivated, this, [this](const QTreeWidgetItem* item) {
    document_.select_message(item->data(0, Qt::UserRole).toULongLong());
  });
  connect(&marks_, &Marks::changed, this, &MarksDialog::update_list);
  connect(&document_, &Document::time_format_changed, this, &MarksDialog::update_list);
  update_list();
}

void MarksDialog::update_list() {
  const QTreeWidgetItem* const before = list_->currentItem();
  const quint64 chosen = before != nullptr ? before->data(0, Qt::UserRole).toULongLong() : 0;
  list_->clear();
  QList<QTreeWidgetItem*> items;
  QTreeWidgetItem* again = nullptr;
  document_.store().read([&](const index::Content& c) {
    for (const auto& entry : marks_.all()) {
      if (entry.first > c.rows.size()) continue;
      const index::MessageRow& row = c.rows[entry.first - 1];
      auto* const item =
          new QTreeWidgetItem({QString::number(row.frame), document_.time_text(row.time_ns),
                               entry.second.marked ? QString::fromUtf8("\xe2\x97\x86") : QString(),
                               one_line(entry.second.comment)});
      item->setData(0, Qt::UserRole, entry.first);
      item->setToolTip(3, tool_tip(entry.second.comment));
      if (entry.first == chosen) again = item;
      items << item;
    }
  });
  list_->addTopLevelItems(items);
  list_->setCurrentItem(again != nullptr ? again : list_->topLevelItem(0));
  for (int column = 0; column < 3; ++column) list_->resizeColumnToContents(column);
}

void MarksDialog::remove_current() {
  const QTreeWidgetItem* const item = list_->currentItem();
  if (item == nullptr) return;
  const quint64 message = item->data(0, Qt::UserRole).toULongLong();
  marks_.set_comment(message, {});
  marks_.set_marked(message, false);
}

}  // namespace rpcrdma::gui
