#include <QElapsedTimer>
#include <QLocale>
#include <QtConcurrentRun>
#include <cmath>
#include <utility>

#include <rpcrdma/sources/interface_watch.h>

namespace rpcrdma::gui {

namespace {

constexpr int kRatesEach = 1000;  // ms

qint64 now_ms() {
  static const QElapsedTimer since = [] {
    QElapsedTimer t;
    t.start();
    return t;
  }();
  return since.elapsed();
}

}  // namespace

InterfaceWatch::InterfaceWatch(Lister lister, QObject* parent)
    : QObject(parent), lister_(std::move(lister)), timer_(new QTimer(this)) {
  timer_->setInterval(kRatesEach);
  connect(timer_, &QTimer::timeout, this, &InterfaceWatch::look);
}

void InterfaceWatch::list() {
  if (std::exchange(asking_, true)) return;
  asked_ = true;
  struct Answer {
    QString problem;
    std::vector<Interface> interfaces;
  };
  QtConcurrent::run([lister = lister_] {
    auto answer = std::make_shared<Answer>();
    if (const auto listed = lister()) {
      answer->interfaces = sorted_interfaces(*listed, rdma_devices());
    } else {
      answer->problem = QString::fromStdString(listed.error().message);
    }
    return answer;
  }).then(this, [this](const std::shared_ptr<Answer>& answer) {
    asking_ = false;
    has_listed_ = true;
    problem_ = answer->problem;
    seen_.clear();
    for (const Interface& i : answer->interfaces) seen_.push_back({i, packets_of(i), {}});
    looked_ms_ = now_ms();
    Q_EMIT listed();
  });
}

void InterfaceWatch::start() {
  if (!asked_) list();
  timer_->start();
}

void InterfaceWatch::stop() {
  timer_->stop();
}

void InterfaceWatch::look() {
  const qint64 now = now_ms();
  const double seconds = static_cast<double>(now - std::exchange(looked_ms_, now)) / 1000;
  for (Seen& s : seen_) {
    const auto before = std::exchange(s.packets, packets_of(s.interface));
    s.rate.reset();
    if (before && s.packets && *s.packets >= *before && seconds > 0) {
      s.rate = static_cast<double>(*s.packets - *before) / seconds;
    }
  }
  Q_EMIT rates_changed();
}

QString rate_text(const InterfaceWatch::Seen& seen) {
  const auto rate = static_cast<qlonglong>(std::llround(seen.rate.value_or(0)));
  return rate == 0 ? QString() : InterfaceWatch::tr("%L1 packets/s").arg(rate);
}

QString capture_rights_hint() {
  return InterfaceWatch::tr(
      "Capturing requires the capability cap_net_raw. Without it, run `sudo rpcrdma capture` to "
      "write a file and open that, or attach to live endpoints, which requires no privileges.");
}

}  // namespace rpcrdma::gui
