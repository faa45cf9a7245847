#include <QDateTime>
#include <QtConcurrentRun>
#include <algorithm>

#include <rpcrdma/kernel_launch/launch.h>
#include <rpcrdma/sources/endpoint_watch.h>

namespace rpcrdma::gui {

namespace {

constexpr int kLookEach = 1000;  // ms

QStringList paths_of(const std::vector<trace::RunningEndpoint>& endpoints) {
  QStringList paths;
  for (const trace::RunningEndpoint& e : endpoints) paths << QString::fromStdString(e.path);
  return paths;
}

}  // namespace

EndpointWatch::EndpointWatch(QObject* parent) : QObject(parent), timer_(new QTimer(this)) {
  timer_->setInterval(kLookEach);
  connect(timer_, &QTimer::timeout, this, &EndpointWatch::look);
}

bool EndpointWatch::has_kernel() const {
  return found_ && std::ranges::any_of(*found_, [](const trace::RunningEndpoint& e) {
           return e.name == kernel::kEndpointName;
         });
}

void EndpointWatch::start() {
  look();
  timer_->start();
}

void EndpointWatch::stop() {
  timer_->stop();
}

void EndpointWatch::look() {
  if (asking_) return;
  const auto found = trace::find_endpoints();
  QStringList paths = found ? paths_of(*found) : QStringList();
  if (found && asked_ && paths == known_) return;
  asking_ = true;
  QtConcurrent::run([] {
    return std::make_shared<Endpoints>(trace::list_endpoints());
  }).then(this, [this, paths = std::move(paths)](const std::shared_ptr<Endpoints>& endpoints) {
    asking_ = false;
    asked_ = true;
    known_ = paths;
    found_ = std::move(*endpoints);
    Q_EMIT changed();
  });
}

QString since_text(std::int64_t since_ns) {
  if (since_ns == 0) return {};
  const QDateTime since = QDateTime::fromMSecsSinceEpoch(since_ns / 1'000'000);
  const bool today = since.date() == QDate::currentDate();
  return since.toString(today ? QStringLiteral("HH:mm:ss") : QStringLiteral("yyyy-MM-dd HH:mm"));
}

QString role_text(const trace::RunningEndpoint& endpoint) {
  return endpoint.role.empty() ? EndpointWatch::tr("(no answer)")
                               : QString::fromStdString(endpoint.role);
}

}  // namespace rpcrdma::gui
