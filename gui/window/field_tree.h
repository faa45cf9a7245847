// The fields of one message as a tree, in the order of the schema, each linked to its bytes.
#pragma once

#include "context_menu.h"

#include <QTreeWidget>

#include <rpcrdma/index/excerpt.h>

namespace rpcrdma::gui {

class FieldTree : public QTreeWidget {
  Q_OBJECT

 public:
  explicit FieldTree(QWidget* parent = nullptr);

  // Which buffer holds the bytes of a field.
  enum class Of : std::uint8_t { kNone, kSend, kRpc };
  struct Extent {
    Of of = Of::kNone;
    std::size_t offset = 0, length = 0;
    int item = 0;
  };

  // Null: nothing to show.
  void show_message(const index::Excerpt::Message* message);
  [[nodiscard]] const std::vector<Extent>& extents() const { return extents_; }
  // Selects the field with this index in extents().
  void select(int item);
  // What the selected field means as a filter, and its value.
  [[nodiscard]] std::vector<Place::Test> tests() const;
  [[nodiscard]] QString value() const;
  [[nodiscard]] QString copy() const;  // the selected field, with its subfields

 Q_SIGNALS:
  void field_selected(const rpcrdma::gui::FieldTree::Extent& extent);
  void frame_wanted(quint64 frame);        // the user opened a field that names a frame
  void menu_wanted(const QPoint& global);  // for the selected field

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;

 private:
  void open(QTreeWidgetItem* item);

  std::vector<Extent> extents_;
  std::vector<QTreeWidgetItem*> items_;  // parallel to extents_
  bool showing_ = false;
};

}  // namespace rpcrdma::gui
