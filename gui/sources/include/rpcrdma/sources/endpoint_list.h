// The live endpoints of this user on this machine (trace_live/endpoints.h), to attach to.
#pragma once

#include <QStringList>
#include <QWidget>
#include <memory>

namespace rpcrdma::gui {

// Follows endpoints that come and go while it is visible: each second it looks for their names, and
// asks those that are new who they are in a thread of its own. Hidden, it does nothing.
class EndpointList : public QWidget {
  Q_OBJECT
 public:
  explicit EndpointList(QWidget* parent = nullptr);
  ~EndpointList() override;

  // Paths of the sockets, for trace::connect_endpoint().
  [[nodiscard]] QStringList selected() const;

 public Q_SLOTS:
  void refresh();

 Q_SIGNALS:
  // The same: by the button, Enter, or a double click.
  void attach(const QStringList& sockets);

 protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::gui
