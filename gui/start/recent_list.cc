#include "recent_list.h"

#include "card.h"

#include <QDateTime>
#include <QFileInfo>
#include <QLabel>
#include <QLocale>
#include <QVBoxLayout>
#include <mutex>

#include <rpcrdma/base/thread.h>

namespace rpcrdma::gui {

namespace {

constexpr qsizetype kShown = 8;

QString date_text(qint64 seconds) {
  if (seconds == 0) return {};
  const QDateTime at = QDateTime::fromSecsSinceEpoch(seconds);
  const bool today = at.date() == QDate::currentDate();
  return at.toString(today ? QStringLiteral("HH:mm") : QStringLiteral("yyyy-MM-dd"));
}

}  // namespace

// A file can be on a server that does not answer, so a thread looks, and nothing waits for it, not
// even the end of the program.
struct RecentList::Receiver {
  std::mutex mutex;
  RecentList* list = nullptr;  // null: gone
};

RecentList::RecentList(QSettings& settings, QWidget* parent)
    : QWidget(parent), files_(settings), receiver_(std::make_shared<Receiver>()) {
  receiver_->list = this;
  auto* const column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  rows_ = new RowList("recent", this);
  none_ = new SecondLine(tr("No file has been opened."), 8, this);
  column->addWidget(rows_);
  column->addWidget(none_);
  connect(rows_, &RowList::chosen, this, &RecentList::open_wanted);
  connect(rows_, &RowList::remove_wanted, this, [this](const QString& path) {
    files_.remove(path);
    update_list();
  });
}

RecentList::~RecentList() {
  const std::scoped_lock lock(receiver_->mutex);
  receiver_->list = nullptr;
}

void RecentList::update_list() {
  show_rows();
  ask(files_.paths().mid(0, kShown));
}

void RecentList::ask(const QStringList& paths) {
  if (paths.isEmpty()) return;
  // Without a thread, sizes and times stay unknown.
  auto thread = base::start_thread([paths, receiver = receiver_] {
    std::map<QString, Found> found;
    for (const QString& path : paths) {
      const QFileInfo info(path);
      Found& f = found[path];
      f.exists = info.exists();
      if (!f.exists) continue;
      f.size = static_cast<std::uint64_t>(info.size());
      f.modified_s = info.lastModified().toSecsSinceEpoch();
    }
    const std::scoped_lock lock(receiver->mutex);
    if (receiver->list == nullptr) return;
    QMetaObject::invokeMethod(
        receiver->list,
        [list = receiver->list, found = std::move(found)]() mutable {
          list->found_ = std::move(found);
          list->show_rows();
        },
        Qt::QueuedConnection);
  });
  if (thread) thread->detach();
}

void RecentList::show_rows() {
  std::vector<RowText> rows;
  for (const QString& path : files_.paths().mid(0, kShown)) {
    const auto facts = files_.facts(path);
    Found found;
    if (const auto it = found_.find(path); it != found_.end()) found = it->second;
    if (found.size == 0 && facts) found.size = facts->size;
    const QFileInfo info(path);  // takes the path apart, and does not look at the file
    RowText row;
    row.key = path;
    row.title = info.fileName();
    row.sign = sign_of(facts);
    row.value = found.exists ? word_of(facts) : tr("missing");
    row.faint = !found.exists;
    row.removable = true;
    QStringList second{info.path()};
    if (found.size != 0) {
      second.prepend(QLocale().formattedDataSize(static_cast<qint64>(found.size), 1,
                                                 QLocale::DataSizeIecFormat));
    }
    if (const QString date = date_text(found.modified_s); !date.isEmpty()) second.prepend(date);
    row.elide = Qt::ElideMiddle;  // it ends with the folder
    row.detail = second.join("  ");
    row.tip = path;
    if (facts) row.tip += tr("\n%L1 messages").arg(facts->messages);
    row.tip += tr("\nDelete removes it from the list");
    rows.push_back(row);
  }
  rows_->set(rows);
  none_->setVisible(rows.empty());
}

}  // namespace rpcrdma::gui
