// "Try it": starts a server and a load within this process (trial/trial.h), and turns faults, rate
// and credits up and down while they run.
#pragma once

#include <QStringList>
#include <QWidget>
#include <memory>

namespace rpcrdma::gui {

class PlaygroundPanel : public QWidget {
  Q_OBJECT
 public:
  explicit PlaygroundPanel(QWidget* parent = nullptr);
  ~PlaygroundPanel() override;  // stops the trial

  [[nodiscard]] bool running() const;
  // Sockets of the trial that runs, the server's first; none: empty.
  [[nodiscard]] QStringList endpoints() const;

 public Q_SLOTS:
  // As the panel's fields say; in a thread of its own. What goes wrong stands in the panel.
  void start();
  void stop();

 Q_SIGNALS:
  // Sockets, for trace::connect_endpoint(): as endpoints().
  void started(const QStringList& endpoints);
  void stopped();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::gui
