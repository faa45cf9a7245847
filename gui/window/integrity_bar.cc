#include "integrity_bar.h"

#include "colours.h"

#include <rpcrdma/capture/unread.h>
#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/report/context.h>
#include <rpcrdma/rules/capture_quality.h>

namespace rpcrdma::gui {

IntegrityBar::IntegrityBar(Document& document, QWidget* parent)
    : QToolButton(parent), document_(document) {
  setAutoRaise(true);
  setAccessibleName(tr("Capture quality"));
  connect(&document_, &Document::changed, this, &IntegrityBar::update_text);
  connect(&document_, &Document::reset, this, &IntegrityBar::update_text);
  update_text();
}

IntegrityBar::Words IntegrityBar::words(const index::Content& content, bool live) {
  const index::Integrity& i = content.integrity;
  Words w;
  QStringList full;
  if (i.events.any()) {
    const quint64 missing = i.events.lost + i.events.missing;
    w.line = tr("emitted %1 = received %2 + lost %3")
                 .arg(i.events.emitted + i.events.missing)
                 .arg(i.events.received)
                 .arg(missing);
    w.whole = missing == 0;
    full << tr("%1 events of %2 endpoints, by their latest counters: emitted %3 = received %4 + "
               "lost %5.")
                .arg(i.events.events)
                .arg(i.events.endpoints)
                .arg(i.events.emitted)
                .arg(i.events.received)
                .arg(i.events.lost);
    if (i.events.missing != 0) {
      full << tr("%1 more events are missing in the recording itself.").arg(i.events.missing);
    }
    if (i.events.malformed != 0) {
      full << tr("%1 frames do not hold a whole event.").arg(i.events.malformed);
      w.whole = false;
    }
    if (i.events.open_ends != 0) {
      full << tr("The recordings of %1 endpoints are truncated: up to their last second may be "
                 "missing.")
                  .arg(i.events.open_ends);
      w.line += tr(", truncated");
      w.whole = false;
    }
    if (i.events.unknown != 0) {
      full << tr("%1 events are of types newer than this program.").arg(i.events.unknown);
    }
    if (i.events.left_out != 0) {
      full << tr("This recording excludes some event types.");
    }
  } else {
    w.line = tr("%1 frames, %2 dropped").arg(i.frames).arg(i.dropped);
    full << tr("%1 frames; %2 dropped while capturing.").arg(i.frames).arg(i.dropped);
  }
  if (i.dropped != 0) w.whole = false;
  if (i.cut_short != 0) full << tr("%1 packets are truncated.").arg(i.cut_short);
  if (!i.unread.empty()) {
    full << tr("%1: not decoded.").arg(QString::fromStdString(capture::unread_text(i.unread)));
    w.whole = false;
  }
  if (!i.note.empty()) full << QString::fromStdString(i.note) + '.';
  const QString damage = !i.damage.empty()  ? QString::fromStdString(i.damage)
                         : i.file_cut_short ? tr("the file ends within a record")
                                            : QString();
  if (!damage.isEmpty()) {
    full << damage + '.';
    w.line += "; " + damage;
    w.whole = false;
  }
  if (content.report != nullptr && content.report->capture.packets.icrc_bad != 0) {
    const roce::PacketStats& packets = content.report->capture.packets;
    const QString wrong =
        tr("%1 of %2 ICRCs wrong").arg(packets.icrc_bad).arg(packets.icrc_bad + packets.icrc_good);
    full << wrong + '.';
    w.line += "; " + wrong;
    w.whole = false;
  }
  if (const quint64 kept = content.progress.buffer_bytes; kept != 0 && live) {
    const auto bytes = [](quint64 n) { return QString::fromStdString(report::format_bytes(n)); };
    const index::Progress& p = content.progress;
    const QString size = p.buffer_limit == 0
                             ? tr("buffer %1").arg(bytes(kept))
                             : tr("buffer %1 of %2").arg(bytes(kept), bytes(p.buffer_limit));
    if (p.gap.first_frame != 0) {
      full << tr("Frames %L1 to %L2 are no longer in the buffer: the contents of their messages "
                 "cannot be shown or saved.")
                  .arg(p.gap.first_frame)
                  .arg(p.gap.last_frame);
    }
    full << tr("What is live is kept in an unnamed file in /var/tmp: %1.").arg(size);
    w.line += "; " + size;
  }
  quint64 lost = 0;
  for (const index::ConnectionInfo& c : content.connections) {
    if (!c.recorded) lost += c.lost;
  }
  if (lost != 0) {
    full << tr("%1 packets that their receiver acknowledged are missing from the capture.")
                .arg(lost);
    w.line += tr(", %1 lost by the capture").arg(lost);
    w.whole = false;
  }
  if (i.finished) {
    if (i.capture_gaps.silent.amount != 0) {
      full << tr("Only the set-up of %1 connections was captured: the data bypass this point.")
                  .arg(i.capture_gaps.silent.amount);
      w.whole = false;
    }
    if (i.capture_gaps.one_sided.amount != 0) {
      full << tr("Only one direction of %1 connections was captured.")
                  .arg(i.capture_gaps.one_sided.amount);
      w.whole = false;
    }
    if (i.capture_gaps.begun_before.amount != 0) {
      full << tr("%1 connections started before the capture (mid-stream start).")
                  .arg(i.capture_gaps.begun_before.amount);
    }
    if (i.capture_gaps.clock_steps_back.amount != 0) {
      full << tr("The clock steps back on %1 connections.")
                  .arg(i.capture_gaps.clock_steps_back.amount);
    }
  } else if (!live) {
    full << tr("The file is still loading.");
  }
  full << (w.whole ? tr("No finding depends on missing data.")
                   : tr("Checks that need the missing data are inconclusive, or marked."));
  w.full = full.join('\n');
  return w;
}

void IntegrityBar::update_text() {
  if (document_.is_empty()) {
    full_.clear();
    setText({});
    setToolTip({});
    return;
  }
  const Words w = document_.store().read(
      [this](const index::Content& c) { return words(c, document_.is_live()); });
  full_ = w.full;
  setText(one_line(w.line));
  setToolTip(tool_tip(full_));
  QPalette colours = parentWidget() != nullptr ? parentWidget()->palette() : palette();
  if (!w.whole) colours.setColor(QPalette::ButtonText, severity_colour(colours, 1));
  setPalette(colours);
}

}  // namespace rpcrdma::gui
