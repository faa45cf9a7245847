#include "help_window.h"

#include <QDialogButtonBox>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMainWindow>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSortFilterProxyModel>
#include <QStandardItemModel>
#include <QTabWidget>
#include <QTableView>
#include <QVBoxLayout>

namespace rpcrdma::gui {

namespace {

constexpr int kDetailRole = Qt::UserRole;
constexpr int kFilterRole = Qt::UserRole + 1;

}  // namespace

HelpTopic::HelpTopic(const QString& name, const QStringList& columns, QWidget* parent)
    : QWidget(parent),
      columns_(columns),
      search_(new QLineEdit(this)),
      table_(new QTableView(this)),
      shown_(new QSortFilterProxyModel(this)),
      detail_(new QPlainTextEdit(this)) {
  setObjectName(name);
  search_->setPlaceholderText(tr("Search"));
  search_->setAccessibleName(tr("Search"));
  search_->setClearButtonEnabled(true);
  search_->installEventFilter(this);
  shown_->setFilterCaseSensitivity(Qt::CaseInsensitive);
  shown_->setFilterKeyColumn(-1);
  table_->setModel(shown_);
  table_->setSelectionBehavior(QAbstractItemView::SelectRows);
  table_->setSelectionMode(QAbstractItemView::SingleSelection);
  table_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table_->setTabKeyNavigation(false);
  table_->setShowGrid(false);
  table_->setWordWrap(false);
  table_->verticalHeader()->hide();
  table_->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 8);
  table_->horizontalHeader()->setStretchLastSection(true);
  table_->horizontalHeader()->setHighlightSections(false);
  table_->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  detail_->setReadOnly(true);
  detail_->setTabChangesFocus(true);
  detail_->setAccessibleName(tr("Details"));
  detail_->setMaximumHeight(fontMetrics().height() * 8);
  auto* const column = new QVBoxLayout(this);
  column->setContentsMargins(12, 12, 12, 12);
  column->setSpacing(8);
  column->addWidget(search_);
  column->addWidget(table_, 1);
  column->addWidget(detail_);
  connect(search_, &QLineEdit::textChanged, this, [this](const QString& text) {
    shown_->setFilterFixedString(text.trimmed());
    table_->selectRow(0);
    show_detail();
  });
  connect(table_, &QTableView::activated, this, [this] {
    if (!current_filter().isEmpty()) Q_EMIT filter_chosen(current_filter());
  });
}

void HelpTopic::set(const std::vector<HelpRow>& rows) {
  auto* const model = new QStandardItemModel(this);
  QStringList titles = columns_;
  titles << QString();  // the text that the search looks through besides
  model->setHorizontalHeaderLabels(titles);
  for (const HelpRow& row : rows) {
    QList<QStandardItem*> items;
    for (const QString& cell : row.cells) items << new QStandardItem(cell);
    items << new QStandardItem(row.detail);
    items.front()->setData(row.detail, kDetailRole);
    items.front()->setData(row.filter, kFilterRole);
    model->appendRow(items);
  }
  QAbstractItemModel* const before = shown_->sourceModel();
  shown_->setSourceModel(model);
  delete before;
  table_->hideColumn(static_cast<int>(columns_.size()));
  table_->resizeColumnsToContents();
  const int most = fontMetrics().averageCharWidth() * 50;
  if (table_->columnWidth(0) > most) table_->setColumnWidth(0, most);
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          &HelpTopic::show_detail, Qt::UniqueConnection);
  table_->selectRow(0);
  show_detail();
}

void HelpTopic::show_detail() {
  const QModelIndex now = table_->currentIndex();
  detail_->setPlainText(now.isValid() ? now.siblingAtColumn(0).data(kDetailRole).toString()
                                      : tr("Nothing matches"));
}

QString HelpTopic::detail() const {
  return detail_->toPlainText();
}

QString HelpTopic::current_filter() const {
  const QModelIndex now = table_->currentIndex();
  return now.isValid() ? now.siblingAtColumn(0).data(kFilterRole).toString() : QString();
}

// From the search, the arrows move in the table.
bool HelpTopic::eventFilter(QObject* object, QEvent* event) {
  if (object == search_ && event->type() == QEvent::KeyPress) {
    const int key = static_cast<QKeyEvent*>(event)->key();
    if (key == Qt::Key_Down || key == Qt::Key_Up || key == Qt::Key_PageDown ||
        key == Qt::Key_PageUp) {
      table_->setFocus();
      QCoreApplication::sendEvent(table_, event);
      return true;
    }
  }
  return QWidget::eventFilter(object, event);
}

HelpWindow::HelpWindow(const QMainWindow& window, QWidget* parent)
    : QDialog(parent), window_(window), tabs_(new QTabWidget(this)) {
  setWindowTitle(tr("Help - rpcrdma-gui"));
  resize(820, 620);
  const std::tuple<const char*, QString, QStringList> topics[] = {
      {"keys", tr("&Keys"), {tr("Action"), tr("Keys"), tr("Menu")}},
      {"filter", tr("&Filter reference"), {tr("Filter"), tr("Type"), tr("Meaning")}},
      {"rules", tr("&Rules"), {tr("Rule"), tr("Severity"), tr("Correct behaviour")}},
  };
  for (const auto& [name, title, columns] : topics) {
    auto* const made = new HelpTopic(name, columns, this);
    tabs_->addTab(made, title);
    connect(made, &HelpTopic::filter_chosen, this, &HelpWindow::filter_wanted);
  }
  topic("filter").set(filter_rows());
  topic("rules").set(rule_rows());
  auto* const about = new QLabel(about_text(), this);
  about->setObjectName("about");
  about->setTextFormat(Qt::PlainText);
  about->setWordWrap(true);
  about->setMargin(16);
  about->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  about->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  about->setAccessibleName(about->text());
  tabs_->addTab(about, tr("&About"));
  auto* const buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
  QPushButton* const use = buttons->addButton(tr("&Use as filter"), QDialogButtonBox::ActionRole);
  use->setObjectName("use");
  use->setToolTip(tr("Shows the messages that match the chosen field, example or rule"));
  // Enter belongs to the table.
  for (QAbstractButton* const button : buttons->buttons()) {
    static_cast<QPushButton*>(button)->setAutoDefault(false);
  }
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  connect(use, &QPushButton::clicked, this, [this] {
    auto* const now = qobject_cast<HelpTopic*>(tabs_->currentWidget());
    if (now != nullptr && !now->current_filter().isEmpty()) {
      Q_EMIT filter_wanted(now->current_filter());
    }
  });
  connect(tabs_, &QTabWidget::currentChanged, this, [this, use] {
    const QString name = tabs_->currentWidget()->objectName();
    use->setVisible(name == "filter" || name == "rules");
  });
  use->hide();
  auto* const column = new QVBoxLayout(this);
  column->addWidget(tabs_, 1);
  column->addWidget(buttons);
}

void HelpWindow::open_topic(const QString& name) {
  topic("keys").set(key_rows(window_));  // menus change while the window runs
  for (int i = 0; i < tabs_->count(); ++i) {
    if (tabs_->widget(i)->objectName() == name) tabs_->setCurrentIndex(i);
  }
  show();
  raise();
  activateWindow();
  if (auto* const now = qobject_cast<HelpTopic*>(tabs_->currentWidget())) {
    now->search().setFocus();
    now->search().selectAll();
  }
}

}  // namespace rpcrdma::gui
