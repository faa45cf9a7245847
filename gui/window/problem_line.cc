#include "problem_line.h"

#include "findings_view.h"
#include "overview_model.h"
#include "signs.h"

#include <QDockWidget>
#include <QEvent>
#include <QMainWindow>
#include <QTabBar>
#include <QTabWidget>
#include <algorithm>

#include <rpcrdma/gui_text/plain_text.h>

namespace rpcrdma::gui {

namespace {

QString counted(std::uint64_t n, int severity) {
  switch (severity) {
    case 0:
      return n == 1 ? ProblemLine::tr("1 error") : ProblemLine::tr("%L1 errors").arg(n);
    case 1:
      return n == 1 ? ProblemLine::tr("1 warning") : ProblemLine::tr("%L1 warnings").arg(n);
    default:
      return n == 1 ? ProblemLine::tr("1 note") : ProblemLine::tr("%L1 notes").arg(n);
  }
}

}  // namespace

ProblemLine::ProblemLine(Document& document, QDockWidget& findings, QTabWidget& workspaces,
                         QWidget* parent)
    : QToolButton(parent), document_(document), findings_(findings), workspaces_(workspaces) {
  setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
  setFocusPolicy(Qt::TabFocus);
  setAccessibleName(tr("Worst finding"));
  connect(&document_, &Document::changed, this, &ProblemLine::update_words);
  connect(&document_, &Document::reset, this, &ProblemLine::update_words);
  connect(&document_, &Document::finished, this, &ProblemLine::select_first);
  // Tabs of docks are made again when docks move.
  connect(&findings_, &QDockWidget::visibilityChanged, this, &ProblemLine::show_words);
  update_words();
}

ProblemLine::Words ProblemLine::words(const index::Content& c) {
  Words w;
  const auto worst_at = std::max_element(
      c.kinds.begin(), c.kinds.end(),
      [](const index::FoundKind& a, const index::FoundKind& b) { return worse(b, a); });
  const index::FoundKind* const worst = worst_at == c.kinds.end() ? nullptr : &*worst_at;
  if (worst == nullptr) {
    w.title = tr("Findings");
    return w;
  }
  w.severity = static_cast<int>(worst->severity);
  QStringList counts;
  for (int s = 0; s < 3; ++s) {
    const std::uint64_t n = c.found_total[static_cast<std::size_t>(s)];
    // Notes are no problem: they are counted where nothing else is.
    if (n != 0 && (s < 2 || counts.isEmpty())) counts << counted(n, s);
  }
  w.title = tr("Findings: %1").arg(counts.join(", "));
  for (const index::FoundKind::Place& place : worst->places) {
    if (place.message == 0) continue;
    w.message = place.message;
    break;
  }
  if (!worst->places.empty()) w.frame = worst->places.front().frame;
  if (w.severity > 1) return w;
  const bool one = c.found_total[0] + c.found_total[1] == 1;
  w.line = (one ? tr("%1: %2") : tr("%1, the worst: %2"))
               .arg(counts.join(", "), rule_title(worst->rule->name));
  w.full = tr("%1 (%2): %3").arg(w.line, worst->rule->name, QString::fromStdString(worst->text));
  return w;
}

void ProblemLine::update_words() {
  Words now = document_.store().read([](const index::Content& c) { return words(c); });
  if (now.title == shown_.title && now.line == shown_.line && now.full == shown_.full) return;
  shown_ = std::move(now);
  show_words();
}

void ProblemLine::show_words() {
  const bool problem = shown_.severity == 0 || shown_.severity == 1;
  const QIcon icon =
      shown_.severity < 0
          ? QIcon()
          : sign_icon(palette(), sign_of(static_cast<rules::Severity>(shown_.severity)));
  const QIcon alarm = problem ? icon : QIcon();
  setVisible(problem);
  if (problem) {
    const QString line = fontMetrics().elidedText(one_line(shown_.line), Qt::ElideRight,
                                                  fontMetrics().averageCharWidth() * 64);
    setIcon(icon);
    setText(menu_text(line));
    setToolTip(tool_tip(tr("%1\nShows the findings").arg(shown_.full)));
    setAccessibleName(tr("%1. Shows the findings").arg(one_line(shown_.line)));
  }
  findings_.setWindowTitle(menu_text(shown_.title.isEmpty() ? tr("Findings") : shown_.title));
  if (const auto* const window = qobject_cast<const QMainWindow*>(findings_.parent())) {
    for (QTabBar* const bar :
         window->findChildren<QTabBar*>(QString(), Qt::FindDirectChildrenOnly)) {
      for (int i = 0; i < bar->count(); ++i) {
        if (bar->tabText(i) == findings_.windowTitle()) bar->setTabIcon(i, icon);
      }
    }
  }
  for (int i = 0; i < workspaces_.count(); ++i) {
    if (workspaces_.widget(i)->objectName() == "overview") workspaces_.setTabIcon(i, alarm);
  }
}

// Never takes a selection from the user, and a live view follows its end.
void ProblemLine::select_first() {
  if (document_.is_live() || document_.selected() != 0) return;
  update_words();
  if (shown_.severity == 0 || shown_.severity == 1) {
    if (shown_.message != 0) return document_.select_message(shown_.message);
    if (shown_.frame != 0) return document_.select_frame(shown_.frame);
  }
  document_.select_message(1);
}

void ProblemLine::changeEvent(QEvent* event) {
  QToolButton::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) show_words();
}

}  // namespace rpcrdma::gui
