// Where the page of a fleet gets its state: a bus (bus_source.h), or a script of tests. Signals are
// emitted in the interface's thread, and no call waits.
#pragma once

#include "fleet_shown.h"

#include <QObject>
#include <QString>

namespace rpcrdma::gui {

class FleetSource : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;

  // Records `seconds` of an endpoint (its name or process ID) of a host into a new file at `path`.
  // Answers with recorded() or record_failed().
  virtual void record(const QString& host, const QString& endpoint, int seconds,
                      const QString& path) = 0;

 Q_SIGNALS:
  void shown(const std::shared_ptr<const rpcrdma::gui::FleetShown>& now);
  void recorded(const QString& host, const QString& path);
  void record_failed(const QString& host, const QString& why);
};

}  // namespace rpcrdma::gui
