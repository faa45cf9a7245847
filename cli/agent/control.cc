#include "control.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/core.h>

#include <rpcrdma/base/clock.h>
#include <rpcrdma/base/quantity.h>
#include <rpcrdma/fleet/subjects.h>

namespace rpcrdma::agent {

namespace {

constexpr fleet::QueueLimits kRequestQueue{256, std::size_t{1} << 20};
// One line about invalid requests is logged in this time.
constexpr std::int64_t kComplainInvalidEvery = 10 * base::kSecond;

}  // namespace

Control::Control(const AgentOptions& options, fleet::Hello self, fleet::Bus& bus, LogLine log,
                 std::unique_ptr<fleet::Subscription> requests)
    : options_(options),
      self_(std::move(self)),
      bus_(bus),
      log_(std::move(log)),
      requests_(std::move(requests)) {}

base::Expected<std::unique_ptr<Control>> Control::open(const AgentOptions& options,
                                                       const fleet::Hello& self, fleet::Bus& bus,
                                                       LogLine log) {
  auto requests =
      bus.subscribe(fleet::control_subject(options.host), kRequestQueue, fleet::kMostControlBytes);
  if (!requests) return tl::unexpected(requests.error());
  return std::unique_ptr<Control>(
      new Control(options, self, bus, std::move(log), std::move(*requests)));
}

void Control::answer(const Endpoints& endpoints) {
  if (job_ != nullptr && job_->done()) job_.reset();
  while (const auto message = requests_->take()) take(*message, endpoints);
}

void Control::take(const fleet::BusMessage& message, const Endpoints& endpoints) {
  const auto request = fleet::request_from_json(message.data);
  if (!request) {
    const std::int64_t now = base::monotonic_ns();
    if (complained_ns_ == 0 || now - complained_ns_ >= kComplainInvalidEvery) {
      complained_ns_ = now;
      log_(Level::kWarning,
           fmt::format("a request over the bus is not valid: {}", request.error().message));
    }
    return;
  }
  if (const auto* const other = std::get_if<fleet::Hello>(&*request)) {
    hello(*other, message.reply);
  } else if (const auto* const wanted = std::get_if<fleet::RecordRequest>(&*request)) {
    record(*wanted, message.reply, endpoints);
  } else if (const auto* const ack = std::get_if<fleet::RecordAck>(&*request)) {
    if (job_ != nullptr && job_->id() == ack->id) job_->acknowledge(ack->bytes);
  } else if (const auto* const stop = std::get_if<fleet::RecordStop>(&*request)) {
    if (job_ != nullptr && job_->id() == stop->id) job_->stop();
  }
}

void Control::hello(const fleet::Hello& other, const std::string& reply) {
  if (reply.empty() || other.instance == self_.instance) return;
  log_(Level::kWarning,
       fmt::format("another agent (process {}{}) wants to publish as host {} and was refused",
                   other.process, other.boot == self_.boot ? " on this machine" : "",
                   options_.host));
  fleet::Answer answer;
  answer.agent = self_;
  (void)bus_.send(reply, fleet::to_json(answer));
}

void Control::record(const fleet::RecordRequest& request, const std::string& reply,
                     const Endpoints& endpoints) {
  if (reply.empty()) return;
  fleet::Answer answer;
  answer.agent = self_;
  const auto begun = begin(request, endpoints);
  if (begun) {
    answer.endpoint = *begun;
    log_(Level::kInfo, fmt::format("recording {} of {} requested: {}", request.id, *begun,
                                   base::format_duration(request.duration_ns)));
  } else {
    answer.refused = begun.error().message;
    log_(Level::kWarning,
         fmt::format("recording {} refused: {}", request.id, begun.error().message));
  }
  (void)bus_.send(reply, fleet::to_json(answer));
}

base::Expected<std::string> Control::begin(const fleet::RecordRequest& request,
                                           const Endpoints& endpoints) {
  if (!options_.record) return base::fail("this agent records nothing (--no-record)");
  if (job_ != nullptr) {
    return base::fail(fmt::format("it records {} for another request", job_->endpoint()));
  }
  if (request.duration_ns <= 0 || request.duration_ns > fleet::kMostRecordNs) {
    return base::fail(
        fmt::format("records for at most {}", base::format_duration(fleet::kMostRecordNs)));
  }
  const auto endpoint = endpoints.find(request.endpoint);
  if (!endpoint) return tl::unexpected(endpoint.error());
  auto stream = trace::connect_running((*endpoint)->found());
  if (!stream) return tl::unexpected(stream.error());
  RecordJob::Options job{options_.host, (*endpoint)->name(), request, options_.spool};
  job.request.most_bytes =
      std::min({request.most_bytes, options_.most_record, fleet::kMostRecordBytes});
  job_ = std::make_unique<RecordJob>(std::move(job), std::move(*stream), bus_, log_);
  return (*endpoint)->name();
}

}  // namespace rpcrdma::agent
