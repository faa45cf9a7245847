// Lists the network interfaces in a thread of its own, and follows how many packets pass.
#pragma once

#include <QObject>
#include <QTimer>
#include <functional>
#include <vector>

#include <rpcrdma/sources/interfaces.h>

namespace rpcrdma::gui {

class InterfaceWatch : public QObject {
  Q_OBJECT
 public:
  // Called in a thread of its own, since libpcap may take long.
  using Lister = std::function<capture::Expected<std::vector<capture::ListedInterface>>()>;
  explicit InterfaceWatch(Lister lister = &capture::list_interfaces, QObject* parent = nullptr);

  struct Seen {
    Interface interface;
    std::optional<std::uint64_t> packets;  // at the last look
    std::optional<double> rate;            // packets a second
  };
  // As sorted_interfaces(); empty before the first listed().
  [[nodiscard]] const std::vector<Seen>& seen() const { return seen_; }
  [[nodiscard]] bool has_listed() const { return has_listed_; }
  // Why there is no list; empty: there is one.
  [[nodiscard]] const QString& problem() const { return problem_; }

 public Q_SLOTS:
  void list();   // listed() follows
  void start();  // looks at the rates each second; lists first if it never has
  void stop();

 Q_SIGNALS:
  void listed();
  void rates_changed();

 private:
  void look();

  Lister lister_;
  QTimer* timer_;
  std::vector<Seen> seen_;
  QString problem_;
  qint64 looked_ms_ = 0;
  bool asked_ = false;
  bool has_listed_ = false;
  bool asking_ = false;
};

// "1,234 packets/s"; empty if the rate is not known or nothing passes.
[[nodiscard]] QString rate_text(const InterfaceWatch::Seen& seen);
// Advice for a user without the permission to capture.
[[nodiscard]] QString capture_rights_hint();

}  // namespace rpcrdma::gui
