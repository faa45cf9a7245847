// The live endpoints of this user on this machine (trace_live/endpoints.h), to attach to.
#pragma once

#include <QStringList>
#include <QWidget>
#include <functional>
#include <memory>
#include <string>

#include <rpcrdma/base/error.h>

namespace rpcrdma::gui {

// The kernel's endpoint, started by this program: it runs as long as `process` exists.
struct StartedKernel {
  std::shared_ptr<void> process;
  std::string socket;  // path
};

// Follows endpoints as they start and end while it is visible: each second it lists their names,
// and asks new ones for their roles in a thread of its own. While hidden, it does nothing. The
// kernel, Linux's own NFS/RDMA, is always listed: it is started when it is attached to, and runs as
// long as this list.
class EndpointList : public QWidget {
  Q_OBJECT
 public:
  // Starts the kernel's endpoint, in a thread of its own.
  using StartKernel = std::function<base::Expected<StartedKernel>()>;
  explicit EndpointList(QWidget* parent = nullptr, StartKernel start = start_kernel);
  ~EndpointList() override;

  // Paths of the sockets, for trace::connect_endpoint(); "kernel" for the kernel, if it does not
  // run.
  [[nodiscard]] QStringList selected() const;

  // Emits attach() for these endpoints, after it has started the kernel if it is among them and
  // does not run. If it cannot be started, the list says why.
  void attach_to(const QStringList& endpoints);
  // Whether attach_to() waits for the kernel's endpoint.
  [[nodiscard]] bool starts_kernel() const;

 public Q_SLOTS:
  void refresh();

 Q_SIGNALS:
  // Emitted for the selected endpoints, by the button, Enter, or a double click.
  void attach(const QStringList& sockets);
  void trouble(const QString& why);

 protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;

 private:
  static base::Expected<StartedKernel> start_kernel();

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::gui
