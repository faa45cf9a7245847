// Findings by rule, severity or the side at fault, with advice and links to the evidence.
#pragma once

#include "document.h"

#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QTextBrowser>
#include <QTreeWidget>

namespace rpcrdma::gui {

// Whether `a` is worse than `b`: by severity; a diagnosis, which says what went wrong, before other
// rules; by count.
[[nodiscard]] bool worse(const index::FoundKind& a, const index::FoundKind& b);

class FindingsView : public QWidget {
  Q_OBJECT

 public:
  explicit FindingsView(Document& document, QWidget* parent = nullptr);

  enum class By : std::uint8_t { kSeverity, kRule, kPeer };
  void set_grouping(By by);
  [[nodiscard]] QTreeWidget& tree() { return *tree_; }
  // The text beside the tree, as plain text.
  [[nodiscard]] QString shown_text() const { return text_->toPlainText(); }
  // "3 of 32": which evidence is selected.
  [[nodiscard]] QString step_text() const { return step_->text(); }
  // Selects the next (1) or previous (-1) evidence of the selected finding; without one, of the
  // worst finding.
  void jump(int by);
  // Selects the worst finding in the list; returns false without findings.
  bool select_worst();

 protected:
  void changeEvent(QEvent* event) override;

 private:
  // A kind of finding, and the times of its places; 0: not known.
  struct Listed {
    index::FoundKind kind;
    std::vector<std::int64_t> place_ns;
  };

  void update_list();
  [[nodiscard]] bool take_kinds();
  void build();
  [[nodiscard]] QTreeWidgetItem* item_of(std::size_t kind) const;
  QTreeWidgetItem* add_item(QTreeWidgetItem* group, std::size_t kind);
  void show_current();
  void show_kind(std::size_t kind);
  void show_group(const QTreeWidgetItem& group);
  void show_step();
  void select_of(quint64 message);
  [[nodiscard]] QString peer_of(const index::FoundKind& kind) const;
  [[nodiscard]] std::pair<QString, QString> times_of(const Listed& listed) const;
  [[nodiscard]] QString spans_of(const index::FoundKind& kind) const;

  Document& document_;
  QComboBox* grouping_;
  QTreeWidget* tree_;
  QTextBrowser* text_;
  QLabel* step_;
  QPushButton *previous_, *next_;
  std::vector<Listed> kinds_;
  std::vector<std::size_t> at_;    // for each, the last evidence selected, plus one
  std::uint64_t shown_state_ = 0;  // a digest of what is listed
  bool chosen_ = false;            // the current item was chosen, not only the first
};

}  // namespace rpcrdma::gui
