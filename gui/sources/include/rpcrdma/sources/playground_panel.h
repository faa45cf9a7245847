// "Playground": starts a server and a load within this process (playground/playground.h), and
// controls faults, rate and credits while they run.
#pragma once

#include <QStringList>
#include <QWidget>
#include <memory>

namespace rpcrdma::gui {

class PlaygroundPanel : public QWidget {
  Q_OBJECT
 public:
  explicit PlaygroundPanel(QWidget* parent = nullptr);
  ~PlaygroundPanel() override;  // stops the playground

  [[nodiscard]] bool running() const;
  // Sockets of the running playground, the server's first; empty if it does not run.
  [[nodiscard]] QStringList endpoints() const;

  // "Trial, 2 % loss": by the settings of the moment.
  [[nodiscard]] QString title() const;

 public Q_SLOTS:
  // Takes the settings of a preset (presets.h), and starts if it does not run.
  void use(const QString& preset);
  // Starts a playground with the settings in the fields, in a thread of its own. Errors appear in
  // the panel.
  void start();
  void stop();

 Q_SIGNALS:
  // Emitted with the sockets, as for endpoints(), for trace::connect_endpoint().
  void started(const QStringList& endpoints);
  void stopped();
  void title_changed();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::gui
