// The contents of the help window, taken from what the program itself uses, so that they agree.
#pragma once

#include <QString>
#include <QStringList>
#include <vector>

class QMainWindow;

namespace rpcrdma::gui {

struct HelpRow {
  QStringList cells;  // one for each column of its topic
  QString detail;     // the whole text, for the row that is chosen
  QString filter;     // a display filter that the row stands for; empty: none
};

// Group, action, keys: every action of the window that has a shortcut.
[[nodiscard]] std::vector<HelpRow> key_rows(const QMainWindow& window);
// Filter, type, meaning: examples, operators, and the fields that filters know.
[[nodiscard]] std::vector<HelpRow> filter_rows();
// Rule, severity, sentence.
[[nodiscard]] std::vector<HelpRow> rule_rows();
[[nodiscard]] QString about_text();

}  // namespace rpcrdma::gui
