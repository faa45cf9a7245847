// Reads files in a thread, each as one point, and joins what they show of the same Calls.
#pragma once

#include "ends_rows.h"
#include "worker.h"

#include <QObject>
#include <QStringList>
#include <QTimer>
#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include <rpcrdma/base/error.h>

namespace rpcrdma::gui {

class EndsReading : public QObject {
  Q_OBJECT

 public:
  // How a reading is watched from the interface's thread.
  struct Watch {
    bool check_icrc = true;
    std::atomic<bool> cancelled{false};
    std::atomic<std::uint64_t> bytes_read{0};  // of all files
  };
  // Runs in a thread; returns soon after `cancelled` is set.
  using Reader = std::function<base::Expected<ends::Ends>(const std::vector<std::string>& files,
                                                          Watch& watch)>;

  explicit EndsReading(QObject* parent = nullptr);
  ~EndsReading() override;

  // Reads files; the default joins them as `rpcrdma analyze` does. For tests.
  void set_reader(Reader reader) { reader_ = std::move(reader); }
  // Cancels what is read, and begins.
  void start(const QStringList& files, bool check_icrc = true);
  void cancel();
  [[nodiscard]] bool is_reading() const { return watch_ != nullptr; }
  // 0 to 100; -1: not known.
  [[nodiscard]] int percent() const;

 Q_SIGNALS:
  void progressed();
  void read(rpcrdma::gui::SharedEnds all);
  void failed(const QString& why);

 private:
  Reader reader_;
  std::shared_ptr<Watch> watch_;  // of what is read now
  std::uint64_t bytes_total_ = 0;
  QTimer timer_;
  std::unique_ptr<Worker> worker_;
};

}  // namespace rpcrdma::gui
