// The settings of the playground: some are read when it starts, the others change it while it runs.
#pragma once

#include <QWidget>

#include <rpcrdma/playground/playground.h>
#include <rpcrdma/sources/presets.h>

class QCheckBox;
class QComboBox;
class QFormLayout;
class QGroupBox;
class QLineEdit;
class QSpinBox;
class QToolButton;

namespace rpcrdma::gui {

class ShareRow;

class PlaygroundForm : public QWidget {
  Q_OBJECT
 public:
  explicit PlaygroundForm(QWidget* parent = nullptr);

  [[nodiscard]] playground::PlaygroundOptions options() const;
  [[nodiscard]] playground::Faults faults() const;
  [[nodiscard]] playground::Load load() const;
  [[nodiscard]] std::uint32_t granted() const;

  // Sets what a preset has, and none of the other faults.
  void use(const Preset& preset);
  // The preset that the fields match; null: none.
  [[nodiscard]] const Preset* preset() const;
  // What to call a trial with these settings: "2 % loss"; empty: only "Trial".
  [[nodiscard]] QString short_title() const;

  // While running, fields that are read only at the start are disabled.
  void set_running(bool running);

 Q_SIGNALS:
  void faults_changed();
  void load_changed();
  void grant_changed();

 private:
  QGroupBox* make_setup();
  QGroupBox* make_load();
  QGroupBox* make_faults();
  ShareRow* add_share(QFormLayout* form, const char* object, const QString& name,
                      const QString& tip);

  QToolButton* setup_shown_ = nullptr;
  QGroupBox* setup_ = nullptr;
  QComboBox* version_ = nullptr;
  QSpinBox* credits_ = nullptr;
  QSpinBox* depth_ = nullptr;
  QSpinBox* server_inline_ = nullptr;
  QSpinBox* client_inline_ = nullptr;
  QLineEdit* procedures_ = nullptr;
  QLineEdit* sizes_ = nullptr;
  QCheckBox* forward_ = nullptr;
  QCheckBox* reverse_ = nullptr;
  ShareRow* rate_ = nullptr;
  QCheckBox* paused_ = nullptr;
  ShareRow* granted_ = nullptr;
  ShareRow* stalls_ = nullptr;
  QSpinBox* stall_ = nullptr;
  ShareRow* loss_ = nullptr;
  ShareRow* duplication_ = nullptr;
  ShareRow* reordering_ = nullptr;
  ShareRow* corruption_ = nullptr;
  ShareRow* delay_ = nullptr;
  QLineEdit* rules_ = nullptr;
};

}  // namespace rpcrdma::gui
