// The network interfaces that packets can be captured from, and a filter.
#pragma once

#include <QString>
#include <QWidget>
#include <functional>
#include <memory>

#include <rpcrdma/capture/source.h>

namespace rpcrdma::gui {

// Lists them when it is first shown, and when it is asked to again. Where that is not possible the
// reason stands in their place, and what can be done.
class InterfaceList : public QWidget {
  Q_OBJECT
 public:
  // Asked in a thread of its own.
  using Lister = std::function<capture::Expected<std::vector<capture::ListedInterface>>()>;

  explicit InterfaceList(QWidget* parent = nullptr, Lister lister = &capture::list_interfaces);
  ~InterfaceList() override;

  [[nodiscard]] QString selected() const;  // empty: none
  [[nodiscard]] QString filter() const;    // pcap-filter(7); empty: RoCE packets

 public Q_SLOTS:
  void refresh();
  // Why capturing failed, in the widget; until the next attempt.
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
