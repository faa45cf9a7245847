// Follows a fleet on its bus, in a thread of its own: connecting, reading and decoding never make
// the interface wait. The bus's queues are bounded; of the states, the interface gets the newest.
#pragma once

#include "fleet_address.h"
#include "fleet_source.h"

namespace rpcrdma::gui {

class BusSource : public FleetSource {
  Q_OBJECT

 public:
  explicit BusSource(const FleetAddress& address, QObject* parent = nullptr);
  ~BusSource() override;

  // Whether this build has the bus.
  [[nodiscard]] static bool available();

  void record(const QString& host, const QString& endpoint, int seconds,
              const QString& path) override;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace rpcrdma::gui
