// Reads the sums that the BPF programs count in the kernel's maps, and emits what has changed.
#pragma once

#include "records.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include <rpcrdma/base/error.h>
#include <rpcrdma/kernel/event_sink.h>

namespace rpcrdma::kernel {

class Sums {
 public:
  // One pass over both maps: begin(), then each entry, then end().
  void begin(std::int64_t now);
  void connection(const scope_key& key, const scope_connection_state& state, EventSink& sink);
  // Those of connections that this pass has not seen are skipped.
  void procedure(const scope_procedure_key& key, const scope_procedure& sums, EventSink& sink);
  // Ends connections that are no longer in the map.
  void end(EventSink& sink);

 private:
  using Key = std::tuple<std::uint64_t, std::uint32_t, std::uint32_t>;
  using Procedure = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;
  struct Connection {
    std::uint32_t number = 0;
    bool seen = false, ended = false;
    scope_connection_state state{};  // as emitted last
    bool emitted = false;
    std::map<Procedure, scope_procedure> procedures;  // as emitted last, without their histogram
  };

  static Key key_of(const scope_key& key) { return {key.object, key.qpn, key.role}; }
  void start(const scope_key& key, const scope_connection_state& state, Connection& connection,
             EventSink& sink) const;
  void finish(Connection& connection, const trace::ConnectionEnd& event, std::string_view reason,
              EventSink& sink) const;

  std::int64_t now_ = 0;
  std::map<Key, Connection> connections_;
};

// Passes each entry of the two maps to `sums`.
[[nodiscard]] base::Expected<void> read_sums(int connections, int procedures, Sums& sums,
                                             std::int64_t now, EventSink& sink);

}  // namespace rpcrdma::kernel
