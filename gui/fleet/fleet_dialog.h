// Asks for the bus of a fleet.
#pragma once

#include "fleet_address.h"

#include <QDialog>

class QDialogButtonBox;
class QFormLayout;
class QLabel;
class QLineEdit;

namespace rpcrdma::gui {

class FleetDialog : public QDialog {
  Q_OBJECT

 public:
  explicit FleetDialog(const FleetAddress& first, QWidget* parent = nullptr);

  [[nodiscard]] FleetAddress address() const;
  // In the order of the form: "url", "user", "password-file", "nkey-file", "ca".
  [[nodiscard]] QLineEdit* field(const QString& name) const;

 Q_SIGNALS:
  void wanted(const rpcrdma::gui::FleetAddress& address);

 private:
  QLineEdit* add(const QString& name, const QString& title, const QString& value,
                 const QString& hint, bool is_file);
  void check();

  QFormLayout* form_;
  QLabel* problem_;
  QDialogButtonBox* buttons_ = nullptr;
};

}  // namespace rpcrdma::gui
