// The fields of one message as a tree, as they stand in the schema, each with the bytes it was
// read from.
#pragma once

#include <QTreeWidget>

#include <rpcrdma/index/excerpt.h>

namespace rpcrdma::gui {

class FieldTree : public QTreeWidget {
  Q_OBJECT

 public:
  explicit FieldTree(QWidget* parent = nullptr);

  // Which bytes a field stands in.
  enum class Of : std::uint8_t { kNone, kSend, kRpc };
  struct Extent {
    Of of = Of::kNone;
    std::size_t offset = 0, length = 0;
    int item = 0;
  };

  // Null: nothing to show.
  void show_message(const index::Excerpt::Message* message);
  [[nodiscard]] const std::vector<Extent>& extents() const { return extents_; }
  // Selects the field with that number of extents().
  void select(int item);
  [[nodiscard]] QString copy() const;  // of what is selected, with what is in it

 Q_SIGNALS:
  void field_selected(const rpcrdma::gui::FieldTree::Extent& extent);
  void frame_wanted(quint64 frame);         // a field that names a frame was opened
  void filter_wanted(const QString& text);  // for messages with such a field

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;

 private:
  void open(QTreeWidgetItem* item);

  std::vector<Extent> extents_;
  std::vector<QTreeWidgetItem*> items_;  // as extents_
  bool showing_ = false;
};

}  // namespace rpcrdma::gui
