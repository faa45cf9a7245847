// Sums up what endpoints tell, while it is read.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include <rpcrdma/report/recording.h>
#include <rpcrdma/trace_reader/event.h>

namespace rpcrdma::report {

class EventSums final : public trace_reader::Observer {
 public:
  void on_event(const trace_reader::Event& event) override;

  // But for Recording::events.
  [[nodiscard]] const Recording& recording() const { return recording_; }

 private:
  // Of a Call under way that waited for a credit.
  struct Waited {
    std::int64_t since = 0;  // 0: it does not wait now
    std::int64_t ns = 0;
  };
  // Of more, the time counts as that of sending.
  static constexpr std::size_t kMaxWaiting = 65536;

  void credit_wait(const trace_reader::Event& event);
  void call_end(const trace_reader::Event& event);
  void connection_end(std::uint32_t connection);

  Recording recording_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Waited> waited_;  // by connection and XID
};

}  // namespace rpcrdma::report
