// Completion of field names, and immediate checks of the display filter.
#include "filter_edit.h"

#include "colours.h"

#include <QAbstractItemView>
#include <QEvent>
#include <QKeyEvent>
#include <QStandardItemModel>

#include <rpcrdma/decode/schema.h>
#include <rpcrdma/filter/filter.h>
#include <rpcrdma/gui_text/plain_text.h>

namespace rpcrdma::gui {

namespace {

constexpr int kHistory = 30;

QStandardItemModel* fields(QObject* parent) {
  auto* const model = new QStandardItemModel(parent);
  for (const decode::FieldSpec& field : decode::schema()) {
    if (!filter::is_filter_field(field.id)) continue;
    auto* const item = new QStandardItem(field.name);
    item->setToolTip(tool_tip(
        QString("%1 (%2): %3").arg(field.label, decode::type_name(field.type), field.help)));
    model->appendRow(item);
  }
  model->sort(0);
  return model;
}

bool in_name(QChar c) {
  return c.isLetterOrNumber() || c == '.' || c == '_';
}

}  // namespace

FilterEdit::FilterEdit(QWidget* parent) : QLineEdit(parent), completer_(new QCompleter(this)) {
  setPlaceholderText(tr("Display filter, such as  rpcrdma.credit < 4 && rpc.program == NFS"));
  setClearButtonEnabled(true);
  setAccessibleName(tr("Display filter"));
  completer_->setModel(fields(completer_));
  completer_->setWidget(this);
  completer_->setCaseSensitivity(Qt::CaseInsensitive);
  completer_->setFilterMode(Qt::MatchContains);
  completer_->setMaxVisibleItems(14);
  connect(completer_, qOverload<const QString&>(&QCompleter::activated), this, &FilterEdit::insert);
  connect(this, &QLineEdit::textChanged, this, &FilterEdit::check);
  connect(this, &QLineEdit::textEdited, this, &FilterEdit::complete);
}

void FilterEdit::set_history(const QStringList& history) {
  history_ = history.mid(0, kHistory);
}

std::pair<int, int> FilterEdit::word() const {
  const QString all = text();
  const int end = cursorPosition();
  int begin = end;
  while (begin > 0 && in_name(all[begin - 1])) --begin;
  return {begin, end};
}

void FilterEdit::check() {
  const QString trimmed = text().trimmed();
  error_.clear();
  if (!trimmed.isEmpty()) {
    const std::string typed = text().toStdString();
    if (const auto filter = filter::compile(typed); !filter) {
      error_ =
          tr("%1 (at character %2)")
              .arg(QString::fromStdString(filter.error().message))
              .arg(QString::fromUtf8(typed.data(), static_cast<qsizetype>(filter.error().offset))
                       .size() +
                   1);
    }
  }
  // As in Wireshark: green is valid, red is not.
  colouring_ = true;
  QPalette colours;
  if (!trimmed.isEmpty()) {
    const bool dark = is_dark(colours);
    const QColor good = dark ? QColor(30, 70, 40) : QColor(200, 245, 205);
    const QColor bad = dark ? QColor(90, 35, 35) : QColor(255, 205, 205);
    colours.setColor(QPalette::Base, error_.isEmpty() ? good : bad);
  }
  setPalette(colours);
  colouring_ = false;
  setToolTip(tool_tip(error_));
  Q_EMIT checked(error_);
}

void FilterEdit::changeEvent(QEvent* event) {
  QLineEdit::changeEvent(event);
  if (event->type() == QEvent::ApplicationPaletteChange && !colouring_) check();
}

void FilterEdit::complete() {
  const auto [begin, end] = word();
  const QString prefix = text().mid(begin, end - begin);
  if (prefix.size() < 2 || prefix.front().isDigit()) {
    completer_->popup()->hide();
    return;
  }
  completer_->setCompletionPrefix(prefix);
  const bool whole =
      completer_->completionCount() == 1 && completer_->currentCompletion() == prefix;
  if (completer_->completionCount() == 0 || whole) {
    completer_->popup()->hide();
    return;
  }
  QRect at = cursorRect();
  at.setWidth(fontMetrics().averageCharWidth() * 40);
  completer_->complete(at);
}

void FilterEdit::insert(const QString& completion) {
  const auto [begin, end] = word();
  QString all = text();
  all.replace(begin, end - begin, completion);
  setText(all);
  setCursorPosition(begin + static_cast<int>(completion.size()));
}

void FilterEdit::apply() {
  if (!error_.isEmpty()) return;
  const QString trimmed = text().trimmed();
  if (!trimmed.isEmpty()) {
    history_.removeAll(trimmed);
    history_.prepend(trimmed);
    history_ = history_.mid(0, kHistory);
  }
  in_history_ = -1;
  Q_EMIT applied(trimmed);
}

void FilterEdit::keyPressEvent(QKeyEvent* event) {
  const bool popup = completer_->popup()->isVisible();
  switch (event->key()) {
    case Qt::Key_Return:
    case Qt::Key_Enter:
    case Qt::Key_Tab:
      if (popup && completer_->popup()->currentIndex().isValid()) {
        insert(completer_->popup()->currentIndex().data().toString());
        completer_->popup()->hide();
        return;
      }
      if (event->key() == Qt::Key_Tab) break;
      completer_->popup()->hide();
      return apply();
    case Qt::Key_Up:
    case Qt::Key_Down: {
      if (popup || history_.isEmpty()) break;
      const int by = event->key() == Qt::Key_Up ? 1 : -1;
      in_history_ = std::clamp(in_history_ + by, -1, static_cast<int>(history_.size()) - 1);
      setText(in_history_ < 0 ? QString() : history_[in_history_]);
      return;
    }
    case Qt::Key_Space:
      if ((event->modifiers() & Qt::ControlModifier) != 0) {
        complete();
        return;
      }
      break;
    default:
      break;
  }
  QLineEdit::keyPressEvent(event);
}

}  // namespace rpcrdma::gui
