// The live endpoints of this user on this machine (trace_live/endpoints.h), to attach to.
#pragma once

#include <QStringList>
#include <QWidget>
#include <memory>

namespace rpcrdma::gui {

// Follows endpoints as they start and end while it is visible: each second it lists their names,
// and asks new ones for their roles in a thread of its own. While hidden, it does nothing.
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
  // Emitted for the selected endpoints, by the button, Enter, or a double click.
  void attach(const QStringList& sockets);

 protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::gui
