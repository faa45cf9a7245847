// Builds the menu from what is under the mouse, and does what its entries say.
#include "context_menu.h"

#include "filter_text.h"
#include "marks_dialog.h"
#include "payload.h"

#include <QApplication>
#include <QClipboard>
#include <QInputDialog>
#include <algorithm>

#include <rpcrdma/gui_text/plain_text.h>

namespace rpcrdma::gui {

QString Place::Test::unequal() const {
  return value.isEmpty() ? filter_not(field) : field + " != " + value;
}

Verbs::Verbs(Document& document, Marks& marks, QWidget* parent)
    : QObject(parent), document_(document), marks_(marks), parent_(parent) {}

QMenu* Verbs::show(const Place& place, const QPoint& global) {
  auto* const menu = new QMenu(parent_);
  menu->setObjectName("context-menu");
  menu->setAttribute(Qt::WA_DeleteOnClose);
  add_filters(*menu, place);
  if (place.message != 0) add_message(*menu, place.message);
  add_copies(*menu, place);
  if (menu->isEmpty()) menu->addAction(tr("Nothing is here"))->setEnabled(false);
  menu->popup(global);
  return menu;
}

void Verbs::add_filters(QMenu& menu, const Place& place) {
  if (!place.tests.empty()) {
    add_filter_menu(menu, tr("&Apply as filter"), place, true);
    add_filter_menu(menu, tr("&Prepare as filter"), place, false);
  }
  if (place.message != 0) {
    menu.addAction(tr("Only this &Call"), this, [this, id = place.message] { only_call(id); });
  }
  if (place.connection) {
    const QString filter = QString("rpcrdma.connection == %1").arg(*place.connection + 1);
    menu.addAction(tr("Only this co&nnection"), this,
                   [this, filter] { Q_EMIT filter_wanted(filter); });
  }
  if (place.message != 0) {
    menu.addAction(tr("&Follow this Call"), this, [this, id = place.message] { follow_call(id); });
  }
  if (place.connection) {
    menu.addAction(tr("Follow this connect&ion"), this, [this, index = *place.connection] {
      document_.select_connection(index);
      Q_EMIT filter_wanted(QString("rpcrdma.connection == %1").arg(index + 1));
      Q_EMIT view_wanted("credits");
    });
  }
  menu.addSeparator();
}

void Verbs::add_filter_menu(QMenu& menu, const QString& title, const Place& place, bool apply) {
  QMenu* const under = menu.addMenu(title);
  const QString now = document_.filter();
  const auto add = [&](const QString& words, const QString& filter) {
    under->addAction(words, this, [this, filter, apply] {
      if (apply) {
        Q_EMIT filter_wanted(filter);
      } else {
        Q_EMIT filter_prepared(filter);
      }
    });
  };
  for (const Place::Test& test : place.tests) {
    if (!under->isEmpty()) under->addSeparator();
    const QString is = test.text();
    const QString is_not = test.unequal();
    add(menu_text(is), is);
    add(menu_text(is_not), is_not);
    if (now.isEmpty()) continue;
    add(tr("... and %1").arg(menu_text(is)), with_part(now, is));
    add(tr("... or %1").arg(menu_text(is)), filter_or(now, is));
    add(tr("... and not %1").arg(menu_text(is)), with_part(now, filter_not(is)));
  }
}

void Verbs::add_message(QMenu& menu, quint64 message) {
  bool is_call = false;
  document_.store().read([&](const index::Content& c) {
    if (message <= c.rows.size()) is_call = c.rows[message - 1].kind == model::Kind::kCall;
  });
  menu.addAction(is_call ? tr("&Go to the Reply") : tr("&Go to the Call"), this,
                 [this, message] { go_to_match(message); })
      ->setEnabled(match(message) != 0);
  menu.addAction(tr("&Zoom to the time of this Call"), this,
                 [this, message] { zoom_to_call(message); });
  menu.addSeparator();
  const Marks::Mark mark = marks_.of(message);
  menu.addAction(mark.marked ? tr("Un&mark") : tr("&Mark"), this,
                 [this, message] { toggle_mark(message); });
  menu.addAction(mark.comment.isEmpty() ? tr("C&omment...") : tr("Edit the c&omment..."), this,
                 [this, message] { edit_comment(message); });
  menu.addAction(marks_.reference() == message ? tr("Clear the &time reference")
                                               : tr("Set as &time reference"),
                 this, [this, message] { toggle_reference(message); });
  menu.addSeparator();
  menu.addAction(tr("&Export payload..."), this, [this, message] { export_payload(message); });
}

void Verbs::add_copies(QMenu& menu, const Place& place) {
  auto* const under = new QMenu(tr("Cop&y"), &menu);
  const auto add = [&](const QString& title, const QString& text) {
    if (text.isEmpty()) return;
    under->addAction(title, this, [text] { QApplication::clipboard()->setText(text); });
  };
  add(tr("&Value"), place.value);
  if (!place.tests.empty()) add(tr("As &filter"), place.tests.front().text());
  add(tr("&Row"), place.row);
  for (const Place::Copy& copy : place.copies) {
    under->addAction(copy.title, this,
                     [text = copy.text] { QApplication::clipboard()->setText(text()); });
  }
  if (under->isEmpty()) {
    delete under;
    return;
  }
  menu.addMenu(under);
}

QString Verbs::call_filter(quint64 message) const {
  return document_.store().read([message](const index::Content& c) {
    if (message == 0 || message > c.rows.size()) return QString();
    const index::MessageRow& row = c.rows[message - 1];
    return QString("rpcrdma.connection == %1 && rpcrdma.xid == 0x%2")
        .arg(c.connection_id(row.connection))
        .arg(row.xid, 8, 16, QChar('0'));
  });
}

quint64 Verbs::match(quint64 message) const {
  return document_.store().read([message](const index::Content& c) -> quint64 {
    return message != 0 && message <= c.rows.size() ? c.rows[message - 1].match : 0;
  });
}

void Verbs::only_call(quint64 message) {
  const QString filter = call_filter(message);
  if (!filter.isEmpty()) Q_EMIT filter_wanted(filter);
}

void Verbs::follow_call(quint64 message) {
  if (message == 0) return;
  document_.select_message(message);
  only_call(message);
  Q_EMIT view_wanted("ladder");
}

void Verbs::go_to_match(quint64 message) {
  const quint64 other = match(message);
  if (other != 0) document_.select_message(other);
}

// With a tenth of its length before and behind it.
void Verbs::zoom_to_call(quint64 message) {
  const auto span =
      document_.store().read([message](const index::Content& c) -> std::optional<TimeRange::Span> {
        if (message == 0 || message > c.rows.size()) return std::nullopt;
        const index::MessageRow& row = c.rows[message - 1];
        const index::MessageRow& other =
            row.match != 0 && row.match <= c.rows.size() ? c.rows[row.match - 1] : row;
        return TimeRange::Span{std::min(row.time_ns, other.time_ns),
                               std::max(row.time_ns, other.time_ns)};
      });
  if (!span) return;
  constexpr std::int64_t kLeast = 10'000;  // ns
  const std::int64_t around = std::max(kLeast, span->length_ns() / 10);
  document_.time_range().set({span->from_ns - around, span->to_ns + around});
}

void Verbs::toggle_mark(quint64 message) {
  if (message == 0) return;
  if (!marks_.set_marked(message, !marks_.of(message).marked)) {
    Q_EMIT trouble(tr("At most %L1 messages can have marks").arg(Marks::kMost));
  }
}

void Verbs::edit_comment(quint64 message) {
  if (message == 0) return;
  auto* const dialog = new QInputDialog(parent_);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(tr("Comment"));
  dialog->setLabelText(tr("Comment on message %L1. \"Save messages as pcapng\" writes it into the "
                          "capture.")
                           .arg(message));
  dialog->setTextValue(marks_.of(message).comment);
  dialog->resize(480, dialog->sizeHint().height());
  connect(dialog, &QInputDialog::textValueSelected, this, [this, message](const QString& text) {
    if (!marks_.set_comment(message, text)) {
      Q_EMIT trouble(tr("At most %L1 messages can have marks").arg(Marks::kMost));
    }
  });
  dialog->open();
}

void Verbs::toggle_reference(quint64 message) {
  if (message != 0) marks_.set_reference(marks_.reference() == message ? 0 : message);
}

void Verbs::export_payload(quint64 message) {
  if (message == 0) return;
  document_.select_message(message);
  auto* const dialog = new PayloadDialog(document_, parent_);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  connect(dialog, &PayloadDialog::reported, this, &Verbs::trouble);
  dialog->open();
}

void Verbs::list_marks() {
  auto* const dialog = new MarksDialog(document_, marks_, parent_);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->show();
}

}  // namespace rpcrdma::gui
