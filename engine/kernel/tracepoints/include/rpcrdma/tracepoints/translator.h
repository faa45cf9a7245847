// Turns records of tracepoints into trace events: those of the kernel's client (xprtrdma) and of
// its server (svcrdma).
//
// The tracepoints show fields, not bytes. Messages are therefore encoded from the fields, and say
// what is unknown (trace::MessageUnknown). Records of one Call are joined by its RPC task (client)
// or by the thread that processes it (server). Nothing is guessed: what no record shows is absent,
// and after lost records all that waits for further records is dropped.
//
// The state is bounded; beyond the bounds the oldest is forgotten.
#pragma once

#include <cstdint>
#include <memory>

#include <rpcrdma/kernel/event_sink.h>
#include <rpcrdma/tracepoints/record.h>

namespace rpcrdma::tracepoints {

struct Roles {
  bool client = true;  // xprtrdma
  bool server = true;  // svcrdma
};

class Translator {
 public:
  explicit Translator(kernel::EventSink& sink, Roles roles = {});
  ~Translator();
  Translator(const Translator&) = delete;
  Translator& operator=(const Translator&) = delete;

  // Takes the next record in order of time.
  void take(const Record& record);
  // Records of some CPU are missing here.
  void lost(std::uint64_t count);
  // Tracing was stopped for a while: what waits for further records is dropped.
  void interrupted();
  // Lets events go that wait for further records too long. Call it when no record arrives.
  void expire(std::int64_t now);
  // Whether events wait for further records.
  [[nodiscard]] bool waits() const;
  // No record follows.
  void finish();

  // Whether records of that role have been seen.
  [[nodiscard]] Roles seen() const;
  // Messages that were not emitted because there are too many connections.
  [[nodiscard]] std::uint64_t unplaced() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::tracepoints
