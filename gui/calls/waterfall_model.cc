// Joins what the messages, the RDMA operations and both endpoints' measurements of one Call show.
// They are of the same Call if they have its connection and XID.
#include "waterfall_model.h"

#include <QCoreApplication>
#include <algorithm>
#include <cstdlib>

#include <rpcrdma/base/quantity.h>
#include <rpcrdma/model/model.h>

namespace rpcrdma::gui {

namespace {

using Kind = WaterfallBar::Kind;
using index::Excerpt;

constexpr std::size_t kMostOperations = 200;
constexpr std::int64_t kSameCallNs = 3'600'000'000'000;  // XIDs repeat; times come from files
constexpr std::uint32_t kPsns = 1U << 24U;

QString tr(const char* text) {
  return QCoreApplication::translate("rpcrdma::gui::Waterfall", text);
}

QString length_text(std::int64_t ns) {
  return QString::fromStdString(base::format_duration(ns));
}

QString bytes_of(std::uint64_t bytes) {
  return QString::fromStdString(base::format_bytes(bytes));
}

bool has_psn(const model::Message& m, std::uint32_t psn) {
  if (!m.psn_known) return false;
  return (psn - m.first_psn) % kPsns <= (m.psn - m.first_psn) % kPsns;
}

// Times come from files. Those of one Call are near each other.
bool plausible(const Excerpt::Measured& m, std::int64_t near_ns) {
  for (const std::int64_t ns : {m.called_ns, m.sent_ns, m.replied_ns, m.ended_ns}) {
    if (ns != 0 && (ns < 0 || std::abs(ns - near_ns) > kSameCallNs)) return false;
  }
  return true;
}

class Drawing {
 public:
  Drawing(const Excerpt& excerpt, const Excerpt::Message& selected, const QString& request)
      : excerpt_(excerpt), selected_(selected), request_(request) {}

  WaterfallPicture take() {
    call_ = selected_.call.get();
    if (call_ == nullptr) {
      picture_.notes << tr("The message belongs to no Call, or its Call was not seen.");
      return std::move(picture_);
    }
    for (const Excerpt::Message& m : excerpt_.messages) {
      if (m.call.get() != call_) continue;
      if (m.message.kind == model::Kind::kCall) picture_.call = m.id;
      if (m.message.kind == model::Kind::kReply || m.message.kind == model::Kind::kError) {
        answer_ = &m;
      }
    }
    requester_lane_ = selected_.reverse ? WaterfallLane::kServer : WaterfallLane::kClient;
    responder_lane_ = selected_.reverse ? WaterfallLane::kClient : WaterfallLane::kServer;
    asks_ = measured(true);
    works_ = measured(false);
    compare_clocks();
    requester();
    wire();
    responder();
    bound();
    return std::move(picture_);
  }

 private:
  [[nodiscard]] const model::Message& sent() const { return call_->message; }

  [[nodiscard]] const Excerpt::Measured* measured(bool requester) const {
    const Excerpt::Measured* nearest = nullptr;
    std::int64_t least = kSameCallNs;
    for (const Excerpt::Measured& m : excerpt_.measured) {
      if (m.xid != sent().xid || m.requester != requester) continue;
      if (m.connection != 0 && m.connection != selected_.connection) continue;
      const std::int64_t at = requester && m.sent_ns != 0 ? m.sent_ns : m.called_ns;
      if (at <= 0 || sent().time_ns <= 0 || !plausible(m, sent().time_ns)) continue;
      const std::int64_t apart = std::abs(at - sent().time_ns);
      if (apart >= least) continue;
      least = apart;
      nearest = &m;
    }
    return nearest;
  }

  // A time of the responder, by the clock of the requester.
  [[nodiscard]] std::int64_t at_responder(std::int64_t ns) const { return ns - shift_; }

