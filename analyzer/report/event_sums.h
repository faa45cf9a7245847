// Summarizes trace events of endpoints while they are read.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include <rpcrdma/report/recording.h>
#include <rpcrdma/trace_reader/event.h>
#include <rpcrdma/trace_reader/sums.h>

namespace rpcrdma::report {

class EventSums final : public trace_reader::Observer {
 public:
  void on_event(const trace_reader::Event& event) override;

  // All of it except Recording::events.
  [[nodiscard]] Recording recording() const;

 private:
  // The credit wait of a Call that has not ended.
  struct Waited {
    std::int64_t since = 0;  // 0: it is not waiting now
    std::int64_t ns = 0;     // total of its completed waits
  };
  // Beyond this limit, the wait counts as sending time.
  static constexpr std::size_t kMaxWaiting = 65536;

  void credit_wait(const trace_reader::Event& event);
  void call_end(const trace_reader::Event& event);
  void connection_end(std::uint32_t connection);

  Recording recording_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Waited> waited_;  // by connection and XID
  trace_reader::Sums sums_;                                           // by roce::Connection::index
};

}  // namespace rpcrdma::report
