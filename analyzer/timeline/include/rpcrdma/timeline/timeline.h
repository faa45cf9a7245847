// Draws a capture as a timeline while its session reads it: passes each event to a Format.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <rpcrdma/filter/filter.h>
#include <rpcrdma/rules/rule.h>
#include <rpcrdma/session/session.h>
#include <rpcrdma/timeline/format.h>

namespace rpcrdma::timeline {

struct TimelineOptions {
  rules::Profile profile = rules::Profile::k8166;
  model::ModelOptions model = {};
  // Only messages, Calls and operations of RPCs that the filter matches are drawn, and findings on
  // other messages are left out. Connections, credits and packets are all drawn. The filter must
  // not use findings: an RPC is drawn when it ends, and many findings come later.
  std::optional<filter::Filter> filter = std::nullopt;
};

class Timeline {
 public:
  // `format` must outlive this.
  explicit Timeline(Format& format, TimelineOptions options = {});
  ~Timeline();
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  // Reads the capture.
  [[nodiscard]] session::Pipeline& pipeline();
  // Call once, after Pipeline::finish(). `dropped` frames were lost while capturing.
  void finish(std::uint64_t dropped);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::timeline
