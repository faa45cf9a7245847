// The menu of what is under the mouse: the same verbs in every view, in the same order.
#pragma once

#include "document.h"
#include "marks.h"

#include <QMenu>
#include <functional>
#include <vector>

namespace rpcrdma::gui {

// What is under the mouse.
struct Place {
  quint64 message = 0;                      // ID; 0: none
  std::optional<std::uint32_t> connection;  // index
  struct Test {
    QString field;
    QString value;  // as filters write it; empty: a test for presence
    [[nodiscard]] QString text() const { return value.isEmpty() ? field : field + " == " + value; }
    [[nodiscard]] QString unequal() const;
  };
  std::vector<Test> tests;
  QString value;  // as shown, to copy
  QString row;    // the whole row
  struct Copy {
    QString title;
    std::function<QString()> text;
  };
  std::vector<Copy> copies;  // further forms
};

class Verbs : public QObject {
  Q_OBJECT

 public:
  // Both outlive this.
  Verbs(Document& document, Marks& marks, QWidget* parent);

  // Opens the menu. Its object name is "context-menu".
  QMenu* show(const Place& place, const QPoint& global);

  // Verbs of one message, for keys and menus too. 0: nothing happens.
  void only_call(quint64 message);
  void follow_call(quint64 message);
  void go_to_match(quint64 message);
  void toggle_mark(quint64 message);
  void edit_comment(quint64 message);
  void toggle_reference(quint64 message);
  void export_payload(quint64 message);
  void list_marks();

 Q_SIGNALS:
  void filter_wanted(const QString& text);
  void filter_prepared(const QString& text);
  void view_wanted(const QString& name);
  void trouble(const QString& text);

 private:
  void add_filters(QMenu& menu, const Place& place);
  void add_filter_menu(QMenu& menu, const QString& title, const Place& place, bool apply);
  void add_message(QMenu& menu, quint64 message);
  void add_copies(QMenu& menu, const Place& place);
  [[nodiscard]] QString call_filter(quint64 message) const;
  [[nodiscard]] quint64 match(quint64 message) const;
  void zoom_to_call(quint64 message);

  Document& document_;
  Marks& marks_;
  QWidget* parent_;
};

}  // namespace rpcrdma::gui
