// Collects the events of a translator, and builds records for it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <rpcrdma/kernel/event_sink.h>
#include <rpcrdma/trace/read.h>
#include <rpcrdma/tracepoints/text_line.h>
#include <rpcrdma/tracepoints/translator.h>

namespace rpcrdma::tracepoints {

class CollectedEvents final : public kernel::EventSink {
 public:
  struct One {
    trace::EventHeader header;
    std::vector<std::uint8_t> fixed, payload;
  };

  void event(const trace::EventHeader& header, std::span<const std::uint8_t> fixed,
             std::span<const std::uint8_t> payload,
             std::span<const std::uint8_t> extra_payload) override {
    One one{header, {fixed.begin(), fixed.end()}, {payload.begin(), payload.end()}};
    one.payload.insert(one.payload.end(), extra_payload.begin(), extra_payload.end());
    all.push_back(std::move(one));
  }
  void lost(std::uint64_t count) override { lost_events += count; }
  std::uint32_t new_connection() override { return ++connections; }

  template <typename Event>
  struct Found {
    Event event;
    trace::EventHeader header;
    std::vector<std::uint8_t> payload;
    [[nodiscard]] std::string text() const { return {payload.begin(), payload.end()}; }
  };
  template <typename Event>
  [[nodiscard]] std::vector<Found<Event>> of() const {
    std::vector<Found<Event>> found;
    for (const One& one : all) {
      if (const auto e = trace::read_event<Event>({one.header, one.fixed, one.payload})) {
        found.push_back({*e, one.header, one.payload});
      }
    }
    return found;
  }

  std::vector<One> all;
  std::uint64_t lost_events = 0;
  std::uint32_t connections = 0;
};

// Feeds lines as trace-cmd prints them.
class Lines {
 public:
  explicit Lines(Translator& translator) : translator_(translator) {}

  // `what`: "xprt_reserve: task:00000001@00000000 xid=0x00000001".
  void add(std::int64_t us, int pid, const std::string& what) {
    const std::string line = "task-" + std::to_string(pid) + " [000] " +
                             std::to_string(us / 1000000) + "." + fraction(us % 1000000) + ": " +
                             what;
    Record record;
    std::uint64_t lost = 0;
    if (read_line(line, record, lost) == Line::kRecord) {
      translator_.take(record);
    } else {
      bad.push_back(line);
    }
  }
  std::vector<std::string> bad;

 private:
  static std::string fraction(std::int64_t us) {
    std::string text = std::to_string(us);
    return std::string(6 - text.size(), '0') + text;
  }
  Translator& translator_;
};

}  // namespace rpcrdma::tracepoints
