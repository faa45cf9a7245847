// What is under the mouse in each view of the window, for the one context menu that all share.
#include "calls_view.h"
#include "cell_tests.h"
#include "context_menu.h"
#include "detail_view.h"
#include "filter_text.h"
#include "findings_view.h"
#include "main_window.h"
#include "message_table.h"
#include "panels.h"

#include <QDockWidget>
#include <QTableView>

#include <rpcrdma/rules/rule.h>
#include <rpcrdma/views/byte_view.h>

namespace rpcrdma::gui {

namespace {

QString joined_row(const QModelIndex& at) {
  QStringList cells;
  for (int column = 0; column < at.model()->columnCount(at.parent()); ++column) {
    cells << at.siblingAtColumn(column).data().toString();
  }
  return cells.join('\t');
}

// The item at a point of the view, or the current one if the keyboard asks.
QModelIndex item_at(const QAbstractItemView& view, const QPoint& at) {
  const QModelIndex under = view.indexAt(at);
  return under.isValid() ? under : view.currentIndex();
}

}  // namespace

Place MainWindow::place_of_message(quint64 message) const {
  Place place;
  document_.store().read([&](const index::Content& c) {
    if (message == 0 || message > c.rows.size()) return;
    place.message = message;
    place.connection = c.canonical(c.rows[message - 1].connection);
    place.tests = tests_of(c, message, Column::kXid);
  });
  return place;
}

Place MainWindow::place_of_connection(std::uint32_t index) const {
  Place place;
  place.connection = index;
  document_.store().read([&](const index::Content& c) {
    place.tests.push_back({"rpcrdma.connection", QString::number(c.connection_id(index))});
    const index::ConnectionInfo* const info = c.connection(index);
    if (info == nullptr) return;
    for (const std::string& end : info->end) {
      const QString address = QString::fromStdString(end.substr(0, end.find(' ')));
      if (!address.isEmpty()) place.tests.push_back({"rpcrdma.addr", address});
    }
  });
  return place;
}

// By the columns that name a connection, a frame or a rule.
Place MainWindow::place_of_item(const QModelIndex& at) const {
  if (!at.isValid()) return {};
  Place place;
  const QAbstractItemModel& model = *at.model();
  for (int column = 0; column < model.columnCount(at.parent()); ++column) {
    const QString title = model.headerData(column, Qt::Horizontal).toString();
    bool ok = false;
    const quint64 number = at.siblingAtColumn(column).data().toString().toULongLong(&ok);
    if (!ok || number == 0) continue;
    if ((title == tr("Conn.") || title == tr("Connection")) && number <= UINT32_MAX) {
      const Place of = place_of_connection(static_cast<std::uint32_t>(number - 1));
      place.connection = of.connection;
      place.tests.insert(place.tests.end(), of.tests.begin(), of.tests.end());
    } else if (title == tr("Frame")) {
      place.tests.push_back({"frame.number", QString::number(number)});
    }
  }
  for (QModelIndex up = at.siblingAtColumn(0); up.isValid(); up = up.parent()) {
    const std::string name = up.data().toString().toStdString();
    if (rules::find_rule(name) == nullptr) continue;
    place.tests.insert(place.tests.begin(), {"rpcrdma.finding", filter_string(name)});
    break;
  }
  place.value = at.data().toString();
  place.row = joined_row(at);
  return place;
}

// The list in a dock, whoever made it.
QAbstractItemView* MainWindow::list_in(const QString& name) const {
  QWidget* const widget = dock(name)->widget();
  if (auto* const list = qobject_cast<QAbstractItemView*>(widget)) return list;
  return widget->findChild<QAbstractItemView*>();
}

void MainWindow::table_menu(const QPoint& global) {
  const auto row = messages_->current();
  if (!row) return;
  Place place = place_of_message(document_.selected());
  const Column column = messages_->column();
  document_.store().read([&](const index::Content& c) {
    const auto tests = tests_of(c, place.message, column);
    if (!tests.empty()) place.tests = tests;
  });
  place.value = messages_->text(*row, column);
  place.row = messages_->row_text(*row);
  const auto copies = [this](MessageTable::CopyAs as) {
    return [this, as] { return messages_->copy(as); };
  };
  place.copies = {{tr("Selected rows as &text"), copies(MessageTable::CopyAs::kText)},
                  {tr("Selected rows as &CSV"), copies(MessageTable::CopyAs::kCsv)},
                  {tr("Selected rows as &JSON"), copies(MessageTable::CopyAs::kJson)}};
  verbs_->show(place, global);
}

void MainWindow::make_context_menus() {
  connect(messages_, &MessageTable::menu_wanted, this, &MainWindow::table_menu);
  FieldTree& tree = detail_->tree();
  connect(&tree, &FieldTree::menu_wanted, this, [this, &tree](const QPoint& global) {
    Place place = place_of_message(document_.selected());
    place.tests = tree.tests();
    place.value = tree.value();
    place.copies = {{tr("&Field with its subfields"), [&tree] { return tree.copy(); }}};
    verbs_->show(place, global);
  });
  // Views of the document's selection.
  const auto of_selection = [this](QWidget* view, auto place_at) {
    view->setContextMenuPolicy(Qt::CustomContextMenu);
    connect(view, &QWidget::customContextMenuRequested, this,
            [this, view, place_at](const QPoint& at) {
              auto* const area = qobject_cast<QAbstractScrollArea*>(view);
              QWidget* const on = area != nullptr ? area->viewport() : view;
              verbs_->show(place_at(at), on->mapToGlobal(at));
            });
  };
  const auto selected = [this] {
    Place place = place_of_message(document_.selected());
    if (place.message == 0 && document_.connection()) {
      place = place_of_connection(*document_.connection());
    }
    return place;
  };
  const auto anywhere = [selected](const QPoint&) { return selected(); };
  for (QWidget* const view :
       {static_cast<QWidget*>(panels_->credits), static_cast<QWidget*>(&detail_->send_bytes()),
        static_cast<QWidget*>(&detail_->rpc_bytes())}) {
    of_selection(view, anywhere);
  }
  of_selection(panels_->ladder, [this, selected](const QPoint& at) {
    const std::vector<LadderItem>& items = panels_->ladder->items();
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (!panels_->ladder->rect_of(i).contains(at)) continue;
      const quint64 message = items[i].message != 0 ? items[i].message : items[i].exchange;
      if (message != 0) document_.select_message(message);
      Place place = selected();
      place.value = items[i].label;
      place.tests.push_back({"frame.number", QString::number(items[i].frame)});
      return place;
    }
    return selected();
  });
  of_selection(panels_->chunks, [this, selected](const QPoint& at) {
    Place place = selected();
    const ChunkPicture& picture = panels_->chunks->picture();
    for (std::size_t c = 0; c < picture.chunks.size(); ++c) {
      const auto& segments = picture.chunks[c].segments;
      for (std::size_t s = 0; s < segments.size(); ++s) {
        for (std::size_t o = 0; o < segments[s].operations.size(); ++o) {
          if (!panels_->chunks->rect_of(c, s, o).contains(at)) continue;
          const QString handle = QString("0x%1").arg(segments[s].handle, 8, 16, QChar('0'));
          place.tests.insert(place.tests.begin(), {"rpcrdma.segment.handle", handle});
          place.value = handle;
          return place;
        }
      }
    }
    return place;
  });
  std::vector<QAbstractItemView*> lists{connections_, &findings_->tree()};
  if (auto* const events = list_in("events")) lists.push_back(events);
  for (QAbstractItemView* const list : lists) {
    of_selection(list,
                 [this, list](const QPoint& at) { return place_of_item(item_at(*list, at)); });
  }
  if (auto* const calls = calls_->findChild<QTableView*>()) {
    disconnect(calls, &QWidget::customContextMenuRequested, calls_, nullptr);
    of_selection(calls, [this, calls](const QPoint& at) {
      const QModelIndex under = item_at(*calls, at);
      Place place = place_of_message(document_.selected());
      document_.store().read([&](const index::Content& c) {
        for (const Column column : {Column::kProcedure, Column::kLatency}) {
          const auto tests = tests_of(c, place.message, column);
          if (!tests.empty()) place.tests.push_back(tests.front());
        }
      });
      if (!under.isValid()) return place;
      place.value = under.data().toString();
      place.row = joined_row(under);
      return place;
    });
  }
  for (QWidget* const table : {static_cast<QWidget*>(&panels_->latency->table()),
                               static_cast<QWidget*>(&panels_->latency->outliers())}) {
    of_selection(table, [table, selected](const QPoint& at) {
      Place place = selected();
      const QModelIndex under = item_at(*qobject_cast<QAbstractItemView*>(table), at);
      if (under.isValid()) {
        place.value = under.data().toString();
        place.row = joined_row(under);
      }
      return place;
    });
  }
}

}  // namespace rpcrdma::gui
