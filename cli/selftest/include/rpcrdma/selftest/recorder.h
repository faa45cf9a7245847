// Records each cell at one end (engine/trace) and judges the recording with the analyzer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <rpcrdma/fabric/error.h>
#include <rpcrdma/live/hub.h>
#include <rpcrdma/rules/rule.h>

namespace rpcrdma::selftest {

struct Judgement {
  // Findings of severity error, and defects that make the recording useless; empty: none.
  std::vector<std::string> errors;
  std::uint64_t messages = 0;
};

class Recorder {
 public:
  // `end`: "client", "server". Recordings are kept in `folder`, which is created if necessary, as
  // CELL-END.pcapng; without one they are in a temporary folder until they are judged. Error:
  // kSystem.
  [[nodiscard]] static fabric::Expected<std::unique_ptr<Recorder>> create(std::string end,
                                                                          std::string folder);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Returns the tracer for the provider and the loop of this end.
  [[nodiscard]] trace::Tracer* tracer() const { return tracer_; }

  // Error: kSystem.
  [[nodiscard]] fabric::Expected<void> begin();
  [[nodiscard]] bool recording() const { return recording_; }
  // `cell`: may be any text. `version`: the RPC-over-RDMA version that its connection must use.
  [[nodiscard]] Judgement end(std::string_view cell, rules::Profile profile, std::uint32_t version);
  // Discards the recording, which belongs to no cell.
  void abandon();

 private:
  Recorder(std::string end, std::string folder, bool keep, std::unique_ptr<trace::Hub> hub);

  const std::string end_;
  const std::string folder_;
  const bool keep_;
  std::unique_ptr<trace::Hub> hub_;
  trace::Tracer* tracer_;
  bool recording_ = false;
};

}  // namespace rpcrdma::selftest
