// The recording that an end makes of each cell (engine/trace), and what the analyzer says of it.
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
  // Findings of severity error, and what makes the recording worthless; empty: all is well.
  std::vector<std::string> errors;
  std::uint64_t messages = 0;
};

class Recorder {
 public:
  // `end`: "client", "server". Recordings are kept in `folder`, which is made if there is none, and
  // named CELL-END.pcapng; without one they are in a folder of their own until they are judged.
  // Error: kSystem.
  [[nodiscard]] static fabric::Expected<std::unique_ptr<Recorder>> create(std::string end,
                                                                          std::string folder);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // For the provider and the loop of this end.
  [[nodiscard]] trace::Tracer* tracer() const { return tracer_; }

  // Error: kSystem.
  [[nodiscard]] fabric::Expected<void> begin();
  [[nodiscard]] bool recording() const { return recording_; }
  // `cell`: may be anybody's text. `version`: of RPC-over-RDMA, that its connection has to speak.
  [[nodiscard]] Judgement end(std::string_view cell, rules::Profile profile, std::uint32_t version);
  // Of no cell.
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
