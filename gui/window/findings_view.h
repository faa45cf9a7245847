// Findings by rule, severity or the side at fault, with advice and links to the evidence.
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
  // Selects the next (1) or previous (-1) evidence of the selected finding.
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
  std::vector<std::size_t> at_;  // for each, the last evidence selected, plus one
  std::uint64_t shown_total_ = 0;
};

}  // namespace rpcrdma::gui
