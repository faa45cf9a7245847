// Replaces bus.cc in a build without libnats.
#include <rpcrdma/fleet/bus.h>

namespace rpcrdma::fleet {

struct Bus::Impl {};

namespace {

tl::unexpected<base::Error> no_bus() {
  return base::fail("this build has no fleet: it was configured without libnats");
}

}  // namespace

bool Bus::available() {
  return false;
}
base::Expected<std::unique_ptr<Bus>> Bus::connect(const BusOptions& /*options*/) {
  return no_bus();
}
Bus::Bus(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Bus::~Bus() = default;
base::Expected<void> Bus::prepare_streams() {
  return no_bus();
}
void Bus::publish_state(std::string_view /*host*/, std::string /*json*/) {}
void Bus::publish_finding(std::string_view /*host*/, std::string /*id*/, std::string /*json*/) {}
bool Bus::flush(std::chrono::milliseconds /*patience*/) {
  return false;
}
base::Expected<void> Bus::send(const std::string& /*subject*/, std::string_view /*data*/) {
  return no_bus();
}
base::Expected<std::string> Bus::request(const std::string& /*subject*/, std::string_view /*data*/,
                                         std::chrono::milliseconds /*patience*/) {
  return no_bus();
}
base::Expected<std::unique_ptr<Subscription>> Bus::subscribe(const std::string& /*subject*/,
                                                             QueueLimits /*limits*/,
                                                             std::size_t /*most_bytes*/) {
  return no_bus();
}
base::Expected<void> Bus::latest_states(const Take& /*take*/) {
  return no_bus();
}
base::Expected<void> Bus::findings_since(std::int64_t /*since_ns*/, const std::string& /*host*/,
                                         const Take& /*take*/) {
  return no_bus();
}
BusState Bus::state() const {
  return {};
}
BusCounters Bus::counters() const {
  return {};
}

}  // namespace rpcrdma::fleet
