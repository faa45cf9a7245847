#include "ends_words.h"

#include <QCoreApplication>
#include <QStringList>
#include <algorithm>
#include <cmath>
#include <vector>

#include <rpcrdma/base/quantity.h>
#include <rpcrdma/gui_text/plain_text.h>

namespace rpcrdma::gui {

namespace {

QString say(const char* text) {
  return QCoreApplication::translate("rpcrdma::gui::Ends", text);
}

QString signed_duration(std::int64_t ns) {
  const QString size = duration_text(ns < 0 ? -ns : ns);
  return (ns < 0 ? QStringLiteral("-") : QStringLiteral("+")) + size;
}

}  // namespace

QString side_name(ends::Side side) {
  switch (side) {
    case ends::Side::kClient:
      return say(QT_TRANSLATE_NOOP("rpcrdma::gui::Ends", "client"));
    case ends::Side::kNetwork:
      return say(QT_TRANSLATE_NOOP("rpcrdma::gui::Ends", "network"));
    case ends::Side::kServer:
      return say(QT_TRANSLATE_NOOP("rpcrdma::gui::Ends", "server"));
    case ends::Side::kInconclusive:
      return say(QT_TRANSLATE_NOOP("rpcrdma::gui::Ends", "not clear"));
    case ends::Side::kNone:
      break;
  }
  return QStringLiteral("-");
}

Ink side_ink(ends::Side side) {
  switch (side) {
    case ends::Side::kClient:
      return Ink::kCall;
    case ends::Side::kNetwork:
      return Ink::kWaiting;
    case ends::Side::kServer:
      return Ink::kReply;
    case ends::Side::kInconclusive:
    case ends::Side::kNone:
      break;
  }
  return Ink::kEvent;
}

bool is_waiting(ends::Stage stage) {
  return stage == ends::Stage::kSlot || stage == ends::Stage::kCredit;
}

QColor stage_colour(const QPalette& palette, ends::Stage stage) {
  const QColor full = ink(palette, side_ink(ends::side_of(stage)));
  switch (stage) {
    case ends::Stage::kSlot:
    case ends::Stage::kCredit:
      return tint(palette, full, 0.3);
    case ends::Stage::kDecode:
    case ends::Stage::kSend:
    case ends::Stage::kWake:
      return tint(palette, full, 0.55);
    case ends::Stage::kRead:
    case ends::Stage::kWrite:
      return tint(palette, full, 0.75);
    case ends::Stage::kPost:
    case ends::Stage::kNetworkThere:
    case ends::Stage::kExecute:
    case ends::Stage::kNetworkBack:
      break;
  }
  return full;
}

QString stage_name(ends::Stage stage) {
  return say(ends::stage_text(stage));
}

QString duration_text(std::int64_t ns) {
  return QString::fromStdString(base::format_duration(ns));
}

QString stage_line(const ends::EndsCall& call, std::size_t index) {
  const auto stage = static_cast<ends::Stage>(index);
  const std::int64_t took = call.took_ns[index];
  const QString name = stage_name(stage) + " (" + side_name(ends::side_of(stage)) + ")";
  if (took == ends::kUnknownNs) return name + ": " + say("not known");
  if (took == 0) return name + ": " + say("did not happen");
  QString text = name + ": " + duration_text(took);
  if (call.began_ns[index] != ends::kUnknownNs && call.began_ns[index] >= call.begin_ns) {
    text +=
        QString(", %1 %2").arg(say("from"), signed_duration(call.began_ns[index] - call.begin_ns));
  }
  const bool crosses = stage == ends::Stage::kNetworkThere || stage == ends::Stage::kNetworkBack;
  if (crosses && call.bound_ns != ends::kUnknownNs) {
    text += QString(" (\u00b1%1)").arg(duration_text(call.bound_ns));
  }
  return text;
}

QString call_name(const ends::EndsCall& call) {
  return QString("%1, XID 0x%2")
      .arg(one_line(QString::fromStdString(call.name)))
      .arg(call.xid, 8, 16, QChar('0'));
}

QString call_text(const ends::EndsCall& call) {
  QStringList lines{call_name(call) + ": " + duration_text(call.end_ns - call.begin_ns)};
  if (call.reverse) lines << say("a Call of the server to the client");
  if (call.side != ends::Side::kNone) lines << say("Side: ") + side_name(call.side);
  for (std::size_t i = 0; i < ends::kStages; ++i) {
    if (call.took_ns[i] != 0) lines << stage_line(call, i);
  }
  if (call.unknown_ns > 0) {
    lines << say("in no known stage (hatched): ") + duration_text(call.unknown_ns);
  }
  if (call.bound_ns == ends::kUnknownNs) {
    lines << say("The clocks have no bound here: times of the network are estimates.");
  }
  if (call.contradictory) lines << say("The sources contradict each other about this Call.");
  return lines.join('\n');
}

QString call_sentence(const ends::EndsCall& call) {
  QString text = call_name(call) + ": " + duration_text(call.end_ns - call.begin_ns);
  if (call.side == ends::Side::kInconclusive) {
    text += say("; the side is not clear");
  } else if (call.side != ends::Side::kNone) {
    text += "; " + side_name(call.side) + " (" + stage_name(call.stage) + ")";
  }
  // The longest stages say most.
  std::vector<std::size_t> known;
  for (std::size_t i = 0; i < ends::kStages; ++i) {
    if (call.took_ns[i] > 0) known.push_back(i);
  }
  std::stable_sort(known.begin(), known.end(), [&call](std::size_t a, std::size_t b) {
    return call.took_ns[a] > call.took_ns[b];
  });
  constexpr std::size_t kNamed = 3;
  if (known.size() > kNamed) known.resize(kNamed);
  const char* before = ": ";
  for (const std::size_t i : known) {
    text += before + stage_name(static_cast<ends::Stage>(i)) + ' ' + duration_text(call.took_ns[i]);
    before = ", ";
  }
  if (call.unknown_ns > 0) {
    text += QString(before) + duration_text(call.unknown_ns) + say(" not known");
  }
  if (call.contradictory) text += say("; the sources contradict each other");
  return text;
}

QString source_text(const ends::Source& source) {
  QStringList facts;
  if (source.reference) {
    facts << say("its clock is the reference");
  } else if (source.clock.stretches.empty()) {
    facts << say("its clock is not aligned");
  } else {
    const ends::ClockStretch& first = source.clock.stretches.front();
    facts << say("clock ") + signed_duration(first.offset_ns);
    double drift = 0;
    for (const ends::ClockStretch& s : source.clock.stretches) {
      if (std::abs(s.drift_ppm) > std::abs(drift)) drift = s.drift_ppm;
    }
    if (std::abs(drift) >= 0.05) facts << say("drift %1 ppm").arg(drift, 0, 'f', 1);
    const auto bound = source.clock.worst_bound_ns();
    facts << (bound ? say("wrong by at most %1").arg(duration_text(*bound))
                    : say("no bound: messages of one direction only"));
    if (source.clock.jumps != 0) facts << say("%1 jumps").arg(source.clock.jumps);
    if (source.clock.contradictions != 0) {
      facts << say("%1 messages contradict it").arg(source.clock.contradictions);
    }
  }
  facts << say("%1 of %2 Calls joined").arg(source.joined).arg(source.calls);
  if (source.lost != 0) facts << say("%1 events or packets lost").arg(source.lost);
  return one_line(QString::fromStdString(source.file)) + ": " + facts.join(", ");
}

}  // namespace rpcrdma::gui
