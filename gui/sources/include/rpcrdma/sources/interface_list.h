// The network interfaces that packets can be captured from, and a capture filter.
#pragma once

#include <QString>
#include <QWidget>
#include <functional>
#include <memory>

#include <rpcrdma/capture/source.h>

namespace rpcrdma::gui {

// Lists the interfaces when it is first shown, and on Refresh. If listing fails, it shows the
// reason and what to do instead.
class InterfaceList : public QWidget {
  Q_OBJECT
 public:
  // Called in a thread of its own.
  using Lister = std::function<capture::Expected<std::vector<capture::ListedInterface>>()>;

  explicit InterfaceList(QWidget* parent = nullptr, Lister lister = &capture::list_interfaces);
  ~InterfaceList() override;

  [[nodiscard]] QString selected() const;  // empty: none
  [[nodiscard]] QString filter() const;    // pcap-filter(7); empty: RoCE packets

 public Q_SLOTS:
  void refresh();
  // Shows why capturing failed, until the next attempt.
  void show_problem(const QString& problem);

 Q_SIGNALS:
  void capture(const QString& interface, const QString& filter);

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::gui
