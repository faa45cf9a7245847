// Answers the requests of the bus to an agent: recordings, and whether this host's name is in use.
// Whoever may publish on rpcrdma.control.HOST may ask; the bus's permissions decide.
#pragma once

#include "endpoints.h"
#include "record_job.h"

#include <memory>
#include <string>

#include <rpcrdma/agent/agent.h>
#include <rpcrdma/fleet/bus.h>
#include <rpcrdma/fleet/record.h>

namespace rpcrdma::agent {

class Control {
 public:
  // Error: the bus does not permit the subscription.
  [[nodiscard]] static base::Expected<std::unique_ptr<Control>> open(const AgentOptions& options,
                                                                     const fleet::Hello& self,
                                                                     fleet::Bus& bus, LogLine log);

  [[nodiscard]] int fd() const { return requests_->fd(); }
  // Answers what has come.
  void answer(const Endpoints& endpoints);
  // The recording in progress, or null.
  [[nodiscard]] const RecordJob* job() const { return job_.get(); }

 private:
  Control(const AgentOptions& options, fleet::Hello self, fleet::Bus& bus, LogLine log,
          std::unique_ptr<fleet::Subscription> requests);
  void take(const fleet::BusMessage& message, const Endpoints& endpoints);
  void hello(const fleet::Hello& other, const std::string& reply);
  void record(const fleet::RecordRequest& request, const std::string& reply,
              const Endpoints& endpoints);
  // Returns the name of the endpoint whose recording has begun.
  [[nodiscard]] base::Expected<std::string> begin(const fleet::RecordRequest& request,
                                                  const Endpoints& endpoints);

  const AgentOptions& options_;
  const fleet::Hello self_;
  fleet::Bus& bus_;
  LogLine log_;
  std::unique_ptr<fleet::Subscription> requests_;
  std::unique_ptr<RecordJob> job_;
  std::int64_t complained_ns_ = 0;
};

}  // namespace rpcrdma::agent
