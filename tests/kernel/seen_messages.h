// The messages of a capture or trace, as the model sees them, and what a trace does not know.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <rpcrdma/capture/source.h>
#include <rpcrdma/session/session.h>
#include <rpcrdma/trace/read.h>
#include <rpcrdma/wire/endian.h>

namespace rpcrdma::kernel_test {

struct SeenMessage {
  bool reply = false;
  std::uint32_t xid = 0;
  std::uint32_t credit = 0;
  std::uint32_t proc = 0;
  std::uint64_t length = 0;
  std::vector<wire::ReadSegment> reads;
  std::vector<wire::Segment> writes;
  std::vector<std::uint32_t> write_counts;
  std::vector<wire::Segment> reply_chunk;
  bool has_reply_chunk = false;
  bool has_invalidate = false;
  std::uint32_t invalidate = 0;
  std::int64_t time_ns = 0;
  model::RpcInfo rpc;
  std::uint16_t unknown = 0;  // trace::MessageUnknown

  [[nodiscard]] std::string id() const {
    return (reply ? "Reply " : "Call ") + std::to_string(xid);
  }
};

class SeenMessages final : public model::Observer, public trace_reader::Observer {
 public:
  // Reads the whole capture. `failure` stays empty if that succeeds.
  static SeenMessages read(const std::string& path) {
    SeenMessages seen;
    auto source = capture::open_file(path);
    if (!source) {
      seen.failure = source.error().message;
      return seen;
    }
    seen.read(**source);
    return seen;
  }

  void read(capture::Source& source) {
    session::Observers observers;
    observers.after_rules.push_back(this);
    observers.events.push_back(this);
    session::Session session({}, observers);
    const auto ok = session.pipeline().run(source, {}, 1);
    if (!ok) failure = ok.error().message;
    session.pipeline().finish();
    damage = source.stats().damage;
    lost = session.pipeline().events().lost;
  }

  void on_message(const model::MessageSeen& event) override {
    const model::Message& m = event.message;
    SeenMessage s;
    s.reply = m.sender != m.caller;
    s.xid = m.xid;
    s.credit = m.credit;
    s.proc = m.proc;
    s.length = m.wire_length;
    s.reads = m.reads;
    s.writes = m.write_segments;
    s.write_counts = m.write_counts;
    s.reply_chunk = m.reply_segments;
    s.has_reply_chunk = m.has_reply_chunk;
    s.has_invalidate = m.has_invalidate;
    s.invalidate = m.invalidated_handle;
    s.time_ns = m.time_ns;
    s.rpc = m.rpc;
    messages.push_back(s);
  }
  void on_event(const trace_reader::Event& event) override {
    ++events[event.view.header.type];
    if (const auto m = trace::read_event<trace::Message>(event.view)) {
      unknown.push_back(m->unknown);
    } else if (const auto c = trace::read_event<trace::Connection>(event.view)) {
      connections.push_back(*c);
    } else if (const auto e = trace::read_event<trace::CallEnd>(event.view)) {
      call_ends.push_back(*e);
    } else if (const auto call = trace::read_event<trace::Call>(event.view)) {
      procedures[call->xid] = *call;
    } else if (const auto o = trace::read_event<trace::Operation>(event.view)) {
      operations.push_back(*o);
    } else if (const auto x = trace::read_event<trace::ConnectionEnd>(event.view)) {
      ends.emplace_back(event.view.payload.begin(), event.view.payload.end());
    } else if (const auto y = trace::read_event<trace::Error>(event.view)) {
      errors.emplace_back(event.view.payload.begin(), event.view.payload.end());
    }
  }

  [[nodiscard]] std::size_t calls() const { return count(false); }
  [[nodiscard]] std::size_t replies() const { return count(true); }
  // The only message of this kind and XID; null: there is none, or several.
  [[nodiscard]] const SeenMessage* find(bool reply, std::uint32_t xid) const {
    const SeenMessage* found = nullptr;
    for (const SeenMessage& m : messages) {
      if (m.reply != reply || m.xid != xid) continue;
      if (found != nullptr) return nullptr;
      found = &m;
    }
    return found;
  }

  std::vector<SeenMessage> messages;
  std::vector<std::uint16_t> unknown;  // of each Message event
  std::vector<trace::Connection> connections;
  std::vector<trace::CallEnd> call_ends;
  std::vector<trace::Operation> operations;
  std::map<std::uint32_t, trace::Call> procedures;  // by XID
  std::vector<std::string> ends;                    // of connections: the reasons
  std::vector<std::string> errors;                  // the texts
  std::map<std::uint16_t, std::size_t> events;      // by type
  std::string failure, damage;
  std::uint64_t lost = 0;

 private:
  [[nodiscard]] std::size_t count(bool reply) const {
    std::size_t n = 0;
    for (const SeenMessage& m : messages) n += m.reply == reply ? 1U : 0U;
    return n;
  }
};

inline std::string fixture(const std::string& name) {
  return RPCRDMA_TEST_CAPTURES "/kernel/" + name;
}

}  // namespace rpcrdma::kernel_test