  void compare_clocks() {
    if (asks_ == nullptr || works_ == nullptr) return;
    const auto clock = call_clock(*asks_, *works_);
    const QString server = selected_.reverse ? tr("the client's clock") : tr("the server's clock");
    if (!clock) {
      picture_.notes
          << tr("The times of both ends contradict each other: %1 is not comparable.").arg(server);
      return;
    }
    if (std::abs(clock->ns) <= clock->bound_ns) {
      picture_.notes << tr("Both clocks agree within %1, by this Call.")
                            .arg(length_text(std::abs(clock->ns) + clock->bound_ns));
      return;
    }
    shift_ = clock->ns;
    picture_.notes << tr("By this Call, %1 is %2%3 ± %4 off; its bars are moved by that.")
                          .arg(server, clock->ns > 0 ? "+" : "-", length_text(std::abs(clock->ns)),
                               length_text(clock->bound_ns));
  }

  WaterfallBar& add(Kind kind, WaterfallLane lane, std::int64_t from, std::int64_t to,
                    const QString& name) {
    WaterfallBar& bar = picture_.bars.emplace_back();
    bar.kind = kind;
    bar.lane = lane;
    bar.from_ns = from;
    bar.to_ns = std::max(from, to);
    bar.label = bar.to_ns > from ? name + " " + length_text(bar.to_ns - from) : name;
    bar.message = picture_.call;
    return bar;
  }

  void requester() {
    const std::int64_t answered = answer_ != nullptr ? answer_->message.time_ns : 0;
    const std::uint64_t answer = answer_ != nullptr ? answer_->id : 0;
    if (asks_ == nullptr) {
      picture_.notes << (selected_.reverse
                             ? tr("The server's own part is not visible in this source.")
                             : tr("The client's own part (waiting, completion) is not visible in "
                                  "this source."));
      if (answered >= sent().time_ns && answered != 0) {
        add(Kind::kResponse, requester_lane_, sent().time_ns, answered, tr("until the Reply"));
      }
      return;
    }
    const Excerpt::Measured& m = *asks_;
    if (m.called_ns > 0 && m.sent_ns >= m.called_ns) before_sent(m);
    if (m.sent_ns > 0 && m.replied_ns >= m.sent_ns) {
      add(Kind::kResponse, requester_lane_, m.sent_ns, m.replied_ns, tr("until the Reply"));
    }
    if (m.replied_ns > 0 && m.ended_ns >= m.replied_ns) {
      WaterfallBar& bar =
          add(Kind::kCompletion, requester_lane_, m.replied_ns, m.ended_ns, tr("completion"));
      bar.detail = tr("Until nothing of it is in flight and its caller continues");
      bar.message = answer;
    }
  }

  void before_sent(const Excerpt::Measured& m) {
    std::int64_t at = m.called_ns;
    if (m.slot_wait > 0 && m.slot_wait <= m.sent_ns - at) {
      add(Kind::kWaiting, requester_lane_, at, at + m.slot_wait, tr("waiting for a slot"));
      at += m.slot_wait;
    }
    if (m.credit_from_ns >= at && m.credit_to_ns >= m.credit_from_ns &&
        m.credit_to_ns <= m.sent_ns) {
      if (m.credit_from_ns > at) sending(m, at, m.credit_from_ns);
      add(Kind::kWaiting, requester_lane_, m.credit_from_ns, m.credit_to_ns,
          tr("waiting for a credit"));
      at = m.credit_to_ns;
    } else if (m.credit_wait > 0 && m.credit_wait <= m.sent_ns - at) {
      add(Kind::kWaiting, requester_lane_, at, at + m.credit_wait, tr("waiting for a credit"));
      at += m.credit_wait;
    }
    sending(m, at, m.sent_ns);
  }

  void sending(const Excerpt::Measured& m, std::int64_t from, std::int64_t to) {
    WaterfallBar& bar = add(Kind::kSending, requester_lane_, from, to, tr("sending"));
    QStringList lines;
    if (m.marshal >= 0) {
      lines << tr("encoding and registration %1").arg(length_text(m.marshal));
    }
    if (m.post >= 0) lines << tr("posting %1").arg(length_text(m.post));
    bar.detail = lines.join('\n');
  }

