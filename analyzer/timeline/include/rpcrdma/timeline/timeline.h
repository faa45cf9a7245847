// Tells a Format what happens, while it is read: an observer of the model, which measures by the
// rules too. See timeline.cc.
#pragma once

#include <cstdint>
#include <memory>

#include <rpcrdma/filter/filter.h>
#include <rpcrdma/report/context.h>
#include <rpcrdma/report/pipeline.h>
#include <rpcrdma/rules/rule.h>
#include <rpcrdma/timeline/format.h>

namespace rpcrdma::timeline {

class Timeline final : public model::Observer {
 public:
  // `format` must outlive this.
  Timeline(Format& format, rules::Profile profile);
  // Of messages, Calls and their operations only those of RPCs that `filter` takes, and findings on
  // others are left out; what is told of connections, credits and packets is of all. The filter
  // must not ask for findings: an RPC is decided on when it is over, and many are found later.
  Timeline(Format& format, rules::Profile profile, filter::Filter filter);
  ~Timeline() override;
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  // Before the first message; all must outlive this. `frames`: of the pipeline, for a filter.
  void set_context(const report::Context& context, const report::FrameCounts& frames);
  // Call once, when all has been read and every connection is closed. `dropped` frames were lost
  // while capturing.
  void finish(std::uint64_t dropped);

  void on_message(const model::Message& message, const model::Call* call) override;
  void on_identified(const model::Call& call) override;
  void on_call_end(const model::Call& call, const model::Message* answer) override;
  void on_cm(const roce::Connection* connection, int sender, const wire::CmMad& mad,
             const roce::PacketMeta& meta) override;
  void on_open(const roce::Connection& connection) override;
  void on_merge(const roce::Connection& into, const roce::Connection& from) override;
  void on_close(const roce::Connection& connection) override;
  void on_evict(const roce::Connection& connection) override;
  void on_time(std::int64_t now_ns) override;
  void on_refusal(const roce::Connection& connection, int sender, const wire::Aeth& aeth,
                  std::uint32_t psn, const roce::PacketMeta& meta) override;
  void on_retransmission(const roce::Connection& connection, int sender, std::uint64_t count,
                         const roce::PacketMeta& meta) override;
  void on_sent_again(const roce::Connection& connection, int sender, std::uint32_t psn,
                     std::int64_t idle_ns, bool begins, const roce::PacketMeta& meta) override;
  void on_operation(const roce::Connection& connection, const roce::Operation& op,
                    const model::Call* call, std::uint32_t segment) override;
  void on_operation_end(const roce::Connection& connection, const roce::Operation& op,
                        const model::Call* call, std::uint32_t segment) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::timeline
