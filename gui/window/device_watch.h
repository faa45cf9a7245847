// Reads the counters of this host's RDMA devices once a second, in a thread, while a live source is
// shown, and keeps what they counted in between.
#pragma once

#include "document.h"

#include <QObject>
#include <QTimer>
#include <deque>
#include <functional>
#include <memory>

#include <rpcrdma/host/device_counters.h>
#include <rpcrdma/views/device_counters_view.h>

namespace rpcrdma::gui {

class DeviceWatch : public QObject {
  Q_OBJECT

 public:
  using Reader = std::function<base::Expected<host::Devices>()>;

  explicit DeviceWatch(Document& document, QObject* parent = nullptr);

  // The default reads /sys. For tests.
  void set_reader(Reader reader) { reader_ = std::move(reader); }
  void set_interval(int ms) { timer_.setInterval(ms); }
  // Without the range of time. All ports of the host together.
  [[nodiscard]] DeviceCounters counters() const;

 Q_SIGNALS:
  void changed();

 private:
  void restart();
  void read();
  void took(const base::Expected<host::Devices>& devices);

  using Sample = DeviceCounters::Sample;
  static constexpr std::size_t kMostSamples = 3600;  // an hour

  Document& document_;
  Reader reader_;
  QTimer timer_;
  bool reading_ = false;
  std::uint64_t run_ = 0;  // results for an earlier document are dropped
  std::int64_t before_ns_ = 0;
  std::optional<host::Devices> before_;
  std::deque<Sample> samples_;
  QString devices_, problem_;
  std::unique_ptr<Worker> worker_;
};

}  // namespace rpcrdma::gui