  void wire() {
    const model::Message& call = sent();
    std::int64_t from = call.first_ns > 0 ? std::min(call.first_ns, call.time_ns) : call.time_ns;
    std::int64_t to = call.time_ns;
    QString detail = tr("Send of %1, frame %2").arg(bytes_of(call.wire_length)).arg(call.frame);
    if (asks_ != nullptr && works_ != nullptr && asks_->sent_ns > 0 && works_->called_ns > 0) {
      from = asks_->sent_ns;
      to = at_responder(works_->called_ns);
      detail += '\n' + tr("From its Send to its arrival at the peer");
    } else if (call_->acknowledged_after_ns >= 0 && call_->acknowledged_after_ns < kSameCallNs) {
      to = call.time_ns + call_->acknowledged_after_ns;
      detail += '\n' + tr("Acknowledged after %1").arg(length_text(call_->acknowledged_after_ns));
    }
    WaterfallBar& first = add(Kind::kCall, WaterfallLane::kWire, from, to, tr("Call"));
    first.frame = call.frame;
    first.detail = detail;
    sent_again(call, selected_.reverse ? 1 : 0, picture_.call, tr("Call"));
    operations();
    if (answer_ == nullptr) {
      picture_.notes << tr("No Reply was seen.");
      return;
    }
    const model::Message& reply = answer_->message;
    from = reply.first_ns > 0 ? std::min(reply.first_ns, reply.time_ns) : reply.time_ns;
    to = reply.time_ns;
    if (asks_ != nullptr && works_ != nullptr && asks_->replied_ns > 0 && works_->replied_ns > 0) {
      from = at_responder(works_->replied_ns);
      to = asks_->replied_ns;
    }
    const bool error = reply.kind == model::Kind::kError;
    WaterfallBar& last = add(error ? Kind::kError : Kind::kReply, WaterfallLane::kWire, from, to,
                             error ? tr("RDMA_ERROR") : tr("Reply"));
    last.message = answer_->id;
    last.frame = reply.frame;
    last.detail = tr("Send of %1, frame %2").arg(bytes_of(reply.wire_length)).arg(reply.frame);
    sent_again(reply, selected_.reverse ? 0 : 1, answer_->id, tr("Reply"));
  }

  void operations() {
    std::size_t shown = 0;
    for (const model::ChunkOperation& o : call_->operations) {
      if (++shown > kMostOperations) break;
      const bool read = o.kind == roce::OpKind::kRead;
      const QString name =
          (read ? tr("RDMA Read %1") : tr("RDMA Write %1")).arg(bytes_of(o.length));
      WaterfallBar& bar =
          add(read ? Kind::kRead : Kind::kWrite, WaterfallLane::kWire, o.first_ns, o.last_ns, name);
      bar.frame = o.last_frame;
      bar.message = 0;
      bar.detail = tr("%1 chunk, handle 0x%2, frames %3 to %4")
                       .arg(QString(model::chunk_list_name(o.list)))
                       .arg(o.handle, 8, 16, QChar('0'))
                       .arg(o.first_frame)
                       .arg(o.last_frame);
      if (!o.complete) bar.detail += '\n' + tr("Part of it is missing from the source");
      for (const Excerpt::Event& e : excerpt_.events) {
        if (e.kind != Excerpt::Event::Kind::kSentAgain || e.frame < o.first_frame ||
            e.frame > o.last_frame || e.connection != selected_.connection) {
          continue;
        }
        gap(o.first_ns, e, name);
        break;
      }
    }
    if (call_->operations_total > std::min(kMostOperations, call_->operations.size())) {
      picture_.notes << tr("Of %L1 RDMA operations the first %L2 are drawn.")
                            .arg(call_->operations_total)
                            .arg(std::min(kMostOperations, call_->operations.size()));
    }
  }

  void sent_again(const model::Message& m, int sender, std::uint64_t id, const QString& what) {
    for (const Excerpt::Event& e : excerpt_.events) {
      if (e.kind != Excerpt::Event::Kind::kSentAgain || e.sender != sender ||
          e.connection != selected_.connection || !has_psn(m, e.psn)) {
        continue;
      }
      gap(std::min(m.first_ns > 0 ? m.first_ns : m.time_ns, m.time_ns), e, what);
      picture_.bars.back().message = id;
      return;
    }
  }

