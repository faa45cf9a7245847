#include "client_side.h"
#include "outbox.h"
#include "server_side.h"

#include <algorithm>

#include <rpcrdma/tracepoints/translator.h>

namespace rpcrdma::tracepoints {

struct Translator::Impl {
  Impl(kernel::EventSink& s, Roles r) : sink(s), roles(r) {}

  kernel::EventSink& sink;
  Roles roles;
  Outbox outbox{sink};
  ClientSide client{outbox, sink};
  ServerSide server{outbox, sink};
  std::int64_t now = 0;
  Roles seen{false, false};
};

Translator::Translator(kernel::EventSink& sink, Roles roles)
    : impl_(std::make_unique<Impl>(sink, roles)) {}
Translator::~Translator() = default;

void Translator::take(const Record& record) {
  Impl& i = *impl_;
  // Differences of times must not overflow.
  constexpr std::int64_t kLatest = INT64_MAX / 4;
  if (record.time < i.now || record.time > kLatest) {
    Record moved = record;
    moved.time = std::clamp(record.time, i.now, kLatest);
    i.now = moved.time;
    return take(moved);
  }
  i.now = record.time;
  i.outbox.expire(i.now);
  const std::string_view name = info(record.event).name;
  i.seen.client |= name.starts_with("xprtrdma");
  i.seen.server |= name.starts_with("svcrdma");
  if (i.roles.client) i.client.take(record);
  if (i.roles.server) i.server.take(record);
}

void Translator::lost(std::uint64_t count) {
  interrupted();
  impl_->sink.lost(count);
}

void Translator::interrupted() {
  impl_->client.lost();
  impl_->server.lost();
}

void Translator::expire(std::int64_t now) {
  impl_->outbox.expire(now);
}

bool Translator::waits() const {
  return !impl_->outbox.empty();
}

void Translator::finish() {
  impl_->client.finish();
  impl_->server.finish(impl_->now);
  impl_->outbox.flush();
}

Roles Translator::seen() const {
  return impl_->seen;
}

std::uint64_t Translator::unplaced() const {
  return impl_->client.unplaced() + impl_->server.unplaced();
}

}  // namespace rpcrdma::tracepoints
