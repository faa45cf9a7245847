#include "device_watch.h"

#include <QDateTime>
#include <QStringList>
#include <algorithm>
#include <array>

#include <rpcrdma/gui_text/plain_text.h>

namespace rpcrdma::gui {

namespace {

constexpr int kReadEachMs = 1000;

QString signal_text(host::Signal signal) {
  switch (signal) {
    case host::Signal::kOutOfSequence:
      return DeviceWatch::tr("packets out of sequence");
    case host::Signal::kSequenceNaks:
      return DeviceWatch::tr("sequence NAKs received");
    case host::Signal::kAckTimeouts:
      return DeviceWatch::tr("local ACK timeouts");
    case host::Signal::kRnrNaks:
      return DeviceWatch::tr("RNR NAKs received");
    case host::Signal::kMissingReceive:
      return DeviceWatch::tr("without a posted Receive");
    case host::Signal::kRetriesExceeded:
      return DeviceWatch::tr("retries exceeded");
    case host::Signal::kCnpSent:
      return DeviceWatch::tr("CNPs sent");
    case host::Signal::kCnpHandled:
      return DeviceWatch::tr("CNPs handled");
    case host::Signal::kEcnMarked:
      return DeviceWatch::tr("packets marked ECN");
  }
  return {};
}

const host::DevicePort* same_port(const host::Devices& all, const host::DevicePort& port) {
  for (const host::DevicePort& p : all.ports) {
    if (p.device == port.device && p.port == port.port) return &p;
  }
  return nullptr;
}

// What all ports counted in between. A counter that went back was reset: it counted at least what
// it shows.
std::optional<std::uint64_t> grown(const host::Devices& before, const host::Devices& now,
                                   host::Signal signal) {
  std::optional<std::uint64_t> sum;
  for (const host::DevicePort& port : now.ports) {
    const auto value = host::value_of(port, signal);
    const host::DevicePort* const earlier = same_port(before, port);
    const auto first = earlier != nullptr ? host::value_of(*earlier, signal) : std::nullopt;
    if (!value || !first) continue;
    sum = sum.value_or(0) + (*value >= *first ? *value - *first : *value);
  }
  return sum;
}

QString names_of(const host::Devices& all) {
  QStringList names;
  for (const host::DevicePort& port : all.ports) {
    const QString device = one_line(QString::fromStdString(port.device));
    names << (port.port == 0 ? device : DeviceWatch::tr("%1 port %2").arg(device).arg(port.port));
  }
  return names.join(", ");
}

}  // namespace

DeviceWatch::DeviceWatch(Document& document, QObject* parent)
    : QObject(parent),
      document_(document),
      reader_([] { return host::read_devices(); }),
      worker_(std::make_unique<Worker>()) {
  timer_.setInterval(kReadEachMs);
  connect(&timer_, &QTimer::timeout, this, &DeviceWatch::read);
  connect(&document_, &Document::reset, this, &DeviceWatch::restart);
  connect(&document_, &Document::finished, &timer_, &QTimer::stop);
}

void DeviceWatch::restart() {
  ++run_;
  reading_ = false;
  before_.reset();
  samples_.clear();
  devices_.clear();
  problem_.clear();
  timer_.stop();
  if (document_.is_live()) {
    timer_.start();
    read();
  }
  Q_EMIT changed();
}

void DeviceWatch::read() {
  if (reading_) return;
  reading_ = true;
  worker_->post(
      this, [reader = reader_] { return reader(); },
      [this, run = run_](const base::Expected<host::Devices>& devices) {
        if (run != run_) return;
        reading_ = false;
        took(devices);
      });
}

void DeviceWatch::took(const base::Expected<host::Devices>& devices) {
  const std::int64_t now = QDateTime::currentMSecsSinceEpoch() * 1'000'000;
  problem_.clear();
  devices_.clear();
  if (!devices || devices->ports.empty()) {
    before_.reset();
    problem_ = tr("This host has no RDMA device with counters.");
    Q_EMIT changed();
    return;
  }
  devices_ = names_of(*devices);
  if (before_ && now > before_ns_) {
    Sample sample{before_ns_, now, {}};
    for (const host::Signal signal : host::kSignals) {
      sample.events.push_back(grown(*before_, *devices, signal));
    }
    samples_.push_back(std::move(sample));
    if (samples_.size() > kMostSamples) samples_.pop_front();
  }
  before_ = *devices;
  before_ns_ = now;
  Q_EMIT changed();
}

DeviceCounters DeviceWatch::counters() const {
  DeviceCounters all;
  all.devices = devices_;
  all.problem = problem_;
  for (const host::Signal signal : host::kSignals) all.counters.push_back({signal_text(signal)});
  all.samples.assign(samples_.begin(), samples_.end());
  return all;
}

}  // namespace rpcrdma::gui