  void gap(std::int64_t from, const Excerpt::Event& e, const QString& what) {
    const std::int64_t begin = std::min(from, e.from_ns);
    WaterfallBar& bar = add(Kind::kGap, WaterfallLane::kWire, begin, e.from_ns,
                            tr("%1 sent again after").arg(what));
    bar.frame = e.frame;
    bar.detail = QString::fromStdString(e.text);
  }

  void responder() {
    if (works_ == nullptr) {
      picture_.notes << (selected_.reverse
                             ? tr("The client's part is not visible in this source.")
                             : tr("The server's part is not visible in this source."));
      return;
    }
    const Excerpt::Measured& m = *works_;
    const std::uint64_t answer = answer_ != nullptr ? answer_->id : 0;
    const bool read = m.called_ns > 0 && m.sent_ns > m.called_ns;
    if (read) {
      add(Kind::kWaiting, responder_lane_, at_responder(m.called_ns), at_responder(m.sent_ns),
          tr("reading Read chunks"));
    }
    const std::int64_t begun = m.sent_ns > 0 ? m.sent_ns : m.called_ns;
    if (begun > 0 && m.replied_ns >= begun) {
      WaterfallBar& bar =
          add(Kind::kWork, responder_lane_, at_responder(begun), at_responder(m.replied_ns),
              selected_.reverse ? tr("in the client") : tr("in the server"));
      bar.detail = tr("Until it sent the Reply, its RDMA Writes included");
    }
    if (m.replied_ns > 0 && m.ended_ns > m.replied_ns) {
      add(Kind::kCompletion, responder_lane_, at_responder(m.replied_ns), at_responder(m.ended_ns),
          tr("completion"))
          .message = answer;
    }
  }

  void bound() {
    if (excerpt_.cut) picture_.notes << tr("The Call is too long to be shown in full.");
    std::stable_sort(picture_.bars.begin(), picture_.bars.end(),
                     [](const WaterfallBar& a, const WaterfallBar& b) {
                       return a.lane != b.lane ? a.lane < b.lane : a.from_ns < b.from_ns;
                     });
    bool any = false;
    for (const WaterfallBar& bar : picture_.bars) {
      picture_.from_ns = any ? std::min(picture_.from_ns, bar.from_ns) : bar.from_ns;
      picture_.to_ns = any ? std::max(picture_.to_ns, bar.to_ns) : bar.to_ns;
      any = true;
    }
    QStringList parts;
    if (!request_.isEmpty()) parts << request_;
    parts << QString("XID 0x%1").arg(sent().xid, 8, 16, QChar('0'));
    if (answer_ != nullptr && answer_->message.latency_ns >= 0) {
      parts << length_text(answer_->message.latency_ns);
    }
    picture_.title = parts.join(", ");
  }

  const Excerpt& excerpt_;
  const Excerpt::Message& selected_;
  QString request_;
  const model::Call* call_ = nullptr;
  const Excerpt::Message* answer_ = nullptr;
  const Excerpt::Measured* asks_ = nullptr;
  const Excerpt::Measured* works_ = nullptr;
  WaterfallLane requester_lane_ = WaterfallLane::kClient;
  WaterfallLane responder_lane_ = WaterfallLane::kServer;
  std::int64_t shift_ = 0;
  WaterfallPicture picture_;
};

}  // namespace

std::optional<CallClock> call_clock(const index::Excerpt::Measured& requester,
                                    const index::Excerpt::Measured& responder) {
  if (requester.sent_ns <= 0 || requester.replied_ns <= 0 || responder.called_ns <= 0 ||
      responder.replied_ns <= 0) {
    return std::nullopt;
  }
  const std::int64_t most = responder.called_ns - requester.sent_ns;
  const std::int64_t least = responder.replied_ns - requester.replied_ns;
  if (least > most || most - least > kSameCallNs) return std::nullopt;
  const std::int64_t bound = (most - least + 1) / 2;
  return CallClock{least + (most - least) / 2, bound};
}

WaterfallPicture waterfall_of(const index::Excerpt& excerpt, std::uint64_t id,
                              const QString& request) {
  const Excerpt::Message* const m = excerpt.find(id);
  if (m == nullptr) return {};
  return Drawing(excerpt, *m, request).take();
}

}  // namespace rpcrdma::gui
