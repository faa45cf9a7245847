// The network interfaces that packets can be captured from, and a capture filter.
#pragma once

#include <QString>
#include <QWidget>
#include <memory>

#include <rpcrdma/sources/interface_watch.h>

namespace rpcrdma::gui {

// Lists the interfaces when it is first shown, and on Refresh, those with RDMA devices first. If
// listing fails, it shows the reason and what to do instead.
class InterfaceList : public QWidget {
  Q_OBJECT
 public:
  explicit InterfaceList(QWidget* parent = nullptr,
                         InterfaceWatch::Lister lister = &capture::list_interfaces);
  ~InterfaceList() override;

  [[nodiscard]] QString selected() const;  // empty: none
  [[nodiscard]] QString filter() const;    // pcap-filter(7); empty: RoCE packets

 public Q_SLOTS:
  void refresh();
  // Starts a capture from the interface, as if the user had chosen it.
  void start(const QString& interface);
  // Shows why capturing failed, until the next attempt.
  void show_problem(const QString& problem);

 Q_SIGNALS:
  void capture(const QString& interface, const QString& filter);

 protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::gui
