// Follows this user's running endpoints on this machine, as they start and end.
#pragma once

#include <QObject>
#include <QStringList>
#include <QTimer>
#include <vector>

#include <rpcrdma/base/error.h>
#include <rpcrdma/live/endpoints.h>

namespace rpcrdma::gui {

using Endpoints = base::Expected<std::vector<trace::RunningEndpoint>>;

// Lists the names each second, which is cheap. It asks endpoints for their roles, in a thread of
// its own, only when the names change.
class EndpointWatch : public QObject {
  Q_OBJECT
 public:
  explicit EndpointWatch(QObject* parent = nullptr);

  // What was found last; empty before the first changed().
  [[nodiscard]] const Endpoints& found() const { return found_; }
  // Whether the kernel's endpoint is among them.
  [[nodiscard]] bool has_kernel() const;

 public Q_SLOTS:
  void start();
  void stop();
  void look();

 Q_SIGNALS:
  void changed();

 private:
  Endpoints found_;
  QTimer* timer_;
  QStringList known_;    // sockets that existed at the last inquiry
  bool asking_ = false;  // a thread is asking
  bool asked_ = false;   // at least once, so `known_` is valid
};

// "12:00:00", or with the date if it was on another day; empty for 0. `since_ns`: since 1970.
[[nodiscard]] QString since_text(std::int64_t since_ns);
// Its role, or that it does not answer.
[[nodiscard]] QString role_text(const trace::RunningEndpoint& endpoint);

}  // namespace rpcrdma::gui
