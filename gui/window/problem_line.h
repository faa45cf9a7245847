// Says that something is wrong wherever the user looks: a line in the status bar, the title of the
// view of findings, and the tab of the overview. Selects the worst finding of a file that was
// opened.
#pragma once

#include "document.h"

#include <QToolButton>

class QDockWidget;
class QTabWidget;

namespace rpcrdma::gui {

class ProblemLine : public QToolButton {
  Q_OBJECT

 public:
  // Both outlive it.
  ProblemLine(Document& document, QDockWidget& findings, QTabWidget& workspaces,
              QWidget* parent = nullptr);

  struct Words {
    int severity = -1;  // the worst: rules::Severity; -1: no findings
    QString title;      // "Findings: 1 error, 2 warnings"
    QString line;       // "1 warning: Packets are lost"; empty without error or warning
    QString full;       // with the finding's text
    std::uint64_t message = 0, frame = 0;  // the first evidence of the worst finding; 0: none
  };
  [[nodiscard]] static Words words(const index::Content& content);

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void update_words();
  void show_words();
  void select_first();

  Document& document_;
  QDockWidget& findings_;
  QTabWidget& workspaces_;
  Words shown_;
};

}  // namespace rpcrdma::gui
