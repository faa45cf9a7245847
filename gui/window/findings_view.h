// What is wrong: by rule, by severity or by who is at fault, with advice, and the way to where it
// shows.
#pragma once

#include "document.h"

#include <QComboBox>
#include <QTextBrowser>
#include <QTreeWidget>

namespace rpcrdma::gui {

class FindingsView : public QWidget {
  Q_OBJECT

 public:
  explicit FindingsView(Document& document, QWidget* parent = nullptr);

  enum class By : std::uint8_t { kSeverity, kRule, kPeer };
  void set_grouping(By by);
  [[nodiscard]] QTreeWidget& tree() { return *tree_; }
  // The next place of evidence of what is chosen, or the one before.
  void jump(int by);

 private:
  void update_list();
  void show_current();
  void select_of(quint64 message);

  Document& document_;
  QComboBox* grouping_;
  QTreeWidget* tree_;
  QTextBrowser* text_;
  std::vector<index::FoundKind> kinds_;
  std::vector<std::size_t> at_;  // which place of each was jumped to, plus one
  std::uint64_t shown_total_ = 0;
};

}  // namespace rpcrdma::gui
