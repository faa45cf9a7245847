// The text of the live state, from the progress of loading and the endpoints' ends.
#include "live_state.h"

#include "colours.h"

#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/report/context.h>

namespace rpcrdma::gui {

namespace {

// Returns "12:00:00 UTC", the format of event times.
QString clock(std::int64_t ns) {
  return QString::fromStdString(report::format_clock(ns).substr(0, 8)) + " UTC";
}

QString ended_text(const index::LiveEndpoint& e) {
  constexpr qsizetype kLongestName = 64;
  QString name = QString::fromStdString(e.name);
  if (name.size() > kLongestName) name = name.left(kLongestName) + "...";
  QString text = LiveState::tr("endpoint %1 ended").arg(name);
  if (!e.in_order) text += LiveState::tr(" without closing (killed?)");
  if (!e.why.empty()) text += ": " + QString::fromStdString(e.why);
  return text;
}

}  // namespace

LiveState::LiveState(Document& document, QWidget* parent) : QLabel(parent), document_(document) {
  setTextFormat(Qt::PlainText);
  setAccessibleName(tr("Live or ended"));
  setMinimumWidth(1);  // a long text must not widen the window
  connect(&document_, &Document::changed, this, &LiveState::update_text);
  connect(&document_, &Document::reset, this, &LiveState::update_text);
  update_text();
}

LiveState::Words LiveState::words(const index::Content& content, bool live) {
  Words w;
  if (!live) return w;
  constexpr std::size_t kNamed = 2;  // endpoints that are named; the others are counted
  const index::Progress& p = content.progress;
  QStringList ended;
  std::size_t more = 0;
  for (const index::LiveEndpoint& e : content.endpoints) {
    if (!e.ended) continue;
    w.whole = w.whole && e.in_order;
    if (ended.size() == kNamed) {
      ++more;
    } else {
      const bool is_only = p.finished && content.endpoints.size() == 1;
      ended << (is_only ? QString() : clock(e.ended_ns) + ": ") + ended_text(e);
    }
  }
  if (more != 0) ended << tr("%1 more ended").arg(more);
  w.live = !p.finished;
  w.title = w.live ? tr("LIVE") : p.cancelled ? tr("stopped") : tr("ended");
  w.line = w.live ? w.title : tr("%1 %2").arg(w.title, clock(p.finished_ns));
  if (!ended.isEmpty()) w.line += (w.live ? "; " : ": ") + ended.join("; ");
  w.line = one_line(w.line);
  return w;
}

void LiveState::update_text() {
  shown_ = document_.is_empty() ? Words{} : document_.store().read([this](const index::Content& c) {
    return words(c, document_.is_live());
  });
  setText(shown_.line);
  setToolTip(tool_tip(shown_.line));
  setVisible(!shown_.line.isEmpty());
  QPalette colours = parentWidget() != nullptr ? parentWidget()->palette() : palette();
  if (!shown_.whole) {
    colours.setColor(QPalette::WindowText, severity_colour(colours, 1));
  } else if (shown_.live) {
    colours.setColor(QPalette::WindowText, text_ink(colours, Ink::kGranted));
  }
  setPalette(colours);
  Q_EMIT changed();
}

}  // namespace rpcrdma::gui
