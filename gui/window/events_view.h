// Events of endpoints that no message shows: identities, connections that were opened and closed,
// errors, injected faults.
#pragma once

#include "document.h"

#include <QWidget>

QT_BEGIN_NAMESPACE
class QCheckBox;
class QLabel;
class QLineEdit;
class QTreeView;
QT_END_NAMESPACE

namespace rpcrdma::gui {

class EventsModel;

class EventsView : public QWidget {
  Q_OBJECT

 public:
  explicit EventsView(Document& document, QWidget* parent = nullptr);

  [[nodiscard]] EventsModel& model() { return *model_; }
  [[nodiscard]] QTreeView& list() { return *list_; }
  [[nodiscard]] QLineEdit& filter() { return *filter_; }
  // What stands in place of the list; empty: the list is shown.
  [[nodiscard]] QString sentence() const;

 private:
  void updated();

  Document& document_;
  EventsModel* model_;
  QLineEdit* filter_;
  QCheckBox* registrations_;
  QLabel* count_;
  QLabel* empty_;
  QTreeView* list_;
  bool at_end_ = true;  // the list follows its end
};

}  // namespace rpcrdma::gui
