// The selected message: its fields, and the bytes that hold them.
#pragma once

#include "document.h"
#include "field_tree.h"

#include <QTabWidget>

namespace rpcrdma::gui {

class ByteView;

class DetailView : public QWidget {
  Q_OBJECT

 public:
  explicit DetailView(Document& document, QWidget* parent = nullptr);

  [[nodiscard]] FieldTree& tree() { return *tree_; }
  [[nodiscard]] ByteView& send_bytes() { return *send_; }
  [[nodiscard]] ByteView& rpc_bytes() { return *rpc_; }
  [[nodiscard]] QTabWidget& tabs() { return *tabs_; }

 private:
  void show_excerpt();
  void mark(const FieldTree::Extent& extent);

  Document& document_;
  FieldTree* tree_;
  QTabWidget* tabs_;
  ByteView* send_;
  ByteView* rpc_;
};

}  // namespace rpcrdma::gui
