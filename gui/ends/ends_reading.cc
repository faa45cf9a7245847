#include "ends_reading.h"

#include <QFileInfo>
#include <algorithm>
#include <utility>

#include <rpcrdma/ends/read.h>

namespace rpcrdma::gui {

namespace {

constexpr int kProgressEachMs = 100;

base::Expected<ends::Ends> read_files(const std::vector<std::string>& files,
                                      EndsReading::Watch& watch) {
  ends::EndsOptions options;
  options.keep_calls = true;
  options.check_icrc = watch.check_icrc;
  return ends::read_ends(files, options, nullptr, {&watch.cancelled, &watch.bytes_read});
}

}  // namespace

EndsReading::EndsReading(QObject* parent)
    : QObject(parent), reader_(read_files), worker_(std::make_unique<Worker>()) {
  timer_.setInterval(kProgressEachMs);
  connect(&timer_, &QTimer::timeout, this, &EndsReading::progressed);
}

EndsReading::~EndsReading() {
  cancel();
}

void EndsReading::start(const QStringList& files, bool check_icrc) {
  cancel();
  std::vector<std::string> paths;
  bytes_total_ = 0;
  for (const QString& file : files) {
    paths.push_back(file.toStdString());
    bytes_total_ += static_cast<std::uint64_t>(std::max<qint64>(0, QFileInfo(file).size()));
  }
  watch_ = std::make_shared<Watch>();
  watch_->check_icrc = check_icrc;
  timer_.start();
  worker_->post(
      this,
      [reader = reader_, paths = std::move(paths), watch = watch_] {
        using Result = base::Expected<SharedEnds>;
        if (watch->cancelled) return Result(base::fail("cancelled"));
        auto all = reader(paths, *watch);
        if (!all) return Result(tl::unexpected(std::move(all.error())));
        return Result(std::make_shared<const ends::Ends>(std::move(*all)));
      },
      [this, watch = watch_](const base::Expected<SharedEnds>& all) {
        if (watch != watch_) return;
        watch_.reset();
        timer_.stop();
        if (all) {
          Q_EMIT read(*all);
        } else {
          Q_EMIT failed(QString::fromStdString(all.error().message));
        }
      });
}

void EndsReading::cancel() {
  if (watch_ != nullptr) watch_->cancelled = true;
  watch_.reset();
  timer_.stop();
}

int EndsReading::percent() const {
  if (watch_ == nullptr || bytes_total_ == 0) return -1;
  const std::uint64_t done = watch_->bytes_read;
  if (done == 0) return -1;
  return static_cast<int>(std::min<std::uint64_t>(100, done * 100 / bytes_total_));
}

}  // namespace rpcrdma::gui
